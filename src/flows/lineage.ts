import { and, count, eq, gt, gte, sql } from "drizzle-orm";
import { type AutomationRunRow, automationRuns } from "../resources/automations/table.ts";
import type { ReadDb } from "../store/store.ts";

/** Maximum number of links of a chain of calls and events, after its first run. */
export const MAX_DEPTH = 10;
/** Maximum number of runs that events start from the third link of a chain on: automations that trigger one another multiply. */
const MAX_RUNS_OF_CHAIN = 1000;
/** The same limit if the automation is already in the chain. */
const MAX_RUNS_OF_CIRCLE = 50;
const COUNTED_DEPTH = 3;

export type Link = Pick<
  AutomationRunRow,
  "id" | "automationId" | "causeRunId" | "callerRunId" | "rootRunId" | "depth"
>;

const link = {
  id: automationRuns.id,
  automationId: automationRuns.automationId,
  causeRunId: automationRuns.causeRunId,
  callerRunId: automationRuns.callerRunId,
  rootRunId: automationRuns.rootRunId,
  depth: automationRuns.depth,
};

/** Returns the position of an automation run in its chain; null if it is no longer stored. */
export async function findLink(db: ReadDb, id: string): Promise<Link | null> {
  const [row] = await db.select(link).from(automationRuns).where(eq(automationRuns.id, id));
  return row ?? null;
}

/** Returns the run and the runs that called it, from the innermost to the one without a caller. */
export async function callersOf(db: ReadDb, run: Link): Promise<Link[]> {
  const chain = [run];
  for (let at = run; at.callerRunId !== null && at.causeRunId !== null && chain.length <= MAX_DEPTH + 1; ) {
    const above = await findLink(db, at.causeRunId);
    if (!above) break;
    chain.push(above);
    at = above;
  }
  return chain;
}

type Retry = Pick<AutomationRunRow, "id" | "parentRunId" | "deliveryId">;

/** Returns the run that this one retries, the first of them. A run is stored as long as its retries are. */
export async function firstOf(db: ReadDb, run: Retry): Promise<Retry> {
  const { id, parentRunId, deliveryId } = automationRuns;
  let first = run;
  while (first.parentRunId !== null) {
    const before = eq(id, first.parentRunId);
    const [row] = await db.select({ id, parentRunId, deliveryId }).from(automationRuns).where(before);
    if (!row) break;
    first = row;
  }
  return first;
}

/** Columns of a run that another run led to. */
export const below = (cause: Link | null, id: string) => ({
  causeRunId: cause?.id ?? null,
  rootRunId: cause === null ? id : (cause.rootRunId ?? cause.id),
  depth: (cause?.depth ?? 0) + 1,
});

/** Returns whether events have started the maximum number of runs in this chain, for one more run of the automation. */
export async function isChainFull(db: ReadDb, cause: Link | null, automationId: string): Promise<boolean> {
  if (cause === null || cause.depth + 1 < COUNTED_DEPTH) return false;
  const [row] = await db
    .select({ n: count() })
    .from(automationRuns)
    .where(inChain(cause.rootRunId ?? cause.id));
  const runs = row?.n ?? 0;
  return (
    runs >= MAX_RUNS_OF_CHAIN || (runs >= MAX_RUNS_OF_CIRCLE && (await isAbove(db, cause, automationId)))
  );
}

/** Returns whether the run, or one that led to it, belongs to the automation. */
async function isAbove(db: ReadDb, run: Link, automationId: string): Promise<boolean> {
  for (let at: Link | null = run; at !== null; ) {
    if (at.automationId === automationId) return true;
    at = at.causeRunId === null ? null : await findLink(db, at.causeRunId);
  }
  return false;
}

/** Returns whether the chain was cut off at this automation before. */
export async function wasCutOff(db: ReadDb, cause: Link, automationId: string): Promise<boolean> {
  const rows = await db
    .select({ id: automationRuns.id })
    .from(automationRuns)
    .where(
      and(
        inChain(cause.rootRunId ?? cause.id),
        eq(automationRuns.automationId, automationId),
        gt(automationRuns.depth, MAX_DEPTH),
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Must match the text in the index `automation_runs_by_root`. */
const inChain = (rootId: string) =>
  and(eq(automationRuns.rootRunId, rootId), gte(automationRuns.depth, sql.raw(String(COUNTED_DEPTH))));
