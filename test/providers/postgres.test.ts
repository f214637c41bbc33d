import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { DuckDBInstance } from "@duckdb/node-api";
import { openEgress } from "../../src/base/egress.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { Extraction, ExtractRequest, Link } from "../../src/providers/contract.ts";
import { postgres } from "../../src/providers/postgres/postgres.ts";
import { testCertificate } from "../support/certificate.ts";
import { failure, link, textOf } from "../support/link.ts";
import { eventually } from "../support/outbound.ts";
import { freePort, startPostgres, type TestPostgres } from "../support/postgres.ts";

let pg: TestPostgres;
beforeAll(async () => {
  pg = await startPostgres({ tls: true });
  await pg.sql.unsafe(`
    create schema shop;
    create table shop.orders (id int8 primary key, customer text not null, amount numeric(10,2), placed_at timestamptz);
    insert into shop.orders
      select i, 'c' || i, i * 1.5, timestamptz '2026-01-01 00:00:00+00' + i * interval '1 hour' from generate_series(1, 10) i;
    create view shop.big_orders as select id, amount from shop.orders where amount > 10;
    create table "a""b; drop" ("odd "" column" text, "x; drop table shop.orders" int);
    insert into "a""b; drop" values ('it''s', 1);
    create table "Shouting" ("ID" int);
  `);
});
afterAll(async () => pg[Symbol.asyncDispose]());

const to = (
  config: JsonObject = {},
  credentials: Record<string, string> = {},
  overrides: Partial<Link> = {},
) =>
  link(
    { host: pg.host, port: pg.port, database: pg.database, ...config },
    { user: pg.user, password: pg.password, ...credentials },
    overrides,
  );

const request = (spec: string, more: Partial<ExtractRequest> = {}): ExtractRequest => ({
  spec,
  columns: null,
  where: null,
  range: null,
  maxRows: null,
  batchSize: null,
  ...more,
});

async function extract(asked: ExtractRequest, using_: Link = to()) {
  const extraction = (await postgres.extract?.(using_, asked)) as Extract<Extraction, { kind: "csv" }>;
  return { columns: extraction.columns, ranged: extraction.ranged, csv: await textOf(extraction.bytes) };
}

const firstColumn = (csv: string) =>
  csv
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(",")[0]);

describe("verify", () => {
  test("succeeds with the right host, database, user and password", async () => {
    await postgres.verify(to());
  });

  test("distinguishes a wrong password, a missing database and an unknown user", async () => {
    const password = await failure(postgres.verify(to({}, { password: "wrong" })));
    expect(password).toMatchObject({ code: "upstream", retryable: false });
    expect(password.message).toContain('rejected the password of the user "postgres"');

    const database = await failure(postgres.verify(to({ database: "nowhere" })));
    expect(database.message).toContain('There is no database "nowhere"');

    const user = await failure(postgres.verify(to({}, { user: "nobody" })));
    expect(user.message).toContain('"nobody"');
  });

  test("never reveals the password", async () => {
    const error = await failure(postgres.verify(to({}, { password: "hunter2-hunter2" })));
    expect(error.message).not.toContain("hunter2");
  });

  test("reports a port where nobody listens", async () => {
    const port = await freePort();
    const error = await failure(postgres.verify(to({ port })));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
    expect(error.message).toContain(`127.0.0.1:${port} refused the connection`);
  });

  test("reports a host that doesn't exist", async () => {
    const egress = openEgress({ allow: [], self: () => null, resolve: async () => [] });
    const error = await failure(postgres.verify(to({ host: "no-such-host.example" }, {}, { egress })));
    expect(error.code).toBe("upstream");
    expect(error.message).toContain("no-such-host.example");
  });

  test("doesn't connect to an address that egress blocks", async () => {
    const egress = openEgress({ allow: [], self: () => null });
    const error = await failure(postgres.verify(to({}, {}, { egress })));
    expect(error.code).toBe("egress_blocked");
    expect(error.message).toContain("127.0.0.1");
  });

  test("reports a server that isn't PostgreSQL, and one that disconnects silently", async () => {
    for (const greeting of ["HTTP/1.1 400 Bad Request\r\n\r\n", ""]) {
      const server = createServer((socket) => socket.once("data", () => socket.end(greeting)));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      for (const sslMode of ["require", "disable"]) {
        const error = await failure(postgres.verify(to({ port, sslMode })));
        expect(error.code).toBe("upstream");
      }
      server.close();
    }
  });

  test("reports that the server has too many connections", async () => {
    await pg.sql.unsafe(`create role narrow login password 'narrow' connection limit 0`);
    const error = await failure(postgres.verify(to({}, { user: "narrow", password: "narrow" })));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
    expect(error.message).toContain("too many connections");
  });

  test("ends with the signal's reason when it is aborted", async () => {
    const server = createServer(() => undefined); // Accepts, and never responds.
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const stop = new AbortController();
    const verified = postgres.verify(to({ port }, {}, { signal: stop.signal }));
    stop.abort(new Error("enough"));
    expect(verified).rejects.toThrow("enough");
    await verified.catch(() => undefined);
    server.close();
  });

  test("connects to baseUrl instead of host and port", async () => {
    for (const baseUrl of [`127.0.0.1:${pg.port}`, `postgres://localhost:${pg.port}`]) {
      await postgres.verify(to({ host: "db.example.com", port: 1, baseUrl }));
    }
    const error = await failure(postgres.verify(to({ baseUrl: "http://127.0.0.1/x?y" })));
    expect(error.message).toContain("baseUrl");
  });
});

