import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Context, write } from "../../src/context.ts";
import type { CursorState, LakeLoad } from "../../src/lake/contract.ts";
import { commitLoad } from "../../src/resources/datasets/commit.ts";
import { readTables } from "../../src/resources/datasets/tables.ts";
import type { SqlFile } from "../../src/sql/contract.ts";

interface NewTable {
  layer: string;
  dataset: string;
  table: string;
  /** The rows, as SQL. */
  select: string;
  cursors?: Record<string, CursorState>;
  ownerId?: string;
}

type Rows = Awaited<ReturnType<Context["sql"]["materialize"]>>;

/** Rows that were made before, by their SQL, as each takes a process of DuckDB. */
const made = new Map<string, { columns: Rows["columns"]; files: { file: SqlFile; bytes: Uint8Array }[] }>();
const MAX_KEPT_BYTES = 64 * 1024;

async function rowsOf(ctx: Context, select: string, into: string): Promise<Pick<Rows, "columns" | "files">> {
  const known = made.get(select);
  if (known === undefined) {
    const { columns, files } = await ctx.sql.materialize({ tables: [], sql: select }, into);
    const kept = files.map((file) => ({ file, bytes: readFileSync(file.path) }));
    if (kept.reduce((sum, { bytes }) => sum + bytes.length, 0) <= MAX_KEPT_BYTES)
      made.set(select, { columns, files: kept });
    return { columns, files };
  }
  const files = known.files.map(({ file, bytes }) => {
    const path = join(into, basename(file.path));
    writeFileSync(path, bytes);
    return { ...file, path };
  });
  return { columns: known.columns, files };
}

/** Appends rows to a lake table like a run: a Parquet file, added and committed. Returns its path. */
export async function loadTable(ctx: Context, load: NewTable): Promise<string> {
  const { layer, dataset, table, select, cursors, ownerId = "" } = load;
  const loadId = ctx.ids.uuid();
  const work = await ctx.lake.workFolder(loadId);
  const into = join(work.path, "rows");
  mkdirSync(into);
  const { files, columns } = await rowsOf(ctx, select, into);
  const place = { organizationId: ctx.organizationId, layer, dataset, table };
  const add = await Promise.all(files.map((file) => ctx.lake.add({ ...place, loadId }, file)));
  await work.dispose();
  const [before] = await readTables(ctx.db, place);
  const change = { table, columns, add, remove: [], baseVersion: before?.version ?? null };
  const whole: LakeLoad = { loadId, layer, dataset, tables: [change], ...(cursors ? { cursors } : {}) };
  await write(ctx, (tx) => commitLoad(tx, loadId, ownerId, whole));
  return add[0]?.path ?? "";
}
