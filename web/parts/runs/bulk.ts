import { call } from "../../api.ts";

/** Retries failed steps. The others keep their results. */
export const retryRun = ({ id }: { id: string }) =>
  call("POST /api/v1/automation-runs/{run_id}/retry", { path: { run_id: id }, body: { fromFailed: true } });

export const cancelRun = ({ id }: { id: string }) =>
  call("POST /api/v1/automation-runs/{run_id}/cancel", { path: { run_id: id } });
