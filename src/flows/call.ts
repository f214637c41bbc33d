import { and, eq, isNull } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { WriteContext } from "../context.ts";
import type { AutomationCall } from "../executors/contract.ts";
import { type Ending, endWait } from "../queue/waits.ts";
import type { AutomationConfig } from "../resources/automations/config.ts";
import { type AutomationRow, type AutomationRunRow, automations } from "../resources/automations/table.ts";
import type { RunError, RunRow } from "../resources/runs/table.ts";
import { calledResult } from "./called-result.ts";
import { admission } from "./concurrency.ts";
import { queueWaitsForEver } from "./deadlock.ts";
import { callersOf, findLink, type Link, MAX_DEPTH } from "./lineage.ts";
import { inputFaults, startAutomationRun } from "./start.ts";

/**
 * Starts the called automation for `run`, which then waits for it, or ends immediately if it doesn't have to wait. The
 * run fails if the automation doesn't exist, is disabled, calls itself, is nested too deeply, or has a queue that moves
 * only once this run has ended.
 */
export async function callAutomation(tx: WriteContext, run: RunRow, call: AutomationCall): Promise<void> {
  const id = run.waitId ?? tx.ids.uuid();
  const fail = (error: Pick<RunError, "code" | "message">) =>
    endWait(tx, "automation", id, {
      status: "failed",
      error: { ...error, retryable: false, details: null },
    });
  const automation = await findCalled(tx, call);
  const cause = run.automationRunId === null ? null : await findLink(tx.db, run.automationRunId);
  const fault = automation
    ? (inputFault(automation, call) ?? (await callFault(tx, automation, { cause, wait: call.wait, id })))
    : notThere(call);
  if (!automation || fault) {
    await fail(fault ?? notThere(call));
    return;
  }
  const called = await startAutomationRun(tx, automation, {
    trigger: {
      method: "automation",
      sourceType: cause === null ? run.triggerSourceType : "automation",
      sourceId: cause === null ? run.triggerSourceId : cause.automationId,
      privateTo: run.privateTo,
    },
    input: call.input,
    cause,
    called: { id: call.wait ? id : tx.ids.uuid(), by: run.id }, // without a wait, the run must not end with the called one's error
  });
  if (call.wait) return;
  const result = { automationRunId: called.id, status: called.status, result: null };
  await endWait(tx, "automation", id, { status: "completed", result });
}

function inputFault(automation: AutomationRow, { input }: AutomationCall) {
  const [fault] = inputFaults(automation, input);
  if (!fault) return null;
  const message = `Invalid input for automation ${automation.name}: ${fault.loc.slice(1).join(".")}: ${fault.msg}`;
  return { code: "definition_invalid", message } as const;
}

async function findCalled(tx: WriteContext, call: AutomationCall): Promise<AutomationRow | null> {
  const named =
    call.automationId === null
      ? eq(automations.slug, call.slug ?? "")
      : eq(automations.id, call.automationId);
  const [row] = await tx.db
    .select()
    .from(automations)
    .where(and(eq(automations.organizationId, tx.organizationId), named, isNull(automations.deletedAt)));
  return row ?? null;
}

const notThere = ({ automationId, slug }: AutomationCall) => ({
  code: "not_found",
  message: `Automation ${automationId ?? slug} not found.`,
});

async function callFault(
  tx: WriteContext,
  { id, name, status, config }: AutomationRow,
  { cause, wait, id: newRunId }: { cause: Link | null; wait: boolean; id: string },
): Promise<Pick<RunError, "code" | "message"> | null> {
  if (status !== "active")
    return {
      code: "invalid_state",
      message: `Automation ${name} is ${status === "draft" ? "a draft" : status}. Set its status to active first.`,
    };
  const callers = cause === null ? [] : await callersOf(tx.db, cause);
  if (callers.some(({ automationId }) => automationId === id)) {
    const message = `Automation ${name} is already running in this call chain. Automations can't call themselves.`;
    return { code: "call_cycle", message };
  }
  if ((cause?.depth ?? 0) >= MAX_DEPTH) {
    const message = `Automations can call one another at most ${MAX_DEPTH} levels deep. Calling ${name} would exceed that.`;
    return { code: "call_too_deep", message };
  }
  const { concurrency } = config as AutomationConfig;
  if (!wait || concurrency === undefined) return null;
  if ((await admission(tx, id, concurrency)) !== "queue") return null;
  const { organizationId } = tx;
  if (!(await queueWaitsForEver(tx.db, { organizationId, automationId: id, newRunId }))) return null;
  const message = `Deadlock: automation ${name} allows ${concurrency.max} at once, and those wait for this run through their calls. Raise its concurrency limit, or call it without waiting.`;
  return { code: "call_deadlock", message };
}

/** Ends the wait of the calling run, in the transaction that finished this one, so that it continues exactly once. */
export async function callReturned(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const { id: automationRunId, status, error } = run;
  if (status === "completed") {
    await endWait(tx, "automation", automationRunId, await completed(tx, run));
    return;
  }
  const details: JsonObject = { automationRunId, status, error: error ? { ...error } : null };
  await endWait(tx, "automation", automationRunId, {
    status: "failed",
    error: {
      code: "called_automation_failed",
      message:
        error === null || error === undefined
          ? "The called automation was cancelled."
          : `The called automation failed: ${error.message}`,
      retryable: status === "failed" && (error?.retryable ?? false),
      details,
    },
  });
}

/** How the wait for a completed run ends. Without all of its result, or without room for it, the call fails. */
async function completed(tx: WriteContext, run: AutomationRunRow): Promise<Ending> {
  try {
    return { status: "completed", result: await calledResult(tx, run, run.callerRunId ?? "") };
  } catch (error) {
    if (!(error instanceof AppError) || !["gone", "quota_exceeded"].includes(error.code)) throw error;
    const { code, message, retryable } = error;
    return { status: "failed", error: { code, message, retryable, details: null } };
  }
}