describe("sslMode", () => {
  const encrypted = async (sslMode: string) => {
    const { csv } = await extract(
      request("pg_catalog.pg_stat_ssl", {
        columns: ["ssl"],
        where: { sql: "pid = pg_backend_pid()", parameters: [] },
      }),
      to({ sslMode }),
    );
    return csv.trim();
  };

  test("require and prefer encrypt, disable and allow don't", async () => {
    expect(await encrypted("require")).toBe("t");
    expect(await encrypted("prefer")).toBe("t");
    expect(await encrypted("disable")).toBe("f");
    expect(await encrypted("allow")).toBe("f");
  });

  test("verify-ca and verify-full reject an untrusted certificate", async () => {
    for (const sslMode of ["verify-ca", "verify-full"]) {
      const error = await failure(postgres.verify(to({ sslMode })));
      expect(error).toMatchObject({ code: "upstream", retryable: false });
      expect(error.message).toContain("certificate");
    }
  });

  test("verify-ca accepts any name with a trusted authority, verify-full only the server's own", async () => {
    const authority = `${pg.databaseDir}-authority.pem`;
    await Bun.write(authority, testCertificate.authority);
    const child = Bun.spawn(
      [
        process.execPath,
        Bun.fileURLToPath(import.meta.resolve("./tls-child.ts")),
        String(pg.port),
        pg.password,
      ],
      { env: { NODE_EXTRA_CA_CERTS: authority }, stdout: "pipe" },
    );
    const lines = (await new Response(child.stdout).text()).trim().split("\n");
    await Bun.file(authority).delete();
    expect(lines).toEqual([
      "localhost verify-ca ok",
      "localhost verify-full ok",
      "127.0.0.1 verify-ca ok",
      "127.0.0.1 verify-full ok",
      "other.example verify-ca ok",
      `other.example verify-full The certificate of other.example:${pg.port} is made out for another host.`,
    ]);
  });

  test("prefer continues without TLS, and require stops, if the server has none", async () => {
    await using plain = await startPostgres();
    const place = { host: plain.host, port: plain.port };
    await postgres.verify(to(place));
    const error = await failure(postgres.verify(to({ ...place, sslMode: "require" })));
    expect(error.message).toContain("doesn't offer TLS");
  });
});

describe("tables", () => {
  test("lists tables and views with a spec for extracts, and system ones only on request", async () => {
    const tables = (await postgres.tables?.tables(to(), false)) ?? [];
    expect(tables).toContainEqual({ schema: "shop", table: "orders", spec: "shop.orders" });
    expect(tables).toContainEqual({ schema: "shop", table: "big_orders", spec: "shop.big_orders" });
    expect(tables).toContainEqual({ schema: "public", table: 'a"b; drop', spec: 'public."a""b; drop"' });
    expect(tables.some(({ schema }) => schema === "pg_catalog")).toBe(false);

    const all = (await postgres.tables?.tables(to(), true)) ?? [];
    expect(all.some(({ schema }) => schema === "pg_catalog")).toBe(true);
  });

  test("returns columns in ordinal order, with the source's types", async () => {
    expect(await postgres.tables?.columns(to(), "shop", "orders")).toEqual([
      { name: "id", dataType: "bigint", nullable: false },
      { name: "customer", dataType: "text", nullable: false },
      { name: "amount", dataType: "numeric(10,2)", nullable: true },
      { name: "placed_at", dataType: "timestamp with time zone", nullable: true },
    ]);
  });

  test("treats a table whose name is SQL as a name", async () => {
    const columns = await postgres.tables?.columns(to(), "public", 'a"b; drop');
    expect(columns?.map(({ name }) => name)).toEqual(['odd " column', "x; drop table shop.orders"]);
  });

  test("reports a missing table", async () => {
    const error = await failure(postgres.tables?.columns(to(), "shop", "nothing") ?? Promise.resolve());
    expect(error.code).toBe("not_found");
    expect(error.message).toContain("shop.nothing");
  });
});

