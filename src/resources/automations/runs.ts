import { and, asc, count, desc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { deliverySettled, type HeldDelivery } from "../inbound/settle.ts";
import { SYSTEM } from "../runs/claim.ts";
import type { Trigger } from "../runs/enqueue.ts";
import { findRun, isFinal, requestCancel } from "../runs/service.ts";
import { actionRuns, type RunError } from "../runs/table.ts";
import { advance, automationRunTopic, insertAutomationRun, isEnded } from "./advance.ts";
import { type AutomationConfig, type Concurrency, stepsOf } from "./config.ts";
import { automationRunEnded } from "./ended.ts";
import { placeFor, replacedBy, skippedError } from "./line.ts";
import { below, type Link, MAX_DEPTH } from "./lineage.ts";
import { triggerScope } from "./scope.ts";
import { findAutomation } from "./service.ts";
import { type AutomationRow, type AutomationRunRow, automationRuns, type StepState } from "./table.ts";
import type { AutomationRunQuery } from "./wire.ts";

export interface NewAutomationRun {
  trigger: Trigger;
  input?: Json;
  /** What templates see of the trigger; not stored where a webhook delivery has it. By default see `payloadOf`. */
  scope?: JsonObject;
  /** The webhook delivery that starts it, not stored yet. */
  delivery?: HeldDelivery;
  parent?: AutomationRunRow;
  /** Steps that have ended already, for a run that goes on where another failed. */
  steps?: StepState[];
  /** Of a schedule: the instant that it stands for. */
  scheduledAt?: string;
  /** The run that called this one, or whose event started it; null where that was no automation's. */
  cause?: Link | null;
  /** For a run that was called: its id, and the action run that called it. */
  called?: { id: string; by: string };
}

type Startable = Pick<AutomationRow, "id" | "config" | "version"> &
  Partial<Pick<AutomationRow, "triggerType">>;

/** The instant of a schedule, or an event: also where a person or another automation gives it as the input. */
const payloadOf = ({ triggerType }: Startable, input: Json): JsonObject =>
  triggerType === "schedule" || triggerType === "event" ? { payload: input } : {};

/**
 * Starts a run of the automation, up to the first steps being in line; where its `concurrency` leaves no room, the run
 * waits in line itself, or comes back cancelled.
 */
export async function startAutomationRun(
  tx: WriteContext,
  automation: Startable,
  start: NewAutomationRun,
): Promise<AutomationRunRow> {
  const config = automation.config as AutomationConfig;
  const row = newAutomationRun(tx, automation, start);
  await recordTriggered(tx, row);
  const { concurrency } = config;
  if (concurrency !== undefined) {
    const place = await placeFor(tx, automation.id, concurrency);
    if (place === "skip") return skip(tx, row, concurrency, start.delivery ?? null);
    if (place === "queue") {
      const queued: AutomationRunRow = { ...row, status: "pending", startedAt: null };
      await insertAutomationRun(tx, queued);
      return queued;
    }
    if (concurrency.policy === "cancel_previous") {
      for (const id of await replacedBy(tx, automation.id, concurrency)) await cancelUnlessEnded(tx, id);
    }
  }
  return advance(tx, row, { config, delivery: start.delivery ?? null });
}

function newAutomationRun(
  tx: WriteContext,
  automation: Startable,
  start: NewAutomationRun,
): AutomationRunRow {
  const config = automation.config as AutomationConfig;
  const at = timestamp(tx.clock);
  const id = start.called?.id ?? tx.ids.uuid();
  const isLinked = start.cause !== undefined || start.called !== undefined;
  return {
    id,
    organizationId: tx.organizationId,
    createdAt: at,
    updatedAt: at,
    automationId: automation.id,
    automationVersion: automation.version,
    deliveryId: start.delivery?.row.id ?? null,
    parentRunId: start.parent?.id ?? null,
    scheduledAt: start.scheduledAt ?? null,
    callerRunId: start.called?.by ?? null,
    ...(isLinked ? below(start.cause ?? null, id) : { causeRunId: null, rootRunId: null, depth: 0 }),
    isLimited: config.concurrency !== undefined,
    isWatched: config.expect !== undefined,
    status: "running",
    triggerMethod: start.trigger.method,
    triggerSourceType: start.trigger.sourceType,
    triggerSourceId: start.trigger.sourceId,
    input: start.input ?? null,
    scope: start.scope ?? payloadOf(automation, start.input ?? null),
    steps: start.steps ?? stepsOf(config).map(({ key }) => fresh(key)),
    result: null,
    error: null,
    actor: { ...tx.actor },
    correlationId: tx.correlationId,
    dueAt: null,
    startedAt: at,
    completedAt: null,
  };
}

const recordTriggered = (tx: WriteContext, row: AutomationRunRow): Promise<void> =>
  record(
    tx,
    "automation.triggered",
    { type: "automation", id: row.automationId },
    {
      runId: row.id,
      triggerMethod: row.triggerMethod,
      ...(row.deliveryId === null ? {} : { deliveryId: row.deliveryId }),
      ...(row.scheduledAt === null ? {} : { scheduledAt: row.scheduledAt }),
    },
  );

/** Stores a run that never begins, with its reason; a webhook's sender hears that all is well. */
async function skip(
  tx: WriteContext,
  row: AutomationRunRow,
  concurrency: Concurrency,
  delivery: HeldDelivery | null,
): Promise<AutomationRunRow> {
  const steps = row.steps.map(
    (step): StepState => (isEnded(step.status) ? step : { ...step, status: "skipped" }),
  );
  const error = skippedError(concurrency);
  const skipped: AutomationRunRow = { ...row, status: "cancelled", steps, error, completedAt: row.createdAt };
  await insertAutomationRun(tx, skipped);
  const data = { runId: row.id, status: "cancelled", error: { ...error } };
  await record(tx, "automation.cancelled", { type: "automation", id: row.automationId }, data, SYSTEM);
  if (row.deliveryId !== null) await deliverySettled(tx, { ...skipped, status: "completed" }, delivery);
  await automationRunEnded(tx, skipped);
  return skipped;
}

/**
 * Stores a run that may not begin, as failed for `error`.
 */
export async function refuseAutomationRun(
  tx: WriteContext,
  automation: Startable,
  start: NewAutomationRun,
  error: RunError,
): Promise<AutomationRunRow> {
  const row = newAutomationRun(tx, automation, start);
  const steps = row.steps.map((step): StepState => ({ ...step, status: "skipped" }));
  const depth = Math.max(row.depth, MAX_DEPTH + 1);
  const refused: AutomationRunRow = {
    ...row,
    status: "failed",
    steps,
    error,
    depth,
    completedAt: row.createdAt,
  };
  await recordTriggered(tx, row);
  await insertAutomationRun(tx, refused);
  const data = { runId: row.id, status: "failed", error: { ...error } };
  await record(tx, "automation.failed", { type: "automation", id: row.automationId }, data, SYSTEM);
  return refused;
}

const fresh = (key: string): StepState => ({
  key,
  status: "pending",
  actionRunId: null,
  startedAt: null,
  completedAt: null,
  error: null,
});

/** A step that is done again: of a `forEach` only the items that have not completed. */
export const again = (state: StepState): StepState => ({
  ...fresh(state.key),
  ...(state.items ? { items: state.items } : {}),
});

/** Throws `invalid_state` for a disabled automation. */
export async function runAutomation(
  tx: WriteContext,
  id: string,
  input: Json | undefined,
  trigger: Trigger,
): Promise<AutomationRunRow> {
  const { automation } = await findAutomation(tx, id);
  refuseDisabled(automation);
  return startAutomationRun(tx, automation, { trigger, input: input ?? null });
}

function refuseDisabled(automation: AutomationRow): void {
  if (automation.status === "disabled") {
    throw new AppError("invalid_state", "This automation is disabled; set its status to active first.");
  }
}

const mine = (ctx: Context, id: string) =>
  and(eq(automationRuns.organizationId, ctx.organizationId), eq(automationRuns.id, id));

/** The run, with the statuses of the steps that are under way read from their action runs. */
export async function findAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  const [row] = await ctx.db.select().from(automationRuns).where(mine(ctx, id));
  if (!row) throw notFound("automation run");
  const [live] = await withLiveSteps(ctx, [row]);
  return live ?? row;
}

