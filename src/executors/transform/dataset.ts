import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { LakeFile, LakeTable } from "../../lake/contract.ts";
import { sqlName } from "../../lake/views.ts";
import type { SqlFile, SqlJob, SqlTable } from "../../sql/contract.ts";
import { quoteText } from "../../sql/text.ts";
import type { Done } from "../contract.ts";
import { type Change, changeOf, type Output } from "./change.ts";
import { asJson, endWarnings, laterRowsWon, logged, newRows, rowsOf, testRows, type Work } from "./work.ts";

/** Each partition is at least one file, and every reader of the table has to open it. */
const MAX_PARTITIONS = 1_000;

export async function intoDataset(work: Work, job: SqlJob, output: Output): Promise<Done> {
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
  const isOutput = (t: LakeTable) => t.layer === layer && t.dataset === dataset && t.table === dataset;
  const existing = tables.find(isOutput) ?? null;
  const table = output.writeDisposition === "replace" ? [] : (existing?.columns ?? []);
  const made = await ctx.sql.materialize(job, join(folder, "rows"), { partitionBy, stamp, table, ...limit });
  const rows = rowsOf(made);
  const warnings = [...logged(ctx, made.warnings), ...endWarnings(ctx, rows, maxRows)];
  const columns = made.columns.map((c) => ({
    ...c,
    nullable: c.name !== "_dlt_id" && c.name !== "_dlt_load_id",
  }));
  const partitions = new Set(made.files.map((file) => partOf(file, partitionBy))).size;
  if (partitions > MAX_PARTITIONS) {
    throw new AppError(
      "definition_invalid",
      `partitionBy makes ${partitions} partitions; at most ${MAX_PARTITIONS} are allowed, so that reading stays fast.`,
    );
  }

  const change = await changeOf(ctx, output, existing, columns, made.files);
  const others = tables.filter((table) => !isOutput(table));
  await testRows(work, others, [newRows(made), await afterwards(work, output, existing, change)]);

  ctx.progress({ phase: "store", current: 0, total: change.files.length, unit: "files" });
  const add: LakeFile[] = [];
  for (const file of change.files) {
    const stored = { ...file, part: partOf(file, partitionBy) };
    const placed = await ctx.lake.add({ layer, dataset, table: dataset, loadId }, stored);
    add.push(change.isMixed ? { ...placed, isMixed: true } : placed);
    ctx.progress({ phase: "store", current: add.length, total: change.files.length, unit: "files" });
  }
  const { inserted, updated, deduplicated, remove } = change;
  if (deduplicated > 0) warnings.push(laterRowsWon(deduplicated));
  const bytes = add.reduce((sum, file) => sum + file.bytes, 0);
  ctx.log(
    "info",
    `${layer}.${dataset}: ${inserted} inserted, ${updated} updated, ${deduplicated} deduplicated.`,
  );
  const result = { rows, columns: columns.map(asJson), output: { layer, dataset, files: add.length, bytes } };
  return {
    result: warnings.length > 0 ? { ...result, warnings } : result,
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

/** The partition of a file: the folders in its path, `COLUMN=VALUE`. */
const partOf = ({ path }: SqlFile, { length }: readonly string[]): string | null =>
  length === 0
    ? null
    : path
        .split("/")
        .slice(-1 - length, -1)
        .join("/");

/** The table after the load. */
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
