import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { eq } from "drizzle-orm";
import { lakeTables } from "../../src/resources/datasets/table.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { join as enrol } from "../support/people.ts";
import { deepTest, someOf } from "../support/scale.ts";

setDefaultTimeout(120_000);

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

let made = 0;
const fresh = () => `up${++made}`;

/** Uploads to a new dataset unless one is named. */
function upload(content: string | Uint8Array, query = "format=csv", dataset = fresh(), headers = {}) {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const path = `/api/v1/datasets/raw/${dataset}/upload${query ? `?${query}` : ""}`;
  return weir.owner("PUT", path, bytes, { "content-type": "application/octet-stream", ...headers });
}
const ask = (sql: string, headers = {}, query = "", more = {}) =>
  weir.owner("POST", `/api/v1/query${query}`, { sql, ...more }, headers);
const rows = async (dataset: string, columns = "* EXCLUDE (_dlt_id, _dlt_load_id)") => {
  const { status, text, body } = await ask(`SELECT ${columns} FROM raw.${dataset}`);
  if (status !== 200) throw new Error(text);
  return body.rows;
};
const typesOf = (body: { columns: { name: string; dataType: string }[] }) =>
  Object.fromEntries(
    body.columns
      .filter(({ name }) => !name.startsWith("_dlt_"))
      .map(({ name, dataType }) => [name, dataType]),
  );
/** The only fault of a 422. */
const fault = ({ status, body }: { status: number; body: { detail: { loc: string[]; msg: string }[] } }) => [
  status,
  body.detail?.[0]?.loc,
  body.detail?.[0]?.msg,
];

