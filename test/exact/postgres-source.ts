import { connectPostgres } from "../data/place.ts";
import type { Client } from "../support/app.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import type { Cell } from "./canon.ts";
import type { Source } from "./harness.ts";
import type { Made, SourceTable } from "./table.ts";

/** A server with unusual settings, so that relying on defaults fails. */
const ODD_SETTINGS = [
  ["timezone", "Asia/Kolkata"],
  ["datestyle", "SQL, DMY"],
  ["intervalstyle", "iso_8601"],
  ["bytea_output", "escape"],
  ["extra_float_digits", "0"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

export const startOddPostgres = () => startPostgres({ flags: ODD_SETTINGS });

const quoted = (text: string | null): string => (text === null ? "null" : `'${text.replaceAll("'", "''")}'`);
const AT_ONCE = 1000;

/** Tables of a PostgreSQL, read back as its output functions write them. */
export async function postgresSource(owner: Client, pg: TestPostgres): Promise<Source> {
  const session = await pg.sql.reserve();
  await session.unsafe(
    "set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; set extra_float_digits = 3",
  );
  const read = async (sql: string) => (await session.unsafe(sql).values()) as (string | null)[][];
  const put = async (table: SourceTable): Promise<Made> => {
    const { name, columns } = table;
    const lists = columns.map(({ type }) => type.endsWith("[]"));
    const shown = columns.map((column, at) =>
      lists[at] ? `to_json(${column.name}::text[])::text` : textOf(column),
    );
    const dims = columns.map((column, at) => (lists[at] ? `array_dims(${column.name})` : "null"));
    const rows = await read(`select ${["id", ...shown, ...dims].join(", ")} from ${name} order by id`);
    const odd = new Set<string>();
    const values = rows.map((row, index) => {
      for (const at of columns.keys()) {
        if (/\[(?!1:)/.test(row[1 + columns.length + at] ?? "")) odd.add(`${index}:${at}`);
      }
      return columns.map((_, at): Cell => {
        const text = row[1 + at] ?? null;
        return lists[at] && text !== null ? (JSON.parse(text) as Cell) : text;
      });
    });
    return { resource: { spec: `public.${name}` }, values, odd };
  };
  return {
    name: "postgres",
    connectionId: await connectPostgres(owner, pg),
    async put(tables) {
      await session.unsafe(tables.map(statementsOf).join(";\n"));
      const made: Made[] = [];
      for (const table of tables) made.push(await put(table));
      return made;
    },
    clear: async (tables) =>
      void (await session.unsafe(tables.map(({ name }) => `drop table ${name}`).join(";"))),
  };
}

/**
 * What COPY would write: a cast to text removes trailing blanks of char(n). Composites are JSON, which has their names.
 */
function textOf({ name, type }: { name: string; type: string }): string {
  if (type === "money") return `${name}::numeric::text`;
  if (type === "pair") return `to_json(${name})::text`;
  return `case when ${name} is not null then format('%s', ${name}) end`;
}

function statementsOf({ name, columns, rows }: SourceTable): string {
  const declared = columns.map((column) => `${column.name} ${column.type}`);
  const statements = [`create table ${name} (${["id int", ...declared].join(", ")})`];
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const values = rows
      .slice(from, from + AT_ONCE)
      .map((row, at) => `(${[from + at + 1, ...row.map(quoted)].join(",")})`);
    statements.push(`insert into ${name} values ${values.join(",")}`);
  }
  return statements.join(";\n");
}
