import { eq } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { Scope } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import type { App } from "../context.ts";
import type { ItemsState } from "../resources/automations/table.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";

/** What templates see, and the runs whose work this one repeats. */
export interface OpenScope {
  scope: Scope;
  /** Results that are too long to parse here. */
  kept: readonly StoredResult[];
  /** Set for the run of a bulk step. */
  bulk?: ItemsState;
  /** The first of them first. The last one is the run itself. */
  attempts: readonly [RunRow, ...RunRow[]];
}

/**
 * Returns the names that a run's templates see: its input, or what its automation passes to the step. Those about the
 * run itself are the same in each attempt. Throws `gone` if the artifact of a result was deleted.
 */
export async function openScope(ctx: App & { db: ReadDb }, run: RunRow): Promise<OpenScope> {
  const attempts = await attemptsOf(ctx.db, run);
  const [first] = attempts;
  const own = ownNames(first, first.startedAt ?? run.startedAt ?? timestamp(ctx.clock));
  if (run.automationRunId === null)
    return { scope: run.input === null ? own : { ...own, input: run.input }, kept: [], attempts };
  const { scope, ...seen } = await ctx.runFollowers.stepScope(ctx, run);
  return { scope: { ...scope, ...own }, ...seen, attempts };
}

export const ownNames = ({ id }: Pick<RunRow, "id">, startedAt: string) => ({
  run: { id, startedAt },
  now: startedAt,
});

/** Returns the runs that this one retries, and itself. */
export async function attemptsOf(db: ReadDb, run: RunRow): Promise<[RunRow, ...RunRow[]]> {
  const attempts: [RunRow, ...RunRow[]] = [run];
  for (let { parentActionRunId: id } = run; id !== null; id = attempts[0].parentActionRunId) {
    const [before] = await db.select().from(actionRuns).where(eq(actionRuns.id, id));
    if (!before) break;
    attempts.unshift(before);
  }
  return attempts;
}
