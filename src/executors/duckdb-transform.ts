import { join } from "node:path";
import type { Static } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { anything, map, nullable, object, oneOf, optional } from "../base/shape.ts";
import type { LakeFile, LakeTable, TableChange } from "../lake/contract.ts";
import { mergeFiles } from "../lake/merge.ts";
import { LAKE_NAME_PATTERN, nameFault } from "../lake/names.ts";
import { sqlTables } from "../lake/views.ts";
import type { Column, SqlFile, SqlJob } from "../sql/contract.ts";
import { quoteText } from "../sql/text.ts";
import { type Bench, type Done, datasetOf, defineExecutor } from "./contract.ts";
import { widen } from "./extract/types.ts";

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
    object({
      layer: name(),
      dataset: name(),
      writeDisposition: oneOf(["replace", "append", "merge"], { default: "replace" }),
      primaryKey: optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 32 })),
      partitionBy: optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 8 })),
    }),
  ),
  parameters: optional(map(anything())),
  maxRows: optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
});

type Definition = Static<typeof definition>;
type Output = NonNullable<Definition["output"]>;

const columnShape = object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() });

/**
 * Runs SQL over the organization's tables and keeps the rows: in a dataset, or without `output` in an artifact.
 *
 * A second try is safe: files that were written are seen by nobody until the run completes, and the load
 * is committed together with the run's completion.
 */
export const duckdbTransform = defineExecutor({
  kind: "duckdb_transform",
  title: "SQL transform",
  description:
    "Runs SQL over the lake's tables and writes the rows of its last SELECT to a dataset or an artifact.",
  providers: [],
  writes: ({ output }) => (isObject(output) ? datasetOf(output.layer, output.dataset) : null),
  sqlFields: ["sql"],
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

  async execute(bench, { sql, output, parameters = {}, maxRows }) {
    const startedAt = bench.clock.monotonic();
    if (output) await bench.lake.lock(output.layer, output.dataset);
    const tables = await bench.lake.tables();
    const job: SqlJob = {
      tables: await sqlTables(bench.lake, tables, sql),
      sql,
      parameters,
      signal: bench.signal,
    };
    bench.progress({ phase: "query" });
    const done = output
      ? await intoDataset(bench, job, output, tables, maxRows)
      : await intoArtifact(bench, job, maxRows ?? DEFAULT_ARTIFACT_ROWS);
    const seconds = Math.round(bench.clock.monotonic() - startedAt) / 1000;
    return { ...done, result: { ...done.result, durationSeconds: seconds } };
  },
});

async function intoArtifact(bench: Bench, job: SqlJob, maxRows: number): Promise<Done> {
  const { columns, rows, truncated } = await bench.sql.query(job, maxRows);
  if (truncated) bench.log("warn", `Only the first ${rows.length} rows were kept.`);
  return {
    result: { rows: rows.length, columns: columns.map(asJson), output: null },
    artifacts: [{ title: "Rows", kind: "json", data: { columns: columns.map(asJson), rows, truncated } }],
  };
}

