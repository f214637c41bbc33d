import { AppError } from "../base/errors.ts";
import type { Column, SqlFile, SqlSession } from "../sql/contract.ts";
import { parquet, quoteName, quoteText, scanOf } from "../sql/text.ts";
import { countOf, type ExistingFile, pathsOf, sameKey, writeIds, writeRows } from "./merge.ts";
import { ZONED } from "./readings.ts";

const PATH_COLUMN = "__weir_path";
const DELETED = quoteName("_dlt_deleted_at");

/**
 * Takes out the rows whose keys are not in the file `keys`, or marks them with `_dlt_deleted_at`; a mark goes where the
 * key is there again. Rows that have a NULL in their key stay. Only files with such rows are written anew.
 *
 * Throws `too_many_deletes` where `keys` is empty although there are rows, or more than `maxPercent` of them are gone.
 */
export async function deleteRows(
  session: SqlSession,
  deletion: {
    table: string;
    existing: readonly ExistingFile[];
    /** All of the table's columns, `_dlt_deleted_at` too where rows are marked. */
    columns: readonly Column[];
    key: readonly string[];
    /** Columns that say whether a row has a key. */
    known: readonly string[];
    /** A Parquet file that has the key's columns in the table's types. */
    keys: string;
    isHard: boolean;
    /** What marks are set to, an ISO instant. */
    at: string;
    maxPercent: number;
    out: string;
    /** A file to write: Parquet with the one column `_dlt_id`, of the rows that were taken out. */
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
    const rows = await countOf(session, `SELECT count(*) FROM (${scan}) t WHERE ${known} AND ${lives}`);
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

/** A right that was lost, or another condition, looks just like rows that were deleted. */
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
