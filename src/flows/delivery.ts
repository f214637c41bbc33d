import { eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { OpenRun, WriteContext } from "../context.ts";
import type { AutomationConfig } from "../resources/automations/config.ts";
import { type AutomationRunRow, automations } from "../resources/automations/table.ts";
import { buryDelivery, digUp, isReplaying, putInboundBack } from "../resources/dead-letters/bury.ts";
import {
  type DeliveryRow,
  type DeliveryStatus,
  deliveryAttempts,
  webhookDeliveries,
} from "../resources/inbound/table.ts";
import { noticeWebhookFailures } from "../resources/notices/webhook-failures.ts";
import type { RunError } from "../resources/runs/table.ts";
import { changing, insertInto, prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { firstOf } from "./lineage.ts";

/** Defaults of the config (docs/decisions/webhooks-in.md). */
const RETRIES = { enabled: true, maxAttempts: 5, backoffSeconds: [5, 30, 120, 600, 1800] };
/** Jitter of the delays, so that simultaneous failures aren't retried simultaneously. */
const JITTER = 0.1;

const deliveryById = prepared((db: ReadDb) =>
  db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, sql.placeholder("id")))
    .prepare(),
);

const saveDelivery = changing(webhookDeliveries, (update) =>
  update
    .set({
      status: sql`${sql.placeholder("status")}`,
      replyCode: sql`${sql.placeholder("replyCode")}`,
      attempts: sql`${sql.placeholder("attempts")}`,
      nextAttemptAt: sql`${sql.placeholder("nextAttemptAt")}`,
      error: sql`${sql.placeholder("error")}`,
      headers: sql`case when ${sql.placeholder("forget")} = 1 then null else ${webhookDeliveries.headers} end`,
      query: sql`case when ${sql.placeholder("forget")} = 1 then null else ${webhookDeliveries.query} end`,
      payload: sql`case when ${sql.placeholder("forget")} = 1 then null else ${webhookDeliveries.payload} end`,
      updatedAt: sql`${sql.placeholder("now")}`,
    })
    .where(eq(webhookDeliveries.id, sql.placeholder("id"))),
);

/** A delivery whose row isn't stored yet, since its run may end in the transaction that accepts it. */
export interface UnstoredDelivery {
  row: DeliveryRow;
  isStored: boolean;
}

const insertDelivery = insertInto(webhookDeliveries);

/** Stores a delivery in its current state. */
export async function storeUnstored(
  tx: WriteContext,
  delivery: UnstoredDelivery,
  automationRunId: string,
): Promise<void> {
  if (delivery.isStored) return;
  delivery.isStored = true;
  await insertDelivery(tx.db, { ...delivery.row, automationRunId });
}

/**
 * Settles the webhook delivery of a finished automation run, in the transaction that finished it. Returns when the run
 * is retried, or null if it isn't. `known` is the delivery if it was read before.
 */
export async function deliveryEnded(
  tx: WriteContext,
  run: AutomationRunRow,
  unstored: UnstoredDelivery | null,
  known: OpenRun["delivery"] = null,
): Promise<string | null> {
  if (unstored !== null && run.status === "completed" && unstored.row.replayOf === null) {
    const forgotten = unstored.row.isKept ? {} : { headers: null, query: null, payload: null };
    unstored.row = { ...unstored.row, ...forgotten, status: "processed", replyCode: 200 };
    return null;
  }
  if (known !== null && run.status === "completed" && known.attempts === 1 && known.replayOf === null) {
    await save(tx, known, PROCESSED);
    return null;
  }
  if (unstored !== null) await storeUnstored(tx, unstored, run.id);
  const [delivery] = await deliveryById(tx.db).all({ id: run.deliveryId });
  if (!delivery) return null;
  if (run.status !== "failed" || run.error === null) {
    const isDone = run.status === "completed";
    const replyCode = isDone ? 200 : 500;
    const error = isDone ? run.error : (run.error ?? cancelled(delivery));
    if (delivery.attempts > 1) await noteAttempt(tx, delivery, { replyCode, error });
    const status = isDone ? "processed" : "failed";
    await save(tx, delivery, { status, replyCode, error, nextAttemptAt: null });
    if (isDone && delivery.replayOf !== null) await digUp(tx, delivery.replayOf);
    if (error !== null && !isDone) await putInboundBack(tx, delivery, error);
    return null;
  }
  await noteAttempt(tx, delivery, { replyCode: 500, error: run.error });
  const automation = await automationOf(tx, run);
  const retries = { ...RETRIES, ...automation?.config.retries };
  const mayRetry = run.error.retryable && retries.enabled && delivery.attempts < retries.maxAttempts;
  if (mayRetry) {
    const steps = retries.backoffSeconds.length > 0 ? retries.backoffSeconds : RETRIES.backoffSeconds;
    const pause = steps[Math.min(delivery.attempts - 1, steps.length - 1)] ?? 0;
    const nextAttemptAt = timestamp(tx.clock, pause * 1000 * jitter(tx));
    await save(tx, delivery, { status: "retrying", replyCode: 202, error: run.error, nextAttemptAt });
    return nextAttemptAt;
  }
  const status: DeliveryStatus = isWorthReplay(run.error) ? "dead_letter" : "failed";
  await save(tx, delivery, { status, replyCode: 500, error: run.error, nextAttemptAt: null });
  if (status === "dead_letter" || delivery.replayOf !== null) await buryDelivery(tx, delivery, run.error);
  if (automation) await noticeWebhookFailures(tx, delivery, automation, run.error);
  return null;
}

