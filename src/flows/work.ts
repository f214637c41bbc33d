import { and, eq, isNull } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import type { WriteContext } from "../context.ts";
import type { ActionKind } from "../executors/contract.ts";
import { keyText } from "../queue/concurrency-key.ts";
import type { NewRun } from "../queue/enqueue.ts";
import { actions } from "../resources/actions/table.ts";
import type { Step } from "../resources/automations/config.ts";
import type { AutomationRunRow } from "../resources/automations/table.ts";
import { keyWaitsForEver } from "./deadlock.ts";
import { decisionOf, stepValue } from "./whens.ts";

/** What a step runs, with its action looked up. */
export interface Work {
  kind: ActionKind;
  definition: JsonObject;
  connectionId: string | null;
  actionId: string | null;
  actionVersion: number | null;
}

/** Throws `not_found` for a deleted action, and `invalid_state` for a disabled one. */
export async function workOf(tx: WriteContext, step: Step): Promise<Work> {
  if (step.actionId === undefined) {
    if (!step.kind)
      throw new AppError("definition_invalid", `Step ${step.key} has neither an action nor a kind.`);
    return {
      kind: step.kind,
      definition: step.definition ?? {},
      connectionId: step.connectionId ?? null,
      actionId: null,
      actionVersion: null,
    };
  }
  const [action] = await tx.db
    .select()
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, tx.organizationId),
        eq(actions.id, step.actionId),
        isNull(actions.deletedAt),
      ),
    );
  if (!action)
    throw new AppError("not_found", `The action of step ${step.key} no longer exists. Select another.`);
  if (action.status === "disabled") throw new AppError("invalid_state", `Action ${action.name} is disabled.`);
  return {
    kind: action.kind,
    definition: action.definition,
    connectionId: step.connectionId ?? action.connectionId,
    actionId: action.id,
    actionVersion: action.version,
  };
}

/**
 * Creates the run of a step, or of one of its items. `scope` is what the template of its `concurrencyKey` sees, and
 * `repeats` the run of the attempt before. Throws `template_error` if the key has no value that can be one, and
 * `DoFirst`.
 */
export async function runOfStep(
  tx: WriteContext,
  run: Pick<AutomationRunRow, "id" | "automationId" | "triggerMethod" | "privateTo">,
  { step, work, scope, repeats = null }: { step: Step; work: Work; scope: Scope; repeats?: string | null },
): Promise<NewRun> {
  const key = work.definition.concurrencyKey;
  return {
    ...work,
    actor: { type: "automation", id: run.automationId },
    trigger: {
      method: run.triggerMethod,
      sourceType: "automation",
      sourceId: run.automationId,
      privateTo: run.privateTo,
    },
    automationRunId: run.id,
    stepKey: step.key,
    parentActionRunId: repeats,
    concurrencyKey: typeof key === "string" ? await keyOf(tx, run, key, scope) : null,
  };
}

async function keyOf(
  tx: WriteContext,
  run: Pick<AutomationRunRow, "automationId">,
  concurrencyKey: string,
  scope: Scope,
): Promise<string> {
  const request = { decision: decisionOf(tx, run), value: { concurrencyKey } };
  const { concurrencyKey: key = null } = (await stepValue(tx, request, scope)) as JsonObject;
  return keyText(concurrencyKey, key);
}

/** Throws `call_deadlock` if the run would never start, because the run holding its key waits for it. */
export async function refuseBusyKey(
  tx: WriteContext,
  automationRunId: string,
  { concurrencyKey }: NewRun,
): Promise<void> {
  if (concurrencyKey == null) return;
  const { organizationId } = tx;
  if (!(await keyWaitsForEver(tx.db, { organizationId, automationRunId, concurrencyKey }))) return;
  const message = `Deadlock: the concurrencyKey ${concurrencyKey} is held by a run that waits for this step through its calls. Use a different key for one of them, or call without waiting.`;
  throw new AppError("call_deadlock", message);
}
