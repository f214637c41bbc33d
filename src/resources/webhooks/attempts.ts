import { and, eq, inArray, sql } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { type Actor, type App, contextFor, type WriteContext, writeFor } from "../../context.ts";
import { insertInto } from "../../store/prepared.ts";
import type { WriteDb } from "../../store/store.ts";
import { version } from "../../version.ts";
import { buryOutbound, digUpOutbound, putOutboundBack } from "../dead-letters/bury-outbound.ts";
import { record } from "../events/service.ts";
import type { RunError } from "../runs/table.ts";
import { countTries } from "./count.ts";
import { hold } from "./hold.ts";
import type { Attempt } from "./send.ts";
import { shownUrl } from "./shown-url.ts";
import {
  type OutboundRow,
  outboundAttempts,
  outboundDeliveries,
  type WebhookRow,
  webhooks,
} from "./table.ts";

/** Jitter of the delays, so that simultaneous failures aren't retried simultaneously. */
const JITTER = 0.1;
/** Status of a receiver that wants no more events. */
const GONE = 410;

const DELIVERER: Actor = { type: "system", id: "deliverer", process: "weir", version };

const insertAttempts = insertInto(outboundAttempts);

/** Records the results of attempts and their consequences, in one transaction. */
export async function recordAttempts(app: App, attempts: readonly Attempt[]): Promise<void> {
  if (attempts.length === 0) return;
  const done = attempts.filter(({ error }) => error === null);
  const failed = attempts.filter(({ error }) => error !== null);
  const ends = await writeFor(app, async (inside, db) => {
    if (done.length > 0) await recordDelivered(app, db, done);
    return failed.length > 0 ? recordFailed(app, inside, db, failed, done) : [];
  });
  countTries(app, [...done.map(() => "delivered" as const), ...ends]);
}

/** Neither waits for a lock: their rows exist, or the change was recorded before. */
const DELIVERED = `update outbound_deliveries set status = 'delivered', attempts = attempts + 1, due_at = null,
    taken_by = null, completed_at = ?, error = null, reply_code = v.code, duration_ms = v.ms, reply_excerpt = v.excerpt
  from (select value ->> 0 as id, cast(value ->> 1 as bigint) as code, cast(value ->> 2 as bigint) as ms, value ->> 3 as excerpt from json_each(?)) v
  where outbound_deliveries.id = v.id and outbound_deliveries.status in ('pending', 'retrying')`;
const WELL = `update webhooks set failing_since = null
  where failing_since is not null and id in (select value from json_each(?))`;

async function recordDelivered(app: App, db: WriteDb, done: readonly Attempt[]): Promise<void> {
  const rows = done.map(({ taken, durationMs, replyCode, replyExcerpt }) => [
    taken.delivery.id,
    replyCode,
    durationMs,
    replyExcerpt,
  ]);
  await db.statement(DELIVERED)([timestamp(app.clock), JSON.stringify(rows)]);
  const real = done.filter(({ taken }) => !taken.delivery.isTest);
  const subscriptionIds = new Set(real.map(({ taken }) => taken.subscription.id));
  await db.statement(WELL)([JSON.stringify([...subscriptionIds])]);
  const replayed = real.flatMap(({ taken }) => taken.delivery.replayOf ?? []);
  if (replayed.length > 0) await digUpOutbound(db, replayed);
}

/** A delivery whose attempt failed, while this process still holds it. */
interface Failed {
  attempt: Attempt;
  error: RunError;
  row: OutboundRow;
  subscription: WebhookRow;
}

async function recordFailed(
  app: App,
  inside: (ctx: ReturnType<typeof contextFor>) => WriteContext,
  db: WriteDb,
  attempts: readonly Attempt[],
  done: readonly Attempt[],
): Promise<Fate["status"][]> {
  const all = await readFailed(app, db, attempts);
  const well = new Set(
    done.filter(({ taken }) => !taken.delivery.isTest).map(({ taken }) => taken.subscription.id),
  );
  const fates = all.map((failed) => ({ ...failed, fate: fateOf(app, failed) }));
  await insertAll(db, all);
  await moveAll(app, db, fates);
  const contextOf = (subscription: WebhookRow, correlationId: string) =>
    inside(
      contextFor(app, {
        organizationId: subscription.organizationId,
        actor: DELIVERER,
        role: "member",
        correlationId,
      }),
    );
  for (const { fate, row, subscription, error, attempt } of fates) {
    if (fate.status === "retrying") continue;
    const tx = contextOf(subscription, attempt.taken.event.correlationId);
    const buried = { ...row, attempts: row.attempts + 1 };
    if (fate.status === "dead_letter") await buryOutbound(tx, buried, error);
    else await putOutboundBack(tx, buried, error);
  }
  const bySubscription = Map.groupBy(
    fates.filter(({ row }) => !row.isTest),
    ({ subscription }) => subscription.id,
  );
  for (const [id, group] of bySubscription) {
    const first = group[0];
    if (!first || well.has(id)) continue;
    const { subscription, attempt } = first;
    await noteFailing(
      contextOf(subscription, attempt.taken.event.correlationId),
      subscription,
      group.map(({ attempt: one }) => one),
    );
  }
  return fates.map(({ fate }) => fate.status);
}

