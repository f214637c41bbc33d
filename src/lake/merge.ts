import { join } from "node:path";
import type { Json } from "../base/json.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { copyInto, type Layout, parquet, quoteName, quoteText, scanOf } from "../sql/text.ts";

/** A file that is already in the table; `path` is absolute. */
export interface ExistingFile {
  id: string;
  path: string;
  rows: number;
}

export interface Rewrite {
  existing: readonly ExistingFile[];
  /** Absolute paths of Parquet files with the new rows, in the order in which they were read. */
  incoming: readonly string[];
  /** The table's columns after the load. Each file written has all of them, in these types. */
  columns: readonly Column[];
  /** A new or empty folder, below one that the session may write to. */
  out: string;
  /**
   * A file to write, Parquet with the one column `_dlt_id`: the IDs of all rows removed, both replaced ones and
   * duplicates in `incoming`. Pass it to `pruneFiles` for child tables.
   */
  goneIds?: string;
}

export interface Rewritten {
  add: SqlFile[];
  /** IDs of the existing files that `add` replaces. */
  remove: string[];
  /** Number of rows with new keys. */
  inserted: number;
  /** Number of rows removed and not replaced. */
  deleted: number;
}

/** The row count of a statement, which DuckDB keeps itself. */
export const countOf = async (session: SqlSession, sql: string): Promise<number> => {
  const [row] = await session.run(sql);
  return Number(Object.values(row ?? {})[0] ?? 0);
};

export const namesOf = (columns: readonly Column[]) => columns.map((c) => quoteName(c.name)).join(", ");

/** Rows whose keys are both NULL count as equal, so that loading them again adds nothing. */
export const sameKey = (key: readonly string[], left: string, right: string) =>
  key.map((k) => `${left}.${quoteName(k)} IS NOT DISTINCT FROM ${right}.${quoteName(k)}`).join(" AND ");

const PATH_COLUMN = "__weir_path";
export const ROW_COLUMN = "__weir_row";

/**
 * Merges new rows into a table, file by file. Rewrites only files that hold a replaced key.
 *
 * Both strategies replace every existing row of the same key. For columns missing from `incoming`, or from a row of it
 * (`lacks`), `upsert` keeps the old values and `delete_insert` sets NULL. Of several new rows with one key, the first
 * in the order `dedupeBy` is kept (an ORDER BY text over the columns, such as `"updated_at" DESC NULLS LAST`); without
 * it, the one read last. The session must have permission to read all files and to write to `out`. Doesn't change the
 * lake itself. Throws `sql_error`.
 *
 * Invariant: rows of `incoming` = inserted + updated + deduplicated.
 */
