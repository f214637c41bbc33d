import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { ExtractRequest, Link } from "../../src/providers/contract.ts";
import { mysql } from "../../src/providers/mysql/mysql.ts";
import { mysqlUser, startMysql, type TestMysql } from "../peers/mysql.ts";
import { startMysqlDoor } from "../peers/mysql-tls.ts";
import { request } from "../support/extract.ts";
import { failure, link as makeLink, textOf } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";

let db: TestMysql;

beforeAll(async () => {
  db = await startMysql();
});
afterAll(() => db[Symbol.asyncDispose]());

beforeEach(() => {
  db.table("shop", "orders", { id: "bigint(20) unsigned not null", name: "varchar(50)", at: "datetime(6)" }, [
    [1, "Ann", "2026-01-01 00:00:00.000001"],
    [2, 'O\'Hara \\ "x",\ny', "2026-01-02 00:00:00"],
    [3, null, null],
    [4, "", "2026-01-04 00:00:00"],
  ]);
  Object.assign(db.state, { cutAfter: Number.POSITIVE_INFINITY, isStuck: false, refusal: null });
});

const link = (config: object = {}, credentials: object = {}, overrides: Partial<Link> = {}) =>
  makeLink({ ...db.config, ...config }, { ...mysqlUser, ...credentials }, overrides);

async function csv(more: Partial<ExtractRequest> = {}, on: Link = link()) {
  const extraction = await mysql.extract?.(on, request("orders", more));
  if (extraction?.kind !== "csv") throw new Error("It gives no CSV.");
  const { columns, ranged, odd, leftOut, bytes } = extraction;
  return { columns, ranged, leftOut, text: await textOf(bytes), odd: odd?.all };
}

const verify = (on: Link) => mysql.verify(on);

describe("verify", () => {
  test("signs in and begins a read-only transaction on a snapshot", async () => {
    const before = db.queries.length;
    await verify(link());
    expect(db.queries.slice(before)).toEqual([
      "SELECT VERSION() AS version",
      expect.stringContaining("sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', time_zone = '+00:00'"),
      "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
      "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
      "SELECT 1",
    ]);
  });

  test("distinguishes errors", async () => {
    const place = `127.0.0.1:${db.port}`;
    const message = async (config: object, credentials: object = {}) =>
      (await failure(verify(link(config, credentials)))).message;
    expect(await message({}, { password: "wrong" })).toBe(
      `${place} rejected the password of the user "reader".`,
    );
    expect(await message({ database: "nope" })).toBe(`There is no database "nope" at ${place}.`);
    expect(await message({ database: "secret" })).toBe(
      'The user "reader" has no access to the database "secret", or no database has that name.',
    );
    expect(await message({ sslMode: "verify-full" })).toBe(
      `${place} doesn't offer TLS, which sslMode requires.`,
    );
    expect(await message({ baseUrl: "http://x" })).toContain("host:port or mysql://host:port");
    const port = await freePort();
    expect(await failure(verify(link({ port })))).toMatchObject({
      code: "upstream",
      retryable: true,
      message: `127.0.0.1:${port} refused the connection. Check that the server is running, and the port.`,
    });
  });

  test("distinguishes a full server, one that accepts nobody, and one of another kind", async () => {
    db.state.refusal = { code: 1040, message: "Too many connections" };
    expect(await failure(verify(link()))).toMatchObject({
      retryable: true,
      message: expect.stringContaining("too many connections"),
    });
    db.state.refusal = { code: 1130, message: "Host '127.0.0.1' is not allowed to connect" };
    expect((await failure(verify(link()))).message).toContain("rejects connections from this machine");
    db.state.refusal = { code: 3159, message: "Connections using insecure transport are prohibited" };
    expect((await failure(verify(link({ sslMode: "disable" })))).message).toContain("requires TLS");
    const web = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port } = web.address() as AddressInfo;
    expect((await failure(verify(link({ port })))).message).toContain("is not a MySQL server");
    web.close();
  });

  test("uses baseUrl", async () => {
    await verify(link({ host: "nowhere.invalid", port: 1, baseUrl: `mysql://127.0.0.1:${db.port}` }));
  });
});

describe("sslMode", () => {
  test("determines how TLS is used, and an untrusted certificate is reported", async () => {
    await using door = await startMysqlDoor();
    const outcome = async (sslMode: string) => {
      door.tries.length = 0;
      const { message } = await failure(verify(link({ port: door.port, sslMode })));
      return [door.tries.join(), message.replace(`127.0.0.1:${door.port}`, "It")];
    };
    const denied = 'It rejected the password of the user "reader".';
    const stranger = "The certificate of It comes from an authority that this machine doesn't trust.";
    expect(await outcome("disable")).toEqual([
      "plain",
      "It requires TLS. Set sslMode to require or verify-full.",
    ]);
    expect(await outcome("allow")).toEqual(["plain,tls", denied]);
    expect(await outcome("prefer")).toEqual(["tls", denied]);
    expect(await outcome("require")).toEqual(["tls", denied]);
    expect(await outcome("verify-ca")).toEqual(["", stranger]);
    expect(await outcome("verify-full")).toEqual(["", stranger]);
  });
});

