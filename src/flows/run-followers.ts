import type { RunFollowers } from "../context.ts";
import { traceAutomationRun } from "../queue/trace.ts";
import { cancelDecision, openDecision } from "../resources/decisions/open.ts";
import { isNoticed, noticeEnd } from "../resources/notices/automation-ends.ts";
import { callAutomation, callReturned } from "./call.ts";
import { cancelUnlessEnded } from "./cancel.ts";
import { moveUp } from "./concurrency.ts";
import { openRunsOf } from "./save.ts";
import { stepScope } from "./scope.ts";
import { stepGoesOn, stepsEnded, stepWaits } from "./steps.ts";

const decision = { begin: openDecision, abandon: cancelDecision };

/** What follows runs: the automations of their steps, what they wait for, their callers, and queues. */
export const runFollowers: RunFollowers = {
  open: openRunsOf,
  ended: stepsEnded,
  waits: stepWaits,
  resumed: stepGoesOn,
  automationEnded(tx, run) {
    const { id, automationId } = run;
    tx.afterCommit(() => traceAutomationRun(tx, run));
    if (isNoticed(run)) tx.afterWork(`notice ${id}`, () => noticeEnd(tx, run));
    if (run.callerRunId !== null) tx.afterWork(`call ${id}`, () => callReturned(tx, run));
    if (run.isLimited) tx.afterWork(`queue ${automationId}`, () => moveUp(tx, automationId));
  },
  stepScope,
  waitServices: {
    decision,
    approval: decision,
    automation: { begin: callAutomation, abandon: cancelUnlessEnded },
  },
};
