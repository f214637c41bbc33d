import type { Actor, WriteContext } from "../context.ts";
import { type Entity, record } from "../resources/events/service.ts";
import type { RunRow } from "../resources/runs/table.ts";

/** Records that the run was started, by `actor` if that isn't the actor of `tx`. */
export function recordStart(tx: WriteContext, run: RunRow, actor?: Actor): Promise<void> {
  const { id, actionId, kind, privateTo, retryCount } = run;
  const data = { runId: id, ...(privateTo === null && { actionId }), kind, attempt: retryCount + 1 };
  return record(tx, "action.started", entityOf(run), data, actor);
}

/**
 * Events of a run are about its action, or about the run itself if it has none or is private. `data.runId` is the run.
 */
export const entityOf = (run: Pick<RunRow, "id" | "actionId" | "privateTo">): Entity =>
  run.actionId === null || run.privateTo !== null
    ? { type: "action_run", id: run.id }
    : { type: "action", id: run.actionId };