describe("tables", () => {
  test("are listed by database, system ones on request, with the spec for an extract", async () => {
    db.table("shop", 'a"b; drop', { "x`y": "int" }, []);
    const list = (system: boolean) => mysql.tables?.tables(link(), system);
    const own = await list(false);
    expect(own).toContainEqual({ schema: "shop", table: "orders", spec: "shop.orders" });
    expect(own).toContainEqual({ schema: "shop", table: 'a"b; drop', spec: 'shop."a""b; drop"' });
    expect(own?.some(({ schema }) => schema === "mysql")).toBe(false);
    expect(await list(true)).toContainEqual({ schema: "mysql", table: "user", spec: "mysql.user" });
  });

  test("have columns in order, with the server's own types", async () => {
    expect(await mysql.tables?.columns(link(), "shop", "orders")).toEqual([
      { name: "id", dataType: "bigint(20) unsigned", nullable: false },
      { name: "name", dataType: "varchar(50)", nullable: true },
      { name: "at", dataType: "datetime(6)", nullable: true },
    ]);
    const error = await failure(mysql.tables?.columns(link(), "shop", "nope") ?? Promise.resolve());
    expect(error.code).toBe("not_found");
  });
});

describe("extract", () => {
  test("returns typed CSV that distinguishes NULL and empty text", async () => {
    const { columns, text, ranged } = await csv();
    expect(ranged).toBe(true);
    expect(columns).toEqual([
      { name: "id", dataType: "UBIGINT", nullable: false },
      { name: "name", dataType: "VARCHAR", nullable: true },
      { name: "at", dataType: "TIMESTAMP", nullable: true },
    ]);
    expect(text).toBe(
      '1,"Ann",2026-01-01 00:00:00.000001\n2,"O\'Hara \\ ""x"",\ny",2026-01-02 00:00:00\n3,,\n4,"",2026-01-04 00:00:00\n',
    );
  });

  test("keeps what a type holds, and reports invalid days", async () => {
    db.table(
      "shop",
      "types",
      {
        big: "bigint(20)",
        ubig: "bigint(20) unsigned",
        small: "tinyint(1)",
        price: "decimal(12,2)",
        wide: "decimal(65,30)",
        day: "date",
        at: "timestamp",
        long: "time",
        json: "json",
        bytes: "varbinary(8)",
      },
      [
        [
          "-9223372036854775808",
          "18446744073709551615",
          2,
          "0.10",
          "1.5",
          "2024-02-29",
          "2026-01-01 00:00:00",
          "-838:59:59",
          '{"a":1}',
          "\u0001Z",
        ],
        [null, null, null, null, null, "0000-00-00", "0000-00-00 00:00:00", null, null, null],
        [null, null, null, null, null, "2023-02-29", "9999-12-31 23:59:59", null, null, null],
        [null, null, null, null, null, "2023-00-10", null, null, null, null],
      ],
    );
    db.change(
      "UPDATE shop.types SET ubig = '18446744073709551615', big = '-9223372036854775808' WHERE day = '2024-02-29'",
    );
    const { columns, text, odd } = await csv({ spec: "types", columns: null });
    expect(columns.map(({ dataType }) => dataType)).toEqual([
      "BIGINT",
      "UBIGINT",
      "TINYINT",
      "DECIMAL(12,2)",
      "VARCHAR",
      "DATE",
      "TIMESTAMPTZ",
      "VARCHAR",
      "JSON",
      "BLOB",
    ]);
    expect(columns.map(({ text }) => text ?? "")).toEqual(["", "", "", "", "number", "", "", "", "", "hex"]);
    const [first = "", ...others] = text.trimEnd().split("\n");
    expect(first).toEndWith(',2,0.10,1.5,2024-02-29,2026-01-01 00:00:00+00,"-838:59:59","{""a"":1}","015a"');
    expect(others).toEqual([",,,,,,,,,", ",,,,,,9999-12-31 23:59:59+00,,,", ",,,,,,,,,"]);
    expect(odd).toEqual([
      {
        column: "day",
        what: "became NULL: no date",
        count: 3,
        examples: ["0000-00-00", "2023-02-29", "2023-00-10"],
      },
      { column: "at", what: "became NULL: no date", count: 1, examples: ["0000-00-00 00:00:00"] },
    ]);
    const types = new Map(["day", "at", "wide", "bytes"].map((name) => [name, "VARCHAR"]));
    const texts = await csv({ spec: "types", columns: [...types.keys()], types });
    expect(texts.odd).toEqual([]);
    expect(texts.text).toBe(
      '"2024-02-29","2026-01-01 00:00:00","1.5","015a"\n"0000-00-00","0000-00-00 00:00:00",,\n"2023-02-29","9999-12-31 23:59:59",,\n"2023-00-10",,,\n',
    );
  });

  test("reads a range of the cursor, NULL only at the beginning, the first rows by the cursor if there is a limit", async () => {
    const ids = async (range: ExtractRequest["range"], more: Partial<ExtractRequest> = {}) =>
      (await csv({ columns: ["id"], range, ...more })).text.trim().split("\n").join();
    expect(await ids({ field: "at", from: null, to: null })).toBe("1,2,3,4");
    expect(await ids({ field: "at", from: "2026-01-02T00:00:00", to: null })).toBe("2,4");
    expect(await ids({ field: "at", from: "2026-01-02T01:00:00+01:00", to: "2026-01-04T00:00:00Z" })).toBe(
      "2",
    );
    expect(await ids({ field: "at", from: null, to: "2026-01-02" })).toBe("1,3");
    const leftOut = async (range: ExtractRequest["range"]) => (await csv({ range })).leftOut;
    expect(await leftOut({ field: "at", from: null, to: null })).toBe(0);
    expect(await leftOut({ field: "at", from: "2026-01-02", to: null })).toBe(1);
    expect(await ids({ field: "id", from: "3", to: null })).toBe("3,4");
    expect(await ids({ field: "id", from: 2, to: null }, { maxRows: 2 })).toBe("2,3");
    expect(await ids({ field: "at", from: null, to: null }, { maxRows: 2 })).toBe("3,1");
    expect(await ids({ field: "name", from: "B", to: null })).toBe("2");
    expect((await failure(csv({ range: { field: "id", from: "1 OR 1=1", to: null } }))).code).toBe(
      "definition_invalid",
    );
    expect((await failure(csv({ range: { field: "nope", from: null, to: null } }))).code).toBe(
      "cursor_field_missing",
    );
  });

  test("accepts a condition with values, which stay values", async () => {
    const found = async (sql: string, ...parameters: (string | number | null)[]) =>
      (await csv({ columns: ["id"], where: { sql, parameters } })).text.trim().split("\n").join();
    expect(await found("name = $1 or id = $2", "' OR 1=1 #", 4)).toBe("4");
    expect(await found("name = '$1' or (name = $1 and \"id\" > 0)", "Ann")).toBe("1");
  });

  test("rejects a condition that would leave its parentheses, and an invalid one", async () => {
    for (const sql of [
      "1) union select (1",
      "1) into outfile '/tmp/x' -- ",
      "1 /*! or 1 */",
      "1; drop table x",
      "name = 'open",
      "(1",
      "id = $2",
      "nope = 1",
      "id =",
    ]) {
      const error = await failure(csv({ where: { sql, parameters: ["a"] } }));
      expect([sql, error.code]).toEqual([sql, "definition_invalid"]);
    }
  });

  test("finds tables of other databases and with unusual names, and reports missing ones", async () => {
    db.table("other db", "weird.`name", { "a`b": "int" }, [[7]]);
    expect((await csv({ spec: '"other db"."weird.`name"' })).text).toBe("7\n");
    expect((await csv({ spec: "ORDERS", columns: ["id"], maxRows: 1 })).text).toBe("1\n");
    expect((await failure(csv({ spec: "nope" }))).message).toBe(
      'There is no table or view nope that this user may read in the database "shop".',
    );
    expect((await failure(csv({ columns: ["nope"] }))).message).toBe('orders has no column "nope".');
  });

  test("lets the server wait for a slow reader, and returns every row", async () => {
    const rows = Array.from({ length: 20_000 }, (_, n): [number, string] => [n, "x".repeat(50)]);
    db.table("shop", "big", { id: "int not null", note: "varchar(60)" }, rows);
    const extraction = await mysql.extract?.(link(), request("big"));
    if (extraction?.kind !== "csv") throw new Error("It gives no CSV.");
    let text = "";
    for await (const block of extraction.bytes) {
      text += Buffer.from(block).toString();
      await Bun.sleep(2);
    }
    const lines = text.trimEnd().split("\n");
    expect(lines).toHaveLength(20_000);
    expect(lines.at(-1)).toBe(`19999,"${"x".repeat(50)}"`);
  });

  test("ends with an error if the connection breaks, before rows and between them", async () => {
    db.state.cutAfter = 2;
    expect(await failure(csv())).toMatchObject({ code: "upstream", retryable: true });
    db.state.cutAfter = 3;
    expect(await failure(csv())).toMatchObject({ code: "upstream", retryable: true });
  });

  test("stops the server's work when it is cancelled", async () => {
    db.state.isStuck = true;
    const controller = new AbortController();
    const before = db.killed.length;
    const work = csv({}, link({}, {}, { signal: controller.signal }));
    while (!db.queries.at(-1)?.includes("FROM `shop`")) await Bun.sleep(5);
    controller.abort(new Error("Enough"));
    expect(work).rejects.toThrow("Enough");
    await work.catch(() => undefined);
    while (db.killed.length === before) await Bun.sleep(5);
    expect(db.killed).toHaveLength(before + 1);
  });
});
