import { join } from "node:path";
import type { Static } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { anything, described, map, nullable, object, oneOf, optional } from "../base/shape.ts";
import type { LakeFile, LakeTable } from "../lake/contract.ts";
import { LAKE_NAME_PATTERN, nameFault } from "../lake/names.ts";
import { readsOf } from "../lake/reads.ts";
import { lakeJob, sqlName } from "../lake/views.ts";
import type { TableCounts } from "../providers/contract-tables.ts";
import type { Column, SqlFile, SqlJob, SqlTable, WriteOptions } from "../sql/contract.ts";
import { quoteText } from "../sql/text.ts";
import { type Done, datasetOf, defineExecutor, type RunContext } from "./contract.ts";
import { type Change, changeOf, type Output } from "./transform/change.ts";
import { FileOutput, fileFaults, intoFile, writeRefusal } from "./transform/file.ts";
import { FILES_LAYER, FileTables, fileConnections, fileTableFaults, readFiles } from "./transform/files.ts";
import { intoTable, openTable, TableOutput, tableFaults, tableRefusal } from "./transform/table.ts";
import { runTests, type TransformTest, TransformTestShape } from "./transform/tests.ts";

/** Rows of a result. */
const MAX_ITEMS = 100_000;
/** Rows up to this long are read, and stand in an artifact of their own; longer ones are the result's artifact. */
const MAX_READ_CHARACTERS = 200 * 1024;

const name = () => Type.String({ minLength: 1, maxLength: 200, pattern: LAKE_NAME_PATTERN });

const LakeOutput = object(
  {
    layer: described("raw, staging, marts, or one of your own", name()),
    dataset: described("Has one table of its own name", name()),
    writeDisposition: described(
      "replace exchanges the table in one step; merge needs primaryKey",
      oneOf(["replace", "append", "merge"], { default: "replace" }),
    ),
    primaryKey: optional(
      described("Columns that tell rows apart", Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 })),
    ),
    partitionBy: optional(
      described(
        "A column, or columns, whose values get files of their own",
        Type.Union([
          Type.String({ minLength: 1 }),
          Type.Array(Type.String({ minLength: 1 }), { maxItems: 8 }),
        ]),
      ),
    ),
  },
  { title: "Table of the lake" },
);

const definition = object({
  sql: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: "One SELECT, or several statements the last of which is a SELECT.",
  }),
  output: optional(
    described(
      "A table of the lake or of a database, or a file; without it the rows are the result's items",
      Type.Union([LakeOutput, FileOutput, TableOutput]),
    ),
  ),
  parameters: optional(described("Values for $name in the SQL", map(anything()))),
  files: optional(
    described(
      "Files that the SQL sees as tables, each as files.NAME; artifacts, or files of connections",
      FileTables,
    ),
  ),
  tests: optional(
    Type.Array(TransformTestShape, {
      maxItems: 100,
      description: "Run when the rows are there; one that fails fails the run, and nothing is written.",
    }),
  ),
  explain: optional(
    Type.Boolean({ description: "Gives back how DuckDB would do it as `plan`; nothing is run or written." }),
  ),
  maxRows: optional(
    described(
      "So many rows at most; 100,000 where there is no output",
      Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    ),
  ),
});

type Definition = Static<typeof definition>;

const columnShape = object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() });

/**
 * Runs SQL over the organization's tables and keeps the rows: in a dataset, or without `output` as the result.
 *
 * A second try is safe: files that were written are seen by nobody until the run completes, and the load
 * is committed together with the run's completion.
 */
