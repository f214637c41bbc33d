import { AppError, type Fault, InvalidInput, invalid } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { findAutomation, findAutomationRun } from "../../flows/find.ts";
import type { StoredTrigger } from "../../flows/long-payload.ts";
import { triggerAgain } from "../../flows/scope.ts";
import { inputFaults, startAutomationRun } from "../../flows/start.ts";
import { fresh } from "../../flows/states.ts";
import type { Trigger } from "../../queue/enqueue.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { withoutSlackSecrets } from "../notices/slack-addresses.ts";
import { refuseOthers } from "../runs/wire-private.ts";
import { type AutomationConfig, readDependency, type Step, stepsOf } from "./config.ts";
import { configFaults } from "./faults.ts";
import { checkReferences } from "./references.ts";
import { withoutProof } from "./sender.ts";
import {
  type AutomationRow,
  type AutomationRunRow,
  automationRunConfigs,
  type StepState,
  TEST_VERSION,
} from "./table.ts";
import type { AutomationTest } from "./wire.ts";
import { keepDefinitions } from "./wire-definitions.ts";

/**
 * Runs an automation with the given config, which is stored only for this run. Steps with a pinned result don't run.
 * With `upTo`, only that step and those it depends on run.
 *
 * Throws `InvalidInput`, `scope_missing` for another config or results with a token that can't write them, and `gone`
 * if the payload of `fromRunId` is no longer stored.
 */
export async function testAutomation(
  tx: WriteContext,
  id: string,
  { config: newConfig, input, fromRunId, upTo, pinned = {} }: AutomationTest,
  trigger: Trigger,
): Promise<AutomationRunRow> {
  if (newConfig !== undefined || Object.keys(pinned).length > 0) requireScope(tx, "write");
  if (input !== undefined && fromRunId !== undefined)
    throw invalid(["body", "input"], "Set either input or fromRunId, not both");
  const { automation } = await findAutomation(tx, id);
  const config = await checkedConfig(tx, automation, newConfig, upTo);
  const definitions = stepsOf(config);
  const from = fromRunId === undefined ? null : await startOf(tx, automation, fromRunId);
  const own = input === undefined ? ((config as JsonObject).pinnedInput ?? null) : input;
  const start = from ?? { input: own, scope: scopeOf(automation, own) };
  const faults = from ? [] : inputFaults({ config: config as JsonObject }, start.input);
  if (faults.length > 0) throw new InvalidInput(faults);
  // These settings don't apply to test runs.
  const { concurrency: _, expect: __, alerts: ___, ...rest } = config;
  const runId = tx.ids.uuid();
  await tx.db.insert(automationRunConfigs).values({ automationRunId: runId, config: rest as JsonObject });
  return startAutomationRun(
    tx,
    { id, config: rest as JsonObject, version: TEST_VERSION, triggerType: automation.triggerType },
    {
      id: runId,
      trigger: { ...trigger, method: "test" },
      ...start,
      steps: stepsFor(definitions, { upTo, pinned }),
    },
  );
}

/** Checks the config, of which with `upTo` only the steps that run have to be complete. */
async function checkedConfig(
  tx: WriteContext,
  automation: AutomationRow,
  newConfig: JsonObject | undefined,
  upTo: string | undefined,
): Promise<AutomationConfig> {
  const { triggerType, config: before } = automation;
  if (newConfig === undefined && automation.status !== "draft") return before as AutomationConfig;
  const whole = keepDefinitions(newConfig ?? before, before);
  const used = usedSteps(whole, upTo);
  const faultsOf = (config: JsonObject) => configFaults(tx, triggerType, config, ["body", "config"], before);
  const secrets = used ? faultsOf(whole).filter(({ type }) => type === "use_a_connection") : [];
  const faults = [...secrets, ...faultsOf(used ? onlySteps(whole, used) : whole).map(inWhole(used))];
  if (faults.length > 0) throw new InvalidInput(faults);
  const { secret: _, ...rest } = whole;
  const { config } = withoutProof(withoutSlackSecrets(rest).config);
  try {
    await checkReferences(tx, { ...automation, config: used ? onlySteps(config, used) : config });
  } catch (error) {
    throw error instanceof InvalidInput ? new InvalidInput(error.faults.map(inWhole(used))) : error;
  }
  return config as AutomationConfig;
}

