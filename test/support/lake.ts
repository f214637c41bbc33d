import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Context, write } from "../../src/context.ts";
import type { CursorState, LakeLoad } from "../../src/lake/contract.ts";
import { commitLoad } from "../../src/resources/datasets/commit.ts";
import { readTables } from "../../src/resources/datasets/tables.ts";

interface NewTable {
  layer: string;
  dataset: string;
  table: string;
  /** The rows, as SQL. */
  select: string;
  cursors?: Record<string, CursorState>;
  ownerId?: string;
}

/** Appends rows to a lake table like a run: a Parquet file, added and committed. Returns its path. */
export async function loadTable(ctx: Context, load: NewTable): Promise<string> {
  const { layer, dataset, table, select, cursors, ownerId = "" } = load;
  const loadId = ctx.ids.uuid();
  const work = await ctx.lake.workFolder(loadId);
  const into = join(work.path, "rows");
  mkdirSync(into);
  const { files, columns } = await ctx.sql.materialize({ tables: [], sql: select }, into);
  const place = { organizationId: ctx.organizationId, layer, dataset, table };
  const add = await Promise.all(files.map((file) => ctx.lake.add({ ...place, loadId }, file)));
  await work.dispose();
  const [before] = await readTables(ctx.db, place);
  const change = { table, columns, add, remove: [], baseVersion: before?.version ?? null };
  const whole: LakeLoad = { loadId, layer, dataset, tables: [change], ...(cursors ? { cursors } : {}) };
  await write(ctx, (tx) => commitLoad(tx, loadId, ownerId, whole));
  return add[0]?.path ?? "";
}