describe("extract", () => {
  test("returns a table as CSV with DuckDB types", async () => {
    const { columns, csv, ranged } = await extract(request("shop.orders", { maxRows: 1 }));
    expect(columns).toEqual([
      { name: "id", dataType: "BIGINT", nullable: false },
      { name: "customer", dataType: "VARCHAR", nullable: false },
      { name: "amount", dataType: "DECIMAL(10,2)", nullable: true },
      { name: "placed_at", dataType: "TIMESTAMPTZ", nullable: true },
    ]);
    expect(csv).toBe("1,c1,1.50,2026-01-01 01:00:00+00,\n"); // The last field is for odd values.
    expect(ranged).toBe(true);
  });

  test("finds quoted, plain, folded and unqualified names", async () => {
    for (const spec of ['"shop"."orders"', "shop.orders", "SHOP.ORDERS"]) {
      expect(firstColumn((await extract(request(spec))).csv)).toHaveLength(10);
    }
    expect((await extract(request('public."a""b; drop"'))).csv).toBe("it's,1\n");
    expect((await extract(request('a"b; drop'))).csv).toBe("it's,1\n");
    expect((await extract(request("Shouting"))).columns).toEqual([
      { name: "ID", dataType: "INTEGER", nullable: true },
    ]);
  });

  test("returns only the requested columns, in that order", async () => {
    const { columns, csv } = await extract(
      request("shop.orders", { columns: ["customer", "id"], maxRows: 1 }),
    );
    expect(columns.map(({ name }) => name)).toEqual(["customer", "id"]);
    expect(csv).toBe("c1,1\n");
  });

  test("returns rows from the start of a range up to, but not including, its end", async () => {
    const range = { field: "id", from: 3, to: "6" };
    expect(firstColumn((await extract(request("shop.orders", { range }))).csv)).toEqual(["3", "4", "5"]);

    const since = { field: "placed_at", from: "2026-01-01T09:00:00.000Z", to: null };
    expect(firstColumn((await extract(request("shop.orders", { range: since }))).csv)).toEqual(["9", "10"]);
  });

  test("returns rows without a cursor only while the range has no start", async () => {
    await pg.sql.unsafe(
      "create table gaps (id int, at date); insert into gaps values (1, null), (2, '2026-01-02'), (3, '2026-01-03')",
    );
    const ids = async (from: string | null, end: string | null) =>
      firstColumn((await extract(request("gaps", { range: { field: "at", from, to: end } }))).csv);
    expect(await ids(null, null)).toEqual(["1", "2", "3"]);
    expect(await ids(null, "2026-01-03")).toEqual(["1", "2"]);
    expect(await ids("2026-01-02", null)).toEqual(["2", "3"]);
  });

  test("limits rows in cursor order, so that the next range continues where this one ended", async () => {
    await pg.sql.unsafe(
      "create table unsorted (at int); insert into unsorted values (5), (1), (4), (2), (3)",
    );
    const range = { field: "at", from: 2, to: null };
    expect(firstColumn((await extract(request("unsorted", { range, maxRows: 2 }))).csv)).toEqual(["2", "3"]);
  });

  test("puts parameters into the condition as values, wherever they are", async () => {
    const where = {
      sql: `customer = $1 /* not $2 here, /* nor $2 */ */ -- nor $2
        or customer = any($3) or (customer <> '$2' and $$ $2 $$ <> 'x' and id = $2)`,
      parameters: ["c2", 4, ["c7", "c8"]],
    };
    expect(firstColumn((await extract(request("shop.orders", { where }))).csv)).toEqual(["2", "4", "7", "8"]);
  });

  test("keeps hostile values values", async () => {
    const hostile = [
      "'; drop table shop.orders; --",
      "\\'; drop table shop.orders; --",
      "c1' or 'a'='a",
      "$1",
      "*/ or true --",
      "E'\\\\'",
      "\u0000",
    ];
    for (const value of hostile) {
      const where = { sql: "customer = $1 and customer <> E'a\\'$1' 'b'", parameters: [value] };
      const given = await extract(request("shop.orders", { where })).catch((error: unknown) => error);
      if (value === "\u0000") expect(given).toMatchObject({ code: "definition_invalid" });
      else if ("csv" in (given as object)) expect(given).toMatchObject({ csv: "" });
      else expect(given).toMatchObject({ code: "definition_invalid" });

      const range = { field: "customer", from: value, to: value };
      const ranged = await extract(request("shop.orders", { range })).catch((error: unknown) => error);
      if (value !== "\u0000") expect(ranged).toMatchObject({ csv: "" });
    }
    expect(await pg.sql`select count(*)::int as n from shop.orders`).toMatchObject([{ n: 10 }]);
  });

  test("doesn't let a condition out of its parentheses", async () => {
    const escapes = [
      "true); drop table shop.orders; --",
      "true)) TO PROGRAM 'touch /tmp/weir-escaped' --",
      "true)) TO STDOUT; drop table shop.orders; --",
      "true; commit; drop table shop.orders",
      "true) /*",
      "",
    ];
    for (const sql of escapes) {
      const error = await failure(extract(request("shop.orders", { where: { sql, parameters: [] } })));
      expect(error.code).toBe("definition_invalid");
      expect(error.message).toContain("where");
    }
    const writes = { sql: "nextval('counter') > 0", parameters: [] };
    await pg.sql.unsafe("create sequence counter");
    expect((await failure(extract(request("shop.orders", { where: writes })))).message).toContain(
      "read-only",
    );
  });

  test("reports which column a condition, a cursor or a list has wrong", async () => {
    const where = await failure(
      extract(request("shop.orders", { where: { sql: "nope = 1", parameters: [] } })),
    );
    expect(where).toMatchObject({ code: "definition_invalid" });
    expect(where.message).toContain("nope");

    const range = { field: "updated", from: null, to: null };
    const cursor = await failure(extract(request("shop.orders", { range })));
    expect(cursor).toMatchObject({ code: "cursor_field_missing" });
    expect(cursor.message).toContain("updated");

    const list = await failure(extract(request("shop.orders", { columns: ["id", "colour"] })));
    expect(list.message).toContain("colour");
  });

  test("reports that a value isn't of the cursor's type, or that parameters are missing", async () => {
    const range = { field: "id", from: "yesterday", to: null };
    const value = await failure(extract(request("shop.orders", { range })));
    expect(value).toMatchObject({ code: "definition_invalid" });
    expect(value.message).toContain("yesterday");

    const where = { sql: "id = $1 or id = $2", parameters: [1] };
    expect((await failure(extract(request("shop.orders", { where })))).message).toContain("2 parameters");
  });

  test("reports that a table doesn't exist, or can't be read", async () => {
    const missing = await failure(extract(request("shop.nothing")));
    expect(missing.code).toBe("not_found");
    expect(missing.message).toContain("shop.nothing");

    await pg.sql.unsafe(`create role reader login password 'reader'`);
    const denied = await failure(
      extract(request("shop.orders"), to({}, { user: "reader", password: "reader" })),
    );
    expect(denied.code).toBe("upstream");
    expect(denied.message).toContain("reader");
  });
});

