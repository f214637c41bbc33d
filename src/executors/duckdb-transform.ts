import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { isObject, type JsonObject } from "../base/json.ts";
import { neededWhere } from "../base/schema-rules.ts";
import { anything, described, map, nullable, object, oneOf, optional } from "../base/shape.ts";
import { LAKE_NAME_PATTERN, nameFault } from "../lake/names.ts";
import { readsOf } from "../lake/reads.ts";
import type { TableCounts } from "../providers/contract-tables.ts";
import type { Column, SqlJob } from "../sql/contract.ts";
import { type Done, datasetOf, defineExecutor } from "./contract.ts";
import { intoDataset } from "./transform/dataset.ts";
import { FileOutput, fileFaults, intoFile, writeRefusal } from "./transform/file.ts";
import { FileTables, fileConnections, fileTableFaults, readFiles } from "./transform/files.ts";
import { intoResult, wholeResult } from "./transform/items.ts";
import { intoTable, openTable, TableOutput, tableFaults, tableRefusal } from "./transform/table.ts";
import { TransformTestShape } from "./transform/tests.ts";
import { asJson, jobOf, logged, madeRows, outputSql, type Work } from "./transform/work.ts";

const name = () => Type.String({ minLength: 1, maxLength: 200, pattern: LAKE_NAME_PATTERN });

const LakeOutput = object(
  {
    layer: described("Layer of the dataset: raw, staging, marts, or one of your own", name()),
    dataset: described("Dataset to write to. Its table has the same name", name()),
    writeDisposition: described(
      "replace replaces all rows, append adds rows, merge replaces rows with the same primaryKey",
      oneOf(["replace", "append", "merge"], { default: "replace" }),
    ),
    primaryKey: optional(
      described(
        "Columns that identify a row. Required for merge",
        Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 }),
      ),
    ),
    partitionBy: optional(
      described(
        "Columns to partition by: each combination of their values gets its own files",
        Type.Union([
          Type.String({ minLength: 1 }),
          Type.Array(Type.String({ minLength: 1 }), { maxItems: 8 }),
        ]),
      ),
    ),
  },
  { title: "Table of the lake", ...neededWhere("writeDisposition", "merge", "primaryKey") },
);

const definition = object({
  sql: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: "One SELECT, or several statements of which the last is a SELECT.",
  }),
  output: optional(
    described(
      "Where to write the rows: a table of the lake, a table of a database, or a file. If omitted, the rows are the `items` of the result",
      Type.Union([LakeOutput, FileOutput, TableOutput]),
    ),
  ),
  parameters: optional(described("Values for $name in the SQL", map(anything()))),
  files: optional(
    described("Files to query as tables, each as files.NAME: artifacts or files of connections", FileTables),
  ),
  tests: optional(
    Type.Array(TransformTestShape, {
      maxItems: 100,
      description:
        "Tests of the rows before they are written. If one fails, the run fails and nothing is written.",
    }),
  ),
  explain: optional(
    Type.Boolean({
      description: "Whether to return only DuckDB's query plan, as `plan`. Nothing is run or written.",
    }),
  ),
  maxRows: optional(
    described(
      "Maximum number of rows. Without an output, at most 100,000, which is then the default",
      Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    ),
  ),
});

const columnShape = object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() });

/**
 * Runs SQL over the organization's tables and stores the rows in a dataset, or without `output` as the result.
 *
 * A second attempt is safe: written files are invisible until the run completes, and the load is committed in the same
 * transaction.
 */
export const duckdbTransform = defineExecutor({
  kind: "duckdb_transform",
  isInside: true,
  title: "SQL transform",
  description:
    "Runs SQL over the lake's tables and writes the rows of its last SELECT to a dataset, a table of a database or a file, or returns them.",
  providers: ["s3", "local_files", "google_drive", "sftp", "postgres", "mysql"],
  connections({ output, files }) {
    const id = isObject(output) ? output.connectionId : undefined;
    const sources = fileConnections(files);
    if (typeof id !== "string" || id === "artifact" || id.includes("{{")) return sources;
    const refusal = isObject(output) && "table" in output ? tableRefusal : writeRefusal;
    return [...sources, { path: ["output", "connectionId"], id, refusal }];
  },
  hasEffects: ({ output }) => output !== undefined,
  // when each item has its own run, that run records what it reads
  inBulk: ({ output, files }, of) => of === "table" && output === undefined && files === undefined,
  writes: ({ output }) => (isObject(output) ? datasetOf(output.layer, output.dataset) : null),
  sqlFields: ["sql", "tests.*.sql"],
  definition,
  result: object({
    rows: Type.Integer(),
    items: optional(described("Rows of the result. Only without an output", Type.Array(map(anything())))),
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
      // Values that are entirely templates are checked during the run.
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

async function intoFileTested(work: Work, job: SqlJob, output: FileOutput): Promise<Done> {
  const { ctx } = work;
  const { made, rows, table, warnings } = await madeRows(work, job);
  const done = await intoFile(
    ctx,
    { tables: [table], sql: outputSql(made.columns), signal: ctx.signal },
    output,
  );
  const columns = made.columns.map(asJson);
  const { warnings: moreWarnings = [], ...result } = done.result ?? {};
  const all: JsonObject = { rows, columns, ...result };
  const allWarnings = [...warnings, ...[moreWarnings].flat()];
  return { ...done, result: allWarnings.length > 0 ? { ...all, warnings: allWarnings } : all };
}

/** What an earlier attempt of the run committed is returned unchanged. */
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
  warnings.push(...logged(ctx, made.warnings));
  const warn = (text: string) => {
    ctx.log("warn", text);
    warnings.push(text);
  };
  const result = resultOf(made.columns, await intoTable(ctx, target, made, output, warn));
  return { result: warnings.length > 0 ? { ...result, warnings } : result };
}
