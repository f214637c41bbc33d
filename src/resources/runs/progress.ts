import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import { actionRuns, type RunProgress, type RunRow } from "./table.ts";

/** Shows how far a running run has come, and the definition that it runs; nothing when the lease is lost. */
export async function saveProgress(
  tx: WriteContext,
  run: RunRow,
  progress: RunProgress,
  definition: RunRow["definition"],
): Promise<void> {
  await tx.db
    .update(actionRuns)
    .set({ progress, definition, isResolved: true, updatedAt: timestamp(tx.clock) })
    .where(
      and(
        eq(actionRuns.id, run.id),
        eq(actionRuns.leaseToken, run.leaseToken ?? ""),
        eq(actionRuns.status, "running"),
      ),
    );
}