describe("types", () => {
  test("leave DuckDB's Parquet as they were in PostgreSQL", async () => {
    await pg.sql.unsafe(`
      create type mood as enum ('sad', 'glad');
      create domain euro as numeric(8,2) not null;
      create type pair as (a int, b text);
      create table every (
        n int, i2 int2, i4 int4, i8 int8, big numeric(38,10), free numeric, wide numeric(50,2), f4 float4, f8 float8,
        yes bool, s text, v varchar(5), u uuid, j jsonb, js json, d date, t time, ts timestamp, tz timestamptz,
        b bytea, a int[], m mood, e euro, iv interval, r int4range, p pair, ip inet, small numeric(3,5), round numeric(3,-2));
      insert into every values
        (1, -32768, -2147483648, -9223372036854775808, 1234567890123456789012345678.0123456789, 1e-20, 1, 'NaN', 'Infinity',
         true, '', 'ä"b', '018f0000-0000-7000-8000-000000000001', '{"a": [1, "x"]}', '{"k" : 1}', 'infinity', '24:00', '-infinity',
         '2026-03-01 12:00:00.123456+02', '\\x00ff', '{1,null,3}', 'glad', 1.5, '-1 year 2 days', '[1,5)', row(1, 'z'), '10.0.0.1', 0.00123, 12300),
        (2, null, null, null, 'NaN', 'NaN', null, null, null, null, E'two\\nlines, "quoted" \\\\.', null, null, null, null,
         '0044-03-15 BC', null, '0001-12-31 BC', '294276-12-31 00:00+00', null, null, null, 0, null, null, null, null, null, null);
    `);
    const { columns, csv } = await extract(request("every"));
    const path = `${pg.databaseDir}-every.csv`;
    await Bun.write(path, csv);
    const db = await (await DuckDBInstance.create(":memory:")).connect();
    await db.run("SET TimeZone = 'UTC'");
    const spec = [...columns, { name: "odd", dataType: "VARCHAR", text: undefined }]
      .map(({ name, dataType, text }) => `'${name}': '${text ? "VARCHAR" : dataType}'`)
      .join(", ");
    const parquet = path.replace("csv", "parquet");
    await db.run(
      `copy (select * from read_csv('${path}', header=false, columns={${spec}}, nullstr='', allow_quoted_nulls=false, quote='"', escape='"')) to '${parquet}'`,
    );
    const reader = await db.runAndReadAll(`select columns(*)::varchar from '${parquet}' order by n`);
    const [one, two] = reader.getRowObjectsJson();
    await Bun.file(path).delete();
    await Bun.file(parquet).delete();

    expect(Object.fromEntries(columns.map(({ name, dataType }) => [name, dataType]))).toMatchObject({
      i2: "SMALLINT",
      big: "DECIMAL(38,10)",
      free: "VARCHAR",
      wide: "VARCHAR",
      e: "DECIMAL(8,2)",
      small: "DECIMAL(5,5)",
      round: "DECIMAL(5,0)",
      j: "JSON",
      u: "UUID",
      a: "INTEGER[]",
      b: "BLOB",
    });
    expect(columns.find(({ name }) => name === "e")?.nullable).toBe(false);
    expect(one).toEqual({
      n: "1",
      i2: "-32768",
      i4: "-2147483648",
      i8: "-9223372036854775808",
      big: "1234567890123456789012345678.0123456789",
      free: "0.00000000000000000001",
      wide: "1.00",
      f4: "nan",
      f8: "inf",
      yes: "true",
      s: "",
      v: 'ä"b',
      u: "018f0000-0000-7000-8000-000000000001",
      j: '{"a": [1, "x"]}',
      js: '{"k" : 1}',
      d: null,
      t: null,
      ts: null,
      tz: "2026-03-01 10:00:00.123456+00",
      b: "00ff",
      a: "[1,null,3]",
      m: "glad",
      e: "1.50",
      iv: "-1 years +2 days",
      r: "[1,5)",
      p: '{"a":1,"b":"z"}',
      ip: "10.0.0.1",
      small: ".00123",
      round: "12300",
      odd: expect.stringContaining('"d" : "infinity", "t" : "24:00:00", "ts" : "-infinity", "tz" : null'),
    });
    expect(two).toMatchObject({
      big: null,
      free: null,
      s: 'two\nlines, "quoted" \\.',
      d: null,
      ts: null,
      tz: null,
      u: null,
    });
    expect(JSON.parse(two?.odd as string)).toMatchObject({
      big: "NaN",
      free: "NaN",
      d: "0044-03-15 BC",
      ts: "0001-12-31 00:00:00 BC",
      tz: "294276-12-31 00:00:00+00",
    });
  });

  test("are the server's own text if the definition wants text", async () => {
    const columns = ["free", "d", "t", "ts", "b", "yes"];
    const types = new Map(columns.map((name) => [name, "VARCHAR"]));
    const { columns: given, csv } = await extract(request("every", { columns, types }));
    expect(new Set(given.map(({ dataType }) => dataType))).toEqual(new Set(["VARCHAR"]));
    expect(csv.split("\n").toSorted()).toEqual([
      "",
      "0.00000000000000000001,infinity,24:00:00,-infinity,\\x00ff,true",
      "NaN,0044-03-15 BC,,0001-12-31 00:00:00 BC,,",
    ]);
  });
});