/** Marks the dead letter of a retried delivery as replayed. A replay in progress decides about it itself. */
export async function retryCompleted(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const { deliveryId } = await firstOf(tx.db, run);
  const [delivery] = deliveryId === null ? [] : await deliveryById(tx.db).all({ id: deliveryId });
  if (!delivery) return;
  const dead = delivery.replayOf ?? delivery.id;
  if (!(await isReplaying(tx, dead))) await digUp(tx, dead);
}

const cancelled = ({ attempts: attempt }: DeliveryRow): RunError => ({
  code: "cancelled",
  message: "The run was cancelled.",
  retryable: false,
  attempt,
  details: null,
});

/**
 * Runs that kept ending the process, or failed because of an internal error, aren't retried. People can replay them
 * once the cause is fixed.
 */
const OURS: readonly string[] = ["interrupted_too_often", "internal"];
const isWorthReplay = (error: RunError): boolean => error.retryable || OURS.includes(causeOf(error).code);

/** The error at the end of a chain of calls. */
function causeOf(error: RunError): RunError {
  const cause = error.code === "called_automation_failed" ? error.details?.error : null;
  return cause ? causeOf(cause as unknown as RunError) : error;
}

const jitter = (tx: WriteContext) => 1 - JITTER + 2 * JITTER * ((tx.ids.bytes(1)[0] ?? 128) / 255);

async function automationOf(tx: WriteContext, run: AutomationRunRow) {
  const [row] = await tx.db
    .select({ name: automations.name, config: automations.config })
    .from(automations)
    .where(eq(automations.id, run.automationId));
  return row && { name: row.name, config: row.config as AutomationConfig };
}

interface DeliveryState {
  status: DeliveryStatus;
  replyCode: number;
  error: RunError | null;
  nextAttemptAt: string | null;
}

const PROCESSED: DeliveryState = { status: "processed", replyCode: 200, error: null, nextAttemptAt: null };

async function save(
  tx: WriteContext,
  delivery: Pick<DeliveryRow, "id" | "attempts" | "isKept">,
  now: DeliveryState,
): Promise<void> {
  await saveDelivery(tx.db, {
    id: delivery.id,
    attempts: delivery.attempts,
    ...now,
    error: now.error === null ? null : JSON.stringify(now.error),
    forget: now.status === "processed" && !delivery.isKept ? 1 : 0,
    now: timestamp(tx.clock),
  });
}

/** Stores the result of an attempt. The delivery itself records a successful first one. */
async function noteAttempt(
  tx: WriteContext,
  delivery: DeliveryRow,
  ended: { replyCode: number; error: RunError | null },
): Promise<void> {
  const { id: deliveryId, attempts: number, updatedAt: startedAt } = delivery;
  await tx.db
    .insert(deliveryAttempts)
    .values({ deliveryId, number, startedAt, completedAt: timestamp(tx.clock), ...ended })
    .onConflictDoNothing();
}