export const duckdbTransform = defineExecutor({
  kind: "duckdb_transform",
  isInside: true,
  title: "SQL transform",
  description:
    "Runs SQL over the lake's tables and writes the rows of its last SELECT to a dataset, a table of a database or a file, or gives them as its result.",
  providers: ["s3", "local_files", "google_drive", "postgres", "mysql"],
  connections({ output, files }) {
    const id = isObject(output) ? output.connectionId : undefined;
    const sources = fileConnections(files);
    if (typeof id !== "string" || id === "artifact" || id.includes("{{")) return sources;
    const refusal = isObject(output) && "table" in output ? tableRefusal : writeRefusal;
    return [...sources, { path: ["output", "connectionId"], id, refusal }];
  },
  hasEffects: ({ output }) => output !== undefined,
  writes: ({ output }) => (isObject(output) ? datasetOf(output.layer, output.dataset) : null),
  sqlFields: ["sql", "tests.*.sql"],
  definition,
  result: object({
    rows: Type.Integer(),
    items: optional(described("The rows, where there is no output", Type.Array(map(anything())))),
    columns: Type.Array(columnShape),
    output: nullable(
      Type.Union([
        object({
          layer: Type.String(),
          dataset: Type.String(),
          files: Type.Integer(),
          bytes: Type.Integer(),
        }),
        object({
          connectionId: Type.String(),
          table: Type.String(),
          inserted: Type.Integer(),
          updated: Type.Integer(),
          deleted: Type.Integer(),
        }),
        object({ connectionId: Type.String(), path: Type.String(), bytes: Type.Integer() }),
        object({ artifactId: Type.String(), bytes: Type.Integer() }),
      ]),
    ),
    tests: optional(Type.Array(object({ name: Type.String(), passed: Type.Boolean() }))),
    plan: optional(Type.String()),
    warnings: optional(Type.Array(Type.String())),
    durationSeconds: Type.Number(),
  }),

  check({ output, files }) {
    const faults = typeof files === "object" ? fileTableFaults(files) : [];
    if (typeof output !== "object") return faults; // none, or a template
    if ("connectionId" in output) {
      const own = "table" in output ? tableFaults(output) : fileFaults(output);
      return [...faults, ...own.map(({ path, message }) => ({ path: ["output", ...path], message }))];
    }
    for (const field of ["layer", "dataset"] as const) {
      // Whole templates are looked at when the run has their values.
      const value = output[field];
      const fault = typeof value === "string" && !value.includes("{{") ? nameFault(field, value) : null;
      if (fault) faults.push({ path: ["output", field], message: fault });
    }
    if (output.writeDisposition === "merge" && (output.primaryKey ?? []).length === 0) {
      faults.push({ path: ["output", "primaryKey"], message: "A merge needs a primaryKey." });
    }
    return faults;
  },

  async execute(ctx, definition) {
    const startedAt = ctx.clock.monotonic();
    const { sql, output, parameters = {}, explain, tests } = definition;
    const isElsewhere = output !== undefined && "connectionId" in output;
    if (output && !isElsewhere && !explain) await ctx.lake.lock(output.layer, output.dataset);
    const read = await readFiles(ctx, definition.files ?? {});
    const work: Work = { ctx, tables: await ctx.lake.tables(), files: read.tables, definition };
    const job = await jobOf(work, sql, parameters, work.tables);
    ctx.progress({ phase: explain ? "explain" : "query" });
    const done: Done & { items?: string[] } = explain
      ? { result: { rows: 0, columns: [], output: null, plan: await ctx.sql.explain(job) } }
      : output && "table" in output
        ? await intoTableTested(work, job, output)
        : output && "connectionId" in output
          ? await intoFileTested(work, job, output)
          : output
            ? await intoDataset(work, job, { ...output, partitionBy: [output.partitionBy ?? []].flat() })
            : await intoResult(work, job);
    const passed: JsonObject =
      tests && !explain ? { tests: tests.map(({ name }) => ({ name, passed: true })) } : {};
    const durationSeconds = Math.round(ctx.clock.monotonic() - startedAt) / 1000;
    const reads = explain ? [] : readsOf(sql, work.tables);
    const { items, ...rest } = done;
    const warnings = [...read.warnings, ...[done.result?.warnings ?? []].flat()];
    const warned: JsonObject = warnings.length > 0 ? { warnings } : {};
    const result = { ...done.result, ...passed, ...warned, durationSeconds };
    const artifacts = [...(done.artifacts ?? []), ...read.artifacts];
    return items
      ? { reads, artifacts, ...wholeResult(result, items) }
      : { ...rest, artifacts, reads, result };
  },
});

interface Work {
  ctx: RunContext;
  /** All that the organization has, as the last commits left it. */
  tables: readonly LakeTable[];
  /** Those that were read from files. */
  files: readonly SqlTable[];
  definition: Definition;
}

/** SQL with the tables that it may speak of, and past states of them. */
async function jobOf(
  { ctx, files }: Work,
  given: string,
  parameters: Record<string, Json>,
  tables: readonly LakeTable[],
  own: readonly SqlTable[] = [],
): Promise<SqlJob> {
  const { job } = await lakeJob(ctx.lake, tables, given, parameters);
  const isFile = ({ layer, name }: SqlTable) =>
    layer === FILES_LAYER && files.some((file) => file.name.toLowerCase() === name.toLowerCase());
  const lake = job.tables.filter((table) => !isFile(table));
  return { ...job, tables: [...lake, ...files, ...own], signal: ctx.signal };
}

