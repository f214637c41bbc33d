import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { hashToken, lastFour, makeToken, TOKEN_PREFIX } from "../../crypto/tokens.ts";
import { requireAllScopes } from "../access-tokens/scopes.ts";
import { record } from "../events/service.ts";
import type { Role } from "../organizations/table.ts";
import { refuseRoleAbove } from "../organizations/team.ts";
import { type ApiKeyRow, apiKeys } from "./table.ts";

/**
 * Creates an API key of the organization. `key` is returned only once. Throws `forbidden` for a role above the
 * caller's, and `scope_missing`.
 */
export async function createApiKey(
  ctx: Context,
  input: { name: string; roleSlug: Role },
): Promise<{ row: ApiKeyRow; key: string }> {
  requireAllScopes(ctx);
  refuseRoleAbove(ctx, input.roleSlug);
  const key = makeToken(TOKEN_PREFIX.apiKey, ctx.ids);
  const row: ApiKeyRow = {
    id: ctx.ids.uuid(),
    organizationId: ctx.organizationId,
    name: input.name,
    role: input.roleSlug,
    tokenHash: hashToken(key),
    lastFour: lastFour(key),
    createdAt: timestamp(ctx.clock),
    createdBy: ctx.actor.id,
    lastUsedAt: null,
    revokedAt: null,
  };
  await write(ctx, async (tx) => {
    await tx.db.insert(apiKeys).values(row);
    await record(tx, "auth.token_created", { type: "api_key", id: row.id }, dataOf(row));
  });
  return { row, key };
}

const dataOf = ({ name, lastFour, role }: ApiKeyRow) => ({ kind: "api_key", name, lastFour, roleSlug: role });

const live = (ctx: Context) => and(eq(apiKeys.organizationId, ctx.organizationId), isNull(apiKeys.revokedAt));

/** The organization's keys that are not revoked, newest first. */
export async function listApiKeys(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: ApiKeyRow[]; nextCursor?: string }> {
  const scope = ["api-keys", ctx.organizationId];
  const before = cursor === undefined ? undefined : lt(apiKeys.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(apiKeys)
    .where(and(live(ctx), before))
    .orderBy(desc(apiKeys.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Takes effect immediately. Throws `not_found`, also if the key is already revoked. */
export function revokeApiKey(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const [row] = await tx.db
      .update(apiKeys)
      .set({ revokedAt: timestamp(tx.clock) })
      .where(and(live(tx), eq(apiKeys.id, id)))
      .returning();
    if (!row) throw notFound("API key");
    await record(tx, "auth.token_revoked", { type: "api_key", id }, dataOf(row));
  });
}
