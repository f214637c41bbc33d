import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import readExcelFile from "read-excel-file/node";
import { numberFrom } from "../exact/canon.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { partOf } from "../support/zip.ts";
import { connectFolder, startData } from "./place.ts";

setDefaultTimeout(240_000);

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

let data: Awaited<ReturnType<typeof startData>>;
let folder: string;
beforeAll(async () => {
  data = await startData();
  folder = await connectFolder(data.owner);
}, 120_000);
afterAll(() => data[Symbol.asyncDispose]());

/** Requests the result of a query as a workbook. */
const ask = (sql: string, parameters: object = {}, headers: Record<string, string> = { accept: XLSX }) =>
  fetch(`${data.app.origin}/api/v1/query`, {
    method: "POST",
    headers: { authorization: `Bearer ${data.app.token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ sql, parameters }),
  });

async function workbookOf(sql: string, parameters: object = {}): Promise<Uint8Array> {
  const reply = await ask(sql, parameters);
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  return new Uint8Array(await reply.arrayBuffer());
}

/** Rows of its only sheet, read by another library. */
async function readElsewhere(bytes: Uint8Array): Promise<unknown[][]> {
  const [sheet, ...others] = await readExcelFile(Buffer.from(bytes), { trim: false });
  expect(others).toEqual([]);
  return (sheet?.data ?? []) as unknown[][];
}

/** Loads a workbook with Weir, and returns the rows. */
async function readBack(bytes: Uint8Array, dataset: string) {
  await data.upload(folder, `/${dataset}.xlsx`, bytes);
  const resources = [{ name: dataset, spec: `${dataset}.xlsx`, writeDisposition: "replace" }];
  const extract = await data.extract(folder, { dataset, resources });
  await extract.result();
  return data.rows(`SELECT * EXCLUDE (_dlt_id, _dlt_load_id) FROM raw.${dataset} ORDER BY n`);
}

const artifactOf = async (output: object) => {
  const { artifactId } = output as { artifactId: string };
  const reply = await fetch(`${data.app.origin}/api/v1/artifacts/${artifactId}/content`, {
    headers: { authorization: `Bearer ${data.app.token}` },
  });
  return { headers: reply.headers, bytes: new Uint8Array(await reply.arrayBuffer()) };
};

describe("rows as a workbook", () => {
  test("are what they are to another program: texts, numbers, dates, booleans and empty cells", async () => {
    const sql = `SELECT '007' AS code, '=1+1' AS formula, 1.50::DECIMAL(9,2) AS price, 12 AS count, 0.1::FLOAT AS part,
      DATE '2026-01-02' AS day, TIMESTAMP '2026-01-02 18:00:00' AS at, TIMESTAMPTZ '2026-01-02 08:00:00+02' AS zoned,
      true AS yes, NULL AS nothing, 'a<b>&"c"  ' AS marks, [1, 2] AS list, {'a': 'x'} AS record`;
    const [names, row, ...more] = await readElsewhere(await workbookOf(sql));
    expect(names).toEqual(
      ["code", "formula", "price", "count", "part", "day", "at", "zoned", "yes", "nothing"].concat([
        "marks",
        "list",
        "record",
      ]),
    );
    expect(row).toEqual([
      "007",
      "=1+1",
      1.5,
      12,
      0.1,
      new Date("2026-01-02T00:00:00Z"),
      new Date("2026-01-02T18:00:00Z"),
      new Date("2026-01-02T06:00:00Z"),
      true,
      null,
      'a<b>&"c"  ',
      "[1,2]",
      '{"a":"x"}',
    ]);
    expect(more).toEqual([]);
  });

  test("are downloaded by Accept, by format, and with a name", async () => {
    const reply = await ask("SELECT 1 AS n");
    expect([
      reply.status,
      reply.headers.get("content-type"),
      reply.headers.get("content-disposition"),
    ]).toEqual([200, XLSX, 'attachment; filename="query.xlsx"']);
    expect(await readElsewhere(new Uint8Array(await reply.arrayBuffer()))).toEqual([["n"], [1]]);
    const names = 'SELECT 1 AS "a<b>&""c""", 2 AS "=1+1", 3 AS n, 4 AS n WHERE false';
    expect(await readElsewhere(await workbookOf(names))).toEqual([['a<b>&"c"', "=1+1", "n", "n_1"]]);
    const twins = 'SELECT 1 AS v, 2 AS V, 3 AS "V_1" WHERE false';
    expect(await readElsewhere(await workbookOf(twins))).toEqual([["v", "V", "V_1"]]);
  });

  test("keep numbers and dates that a workbook can't hold as text, and the run says so", async () => {
    const sql = `SELECT n, 9007199254740993 + n * 2 AS big, 12345678901234567.89::DECIMAL(30,2) AS long, 'NaN'::DOUBLE AS nan,
      DATE '1815-12-10' AS old, TIMESTAMP '2026-01-02 03:04:05.678901' AS fine, 9007199254740992 AS fits FROM range(5) t(n)`;
    const output = { connectionId: "artifact", title: "Odd", format: "xlsx" };
    const result = await data.transform({ sql, output });
    expect(result.warnings).toEqual([
      'Rows.big: 5 values became text: more digits than a number of a workbook holds ("9007199254740993", "9007199254740995", "9007199254740997", …).',
      expect.stringMatching(/^Rows\.long: 5 values became text: more digits .*"12345678901234567\.89"/),
      expect.stringMatching(/^Rows\.nan: 5 values became text: a workbook has no such number \("NaN"/),
      expect.stringMatching(/^Rows\.old: 5 values became text: no date or time of a workbook \("1815-12-10"/),
      expect.stringMatching(/^Rows\.fine: 5 values .*"2026-01-02T03:04:05\.678901"/),
    ]);
    const { headers, bytes } = await artifactOf(result.output);
    expect(headers.get("content-type")).toBe(XLSX);
    expect(headers.get("content-disposition")).toContain('filename="Odd.xlsx"');
    const [, row] = await readElsewhere(bytes);
    expect(row).toEqual([
      0,
      "9007199254740993",
      "12345678901234567.89",
      "NaN",
      "1815-12-10",
      "2026-01-02T03:04:05.678901",
      9007199254740992,
    ]);
  });

  deepTest(
    "with more than a sheet or cell holds are rejected, with the place, before anything is written",
    async () => {
      const long = await ask(
        "SELECT i, CASE i WHEN 11 THEN repeat('x', 32768) END AS note FROM range(20) t(i)",
      );
      expect(long.status).toBe(422);
      expect(await long.text()).toContain('Row 12, column 2 \\"note\\": the text has 32,768 characters');
      const path = "/never.xlsx";
      const run = await data.end("duckdb_transform", {
        sql: "SELECT i FROM range(1048576) t(i)",
        output: { connectionId: folder, path, format: "xlsx" },
      });
      expect(run.error).toMatchObject({
        code: "limit_exceeded",
        message: expect.stringContaining("1,048,576 rows"),
      });
      const { body } = await data.owner("GET", `/api/v1/connections/${folder}/files`);
      expect(body.items.map((item: { name: string }) => item.name)).not.toContain("never.xlsx");
    },
  );

  test("have a bold header that stays in view, and columns as wide as their values", async () => {
    const sql = "SELECT i AS n, repeat('x', 30) AS text FROM range(3) t(i)";
    const xml = partOf(await workbookOf(sql), "xl/worksheets/sheet1.xml");
    expect(xml).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
    expect(xml).toContain('<col min="2" max="2" width="32" customWidth="1"/>');
    expect(xml).toContain('<c r="A1" s="1" t="inlineStr"><is><t xml:space="preserve">n</t>');
  });

  const row = fc.record({
    t: fc.option(
      fc.oneof(
        fc.string({ unit: "grapheme", maxLength: 20 }),
        fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.replaceAll("\0", "")),
        fc.constantFrom(
          "",
          "007",
          "=1+1",
          " a ",
          "a\r\nb\tc",
          "_x000D_",
          "_x0041_",
          "]]>",
          "\x01\x1f\x7f",
          "NULL",
        ),
      ),
    ),
    i: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
    d: fc.option(
      fc
        .tuple(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.nat(999_999))
        .map(([whole, part]) => `${whole}.${String(part).padStart(6, "0")}`),
    ),
    f: fc.option(
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((value) => value + 0)
        .map(String),
    ),
    b: fc.option(fc.boolean()),
    day: fc.option(fc.integer({ min: -800_000, max: 2_900_000 })),
    at: fc.option(fc.integer({ min: -9e12, max: 2e14 })),
    micros: fc.option(fc.nat(999)),
    clock: fc.option(fc.nat(86_399_999)),
  });
  const TYPED = `SELECT n, r->>'t' AS t, CAST(r->>'i' AS BIGINT) AS i, CAST(r->>'d' AS DECIMAL(38,6)) AS d,
    CAST(r->>'f' AS DOUBLE) AS f, CAST(r->>'b' AS BOOLEAN) AS b, DATE '1970-01-01' + CAST(r->>'day' AS INTEGER) AS day,
    make_timestamp(CAST(r->>'at' AS BIGINT) * 1000) AS at,
    make_timestamp(1700000000000000 + CAST(r->>'micros' AS BIGINT)) AS fine,
    CAST(make_timestamp(CAST(r->>'clock' AS BIGINT) * 1000) AS TIME) AS clock
    FROM (SELECT CAST(unnest(range(len(rows))) AS BIGINT) AS n, CAST(unnest(rows) AS JSON) AS r FROM (SELECT $rows AS rows))`;

  /** One text for each value, whatever its type. */
  const canon = (column: string, value: unknown): unknown => {
    if (value === null || column === "t") return value;
    const text = String(value);
    if (["n", "i", "d", "f"].includes(column)) return numberFrom(text);
    const short = text
      .replace(/Z$/, "")
      .replace(" ", "T")
      .replace(/\.?0+$/, (end) => (text.includes(".") ? "" : end));
    return column === "at" && short.length === 10 ? `${short}T00:00:00` : short;
  };

  deepTest("are read back by Weir's own reader, value by value", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 100, maxLength: 300 }), async (rows) => {
        const parameters = { rows: rows.map((each) => JSON.stringify(each)) };
        const expected = await data.rows(`${TYPED} ORDER BY n`, parameters);
        const found = await readBack(await workbookOf(TYPED, parameters), `back${++round}`);
        const canonical = (list: Record<string, unknown>[]) =>
          list.map((each) =>
            Object.fromEntries(Object.keys(expected[0]).map((key) => [key, canon(key, each[key] ?? null)])),
          );
        expect(canonical(found)).toEqual(canonical(expected));
      }),
      { numRuns: scaled(3, 40), seed: 2026 },
    );
  });
});

deepTest("text and Parquet files are compressed as requested", async () => {
  const sql = "SELECT i AS id, 'é' AS text FROM range(40000) t(i) ORDER BY i";
  const plain = async (format: string, compression?: string) => {
    const output = {
      connectionId: "artifact",
      title: "Rows",
      format,
      ...(compression ? { compression } : {}),
    };
    const { headers, bytes } = await artifactOf((await data.transform({ sql, output })).output);
    return { name: headers.get("content-disposition"), type: headers.get("content-type"), bytes };
  };
  for (const format of ["csv", "jsonl"]) {
    const { bytes } = await plain(format);
    const gzip = await plain(format, "gzip");
    expect([gzip.type, gunzipSync(gzip.bytes).equals(bytes)]).toEqual(["application/gzip", true]);
    expect(gzip.name).toContain(`Rows.${format}.gz`);
    const streamed = new Blob([new Uint8Array(gzip.bytes)])
      .stream()
      .pipeThrough(new DecompressionStream("gzip"));
    expect((await new Response(streamed).bytes()).length).toBe(bytes.length);
    const zstd = await plain(format, "zstd");
    expect([zstd.type, zstdDecompressSync(zstd.bytes).equals(bytes)]).toEqual(["application/zstd", true]);
    await data.upload(folder, `/packed.${format}.gz`, gzip.bytes);
    await data.upload(folder, `/packed.${format}.zst`, zstd.bytes);
  }
  for (const compression of ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
    await data.upload(folder, `/packed.${compression}.parquet`, (await plain("parquet", compression)).bytes);
  const extract = await data.extract(folder, {
    dataset: "packed",
    resources: [{ name: "packed", spec: "packed.*" }],
  });
  expect(await extract.result()).toMatchObject({ rows: 10 * 40_000 });
});

test("a compression that a format doesn't support is rejected at its field", async () => {
  for (const [format, compression] of [
    ["xlsx", "gzip"],
    ["csv", "snappy"],
  ]) {
    const { status, body } = await data.owner("POST", "/api/v1/actions", {
      name: "x",
      kind: "duckdb_transform",
      definition: { sql: "SELECT 1", output: { connectionId: "artifact", format, compression } },
    });
    expect([status, body.detail[0].loc]).toEqual([422, ["body", "definition", "output", "compression"]]);
  }
});
