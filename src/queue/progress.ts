import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { WriteContext } from "../context.ts";
import { actionRuns, type RunProgress, type RunRow } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { NEXT_PROGRESS_ID } from "./statuses.ts";

const leaseOf = prepared((db: ReadDb) =>
  db
    .select({ leaseToken: actionRuns.leaseToken })
    .from(actionRuns)
    .where(and(eq(actionRuns.id, sql.placeholder("id")), eq(actionRuns.status, "running")))
    .prepare(),
);

/** True while the lease that `run` was claimed with is valid. A suspended process may have lost it. */
export async function hasLease(db: ReadDb, run: RunRow): Promise<boolean> {
  const [row] = await leaseOf(db).all({ id: run.id });
  return row !== undefined && row.leaseToken !== null && row.leaseToken === run.leaseToken;
}

/** A definition as stored in a run's row: with or without its templates evaluated. */
export type StoredDefinition = Pick<RunRow, "definition" | "isResolved">;

/** Stores the progress of a running run, and the definition that it uses. Does nothing if the lease is lost. */
export async function saveProgress(
  tx: WriteContext,
  run: RunRow,
  progress: RunProgress,
  stored: StoredDefinition,
): Promise<void> {
  await tx.db
    .update(actionRuns)
    .set({
      progress,
      progressId: NEXT_PROGRESS_ID,
      ...stored,
      updatedAt: timestamp(tx.clock),
    })
    .where(
      and(
        eq(actionRuns.id, run.id),
        eq(actionRuns.leaseToken, run.leaseToken ?? ""),
        eq(actionRuns.status, "running"),
      ),
    );
}