describe("streams", () => {
  const idle = () =>
    pg.sql`select count(*)::int as n from pg_stat_activity where application_name = 'weir' and pid <> pg_backend_pid()`;
  const untilNobody = async () => {
    await eventually(async () => (await idle())[0]?.n === 0);
  };

  test("make the server wait for a slow reader", async () => {
    await pg.sql.unsafe(
      "create table many as select i, repeat('x', 200) as filler from generate_series(1, 300000) i",
    );
    const extraction = (await postgres.extract?.(to(), request("many"))) as Extract<
      Extraction,
      { kind: "csv" }
    >;
    const iterator = extraction.bytes[Symbol.asyncIterator]();
    let bytes = (await iterator.next()).value?.length ?? 0;
    for (;;) {
      const rows = await pg.sql`
        select 1 from pg_stat_activity where application_name = 'weir' and wait_event = 'ClientWrite'`;
      if (rows.length > 0) break;
      await Bun.sleep(5);
    }
    for (let next = await iterator.next(); !next.done; next = await iterator.next())
      bytes += next.value.length;
    expect(bytes).toBe(300_000 * 202 + 1_688_895);
    await untilNobody();
  });

  test("end on the server when the reader stops", async () => {
    const extraction = (await postgres.extract?.(to(), request("many"))) as Extract<
      Extraction,
      { kind: "csv" }
    >;
    for await (const _ of extraction.bytes) break;
    await untilNobody();
  });

  test("end on the server when the signal aborts, also while a query has no rows yet", async () => {
    for (const sslMode of ["require", "disable"]) {
      const stop = new AbortController();
      const where = { sql: "id = 1 and pg_sleep(60) is not null", parameters: [] };
      const running = extract(
        request("shop.orders", { where }),
        to({ sslMode }, {}, { signal: stop.signal }),
      );
      for (;;) {
        const rows = await pg.sql`select 1 from pg_stat_activity where wait_event = 'PgSleep'`;
        if (rows.length > 0) break;
        await Bun.sleep(5);
      }
      stop.abort(new Error("cancelled by hand"));
      expect(await running.catch((error: Error) => error.message)).toBe("cancelled by hand");
      await untilNobody();
    }
  });

  test("fail when the server ends the connection in the middle", async () => {
    const extraction = (await postgres.extract?.(to(), request("many"))) as Extract<
      Extraction,
      { kind: "csv" }
    >;
    const iterator = extraction.bytes[Symbol.asyncIterator]();
    await iterator.next();
    await pg.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'weir'`;
    const rest = (async () => {
      while (!(await iterator.next()).done);
    })();
    expect(await failure(rest)).toMatchObject({ code: "upstream", retryable: true });
  });
});

describe("an extractor", () => {
  /** Weir's idle connections, outside a transaction. */
  const IDLE = "from pg_stat_activity where application_name = 'weir' and state = 'idle'";

  test("reads one table after the other over one connection, and continues on another if that was closed", async () => {
    await pg.sql.unsafe("create view shop.who as select pg_backend_pid() as pid");
    const extractor = postgres.extractor?.();
    if (!extractor) throw new Error("There is none.");
    const read = async (spec: string) => {
      const extraction = await extractor.extract(to(), request(spec));
      if (extraction.kind !== "csv") throw new Error("It gives no CSV.");
      return (await textOf(extraction.bytes)).trim();
    };
    const first = await read("shop.who");
    expect(await failure(read("shop.nothing"))).toMatchObject({ code: "not_found" });
    expect(firstColumn(await read("shop.orders"))).toHaveLength(10);
    const second = await read("shop.who");
    expect(await read("shop.who")).toBe(second);
    expect(second).not.toBe(first); // An error closes its connection.

    await pg.sql.unsafe(`select pg_terminate_backend(pid) ${IDLE}`);
    await eventually(async () => (await pg.sql.unsafe(`select 1 ${IDLE}`)).length === 0);
    expect(firstColumn(await read("shop.orders"))).toHaveLength(10);
    await extractor.close();
    await eventually(async () => (await pg.sql.unsafe(`select 1 ${IDLE}`)).length === 0);
  });
});
