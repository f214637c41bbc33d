import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json } from "../../store/columns.ts";
import type { Role } from "../organizations/table.ts";

/** Where a token is valid: in the organization it was created in, or in every organization of its user. */
export const TOKEN_ORGANIZATIONS = ["current", "all"] as const;
export type TokenOrganizations = (typeof TOKEN_ORGANIZATIONS)[number];

/** What a token can be used for, in addition to what its user's role allows. */
export const SCOPES = ["read", "run", "write", "approve", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

const ROLE_SCOPES: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ["read"],
  member: ["read", "run", "write", "approve"],
  admin: SCOPES,
  owner: SCOPES,
};

/** A token's scopes as lists show them: its own, or all that the role allows if it has none. */
export const effectiveScopes = (scopes: readonly Scope[] | null, role: Role): Scope[] => [
  ...(scopes ?? ROLE_SCOPES[role]),
];

/** A personal access token. It acts in its organization with its owner's current role. */
export const accessTokens = sqliteTable("access_tokens", {
  id: text().primaryKey(),
  userId: text().notNull(),
  organizationId: text().notNull(),
  organizations: text().$type<TokenOrganizations>().notNull(),
  name: text().notNull(),
  /** Null: everything that the owner's role allows. */
  scopes: json<Scope[] | null>(),
  /** SHA-256 of the token, hex. */
  tokenHash: text().notNull(),
  lastFour: text().notNull(),
  createdAt: text().notNull(),
  /** Written at most once a minute. */
  lastUsedAt: text(),
  expiresAt: text().notNull(),
  revokedAt: text(),
});
export type AccessTokenRow = typeof accessTokens.$inferSelect;