export async function mergeFiles(
  session: SqlSession,
  merge: Rewrite & {
    key: readonly string[];
    strategy: "delete_insert" | "upsert";
    dedupeBy?: string;
    /** For `upsert`, by column: another column of `incoming` that is true for rows without the former. */
    lacks?: ReadonlyMap<string, string>;
    /** Each file written holds rows of one value of these columns only. */
    partitionBy?: readonly string[];
  },
): Promise<Rewritten & { updated: number; deduplicated: number }> {
  const { existing, incoming, columns, key, strategy, out, dedupeBy, goneIds, partitionBy } = merge;
  const keys = key.map(quoteName).join(", ");
  const flags = [...new Set(merge.lacks?.values())].map((name) => ({
    name,
    dataType: "BOOLEAN",
    nullable: true,
  }));
  const fresh = scanOf(incoming, [...columns, ...flags]);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE weir_keys AS SELECT ${keys}, count(*) AS n FROM (${fresh}) GROUP BY ${keys}`,
  );
  const distinct = await countOf(session, "SELECT count(*) FROM weir_keys");
  const read = await countOf(session, "SELECT coalesce(sum(n), 0) FROM weir_keys");

  const touched = await touchedFiles(
    session,
    existing,
    columns,
    `SEMI JOIN weir_keys k ON ${sameKey(key, "t", "k")}`,
  );
  const old = scanOf(pathsOf(touched.files), columns);
  const updated =
    touched.files.length === 0
      ? 0
      : await countOf(
          session,
          `SELECT count(*) FROM weir_keys k SEMI JOIN (${old}) t ON ${sameKey(key, "t", "k")}`,
        );

  const rank = `QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY ${dedupeBy ? `${dedupeBy}, ` : ""}${ROW_COLUMN} DESC)`;
  const numbered = `SELECT *, row_number() OVER () AS ${ROW_COLUMN} FROM (${fresh})`;
  const winners =
    distinct === read ? fresh : `SELECT ${namesOf([...columns, ...flags])} FROM (${numbered}) ${rank} = 1`;
  const complete = strategy === "upsert" ? await keepOldValues(session, merge, winners, old) : winners;
  const kept = `SELECT t.* FROM (${old}) t ANTI JOIN weir_keys k ON ${sameKey(key, "t", "k")}`;

  if (goneIds) {
    const replaced = `SELECT "_dlt_id" FROM (${old}) t SEMI JOIN weir_keys k ON ${sameKey(key, "t", "k")}`;
    const losers = distinct === read ? "" : ` UNION ALL SELECT "_dlt_id" FROM (${numbered}) ${rank} > 1`;
    await writeIds(session, `${replaced}${losers}`, goneIds);
  }
  const add = await writeRows(
    session,
    touched.files.length === 0 ? complete : `${kept} UNION ALL ${complete}`,
    out,
    { partitionBy },
  );
  await session.run("DROP TABLE weir_keys");
  return {
    add,
    remove: touched.files.map((file) => file.id),
    inserted: distinct - updated,
    updated,
    deleted: touched.rows - updated,
    deduplicated: read - distinct,
  };
}

/**
 * Removes the rows of a child table whose `column` (such as `_dlt_parent_id`) is among the IDs in the file `ids`,
 * and adds those of `incoming` whose parents stay. Rewrites only files that hold such rows.
 */
export async function pruneFiles(
  session: SqlSession,
  prune: Rewrite & { column: string; ids: string },
): Promise<Rewritten> {
  const { existing, incoming, columns, out, column, goneIds } = prune;
  const gone = `SELECT "_dlt_id" AS id FROM ${parquet([prune.ids])}`;
  const match = `(${gone}) g ON t.${quoteName(column)} = g.id`;
  const touched = await touchedFiles(session, existing, columns, `SEMI JOIN ${match}`);
  const all = `${scanOf(pathsOf(touched.files), columns)} UNION ALL ${scanOf(incoming, columns)}`;
  const inserted =
    incoming.length === 0
      ? 0
      : await countOf(session, `SELECT count(*) FROM (${scanOf(incoming, columns)}) t ANTI JOIN ${match}`);
  if (goneIds) await writeIds(session, `SELECT t."_dlt_id" FROM (${all}) t SEMI JOIN ${match}`, goneIds);
  const add = await writeRows(session, `SELECT t.* FROM (${all}) t ANTI JOIN ${match}`, out);
  return { add, remove: touched.files.map((file) => file.id), inserted, deleted: touched.rows };
}

export const pathsOf = (files: readonly ExistingFile[]) => files.map((file) => file.path);

/** Existing files with rows that match `join`, and their number of such rows. */
export async function touchedFiles(
  session: SqlSession,
  existing: readonly ExistingFile[],
  columns: readonly Column[],
  join: string,
): Promise<{ files: ExistingFile[]; rows: number }> {
  if (existing.length === 0) return { files: [], rows: 0 };
  const scan = scanOf(pathsOf(existing), columns, { pathColumn: PATH_COLUMN });
  const found = await session.run(
    `SELECT t.${PATH_COLUMN} AS path, count(*) AS n FROM (${scan}) t ${join} GROUP BY ALL`,
  );
  const hits = new Map(found.map((row) => [String(row.path), Number(row.n)]));
  return {
    files: existing.filter((file) => hits.has(file.path)),
    rows: [...hits.values()].reduce((sum, n) => sum + n, 0),
  };
}

/** The new rows, with the old rows' values in columns that they lack. */
async function keepOldValues(
  session: SqlSession,
  merge: {
    incoming: readonly string[];
    columns: readonly Column[];
    key: readonly string[];
    lacks?: ReadonlyMap<string, string>;
  },
  winners: string,
  old: string,
): Promise<string> {
  if (merge.incoming.length === 0) return winners;
  const incoming = await session.run(`DESCRIBE SELECT * FROM ${parquet(merge.incoming)}`);
  const known = new Set(incoming.map((row) => String(row.column_name).toLowerCase()));
  const { lacks } = merge;
  if (!lacks?.size && merge.columns.every((c) => known.has(c.name.toLowerCase()))) return winners;
  const keys = merge.key.map(quoteName).join(", ");
  const picked = merge.columns.map((c) => {
    const name = quoteName(c.name);
    const flag = lacks?.get(c.name);
    if (flag) return `CASE WHEN n.${quoteName(flag)} THEN o.${name} ELSE n.${name} END AS ${name}`;
    return `${known.has(c.name.toLowerCase()) ? "n" : "o"}.${name}`;
  });
  return `SELECT ${picked.join(", ")} FROM (${winners}) n LEFT JOIN (SELECT DISTINCT ON (${keys}) * FROM (${old})) o ON ${sameKey(merge.key, "n", "o")}`;
}

export const writeIds = (session: SqlSession, select: string, path: string): Promise<unknown> =>
  session.run(`COPY (${select}) TO ${quoteText(path)} (FORMAT parquet)`);

/** Writes the rows as Parquet files below `out`. No rows, no files. */
export async function writeRows(
  session: SqlSession,
  select: string,
  out: string,
  layout: Layout = {},
): Promise<SqlFile[]> {
  const rows = await session.run(copyInto(select, out, layout));
  return rows.map(writtenFile(out)).filter((file) => file.rows > 0);
}

const writtenFile =
  (out: string) =>
  (row: Record<string, Json>): SqlFile => {
    const name = String(row.filename);
    return {
      path: name.startsWith("/") ? name : join(out, name),
      rows: Number(row.count),
      bytes: Number(row.file_size_bytes),
    };
  };
