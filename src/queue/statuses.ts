import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { WaitKind } from "../executors/contract.ts";
import { actionRuns, type PastStatus, type RunRow, type RunStatus } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";

type Value<T> = T | SQLWrapper;

interface NewStatus {
  status: Value<RunStatus>;
  since: Value<string>;
  waitKind?: Value<WaitKind | null>;
  /** Log lines that the transaction stores later, and that come before the status. */
  moreLines?: Value<number>;
}

/** Number of log lines of the updated row. */
const LINES = sql`coalesce((select max(seq) from run_logs where run_id = action_runs.id), 0)`;

/** Returns the new value of `statuses`, for every update that sets `status`: adds `added` to those of the row. */
export const withStatuses = (...added: readonly NewStatus[]): SQL<PastStatus[]> => {
  const pairs = added.map(
    ({ status, since, waitKind = null, moreLines = 0 }) =>
      sql`'$[#]', json_array(cast(${status} as text), cast(${waitKind} as text), cast(${since} as text), ${LINES} + ${moreLines})`,
  );
  return sql`json_insert(${actionRuns.statuses}, ${sql.join(pairs, sql`, `)})`;
};

/**
 * IDs of a run's stream: its statuses and log lines are numbered together, in steps of this size.
 * Progress, of which only the latest is stored, takes the numbers in between.
 */
const STEP = 1_000_000;

/** Returns the new value of `progressId`, for every update that sets `progress`: greater than any id before it. */
export const NEXT_PROGRESS_ID: SQL<number> = sql`
  max(coalesce(${actionRuns.progressId}, 0), (json_array_length(${actionRuns.statuses}) + ${LINES}) * ${sql.raw(String(STEP))}) + 1`;

/** Returns the statuses that a run has had. For a run that ended before they were stored, the known ones. */
export async function statusesOf(db: ReadDb, run: RunRow): Promise<PastStatus[]> {
  const { status, createdAt, startedAt, completedAt, updatedAt, statuses } = run;
  if (statuses.length > 0) return statuses;
  const [row] = await db
    .select({ lines: LINES.mapWith(Number) })
    .from(actionRuns)
    .where(sql`${actionRuns.id} = ${run.id}`);
  return [
    ["pending", null, createdAt, 0],
    ...(startedAt === null ? [] : [["running", null, startedAt, 0] satisfies PastStatus]),
    [status, null, completedAt ?? updatedAt, row?.lines ?? 0],
  ];
}

/** Computes the IDs of a run's stream from the statuses that the run has had. */
export function streamIds(statuses: readonly PastStatus[]) {
  const ofStatus = (index: number) => ((statuses[index]?.[3] ?? 0) + index + 1) * STEP;
  const before = (seq: number) => statuses.filter(([, , , afterSeq]) => afterSeq < seq).length;
  return {
    ofStatus,
    ofLine: (seq: number) => (seq + before(seq)) * STEP,
    /** Greater than the IDs of all lines up to `seq`, and of everything before the next line. */
    after: (seq: number) => (seq + before(seq + 1) + 1) * STEP,
    /** ID of `end`, once the run has its final status. */
    end: ofStatus(statuses.length - 1) + 1,
    /** Returns the `seq` of the last log line up to `id`. */
    lineAt(id: number): number {
      const entries = Math.floor(id / STEP);
      return entries - statuses.filter((_, index) => ofStatus(index) <= id).length;
    },
  };
}
