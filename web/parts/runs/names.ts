import type { Run } from "../../calls.ts";
import { useApi } from "../../data.ts";

/** The names of what a single run is a run of; null while they are unknown, and of what was deleted. */
export function useRunNames({ actionId, triggerSourceType, triggerSourceId }: Run) {
  const isAutomation = triggerSourceType === "automation" && triggerSourceId !== null;
  const action = useApi(
    "GET /api/v1/actions/{action_id}",
    { path: { action_id: actionId ?? "" } },
    { enabled: actionId !== null, isFixed: true },
  );
  const automation = useApi(
    "GET /api/v1/automations/{automation_id}",
    { path: { automation_id: triggerSourceId ?? "" } },
    { enabled: isAutomation, isFixed: true },
  );
  return { action: action.data?.name ?? null, automation: automation.data?.name ?? null };
}
