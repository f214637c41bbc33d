import type { PastTable } from "../sql/as-of.ts";
import type { SqlTable } from "../sql/contract.ts";
import { namesIn } from "../sql/text.ts";
import type { Lake, LakeTable } from "./contract.ts";

/** The name that SQL has for a table, below its layer (decisions, section 5). */
export const sqlName = ({ dataset, table }: Pick<LakeTable, "dataset" | "table">): string =>
  dataset === table ? dataset : `${dataset}__${table}`;

/**
 * The tables as SQL sees them. A table of its dataset's own name is also there as `dataset__table`, unless
 * another has that name. With `sql` only tables that it may speak of come back, which spares looking up
 * the files of all others.
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
  return Promise.all(
    wanted.map(async ({ name, table }) => ({
      layer: table.layer,
      name,
      columns: table.columns,
      files: await Promise.all(table.files.map((file) => lake.localPath(file))),
    })),
  );
}

/** Tables as loads left them, under the names that SQL has for them; `read` finds each. */
export const pastTables = (
  lake: Pick<Lake, "localPath">,
  past: readonly PastTable[],
  read: (asked: PastTable) => Promise<LakeTable>,
): Promise<SqlTable[]> =>
  Promise.all(
    past.map(async (asked) => {
      const { columns, files } = await read(asked);
      return {
        layer: asked.layer,
        name: asked.view,
        columns,
        files: await Promise.all(files.map((file) => lake.localPath(file))),
      };
    }),
  );
