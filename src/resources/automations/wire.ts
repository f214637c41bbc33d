import { type Static, Type } from "@sinclair/typebox";
import { maskSecrets } from "../../base/mask.ts";
import { clearable, requestObject } from "../../base/null-shape.ts";
import {
  anything,
  described,
  instant,
  jsonObject,
  map,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { RUN_STATUSES, TRIGGER_METHODS } from "../runs/table.ts";
import { displayStatus } from "../runs/wire.ts";
import { isHidden, type Viewer, WHY } from "../runs/wire-private.ts";
import { folderQuery, Tags, tagQuery } from "../tags/wire-fields.ts";
import { People } from "../users/wire.ts";
import {
  AUTOMATION_STATUSES,
  type AutomationRow,
  type AutomationRunRow,
  type ItemFailure,
  type ItemsState,
  isDelayed,
  MAX_FAILURES,
  TEST_VERSION,
  TRIGGER_TYPES,
} from "./table.ts";
import { maskConfig } from "./wire-definitions.ts";
import { mailWarnings, warningsOf } from "./wire-warnings.ts";

export const AutomationCreate = typed(
  "AutomationCreate",
  requestObject({
    name: named(),
    description: optional(nullable(Type.String({ maxLength: 2048 }))),
    slug: optional(nullable(slug())),
    triggerType: oneOf(TRIGGER_TYPES, { default: "manual" }),
    orchestratorType: optional(oneOf(["local"])),
    status: optional(
      oneOf(AUTOMATION_STATUSES, { description: "Whether the trigger can start runs. Default: active" }),
    ),
    tags: optional(Tags),
    config: jsonObject(),
  }),
);
export type AutomationCreate = Static<typeof AutomationCreate>;

export const AutomationPatch = object({
  name: optional(named()),
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  config: optional(typed("AutomationConfigChange", jsonObject())),
  orchestratorType: optional(oneOf(["local"])),
  status: optional(oneOf(AUTOMATION_STATUSES, { description: "Whether the trigger can start runs" })),
  tags: clearable([], Tags),
});
export type AutomationPatch = Static<typeof AutomationPatch>;

export const AutomationQuery = object({
  q: optional(Type.String({ maxLength: 255 })),
  trigger_type: optional(oneOf(TRIGGER_TYPES, { description: "Only automations with this trigger" })),
  status: optional(oneOf(AUTOMATION_STATUSES, { description: "Only items with this status" })),
  action_id: optional(described("Only automations that use this action", uuid())),
  tag: optional(tagQuery()),
  folder: optional(folderQuery()),
  sort_by: oneOf(["name", "created_at", "updated_at", "status"], { default: "created_at" }),
  order: oneOf(["asc", "desc"], { default: "desc" }),
  ...offsetQuery(50),
});
export type AutomationQuery = Static<typeof AutomationQuery>;

const LatestRun = object({
  id: uuid(),
  status: oneOf(RUN_STATUSES),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
});

export const Automation = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  description: nullable(Type.String()),
  config: jsonObject(),
  hasSecret: Type.Boolean(),
  orchestratorType: Type.Literal("local"),
  status: oneOf(AUTOMATION_STATUSES),
  triggerType: oneOf(TRIGGER_TYPES),
  tags: Type.Array(Type.String()),
  templateId: nullable(uuid()),
  tenantId: uuid(),
  webhookUrl: nullable(Type.String()),
  formUrl: nullable(Type.String()),
  nextRunAt: nullable(instant()),
  latestRun: nullable(LatestRun),
  warnings: optional(
    Type.Array(Type.String(), {
      description: "Settings that have no effect on this server. Omitted if there are none.",
    }),
  ),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});

export const AutomationDuplicate = requestObject({
  name: optional(described("Name of the copy. Default: the original's name with (copy)", named())),
});

export const AutomationPage = object({
  automations: Type.Array(Automation),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export interface AutomationWithRun {
  automation: AutomationRow;
  run: Pick<AutomationRunRow, "id" | "status" | "startedAt" | "completedAt"> | null;
}

const warned = (warnings: string[]) => (warnings.length > 0 ? { warnings } : {});

const addressOf = (app: App, place: "f" | "webhooks", row: AutomationRow): string | null =>
  row.webhookPath === null ? null : `${app.baseUrl()}/${place}/${row.organizationId}/${row.webhookPath}`;

/** `secret` is only in the response to a create request that sent or generated one. */
export const toAutomation = (
  app: App,
  { automation: row, run }: AutomationWithRun,
  secret: string | null = null,
): Static<typeof Automation> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  description: row.description,
  config: { ...maskConfig(row.config), ...(secret === null ? {} : { secret }) },
  hasSecret: row.sealedSecret !== null || row.sealedAuth !== null,
  orchestratorType: row.orchestratorType,
  status: row.status,
  triggerType: row.triggerType,
  tags: row.tags,
  templateId: row.templateId,
  tenantId: row.organizationId,
  formUrl: row.triggerType === "form" ? addressOf(app, "f", row) : null,
  webhookUrl: row.triggerType === "webhook" ? addressOf(app, "webhooks", row) : null,
  nextRunAt: row.nextRunAt,
  latestRun: run,
  ...warned(mailWarnings(app, row.config)),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  createdBy: row.createdBy,
  updatedBy: row.updatedBy,
});

