import { and, asc, count, eq, inArray, isNull, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { openSetbacks } from "../base/setbacks.ts";
import type { Actor, App, WriteContext } from "../context.ts";
import { contextForRun, write } from "../context.ts";
import type { AutomationConfig, Concurrency } from "../resources/automations/config.ts";
import { type AutomationRunRow, automationRuns, automations } from "../resources/automations/table.ts";
import type { RunError } from "../resources/runs/table.ts";
import { mayPass } from "../store/faults.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { advance } from "./advance.ts";
import { endEarly } from "./cancel.ts";
import { queueTiedBy } from "./deadlock.ts";

/** How many runs one transaction starts, and for how long. A longer queue continues in the next transaction. */
const BATCH = 20;
const BATCH_MS = 50;

/** Must match the text in the index `automation_runs_limited`. */
const open = (automationId: string) =>
  and(
    eq(automationRuns.automationId, automationId),
    sql`${automationRuns.isLimited} = 1`,
    isNull(automationRuns.completedAt),
  );

const UNDER_WAY = inArray(automationRuns.status, ["running", "waiting"]);

async function countUnderWay(db: ReadDb, automationId: string): Promise<number> {
  const [row] = await db
    .select({ n: count() })
    .from(automationRuns)
    .where(and(open(automationId), UNDER_WAY));
  return row?.n ?? 0;
}

/** Decides about a new run of an automation with `concurrency`: it starts, is queued, or is skipped. */
export async function admission(
  tx: WriteContext,
  automationId: string,
  { max, policy = "queue" }: Concurrency,
): Promise<"start" | "queue" | "skip"> {
  if (policy === "cancel_previous") return "start";
  const isFull = (await countUnderWay(tx.db, automationId)) >= max;
  return isFull ? policy : "start";
}

/** Returns the runs to cancel for a new one under `cancel_previous`: queued ones, and the oldest running ones. */
export async function replacedBy(
  tx: WriteContext,
  automationId: string,
  { max }: Concurrency,
): Promise<string[]> {
  const rows = await tx.db
    .select({ id: automationRuns.id, status: automationRuns.status })
    .from(automationRuns)
    .where(open(automationId))
    .orderBy(asc(automationRuns.id));
  const waiting = rows.filter(({ status }) => status === "pending");
  const underWay = rows.filter(({ status }) => status !== "pending");
  return [...waiting, ...underWay.slice(0, Math.max(0, underWay.length - max + 1))].map(({ id }) => id);
}

/** Error of a run that the policy `skip` refused. */
const SKIPPED = "skipped";
export const skippedError = ({ max }: Concurrency): RunError => ({
  code: SKIPPED,
  message: `Skipped: the automation is limited to ${max} ${max === 1 ? "run" : "runs"} at once.`,
  retryable: false,
  attempt: 1,
  details: null,
});
export const isSkipped = ({ status, error }: Pick<AutomationRunRow, "status" | "error">): boolean =>
  status === "cancelled" && error?.code === SKIPPED;

/** Starts the next queued runs, as many as there is room for. Returns how many. */
export async function moveUp(tx: WriteContext, automationId: string): Promise<number> {
  let started = 0;
  const untilMs = tx.clock.monotonic() + BATCH_MS;
  while (started < BATCH && tx.clock.monotonic() <= untilMs && (await hasRoom(tx.db, automationId))) {
    const [next] = await tx.db
      .select()
      .from(automationRuns)
      .where(and(open(automationId), eq(automationRuns.status, "pending")))
      .orderBy(asc(automationRuns.id))
      .limit(1);
    if (!next) break;
    await start(tx, next);
    started++;
  }
  return started;
}

/** Uses the automation's current `concurrency`. */
async function hasRoom(db: ReadDb, automationId: string): Promise<boolean> {
  const [automation] = await db
    .select({ config: automations.config })
    .from(automations)
    .where(eq(automations.id, automationId));
  const { concurrency } = (automation?.config ?? {}) as AutomationConfig;
  return concurrency === undefined || (await countUnderWay(db, automationId)) < concurrency.max;
}

async function start(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const startedAt = timestamp(tx.clock);
  await tx.db.update(automationRuns).set({ startedAt }).where(eq(automationRuns.id, run.id));
  const { actor, correlationId } = run;
  const own = { ...tx, actor: actor as unknown as Actor, correlationId, requestCorrelationId: undefined };
  await advance(own, { ...run, startedAt, status: "running" });
}

/**
 * Fails a run in a queue that can no longer move, for example after its `concurrency` was lowered: the first one that a
 * running run waits for. Runs called by others stay in the queue. Returns how many it failed.
 */
async function untie(tx: WriteContext, automationId: string): Promise<number> {
  const { organizationId } = tx;
  const tie = await queueTiedBy(tx.db, { organizationId, automationId });
  if (tie === null) return 0;
  const [called] = await tx.db
    .select()
    .from(automationRuns)
    .where(
      and(
        open(automationId),
        eq(automationRuns.status, "pending"),
        sql`${automationRuns.id} in (select value from json_each(${JSON.stringify(tie)}))`,
      ),
    )
    .orderBy(asc(automationRuns.id))
    .limit(1);
  if (!called) return 0;
  const message =
    "Deadlock: the running runs of this automation wait for this one through their calls. Raise its concurrency limit, or call it without waiting.";
  const error: RunError = { code: "call_deadlock", message, retryable: false, attempt: 1, details: null };
  await endEarly(tx, called, { status: "failed", error, starting: null });
  return 1;
}

const queuesWaiting = prepared((db: ReadDb) =>
  db
    .select({ automationId: automations.id, organizationId: automations.organizationId })
    .from(automations)
    .where(
      sql`${automations.id} in (select distinct automation_id from automation_runs indexed by automation_runs_limited
        where is_limited = 1 and completed_at is null and status = 'pending')
        and ${automations.id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
    )
    .prepare(),
);

/**
 * Advances every queue that has room, after many runs ended in one transaction or `concurrency` was raised. With
 * `isThorough`, also fails what can no longer move. Returns how many runs started or failed.
 */
export async function moveQueues(
  app: App,
  setbacks = openSetbacks(app.clock),
  isThorough = true,
): Promise<number> {
  const waiting = await queuesWaiting(app.store.db).all({ passedOver: setbacks.passedOver() });
  let started = 0;
  for (const { automationId, organizationId } of waiting) {
    const ctx = contextForRun(app, {
      organizationId,
      actor: { type: "automation", id: automationId },
      correlationId: app.ids.uuid(),
    });
    try {
      const { db } = app.store;
      if (await hasRoom(db, automationId)) started += await write(ctx, (tx) => moveUp(tx, automationId));
      else if (isThorough && (await queueTiedBy(db, { organizationId, automationId })))
        started += await write(ctx, (tx) => untie(tx, automationId));
    } catch (error) {
      if (!mayPass(error)) setbacks.note(automationId); // continue with the other queues
      app.log.report(error, { automationId, at: "advance a queue" });
    }
  }
  return started;
}