/** A step under way has its status in its action run; an ended one in the automation run. */
async function withLiveSteps(ctx: Context, rows: AutomationRunRow[]): Promise<AutomationRunRow[]> {
  const open = rows.flatMap((row) =>
    row.steps.flatMap((step) => (step.status === "pending" && step.actionRunId ? [step.actionRunId] : [])),
  );
  if (open.length === 0) return rows;
  const states = await ctx.db
    .select({
      id: actionRuns.id,
      status: actionRuns.status,
      startedAt: actionRuns.startedAt,
      error: actionRuns.error,
    })
    .from(actionRuns)
    .where(inArray(actionRuns.id, open));
  const byId = new Map(states.map((state) => [state.id, state]));
  return rows.map((row) => ({
    ...row,
    steps: row.steps.map((step) => {
      const state = step.status === "pending" && step.actionRunId ? byId.get(step.actionRunId) : undefined;
      return state ? { ...step, status: state.status, startedAt: state.startedAt, error: state.error } : step;
    }),
  }));
}

/** Newest first. */
export async function listAutomationRuns(
  ctx: Context,
  automationId: string,
  query: AutomationRunQuery,
): Promise<{ rows: AutomationRunRow[]; total: number }> {
  await findAutomation(ctx, automationId);
  const where = and(
    eq(automationRuns.organizationId, ctx.organizationId),
    eq(automationRuns.automationId, automationId),
    query.status === undefined ? undefined : eq(automationRuns.status, query.status),
  );
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  const [total] = await ctx.db.select({ n: count() }).from(automationRuns).where(where);
  return { rows: await withLiveSteps(ctx, rows), total: total?.n ?? 0 };
}