const StepStateShape = object({
  key: Type.String(),
  status: oneOf([...RUN_STATUSES, "skipped"]),
  actionRunId: nullable(uuid()),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  error: nullable(jsonObject()),
  delayUntil: optional(described("When the step's delay ends or ended", instant())),
  items: optional(
    object(
      {
        total: Type.Integer(),
        pending: Type.Integer(),
        running: Type.Integer(),
        completed: Type.Integer(),
        failed: Type.Integer(),
        failures: optional(
          Type.Array(object({ index: Type.Integer(), error: jsonObject() }), {
            description: `The first ${MAX_FAILURES} items that failed or were cancelled. Omitted if there are none, and in lists of runs.`,
          }),
        ),
      },
      { description: "Progress of a step with `forEach` that has started." },
    ),
  ),
});

export const AutomationRun = object({
  id: uuid(),
  automationId: uuid(),
  automationVersion: nullable(
    Type.Integer({ description: "Version of the automation that runs. Null for a test" }),
  ),
  status: oneOf(RUN_STATUSES),
  displayStatus: Type.String(),
  triggerMethod: oneOf(TRIGGER_METHODS),
  triggerSourceType: Type.String(),
  triggerSourceId: nullable(Type.String()),
  parentAutomationRunId: described("ID of the run that this one retries", nullable(uuid())),
  input: anything(),
  steps: Type.Array(StepStateShape),
  result: described(
    "Result of the only step, or the results of all completed steps by key. Null unless the run is completed",
    anything(),
  ),
  error: nullable(jsonObject()),
  warnings: optional(
    Type.Array(object({ step: Type.String(), message: Type.String() }), {
      description:
        "Steps that failed in a completed run, and warnings of called automations. Omitted if there are none.",
    }),
  ),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  createdAt: instant(),
});

export const AutomationRunCreate = object({ input: optional(anything()) });
export const AutomationTest = requestObject({
  config: optional(
    typed(
      "AutomationConfig",
      jsonObject({ description: "Config to test instead of the automation's own. It isn't stored" }),
    ),
  ),
  input: optional(anything()),
  fromRunId: optional(described("ID of a run whose trigger data is used again", uuid())),
  upTo: optional(described("Key of the last step to run", Type.String({ minLength: 1, maxLength: 100 }))),
  pinned: optional(described("Results to use instead of running steps, by step key", map(anything()))),
});
export type AutomationTest = Static<typeof AutomationTest>;
export const AutomationRetry = object({
  fromFailed: Type.Boolean({
    default: true,
    description: "Whether to start from the failed steps, and not from the beginning",
  }),
});

export const AutomationRunQuery = object({
  status: optional(oneOf(RUN_STATUSES, { description: "Only runs with this status" })),
  ...offsetQuery(50),
});
export type AutomationRunQuery = Static<typeof AutomationRunQuery>;

export const AutomationRunPage = object({
  runs: Type.Array(AutomationRun),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

const toItems = (
  { total, running, completed, failed }: ItemsState,
  failures: readonly ItemFailure[] | undefined,
) => ({
  total,
  pending: total - running - completed - failed,
  running,
  completed,
  failed,
  ...(failures?.length
    ? { failures: failures.map(({ index, error }) => ({ index, error: { ...error } })) }
    : {}),
});

/** The status for display: what a person has to do comes first, a delay last. */
function displayOf({ status, steps }: AutomationRunRow): string {
  if (status !== "waiting") return displayStatus({ status, waitKind: null });
  const waiting = steps.filter((step) => step.status === "waiting");
  const working = waiting.filter((step) => !isDelayed(step));
  if (waiting.length > 0 && working.length === 0) return "Waiting";
  const kinds = working.map(({ waitKind = null }) => waitKind);
  const waitKind = kinds.find((kind) => kind === "decision" || kind === "approval") ?? kinds[0] ?? null;
  return displayStatus({ status, waitKind });
}

/** `failures` are by step key. They are read only for a single run, not for lists. */
export function toAutomationRun(
  viewer: Viewer,
  whole: AutomationRunRow,
  failures?: ReadonlyMap<string, readonly ItemFailure[]>,
): Static<typeof AutomationRun> {
  const row = isHidden(viewer, whole) ? { ...whole, ...NOTHING } : whole;
  return {
    id: row.id,
    automationId: row.automationId,
    automationVersion: row.automationVersion === TEST_VERSION ? null : row.automationVersion,
    status: row.status,
    displayStatus: displayOf(row),
    triggerMethod: row.triggerMethod,
    triggerSourceType: row.triggerSourceType,
    triggerSourceId: row.triggerSourceId,
    parentAutomationRunId: row.parentRunId,
    input: maskSecrets(row.input),
    steps: row.steps.map(({ waitKind: _, pinned: __, warnings: ___, repeats: ____, items, ...step }) => ({
      ...step,
      error: step.error ? { ...step.error } : null,
      ...(items ? { items: toItems(items, failures?.get(step.key)) } : {}),
    })),
    result: row.result,
    error: row.error ? { ...row.error } : null,
    ...(warningsOf(row).length > 0 ? { warnings: warningsOf(row) } : {}),
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    createdAt: row.createdAt,
  };
}

/** Values for a private run, shown to users other than the one who started it. */
const NOTHING = {
  input: { private: WHY },
  steps: [],
  result: null,
  error: null,
  triggerSourceId: null,
  parentRunId: null,
};
