import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { revokeTokenOfOrganization } from "../access-tokens/service.ts";
import { accessTokens, effectiveScopes } from "../access-tokens/table.ts";
import { revokeApiKey } from "../api-keys/service.ts";
import { apiKeys } from "../api-keys/table.ts";
import { memberships, type Role } from "../organizations/table.ts";
import { users } from "../users/table.ts";
import type { OrganizationToken } from "./wire.ts";

/**
 * Lists access tokens of all users created in the organization, and its API keys, newest first.
 * Revoked ones are left out.
 */
export async function listOrganizationTokens(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: OrganizationToken[]; nextCursor?: string }> {
  const scope = ["organization-tokens", ctx.organizationId];
  const before = cursor === undefined ? null : String(readCursor(ctx, scope, cursor));
  const tokens = await ctx.db
    .select({ token: accessTokens, role: memberships.role })
    .from(accessTokens)
    .leftJoin(
      memberships,
      and(
        eq(memberships.organizationId, accessTokens.organizationId),
        eq(memberships.userId, accessTokens.userId),
      ),
    )
    .where(
      and(
        eq(accessTokens.organizationId, ctx.organizationId),
        isNull(accessTokens.revokedAt),
        before === null ? undefined : lt(accessTokens.id, before),
      ),
    )
    .orderBy(desc(accessTokens.id))
    .limit(limit + 1);
  const keys = await ctx.db
    .select({ key: apiKeys, userId: users.id })
    .from(apiKeys)
    .leftJoin(users, eq(users.id, apiKeys.createdBy))
    .where(
      and(
        eq(apiKeys.organizationId, ctx.organizationId),
        isNull(apiKeys.revokedAt),
        before === null ? undefined : lt(apiKeys.id, before),
      ),
    )
    .orderBy(desc(apiKeys.id))
    .limit(limit + 1);
  const rows = [
    ...tokens.map(({ token, role }) =>
      shown({ ...token, kind: "pat", scopes: effectiveScopes(token.scopes, role ?? "viewer") }),
    ),
    ...keys.map(({ key, userId }) =>
      shown({ ...key, kind: "api_key", userId, scopes: keyScopes(key.role), expiresAt: null }),
    ),
  ].sort((a, b) => (a.id < b.id ? 1 : -1));
  return pageOf(ctx, scope, rows.slice(0, limit + 1), limit);
}

/** Keys can't decide approvals. */
const keyScopes = (role: Role) => effectiveScopes(null, role).filter((scope) => scope !== "approve");

const shown = (row: OrganizationToken): OrganizationToken => ({
  id: row.id,
  kind: row.kind,
  userId: row.userId,
  name: row.name,
  lastFour: row.lastFour,
  scopes: row.scopes,
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
  expiresAt: row.expiresAt,
});

/** Takes effect immediately. Throws `not_found`, also if it is already revoked. */
export function revokeOrganizationToken(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    if (await revokeTokenOfOrganization(tx, id)) return;
    await revokeApiKey(tx, id).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found" ? notFound("token") : error;
    });
  });
}