const isOver = (run: AutomationRunRow) => run.completedAt !== null;

/** Cancels the run and every step of it that has not ended. Throws `invalid_state` for one that has ended. */
export async function cancelAutomationRun(ctx: Context, id: string): Promise<AutomationRunRow> {
  await write(ctx, async (tx) => {
    const run = await findAutomationRun(tx, id);
    if (isOver(run)) throw new AppError("invalid_state", `This run has ended already: it is ${run.status}.`);
    const at = timestamp(tx.clock);
    const steps = run.steps.map((step): StepState => {
      if (isEnded(step.status)) return step;
      const hasBegun = step.actionRunId !== null || step.items !== undefined;
      return { ...step, status: hasBegun ? "cancelled" : "skipped", completedAt: at };
    });
    await tx.db
      .update(automationRuns)
      .set({ status: "cancelled", steps, dueAt: null, completedAt: at, updatedAt: at })
      .where(mine(tx, id));
    for (const id of await openRunsOf(tx, run)) {
      // One that is cancelled may make room in a line, and so let another end on the spot.
      if (!isFinal(await findRun(tx, id))) await requestCancel(tx, id);
    }
    await record(tx, "automation.cancelled", { type: "automation", id: run.automationId }, { runId: run.id });
    if (run.deliveryId !== null)
      await deliverySettled(tx, { ...run, status: "cancelled", steps, completedAt: at }, null);
    await automationRunEnded(tx, { ...run, status: "cancelled", steps, completedAt: at });
    tx.afterCommit(() => tx.signals.notify(automationRunTopic(id)));
  });
  return findAutomationRun(ctx, id);
}

/** The same for a run that nobody needs any more: one that has ended, or is not kept, stays as it is. */
export async function cancelUnlessEnded(tx: WriteContext, id: string): Promise<void> {
  const [run] = await tx.db
    .select({ completedAt: automationRuns.completedAt })
    .from(automationRuns)
    .where(mine(tx, id));
  if (run && run.completedAt === null) await cancelAutomationRun(tx, id);
}

/** The action runs of its steps, and of their items, that have not ended. */
async function openRunsOf(tx: WriteContext, run: AutomationRunRow): Promise<string[]> {
  const rows = await tx.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.automationRunId, run.id),
        inArray(actionRuns.status, ["pending", "running", "waiting"]),
      ),
    )
    .orderBy(asc(actionRuns.id));
  return rows.map(({ id }) => id);
}

/**
 * Sets a run that has ended off again, as a new run. With `fromFailed` the steps that completed keep
 * their results, and only the rest is done again.
 */
export async function retryAutomationRun(
  tx: WriteContext,
  id: string,
  fromFailed: boolean,
  trigger: Trigger,
): Promise<AutomationRunRow> {
  const run = await findAutomationRun(tx, id);
  if (!isOver(run))
    throw new AppError(
      "invalid_state",
      `This run is ${run.status}; only one that has ended can be tried again.`,
    );
  const { automation } = await findAutomation(tx, run.automationId);
  refuseDisabled(automation);
  const kept = new Map(
    run.steps.filter((step) => fromFailed && step.status === "completed").map((step) => [step.key, step]),
  );
  const before = new Map(run.steps.map((step) => [step.key, step]));
  const steps = stepsOf(automation.config as AutomationConfig).map(({ key, forEach }) => {
    const begun = fromFailed && forEach !== undefined ? before.get(key) : undefined; // it may have had no list then
    return kept.get(key) ?? (begun ? again(begun) : fresh(key));
  });
  const scope = await triggerScope(tx.db, run);
  if (
    run.deliveryId !== null &&
    Object.keys(scope).length === 0 &&
    steps.some(({ status }) => status === "pending")
  ) {
    throw new AppError("gone", "The content of this run's webhook is not kept any more; have it sent again.");
  }
  return startAutomationRun(tx, automation, {
    trigger,
    input: run.input,
    ...(Object.keys(scope).length === 0 ? {} : { scope }),
    parent: run,
    steps,
  });
}