/** The rows as the result. Long ones come as `items`, the texts of their JSON. */
async function intoResult(work: Work, job: SqlJob): Promise<Done & { items?: string[] }> {
  const { ctx, definition } = work;
  const maxRows = Math.min(definition.maxRows ?? MAX_ITEMS, MAX_ITEMS);
  const asked = definition.tests ? await testedRows(work, job) : job;
  const { columns, rows, truncated, json } = await ctx.sql.queryText(asked, maxRows);
  if (truncated && rows < maxRows)
    throw new AppError(
      "result_too_large",
      `The first ${rows} rows are as much as a result takes. Ask for fewer or shorter ones, or give an output.`,
    );
  const warning = `Only the first ${rows} rows were kept.`;
  if (truncated) ctx.log("warn", warning);
  else ctx.log("info", `${rows} rows.`);
  const shown = columns.map(asJson);
  const result = { rows, columns: shown, output: null, ...(truncated ? { warnings: [warning] } : {}) };
  const characters = json.reduce((sum, text) => sum + text.length, 0);
  if (characters > MAX_READ_CHARACTERS) return { result, items: json };
  const items: Json = JSON.parse(json.join(""));
  const data = { columns: shown, rows: items, truncated };
  return { result: { ...result, items }, artifacts: [{ title: "Rows", kind: "json", data }] };
}

/** A result whose items are not looked at. */
function wholeResult(
  result: JsonObject & { rows?: Json },
  items: readonly string[],
): Pick<Done, "result" | "whole"> {
  const head = JSON.stringify(result).slice(0, -1);
  const json = Buffer.concat([head, ',"items":', ...items, "}"].map((text) => Buffer.from(text)));
  const fields = { ...result, items: `list of ${Number(result.rows)}` };
  return { result: fields, whole: { json, summary: { fields, large: ["items"] } } };
}

/** The rows of an output that is no dataset, once the tests have seen them. */
async function madeRows(work: Work, job: SqlJob, options: WriteOptions = {}) {
  const { ctx, tables, definition } = work;
  const { maxRows } = definition;
  const limit = maxRows === undefined ? {} : { limit: maxRows };
  const made = await ctx.sql.materialize(job, join(await ctx.workFolder(), "made"), { ...options, ...limit });
  const rows = made.files.reduce((sum, file) => sum + file.rows, 0);
  const warning = `The rows end at maxRows, ${maxRows}; there may be more.`;
  if (rows === maxRows) ctx.log("warn", warning);
  const table = newRows(made);
  await test(work, tables, [table]);
  return { made, rows, table, warnings: rows === maxRows ? [warning] : [] };
}

async function intoFileTested(work: Work, job: SqlJob, output: FileOutput): Promise<Done> {
  const { ctx } = work;
  const { made, rows, table, warnings } = await madeRows(work, job);
  const done = await intoFile(ctx, { tables: [table], sql: "FROM output", signal: ctx.signal }, output);
  const columns = made.columns.map(asJson);
  const { warnings: told = [], ...result } = done.result ?? {};
  const all: JsonObject = { rows, columns, ...result };
  const said = [...warnings, ...[told].flat()];
  return { ...done, result: said.length > 0 ? { ...all, warnings: said } : all };
}

/** What an earlier try of the run has committed is given back as it was. */
async function intoTableTested(work: Work, job: SqlJob, output: TableOutput): Promise<Done> {
  const { ctx } = work;
  const target = await openTable(ctx, output);
  const { connectionId, table } = output;
  const resultOf = (columns: readonly Column[], counts: TableCounts): JsonObject => {
    const { rows, ...changes } = counts;
    return { rows, columns: columns.map(asJson), output: { connectionId, table, ...changes } };
  };
  if (target.done) {
    ctx.log("info", `${target.name} has the rows of this run from an earlier try.`);
    const { columns } = await ctx.sql.materialize(job, join(await ctx.workFolder(), "columns"), { limit: 0 });
    return { result: resultOf(columns, target.done) };
  }
  ctx.progress({ phase: "query" });
  const { made, warnings } = await madeRows(work, job, { isPassing: true });
  const warn = (text: string) => {
    ctx.log("warn", text);
    warnings.push(text);
  };
  const result = resultOf(made.columns, await intoTable(ctx, target, made, warn));
  return { result: warnings.length > 0 ? { ...result, warnings } : result };
}

/** The rows, once they are there and the tests have seen them. */
async function testedRows(work: Work, job: SqlJob): Promise<SqlJob> {
  const { ctx, tables } = work;
  const made = await ctx.sql.materialize(job, join(await ctx.workFolder(), "rows"));
  const output = newRows(made);
  await test(work, tables, [output]);
  return { tables: [output], sql: "FROM output", signal: ctx.signal };
}

