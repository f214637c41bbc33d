import { integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import type { HttpTemplate } from "../../providers/http-template/definition.ts";
import { json, owned } from "../../store/columns.ts";

export const CONNECTION_STATUSES = ["needs_verification", "active", "error", "disabled"] as const;
/**
 * needs_verification (new, changed, reactivated) → active | error, by verify; active | needs_verification → error where
 * a token is refused while it is used; any → disabled by disable; disabled → needs_verification by reactivate.
 */
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** What a person has to approve each time: nothing, what may change the other side, or every use. */
export const APPROVAL_RULES = ["none", "writes", "all"] as const;
export type ApprovalRule = (typeof APPROVAL_RULES)[number];

export const connections = sqliteTable("connections", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  provider: text().notNull(),
  status: text().$type<ConnectionStatus>().notNull(),
  config: json<JsonObject>().notNull(),
  /** `SecretBox` text of a JSON string map, under the label `connection:<id>:<organization>`. */
  sealedCredentials: text().notNull(),
  hasCredentials: integer({ mode: "boolean" }).notNull(),
  /** The one that its provider's actions take when they name none; one for each provider. */
  isDefault: integer({ mode: "boolean" }).notNull(),
  approvalRequired: text().$type<ApprovalRule>().notNull(),
  templateId: text(),
  /** Of the template that it was made of, as it was then; null for a connection of a provider. */
  definition: json<HttpTemplate>(),
  lastUsedAt: text(),
  lastVerifiedAt: text(),
  verificationError: text(),
});
export type ConnectionRow = typeof connections.$inferSelect;

/** How full an API's slow buckets were, by name within the connection. */
export const connectionQuotas = sqliteTable(
  "connection_quotas",
  {
    connectionId: text().notNull(),
    name: text().notNull(),
    tokens: real().notNull(),
    /** When `tokens` was right. */
    at: text().notNull(),
    heldUntil: text(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.name] })],
);

/** What a provider remembers from one run to the next, by name within the connection. */
export const connectionState = sqliteTable(
  "connection_marks",
  {
    connectionId: text().notNull(),
    name: text().notNull(),
    value: text().notNull(),
    /** Of the config and credentials that it was true for. */
    settingsHash: text().notNull(),
    keptAt: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.name] })],
);

/** The short-lived token that a connection's credentials were last exchanged for. */
export const connectionTokens = sqliteTable("connection_tokens", {
  connectionId: text().primaryKey(),
  organizationId: text().notNull(),
  /** `SecretBox` text under the label `connection-token:<id>:<organization>`. */
  sealedToken: text().notNull(),
  /** Of the config and credentials that it was got with. */
  settingsHash: text().notNull(),
  expiresAt: text().notNull(),
});

/** A person's sign-in at a connection's system. */
export const connectionSignIns = sqliteTable("connection_sign_ins", {
  connectionId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Of what the tokens are for: where they were got, by which client, and where they are sent. */
  settingsHash: text().notNull(),
  /** `SecretBox` text of `StoredTokens`, under the label `connection-sign-in:<id>:<organization>`; null once they are of no use. */
  sealedTokens: text(),
  /** The rights that were asked for, and those that were granted, by spaces; null where nobody tells. */
  wantedScope: text(),
  scope: text(),
  /** False: a person is needed once the access token ends. */
  isRenewable: integer({ mode: "boolean" }).notNull(),
  /** When the tokens came. */
  issuedAt: text().notNull(),
  /** Of the access token; null where nobody tells. */
  expiresAt: text(),
  signedInAt: text().notNull(),
  signedInBy: text().notNull(),
  /** Why a sign-in is needed again, as a sentence. */
  problem: text(),
  /** Another one with each set of tokens. */
  generation: integer().notNull(),
  /** Whoever renews the tokens has so long; a refresh token that is used twice is taken for stolen. */
  leaseUntil: text(),
});
export type ConnectionSignIn = typeof connectionSignIns.$inferSelect;

/** A sign-in that waits for its browser to come back; the row goes when it does. */
export const connectionSignInAttempts = sqliteTable("connection_sign_in_attempts", {
  /** SHA-256 of `state`, hex. */
  stateHash: text().primaryKey(),
  organizationId: text().notNull(),
  connectionId: text().notNull(),
  /** Who began it, and alone may end it. */
  userId: text().notNull(),
  /** Of the browser that it was begun in; null where it was begun with a token. */
  sessionId: text(),
  /** `SecretBox` text of the PKCE verifier and what it is for, under the label `connection-sign-in-attempt:<hash>`. */
  sealedFacts: text().notNull(),
  expiresAt: text().notNull(),
});
