import { and, asc, eq, inArray, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { App } from "../context.ts";
import { idempotencyKeys } from "../http/idempotency.ts";
import { authorizationCodes, refreshTokens } from "../resources/client-authorizations/table.ts";
import { deviceCodes } from "../resources/device/table.ts";
import { invitations } from "../resources/invitations/table.ts";
import { notices } from "../resources/notices/table.ts";
import { sessions } from "../resources/sessions/table.ts";
import { forgetOld } from "../resources/slack/seen.ts";
import { settings } from "../store/settings.ts";

/** How long a key is stored (docs/decisions/http-conventions.md). */
const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** Expired sessions and setup tokens stay in lists for this long. */
const ENDED_FOR_MS = 30 * 24 * 60 * 60 * 1000;
/** How long a client that polls with an expired code gets that error. */
const CODE_EXPIRED_FOR_MS = 60 * 60 * 1000;
const BATCH = 500;

/** Deletes expired idempotency keys in the order of their keys: an index on time would slow down every request. */
export async function* sweepKeys(app: App): AsyncGenerator<void> {
  const { organizationId, actorId, key, createdAt } = idempotencyKeys;
  const cutoff = timestamp(app.clock, -KEY_LIFETIME_MS);
  const keyOf = sql`(${organizationId}, ${actorId}, ${key})`;
  let after: SQL | undefined;
  for (;;) {
    const rows = await app.store.db
      .select({ organizationId, actorId, key, createdAt })
      .from(idempotencyKeys)
      .where(after)
      .orderBy(asc(organizationId), asc(actorId), asc(key))
      .limit(BATCH);
    const last = rows.at(-1);
    if (!last) return;
    const end = sql`(${last.organizationId}, ${last.actorId}, ${last.key})`;
    if (rows.some((row) => row.createdAt < cutoff)) {
      const expired = and(after, sql`${keyOf} <= ${end}`, lt(createdAt, cutoff));
      await app.store.write(async (db) => void (await db.delete(idempotencyKeys).where(expired)));
    }
    if (rows.length < BATCH) return;
    after = sql`${keyOf} > ${end}`;
    yield;
  }
}

/** Deletes sessions that expired or were revoked a month ago. */
export async function* sweepSessions(app: App): AsyncGenerator<void> {
  const cutoff = timestamp(app.clock, -ENDED_FOR_MS);
  for (;;) {
    const ended = await app.store.db
      .select({ id: sessions.id })
      .from(sessions)
      .where(or(lt(sessions.expiresAt, cutoff), lt(sessions.revokedAt, cutoff)))
      .limit(BATCH);
    if (ended.length === 0) return;
    const ids = ended.map(({ id }) => id);
    await app.store.write(async (db) => void (await db.delete(sessions).where(inArray(sessions.id, ids))));
    if (ended.length < BATCH) return;
    yield;
  }
}

/**
 * Deletes authorization codes that expired an hour ago. Until then, reusing one revokes the token it was exchanged
 * for.
 */
export async function* sweepAuthorizationCodes(app: App): AsyncGenerator<void> {
  const old = lt(authorizationCodes.expiresAt, timestamp(app.clock, -CODE_EXPIRED_FOR_MS));
  for (;;) {
    const found = await app.store.db
      .select({ id: authorizationCodes.id })
      .from(authorizationCodes)
      .where(old)
      .limit(BATCH);
    if (found.length === 0) return;
    const ids = found.map(({ id }) => id);
    await app.store.write(
      async (db) => void (await db.delete(authorizationCodes).where(inArray(authorizationCodes.id, ids))),
    );
    if (found.length < BATCH) return;
    yield;
  }
}

/** Deletes expired refresh tokens. Used ones stay until then, so that a second use is noticed. */
export async function* sweepRefreshTokens(app: App): AsyncGenerator<void> {
  const old = lt(refreshTokens.expiresAt, timestamp(app.clock));
  for (;;) {
    const found = await app.store.db
      .select({ id: refreshTokens.id })
      .from(refreshTokens)
      .where(old)
      .limit(BATCH);
    if (found.length === 0) return;
    const ids = found.map(({ id }) => id);
    await app.store.write(
      async (db) => void (await db.delete(refreshTokens).where(inArray(refreshTokens.id, ids))),
    );
    if (found.length < BATCH) return;
    yield;
  }
}

/** Deletes device codes that expired an hour ago, whatever their status. */
export async function* sweepDeviceCodes(app: App): AsyncGenerator<void> {
  const old = lt(deviceCodes.expiresAt, timestamp(app.clock, -CODE_EXPIRED_FOR_MS));
  for (;;) {
    const found = await app.store.db.select({ id: deviceCodes.id }).from(deviceCodes).where(old).limit(BATCH);
    if (found.length === 0) return;
    const ids = found.map(({ id }) => id);
    await app.store.write(
      async (db) => void (await db.delete(deviceCodes).where(inArray(deviceCodes.id, ids))),
    );
    if (found.length < BATCH) return;
    yield;
  }
}

/** Deletes invitations that expired a month ago. */
export async function* sweepInvitations(app: App): AsyncGenerator<void> {
  const old = lt(invitations.expiresAt, timestamp(app.clock, -ENDED_FOR_MS));
  for (;;) {
    const found = await app.store.db.select({ id: invitations.id }).from(invitations).where(old).limit(BATCH);
    if (found.length === 0) return;
    const ids = found.map(({ id }) => id);
    await app.store.write(
      async (db) => void (await db.delete(invitations).where(inArray(invitations.id, ids))),
    );
    if (found.length < BATCH) return;
    yield;
  }
}

/** Deletes notices that were sent or abandoned a month ago: no window for failures is longer. */
export async function* sweepNotices(app: App): AsyncGenerator<void> {
  const old = and(isNull(notices.dueAt), lt(notices.createdAt, timestamp(app.clock, -ENDED_FOR_MS)));
  for (;;) {
    const found = await app.store.db.select({ id: notices.id }).from(notices).where(old).limit(BATCH);
    if (found.length === 0) return;
    const ids = found.map(({ id }) => id);
    await app.store.write(async (db) => void (await db.delete(notices).where(inArray(notices.id, ids))));
    if (found.length < BATCH) return;
    yield;
  }
}

/** Deletes a setup token that expired a month ago, unused. */
export async function* sweepSetupToken(app: App): AsyncGenerator<void> {
  const old = and(
    eq(settings.key, "setup_token"),
    sql`json_extract(${settings.value}, '$.expiresAt') < ${timestamp(app.clock, -ENDED_FOR_MS)}`,
  );
  const [found] = await app.store.db.select({ key: settings.key }).from(settings).where(old);
  if (found) await app.store.write(async (db) => void (await db.delete(settings).where(old)));
  yield;
}

/** Deletes messages from Slack after a day, and expired links for users there. */
export async function* sweepChat(app: App): AsyncGenerator<void> {
  await forgetOld(app);
  yield;
}
