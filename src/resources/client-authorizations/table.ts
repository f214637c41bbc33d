import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json } from "../../store/columns.ts";
import type { Scope } from "../access-tokens/table.ts";

/** Scopes that an MCP client can request: none that makes decisions for users, or manages them. */
export const CLIENT_SCOPES = ["read", "run", "write"] as const satisfies readonly Scope[];
/** Scopes of a client that requests none. */
export const DEFAULT_SCOPES = ["read", "run"] as const satisfies readonly Scope[];
export type ClientScope = (typeof CLIENT_SCOPES)[number];

/** `spent`: exchanged for an access token, which happens once. */
type CodeStatus = "issued" | "spent";

/** An authorization code (RFC 6749, section 4.1) for an MCP client that a user approved. Valid for a minute. */
export const authorizationCodes = sqliteTable("authorization_codes", {
  id: text().primaryKey(),
  /** SHA-256, hex. */
  codeHash: text().notNull(),
  clientId: text().notNull(),
  /** The client's own name, as shown to the user. */
  clientName: text().notNull(),
  redirectUri: text().notNull(),
  /** PKCE's S256 challenge. */
  challenge: text().notNull(),
  scopes: json<ClientScope[]>().notNull(),
  userId: text().notNull(),
  organizationId: text().notNull(),
  /** When the approving credential expires, and the token at the latest. Null if it doesn't. */
  endsAt: text(),
  status: text().$type<CodeStatus>().notNull(),
  /** The first access token that it was exchanged for. */
  tokenId: text(),
  expiresAt: text().notNull(),
});
export type AuthorizationCodeRow = typeof authorizationCodes.$inferSelect;

/** `spent`: exchanged for the next one, which is possible once. `ended`: it, or the original code, was used twice. */
type RefreshStatus = "issued" | "spent" | "ended";

/** What an MCP client exchanges for its next access token. */
export const refreshTokens = sqliteTable("refresh_tokens", {
  id: text().primaryKey(),
  /** Shared by all refresh tokens of one chain: the ID of the code. */
  familyId: text().notNull(),
  /** SHA-256, hex. */
  tokenHash: text().notNull(),
  clientId: text().notNull(),
  clientName: text().notNull(),
  scopes: json<ClientScope[]>().notNull(),
  userId: text().notNull(),
  organizationId: text().notNull(),
  /** No later token of the chain is valid longer. */
  endsAt: text().notNull(),
  status: text().$type<RefreshStatus>().notNull(),
  /** The access token issued with it. If a user revokes that one, it can't be renewed. */
  tokenId: text().notNull(),
  expiresAt: text().notNull(),
});
export type RefreshTokenRow = typeof refreshTokens.$inferSelect;
