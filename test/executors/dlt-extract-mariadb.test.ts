import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { mysql } from "../../src/providers/mysql/mysql.ts";
import { request } from "../support/extract.ts";
import { link, textOf } from "../support/link.ts";
import { hasMariadb, startMariadb, type TestMariadb } from "../support/mariadb.ts";
import { openTestSql } from "../support/sql.ts";
import { failure, openWorld, type World } from "./extract/world.ts";

const duck = openTestSql();
let db: TestMariadb;

const run = (world: World, resource: JsonObject, more: JsonObject = {}) =>
  world.run({ resources: [resource], ...more }, { provider: mysql, link: link(db.config, db.credentials) });

const read = async (world: World, table: string) =>
  (
    await world.query(
      `SELECT columns(*)::VARCHAR FROM (SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.shop__${table}) ORDER BY id::INT`,
    )
  ).map((row) => Object.values(row));

const typesOf = (world: World, table: string) =>
  world.tables
    .find((each) => each.table === table)
    ?.columns.map(({ dataType }) => dataType)
    .slice(0, -2);

afterAll(() => duck[Symbol.asyncDispose]());

describe.skipIf(!hasMariadb)("MariaDB", () => {
  beforeAll(async () => {
    db = await startMariadb();
  });
  afterAll(() => db[Symbol.asyncDispose]());

  test("a condition compares numbers beyond doubles as numbers", async () => {
    await using world = openWorld({ sql: duck.sql });
    await db.run(
      "CREATE TABLE long_ids (id bigint); INSERT INTO long_ids VALUES (9007199254740992), (9007199254740993)",
    );
    const parameters = { n: { $number: "9007199254740993" }, m: { $number: "10000000000000001" } };
    const { result } = await run(world, { name: "long_ids", where: "id = $n AND $n < $m", parameters });
    expect(result.rows).toBe(1);
    expect(await world.query("SELECT id::VARCHAR AS id FROM raw.shop__long_ids")).toEqual([
      { id: "9007199254740993" },
    ]);
    const wrong = { n: { $number: "1 OR 1" } };
    const error = await failure(run(world, { name: "long_ids", where: "id = $n", parameters: wrong }));
    expect([error.code, error.message]).toEqual([
      "sql_error",
      'A parameter {"$number":"1 OR 1"} isn\'t a number. Use digits.',
    ]);
  });

  test("values of every type arrive exactly, and invalid days are reported", async () => {
    await using world = openWorld({ sql: duck.sql });
    await db.run(`SET sql_mode = 'ALLOW_INVALID_DATES';
      CREATE TABLE kinds (id int, t tinyint unsigned, s smallint unsigned, m mediumint unsigned, i int unsigned, b bigint unsigned, bits bit(64), d decimal(38,10), wide decimal(65,30),
        f float, dbl double, day date, at datetime(6), ts timestamp(6) NULL, tm time(6), y year, bin varbinary(8), blb blob, fixed binary(2), shape geometry, u uuid, ip inet6, e enum('a','b'), st set('a','b'), j json, txt text CHARACTER SET latin1);
      INSERT INTO kinds VALUES (1, 255, 65535, 16777215, 4294967295, 18446744073709551615, b'1111111111111111111111111111111111111111111111111111111111111111', 1234567890123456789012345678.0123456789, 12345678901234567890123456789012345.123456789012345678901234567891,
        0.1, 0.1, '9999-12-31', '2026-01-01 00:00:00.000001', '2026-01-01 00:00:00.000001', '-838:59:59', 2155, x'00ff', '', x'0100', ST_GeomFromText('POINT(0.30000000000000004 2)', 4326), '018f0000-0000-7000-8000-000000000001', '::1', 'b', 'a,b', '{"a": 1.0}', 'ä"€'),
       (2, 0, 0, 0, 0, 0, 0, -0.1, -0.5, -1.5, 5e-324, '0000-00-00', '2023-00-10 00:00:00', '0000-00-00 00:00:00', '00:00:00', 0, '', NULL, '', NULL, NULL, NULL, NULL, '', NULL, ''),
       (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, 1.7976931348623157e308, '2023-02-31', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`);
    const { result } = await run(world, { name: "kinds" });
    expect(result.warnings.toSorted()).toEqual([
      'kinds.at: 1 value became NULL: no date ("2023-00-10 00:00:00.000000").',
      'kinds.day: 2 values became NULL: no date ("0000-00-00", "2023-02-31").',
      'kinds.ts: 1 value became NULL: no date ("0000-00-00 00:00:00.000000").',
    ]);
    expect(typesOf(world, "kinds")).toEqual([
      "INTEGER",
      "INTEGER",
      "INTEGER",
      "BIGINT",
      "BIGINT",
      "DECIMAL(20,0)",
      "DECIMAL(20,0)",
      "DECIMAL(38,10)",
      "VARCHAR",
      "FLOAT",
      "DOUBLE",
      "DATE",
      "TIMESTAMP",
      "TIMESTAMP WITH TIME ZONE",
      "VARCHAR",
      "SMALLINT",
      "BLOB",
      "BLOB",
      "BLOB",
      "BLOB",
      "UUID",
      "VARCHAR",
      "VARCHAR",
      "VARCHAR",
      "VARCHAR",
      "VARCHAR",
    ]);
    const [one = [], two = [], three = []] = await read(world, "kinds");
    expect(one.at(-1)).toBe('ä"€');
    expect(one.slice(0, -1).join(" | ")).toBe(
      String.raw`1 | 255 | 65535 | 16777215 | 4294967295 | 18446744073709551615 | 18446744073709551615 | 1234567890123456789012345678.0123456789 | 12345678901234567890123456789012345.123456789012345678901234567891 | 0.1 | 0.1 | 9999-12-31 | 2026-01-01 00:00:00.000001 | 2026-01-01 00:00:00.000001+00 | -838:59:59.000000 | 2155 | \x00\xFF |  | \x01\x00 | \xE6\x10\x00\x00\x01\x01\x00\x00\x00433333\xD3?\x00\x00\x00\x00\x00\x00\x00@ | 018f0000-0000-7000-8000-000000000001 | ::1 | b | a,b | {"a": 1.0}`,
    );
    expect(two.slice(7)).toEqual([
      ...["-0.1000000000", "-0.5", "-1.5", "5e-324", null, null, null, "00:00:00.000000", "0", "", null],
      ...["\\x00\\x00", null, null, null, null, "", null, ""],
    ]);
    expect(three.filter((value) => value !== null)).toEqual(["3", "1", "1.7976931348623157e+308"]);
    const columns = ["day", "at", "shape", "wide"].map((name) => ({ name, type: "text" }));
    const texts = await run(world, { name: "texts", spec: "kinds", columns });
    expect(texts.result.warnings).toHaveLength(1);
    expect(await world.query('SELECT day, "at", shape FROM raw.shop__texts ORDER BY id')).toEqual([
      {
        day: "9999-12-31",
        at: "2026-01-01 00:00:00.000001",
        shape: "SRID=4326;POINT(0.30000000000000004 2)",
      },
      { day: "0000-00-00", at: "2023-00-10 00:00:00.000000", shape: null },
      { day: "2023-02-31", at: null, shape: null },
    ]);
  }, 120_000);

  test("a cursor of days or texts loads each row once, invalid days too", async () => {
    await using world = openWorld({ sql: duck.sql });
    await db.run(`SET sql_mode = 'ALLOW_INVALID_DATES'; CREATE TABLE ordered (id int, at datetime(6), code varchar(9) COLLATE utf8mb4_general_ci, no decimal(65,30));
      INSERT INTO ordered VALUES (1, '2023-01-01 00:00:00.000001', 'a', 12345678901234567890.1), (2, '2023-02-31 00:00:00', 'B', 12345678901234567890.12), (3, '2023-00-10 00:00:00', 'b', -7.5), (4, '0000-00-00 00:00:00', 'ä', 0), (5, '2022-01-01', 'A', 1)`);
    for (const cursorField of ["at", "code", "no"]) {
      const resource = {
        name: `by_${cursorField}`,
        spec: "ordered",
        primaryKey: ["id"],
        incremental: { cursorField },
      };
      expect((await run(world, resource)).result.rows).toBe(5);
      expect((await run(world, resource)).result.rows).toBe(0);
    }
    expect(world.cursors.get("by_no")?.lastValue).toBe("12345678901234567890.12");
    expect(world.cursors.get("by_code")?.lastValue).toBe("ä");
  }, 120_000);

  test("rows whose cursor became NULL or an invalid day are counted each time, and not loaded", async () => {
    await using world = openWorld({ sql: duck.sql });
    const invalid = "SET sql_mode = 'ALLOW_INVALID_DATES'";
    await db.run(
      "CREATE TABLE left_out (id int, c int, day date, at datetime, ts timestamp NULL); INSERT INTO left_out VALUES (1, 1, '2026-01-01', '2026-01-01', '2026-01-01')",
    );
    const by = async (cursorField: string) =>
      (
        await run(world, {
          name: `by_${cursorField}`,
          spec: "left_out",
          columns: ["id", cursorField],
          incremental: { cursorField },
          where: "id < 100",
        })
      ).result;
    for (const field of ["c", "day", "at", "ts"]) await by(field);
    await db.run(`${invalid}; INSERT INTO left_out VALUES (2, NULL, NULL, NULL, NULL), (3, 2, '2026-01-02', '2026-01-02', '2026-01-02'),
      (4, NULL, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00'), (5, 3, '2026-02-31', '2026-03-00 10:00:00', NULL), (101, NULL, NULL, NULL, NULL)`);
    for (const [field, rows, count] of [
      ["c", 2, 2],
      ["day", 1, 3],
      ["at", 1, 3],
      ["ts", 1, 3],
    ] as const) {
      const told = `${count} rows have no value in the cursor ${field} and were left out.`;
      expect(await by(field)).toMatchObject({ rows, warnings: [told] });
      expect(await by(field)).toMatchObject({ rows: 0, warnings: [told] });
    }
  }, 120_000);

  test.each(["time", "enum('small', 'large')", "inet6"])(
    "a cursor of %s is rejected, since its order isn't that of its texts",
    async (type) => {
      await using world = openWorld({ sql: duck.sql });
      await db.run(`CREATE TABLE orderless (id int, at ${type})`);
      const error = await failure(run(world, { name: "orderless", incremental: { cursorField: "at" } }));
      await db.run("DROP TABLE orderless");
      expect(error.code).toBe("definition_invalid");
      expect(error.message).toMatch(/has no order that a cursor could follow\.$/);
    },
    120_000,
  );

  test("rows that were deleted at the source are removed", async () => {
    await using world = openWorld({ sql: duck.sql });
    await db.run(
      "CREATE TABLE stock (id bigint unsigned, no varchar(9)); INSERT INTO stock VALUES (18446744073709551615, 'a'), (2, 'b'), (3, 'c')",
    );
    const resource = { name: "stock", primaryKey: ["id", "no"], writeDisposition: "merge", deletes: "hard" };
    await run(world, resource);
    await db.run("DELETE FROM stock WHERE id > 3");
    expect((await run(world, resource)).result.tables[0]).toMatchObject({ updated: 2, deleted: 1 });
    expect(await world.query("SELECT id::VARCHAR AS id FROM raw.shop__stock ORDER BY 1")).toEqual([
      { id: "2" },
      { id: "3" },
    ]);
  }, 120_000);

  test("an extractor continues on another connection after the server closed the one that it kept", async () => {
    await db.run("CREATE VIEW who AS SELECT CONNECTION_ID() AS id");
    const extractor = mysql.extractor?.();
    if (!extractor) throw new Error("There is none.");
    const read = async () => {
      const extraction = await extractor.extract(link(db.config, db.credentials), request("shop.who"));
      if (extraction.kind !== "csv") throw new Error("It gives no CSV.");
      return Number(await textOf(extraction.bytes));
    };
    const first = await read();
    expect(await read()).toBe(first);
    await db.root.query(`KILL ${first}`);
    expect(await read()).toBeGreaterThan(first);
    await extractor.close();
  });
});
