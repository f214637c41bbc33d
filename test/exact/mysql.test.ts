import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startData } from "../data/place.ts";
import { connect } from "../support/connections.ts";
import { hasMariadb, startMariadb, type TestMariadb } from "../support/mariadb.ts";
import type { Cell } from "./canon.ts";
import { reportOf, type Source } from "./harness.ts";
import { lateTable, makeTables } from "./make.ts";
import { MYSQL_SORTS } from "./mysql-sorts.ts";
import { floatText } from "./parquet.ts";
import { LATE, TABLES } from "./scale.ts";
import type { Made, SourceColumn, SourceTable } from "./table.ts";

setDefaultTimeout(3_600_000);

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const isSpatial = ({ type }: SourceColumn): boolean => /^(point|geometry)/.test(type);

/** A value as it is inserted. */
function literal(column: SourceColumn, text: string | null): string {
  if (text === null) return "NULL";
  if (isSpatial(column)) return `ST_GeomFromText(${quoted(text)}, 4326)`;
  if (column.kind === "bytes") return `X'${text.slice(2)}'`;
  return column.kind === "number" ? text : quoted(text);
}

/** A value as MariaDB itself writes it, completely. */
function shown(column: SourceColumn): string {
  if (column.kind === "bytes") return `CONCAT('\\\\x', LOWER(HEX(${column.name})))`;
  if (column.type.startsWith("bit")) return `${column.name} + 0`;
  return column.type === "float" ? `${column.name} + 0e0` : column.name;
}

const AT_ONCE = 1000;

function statementsOf({ name, columns, rows }: SourceTable): string {
  const declared = ["id int", ...columns.map((column) => `${column.name} ${column.type}`)];
  const statements = [`CREATE TABLE ${name} (${declared.join(", ")})`];
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const values = rows
      .slice(from, from + AT_ONCE)
      .map(
        (row, at) =>
          `(${[from + at + 1, ...columns.map((column, c) => literal(column, row[c] ?? null))].join()})`,
      );
    statements.push(`INSERT INTO ${name} VALUES ${values.join()}`);
  }
  return statements.join(";");
}

async function mariadbSource(connectionId: string, { root }: TestMariadb): Promise<Source> {
  await root.query("SET sql_mode = '', time_zone = '+00:00', NAMES utf8mb4");
  return {
    name: "mariadb",
    connectionId,
    async put(tables) {
      await root.query(tables.map(statementsOf).join(";"));
      const made: Made[] = [];
      for (const { name, columns } of tables) {
        const [rows] = await root.query(
          `SELECT ${["id", ...columns.map(shown)].join()} FROM ${name} ORDER BY id`,
        );
        const values = (rows as (string | null)[][]).map((row) =>
          columns.map((column, at): Cell => {
            const text = row[at + 1] ?? null;
            if (text !== null && column.type === "float") return floatText(Math.fround(Number(text)));
            return text !== null && column.kind === "timestamptz" ? `${text}+00` : text;
          }),
        );
        made.push({ resource: { spec: `shop.${name}` }, values });
      }
      return made;
    },
    clear: async (tables) =>
      void (await root.query(tables.map(({ name }) => `DROP TABLE ${name}`).join(";"))),
  };
}

/** Settings that a session must not rely on. */
const ODD_SETTINGS = [
  "--default-time-zone=+05:30",
  "--character-set-server=latin1",
  "--sql-mode=ANSI_QUOTES",
];

describe.skipIf(!hasMariadb)("MariaDB (skipped without mariadbd)", () => {
  let data: Awaited<ReturnType<typeof startData>>;
  let db: TestMariadb;
  let source: Source;
  beforeAll(async () => {
    [data, db] = await Promise.all([startData(), startMariadb(ODD_SETTINGS)]);
    const { config, credentials } = db;
    const { id } = await connect(data.owner, { name: "MariaDB", provider: "mysql", config, credentials });
    source = await mariadbSource(id, db);
  });
  afterAll(async () => {
    await data[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });

  test("every value of every type arrives, or the run counts it", async () => {
    expect(await reportOf(data, source, makeTables(MYSQL_SORTS, TABLES))).toEqual([]);
  });

  test("a value that differs from those in earlier rows arrives too", async () => {
    const late = (type: string, usual: string, last: string) => ({
      column: MYSQL_SORTS.find((sort) => sort.type === type)!,
      usual: (row: number) => usual.replace("#", String(row)),
      last,
    });
    const columns = [
      late("decimal(65,30)", "#.25", `${"1".repeat(35)}.${"3".repeat(30)}`),
      late("date", "2026-01-02", "0000-00-00"),
      late("datetime(6)", "2026-01-02 03:04:05", "2026-00-01 12:00:00"),
      late("timestamp(6) null", "2026-01-02 03:04:05", "0000-00-00 00:00:00"),
      late("blob", "\\x00", "\\x"),
      late("bigint unsigned", "#", "18446744073709551615"),
      late("time(6)", "10:00:00", "-838:59:59.999999"),
      late("text", "#", "x"),
    ];
    expect(
      await reportOf(
        data,
        source,
        LATE.map((before) => lateTable(`late${before}`, columns, before)),
      ),
    ).toEqual([]);
  });
});
