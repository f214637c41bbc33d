import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { parquet, quoteName, quoteText, scanOf } from "../sql/text.ts";
import { countOf, type ExistingFile, pathsOf, sameKey, writeIds, writeRows } from "./merge.ts";
import { ZONED } from "./readings.ts";

const PATH_COLUMN = "__weir_path";
const DELETED = quoteName("_dlt_deleted_at");

/**
 * Deletes the rows whose keys are not in the file `keys`, or marks them with `_dlt_deleted_at`. Removes the mark if
 * the key is there again. Rows with NULL in their key stay. Rewrites only files with affected rows.
 *
 * Throws `too_many_deletes` if `keys` is empty although there are rows, or if more than `maxPercent` of them would
 * be deleted.
 */
export async function deleteRows(
  session: SqlSession,
  deletion: {
    table: string;
    existing: readonly ExistingFile[];
    /** The table's files before the load. Its new rows don't count towards `maxPercent`. */
    former: readonly ExistingFile[];
    /** All of the table's columns, with `_dlt_deleted_at` if rows are marked. */
    columns: readonly Column[];
    key: readonly string[];
    /** Columns that show whether a row has a key. */
    known: readonly string[];
    /** A Parquet file with the key columns in the table's types. */
    keys: string;
    isHard: boolean;
    /** The time to mark rows with, in ISO 8601. */
    at: string;
    maxPercent: number;
    out: string;
    /** A file to write: Parquet with the one column `_dlt_id`, the deleted rows. */
    goneIds: string;
  },
): Promise<{ add: SqlFile[]; remove: string[]; deleted: number }> {
  const { table, existing, columns, key, isHard, maxPercent } = deletion;
  if (existing.length === 0) return { add: [], remove: [], deleted: 0 };
  const isMarked = columns.some(({ name }) => quoteName(name) === DELETED);
  const scan = scanOf(pathsOf(existing), columns, { pathColumn: PATH_COLUMN });
  const known = deletion.known.map((name) => `t.${quoteName(name)} IS NOT NULL`).join(" AND ");
  const lives = isMarked ? `t.${DELETED} IS NULL` : "true";
  const keys = parquet([deletion.keys]);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE weir_gone AS SELECT t."_dlt_id" AS id, t.${PATH_COLUMN} AS path, false AS is_back FROM (${scan}) t ANTI JOIN ${keys} k ON ${sameKey(key, "t", "k")} WHERE ${known} AND ${lives}`,
  );
  const deleted = await countOf(session, "SELECT count(*) FROM weir_gone");
  if (deleted > 0) {
    const former = scanOf(pathsOf(deletion.former), columns);
    const rows = await countOf(session, `SELECT count(*) FROM (${former}) t WHERE ${known} AND ${lives}`);
    const left = await countOf(session, `SELECT count(*) FROM ${keys}`);
    checkCount({ table, deleted, rows, left, maxPercent });
  }
  if (!isHard && isMarked) {
    await session.run(
      `INSERT INTO weir_gone SELECT t."_dlt_id", t.${PATH_COLUMN}, true FROM (${scan}) t SEMI JOIN ${keys} k ON ${sameKey(key, "t", "k")} WHERE ${known} AND NOT (${lives})`,
    );
  }
  const paths = await session.run("SELECT DISTINCT path FROM weir_gone");
  const touched = existing.filter((file) => paths.some(({ path }) => path === file.path));
  const old = scanOf(pathsOf(touched), columns);
  const deletedValue = `CASE WHEN g.is_back THEN NULL WHEN g.id IS NOT NULL THEN CAST(${quoteText(deletion.at)} AS ${ZONED}) ELSE t.${DELETED} END AS ${DELETED}`;
  const values = columns.map(({ name }) =>
    quoteName(name) === DELETED ? deletedValue : `t.${quoteName(name)}`,
  );
  const left = isHard
    ? `SELECT t.* FROM (${old}) t ANTI JOIN weir_gone g ON t."_dlt_id" = g.id`
    : `SELECT ${values.join(", ")} FROM (${old}) t LEFT JOIN weir_gone g ON t."_dlt_id" = g.id`;
  const add = touched.length === 0 ? [] : await writeRows(session, left, deletion.out);
  if (isHard) await writeIds(session, 'SELECT id AS "_dlt_id" FROM weir_gone', deletion.goneIds);
  await session.run("DROP TABLE weir_gone");
  return { add, remove: touched.map(({ id }) => id), deleted };
}

/** A lost permission or a changed filter looks exactly like deleted rows. */
function checkCount(counts: {
  table: string;
  deleted: number;
  rows: number;
  left: number;
  maxPercent: number;
}): void {
  const { table, deleted, rows, left, maxPercent } = counts;
  if (left > 0 && deleted <= (rows * maxPercent) / 100) return;
  throw new AppError(
    "too_many_deletes",
    left === 0
      ? `The source no longer has rows of ${table}, but the table has ${rows}. Nothing was loaded. Check the source's permissions and the condition, or replace the table.`
      : `${deleted} of the ${rows} rows of ${table} are gone from the source, more than ${maxPercent} per cent. Nothing was loaded: check the source's rights and the condition, or raise maxDelete.`,
    { details: { table, deleted, rows, maxDelete: maxPercent } },
  );
}
