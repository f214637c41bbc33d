import { join } from "node:path";
import { desc, sql } from "drizzle-orm";
import { type App, type Context, write } from "../../context.ts";
import { type Batch, pickBatches, rewriteFiles } from "../../lake/compact.ts";
import type { LakeFile, LakeTable } from "../../lake/contract.ts";
import { commitCompaction, type Here } from "./commit.ts";
import { holdLoad } from "./hold.ts";
import { lakeTables } from "./table.ts";
import { readTables } from "./tables.ts";

/** Returns tables with too many small files for readers, worst first. */
export const crowdedTables = (app: App): Promise<Here[]> =>
  app.store.db
    .select({
      organizationId: lakeTables.organizationId,
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      tableName: lakeTables.tableName,
    })
    .from(lakeTables)
    .where(sql`${lakeTables.spareFiles} > 31`) // Matches the condition of the index.
    .orderBy(desc(lakeTables.spareFiles))
    .limit(20);

/**
 * Compacts small files of one table into fewer files with the same rows. Loads can continue.
 * If one rewrites the same files, it wins and `dataset_changed` is thrown.
 * Files of an interrupted compaction are never visible. Returns the number of files before and after.
 */
export async function compactTable(
  ctx: Context,
  { tableName: name, ...dataset }: Here,
  signal: AbortSignal,
): Promise<{ before: number; after: number }> {
  const [table] = await readTables(ctx.db, { ...dataset, table: name });
  return table ? rewrite(ctx, dataset.organizationId, table, pickBatches(table.files), signal) : NOTHING;
}

/**
 * Rewrites some files of a table, one by one, with all columns in the table's current types: the same rows. Throws as
 * `compactTable` does.
 */
export async function rewriteFilesOf(
  ctx: Context,
  { tableName: table, ...dataset }: Here,
  isWanted: (file: LakeFile) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const [found] = await readTables(ctx.db, { ...dataset, table });
  const files = found?.files.filter(isWanted) ?? [];
  const batches = files.map((file) => ({ part: file.part ?? null, files: [file] }));
  if (found) await rewrite(ctx, dataset.organizationId, found, batches, signal);
}

const NOTHING = { before: 0, after: 0 };

async function rewrite(
  ctx: Context,
  organizationId: string,
  { layer, dataset, table, columns }: LakeTable,
  batches: readonly Batch[],
  signal: AbortSignal,
): Promise<{ before: number; after: number }> {
  if (batches.length === 0) return NOTHING;
  const place = { organizationId, layer, dataset };
  const loadId = ctx.ids.uuid();
  await using hold = holdLoad(ctx, loadId);
  const work = await ctx.lake.workFolder(loadId);
  try {
    const paths = await Promise.all(
      batches.map(({ files }) => Promise.all(files.map((file) => ctx.lake.localPath(file)))),
    );
    const session = await ctx.sql.session({ folders: [work.path], files: paths.flat(), signal });
    const add: LakeFile[] = [];
    try {
      for (const [index, { files, part }] of batches.entries()) {
        const out = join(work.path, `batch-${index}`);
        const written = await rewriteFiles(session, { files, paths: paths[index] ?? [], columns, out });
        for (const file of written)
          add.push(await ctx.lake.add({ ...place, table, loadId }, { ...file, part }));
      }
    } finally {
      await session.close();
    }
    const remove = batches.flatMap(({ files }) => files.map((file) => file.id));
    hold.check();
    await write(ctx, (tx) => commitCompaction(tx, { ...place, tableName: table }, { add, remove }));
    return { before: remove.length, after: add.length };
  } finally {
    await work.dispose();
  }
}
