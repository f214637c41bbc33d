import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { hashToken, lastFour, makeToken, TOKEN_PREFIX } from "../../crypto/tokens.ts";
import { record } from "../events/service.ts";
import { requireScope } from "./scopes.ts";
import { type AccessTokenRow, accessTokens, SCOPES, type Scope, type TokenOrganizations } from "./table.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Creates a personal access token for the current user, bound to the request's organization.
 * `token` is returned only once. Throws `forbidden` for a user without an organization.
 */
export async function createAccessToken(
  ctx: Context,
  input: {
    name: string;
    expiresInDays: number;
    organizations?: TokenOrganizations;
    /** If omitted, all scopes of the request's credential. */
    scopes?: readonly Scope[] | undefined;
    /** Latest time of expiry; null for no limit. */
    latest?: string | null;
  },
): Promise<{ row: AccessTokenRow; token: string; warnings?: string[] }> {
  if (!ctx.organizationId) {
    throw new AppError("forbidden", "Access tokens need an organization, and you aren't a member of any.");
  }
  if (ctx.isConfined && input.organizations === "all") {
    throw new AppError(
      "forbidden",
      "A token for one organization can't create one for all. Sign in to create it.",
    );
  }
  for (const scope of input.scopes ?? []) requireScope(ctx, scope);
  const requestedScopes = input.scopes ?? ctx.scopes ?? null;
  const scopes = requestedScopes && SCOPES.filter((scope) => requestedScopes.includes(scope));
  const token = makeToken(TOKEN_PREFIX.pat, ctx.ids);
  const createdAt = timestamp(ctx.clock);
  const wanted = new Date(Date.parse(createdAt) + input.expiresInDays * DAY_MS).toISOString();
  const expiresAt = input.latest && input.latest < wanted ? input.latest : wanted;
  const row: AccessTokenRow = {
    id: ctx.ids.uuid(),
    userId: ctx.actor.id,
    organizationId: ctx.organizationId,
    organizations: input.organizations ?? "current",
    name: input.name,
    scopes,
    tokenHash: hashToken(token),
    lastFour: lastFour(token),
    createdAt,
    lastUsedAt: null,
    expiresAt,
    revokedAt: null,
  };
  await write(ctx, async (tx) => {
    await tx.db.insert(accessTokens).values(row);
    const data = {
      kind: "access_token",
      name: row.name,
      lastFour: row.lastFour,
      scopes,
      expiresAt: row.expiresAt,
    };
    await record(tx, "auth.token_created", { type: "access_token", id: row.id }, data);
  });
  const missingMs = Date.parse(wanted) - Date.parse(expiresAt);
  const isShort = missingMs > (input.expiresInDays * DAY_MS) / 100; // else it is as long as the one that creates it
  return { row, token, ...(isShort ? { warnings: [endsEarly(row)] } : {}) };
}

const endsEarly = ({ expiresAt }: AccessTokenRow) =>
  `This token expires at ${expiresAt}, with the token that created it. Sign in to create one that is valid longer.`;

/** The current user's tokens in this organization that aren't revoked. */
const mine = (ctx: Context) =>
  and(
    eq(accessTokens.organizationId, ctx.organizationId),
    eq(accessTokens.userId, ctx.actor.id),
    isNull(accessTokens.revokedAt),
  );

/** The current user's tokens in this organization, newest first. Includes expired tokens, but not revoked ones. */
export async function listAccessTokens(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: AccessTokenRow[]; nextCursor?: string }> {
  const scope = ["access-tokens", ctx.organizationId, ctx.actor.id];
  const before =
    cursor === undefined ? undefined : lt(accessTokens.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(accessTokens)
    .where(and(mine(ctx), before))
    .orderBy(desc(accessTokens.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Takes effect immediately. Throws `not_found`, also if the token is already revoked. */
export function revokeAccessToken(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const [row] = await tx.db
      .select()
      .from(accessTokens)
      .where(and(mine(tx), eq(accessTokens.id, id)));
    if (!row) throw notFound("access token");
    await revoke(tx, row);
  });
}

/** Revokes a token of any user that was created in the context's organization. Returns false if there is none. */
export async function revokeTokenOfOrganization(tx: WriteContext, id: string): Promise<boolean> {
  const [row] = await tx.db
    .select()
    .from(accessTokens)
    .where(
      and(
        eq(accessTokens.organizationId, tx.organizationId),
        eq(accessTokens.id, id),
        isNull(accessTokens.revokedAt),
      ),
    );
  if (row) await revoke(tx, row);
  return row !== undefined;
}

/**
 * Revokes all tokens of `userId`, or those of one organization, with an event in each token's organization. Returns how
 * many.
 */
export async function revokeAllAccessTokens(
  tx: WriteContext,
  userId: string,
  organizationId?: string,
): Promise<number> {
  const rows = await tx.db
    .select()
    .from(accessTokens)
    .where(
      and(
        eq(accessTokens.userId, userId),
        isNull(accessTokens.revokedAt),
        organizationId === undefined ? undefined : eq(accessTokens.organizationId, organizationId),
      ),
    );
  for (const row of rows) await revoke({ ...tx, organizationId: row.organizationId }, row);
  return rows.length;
}

async function revoke(tx: WriteContext, { id, name, lastFour }: AccessTokenRow): Promise<void> {
  await tx.db
    .update(accessTokens)
    .set({ revokedAt: timestamp(tx.clock) })
    .where(eq(accessTokens.id, id));
  const data = { kind: "access_token", name, lastFour };
  await record(tx, "auth.token_revoked", { type: "access_token", id }, data);
}