async function intoDataset(
  bench: Bench,
  job: SqlJob,
  output: Output,
  tables: readonly LakeTable[],
  maxRows: number | undefined,
): Promise<Done> {
  const { layer, dataset, partitionBy = [] } = output;
  const loadId = bench.run.id;
  const work = await bench.workFolder();
  const stamp = [
    { name: "_dlt_id", sql: `${quoteText(`${loadId}-`)} || row_number() OVER ()` },
    { name: "_dlt_load_id", sql: quoteText(loadId) },
  ];
  const limit = maxRows === undefined ? {} : { limit: maxRows };
  const made = await bench.sql.materialize(job, join(work, "rows"), { partitionBy, stamp, ...limit });
  const rows = made.files.reduce((sum, file) => sum + file.rows, 0);
  if (rows === maxRows) bench.log("warn", `The rows end at maxRows, ${maxRows}; there may be more.`);
  const columns = made.columns.map((c) => ({
    ...c,
    nullable: c.name !== "_dlt_id" && c.name !== "_dlt_load_id",
  }));

  const existing =
    tables.find((t) => t.layer === layer && t.dataset === dataset && t.table === dataset) ?? null;
  const change = await changeOf(bench, output, existing, columns, made.files);
  bench.progress({ phase: "store", current: 0, total: change.files.length, unit: "files" });
  const add: LakeFile[] = [];
  for (const file of change.files) {
    add.push(await bench.lake.place({ layer, dataset, table: dataset, loadId }, file));
    bench.progress({ phase: "store", current: add.length, total: change.files.length, unit: "files" });
  }
  const { inserted, updated, deduplicated, remove } = change;
  const bytes = add.reduce((sum, file) => sum + file.bytes, 0);
  bench.log(
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

interface Change {
  columns: Column[];
  files: SqlFile[];
  remove: TableChange["remove"];
  inserted: number;
  updated: number;
  deduplicated: number;
}

/** What the new rows do to the table as it is. */
async function changeOf(
  bench: Bench,
  output: Output,
  existing: LakeTable | null,
  columns: Column[],
  files: SqlFile[],
): Promise<Change> {
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const plain = { files, inserted: rows, updated: 0, deduplicated: 0 };
  if (output.writeDisposition === "replace") return { ...plain, columns, remove: "all" };
  const together = existing ? unite(existing, columns) : columns;
  if (output.writeDisposition === "append") return { ...plain, columns: together, remove: [] };

  const key = output.primaryKey ?? [];
  const missing = key.filter((k) => !columns.some((c) => c.name.toLowerCase() === k.toLowerCase()));
  if (key.length === 0 || missing.length > 0) {
    const message =
      missing.length > 0 ? `The SELECT has no column ${missing.join(", ")}` : "A merge needs a primaryKey";
    throw new AppError("definition_invalid", `${message}; the merge goes by primaryKey.`);
  }
  if (rows === 0) return { ...plain, columns: together, remove: [] };
  bench.progress({ phase: "merge" });
  return merge(bench, key, existing, together, files);
}

async function merge(
  bench: Bench,
  key: string[],
  table: LakeTable | null,
  columns: Column[],
  files: SqlFile[],
): Promise<Change> {
  const work = await bench.workFolder();
  const existing = await Promise.all(
    (table?.files ?? []).map(async ({ id, path, rows }) => ({
      id,
      rows,
      path: await bench.lake.localPath({ path }),
    })),
  );
  const session = await bench.sql.session({
    folders: [work],
    files: existing.map((file) => file.path),
    signal: bench.signal,
  });
  try {
    const incoming = files.map((file) => file.path);
    const out = join(work, "merged");
    const merged = await mergeFiles(session, {
      existing,
      incoming,
      columns,
      key,
      strategy: "delete_insert",
      out,
    });
    const { add, remove, inserted, updated, deduplicated } = merged;
    return { columns, files: add, remove, inserted, updated, deduplicated };
  } finally {
    await session.close();
  }
}

/**
 * The table's columns and the new ones together. Throws `schema_contract_violation` for a column whose two
 * types have none in common.
 */
function unite(table: LakeTable, columns: readonly Column[]): Column[] {
  const united = new Map(table.columns.map((column) => [column.name.toLowerCase(), column]));
  for (const column of columns) {
    const key = column.name.toLowerCase();
    const before = united.get(key);
    const dataType = before ? widen(before.dataType, column.dataType) : column.dataType;
    if (before && dataType === null) {
      throw new AppError(
        "schema_contract_violation",
        `Column ${before.name} of ${table.layer}.${table.dataset} is ${before.dataType}, and the SELECT has it as ${column.dataType}. Cast it, or write with replace.`,
        { details: { table: table.table, column: before.name, from: before.dataType, to: column.dataType } },
      );
    }
    united.set(key, {
      name: before?.name ?? column.name,
      dataType: dataType ?? column.dataType,
      nullable: before?.nullable ?? true,
    });
  }
  return [...united.values()];
}

const asJson = ({ name, dataType, nullable }: Column): JsonObject => ({ name, dataType, nullable });
