import { eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import { changing } from "../store/prepared.ts";
import { decideClaimed } from "./decide.ts";
import { notifyChanged, recordOutcome } from "./end.ts";
import { appendLogs } from "./logs.ts";
import { recordStart } from "./run-events.ts";
import { withStatuses } from "./statuses.ts";

/** Only for a row read in the same transaction. */
const updateDue = changing(actionRuns, (update) =>
  update
    .set({
      status: sql`'completed'`,
      statuses: withStatuses(
        { status: sql`'running'`, since: sql.placeholder("startedAt") },
        {
          status: sql`'completed'`,
          since: sql.placeholder("completedAt"),
          moreLines: sql.placeholder("lines"),
        },
      ),
      definition: sql`${sql.placeholder("definition")}`,
      isResolved: sql`1`,
      result: sql`${sql.placeholder("result")}`,
      error: sql`null`,
      dueAt: sql`null`,
      bootId: sql`${sql.placeholder("bootId")}`,
      startedAt: sql`${sql.placeholder("startedAt")}`,
      completedAt: sql`${sql.placeholder("completedAt")}`,
      updatedAt: sql`${sql.placeholder("completedAt")}`,
    })
    .where(eq(actionRuns.id, sql.placeholder("id"))),
);

/**
 * Executes a due run from start to end in the transaction that found it. Null if it must be executed like any other
 * run. Then nothing is written.
 */
export async function completeDue(tx: WriteContext, due: RunRow): Promise<RunRow | null> {
  const startedAt = due.startedAt ?? timestamp(tx.clock);
  const done = await decideClaimed(tx, { ...due, startedAt });
  if (done === null) return null;
  const { outcome, left } = done;
  const { result } = outcome;
  const completedAt = timestamp(tx.clock);
  const { id } = due;
  const definition = JSON.stringify(left.definition);
  await updateDue(tx.db, {
    id,
    definition,
    result: JSON.stringify(result),
    bootId: tx.bootId,
    startedAt,
    completedAt,
    lines: left.logs.length,
  });
  const row: RunRow = { ...due, result, status: "completed", startedAt, completedAt };
  await recordStart(tx, row);
  await appendLogs(tx.db, id, left.logs);
  await recordOutcome({ ...tx, actor: SYSTEM }, row, outcome);
  notifyChanged(tx, row);
  return row;
}