describe("an upload", () => {
  test("creates a dataset, returns all of it, and records it", async () => {
    const { status, body } = await upload("id,name\n1,Ada\n2,Bob\n", "format=csv", "people");
    expect(status).toBe(201);
    expect(body).toEqual({
      loadId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      layer: "raw",
      dataset: "people",
      table: "people",
      rows: 2,
      bytes: expect.any(Number),
      files: 1,
      columns: [
        { name: "id", dataType: "BIGINT", nullable: true },
        { name: "name", dataType: "VARCHAR", nullable: true },
        { name: "_dlt_id", dataType: "VARCHAR", nullable: false },
        { name: "_dlt_load_id", dataType: "VARCHAR", nullable: false },
      ],
    });
    expect(
      (await ask("SELECT id, name, _dlt_load_id AS load FROM raw.people ORDER BY id")).body.rows,
    ).toEqual([
      { id: 1, name: "Ada", load: body.loadId },
      { id: 2, name: "Bob", load: body.loadId },
    ]);
    const { items } = (await weir.owner("GET", "/api/v1/events?type=dataset.uploaded")).body;
    expect(items[0]).toMatchObject({
      entity: { type: "dataset", id: "raw.people" },
      data: {
        layer: "raw",
        dataset: "people",
        table: "people",
        loadId: body.loadId,
        rows: 2,
        format: "csv",
        writeDisposition: "replace",
      },
    });
  });

  test("adds to a table, with columns that it lacks, or replaces it; each load can be read later", async () => {
    const first = await upload("id\n1\n", "format=csv", "grows");
    const second = await upload('{"id":2,"extra":[1,2]}', "format=jsonl&writeDisposition=append", "grows");
    expect(second.status).toBe(201);
    expect(await rows("grows")).toEqual([
      { id: 1, extra: null },
      { id: 2, extra: [1, 2] },
    ]);
    expect((await upload("id\n9\n", "format=csv", "grows")).status).toBe(201);
    expect(await rows("grows")).toEqual([{ id: 9 }]);
    const before = await ask(`SELECT id FROM raw.grows AS OF '${first.body.loadId}'`);
    expect(before.body.rows).toEqual([{ id: 1 }]);
    const clash = await upload("id\ntrue\n", "format=csv&writeDisposition=append", "grows");
    expect(clash.status).toBe(409);
    expect(clash.body).toMatchObject({
      code: "schema_contract_violation",
      detail: expect.stringContaining("Column id of raw.grows is BIGINT, and the file has it as BOOLEAN."),
    });
    expect(await rows("grows")).toEqual([{ id: 9 }]);
  });

  test("of an empty list adds no rows to a table, and makes none, since it has no columns", async () => {
    const message = "The file is an empty list. It has no columns, so no table can be created from it.";
    for (const query of ["format=json", "format=json&writeDisposition=append"])
      expect(fault(await upload(" []\n", query, "hollow"))).toEqual([422, ["body"], message]);
    await upload("a\n1\n", "format=csv", "hollow");
    const added = await upload("[]", "format=json&writeDisposition=append", "hollow");
    expect([added.status, added.body.rows, added.body.files, typesOf(added.body)]).toEqual([
      201,
      0,
      0,
      { a: "BIGINT" },
    ]);
    expect(fault(await upload("[]", "format=json", "hollow"))).toEqual([422, ["body"], message]);
    expect(await rows("hollow")).toEqual([{ a: 1 }]);
  });

  describe("with columns that each row has of its own", () => {
    const idsOf = async (dataset: string) => {
      const distinct =
        "count(*) AS n, count(DISTINCT _dlt_id) AS ids, count(_dlt_load_id) AS loads, any_value(typeof(_dlt_id)) AS type";
      return (await ask(`SELECT ${distinct} FROM raw.${dataset}`)).body.rows[0];
    };
    const renamed = (...names: string[]) =>
      names.map(
        (name) => `Column "${name}" is called ${name}_2, because each row has its own ${name.toLowerCase()}.`,
      );

    test.each([
      ["numbers", "a,_dlt_id,_dlt_load_id\n1,7,x\n2,8,x\n", "csv", ["_dlt_id"], ["7", "8"]],
      ["twice", "a,_dlt_id\n1,x\n2,x\n", "csv", ["_dlt_id"], ["x", "x"]],
      ["gaps", "a,_dlt_id,_dlt_load_id\n1,x,\n2,,\n", "csv", ["_dlt_id", "_dlt_load_id"], ["x", null]],
      ["cased", "a,_DLT_ID\n1,x\n2,y\n", "csv", ["_DLT_ID"], ["x", "y"]],
      ["lines", '{"a":1,"_dlt_id":true}\n{"a":2,"_dlt_id":false}\n', "jsonl", ["_dlt_id"], ["true", "false"]],
    ])(
      "that can't be those (%s) renames them, warns, and can be repeated",
      async (dataset, text, format, names, values) => {
        const first = await upload(text, `format=${format}`, dataset);
        expect([first.status, first.body.warnings]).toEqual([201, renamed(...names)]);
        const second = await upload(text, `format=${format}&writeDisposition=append`, dataset);
        expect([second.status, second.body.warnings]).toEqual([201, renamed(...names)]);
        expect((await upload("a\n3\n", "format=csv&writeDisposition=append", dataset)).status).toBe(201);
        expect(await idsOf(dataset)).toEqual({ n: 5, ids: 5, loads: 5, type: "VARCHAR" });
        const found = await ask(
          `SELECT DISTINCT a, ${names[0]}_2::VARCHAR AS v FROM raw.${dataset} WHERE a < 3 ORDER BY a`,
        );
        expect(found.body.rows.map(({ v }: { v: string }) => v)).toEqual(values);
      },
    );

    test("that can be those keeps them, such as those of a download", async () => {
      await upload("a\n1\n2\n", "format=csv", "origin");
      const { text } = await weir.owner("POST", "/api/v1/query?format=csv", {
        sql: "FROM raw.origin ORDER BY a",
      });
      const again = await upload(text, "format=csv", "restored");
      expect([again.status, again.body.warnings]).toEqual([201, undefined]);
      const { body } = await ask(
        "SELECT a FROM raw.origin JOIN raw.restored USING (a, _dlt_id, _dlt_load_id) ORDER BY a",
      );
      expect(body.rows).toEqual([{ a: 1 }, { a: 2 }]);
    });
  });

  test("keeps the column of each name, although case alone tells them apart", async () => {
    const [append, asJson] = ["format=csv&writeDisposition=append", "format=json&writeDisposition=append"];
    const { body } = await upload("id,ID\n1,100\n", "format=csv", "twins");
    expect(body.warnings).toEqual(['Column "ID" is called ID_2, because case doesn\'t distinguish columns.']);
    await upload("ID,id\n200,2\n", append, "twins");
    await upload("id_2\n300\n", append, "twins");
    expect(await rows("twins")).toEqual([
      { id: 1, ID_2: 100 },
      { id: 2, ID_2: 200 },
      { id: null, ID_2: 300 },
    ]);
    const unclear = await upload("Id\n3\n", append, "twins");
    expect([unclear.status, unclear.body.detail]).toEqual([
      409,
      'Column "Id" could be id or ID_2 of the table, since only case tells their names apart. Call it as one of them.',
    ]);
    await upload('[{"a":1},{"A":2}]', "format=json", "letters");
    await upload('[{"A":4}]', asJson, "letters");
    expect(await rows("letters")).toEqual([
      { a: 1, A_2: null },
      { a: null, A_2: 2 },
      { a: null, A_2: 4 },
    ]);
  });

  test("finds the columns of a table from an older version by the numbers that it gave them", async () => {
    await upload("id,ID\n1,100\n", "format=csv", "older");
    await weir.app.store.write(async (db) => {
      const [table] = await db.select().from(lakeTables).where(eq(lakeTables.dataset, "older"));
      const columns = table?.columns.map(({ source: _, ...column }) => column) ?? [];
      await db.update(lakeTables).set({ columns }).where(eq(lakeTables.dataset, "older"));
    });
    await upload("ID,id\n200,2\n", "format=csv&writeDisposition=append", "older");
    expect(await rows("older")).toEqual([
      { id: 1, ID_2: 100 },
      { id: 2, ID_2: 200 },
    ]);
  });

  test.each(
    someOf(1, [
      ["text/csv; charset=utf-8", "a\n1\n"],
      ["application/json", '[{"a":1}]'],
      ["application/x-ndjson", '{"a":1}\n'],
    ]),
  )("recognizes %s by its Content-Type", async (type, content) => {
    const dataset = fresh();
    const { status } = await upload(content, "", dataset, { "content-type": type });
    expect(status).toBe(201);
    expect(await rows(dataset)).toEqual([{ a: 1 }]);
  });

  test("is loaded into a table of the dataset, in any layer", async () => {
    const path = "/api/v1/datasets/staging/shop/upload?format=csv&table=orders";
    expect((await weir.owner("PUT", path, "id\n1\n", { "content-type": "text/csv" })).status).toBe(201);
    expect((await ask("SELECT id FROM staging.shop__orders")).body.rows).toEqual([{ id: 1 }]);
  });

  test.each([
    ["raw/x/upload", 422, ["query", "format"]],
    ["raw/x/upload?format=xlsx", 422, ["query", "format"]],
    ["raw/x/upload?format=csv&delimiter=ab", 422, ["query", "delimiter"]],
    ["raw/x/upload?format=csv&table=A-b", 422, ["query", "table"]],
    ["raw/x/upload?format=csv&writeDisposition=merge", 422, ["query", "writeDisposition"]],
    ["raw/x/upload?format=csv&encoding=ebcdic", 422, ["query", "encoding"]],
    ["raw/X/upload?format=csv", 422, ["path", "dataset"]],
    ["temp/x/upload?format=csv", 422, ["path", "layer"]],
  ])("to %s is rejected", async (path, status, loc) => {
    const reply = await weir.owner("PUT", `/api/v1/datasets/${path}`, Buffer.from("a\n1\n"), {
      "content-type": "application/octet-stream",
    });
    expect([reply.status, reply.body.detail[0].loc]).toEqual([status, loc]);
  });

  test("is for members, and stays in the organization", async () => {
    const { call: viewer } = await enrol(weir, "viewer");
    const path = "/api/v1/datasets/raw/people/upload?format=csv";
    expect((await viewer("PUT", path, "a\n1\n", { "content-type": "text/csv" })).status).toBe(403);
    const { body: beta } = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
    const there = { "content-type": "text/csv", "x-organization-id": beta.id };
    expect((await weir.owner("PUT", path, "own\nbeta\n", there)).status).toBe(201);
    expect((await ask("SELECT own FROM raw.people", { "x-organization-id": beta.id })).body.rows).toEqual([
      { own: "beta" },
    ]);
    expect((await ask("SELECT count(*) AS n FROM raw.people")).body.rows).toEqual([{ n: 2 }]);
  });
});

