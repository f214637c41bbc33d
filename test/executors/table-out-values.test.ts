import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { connectPostgres, startData } from "../data/place.ts";
import { connect } from "../support/connections.ts";
import { hasMariadb, startMariadb } from "../support/mariadb.ts";
import { startPostgres } from "../support/postgres.ts";
import { scaled, someOf } from "../support/scale.ts";

setDefaultTimeout(300_000);

/** A DuckDB type, its values as DuckDB SQL, and how two of them are compared. */
interface Sort {
  type: string;
  values: fc.Arbitrary<string>;
  shown?: (column: string) => string;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const integers = (type: string, bits: number, isSigned = true): Sort => ({
  type,
  values: fc
    .bigInt(
      isSigned
        ? { min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }
        : { min: 0n, max: 2n ** BigInt(bits) - 1n },
    )
    .map(String),
});
const decimals = (precision: number, scale: number): Sort => ({
  type: `DECIMAL(${precision},${scale})`,
  values: fc
    .bigInt({ min: -(10n ** BigInt(precision)) + 1n, max: 10n ** BigInt(precision) - 1n })
    .map((digits) => {
      const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
      const whole = text.slice(0, text.length - scale);
      return quoted(`${digits < 0n ? "-" : ""}${whole}${scale > 0 ? `.${text.slice(-scale)}` : ""}`);
    }),
});
const instants = (type: string, from: string, to: string): Sort => ({
  type,
  values: fc
    .bigInt({ min: BigInt(Date.parse(from)) * 1000n, max: BigInt(Date.parse(to)) * 1000n })
    .map((micros) => (type === "TIMESTAMP" ? `make_timestamp(${micros})` : `make_timestamptz(${micros})`)),
});
const texts: fc.Arbitrary<string> = fc
  .string({ unit: "binary", maxLength: 30 })
  .map((text) => text.toWellFormed().replaceAll("\0", "\\"));
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.stringify(value).replaceAll("\\u0000", "").toWellFormed());

const sorts = (isPostgres: boolean): Sort[] => [
  integers("TINYINT", 8),
  integers("SMALLINT", 16),
  integers("INTEGER", 32),
  integers("BIGINT", 64),
  integers("UTINYINT", 8, false),
  integers("USMALLINT", 16, false),
  integers("UINTEGER", 32, false),
  integers("UBIGINT", 64, false),
  decimals(38, 10),
  decimals(5, 5),
  decimals(18, 0),
  {
    type: "DOUBLE",
    values: fc
      .double(isPostgres ? {} : { noDefaultInfinity: true, noNaN: true })
      .map((value) => quoted(String(value === 0 ? 0 : value))),
  },
  {
    type: "FLOAT",
    values: fc
      .float(isPostgres ? {} : { noDefaultInfinity: true, noNaN: true })
      .map((value) => quoted(String(value === 0 ? 0 : value))),
  },
  { type: "BOOLEAN", values: fc.boolean().map(String) },
  { type: "VARCHAR", values: texts.map((text) => `decode(unhex('${hexOf(Buffer.from(text))}'))`) },
  {
    type: "BLOB",
    values: fc.uint8Array({ maxLength: 20 }).map((bytes) => `unhex('${hexOf(bytes)}')`),
    shown: (column) => `hex(${column})`,
  },
  { type: "UUID", values: fc.uuid().map(quoted) },
  {
    type: "DATE",
    values: fc.integer({ min: -719_162, max: 2_932_896 }).map((days) => `date '1970-01-01' + ${days}`),
  },
  {
    type: "TIME",
    values: fc
      .integer({ min: 0, max: 86_399_999_999 })
      .map((micros) => `time '00:00' + to_microseconds(${micros})`),
  },
  instants("TIMESTAMP", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
  instants(
    "TIMESTAMP WITH TIME ZONE",
    isPostgres ? "0001-01-01T00:00:00Z" : "1970-01-01T00:00:01Z",
    isPostgres ? "9999-12-31T23:59:59Z" : "2038-01-19T03:14:07Z",
  ),
  {
    type: "TIMESTAMP_NS",
    values: fc
      .bigInt({
        min: BigInt(Date.parse("1700-01-01")) * 1000n,
        max: BigInt(Date.parse("2200-01-01")) * 1000n,
      })
      .map((micros) => `make_timestamp(${micros})`),
  },
  { type: "JSON", values: json.map((text) => `decode(unhex('${hexOf(Buffer.from(text))}'))`) },
  ...(isPostgres
    ? [
        {
          type: "BIGINT[]",
          values: fc
            .array(fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })))
            .map((items) => `[${items.map((item) => item ?? "NULL").join()}]::BIGINT[]`),
        },
        {
          type: "VARCHAR[]",
          values: fc
            .array(fc.option(texts))
            .map(
              (items) =>
                `[${items.map((item) => (item === null ? "NULL" : `decode(unhex('${hexOf(Buffer.from(item))}'))`)).join()}]::VARCHAR[]`,
            ),
          shown: (column: string) => `to_json(${column})::VARCHAR`,
        },
        {
          type: "DOUBLE[]",
          values: fc
            .array(fc.double({ noNaN: true, noDefaultInfinity: true }))
            .map(
              (items) => `[${items.map((item) => quoted(String(item === 0 ? 0 : item))).join()}]::DOUBLE[]`,
            ),
        },
      ]
    : []),
];

