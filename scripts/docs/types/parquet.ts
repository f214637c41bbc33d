import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Line, nameOf, rowsOf } from "./line.ts";

const line = (type: string, title: string, value: string, more: Partial<Line> = {}): Line => ({
  type,
  title,
  values: [value],
  ...more,
});

const AT = "2026-01-31 12:00:00";

/** Columns of Parquet, by the DuckDB type that is written as such a column. */
export const PARQUET_LINES: readonly Line[] = [
  line("TINYINT", "`INT_8`", "-128"),
  line("UTINYINT", "`UINT_8`", "255"),
  line("SMALLINT", "`INT_16`", "-32768"),
  line("USMALLINT", "`UINT_16`", "65535"),
  line("INTEGER", "`INT32`", "2147483647"),
  line("UINTEGER", "`UINT_32`", "4294967295"),
  line("BIGINT", "`INT64`", "9223372036854775807"),
  line("UBIGINT", "`UINT_64`", "18446744073709551615"),
  line("DECIMAL(12,2)", "`DECIMAL(12,2)`", "1234.50"),
  line("FLOAT", "`FLOAT`", "0.1", { values: ["0.1", "nan"] }),
  line("DOUBLE", "`DOUBLE`", "0.1", { values: ["0.1", "-inf"] }),
  line("BOOLEAN", "`BOOLEAN`", "true"),
  line("DATE", "`DATE`", "2026-01-31", { odd: "0044-03-15 (BC)" }),
  line("TIME", "`TIME`, without a zone", "12:00:00"),
  line("TIMETZ", "`TIME`, adjusted to UTC", "12:00:00+05:30"),
  line("TIMESTAMP_MS", "`TIMESTAMP` of milliseconds", AT, { odd: "infinity" }),
  line("TIMESTAMP", "`TIMESTAMP` of microseconds", AT, { odd: "infinity" }),
  line("TIMESTAMPTZ", "`TIMESTAMP`, adjusted to UTC", `${AT}+00`, { odd: "infinity" }),
  line("TIMESTAMP_NS", "`TIMESTAMP` of nanoseconds", AT, { odd: "infinity" }),
  line("TIMESTAMP_NS", "`TIMESTAMP` of nanoseconds, if a value has any", `${AT}.123456789`),
  line("INTERVAL", "`INTERVAL`", "1 day"),
  line("UUID", "`UUID`", "01900000-0000-7000-8000-000000000001"),
  line("BLOB", "`BYTE_ARRAY`", "\\x00\\xFF"),
  line("VARCHAR", "`STRING`", "a"),
  line("ENUM('a', 'b')", "`STRING`, from an enum", "b"),
  line("JSON", "`JSON`", '{"a":1.0}'),
  line("INTEGER[]", "`LIST`", "[1, NULL]"),
  line("INTEGER[2]", "`LIST` of a fixed length", "[1, 2]"),
  line("DATE[]", "`LIST` of dates, with one that `DATE` doesn't store", "[infinity]"),
  line("INTEGER[][]", "`LIST` of lists", "[[1, 2], []]"),
  line("STRUCT(a DOUBLE, b VARCHAR)", "a group", "{'a': 1.5, 'b': x}", {
    odd: "{'a': nan, 'b': x}",
    oddShown: "NaN",
  }),
  line("MAP(VARCHAR, INTEGER)", "`MAP`", "{a=1}"),
];

const quoted = (text: string | null): string => (text === null ? "NULL" : `'${text.replaceAll("'", "''")}'`);

/** The lines as a file. */
export async function parquetOf(lines: readonly Line[]): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "weir-types-"));
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const rows = rowsOf(lines).map((row, index) => {
      const values = row.map((text, at) => `CAST(${quoted(text)} AS ${lines[at]?.type}) AS ${nameOf(at)}`);
      return `SELECT ${[`${index + 1} AS id`, ...values].join(", ")}`;
    });
    const path = join(folder, "rows.parquet");
    await connection.run(`COPY (${rows.join(" UNION ALL ")}) TO ${quoted(path)} (FORMAT parquet)`);
    return await Bun.file(path).bytes();
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(folder, { recursive: true });
  }
}
