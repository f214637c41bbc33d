import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Exact, readExact } from "./parquet.ts";

/** A row of a lake table, with the types of its file. */
export interface LakeRow {
  types: ReadonlyMap<string, string>;
  values: Record<string, Exact>;
}

export type LakeTables = ReadonlyMap<string, LakeRow[]>;

/** All rows of a dataset's tables from its Parquet files. The database only says which files are live. */
export async function readLake(dataFolder: string, layer: string, dataset: string): Promise<LakeTables> {
  const tables = new Map<string, LakeRow[]>();
  for (const { table, path } of filesOf(dataFolder, layer, dataset)) {
    const { columns, rows } = await readExact(join(dataFolder, "lake", path));
    const types = new Map(columns.map(({ name, type }) => [name, type]));
    const all = tables.get(table) ?? [];
    for (const values of rows) all.push({ types, values });
    tables.set(table, all);
  }
  return tables;
}

function filesOf(dataFolder: string, layer: string, dataset: string): { table: string; path: string }[] {
  const db = new Database(join(dataFolder, "weir.db"), { readonly: true });
  try {
    return db
      .query<{ table: string; path: string }, [string, string]>(
        `SELECT table_name AS "table", path FROM lake_files WHERE layer = ? AND dataset = ? AND removed_at IS NULL ORDER BY path`,
      )
      .all(layer, dataset);
  } finally {
    db.close();
  }
}
