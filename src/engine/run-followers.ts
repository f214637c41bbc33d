import type { RunFollowers } from "../context.ts";
import { callAutomation } from "../resources/automations/call.ts";
import { cancelUnlessEnded } from "../resources/automations/cancel.ts";
import { stepGoesOn, stepsSettled, stepWaits } from "../resources/automations/settle.ts";
import { cancelDecision, openDecision } from "../resources/decisions/open.ts";

const decision = { begin: openDecision, abandon: cancelDecision };

/** Who follows runs: the automations of their steps, and what they wait for. */
export const runFollowers: RunFollowers = {
  ended: stepsSettled,
  waits: stepWaits,
  resumed: stepGoesOn,
  waitServices: {
    decision,
    approval: decision,
    automation: { begin: callAutomation, abandon: cancelUnlessEnded },
  },
};
