import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startData } from "../data/place.ts";
import { connect } from "../support/connections.ts";
import { hasMariadb, startMariadb, type TestMariadb } from "../support/mariadb.ts";
import { deepTest } from "../support/scale.ts";

setDefaultTimeout(120_000);

describe.skipIf(!hasMariadb)("MariaDB", () => {
  let db: TestMariadb;
  let data: Awaited<ReturnType<typeof startData>>;
  let shop: string;
  beforeAll(async () => {
    db = await startMariadb();
    await db.run("CREATE USER writer@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@'%'");
    data = await startData();
    const credentials = { user: "writer", password: "secret" };
    shop = (await connect(data.owner, { name: "Shop", provider: "mysql", config: db.config, credentials }))
      .id;
  });
  afterAll(async () => {
    await data[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await db.run("DROP DATABASE shop; CREATE DATABASE shop");
  });

  const to = (table: string, more: object = {}) => ({ connectionId: shop, table, ...more });
  const write = (sql: string, output: object) => data.transform({ sql, output });
  const fails = async (sql: string, output: object) =>
    (await data.end("duckdb_transform", { sql, output })).error as { code: string; message: string };
  const rows = async (sql: string) => ((await db.run(sql))[0] as unknown[][]).at(-1);

  test("append creates a missing table and adds rows", async () => {
    const sql = "select i as id, 'row ' || i as name, i * 1.5 as price from range(3) t(i)";
    expect(await write(sql, to("orders"))).toMatchObject({
      rows: 3,
      output: { connectionId: shop, table: "orders", inserted: 3, updated: 0, deleted: 0 },
    });
    await write(sql, to("shop.orders"));
    expect(await rows("SELECT count(*), count(DISTINCT id), max(name) FROM orders")).toEqual([
      ["6", "3", "row 2"],
    ]);
    expect(await rows("SELECT count(*), sum(inserted) FROM _weir_loads")).toEqual([["2", "6"]]);
  });

  deepTest("replace replaces the rows, and merge updates what differs and counts nothing else", async () => {
    await db.run(
      "CREATE TABLE t (id int PRIMARY KEY, v varchar(20) DEFAULT 'given'); INSERT INTO t VALUES (1, 'old'), (2, 'old')",
    );
    expect(await write("select 7 as id", to("t", { writeDisposition: "replace" }))).toMatchObject({
      rows: 1,
      output: { inserted: 1, updated: 0, deleted: 2 },
    });
    expect(await rows("SELECT * FROM t")).toEqual([["7", "given"]]);
    const merge = to("t", { writeDisposition: "merge", primaryKey: ["id"] });
    const sql = "select * from (values (7, 'given'), (8, 'new')) t(id, v)";
    expect(await write(sql, merge)).toMatchObject({
      rows: 2,
      output: { inserted: 1, updated: 0, deleted: 0 },
    });
    expect(await write("select * from (values (7, 'Given'), (8, 'new')) t(id, v)", merge)).toMatchObject({
      output: { inserted: 0, updated: 1 },
    });
    expect(await rows("SELECT * FROM t ORDER BY id")).toEqual([
      ["7", "Given"],
      ["8", "new"],
    ]);
  });

  test("texts with quotes, backslashes and line feeds arrive unchanged, in rows of any length", async () => {
    const sql = `select * from (values (1, 'it''s \\ "x" ' || chr(10) || chr(13) || chr(9) || chr(26) || '\\n,),'), (2, ''), (3, null), (4, '😀'), (5, repeat('ä', 2000000))) t(id, v)`;
    await write(sql, to("texts"));
    expect(await rows("SELECT id, hex(v) FROM texts WHERE id < 5 ORDER BY id")).toEqual([
      ["1", Buffer.from(`it's \\ "x" \n\r\t\x1a\\n,),`).toString("hex").toUpperCase()],
      ["2", ""],
      ["3", null],
      ["4", Buffer.from("😀").toString("hex").toUpperCase()],
    ] as never);
    expect(await rows("SELECT sha1(v) FROM texts WHERE id = 5")).toEqual([
      [new Bun.CryptoHasher("sha1").update("ä".repeat(2_000_000)).digest("hex")],
    ]);
  });

  deepTest("numbers in JSON are rejected only if a double or 64 bits would change them", async () => {
    const bears = [
      "-0.0000010000000000000002",
      "18446744073709551615",
      "5e-324",
      "123456789.12345678",
      "1e300",
    ];
    const json = (numbers: string[]) => `select '{"n9999999999999999999999": [${numbers}]}'::json as doc`;
    await write(json(bears), to("docs"));
    expect(await rows("SELECT count(*) FROM docs")).toEqual([["1"]]);
    for (const number of ["0.10000000000000001", "18446744073709551616", "1e999", "1.5e-400"])
      expect([number, (await fails(json([number]), to("more"))).code]).toEqual([
        number,
        "schema_contract_violation",
      ]);
  });

  deepTest("a value that a column would round, cut or fold is rejected, and nothing is written", async () => {
    await db.run(
      `CREATE TABLE t (price decimal(10,2), word varchar(3), at datetime(3), ratio float, small smallint, day date, whole int,
         sure int NOT NULL DEFAULT 1, exact double, fixed char(3), size enum('s','m'), inst timestamp(6) NULL, bin binary(2), y year, tags set('a','b','c'))`,
    );
    const refusals: [sql: string, column: string][] = [
      ["1.005::decimal(10,3) as price", "price"],
      ["1.005::double as price", "price"],
      ["'1.005' as price", "price"],
      ["'abc ' as word", "word"],
      ["timestamp '2024-01-01 00:00:00.1234' as at", "at"],
      ["timestamptz '2024-01-01 00:00:00+00' as at", "at"],
      ["timestamp '2024-01-01 00:00:00' as inst", "inst"],
      ["timestamptz '1969-01-01 00:00:00+00' as inst", "inst"],
      ["0.1::double as ratio", "ratio"],
      ["'nan'::double as exact", "exact"],
      ["40000 as small", "small"],
      ["timestamp '2024-01-01 10:00:00' as day", "day"],
      ["'infinity'::date as day", "day"],
      ["1.5::double as whole", "whole"],
      ["'1' as whole", "whole"],
      ["null::int as sure", "sure"],
      ["9007199254740993::bigint as exact", "exact"],
      ["'ab ' as fixed", "fixed"],
      ["'S' as size", "size"],
      ["'\\x01'::blob as bin", "bin"],
      ["70 as y", "y"],
      ["'b,a' as tags", "tags"],
      ["'a,a' as tags", "tags"],
      ["'a,d' as tags", "tags"],
      ["1 as missing", "missing"],
    ];
    for (const [sql, column] of refusals) {
      const error = await fails(`select ${sql}`, to("t"));
      expect([sql, error.code, error.message]).toEqual([
        sql,
        "schema_contract_violation",
        expect.stringMatching(new RegExp(`["'\`]${column}["'\`]`)),
      ]);
    }
    expect(await rows("SELECT * FROM t")).toEqual([]);
    await write("select 1 as sure, 'a,c' as tags", to("t"));
    expect(await rows("SELECT sure, tags FROM t")).toEqual([["1", "a,c"]]);
  });
});
