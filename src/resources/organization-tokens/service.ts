import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { revokeTokenOfOrganization } from "../access-tokens/service.ts";
import { accessTokens } from "../access-tokens/table.ts";
import { revokeApiKey } from "../api-keys/service.ts";
import { apiKeys } from "../api-keys/table.ts";
import { users } from "../users/table.ts";
import { type OrganizationToken, SCOPES } from "./wire.ts";

/** Everybody's access tokens made in the organization, and its API keys, newest first; no revoked ones. */
export async function listOrganizationTokens(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: OrganizationToken[]; nextCursor?: string }> {
  const scope = ["organization-tokens", ctx.organizationId];
  const before = cursor === undefined ? null : String(readCursor(ctx, scope, cursor));
  const tokens = await ctx.db
    .select()
    .from(accessTokens)
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
    ...tokens.map((row) => shown({ ...row, kind: "pat" })),
    ...keys.map(({ key, userId }) => shown({ ...key, kind: "api_key", userId, expiresAt: null })),
  ].sort((a, b) => (a.id < b.id ? 1 : -1));
  return pageOf(ctx, scope, rows.slice(0, limit + 1), limit);
}

const shown = (row: Omit<OrganizationToken, "scopes">): OrganizationToken => ({
  id: row.id,
  kind: row.kind,
  userId: row.userId,
  name: row.name,
  lastFour: row.lastFour,
  scopes: [...SCOPES],
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
  expiresAt: row.expiresAt,
});

/** From the next request on the token or key is refused. Throws `not_found`, also for one revoked before. */
export function revokeOrganizationToken(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    if (await revokeTokenOfOrganization(tx, id)) return;
    await revokeApiKey(tx, id).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "not_found" ? notFound("token") : error;
    });
  });
}
