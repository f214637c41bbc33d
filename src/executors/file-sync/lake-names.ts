import { unfitStamps } from "../../lake/landing.ts";
import type { ParquetColumn } from "../../lake/parquet-source.ts";
import { nameColumns } from "../../sql/column-names.ts";
import type { Column, SqlSession, Stamp } from "../../sql/contract.ts";
import { ROW_ID } from "../../sql/stamps.ts";
import { parquet, quoteText } from "../../sql/text.ts";

/** Where a file goes. */
export interface TableFile {
  below: string;
  table: string;
  /** The columns of the table without it. */
  before: readonly Column[];
}

interface Stamping {
  path: string;
  found: readonly ParquetColumn[];
  stamp: readonly Stamp[];
  file: TableFile;
}

/**
 * Returns the columns' names in the table: a stamp's column that can't be it gets another one. A table that already has
 * other values there keeps them.
 */
export async function columnNames(
  session: SqlSession,
  { path, found, stamp, file }: Stamping,
): Promise<string[]> {
  const { before } = file;
  const names = found.map(({ name }) => name);
  const relation = parquet([path]);
  const columns = found.map(({ name, sql }) => ({ name, source: name, sql }));
  const odd = before.filter(({ dataType }) => dataType !== "VARCHAR").map(({ name }) => name);
  const own = stamp.filter(({ name }) => !odd.includes(name));
  const aside = await unfitStamps(session, { relation, columns, stamp: own, table: before });
  const id = columns.find(({ name }) => name === ROW_ID && !odd.includes(name));
  if (id && !aside.includes(ROW_ID) && !(await areNew(session, id.sql, relation, file))) aside.push(ROW_ID);
  if (aside.length === 0) return names;
  const named = nameColumns(names, { table: before, isFile: true, aside });
  return names.map((name, at) => (aside.includes(name.toLowerCase()) ? (named[at]?.name ?? name) : name));
}

/** Each further file is compared with all of them. */
const MAX_RECORDED = 10_000_000;

/**
 * Records the IDs of a file's rows, up to a maximum per load. Returns whether no recorded one of another file of the same
 * table is among them.
 */
async function areNew(
  session: SqlSession,
  id: string,
  relation: string,
  { below, table }: TableFile,
): Promise<boolean> {
  const file = `hash(${quoteText(below)})`;
  const rows = `SELECT hash(${quoteText(table)}, ${id}) AS id FROM ${relation}`;
  await session.run(
    `CREATE TEMP TABLE IF NOT EXISTS ids (file UBIGINT, id UBIGINT); DELETE FROM ids WHERE file = ${file}`,
  );
  const others = await session.run(`SELECT 1 FROM (${rows}) SEMI JOIN ids USING (id) LIMIT 1`);
  if (others.length > 0) return false;
  const room = `greatest(0, ${MAX_RECORDED} - (SELECT count(*) FROM ids))`;
  await session.run(`INSERT INTO ids SELECT ${file}, id FROM (${rows}) LIMIT ${room}`);
  return true;
}
