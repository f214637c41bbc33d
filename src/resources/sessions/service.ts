import { and, desc, eq, gt, isNull, lt, ne, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import { type App, type Context, type WriteContext, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { hashToken, makeToken, TOKEN_PREFIX } from "../../crypto/tokens.ts";
import { record } from "../events/service.ts";
import { type SessionRow, sessions } from "./table.ts";

/** Name in the API, fixed by the interface. */
export const SESSION_COOKIE = "svc_token";
/** Web sessions slide: 14 days idle, 90 days in total (docs/decisions/sign-in.md). */
const SESSION_IDLE_MS = 14 * 24 * 60 * 60 * 1000;
export const SESSION_MAX_MS = 90 * 24 * 60 * 60 * 1000;

/**
 * Starts a session of the caller, for a browser unless `client` says otherwise. `token` goes into the cookie or to the
 * client, and isn't stored. Deletes those of the user's sessions that expired 90 days ago.
 */
export async function openSession(
  tx: WriteContext,
  method: "password" | "device" | "oidc",
  client: Partial<
    Pick<
      SessionRow,
      "clientType" | "organizationId" | "isConfined" | "endsAt" | "cliVersion" | "terminal" | "identityId"
    >
  > = {},
): Promise<{ row: SessionRow; token: string }> {
  const token = makeToken(TOKEN_PREFIX.session, tx.ids);
  const at = timestamp(tx.clock);
  const row: SessionRow = {
    id: tx.ids.uuid(),
    userId: tx.actor.id,
    organizationId: null,
    isConfined: false,
    endsAt: null,
    tokenHash: hashToken(token),
    clientType: "web",
    deviceId: null,
    userAgent: tx.actor.userAgent ?? null,
    ipAddress: tx.actor.ip ?? null,
    cliVersion: null,
    terminal: null,
    createdAt: at,
    confirmedAt: null,
    lastActiveAt: at,
    expiresAt: slideFrom({ createdAt: at, endsAt: client.endsAt ?? null }, tx.clock),
    revokedAt: null,
    identityId: null,
    sealedRefreshToken: null,
    refreshAt: null,
    ...client,
  };
  await tx.db.insert(sessions).values(row);
  const forgotten = lt(sessions.expiresAt, timestamp(tx.clock, -SESSION_MAX_MS));
  await tx.db.delete(sessions).where(and(eq(sessions.userId, row.userId), forgotten));
  if (tx.organizationId) {
    await record(tx, "auth.login", { type: "session", id: row.id }, { method, clientType: row.clientType });
  }
  return { row, token };
}

type Span = Pick<SessionRow, "createdAt" | "endsAt">;

/** When a session expires at the latest, however often it is used. */
export function lastOf({ createdAt, endsAt }: Span): string {
  const last = new Date(Date.parse(createdAt) + SESSION_MAX_MS).toISOString();
  return endsAt !== null && endsAt < last ? endsAt : last;
}

/** When a session expires that is used now. */
export function slideFrom(session: Span, clock: App["clock"]): string {
  const last = lastOf(session);
  if (last <= timestamp(clock, SESSION_IDLE_MS)) return last;
  return timestamp(clock, SESSION_IDLE_MS);
}

const live = (ctx: Context) => and(isNull(sessions.revokedAt), gt(sessions.expiresAt, timestamp(ctx.clock)));

/** Lists the caller's sessions, newest first. Without `includeRevoked`, only live ones. */
export async function listSessions(
  ctx: Context,
  { includeRevoked, limit, cursor }: { includeRevoked: boolean; limit: number; cursor?: string },
): Promise<{ rows: SessionRow[]; nextCursor?: string }> {
  const scope = ["sessions", ctx.organizationId, ctx.actor.id, includeRevoked];
  const before = cursor === undefined ? undefined : lt(sessions.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, ctx.actor.id), includeRevoked ? undefined : live(ctx), before))
    .orderBy(desc(sessions.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Ends one of the caller's sessions. One that has already ended is unchanged. Throws `not_found`. */
export function revokeSession(ctx: Context, id: string, cause: "signed_out" | "revoked"): Promise<void> {
  return write(ctx, async (tx) => {
    const [row] = await tx.db
      .select()
      .from(sessions)
      .where(and(eq(sessions.id, id), eq(sessions.userId, tx.actor.id)));
    if (!row) throw notFound("session");
    if (row.revokedAt === null) await endSession(tx, row.id, cause);
  });
}

/** Ends all live sessions of `userId` except `keptId`, or only those limited to one organization. Returns how many. */
export function revokeSessions(
  ctx: Context,
  { userId, keptId, organizationId }: { userId: string; keptId: string | null; organizationId?: string },
): Promise<number> {
  return write(ctx, async (tx) => {
    const ended = await tx.db
      .select({ id: sessions.id })
      .from(sessions)
      .where(
        and(
          eq(sessions.userId, userId),
          live(tx),
          keptId === null ? undefined : ne(sessions.id, keptId),
          organizationId === undefined ? undefined : eq(sessions.organizationId, organizationId),
        ),
      );
    for (const { id } of ended) await endSession(tx, id, "revoked");
    return ended.length;
  });
}

/** `refresh_refused`: the provider rejected the user. `provider_removed`: the operator no longer uses the provider. */
export type SessionEnd = "signed_out" | "revoked" | "refresh_refused" | "provider_removed";

/** Signalled when a provider has to be notified of a session's end. */
export const GRANTS_TOPIC = "sessions:grants";

/** Ends a live session. Its provider tokens are revoked soon after. */
export async function endSession(tx: WriteContext, id: string, cause: SessionEnd): Promise<void> {
  const at = timestamp(tx.clock);
  const refreshAt = sql`case when ${sessions.sealedRefreshToken} is null then null else ${at} end`;
  await tx.db.update(sessions).set({ revokedAt: at, refreshAt }).where(eq(sessions.id, id));
  tx.afterCommit(() => tx.signals.notify(GRANTS_TOPIC));
  if (tx.organizationId) await record(tx, "auth.logout", { type: "session", id }, { cause });
}
