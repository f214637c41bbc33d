import type { Artifact, Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";

/** Number of latest runs, automations and actions to read: one call per list, however many artifacts. */
const LIMIT = 100;

/** What made each artifact, by the id of its run: the name of the automation, else of the action, else the run. */
export function useSources(artifacts: readonly Artifact[]): (artifact: Artifact) => string {
  const query = { limit: LIMIT };
  const enabled = artifacts.length > 0;
  const boards = { query: { ...query, kinds: ["create_flashboard" as const] } };
  const runs = useApi("GET /api/v1/action-runs", boards, { enabled });
  const automations = useApi("GET /api/v1/automations", { query }, { enabled });
  const actions = useApi("GET /api/v1/actions", { query }, { enabled });
  const names = new Map<string, string>();
  for (const { id, name } of actions.data?.actions ?? []) names.set(id, name);
  for (const { id, name } of automations.data?.automations ?? []) names.set(id, name);
  const byId = new Map<string, Run>(runs.data?.runs.map((run) => [run.id, run]));
  return ({ actionRunId }) => {
    const run = byId.get(actionRunId);
    const name = names.get(run?.triggerSourceId ?? "") ?? names.get(run?.actionId ?? "");
    return name ?? t("Run {slice}", { slice: actionRunId.slice(-12) });
  };
}
