import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startData } from "../data/place.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";
import { reportOf, type Source } from "./harness.ts";
import { lateTable, makeTables } from "./make.ts";
import { POSTGRES_SORTS, POSTGRES_TYPES } from "./postgres-sorts.ts";
import { postgresSource, startOddPostgres } from "./postgres-source.ts";
import { LATE, TABLES } from "./scale.ts";

let data: Awaited<ReturnType<typeof startData>>;
let pg: TestPostgres;
let source: Source;
beforeAll(async () => {
  [data, pg] = await Promise.all([startData(), startOddPostgres()]);
  await pg.sql.unsafe(POSTGRES_TYPES);
  source = await postgresSource(data.app.owner, pg);
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await pg[Symbol.asyncDispose]();
});

setDefaultTimeout(3_600_000);

test("every value of every type of PostgreSQL arrives, or the run counts it", async () => {
  expect(await reportOf(data, source, makeTables(POSTGRES_SORTS, TABLES))).toEqual([]);
});

deepTest("a value that differs from those in earlier rows arrives too", async () => {
  const sortOf = (type: string) => POSTGRES_SORTS.find((sort) => sort.type === type)!;
  const late = (type: string, usual: string, last: string) => ({
    column: sortOf(type),
    usual: (row: number) => usual.replace("#", String(row)),
    last,
  });
  const columns = [
    late("numeric", "#.25", "12345678901234567890.123456789012345678"),
    late("numeric", "#", `1${"0".repeat(45)}`),
    late("numeric", "#.5", "NaN"),
    late("numeric(10,-2)", "#00", "NaN"),
    late("date", "2026-01-01", "infinity"),
    late("timestamptz", "2026-01-01 00:00:00+00", "0044-03-15 00:00:00 BC"),
    late("time", "10:00:00", "24:00:00"),
    late("int4[]", "{#,1}", "{{1,2},{3,4}}"),
    late("numeric[]", "{#.5,1}", "{NaN}"),
    late("bytea", "\\x00", "\\x"),
    late("xid8", "#", "18446744073709551615"),
  ];
  expect(
    await reportOf(
      data,
      source,
      LATE.map((before) => lateTable(`late${before}`, columns, before)),
    ),
  ).toEqual([]);
});
