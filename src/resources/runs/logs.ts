import { and, asc, desc, eq, gt } from "drizzle-orm";
import type { LogLevel } from "../../executors/contract.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { type RunLogRow, runLogs } from "./table.ts";

export interface NewLog {
  timestamp: string;
  level: LogLevel;
  message: string;
}

/** Adds lines to the end of a run's log. */
export async function appendLogs(db: WriteDb, runId: string, lines: readonly NewLog[]): Promise<void> {
  if (lines.length === 0) return;
  const [last] = await db
    .select({ seq: runLogs.seq })
    .from(runLogs)
    .where(eq(runLogs.runId, runId))
    .orderBy(desc(runLogs.seq))
    .limit(1);
  const first = (last?.seq ?? 0) + 1;
  await db.insert(runLogs).values(lines.map((line, index) => ({ runId, seq: first + index, ...line })));
}

/** Lines after `afterSeq`, in order. */
export const readLogs = (db: ReadDb, runId: string, afterSeq: number, limit: number): Promise<RunLogRow[]> =>
  db
    .select()
    .from(runLogs)
    .where(and(eq(runLogs.runId, runId), gt(runLogs.seq, afterSeq)))
    .orderBy(asc(runLogs.seq))
    .limit(limit);
