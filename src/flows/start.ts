import { timestamp } from "../base/clock.ts";
import { AppError, type Fault, InvalidInput } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { valueFaults } from "../base/json-schema.ts";
import type { WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import type { Trigger } from "../queue/enqueue.ts";
import { type AutomationConfig, type Concurrency, stepsOf } from "../resources/automations/config.ts";
import type { AutomationRow, AutomationRunRow, StepState } from "../resources/automations/table.ts";
import { record } from "../resources/events/service.ts";
import type { RunError } from "../resources/runs/table.ts";
import { refuseQueue } from "../resources/usage/quotas.ts";
import { advance } from "./advance.ts";
import { cancelUnlessEnded } from "./cancel.ts";
import { admission, replacedBy, skippedError } from "./concurrency.ts";
import { deliveryEnded, type UnstoredDelivery } from "./delivery.ts";
import { findAutomation } from "./find.ts";
import { below, type Link, MAX_DEPTH } from "./lineage.ts";
import type { StoredTrigger } from "./long-payload.ts";
import { insertAutomationRun } from "./save.ts";
import { fresh, isEnded } from "./states.ts";

export interface NewAutomationRun {
  trigger: Trigger;
  input?: Json;
  /** What templates see of the trigger. Not stored if a webhook delivery has it. Default: see `payloadOf`. */
  scope?: StoredTrigger;
  /** The webhook delivery that starts the run. Not stored yet. */
  delivery?: UnstoredDelivery;
  parent?: AutomationRunRow;
  /** Finished steps, for a run that continues a failed one. */
  steps?: StepState[];
  /** The scheduled time. Only for a schedule. */
  scheduledAt?: string;
  /** The run that called this one, or whose event started it. Null if there is none. */
  cause?: Link | null;
  /** ID of the run, if it is already known. */
  id?: string;
  /** For a called run: its caller and the caller's action run. */
  called?: { id: string; by: string };
}

type Startable = Pick<AutomationRow, "id" | "config" | "version"> &
  Partial<Pick<AutomationRow, "triggerType">>;

/**
 * The payload that templates see: the scheduled time, the event, a form's answers or a webhook's body.
 * The same if a person or another automation passes it as the input.
 */
const payloadOf = ({ triggerType }: Startable, input: Json): JsonObject => {
  if (triggerType === "webhook") return input === null ? {} : { payload: input, headers: {}, query: {} };
  return triggerType === undefined || triggerType === "manual" ? {} : { payload: input };
};

/** No caller would receive an error, so the run reports it. */
const UNASKED: readonly string[] = ["schedule", "event"];

function quotaOnly(error: unknown): AppError {
  if (error instanceof AppError && error.code === "quota_exceeded") return error;
  throw error;
}

/**
 * Starts a run of the automation and queues its first steps. If its `concurrency` leaves no room, the run itself is
 * queued, or returned as cancelled. Beyond the quota of queued runs, a run requested by a person or sender throws
 * `quota_exceeded`. One started by a schedule or event fails with it.
 */
export async function startAutomationRun(
  tx: WriteContext,
  automation: Startable,
  start: NewAutomationRun,
): Promise<AutomationRunRow> {
  const config = automation.config as AutomationConfig;
  const { method } = start.trigger;
  const full = method === "automation" ? null : await refuseQueue(tx).catch(quotaOnly);
  if (full && UNASKED.includes(method)) {
    const { code, message } = full;
    const error = { code, message, details: { quota: "queuedRuns" }, retryable: false, attempt: 1 };
    return refuseAutomationRun(tx, automation, start, { error, isCutOff: false });
  }
  if (full) throw full;
  const row = newAutomationRun(tx, automation, start);
  await recordTriggered(tx, row);
  const { concurrency } = config;
  if (concurrency !== undefined) {
    const admitted = await admission(tx, automation.id, concurrency);
    if (admitted === "skip") return skip(tx, row, concurrency, start.delivery ?? null);
    if (admitted === "queue") {
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
  const id = start.called?.id ?? start.id ?? tx.ids.uuid();
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
    isWatched: config.expect !== undefined || config.alerts !== undefined,
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
    privateTo: start.trigger.privateTo ?? null,
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

/**
 * Stores a run that never starts, with the reason. A webhook's sender gets a success response; a replay isn't marked as
 * done.
 */
async function skip(
  tx: WriteContext,
  row: AutomationRunRow,
  concurrency: Concurrency,
  delivery: UnstoredDelivery | null,
): Promise<AutomationRunRow> {
  const steps = row.steps.map(
    (step): StepState => (isEnded(step.status) ? step : { ...step, status: "skipped" }),
  );
  const error = skippedError(concurrency);
  const skipped: AutomationRunRow = { ...row, status: "cancelled", steps, error, completedAt: row.createdAt };
  await insertAutomationRun(tx, skipped);
  const data = { runId: row.id, status: "cancelled", error: { ...error } };
  await record(tx, "automation.cancelled", { type: "automation", id: row.automationId }, data, SYSTEM);
  const isReplay = delivery !== null && delivery.row.replayOf !== null;
  if (row.deliveryId !== null)
    await deliveryEnded(tx, isReplay ? skipped : { ...skipped, status: "completed" }, delivery);
  tx.runFollowers.automationEnded(tx, skipped);
  return skipped;
}

/** Stores a run that can't start, failed with `error`. With `isCutOff`, its events trigger nothing. */
export async function refuseAutomationRun(
  tx: WriteContext,
  automation: Startable,
  start: NewAutomationRun,
  { error, isCutOff }: { error: RunError; isCutOff: boolean },
): Promise<AutomationRunRow> {
  const row = newAutomationRun(tx, automation, start);
  const steps = row.steps.map((step): StepState => ({ ...step, status: "skipped" }));
  const depth = isCutOff ? Math.max(row.depth, MAX_DEPTH + 1) : row.depth;
  const completedAt = row.createdAt;
  const refused: AutomationRunRow = { ...row, status: "failed", steps, error, depth, completedAt };
  await recordTriggered(tx, row);
  await insertAutomationRun(tx, refused);
  const data = { runId: row.id, status: "failed", error: { ...error } };
  await record(tx, "automation.failed", { type: "automation", id: row.automationId }, data, SYSTEM);
  return refused;
}

/** Throws `invalid_state` for a disabled automation and for a draft. */
export async function runAutomation(
  tx: WriteContext,
  id: string,
  input: Json | undefined,
  trigger: Trigger,
): Promise<AutomationRunRow> {
  const { automation } = await findAutomation(tx, id);
  refuseDisabled(automation);
  const faults = inputFaults(automation, input ?? null);
  if (faults.length > 0) throw new InvalidInput(faults);
  return startAutomationRun(tx, automation, { trigger, input: input ?? null });
}

/** Returns what is wrong with an input by the automation's `inputSchema`. */
export function inputFaults({ config }: Pick<AutomationRow, "config">, input: Json): Fault[] {
  const { inputSchema } = config as AutomationConfig;
  if (inputSchema === undefined) return [];
  return valueFaults(inputSchema, input).map(({ path, message, type }) => ({
    loc: ["body", "input", ...path],
    msg: message,
    type,
  }));
}

/** Throws `invalid_state`. */
export function refuseDisabled(automation: AutomationRow): void {
  if (automation.status === "active") return;
  const what = automation.status === "draft" ? "a draft, which can only be tested" : "disabled";
  throw new AppError("invalid_state", `This automation is ${what}. Set its status to active first.`);
}
