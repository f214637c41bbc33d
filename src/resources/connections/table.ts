import { integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../base/json.ts";
import type { HttpTemplate } from "../../providers/http-template/definition.ts";
import { json, owned } from "../../store/columns.ts";

export const CONNECTION_STATUSES = ["needs_verification", "active", "error", "disabled"] as const;
/**
 * needs_verification (new, changed, reactivated) → active | error, by verify; active | needs_verification → error if a
 * token is rejected in use; any → disabled by disable; disabled → needs_verification by reactivate.
 */
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** What needs approval each time: nothing, writes, or every use. */
export const APPROVAL_RULES = ["none", "writes", "all"] as const;
export type ApprovalRule = (typeof APPROVAL_RULES)[number];

export const connections = sqliteTable("connections", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  provider: text().notNull(),
  status: text().$type<ConnectionStatus>().notNull(),
  config: json<JsonObject>().notNull(),
  /** `SecretBox` text of a JSON object of strings, with the label `connection:<id>:<organization>`. */
  sealedCredentials: text().notNull(),
  hasCredentials: integer({ mode: "boolean" }).notNull(),
  /** Whether actions of its provider use it if they name none. One per provider. */
  isDefault: integer({ mode: "boolean" }).notNull(),
  approvalRequired: text().$type<ApprovalRule>().notNull(),
  templateId: text(),
  /** Definition of its template when it was created. Null for a connection of a provider. */
  definition: json<HttpTemplate>(),
  lastUsedAt: text(),
  lastVerifiedAt: text(),
  verificationError: text(),
});
export type ConnectionRow = typeof connections.$inferSelect;

/** Levels of an API's slow token buckets, by name within the connection. */
export const connectionQuotas = sqliteTable(
  "connection_quotas",
  {
    connectionId: text().notNull(),
    name: text().notNull(),
    tokens: real().notNull(),
    /** When `tokens` was measured. */
    at: text().notNull(),
    heldUntil: text(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.name] })],
);

/** What a provider stores between runs, by name within the connection. */
export const connectionState = sqliteTable(
  "connection_marks",
  {
    connectionId: text().notNull(),
    name: text().notNull(),
    value: text().notNull(),
    /** Hash of the config and credentials that it belongs to. */
    settingsHash: text().notNull(),
    keptAt: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.name] })],
);

/** The short-lived token last obtained with a connection's credentials. */
export const connectionTokens = sqliteTable("connection_tokens", {
  connectionId: text().primaryKey(),
  organizationId: text().notNull(),
  /** `SecretBox` text with the label `connection-token:<id>:<organization>`. */
  sealedToken: text().notNull(),
  /** Hash of the config and credentials that it was obtained with. */
  settingsHash: text().notNull(),
  expiresAt: text().notNull(),
});

/** A user's sign-in at a connection's system. */
export const connectionSignIns = sqliteTable("connection_sign_ins", {
  connectionId: text().primaryKey(),
  organizationId: text().notNull(),
  /** Hash of the token's purpose: where it was obtained, by which client, and where it is sent. */
  settingsHash: text().notNull(),
  /**
   * `SecretBox` text of `StoredTokens`, with the label `connection-sign-in:<id>:<organization>`.
   * Null if they no longer work.
   */
  sealedTokens: text(),
  /** The requested and the granted scopes, separated by spaces. Null if unknown. */
  wantedScope: text(),
  scope: text(),
  /** False: a user has to sign in again once the access token expires. */
  isRenewable: integer({ mode: "boolean" }).notNull(),
  /** When the tokens were issued. */
  issuedAt: text().notNull(),
  /** Of the access token. Null if unknown. */
  expiresAt: text(),
  signedInAt: text().notNull(),
  signedInBy: text().notNull(),
  /** Why a sign-in is needed again, as a sentence. */
  problem: text(),
  /** Changes with each set of tokens. */
  generation: integer().notNull(),
  /** Until when one process may renew the tokens. A refresh token that is used twice is treated as stolen. */
  leaseUntil: text(),
});
export type ConnectionSignIn = typeof connectionSignIns.$inferSelect;

/** A sign-in whose user hasn't returned yet. The row is deleted then. */
export const connectionSignInAttempts = sqliteTable("connection_sign_in_attempts", {
  /** SHA-256 of `state`, hex. */
  stateHash: text().primaryKey(),
  organizationId: text().notNull(),
  connectionId: text().notNull(),
  /** Only the user who began a sign-in can finish it. */
  userId: text().notNull(),
  /** Session that it was started in. Null if it was started with a token. */
  sessionId: text(),
  /** `SecretBox` text of the PKCE verifier and its purpose, with the label `connection-sign-in-attempt:<hash>`. */
  sealedFacts: text().notNull(),
  expiresAt: text().notNull(),
});
