import { type Static, Type } from "@sinclair/typebox";
import { parseCidr } from "../../base/cidr.ts";
import { conditionFault } from "../../base/condition.ts";
import type { Fault } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { anything, instant, jsonObject, named, nullable, object, offsetQuery, oneOf, optional, read, slug, uuid } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { SIGNATURE_ALGORITHMS } from "../../crypto/signature.ts";
import { ACTION_KINDS, type ActionKind } from "../../executors/contract.ts";
import { definitionFaults } from "../actions/definition.ts";
import { RUN_STATUSES, TRIGGER_METHODS } from "../runs/table.ts";
import { secondsBetween } from "../runs/finish.ts";
import { displayStatus } from "../runs/wire.ts";
import { People } from "../users/people.ts";
import { type AutomationConfig, readDependency, type Step } from "./config.ts";
import { AUTOMATION_STATUSES, type AutomationRow, type AutomationRunRow, TRIGGER_TYPES, type TriggerType } from "./table.ts";

const Work = {
  actionId: optional(uuid()),
  kind: optional(oneOf(ACTION_KINDS)),
  definition: optional(jsonObject()),
  connectionId: optional(nullable(uuid())),
};

const StepShape = object({
  key: Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z_][A-Za-z0-9_-]*$" }),
  name: optional(named()),
  ...Work,
  dependsOn: optional(Type.Array(Type.String({ minLength: 1, maxLength: 201 }), { maxItems: 100 })),
  when: optional(Type.String({ minLength: 1, maxLength: 4096 })),
  onError: optional(oneOf(["fail", "continue"])),
});

const COMMON = {
  action: optional(object(Work)),
  steps: optional(Type.Array(StepShape, { minItems: 1, maxItems: 200 })),
};

/** A path of one or more segments, as it stands in the address. */
const PATH = "^[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)*$";

const WEBHOOK = {
  path: Type.String({ minLength: 1, maxLength: 200, pattern: PATH }),
  secret: optional(Type.String({ minLength: 16, maxLength: 512 })),
  signatureHeader: optional(Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" })),
  signatureAlgorithm: optional(oneOf(SIGNATURE_ALGORITHMS)),
  allowedIps: optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 1000 })),
  debug: optional(Type.Boolean()),
  waitSeconds: optional(Type.Number({ minimum: 0, maximum: 30 })),
  retries: optional(
    object({
      enabled: optional(Type.Boolean()),
      maxAttempts: optional(Type.Integer({ minimum: 1, maximum: 50 })),
      backoffSeconds: optional(Type.Array(Type.Number({ minimum: 0, maximum: 604_800 }), { maxItems: 50 })),
    }),
  ),
};

const CONFIGS = {
  manual: object(COMMON),
  webhook: object({ ...COMMON, ...WEBHOOK }),
} as const;

/** Triggers that this version can't serve yet are told, never stored to do nothing. */
const isServed = (trigger: TriggerType): trigger is keyof typeof CONFIGS => trigger in CONFIGS;

/** All that is wrong with a config: shape, definitions of its steps, and the graph that they form. */
export function configFaults(app: App, trigger: TriggerType, config: JsonObject, loc: readonly string[]): Fault[] {
  if (!isServed(trigger)) {
    return [{ loc: ["body", "triggerType"], msg: `This version of Weir can't serve the trigger ${trigger} yet`, type: "not_available" }];
  }
  const { value, faults } = read(CONFIGS[trigger], config, loc);
  if (faults.length > 0) return faults;
  const { action, steps, allowedIps = [] } = value as AutomationConfig;
  const fail = (path: readonly string[], msg: string, type = "value_error") => faults.push({ loc: [...loc, ...path], msg, type });
  if (action && steps) fail(["steps"], "Give either action or steps, not both");
  if (!action && !steps) fail(["action"], "Give the work as action or as steps", "missing");
  allowedIps.forEach((range, index) => {
    if (parseCidr(range) === null) fail(["allowedIps", String(index)], "Input should be a CIDR range or an address");
  });
  if (action) faults.push(...workFaults(app, action, [...loc, "action"]));
  for (const [index, step] of (steps ?? []).entries()) {
    faults.push(...workFaults(app, step, [...loc, "steps", String(index)]));
    const fault = step.when === undefined ? null : conditionFault(step.when);
    if (fault) fail(["steps", String(index), "when"], fault, "condition_error");
  }
  faults.push(...graphFaults(steps ?? [], [...loc, "steps"]));
  return faults;
}

function workFaults(
  app: App,
  work: { actionId?: string; kind?: ActionKind; definition?: JsonObject },
  loc: readonly string[],
): Fault[] {
  if (work.actionId !== undefined) {
    return work.kind === undefined && work.definition === undefined
      ? []
      : [{ loc: [...loc, "actionId"], msg: "Give either actionId, or kind and definition", type: "value_error" }];
  }
  if (work.kind === undefined) return [{ loc: [...loc, "kind"], msg: "Give kind and definition, or actionId", type: "missing" }];
  return definitionFaults(app, work.kind, work.definition ?? {}, [...loc, "definition"]);
}

/** Keys stand once, dependencies name steps that are there, and nothing waits for itself. */
function graphFaults(steps: readonly Step[], loc: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const byKey = new Map<string, Step>();
  steps.forEach((step, index) => {
    if (byKey.has(step.key)) faults.push({ loc: [...loc, String(index), "key"], msg: `The key ${step.key} stands twice`, type: "value_error" });
    byKey.set(step.key, step);
  });
  steps.forEach((step, index) => {
    (step.dependsOn ?? []).forEach((text, place) => {
      const { key, branch } = readDependency(text);
      const at = [...loc, String(index), "dependsOn", String(place)];
      const target = byKey.get(key);
      if (!target) faults.push({ loc: at, msg: `There is no step ${key}`, type: "value_error" });
      else if (branch !== null) faults.push(...branchFaults(target, branch, at));
    });
  });
  const cycle = faults.length === 0 ? findCycle(byKey) : null;
  if (cycle) faults.push({ loc, msg: `These steps wait for each other: ${cycle.join(" → ")}`, type: "value_error" });
  return faults;
}