/** What the SQL gave, as tests see it. */
const newRows = ({ columns, files }: { columns: Column[]; files: SqlFile[] }): SqlTable => ({
  layer: "main",
  name: "output",
  columns,
  files: files.map((file) => file.path),
});

async function test(work: Work, tables: readonly LakeTable[], own: readonly SqlTable[]): Promise<void> {
  const { ctx, definition } = work;
  const { tests = [], parameters = {} } = definition;
  if (tests.length === 0) return;
  ctx.progress({ phase: "test", total: tests.length, unit: "tests" });
  await runTests(ctx.sql, tests as TransformTest[], (test) =>
    jobOf(work, test.sql, { ...parameters, ...test.parameters }, tables, own),
  );
}

/** A partition is a file at least, and each has to be opened by whoever reads the table. */
const MAX_PARTITIONS = 1_000;

async function intoDataset(work: Work, job: SqlJob, output: Output): Promise<Done> {
  const { ctx, tables, definition } = work;
  const { layer, dataset, partitionBy = [] } = output;
  const { maxRows } = definition;
  const loadId = ctx.run.id;
  const folder = await ctx.workFolder();
  const stamp = [
    { name: "_dlt_id", sql: `${quoteText(`${loadId}-`)} || row_number() OVER ()` },
    { name: "_dlt_load_id", sql: quoteText(loadId) },
  ];
  const limit = maxRows === undefined ? {} : { limit: maxRows };
  const made = await ctx.sql.materialize(job, join(folder, "rows"), { partitionBy, stamp, ...limit });
  const rows = made.files.reduce((sum, file) => sum + file.rows, 0);
  if (rows === maxRows) ctx.log("warn", `The rows end at maxRows, ${maxRows}; there may be more.`);
  const columns = made.columns.map((c) => ({
    ...c,
    nullable: c.name !== "_dlt_id" && c.name !== "_dlt_load_id",
  }));
  const partitions = new Set(made.files.map((file) => partOf(file, partitionBy))).size;
  if (partitions > MAX_PARTITIONS) {
    throw new AppError(
      "definition_invalid",
      `partitionBy makes ${partitions} partitions; at most ${MAX_PARTITIONS} are good for those who read them.`,
    );
  }

  const isOutput = (t: LakeTable) => t.layer === layer && t.dataset === dataset && t.table === dataset;
  const existing = tables.find(isOutput) ?? null;
  const change = await changeOf(ctx, output, existing, columns, made.files);
  const others = tables.filter((table) => !isOutput(table));
  await test(work, others, [newRows(made), await afterwards(work, output, existing, change)]);

  ctx.progress({ phase: "store", current: 0, total: change.files.length, unit: "files" });
  const add: LakeFile[] = [];
  for (const file of change.files) {
    const stored = { ...file, part: partOf(file, partitionBy) };
    add.push(await ctx.lake.add({ layer, dataset, table: dataset, loadId }, stored));
    ctx.progress({ phase: "store", current: add.length, total: change.files.length, unit: "files" });
  }
  const { inserted, updated, deduplicated, remove } = change;
  const bytes = add.reduce((sum, file) => sum + file.bytes, 0);
  ctx.log(
    "info",
    `${layer}.${dataset}: ${inserted} inserted, ${updated} updated, ${deduplicated} deduplicated.`,
  );
  return {
    result: { rows, columns: columns.map(asJson), output: { layer, dataset, files: add.length, bytes } },
    load: {
      loadId,
      layer,
      dataset,
      tables: [
        { table: dataset, columns: change.columns, add, remove, baseVersion: existing?.version ?? null },
      ],
    },
  };
}

/** The partition of a file: the names of the folders that it was written into, `COLUMN=VALUE`. */
const partOf = ({ path }: SqlFile, { length }: readonly string[]): string | null =>
  length === 0
    ? null
    : path
        .split("/")
        .slice(-1 - length, -1)
        .join("/");

/** The table as it is going to be. */
async function afterwards(
  { ctx }: Work,
  { layer, dataset }: Output,
  existing: LakeTable | null,
  { columns, files, remove }: Change,
): Promise<SqlTable> {
  const kept = (existing?.files ?? []).filter(({ id }) => remove !== "all" && !remove.includes(id));
  const paths = await Promise.all(kept.map((file) => ctx.lake.localPath(file)));
  return {
    layer,
    name: sqlName({ dataset, table: dataset }),
    columns,
    files: [...paths, ...files.map((file) => file.path)],
  };
}

const asJson = ({ name, dataType, nullable }: Column): JsonObject => ({ name, dataType, nullable });
