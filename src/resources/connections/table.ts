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