/** Returns the indexes of the steps that a test up to a step runs. Null for all, or if their shape isn't known. */
function usedSteps({ steps }: JsonObject, upTo: string | undefined): readonly number[] | null {
  if (upTo === undefined || !Array.isArray(steps) || !steps.every(isShaped)) return null;
  const all = steps as unknown as Step[];
  if (!all.some(({ key }) => key === upTo)) return null;
  const wanted = stepsBefore(all, upTo);
  return all.flatMap(({ key }, index) => (wanted.has(key) ? [index] : []));
}

const isShaped = (step: Json): boolean => {
  const { key, dependsOn = [] } = isObject(step) ? step : {};
  const isList = Array.isArray(dependsOn) && dependsOn.every((text) => typeof text === "string");
  return typeof key === "string" && isList;
};

/** The response may read steps that don't run, and a test sends none. */
function onlySteps({ response: _, ...config }: JsonObject, used: readonly number[]): JsonObject {
  const steps = Array.isArray(config.steps) ? config.steps : [];
  return { ...config, steps: steps.filter((__, index) => used.includes(index)) };
}

/** Returns the fault at the step's index in the whole config. */
const inWhole =
  (used: readonly number[] | null) =>
  (fault: Fault): Fault => {
    const [body = "", config = "", field, index, ...rest] = fault.loc;
    if (used === null || field !== "steps" || index === undefined) return fault;
    return { ...fault, loc: [body, config, field, String(used[Number(index)] ?? index), ...rest] };
  };

/** Returns the trigger data of another run. */
async function startOf(tx: WriteContext, { id }: AutomationRow, runId: string) {
  const run = await findAutomationRun(tx, runId).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    throw invalid(["body", "fromRunId"], "Automation run not found", "not_found");
  });
  refuseOthers(tx, run);
  if (run.automationId !== id) throw invalid(["body", "fromRunId"], "This is a run of another automation");
  const gone = "The webhook payload of that run is no longer stored. Set an input.";
  const scope = await triggerAgain(tx.db, run, gone);
  return { input: run.input, ...(Object.keys(scope).length === 0 ? {} : { scope }) };
}

/** The input is used as the payload of a run that starts with one. */
const scopeOf = ({ triggerType }: AutomationRow, input: Json): StoredTrigger =>
  triggerType === "webhook"
    ? { payload: input, headers: {}, query: {} }
    : triggerType === "manual"
      ? {}
      : { payload: input };

function stepsFor(
  definitions: readonly Step[],
  { upTo, pinned }: { upTo: string | undefined; pinned: Readonly<Record<string, unknown>> },
): StepState[] {
  const keys = definitions.map(({ key }) => key);
  const unknown = [
    ...(upTo === undefined ? [] : [["upTo", upTo]]),
    ...Object.keys(pinned).map((key) => ["pinned", key]),
  ];
  const faults = unknown.flatMap(([field = "", key = ""]) =>
    keys.includes(key)
      ? []
      : [
          {
            loc: ["body", field, ...(field === "pinned" ? [key] : [])],
            msg: `There is no step ${key}`,
            type: "unknown_step",
          },
        ],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
  const wanted = upTo === undefined ? new Set(keys) : stepsBefore(definitions, upTo);
  return definitions.map((step): StepState => {
    const result = Object.hasOwn(pinned, step.key) ? (pinned[step.key] as Json) : step.pinned;
    if (!wanted.has(step.key)) return { ...fresh(step.key), status: "skipped" };
    return result === undefined
      ? fresh(step.key)
      : { ...fresh(step.key), status: "completed", pinned: result };
  });
}

/** Returns a step with all steps that it depends on. */
function stepsBefore(definitions: readonly Step[], key: string): Set<string> {
  const found = new Set<string>();
  const pending = [key];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (found.has(at)) continue;
    found.add(at);
    const step = definitions.find((each) => each.key === at);
    pending.push(...(step?.dependsOn ?? []).map((text) => readDependency(text).key));
  }
  return found;
}
