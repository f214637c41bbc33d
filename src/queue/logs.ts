import { and, asc, eq, gt } from "drizzle-orm";
import type { LogLevel } from "../executors/contract.ts";
import { type RunLogRow, runLogs } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb, WriteDb } from "../store/store.ts";

export interface NewLog {
  timestamp: string;
  level: LogLevel;
  message: string;
}

/** A line as text that every reply and store can hold: a NUL is shown by its symbol. */
const shown = (message: string): string => message.toWellFormed().replaceAll("\0", "\u2400");

/** Number of lines per statement: the largest that fits what is left. */
const CHUNKS = [128, 16, 4, 1];

const INTO = "insert into run_logs (run_id, seq, timestamp, level, message)";
const LAST = "coalesce((select max(seq) from run_logs where run_id = ?), 0)";

/** One line for each of this many runs. */
const ofEach = (runs: number) =>
  `${INTO} values ${Array.from({ length: runs }, () => `(?, ${LAST} + 1, ?, ?, ?)`).join(", ")}`;

/**
 * Written out, since drizzle can't select from values. Numbers of a run's lines continue. A single line takes half the
 * time.
 */
const textOf = (lines: number) => {
  if (lines === 1) return ofEach(1);
  const rows = Array.from({ length: lines }, (_, index) => `(${index + 1}, ?, ?, ?)`).join(", ");
  return `${INTO} select ?, ${LAST} + column1, column2, column3, column4 from (values ${rows})`;
};

const inserts = prepared(
  (db: WriteDb) => new Map(CHUNKS.map((lines) => [lines, db.statement(textOf(lines))])),
);

/** Runs of one line each that share a statement. */
const TOGETHER = [16, 4, 1];

const insertsOfEach = prepared(
  (db: WriteDb) => new Map(TOGETHER.map((runs) => [runs, db.statement(ofEach(runs))])),
);

/** Appends lines to the logs of different runs. Most have one line. */
export async function appendLogsOf(
  db: WriteDb,
  logs: readonly { runId: string; lines: readonly NewLog[] }[],
): Promise<void> {
  const single: string[][] = [];
  for (const { runId, lines } of logs) {
    const [line] = lines;
    if (line && lines.length === 1)
      single.push([runId, runId, line.timestamp, line.level, shown(line.message)]);
    else await appendLogs(db, runId, lines);
  }
  for (let at = 0; at < single.length; ) {
    const size = TOGETHER.find((each) => each <= single.length - at) ?? 1;
    await insertsOfEach(db).get(size)?.(single.slice(at, at + size).flat());
    at += size;
  }
}

/** Appends lines to a run's log. Nobody waits for them before the commit. */
export async function appendLogs(db: WriteDb, runId: string, lines: readonly NewLog[]): Promise<void> {
  for (let at = 0; at < lines.length; ) {
    const size = CHUNKS.find((each) => each <= lines.length - at) ?? 1;
    const chunk = lines.slice(at, at + size);
    const values = chunk.flatMap(({ timestamp, level, message }) => [timestamp, level, shown(message)]);
    await inserts(db).get(size)?.([runId, runId, ...values]);
    at += size;
  }
}

/** Returns the lines after `afterSeq`, in order. */
export const readLogs = (db: ReadDb, runId: string, afterSeq: number, limit: number): Promise<RunLogRow[]> =>
  db
    .select()
    .from(runLogs)
    .where(and(eq(runLogs.runId, runId), gt(runLogs.seq, afterSeq)))
    .orderBy(asc(runLogs.seq))
    .limit(limit);
