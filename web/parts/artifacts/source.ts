import type { Artifact } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";

/** Number of latest runs to read: one call, however many artifacts. */
const LIMIT = 100;

/** Names what created each artifact, by its run's ID: the automation, else the action, else the run. */
export function useSources(artifacts: readonly Artifact[]): (artifact: Artifact) => string {
  const boards = { query: { limit: LIMIT, kinds: ["create_flashboard" as const] } };
  const runs = useApi("GET /api/v1/action-runs", boards, { enabled: artifacts.length > 0 });
  const byId = new Map(runs.data?.runs.map((run) => [run.id, run]));
  return ({ actionRunId }) => {
    const run = byId.get(actionRunId);
    return run?.automationName ?? run?.actionName ?? t("Run {slice}", { slice: actionRunId.slice(-12) });
  };
}
