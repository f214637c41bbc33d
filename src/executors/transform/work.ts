import { join } from "node:path";
import type { Json } from "../../base/json.ts";
import { plural } from "../../base/plural.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { lakeJob } from "../../lake/views.ts";
import type { Column, SqlFile, SqlJob, SqlTable, WriteOptions } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import type { RunContext } from "../contract.ts";
import { FILES_LAYER } from "./files.ts";
import { runTests, type TransformTest } from "./tests.ts";

export interface Work {
  ctx: RunContext;
  /** All tables of the organization, as of the last commits. */
  tables: readonly LakeTable[];
  /** Tables read from files. */
  files: readonly SqlTable[];
  definition: { maxRows?: number; tests?: readonly TransformTest[]; parameters?: Record<string, Json> };
}

/** The SQL with the tables, and past states of them, that it can read. */
export async function jobOf(
  { ctx, files }: Work,
  sqlText: string,
  parameters: Record<string, Json>,
  tables: readonly LakeTable[],
  own: readonly SqlTable[] = [],
): Promise<SqlJob> {
  const { job } = await lakeJob(ctx.lake, tables, sqlText, parameters);
  const isFile = ({ layer, name }: SqlTable) =>
    layer === FILES_LAYER && files.some((file) => file.name.toLowerCase() === name.toLowerCase());
  const lake = job.tables.filter((table) => !isFile(table));
  return { ...job, tables: [...lake, ...files, ...own], signal: ctx.signal };
}

/** Rows of an output that isn't a dataset, after the tests. */
export async function madeRows(work: Work, job: SqlJob, options: WriteOptions = {}) {
  const { ctx, tables, definition } = work;
  const { maxRows } = definition;
  const limit = maxRows === undefined ? {} : { limit: maxRows };
  const made = await ctx.sql.materialize(job, join(await ctx.workFolder(), "made"), { ...options, ...limit });
  const rows = rowsOf(made);
  const table = newRows(made);
  await testRows(work, tables, [table]);
  return { made, rows, table, warnings: endWarnings(ctx, rows, maxRows) };
}

/** What to report if the rows end at `maxRows`. */
export function endWarnings({ log }: RunContext, rows: number, maxRows: number | undefined): string[] {
  if (rows !== maxRows) return [];
  const warning = `The rows end at maxRows (${maxRows}). There may be more.`;
  log("warn", warning);
  return [warning];
}

export function logged({ log }: RunContext, warnings: readonly string[]): readonly string[] {
  for (const warning of warnings) log("warn", warning);
  return warnings;
}

/** Warns that a merge keeps one of several rows with the same key. */
export const laterRowsWon = (lost: number): string =>
  `${plural(lost, { one: "row", other: "rows" })} had the key of a later one and ${lost === 1 ? "was" : "were"} left out.`;

export const rowsOf = ({ files }: { files: readonly SqlFile[] }): number =>
  files.reduce((sum, file) => sum + file.rows, 0);

/** The SQL's rows, as the tests read them. */
export const newRows = ({ columns, files }: { columns: Column[]; files: SqlFile[] }): SqlTable => ({
  layer: "main",
  name: "output",
  columns,
  files: files.map((file) => file.path),
});

/** Reads the SQL's rows with the names that it gave them: a table can't have names that differ only in case. */
export const outputSql = (columns: readonly Column[]): string =>
  `SELECT ${columns.map(({ name, source = name }) => `${quoteName(name)} AS ${quoteName(source)}`).join(", ")} FROM output`;

export async function testRows(
  work: Work,
  tables: readonly LakeTable[],
  own: readonly SqlTable[],
): Promise<void> {
  const { ctx, definition } = work;
  const { tests = [], parameters = {} } = definition;
  if (tests.length === 0) return;
  ctx.progress({ phase: "test", total: tests.length, unit: "tests" });
  await runTests(ctx.sql, tests, (test) =>
    jobOf(work, test.sql, { ...parameters, ...test.parameters }, tables, own),
  );
}

export const asJson = ({ name, dataType, nullable }: Column) => ({ name, dataType, nullable });
