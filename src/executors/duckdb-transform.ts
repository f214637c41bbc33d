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
import type { Column, SqlFile, SqlJob, SqlTable } from "../sql/contract.ts";
import { quoteText } from "../sql/text.ts";
import { type Done, datasetOf, defineExecutor, type RunContext } from "./contract.ts";
import { type Change, changeOf, type Output } from "./transform/change.ts";
import { runTests, type TransformTest, TransformTestShape } from "./transform/tests.ts";

/** Rows of an artifact where `maxRows` says nothing. */
const DEFAULT_ARTIFACT_ROWS = 10_000;

const name = () => Type.String({ minLength: 1, maxLength: 200, pattern: LAKE_NAME_PATTERN });

const definition = object({
  sql: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: "One SELECT, or several statements the last of which is a SELECT.",
  }),
  output: optional(
    object(
      {
        layer: described("raw, staging, marts, or one of your own", name()),
        dataset: described("Has one table of its own name", name()),
        writeDisposition: described(
          "replace exchanges the table in one step; merge needs primaryKey",
          oneOf(["replace", "append", "merge"], { default: "replace" }),
        ),
        primaryKey: optional(
          described(
            "Columns that tell rows apart",
            Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 }),
          ),
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
      { description: "Where the rows go; without it they go to an artifact" },
    ),
  ),
  parameters: optional(described("Values for $name in the SQL", map(anything()))),
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
      "So many rows at most; 10,000 for an artifact by default",
      Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    ),
  ),
});

type Definition = Static<typeof definition>;

const columnShape = object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() });

/**
 * Runs SQL over the organization's tables and keeps the rows: in a dataset, or without `output` in an artifact.
 *
 * A second try is safe: files that were written are seen by nobody until the run completes, and the load
 * is committed together with the run's completion.
 */
export const duckdbTransform = defineExecutor({
  kind: "duckdb_transform",
  isInside: true,
  title: "SQL transform",
  description:
    "Runs SQL over the lake's tables and writes the rows of its last SELECT to a dataset or an artifact.",
  providers: [],
  hasEffects: ({ output }) => output !== undefined,
  writes: ({ output }) => (isObject(output) ? datasetOf(output.layer, output.dataset) : null),
  sqlFields: ["sql", "tests.*.sql"],
  definition,
  result: object({
    rows: Type.Integer(),
    columns: Type.Array(columnShape),
    output: nullable(
      object({
        layer: Type.String(),
        dataset: Type.String(),
        files: Type.Integer(),
        bytes: Type.Integer(),
      }),
    ),
    tests: optional(Type.Array(object({ name: Type.String(), passed: Type.Boolean() }))),
    plan: optional(Type.String()),
    durationSeconds: Type.Number(),
  }),

  check({ output }) {
    if (!output) return [];
    const faults: { path: string[]; message: string }[] = [];
    for (const field of ["layer", "dataset"] as const) {
      // Whole templates are looked at when the run has their values.
      const given = output[field];
      const fault = typeof given === "string" && !given.includes("{{") ? nameFault(field, given) : null;
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
    if (output && !explain) await ctx.lake.lock(output.layer, output.dataset);
    const work: Work = { ctx, tables: await ctx.lake.tables(), definition };
    const job = await jobOf(work, sql, parameters, work.tables);
    ctx.progress({ phase: explain ? "explain" : "query" });
    const done: Done = explain
      ? { result: { rows: 0, columns: [], output: null, plan: await ctx.sql.explain(job) } }
      : output
        ? await intoDataset(work, job, { ...output, partitionBy: [output.partitionBy ?? []].flat() })
        : await intoArtifact(work, job);
    const passed: JsonObject =
      tests && !explain ? { tests: tests.map(({ name }) => ({ name, passed: true })) } : {};
    const durationSeconds = Math.round(ctx.clock.monotonic() - startedAt) / 1000;
    const reads = explain ? [] : readsOf(sql, work.tables);
    return { ...done, reads, result: { ...done.result, ...passed, durationSeconds } };
  },
});

interface Work {
  ctx: RunContext;
  /** All that the organization has, as the last commits left it. */
  tables: readonly LakeTable[];
  definition: Definition;
}

/** SQL with the tables that it may speak of, and past states of them. */
async function jobOf(
  { ctx }: Work,
  given: string,
  parameters: Record<string, Json>,
  tables: readonly LakeTable[],
  own: readonly SqlTable[] = [],
): Promise<SqlJob> {
  const { job } = await lakeJob(ctx.lake, tables, given, parameters);
  return { ...job, tables: [...job.tables, ...own], signal: ctx.signal };
}

async function intoArtifact(work: Work, job: SqlJob): Promise<Done> {
  const { ctx, definition } = work;
  const maxRows = definition.maxRows ?? DEFAULT_ARTIFACT_ROWS;
  const { columns, rows, truncated } = definition.tests
    ? await testedRows(work, job, maxRows)
    : await ctx.sql.query(job, maxRows);
  if (truncated) ctx.log("warn", `Only the first ${rows.length} rows were kept.`);
  else ctx.log("info", `${rows.length} rows.`);
  return {
    result: { rows: rows.length, columns: columns.map(asJson), output: null },
    artifacts: [{ title: "Rows", kind: "json", data: { columns: columns.map(asJson), rows, truncated } }],
  };
}

/** The rows, once they are there and the tests have seen them. */
async function testedRows(work: Work, job: SqlJob, maxRows: number) {
  const { ctx, tables } = work;
  const made = await ctx.sql.materialize(job, join(await ctx.workFolder(), "rows"));
  const output = newRows(made);
  await test(work, tables, [output]);
  return ctx.sql.query({ tables: [output], sql: "FROM output", signal: ctx.signal }, maxRows);
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
