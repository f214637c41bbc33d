import { timestamp } from "../../base/clock.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import type { Context, WriteContext } from "../../context.ts";
import type { DecisionRequest } from "../../executors/contract.ts";
import type { RequestedCall } from "../../models/agent.ts";
import type { OpenAgent } from "../../models/contract.ts";
import { insertRunRow, newRun } from "../../queue/enqueue.ts";
import { recordStart } from "../../queue/run-events.ts";
import { triggerOf } from "../agents/tools/child.ts";
import { openDecision } from "../decisions/open.ts";
import type { RunRow } from "../runs/table.ts";
import { callContext } from "../runs/wire-calls.ts";
import type { PendingCall } from "./table.ts";

/** An approval without a decision is rejected after a week. */
const EXPIRES_SECONDS = 7 * 24 * 60 * 60;

/** What an approval covers: this tool, with the definition it had when approval was requested, and these arguments. */
export const hashOf = ({ toolName, input, fingerprint }: RequestedCall): string =>
  Bun.SHA256.hash(canonicalJson({ toolName, input, fingerprint }), "hex");

/** Returns the calls, with IDs for their approvals. */
export const preparePending = (ctx: Context, calls: readonly RequestedCall[]): PendingCall[] =>
  calls.map((call) => ({
    ...call,
    hash: hashOf(call),
    runId: ctx.ids.uuid(),
    decisionId: ctx.ids.uuid(),
  }));

/**
 * Asks the chat's user, or an admin, to approve each call:
 * with a run of the approval gate that waits from the start, and its decision.
 */
export async function askForAll(
  tx: WriteContext,
  agent: OpenAgent,
  pending: readonly PendingCall[],
): Promise<void> {
  for (const call of pending) {
    const request: DecisionRequest = {
      title: `${agent.name} wants to call ${call.toolName}`,
      description: "If you approve, the tool is called with exactly these arguments.",
      decisionType: "approve_reject",
      formSchema: null,
      context: callContext({
        agent: agent.name,
        tool: call.toolName,
        arguments: call.input,
        hash: call.hash,
      }),
      assignedTo: tx.actor.type === "user" ? tx.actor.id : null,
      expiresInSeconds: EXPIRES_SECONDS,
      onReject: "continue",
      onExpire: "reject",
    };
    const definition: JsonObject = {
      title: request.title,
      description: request.description,
      context: request.context,
      expiresInSeconds: EXPIRES_SECONDS,
      onReject: request.onReject,
    };
    const due = newRun(tx, {
      kind: "approval_gate",
      definition,
      isResolved: true,
      trigger: triggerOf(tx, agent),
    });
    const startedAt = timestamp(tx.clock);
    const run: RunRow = {
      ...due,
      id: call.runId,
      status: "waiting",
      statuses: [...due.statuses, ["running", null, startedAt, 0], ["waiting", "decision", startedAt, 0]],
      waitKind: "decision",
      waitId: call.decisionId,
      dueAt: null,
      startedAt,
    };
    await insertRunRow(tx, run);
    await recordStart(tx, run);
    await openDecision(tx, run, request);
  }
}
