import { type Static, Type } from "@sinclair/typebox";
import { secondsBetween } from "../../base/clock.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import {
  anything,
  described,
  instant,
  jsonObject,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { ACTION_KINDS, type WaitKind } from "../../executors/contract.ts";
import { People } from "../users/wire.ts";
import { RUN_STATUSES, type RunRow, TRIGGER_METHODS } from "./table.ts";
import { withoutArguments } from "./wire-calls.ts";
import { isHidden, type Viewer, WHY } from "./wire-private.ts";

export const Run = object({
  id: uuid(),
  actionId: nullable(uuid()),
  actionVersion: nullable(Type.Integer()),
  kind: oneOf(ACTION_KINDS),
  status: oneOf(RUN_STATUSES),
  displayStatus: Type.String(),
  definition: jsonObject(),
  progress: nullable(jsonObject()),
  result: anything(),
  error: nullable(jsonObject()),
  retryCount: Type.Integer(),
  interruptCount: Type.Integer(),
  durationSeconds: nullable(Type.Number()),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  createdAt: instant(),
  updatedAt: instant(),
  concurrencyKey: nullable(Type.String()),
  idempotencyKey: nullable(Type.String()),
  parentActionRunId: nullable(uuid()),
  triggerMethod: oneOf(TRIGGER_METHODS),
  triggerSourceType: Type.String(),
  triggerSourceId: nullable(Type.String()),
});
export type Run = Static<typeof Run>;

export const RunQuery = object({
  q: optional(
    described(
      "Text in the action's name or slug, the run's ID, or the error message of one of the latest 2,000 failed runs",
      Type.String({ maxLength: 255 }),
    ),
  ),
  ids: optional(Type.Array(uuid(), { maxItems: 100, description: "Only the runs with these IDs" })),
  action_id: optional(uuid()),
  kinds: optional(Type.Array(oneOf(ACTION_KINDS), { description: "Only runs of these kinds" })),
  statuses: optional(Type.Array(oneOf(RUN_STATUSES), { description: "Only runs with these statuses" })),
  automation_run_id: optional(uuid()),
  trigger_method: optional(oneOf(TRIGGER_METHODS)),
  since: optional(instant()),
  until: optional(instant()),
  ...offsetQuery(50),
});
export type RunQuery = Static<typeof RunQuery>;

/** A run with the names of its action, automation and step. */
export const NamedRun = object({
  ...Run.properties,
  actionName: nullable(Type.String()),
  automationId: nullable(uuid()),
  automationName: nullable(Type.String()),
  automationRunId: nullable(uuid()),
  stepKey: described(
    "Key of the automation's step. Null for a run without an automation",
    nullable(Type.String()),
  ),
  stepName: described("Name of that step. Null if it has none", nullable(Type.String())),
});

export const RunPage = object({
  runs: Type.Array(NamedRun),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export const LogQuery = object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 200 }),
  cursor: optional(Type.String({ minLength: 1, maxLength: 2048 })),
  follow: Type.Boolean({ default: false }),
});

export const LogPage = object({
  items: Type.Array(
    object({
      seq: Type.Integer(),
      timestamp: instant(),
      level: oneOf(["debug", "info", "warn", "error"]),
      message: Type.String(),
    }),
  ),
  nextCursor: optional(Type.String()),
});

const WAITING: Readonly<Record<WaitKind, string>> = {
  decision: "Waiting for approval",
  approval: "Waiting for approval",
  automation: "Running",
};

/** The status for display (docs/decisions/runs.md). */
export function displayStatus(run: Pick<RunRow, "status" | "waitKind">): string {
  switch (run.status) {
    case "pending":
      return "Queued";
    case "waiting":
      return run.waitKind === null ? "Retrying" : WAITING[run.waitKind];
    default:
      return run.status.charAt(0).toUpperCase() + run.status.slice(1);
  }
}

/**
 * The only conversion of a run's row for the API: secrets in a definition are masked. Of another user's private run,
 * only its kind, times and status are shown.
 */
export function toRun(viewer: Viewer, whole: RunRow): Run {
  const row = isHidden(viewer, whole) ? { ...whole, ...NOTHING, definition: { private: WHY } } : whole;
  return {
    id: row.id,
    actionId: row.actionId,
    actionVersion: row.actionVersion,
    kind: row.kind,
    status: row.status,
    displayStatus: displayStatus(row),
    definition: masked(row.definition),
    progress: row.progress ? { ...row.progress } : null,
    result: row.result,
    error: row.error ? { ...row.error } : null,
    retryCount: row.retryCount,
    interruptCount: row.interruptCount,
    durationSeconds: secondsBetween(row.startedAt, row.completedAt),
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    concurrencyKey: row.concurrencyKey,
    idempotencyKey: row.idempotencyKey,
    parentActionRunId: row.parentActionRunId,
    triggerMethod: row.triggerMethod,
    triggerSourceType: row.triggerSourceType,
    triggerSourceId: row.triggerSourceId,
  };
}

/** As `toRun`. Another user's private run has no names. */
export function toNamedRun(viewer: Viewer, row: RunRow, names: RunNames): Static<typeof NamedRun> {
  const run = toRun(viewer, row);
  if (isHidden(viewer, row)) return { ...run, ...UNNAMED };
  const flow = row.automationRunId === null ? undefined : names.automations.get(row.automationRunId);
  return {
    ...run,
    actionName: row.actionId === null ? null : (names.actions.get(row.actionId) ?? null),
    automationId: flow?.id ?? null,
    automationName: flow?.name ?? null,
    automationRunId: row.automationRunId,
    stepKey: row.stepKey,
    stepName: names.stepName(row.automationRunId, row.stepKey),
  };
}

const UNNAMED = {
  actionName: null,
  automationId: null,
  automationName: null,
  automationRunId: null,
  stepKey: null,
  stepName: null,
};

/** Names for runs, by the IDs of actions and automation runs. */
interface RunNames {
  readonly actions: ReadonlyMap<string, string>;
  readonly automations: ReadonlyMap<string, { id: string; name: string | null }>;
  readonly stepName: (automationRunId: string | null, key: string | null) => string | null;
}

/** Values for a private run, shown to users other than the one who started it. */
const NOTHING = {
  actionId: null,
  actionVersion: null,
  progress: null,
  result: null,
  error: null,
  concurrencyKey: null,
  idempotencyKey: null,
  parentActionRunId: null,
  triggerSourceId: null,
};

/** Removes secrets, and what a private thread asks. Those who can decide see it in the decision. */
export function masked(definition: JsonObject): JsonObject {
  const { context } = definition;
  const shown = maskSecrets(
    context === undefined ? definition : { ...definition, context: withoutArguments(context) },
  );
  return isObject(shown) ? shown : {};
}
