import { timestamp } from "../base/clock.ts";
import type { Scope } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import type { App } from "../context.ts";
import type { ItemsState } from "../resources/automations/table.ts";
import type { RunRow } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";

/**
 * Returns the names that a run's templates see: its input, or what its automation passes to the step. Results that are
 * too long to parse here are in `kept`, and `bulk` is set for the run of a bulk step. Throws `gone` if the artifact of
 * a result was deleted.
 */
export async function openScope(
  ctx: App & { db: ReadDb },
  run: RunRow,
): Promise<{ scope: Scope; kept: readonly StoredResult[]; bulk?: ItemsState }> {
  const startedAt = run.startedAt ?? timestamp(ctx.clock);
  const own = { run: { id: run.id, startedAt }, now: startedAt };
  if (run.automationRunId === null)
    return { scope: run.input === null ? own : { ...own, input: run.input }, kept: [] };
  const { scope, ...seen } = await ctx.runFollowers.stepScope(ctx, run);
  return { scope: { ...scope, ...own }, ...seen };
}
