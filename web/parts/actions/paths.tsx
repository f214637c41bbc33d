import type { ReactNode } from "react";
import { useApi } from "../../data.ts";
import { useLastRun } from "../automations/last-run.ts";
import { TemplatePaths } from "../editor/template-paths.ts";

/** Offers the values that templates of an action saw in the last automation run. */
export function ActionPaths({ actionId, children }: { actionId: string; children: ReactNode }) {
  const automations = useApi("GET /api/v1/automations", { query: { action_id: actionId, limit: 100 } });
  const user = automations.data?.automations.find(({ latestRun }) => latestRun !== null);
  const { paths } = useLastRun(user ?? null);
  return <TemplatePaths value={paths}>{children}</TemplatePaths>;
}
