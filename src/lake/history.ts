import type { SqlSession } from "../sql/contract.ts";
import { quoteName, quoteText, scanOf } from "../sql/text.ts";
import {
  countOf,
  namesOf,
  pathsOf,
  type Rewrite,
  type Rewritten,
  ROW_COLUMN,
  sameKey,
  touchedFiles,
  writeIds,
  writeRows,
} from "./merge.ts";

interface Merged extends Rewritten {
  /** Number of keys whose row was replaced. */
  updated: number;
  /** Number of new rows left out, because they are unchanged or another row of their key was kept. */
  deduplicated: number;
}

interface Incoming extends Rewrite {
  key: readonly string[];
  /** Of several new rows with one key, the first in this order is kept. Default: the one read last. */
  dedupeBy?: string;
}

/** One row for each key, with its position among the new rows: a temporary table for the statements that follow. */
async function stageWinners(
  session: SqlSession,
  { incoming, columns, key, dedupeBy }: Incoming,
): Promise<number> {
  const fresh = scanOf(incoming, columns);
  const order = `${dedupeBy ? `${dedupeBy}, ` : ""}${ROW_COLUMN} DESC`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE weir_winners AS SELECT * FROM (SELECT *, row_number() OVER () AS ${ROW_COLUMN} FROM (${fresh})) QUALIFY row_number() OVER (PARTITION BY ${key.map(quoteName).join(", ")} ORDER BY ${order}) = 1`,
  );
  return countOf(session, `SELECT count(*) FROM (${fresh})`);
}

/** IDs of the new rows that are left out. */
const leftOut = ({ incoming, columns }: Incoming, kept: string): string =>
  `SELECT "_dlt_id" FROM (${scanOf(incoming, columns)}) t ANTI JOIN (${kept}) k ON t."_dlt_id" = k."_dlt_id"`;

/** Adds the rows whose keys the table doesn't have yet. Existing rows don't change. Throws `sql_error`. */
export async function insertNew(session: SqlSession, insert: Incoming): Promise<Merged> {
  const { existing, columns, key, out, goneIds } = insert;
  const read = await stageWinners(session, insert);
  const known = scanOf(pathsOf(existing), columns);
  const added = `SELECT ${namesOf(columns)} FROM weir_winners w ANTI JOIN (${known}) t ON ${sameKey(key, "w", "t")}`;
  if (goneIds) await writeIds(session, leftOut(insert, added), goneIds);
  const add = await writeRows(session, added, out);
  await session.run("DROP TABLE weir_winners");
  const inserted = add.reduce((sum, file) => sum + file.rows, 0);
  return { add, remove: [], inserted, updated: 0, deleted: 0, deduplicated: read - inserted };
}

/** The columns of a table that keeps every version of its rows. */
const HASH = quoteName("_dlt_row_hash");
const FROM = quoteName("_dlt_valid_from");
const TO = quoteName("_dlt_valid_to");

/**
 * Adds a version for each row that is new or differs from the current one, and ends the previous version, as dlt's
 * scd2 does.
 *
 * The current version has no `_dlt_valid_to`. `at` is the ISO 8601 time at which the new versions begin. With
 * `isWhole` the new rows are the complete source, so current versions of other keys end too, and `deleted` counts
 * those. Old versions stay. Rewrites only files with versions that end. Throws `sql_error`.
 */
export async function keepVersions(
  session: SqlSession,
  keep: Incoming & { at: string; isWhole: boolean },
): Promise<Merged> {
  const { existing, columns, key, out, goneIds, at, isWhole } = keep;
  const read = await stageWinners(session, keep);
  const match = sameKey(key, "w", "t");
  const holding = `SELECT * FROM (${scanOf(pathsOf(existing), columns)}) WHERE ${TO} IS NULL`;
  const equal = `t.${HASH} IS NOT DISTINCT FROM w.${HASH}`;
  const added = `SELECT ${namesOf(columns)} FROM weir_winners w ANTI JOIN (${holding}) t ON ${match} AND ${equal}`;
  if (goneIds) await writeIds(session, leftOut(keep, added), goneIds);
  const updated = await countOf(
    session,
    `SELECT count(*) FROM (${added}) w SEMI JOIN (${holding}) t ON ${match}`,
  );
  const ends = `SELECT t."_dlt_id" AS id, w.${ROW_COLUMN} IS NULL AS gone FROM (${holding}) t LEFT JOIN weir_winners w ON ${match} WHERE w.${ROW_COLUMN} IS ${isWhole ? "NULL OR" : "NOT NULL AND"} NOT (${equal})`;
  await session.run(`CREATE OR REPLACE TEMP TABLE weir_ends AS ${ends}`);
  const deleted = await countOf(session, "SELECT count(*) FILTER (gone) FROM weir_ends");
  const touched = await touchedFiles(
    session,
    existing,
    columns,
    `SEMI JOIN weir_ends e ON t."_dlt_id" = e.id`,
  );
  const ended = `SELECT * REPLACE (CASE WHEN "_dlt_id" IN (SELECT id FROM weir_ends) THEN greatest(coalesce(${FROM}, ${instant(at)}), ${instant(at)}) ELSE ${TO} END AS ${TO}) FROM (${scanOf(pathsOf(touched.files), columns)})`;
  const add = await writeRows(
    session,
    touched.files.length === 0 ? added : `${ended} UNION ALL ${added}`,
    out,
  );
  const kept = await countOf(session, `SELECT count(*) FROM (${added})`);
  await session.run("DROP TABLE weir_winners");
  await session.run("DROP TABLE weir_ends");
  return {
    add,
    remove: touched.files.map((file) => file.id),
    inserted: kept - updated,
    updated,
    deleted,
    deduplicated: read - kept,
  };
}

const instant = (at: string) => `CAST(${quoteText(at)} AS TIMESTAMP WITH TIME ZONE)`;
