import { and, asc, eq, sql } from "drizzle-orm";
import type { WriteContext } from "../context.ts";
import { automationRunResults } from "../resources/automations/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb, WriteDb } from "../store/store.ts";

/** Outcome of one item. `json` is its result or error. */
export interface ItemResult {
  index: number;
  isCompleted: boolean;
  json: string;
}

/** Identifies the results of a bulk step of an automation run. */
export interface BulkStep {
  runId: string;
  key: string;
}

const NOT_DONE = 0;
const COMPLETED = 1;
const FAILED = 2;

/** Which items have a result. */
export class Done {
  completed = 0;
  failed = 0;
  private marks = new Uint8Array(1024);

  has(index: number): boolean {
    return (this.marks[index] ?? NOT_DONE) !== NOT_DONE;
  }

  mark(index: number, isCompleted: boolean): void {
    if (index >= this.marks.length) {
      const larger = new Uint8Array(Math.max(index + 1, this.marks.length * 2));
      larger.set(this.marks);
      this.marks = larger;
    }
    if (this.marks[index] === COMPLETED) this.completed--;
    if (this.marks[index] === FAILED) this.failed--;
    this.marks[index] = isCompleted ? COMPLETED : FAILED;
    if (isCompleted) this.completed++;
    else this.failed++;
  }
}

/** Formats indexes as `0-4,7`. */
export function rangesOf(indexes: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const index of indexes.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && index === last[1] + 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

export function* indexesIn(ranges: string): Generator<number> {
  for (const range of ranges === "" ? [] : ranges.split(",")) {
    const [from = 0, to = from] = range.split("-").map(Number);
    for (let index = from; index <= to; index++) yield index;
  }
}

const insertResults = prepared((db: WriteDb) =>
  db.statement(`insert into automation_run_results (automation_run_id, step_key, seq, first_index, completed, failed, body)
    select ?1, ?2, coalesce(max(seq), 0) + 1, ?3, ?4, ?5, ?6 from automation_run_results
    where automation_run_id = ?1 and step_key = ?2`),
);

/** Stores the outcomes of several items. */
export async function appendResults(
  tx: WriteContext,
  { runId, key }: BulkStep,
  results: readonly ItemResult[],
): Promise<void> {
  if (results.length === 0) return;
  const sorted = results.toSorted((a, b) => a.index - b.index);
  const indexes = (isCompleted: boolean) =>
    rangesOf(sorted.filter((one) => one.isCompleted === isCompleted).map(({ index }) => index));
  await insertResults(tx.db)([
    runId,
    key,
    sorted[0]?.index ?? 0,
    indexes(true),
    indexes(false),
    sorted.map(lineOf).join("\n"),
  ]);
}

/** Copies the results of an earlier run of the automation. Failed items are left out, since they run again. */
export async function copyResults(tx: WriteContext, key: string, from: string, to: string): Promise<void> {
  await tx.db.run(sql`
    insert into automation_run_results (automation_run_id, step_key, seq, first_index, completed, failed, body)
    select ${to}, step_key, seq, first_index, completed, '', body from automation_run_results
    where automation_run_id = ${from} and step_key = ${key} and completed <> ''`);
}

const ofStep = ({ runId, key }: BulkStep) =>
  and(eq(automationRunResults.automationRunId, runId), eq(automationRunResults.stepKey, key));

const { seq, firstIndex, completed, failed } = automationRunResults;

/** Returns which items of a step have completed or failed. */
export async function findDone(db: ReadDb, step: BulkStep): Promise<Done> {
  const done = new Done();
  const rows = await db
    .select({ completed, failed })
    .from(automationRunResults)
    .where(ofStep(step))
    .orderBy(asc(seq));
  for (const row of rows) {
    for (const index of indexesIn(row.completed)) done.mark(index, true);
    for (const index of indexesIn(row.failed)) done.mark(index, false);
  }
  return done;
}

interface Group {
  seq: number;
  results: ItemResult[];
  at: number;
}

/**
 * Yields the results in the order of their items, the last one of each, as lists. Only overlapping groups are in memory
 * at once.
 */
export async function* resultsInOrder(db: ReadDb, step: BulkStep): AsyncGenerator<ItemResult[]> {
  const groups = await db
    .select({ seq, firstIndex })
    .from(automationRunResults)
    .where(ofStep(step))
    .orderBy(asc(firstIndex), asc(seq));
  let open: Group[] = [];
  let next = 0;
  for (;;) {
    let least = leastOf(open);
    for (let group = groups[next]; group && group.firstIndex <= least; group = groups[++next]) {
      open.push(await readGroup(db, step, group.seq));
      least = leastOf(open);
    }
    const results = take(open, groups[next]?.firstIndex ?? Number.POSITIVE_INFINITY);
    if (results.length === 0) return;
    yield results;
    open = open.filter((group) => group.at < group.results.length);
  }
}

/** Takes the results of all items before the one at `end` off the groups. */
function take(open: readonly Group[], end: number): ItemResult[] {
  const results: ItemResult[] = [];
  for (;;) {
    let latest: Group | null = null;
    let least = end;
    for (const group of open) {
      const head = headOf(group);
      if (head > least || (head === least && (latest === null || latest.seq > group.seq))) continue;
      least = head;
      latest = group;
    }
    const result = latest?.results[latest.at];
    if (!result) return results;
    results.push(result);
    for (const group of open) if (headOf(group) === least) group.at++;
  }
}

const leastOf = (open: readonly Group[]) => Math.min(...open.map(headOf));

const headOf = ({ results, at }: Group): number => results[at]?.index ?? Number.POSITIVE_INFINITY;

const groupBySeq = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRunResults)
    .where(
      and(
        eq(automationRunResults.automationRunId, sql.placeholder("runId")),
        eq(automationRunResults.stepKey, sql.placeholder("key")),
        eq(seq, sql.placeholder("seq")),
      ),
    )
    .prepare(),
);

async function readGroup(db: ReadDb, step: BulkStep, number: number): Promise<Group> {
  const [row] = await groupBySeq(db).execute({ ...step, seq: number });
  const counted = new Set(row ? [...indexesIn(row.completed), ...indexesIn(row.failed)] : []);
  const results = (row?.body.split("\n") ?? []).map(readLine).filter(({ index }) => counted.has(index));
  return { seq: number, results, at: 0 };
}

/** Formats a line as `INDEX + RESULT` or `INDEX - ERROR`. JSON has no line breaks. */
const lineOf = ({ index, isCompleted, json }: ItemResult): string =>
  `${index} ${isCompleted ? "+" : "-"} ${json}`;

function readLine(line: string): ItemResult {
  const blank = line.indexOf(" ");
  return {
    index: Number(line.slice(0, blank)),
    isCompleted: line[blank + 1] === "+",
    json: line.slice(blank + 3),
  };
}
