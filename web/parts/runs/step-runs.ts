import { useMemo } from "react";
import type { AutomationRun, ListedRun } from "../../calls.ts";
import { useApi } from "../../data.ts";

/** Maximum number of runs in one reply. */
const MAX_RUNS = 100;

/** The runs of the steps of an automation run by ID, in one request. A step's result may be from the retried run. */
export function useStepRuns(
  run: AutomationRun | null,
  { enabled = true, refetchMs }: { enabled?: boolean; refetchMs?: number } = {},
): ReadonlyMap<string, ListedRun> {
  const ids = (run?.steps ?? []).flatMap(({ actionRunId }) => actionRunId ?? []).slice(0, MAX_RUNS);
  const { data } = useApi(
    "GET /api/v1/action-runs",
    { query: { ids, limit: MAX_RUNS } },
    {
      enabled: enabled && ids.length > 0,
      keep: true,
      ...(refetchMs === undefined ? {} : { refetchMs }),
    },
  );
  return useMemo(() => new Map((data?.runs ?? []).map((each) => [each.id, each])), [data]);
}