function branchFaults(target: Step, branch: string, loc: readonly string[]): Fault[] {
  if (target.actionId !== undefined) return []; // its branches are the action's own
  if (target.kind !== "conditional_branch") {
    return [{ loc, msg: `The step ${target.key} is no conditional_branch, so it has no branch ${branch}`, type: "value_error" }];
  }
  const { branches, else: otherwise } = (target.definition ?? {}) as { branches?: { key?: string }[]; else?: string };
  const keys = [...(Array.isArray(branches) ? branches.map(({ key }) => key) : []), otherwise];
  return keys.includes(branch) ? [] : [{ loc, msg: `The step ${target.key} has no branch ${branch}`, type: "value_error" }];
}

/** The keys of one circle, its first again at the end; null where there is none. */
function findCycle(steps: ReadonlyMap<string, Step>): string[] | null {
  const done = new Set<string>();
  const visit = (key: string, trail: readonly string[]): string[] | null => {
    const start = trail.indexOf(key);
    if (start >= 0) return [...trail.slice(start), key];
    if (done.has(key)) return null;
    for (const text of steps.get(key)?.dependsOn ?? []) {
      const cycle = visit(readDependency(text).key, [...trail, key]);
      if (cycle) return cycle;
    }
    done.add(key);
    return null;
  };
  for (const key of steps.keys()) {
    const cycle = visit(key, []);
    if (cycle) return cycle;
  }
  return null;
}

export const AutomationCreate = object({
  name: named(),
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  slug: optional(slug()),
  triggerType: oneOf(TRIGGER_TYPES, { default: "manual" }),
  orchestratorType: optional(oneOf(["local"])),
  config: jsonObject(),
});
export type AutomationCreate = Static<typeof AutomationCreate>;

export const AutomationPatch = object({
  name: optional(named()),
  description: optional(nullable(Type.String({ maxLength: 2048 }))),
  config: optional(jsonObject()),
  orchestratorType: optional(oneOf(["local"])),
  status: optional(oneOf(AUTOMATION_STATUSES)),
});
export type AutomationPatch = Static<typeof AutomationPatch>;

export const AutomationQuery = object({
  q: optional(Type.String({ maxLength: 255 })),
  trigger_type: optional(oneOf(TRIGGER_TYPES)),
  status: optional(oneOf(AUTOMATION_STATUSES)),
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
  templateId: nullable(uuid()),
  tenantId: uuid(),
  webhookUrl: nullable(Type.String()),
  nextRunAt: nullable(instant()),
  latestRun: nullable(LatestRun),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
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

/** `secret` only in the reply of a create that made or took one. */
export const toAutomation = (app: App, { automation: row, run }: AutomationWithRun, secret: string | null = null): Static<typeof Automation> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  description: row.description,
  config: secret === null ? row.config : { ...row.config, secret },
  hasSecret: row.sealedSecret !== null,
  orchestratorType: row.orchestratorType,
  status: row.status,
  triggerType: row.triggerType,
  templateId: row.templateId,
  tenantId: row.organizationId,
  webhookUrl: row.webhookPath === null ? null : `${app.baseUrl()}/webhooks/${row.organizationId}/${row.webhookPath}`,
  nextRunAt: null,
  latestRun: run,
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
});

export const AutomationRun = object({
  id: uuid(),
  automationId: uuid(),
  status: oneOf(RUN_STATUSES),
  displayStatus: Type.String(),
  triggerMethod: oneOf(TRIGGER_METHODS),
  triggerSourceType: Type.String(),
  triggerSourceId: nullable(Type.String()),
  parentRunId: nullable(uuid()),
  input: anything(),
  steps: Type.Array(StepStateShape),
  result: anything(),
  error: nullable(jsonObject()),
  durationSeconds: nullable(Type.Number()),
  correlationId: Type.String(),
  startedAt: nullable(instant()),
  completedAt: nullable(instant()),
  createdAt: instant(),
});

export const AutomationRunCreate = object({ input: optional(anything()) });
export const AutomationRetry = object({ fromFailed: Type.Boolean({ default: true }) });

export const AutomationRunQuery = object({ status: optional(oneOf(RUN_STATUSES)), ...offsetQuery(50) });
export type AutomationRunQuery = Static<typeof AutomationRunQuery>;

export const AutomationRunPage = object({
  runs: Type.Array(AutomationRun),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

export const toAutomationRun = (row: AutomationRunRow): Static<typeof AutomationRun> => ({
  id: row.id,
  automationId: row.automationId,
  status: row.status,
  displayStatus: displayStatus(row),
  triggerMethod: row.triggerMethod,
  triggerSourceType: row.triggerSourceType,
  triggerSourceId: row.triggerSourceId,
  parentRunId: row.parentRunId,
  input: maskSecrets(row.input),
  steps: row.steps.map((step) => ({ ...step, error: step.error ? { ...step.error } : null })),
  result: row.result,
  error: row.error ? { ...row.error } : null,
  durationSeconds: secondsBetween(row.startedAt, row.completedAt),
  correlationId: row.correlationId,
  startedAt: row.startedAt,
  completedAt: row.completedAt,
  createdAt: row.createdAt,
});