/** Normalizes JSON, so that equal values are equal in any order and with any whitespace. */
const canonical = (text: unknown): unknown => {
  const sort = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sort)
      : value !== null && typeof value === "object"
        ? Object.fromEntries(
            Object.entries(value)
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([key, item]) => [key, sort(item)]),
          )
        : value;
  return text === null ? null : JSON.stringify(sort(JSON.parse(String(text))));
};

const SYSTEMS = hasMariadb ? ["PostgreSQL", "MariaDB"] : ["PostgreSQL"];
const RUNS = scaled(2, 30);

describe.each(someOf(1, SYSTEMS))("%s", (system) => {
  const isPostgres = system === "PostgreSQL";
  let data: Awaited<ReturnType<typeof startData>>;
  let connectionId: string;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    data = await startData();
    ends.push(() => data[Symbol.asyncDispose]());
    if (isPostgres) {
      const pg = await startPostgres();
      ends.push(() => pg[Symbol.asyncDispose]());
      connectionId = await connectPostgres(data.owner, pg);
      return;
    }
    const db = await startMariadb();
    ends.push(() => db[Symbol.asyncDispose]());
    await db.run("CREATE USER writer@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@'%'");
    const credentials = { user: "writer", password: "secret" };
    connectionId = (
      await connect(data.owner, { name: "Shop", provider: "mysql", config: db.config, credentials })
    ).id;
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("values of each type are returned from the table unchanged, whether it was created or existed", async () => {
    const all = sorts(isPostgres);
    let round = 0;
    const row = fc.tuple(...all.map(({ values }) => fc.option(values, { freq: 8 })));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), async (rows) => {
        const table = `t${++round}`;
        const values = rows.map(
          (cells, at) =>
            `SELECT ${[at, ...cells.map((cell, c) => `CAST(${cell ?? "NULL"} AS ${all[c]?.type})`)].join()}`,
        );
        const names = all.map((_, at) => `c${at}`);
        const sql = `SELECT * FROM (${values.join(" UNION ALL ")}) t(${["id", ...names].join()})`;
        const shown = (from: string) =>
          `SELECT ${all.map(({ type, shown = (column) => `${column}::VARCHAR` }, at) => `${shown(`CAST(c${at} AS ${type})`)} AS c${at}`).join()} FROM (${from}) ORDER BY id`;
        const output = { connectionId, table, primaryKey: ["id"] };
        await data.transform({ sql, output });
        const replaced = { ...output, writeDisposition: "replace" };
        expect(await data.transform({ sql, output: replaced })).toMatchObject({
          output: { inserted: rows.length, deleted: rows.length },
        });
        const merged = { ...output, writeDisposition: "merge" };
        expect(await data.transform({ sql, output: merged })).toMatchObject({
          output: { inserted: 0, updated: 0 },
        });
        const extract = await data.extract(connectionId, { dataset: "back", resources: [{ name: table }] });
        await extract.result();
        const plain = (found: Record<string, unknown>[]) =>
          found.map((each) =>
            names.map((name, at) => (all[at]?.type === "JSON" ? canonical(each[name]) : each[name])),
          );
        expect(plain(await data.rows(shown(`SELECT * FROM raw.back__${table}`)))).toEqual(
          plain(await data.rows(shown(sql))),
        );
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});
