import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { LakeTable, TableChange } from "../../lake/contract.ts";
import { isMixed } from "../../lake/iceberg/fields.ts";
import { mergeFiles } from "../../lake/merge.ts";
import { sqlName } from "../../lake/views.ts";
import { LOAD_COLUMNS } from "../../sql/column-names.ts";
import type { Column, SqlFile } from "../../sql/contract.ts";
import type { RunContext } from "../contract.ts";
import { commonType } from "../extract/types.ts";

/** Where rows are written, and what happens to existing ones. */
export interface Output {
  layer: string;
  dataset: string;
  writeDisposition: "replace" | "append" | "merge";
  primaryKey?: string[];
  partitionBy?: string[];
}

/** What a transform changes in its table. */
export interface Change {
  columns: Column[];
  files: SqlFile[];
  /** Whether `files` have a column in a type that other engines can't read as the table's. */
  isMixed: boolean;
  remove: TableChange["remove"];
  inserted: number;
  updated: number;
  deduplicated: number;
}

/** Returns how the new rows change the existing table. Throws `definition_invalid`, and `schema_contract_violation`. */
export async function changeOf(
  ctx: RunContext,
  output: Output,
  existing: LakeTable | null,
  columns: Column[],
  files: SqlFile[],
): Promise<Change> {
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const plain = { files, isMixed: false, inserted: rows, updated: 0, deduplicated: 0 };
  if (output.writeDisposition === "replace") return { ...plain, columns, remove: "all" };
  const together = existing ? unite(existing, columns) : columns;
  if (output.writeDisposition === "append")
    return { ...plain, columns: together, isMixed: isMixed(columns, together), remove: [] };

  const key = output.primaryKey ?? [];
  const missing = key.filter((k) => !columns.some((c) => c.name.toLowerCase() === k.toLowerCase()));
  if (key.length === 0 || missing.length > 0) {
    const message =
      missing.length > 0 ? `The SELECT has no column ${missing.join(", ")}` : "A merge needs a primaryKey";
    throw new AppError("definition_invalid", `${message}; the merge goes by primaryKey.`);
  }
  if (rows === 0) return { ...plain, columns: together, remove: [] };
  ctx.progress({ phase: "merge" });
  return merge(ctx, { ...output, primaryKey: key }, existing, together, files);
}

async function merge(
  ctx: RunContext,
  { primaryKey: key = [], partitionBy = [] }: Output,
  table: LakeTable | null,
  columns: Column[],
  files: SqlFile[],
): Promise<Change> {
  const work = await ctx.workFolder();
  const existing = await Promise.all(
    (table?.files ?? []).map(async ({ id, path, rows }) => ({
      id,
      rows,
      path: await ctx.lake.localPath({ path }),
    })),
  );
  const session = await ctx.sql.session({
    folders: [work],
    files: existing.map((file) => file.path),
    signal: ctx.signal,
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
      partitionBy,
      out,
    });
    const { add, remove, inserted, updated, deduplicated } = merged;
    return { columns, files: add, isMixed: false, remove, inserted, updated, deduplicated };
  } finally {
    await session.close();
  }
}

/** The combined columns of the table and the new rows. Throws `schema_contract_violation` for incompatible types. */
export function unite(table: LakeTable, columns: readonly Column[], source = "the SELECT"): Column[] {
  const united = new Map(table.columns.map((column) => [column.name.toLowerCase(), column]));
  for (const column of columns) {
    const key = column.name.toLowerCase();
    const before = united.get(key);
    const dataType = before ? commonType(before.dataType, column.dataType) : column.dataType;
    if (before && dataType === null && LOAD_COLUMNS.includes(key)) {
      const at = `${table.layer}.${sqlName(table)}`;
      throw new AppError(
        "schema_contract_violation",
        `Column ${key} of ${at} is ${before.dataType}, from a load that took it from its data, and each row needs its own. Write the table once with replace, for example the rows of SELECT * FROM ${at}. Then rows can be added.`,
        { details: { table: table.table, column: before.name, from: before.dataType, to: column.dataType } },
      );
    }
    if (before && dataType === null) {
      throw new AppError(
        "schema_contract_violation",
        `Column ${before.name} of ${table.layer}.${table.dataset} is ${before.dataType}, and ${source} has it as ${column.dataType}. Cast it, or write with replace.`,
        { details: { table: table.table, column: before.name, from: before.dataType, to: column.dataType } },
      );
    }
    united.set(key, { ...column, nullable: true, ...before, dataType: dataType ?? column.dataType });
  }
  return [...united.values()];
}