async function readFailed(app: App, db: WriteDb, attempts: readonly Attempt[]): Promise<Failed[]> {
  const ids = JSON.stringify(attempts.map(({ taken }) => taken.delivery.id));
  const rows = await db
    .select({ row: outboundDeliveries, subscription: webhooks })
    .from(outboundDeliveries)
    .innerJoin(webhooks, eq(webhooks.id, outboundDeliveries.webhookId))
    .where(
      and(
        sql`${outboundDeliveries.id} in (select value from json_each(${ids}))`,
        eq(outboundDeliveries.takenBy, app.bootId),
        inArray(outboundDeliveries.status, ["pending", "retrying"]),
      ),
    );
  const byId = new Map(rows.map((one) => [one.row.id, one]));
  return attempts.flatMap((attempt) => {
    const found = byId.get(attempt.taken.delivery.id);
    return found && attempt.error ? [{ attempt, error: attempt.error, ...found }] : [];
  });
}

interface Fate {
  status: "retrying" | "failed" | "dead_letter";
  dueAt: string | null;
}

function fateOf(app: App, { attempt, row, subscription }: Failed): Fate {
  if (row.isTest || subscription.deletedAt !== null) return { status: "failed", dueAt: null };
  if (attempt.replyCode === GONE) return { status: "retrying", dueAt: timestamp(app.clock) }; // Held with the others.
  const step = app.config.webhookSchedule[row.attempts + 1];
  if (step === undefined) return { status: "dead_letter", dueAt: null };
  const requestedSeconds = Math.min(attempt.retryAfterSeconds ?? 0, 2 * step);
  return {
    status: "retrying",
    dueAt: timestamp(app.clock, Math.max(step * jitter(app), requestedSeconds) * 1000),
  };
}

const jitter = ({ ids }: App) => 1 - JITTER + 2 * JITTER * ((ids.bytes(1)[0] ?? 128) / 255);

async function insertAll(db: WriteDb, all: readonly Failed[]): Promise<void> {
  for (const { attempt, row, error } of all) {
    const { startedAt, durationMs, replyCode, replyExcerpt } = attempt;
    const number = row.attempts + 1;
    await insertAttempts(db, {
      deliveryId: row.id,
      number,
      startedAt,
      durationMs,
      replyCode,
      replyExcerpt,
      error: { ...error, attempt: number },
    });
  }
}

async function moveAll(app: App, db: WriteDb, fates: readonly (Failed & { fate: Fate })[]): Promise<void> {
  const rows = fates.map(({ attempt, row, error, fate }) => [
    row.id,
    fate.status,
    fate.dueAt,
    attempt.replyCode,
    attempt.durationMs,
    attempt.replyExcerpt,
    JSON.stringify({ ...error, attempt: row.attempts + 1 }),
  ]);
  await db.run(
    sql`update outbound_deliveries set status = v.status, attempts = attempts + 1, due_at = v.due, taken_by = null,
        completed_at = ${timestamp(app.clock)}, reply_code = v.code, duration_ms = v.ms, reply_excerpt = v.excerpt,
        error = v.error
      from (select value ->> 0 as id, value ->> 1 as status, value ->> 2 as due, cast(value ->> 3 as bigint) as code,
        cast(value ->> 4 as bigint) as ms, value ->> 5 as excerpt, value ->> 6 as error
        from json_each(${JSON.stringify(rows)})) v
      where outbound_deliveries.id = v.id`,
  );
}

/**
 * Records since when all attempts have failed. Disables a subscription after too long, or if its receiver asks for it.
 */
async function noteFailing(
  tx: WriteContext,
  subscription: WebhookRow,
  attempts: readonly Attempt[],
): Promise<void> {
  if (subscription.status !== "active") return;
  const starts = attempts.map(({ startedAt }) => startedAt).sort();
  const since = subscription.failingSince ?? starts[0] ?? timestamp(tx.clock);
  const seconds = (tx.clock.now().getTime() - Date.parse(since)) / 1000;
  const reason = attempts.some(({ replyCode }) => replyCode === GONE)
    ? "The receiver returned 410 (Gone)."
    : seconds >= tx.config.webhookDisableAfter
      ? `All deliveries have failed since ${since}.`
      : null;
  if (reason === null) {
    if (subscription.failingSince === null)
      await tx.db.update(webhooks).set({ failingSince: since }).where(eq(webhooks.id, subscription.id));
    return;
  }
  await tx.db
    .update(webhooks)
    .set({
      ...(await hold(tx, subscription, reason)),
      failingSince: since,
      updatedAt: timestampAfter(tx.clock, subscription.updatedAt),
    })
    .where(eq(webhooks.id, subscription.id));
  const data = { url: shownUrl(subscription.url), reason };
  await record(tx, "webhook.disabled", { type: "webhook", id: subscription.id }, data);
}
