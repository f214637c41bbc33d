import { join } from "node:path";
import { desc, sql } from "drizzle-orm";
import { type App, type Context, write } from "../../context.ts";
import { pickBatches, rewriteFiles } from "../../lake/compact.ts";
import type { LakeFile } from "../../lake/contract.ts";
import { commitCompaction, type Here } from "./commit.ts";
import { holdLoad } from "./hold.ts";
import { lakeTables } from "./table.ts";
import { readTables } from "./tables.ts";

/** Tables that have more small files than is good for those who open them, the worst first. */
export const crowdedTables = (app: App): Promise<Here[]> =>
  app.store.db
    .select({
      organizationId: lakeTables.organizationId,
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      tableName: lakeTables.tableName,
    })
    .from(lakeTables)
    .where(sql`${lakeTables.spareFiles} > 31`) // as the index has it
    .orderBy(desc(lakeTables.spareFiles))
    .limit(20);

/**
 * Puts small files of one table together: the same rows in fewer files. Loads may go on meanwhile; one that rewrites
 * the same files wins, and `dataset_changed` is thrown. What an interrupted one leaves behind is seen by nobody.
 * Gives back how many files became how many.
 */
export async function compactTable(
  ctx: Context,
  { tableName: name, ...dataset }: Here,
  signal: AbortSignal,
): Promise<{ before: number; after: number }> {
  const [table] = await readTables(ctx.db, { ...dataset, table: name });
  const batches = table ? pickBatches(table.files) : [];
  if (!table || batches.length === 0) return { before: 0, after: 0 };
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
        const { columns } = table;
        const written = await rewriteFiles(session, { files, paths: paths[index] ?? [], columns, out });
        for (const file of written)
          add.push(await ctx.lake.add({ ...dataset, table: name, loadId }, { ...file, part }));
      }
    } finally {
      await session.close();
    }
    const remove = batches.flatMap(({ files }) => files.map((file) => file.id));
    hold.check();
    await write(ctx, (tx) => commitCompaction(tx, { ...dataset, tableName: name }, { add, remove }));
    return { before: remove.length, after: add.length };
  } finally {
    await work.dispose();
  }
}
