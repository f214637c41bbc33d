import type { Json } from "../base/json.ts";
import { type PastTable, takeAsOf } from "../sql/as-of.ts";
import type { SqlJob, SqlTable } from "../sql/contract.ts";
import { namesIn } from "../sql/text.ts";
import type { Lake, LakeTable } from "./contract.ts";

/** The name of a table in SQL, below its layer (docs/decisions/loads.md). */
export const sqlName = ({ dataset, table }: Pick<LakeTable, "dataset" | "table">): string =>
  dataset === table ? dataset : `${dataset}__${table}`;

/**
 * The tables as SQL sees them. A table with its dataset's name is also available as `dataset__table`, unless that
 * name is taken. With `sql`, returns only tables that the statement can mention, which saves looking up the files of
 * all others.
 */
export async function sqlTables(
  lake: Pick<Lake, "localPath">,
  tables: readonly LakeTable[],
  sql?: string,
): Promise<SqlTable[]> {
  const isNamed = sql === undefined ? () => true : namesIn(sql);
  const named = new Map<string, { name: string; table: LakeTable }>();
  const offer = (name: string, table: LakeTable) => {
    const key = `${table.layer}.${name}`;
    if (!named.has(key)) named.set(key, { name, table });
  };
  for (const table of tables) offer(sqlName(table), table);
  for (const table of tables) offer(`${table.dataset}__${table.table}`, table);

  const wanted = [...named.values()].filter(({ name }) => isNamed(name));
  return Promise.all(wanted.map(({ name, table }) => sqlTable(lake, table.layer, name, table)));
}

/** Tables under their SQL names, read from their files with `read`. */
export const pastTables = (
  lake: Pick<Lake, "localPath">,
  past: readonly PastTable[],
  read: (reference: PastTable) => Promise<LakeTable>,
): Promise<SqlTable[]> =>
  Promise.all(
    past.map(async (reference) => sqlTable(lake, reference.layer, reference.view, await read(reference))),
  );

const sqlTable = async (
  lake: Pick<Lake, "localPath">,
  layer: string,
  name: string,
  { columns, files }: LakeTable,
): Promise<SqlTable> => ({
  layer,
  name,
  columns,
  files: await Promise.all(files.map((file) => lake.localPath(file))),
});

/** How SQL over the lake finds its tables: `past` returns a table as of a load, by its SQL name. */
interface Source extends Pick<Lake, "localPath"> {
  past(reference: PastTable): Promise<LakeTable>;
}

/** A table as of a load. */
export type TableAtLoad = LakeTable & { loadId: string };

/**
 * The SQL with everything it can mention: `tables`, and the past states it asks for, which are also returned
 * separately. Throws `sql_error` for an `AS OF` that is invalid or no longer available.
 */
export async function lakeJob(
  source: Source,
  tables: readonly LakeTable[],
  sqlText: string,
  parameters: Readonly<Record<string, Json>> = {},
): Promise<{ job: SqlJob; past: TableAtLoad[] }> {
  const { sql, past } = takeAsOf(sqlText, parameters);
  const left = new Map(
    await Promise.all(past.map(async (reference) => [reference, await source.past(reference)] as const)),
  );
  const [present, ...views] = await Promise.all([
    sqlTables(source, tables, sql),
    ...[...left].map(([{ layer, view }, table]) => sqlTable(source, layer, view, table)),
  ]);
  return {
    job: { tables: [...present, ...views], sql, parameters },
    past: [...left].map(([{ loadId }, table]) => ({ ...table, loadId })),
  };
}