describe("values are kept exactly", () => {
  test("in CSV: each column has the type that holds all of its values exactly, or stays text", async () => {
    const lines = [
      "whole,large,huge,zip,price,long,flag,day,year0,at,zoned,mixed,empty,text",
      '1,9007199254740993,123456789012345678901234567890,007,1.50,0.30000000000000004,true,9999-12-31,0000-01-01,2024-02-29T10:00:00,2024-02-29T10:00:00+02:00,1,,"a,""b"""',
      '-2,-9007199254740993,1,12345,2,1e3,FALSE,0001-01-01,2024-01-01,2024-02-29 10:00:00.123456,0001-01-01T00:00:00Z,x,,""',
    ];
    const { body } = await upload(lines.join("\n"), "format=csv", "kept");
    expect(typesOf(body)).toEqual({
      whole: "BIGINT",
      large: "BIGINT",
      huge: "DECIMAL(38,0)",
      zip: "VARCHAR",
      price: "DECIMAL(38,2)",
      long: "VARCHAR",
      flag: "VARCHAR",
      day: "DATE",
      year0: "VARCHAR",
      at: "TIMESTAMP",
      zoned: "TIMESTAMP WITH TIME ZONE",
      mixed: "VARCHAR",
      empty: "VARCHAR",
      text: "VARCHAR",
    });
    expect((await rows("kept"))[0]).toEqual({
      whole: 1,
      large: "9007199254740993",
      huge: "123456789012345678901234567890",
      zip: "007",
      price: "1.50",
      long: "0.30000000000000004",
      flag: "true",
      day: "9999-12-31",
      year0: "0000-01-01",
      at: "2024-02-29T10:00:00.000",
      zoned: "2024-02-29T08:00:00.000Z",
      mixed: "1",
      empty: null,
      text: 'a,"b"',
    });
    expect((await rows("kept"))[1].text).toBeNull();
  });

  deepTest("in CSV: the first rows never decide the type of the last one", async () => {
    const first = `n,amount,day,flag,late\n${"1,2.5,2024-01-01,true,\n".repeat(3_000)}`;
    const { body } = await upload(`${first}9007199254740993,0.125,2024-13-01,yes,7\n`, "format=csv", "last");
    expect(typesOf(body)).toEqual({
      n: "BIGINT",
      amount: "DECIMAL(38,3)",
      day: "VARCHAR",
      flag: "VARCHAR",
      late: "BIGINT",
    });
    expect(await rows("last", "max(n) AS n, min(amount) AS amount, max(late) AS late")).toEqual([
      { n: "9007199254740993", amount: "0.125", late: 7 },
    ]);
  });

  deepTest("in TSV, by name and by Content-Type", async () => {
    const content = "a\tb\n1,5\tx\n";
    const [named, typed] = [fresh(), fresh()];
    expect((await upload(content, "format=tsv", named)).status).toBe(201);
    await upload(content, "", typed, { "content-type": "text/tab-separated-values" });
    for (const dataset of [named, typed]) expect(await rows(dataset)).toEqual([{ a: "1,5", b: "x" }]);
  });

  test.each(someOf(1, ["json", "jsonl"]))("in %s: every digit of a number", async (format) => {
    const lines = [
      '{"long":12345678901234567.89,"zeros":1.10,"short":0.1,"whole":1.0,"large":9007199254740993,"huge":18446744073709551616,"beyond":1,"both":9007199254740993,"nested":{"n":[1.10,12345678901234567.89]},"odd":1.10,"far":1e400}',
      '{"long":1,"zeros":2.5,"short":1e-7,"whole":1e3,"large":-1,"huge":1,"beyond":1234567890123456789012345678901234567890,"both":0.5,"nested":null,"odd":"1.10","far":1}',
    ];
    const content = format === "json" ? `[${lines.join(",\n")}]` : lines.join("\n");
    const { status, body } = await upload(content, `format=${format}`);
    expect(status).toBe(201);
    expect(typesOf(body)).toEqual({
      long: "DECIMAL(38,2)",
      zeros: "DECIMAL(38,2)",
      short: "DOUBLE",
      whole: "BIGINT",
      large: "BIGINT",
      huge: "DECIMAL(38,0)",
      beyond: "VARCHAR",
      both: "DECIMAL(38,1)",
      nested: "JSON",
      odd: "JSON",
      far: "VARCHAR",
    });
    expect(
      await rows(
        body.dataset,
        "* EXCLUDE (_dlt_id, _dlt_load_id, nested, odd), nested::VARCHAR AS nested, odd::VARCHAR AS odd",
      ),
    ).toEqual([
      {
        long: "12345678901234567.89",
        zeros: "1.10",
        short: 0.1,
        whole: 1,
        large: "9007199254740993",
        huge: "18446744073709551616",
        beyond: "1",
        both: "9007199254740993.0",
        far: "1e400",
        nested: '{"n":[1.10,12345678901234567.89]}',
        odd: "1.10",
      },
      {
        long: "1.00",
        zeros: "2.50",
        short: 1e-7,
        whole: 1000,
        large: -1,
        huge: "1",
        beyond: "1234567890123456789012345678901234567890",
        both: "0.5",
        far: "1",
        nested: null,
        odd: '"1.10"',
      },
    ]);
  });

  test("in JSON: late columns, texts with quotes and line breaks, and days and times", async () => {
    const lines = [
      "{}",
      ...Array.from({ length: 3_000 }, (_, at) => JSON.stringify({ at: "2024-02-29T10:00:00Z", n: at })),
      JSON.stringify({
        at: "2024-02-29 10:00:00.5+02:00",
        text: 'a "b",\n\tü\u0000',
        day: "2024-02-30",
        n: null,
      }),
    ];
    const { body } = await upload(lines.join("\n"), "format=jsonl", "late");
    expect(body.rows).toBe(3_002);
    expect(typesOf(body)).toEqual({
      at: "TIMESTAMP WITH TIME ZONE",
      n: "BIGINT",
      text: "VARCHAR",
      day: "VARCHAR",
    });
    expect(
      await ask('SELECT "at", text, day FROM raw.late WHERE text IS NOT NULL').then(({ body }) => body.rows),
    ).toEqual([{ at: "2024-02-29T08:00:00.500Z", text: 'a "b",\n\tü\u0000', day: "2024-02-30" }]);
    expect(await ask("SELECT max(n) AS n FROM raw.late").then(({ body }) => body.rows)).toEqual([
      { n: 2_999 },
    ]);
  });

  deepTest("in JSON: numbers, texts and nested values", async () => {
    const content = JSON.stringify([
      {
        id: 12345,
        code: "007",
        n: 1,
        nested: { a: [1, { b: null }] },
        day: "2024-01-01",
        mixed: 1,
      },
      { id: 1, code: "8", n: 2.5, nested: null, day: "9999-12-31", mixed: "x", ok: false, none: null },
    ]).replace("12345", "123456789012345678901234567890");
    const { body } = await upload(content, "format=json", "nested");
    expect(typesOf(body)).toEqual({
      id: "DECIMAL(38,0)",
      code: "VARCHAR",
      n: "DOUBLE",
      nested: "JSON",
      day: "DATE",
      mixed: "JSON",
      ok: "BOOLEAN",
      none: "VARCHAR",
    });
    expect(await rows("nested")).toEqual([
      {
        id: "123456789012345678901234567890",
        code: "007",
        n: 1,
        nested: { a: [1, { b: null }] },
        day: "2024-01-01",
        mixed: 1,
        ok: null,
        none: null,
      },
      {
        id: "1",
        code: "8",
        n: 2.5,
        nested: null,
        day: "9999-12-31",
        mixed: "x",
        ok: false,
        none: null,
      },
    ]);
  });

  deepTest("in JSON: fields whose names differ only in case, which are separate columns", async () => {
    for (const [format, content] of [
      ["json", '[{"a":1,"A":2,"a_1":3},{"A":"x","a/b~":null,"n":null}]'],
      ["jsonl", '{"a":1,"A":2,"a_1":3}\n{"A":"x","a/b~":null,"n":null}\n'],
    ] as const) {
      const { status, body } = await upload(content, `format=${format}`);
      expect(status).toBe(201);
      expect(await rows(body.dataset)).toEqual([
        { a: 1, A_2: 2, a_1: 3, "a/b~": null, n: null },
        { a: null, A_2: "x", a_1: null, "a/b~": null, n: null },
      ]);
    }
    const { body } = await upload('[{"id":1,"id_1":2}]', "format=json");
    expect(await rows(body.dataset)).toEqual([{ id: 1, id_1: 2 }]);
  });

  test("in Parquet, and back again", async () => {
    const sql =
      "SELECT 9007199254740993 AS big, 1.10::DECIMAL(9,2) AS price, [1, 2] AS list, DATE '9999-12-31' AS day, NULL AS nothing";
    const file = await fetch(`${weir.origin}/api/v1/query?format=parquet`, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    expect(file.headers.get("content-type")).toBe("application/vnd.apache.parquet");
    const bytes = new Uint8Array(await file.arrayBuffer());
    expect((await upload(bytes, "format=parquet", "back")).status).toBe(201);
    expect(await rows("back")).toEqual([
      { big: "9007199254740993", price: "1.10", list: [1, 2], day: "9999-12-31", nothing: null },
    ]);
  });

  deepTest("in Parquet: with types that every reader of the lake supports", async () => {
    const sql = `SELECT 18446744073709551615::UBIGINT AS u, 170141183460469231731687303715884105727::HUGEINT::VARCHAR AS h,
      TIMESTAMP_NS '2024-01-01 00:00:00.123456789' AS fine, TIMESTAMP_NS '2024-01-01 00:00:00.123456' AS coarse,
      {'a': 1} AS s, 7::UTINYINT AS small`;
    const file = await fetch(`${weir.origin}/api/v1/query?format=parquet`, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    const { body } = await upload(new Uint8Array(await file.arrayBuffer()), "format=parquet", "typed");
    expect(typesOf(body)).toEqual({
      u: "DECIMAL(20,0)",
      h: "VARCHAR",
      fine: "VARCHAR",
      coarse: "TIMESTAMP",
      s: "JSON",
      small: "INTEGER",
    });
    expect(await rows("typed", "u, fine, s")).toEqual([
      { u: "18446744073709551615", fine: "2024-01-01 00:00:00.123456789", s: { a: 1 } },
    ]);
  });

  deepTest("compressed with gzip or Zstandard", async () => {
    const csv = Buffer.from("id,name\n1,Ada\n2,漢\n");
    for (const packed of [csv, gzipSync(csv), zstdCompressSync(csv)]) {
      const dataset = fresh();
      expect((await upload(packed, "format=csv", dataset)).status).toBe(201);
      expect(await rows(dataset)).toEqual([
        { id: 1, name: "Ada" },
        { id: 2, name: "漢" },
      ]);
    }
    const latin = zstdCompressSync(Buffer.from("a\n\xe4\n", "latin1"));
    const dataset = fresh();
    expect((await upload(latin, "format=csv&encoding=latin1", dataset)).status).toBe(201);
    expect(await rows(dataset)).toEqual([{ a: "ä" }]);
  });

  test("in CSV whose first line names its delimiter, as Excel writes it", async () => {
    for (const [name, text] of [
      ["sep_plain", "sep=|\r\nid;a|note\r\n1;2|x\r\n"],
      ["sep_marked", '\ufeff"SEP=|"\nid;a|note\n1;2|x\n'],
    ] as const) {
      expect((await upload(text, "format=csv", name)).status).toBe(201);
      expect(await rows(name)).toEqual([{ "id;a": "1;2", note: "x" }]);
    }
    expect((await upload("sep=;,x\n1,2\n", "format=csv", "sep_header")).status).toBe(201);
    expect(Object.values((await rows("sep_header"))[0])).toEqual([1, 2]);
  });

  test("in UTF-16 of either order, which its byte order mark shows", async () => {
    const little = Buffer.from("\ufeffid,name\n1,漢\n", "utf16le");
    const big = Buffer.from(little).swap16();
    for (const bytes of [little, big])
      for (const query of ["format=csv", "format=csv&encoding=utf-16"]) {
        const dataset = fresh();
        expect((await upload(bytes, query, dataset)).status).toBe(201);
        expect(await rows(dataset)).toEqual([{ id: 1, name: "漢" }]);
      }
  });

  deepTest("in other encodings, with other delimiters, and with duplicate or missing names", async () => {
    const dataset = fresh();
    await upload(Buffer.from("a;b\ncafé;1\n", "latin1"), "format=csv&encoding=latin1", dataset);
    expect(await rows(dataset)).toEqual([{ a: "café", b: 1 }]);
    const wide = fresh();
    await upload(Buffer.from("\ufeffa,b\nü,1\n", "utf16le"), "format=csv&encoding=utf-16", wide);
    expect(await rows(wide)).toEqual([{ a: "ü", b: 1 }]);
    const odd = fresh();
    await upload("a,A,,b c\n1,2,3,4\n", "format=csv", odd);
    expect(await rows(odd)).toEqual([{ a: 1, A_2: 2, column_3: 3, "b c": 4 }]);
    const none = fresh();
    await upload("1,x\n2,y\n", "format=csv&header=false", none);
    expect(await rows(none)).toEqual([
      { column_1: 1, column_2: "x" },
      { column_1: 2, column_2: "y" },
    ]);
    const only = fresh();
    expect((await upload("a,b\n", "format=csv", only)).body).toMatchObject({ rows: 0, files: 0 });
    expect(await rows(only)).toEqual([]);
  });
});

describe("invalid files load nothing, and report the reason", () => {
  const wide = `${Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(",")}\n`;
  test.each(
    someOf(5, [
      [
        "a quote missing",
        'a,b\n1,"x\n2,y\n3,z\n',
        "format=csv",
        /^The file can't be read as CSV, line 2: .*quote/,
      ],
      [
        "a quote missing in the first line",
        'a,"b\n1,2\n',
        "format=csv",
        /line 1: a quoted value doesn't end/,
      ],
      ["text after a quote", 'a,b\n1,"x" y\n', "format=csv", /^The file can't be read as CSV, line 2: /],
      ["too few fields", "a,b\n1,2\n3\n", "format=csv", /line 3: Expected Number of Columns: 2 Found: 1/],
      [
        "too many fields",
        "a,b\n1,2\n3,4,5\n",
        "format=csv",
        /line 3: Expected Number of Columns: 2 Found: 3/,
      ],
      ["nothing", "", "format=csv", /^The file has no line with the names of columns\.$/],
      ["10,000 columns", wide, "format=csv", /^The file has 10000 columns; at most 2000 can be loaded\.$/],
      [
        "Latin-1",
        Buffer.from("a\ncafé\n", "latin1"),
        "format=csv",
        /^The file isn't valid UTF-8\. .* encoding=latin1\.$/,
      ],
      ["JSON cut short", '[{"a":1},{"a":', "format=json", /^The file can't be read as JSON: Malformed JSON/],
      ["JSON without objects", "[1,2]", "format=json", /use a list of objects/],
      ["JSON with a number among objects", '[{"a":1},1.10]', "format=json", /use a list of objects/],
      ["JSON with nothing after a comma", '[{"a":1},]', "format=json", /Malformed JSON/],
      ["JSON of no bytes", "", "format=json", /use a list of objects/],
      ["JSON of spaces", " \n", "format=json", /use a list of objects/],
      [
        "JSON whose objects have no fields",
        "[{}]",
        "format=json",
        /^The file has only objects without fields, and so no columns\.$/,
      ],
      [
        "JSON lines of which one is none",
        '{"a":1}\n{"a"\n',
        "format=jsonl",
        /^The file can't be read as lines of JSON: /,
      ],
      [
        "JSON with a key twice in one object",
        '[{"a":{"b":1,"b":2}}]',
        "format=json",
        /^The file can't be read as JSON: an object has the key "a\.b" twice\.$/,
      ],
      ["no Parquet", "hello", "format=parquet", /^The file can't be read as Parquet: .*too small/],
    ]),
  )("%s", async (_, content, query, message) => {
    const dataset = fresh();
    const reply = fault(await upload(content, query, dataset));
    expect(reply).toEqual([422, ["body"], expect.stringMatching(message)]);
    expect(String(reply[2])).not.toContain(weir.dataFolder);
    expect((await weir.owner("GET", `/api/v1/datasets?q=${dataset}`)).body.total).toBe(0);
  });

  deepTest("CSV with a record that is too long, wherever it is", async () => {
    const long = "x".repeat(17 * 1024 ** 2);
    const files = {
      only: `id,n\n1,${long}\n`,
      last: `id,n\n1,"a ""b"" c"\n2,${long}`,
      quoted: `id,n\r\n1,5" pipe\r\n2,"${"line\n".repeat(4 * 1024 ** 2)}"\r\n`,
    };
    for (const [name, content] of Object.entries(files)) {
      const record = name === "only" ? 2 : 3;
      const said = `The file can't be read as CSV: record ${record} is longer than 8 MiB.`;
      expect([name, ...fault(await upload(content))]).toEqual([name, 422, ["body"], said]);
    }
    const many = `id\r${'"a\nb"\r'.repeat(1_500_000)}`;
    expect((await upload(many)).body.rows).toBe(1_500_000);
  });

  test("truncated compressed bytes", async () => {
    const csv = Buffer.from(`i,v\n${"1,abcdefgh\n".repeat(10_000)}`);
    const cases = [
      ["gzip", gzipSync(csv)],
      ["Zstandard", zstdCompressSync(csv)],
    ] as const;
    for (const [title, packed] of cases)
      for (const length of [packed.length - 1, Math.floor(packed.length / 2), 6])
        expect(fault(await upload(packed.subarray(0, length)))).toEqual([
          422,
          ["body"],
          `The file is not whole, or not ${title}.`,
        ]);
  });

  test("truncated Parquet", async () => {
    const file = await fetch(`${weir.origin}/api/v1/query?format=parquet`, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ sql: "SELECT * FROM range(10000)" }),
    });
    const bytes = new Uint8Array(await file.arrayBuffer());
    expect(fault(await upload(bytes.slice(0, bytes.length - 10), "format=parquet"))).toEqual([
      422,
      ["body"],
      expect.stringMatching(/^The file can't be read as Parquet: No magic bytes/),
    ]);
  });

  test("an interrupted upload, and leave no file behind", async () => {
    const gone = new AbortController();
    const sent = fetch(`${weir.origin}/api/v1/datasets/raw/broken/upload?format=csv`, {
      method: "PUT",
      headers: { authorization: `Bearer ${weir.token}` },
      body: new ReadableStream({
        async pull(controller) {
          controller.enqueue(Buffer.from("a\n1\n"));
          await Bun.sleep(5);
        },
      }),
      signal: gone.signal,
    }).catch(() => "gone");
    await Bun.sleep(100);
    gone.abort();
    expect(await sent).toBe("gone");
    expect((await weir.owner("GET", "/api/v1/datasets?q=broken")).body.total).toBe(0);
    const future = new Date("2999-01-01T00:00:00Z");
    await eventually(async () => {
      const left = await Array.fromAsync(weir.app.lake.list(future));
      return !left.some((path) => path.startsWith(".work/"));
    });
  });
});

describe("rows as a file", () => {
  test("as CSV, all of them, by Accept or by format", async () => {
    const sql = "SELECT i AS id, 'a,\"b\"' AS text, NULL AS nothing FROM range(1500) t(i)";
    for (const [headers, query] of [
      [{ accept: "text/csv" }, ""],
      [{}, "?format=csv"],
      [{ accept: "text/csv;q=0.9, application/json" }, ""],
    ] as const) {
      const { status, headers: given, text } = await ask(sql, headers, query);
      expect(status).toBe(200);
      expect(given.get("content-type")).toBe("text/csv");
      expect(given.get("content-disposition")).toBe('attachment; filename="query.csv"');
      const lines = text.trimEnd().split("\n");
      expect(lines).toHaveLength(1501);
      expect(lines.slice(0, 2)).toEqual(["id,text,nothing", '0,"a,""b""",']);
    }
    expect((await ask(sql, {}, "?format=csv", { limit: 2 })).text.trimEnd().split("\n")).toHaveLength(3);
    expect((await ask(sql, { accept: "text/csv" }, "?format=json")).body.rowCount).toBe(1000);
    expect((await ask(sql, { accept: "image/png" })).body.rowCount).toBe(1000);
  });

  test("as CSV, with names that differ only in case", async () => {
    const sql = `SELECT 1 AS v, 2 AS V, 3 AS "V_1", 'a,"' AS text, '' AS none, NULL AS nothing, 1.50 AS n`;
    expect((await ask(sql, {}, "?format=csv")).text).toBe(
      'v,V,V_1,text,none,nothing,n\n1,2,3,"a,""","",,1.50\n',
    );
    expect((await ask(`${sql} WHERE false`, {}, "?format=csv")).text).toBe("v,V,V_1,text,none,nothing,n\n");
  });

  test("as JSON lines and CSV, with the sign of a negative zero", async () => {
    const sql = "SELECT '-0.0'::DOUBLE AS n, ['-0.0'::FLOAT] AS list";
    expect((await ask(sql, {}, "?format=jsonl")).text).toBe('{"n":-0.0,"list":[-0.0]}\n');
    expect((await ask(sql, {}, "?format=csv")).text).toBe("n,list\n-0.0,[-0.0]\n");
  });

  deepTest("as JSON lines, all of them, with the values of a JSON response", async () => {
    const sql =
      "SELECT i AS id, 9007199254740993 + i AS big, 1.10::DECIMAL(9,2) AS price, [i] AS list, NULL AS nothing, {'a': 'x'} AS record, 'a\nb' AS text, '{\"k\":\r\n\"v\"}'::JSON AS json, 1 AS id FROM range(25000) t(i)";
    const { rows: expected } = (await ask(sql, {}, "", { limit: 10_000 })).body;
    for (const [headers, query] of [
      [{ accept: "application/x-ndjson" }, ""],
      [{}, "?format=jsonl"],
    ] as const) {
      const { status, headers: given, text } = await ask(sql, headers, query);
      expect([status, given.get("content-type")]).toEqual([200, "application/x-ndjson"]);
      expect(given.get("content-disposition")).toBe('attachment; filename="query.jsonl"');
      const lines = text.trimEnd().split("\n");
      expect(lines).toHaveLength(25_000);
      expect(lines.slice(0, 10_000).map((line) => JSON.parse(line))).toEqual(expected);
    }
    const some = async (limit: number) =>
      (await ask(sql, {}, "?format=jsonl", { limit })).text.split("\n").length;
    expect([await some(1), await some(10_000)]).toEqual([2, 10_001]);
    expect((await ask("SELECT 1 AS n WHERE false", {}, "?format=jsonl")).text).toBe("");
  });

  deepTest("of tables and past states, with parameters, from several statements", async () => {
    await upload("id\n1\n2\n", "format=csv", "filed");
    const sql = "CREATE TEMP TABLE t AS FROM raw.filed; SELECT id, $x AS x FROM t ORDER BY id -- done";
    const { text } = await ask(sql, {}, "?format=csv", { parameters: { x: "é" } });
    expect(text).toBe("id,x\n1,é\n2,é\n");
  });

  test.each(["json", "jsonl", "xlsx", "csv", "parquet"])(
    "an error in a late row is reported, and not the rows before it as %s",
    async (format) => {
      const others = Array.from({ length: 200 }, (_, at) => `i + ${at} AS c${at}`).join(", ");
      const sql = `SELECT CASE WHEN i = 8000 THEN error('boom') ELSE i END AS v, ${others} FROM range(9000) t(i)`;
      const told = await ask(sql, {}, `?format=${format}`, format === "json" ? { limit: 10_000 } : {});
      expect(fault(told)).toEqual([422, ["body", "sql"], "Invalid Input Error: boom"]);
    },
  );

  test("an error is reported as one, and no file is left", async () => {
    const { status, body } = await ask("SELECT nome FROM raw.filed", {}, "?format=jsonl");
    expect([status, body.detail[0].loc, body.detail[0].type]).toEqual([422, ["body", "sql"], "sql_error"]);
    expect((await ask("DROP TABLE IF EXISTS x", {}, "?format=csv")).status).toBe(422);
    expect((await ask("SELECT 1", {}, "?format=xls")).body.detail[0].loc).toEqual(["query", "format"]);
    const future = new Date("2999-01-01T00:00:00Z");
    const left = (await Array.fromAsync(weir.app.lake.list(future))).filter((path) =>
      path.startsWith(".work/"),
    );
    expect(left).toEqual([]);
  });
});
