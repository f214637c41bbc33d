import { and, asc, eq, isNotNull, isNull, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { invalid, notFound } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { asJson } from "../../executors/transform/work.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { sqlName, sqlTables } from "../../lake/views.ts";
import type { SqlRows } from "../../sql/contract.ts";
import { quoteName } from "../../sql/text.ts";
import { totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { record } from "../events/service.ts";
import { syncCopies, syncTables } from "../sync/table.ts";
import { lakeFiles, lakeSchemas, lakeSnapshots, lakeTables } from "./table.ts";
import { readTables } from "./tables.ts";
import type { Dataset, DatasetQuery, DatasetRef, PreviewQuery } from "./wire.ts";

/** Returns one page of the organization's datasets, by layer and name. */
export async function listDatasets(
  ctx: Context,
  { layer, q, limit, offset }: DatasetQuery,
): Promise<{ datasets: Dataset[]; total: number }> {
  const mine = eq(lakeTables.organizationId, ctx.organizationId);
  const found = ctx.db
    .select({ layer: lakeTables.layer, dataset: lakeTables.dataset })
    .from(lakeTables)
    .where(
      and(
        mine,
        layer === undefined ? undefined : eq(lakeTables.layer, layer),
        q === undefined ? undefined : contains(q, lakeTables.dataset, lakeTables.tableName),
      ),
    )
    .groupBy(lakeTables.layer, lakeTables.dataset);
  const all = found.as("found");
  const page = await found
    .orderBy(asc(lakeTables.layer), asc(lakeTables.dataset))
    .limit(limit)
    .offset(offset);
  const total = await totalOf({ limit, offset }, page, () => ctx.db.$count(all));
  if (page.length === 0) return { datasets: [], total };

  const refs = page.map((ref) => and(eq(lakeTables.layer, ref.layer), eq(lakeTables.dataset, ref.dataset)));
  const tables = await ctx.db
    .select()
    .from(lakeTables)
    .where(and(mine, or(...refs)))
    .orderBy(asc(lakeTables.tableName));
  const datasets = page.map(({ layer, dataset }) => {
    const own = tables.filter((table) => table.layer === layer && table.dataset === dataset);
    return {
      layer,
      dataset,
      tables: own.map(({ tableName, rows, bytes, files, columns }) => ({
        name: tableName,
        rows,
        bytes,
        files,
        columns: columns.map(asJson),
      })),
      updatedAt:
        own
          .map((table) => table.updatedAt)
          .sort()
          .at(-1) ?? "",
    };
  });
  return { datasets, total };
}

/**
 * Returns a table of a dataset: the named one, otherwise the one with the dataset's name, or the only one. Throws
 * `not_found`, and `invalid` if there are several and none is named.
 */
export async function pickTable(ctx: Context, ref: DatasetRef, name: string | undefined): Promise<LakeTable> {
  const tables = await readTables(ctx.db, { organizationId: ctx.organizationId, ...ref });
  if (tables.length === 0) throw notFound("dataset");
  const only = tables.length === 1 ? tables[0] : undefined;
  const table =
    name === undefined
      ? (tables.find((each) => each.table === ref.dataset) ?? only)
      : tables.find((each) => each.table === name);
  if (!table && name !== undefined) throw notFound("table");
  if (!table) {
    const names = tables.map((each) => each.table).join(", ");
    throw invalid(["query", "table"], `This dataset has several tables. Use one of ${names}`, "missing");
  }
  return table;
}

/** Returns the first rows of a table. Throws as `pickTable` does. */
export async function previewDataset(
  ctx: Context,
  ref: DatasetRef,
  { table: name, limit }: PreviewQuery,
  signal: AbortSignal,
): Promise<SqlRows> {
  const table = await pickTable(ctx, ref, name);
  const from = `${quoteName(table.layer)}.${quoteName(sqlName(table))}`;
  const { organizationId } = ctx;
  const visible = await sqlTables(ctx.lake, [table]);
  const sql = `SELECT * FROM ${from} LIMIT ${limit}`;
  return ctx.sql.query({ tables: visible, sql, organizationId, signal }, limit);
}

/**
 * Deletes a dataset with all its tables. Its files stay for a while for current readers.
 * The cursors of the extracts that filled it are kept: only resetting an action's state changes those.
 */
export async function deleteDataset(ctx: Context, { layer, dataset }: DatasetRef): Promise<void> {
  await write(ctx, async (tx) => {
    const gone = await tx.db
      .delete(lakeTables)
      .where(
        and(
          eq(lakeTables.organizationId, tx.organizationId),
          eq(lakeTables.layer, layer),
          eq(lakeTables.dataset, dataset),
        ),
      )
      .returning({ name: lakeTables.tableName, rows: lakeTables.rows, bytes: lakeTables.bytes });
    if (gone.length === 0) throw notFound("dataset");
    const files = and(
      eq(lakeFiles.organizationId, tx.organizationId),
      eq(lakeFiles.layer, layer),
      eq(lakeFiles.dataset, dataset),
    );
    const at = timestamp(tx.clock);
    await tx.db
      .update(lakeFiles)
      .set({ removedAt: at })
      .where(and(files, isNull(lakeFiles.removedAt)));
    // Deleted data can't be read from the past either, and a sync that filled it starts over.
    await tx.db
      .update(lakeFiles)
      .set({ removedSeq: null, removedSnapshot: null })
      .where(and(files, isNotNull(lakeFiles.removedSeq)));
    for (const table of [lakeSchemas, lakeSnapshots, syncTables, syncCopies]) {
      await tx.db
        .delete(table)
        .where(
          and(
            eq(table.organizationId, tx.organizationId),
            eq(table.layer, layer),
            eq(table.dataset, dataset),
          ),
        );
    }
    await record(
      tx,
      "dataset.deleted",
      { type: "dataset", id: `${layer}.${dataset}` },
      {
        layer,
        dataset,
        tables: gone.map((table) => table.name),
        rows: gone.reduce((sum, table) => sum + table.rows, 0),
        bytes: gone.reduce((sum, table) => sum + table.bytes, 0),
      },
    );
  });
}
