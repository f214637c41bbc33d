import fc from "fast-check";
import type { Kind } from "./canon.ts";
import { clocks, days, digits, doubles, floats, instants, type Sort, texts, wholes } from "./make.ts";

const sort = (type: string, kind: Kind, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind,
  hostile,
  ...(any ? { any } : {}),
});

const NINES = "9".repeat(38);
const integer = (type: string, min: bigint, max: bigint): Sort =>
  sort(type, "number", [String(min), String(max), "0", "1"], wholes(min, max));
const decimal = (precision: number, scale: number): Sort => {
  const most = `${"9".repeat(precision - scale) || "0"}${scale > 0 ? `.${"9".repeat(scale)}` : ""}`;
  return sort(
    `DECIMAL(${precision},${scale})`,
    "number",
    [most, `-${most}`, "0"],
    digits(precision - scale, scale),
  );
};
const at = ["0001-01-01 00:00:00", "1969-12-31 23:59:59", "9999-12-31 23:59:59", "1970-01-01 00:00:00"];
const micros = [
  ...at,
  "1969-12-31 23:59:59.999999",
  "294246-12-31 23:59:59.999999",
  "0044-03-15 (BC) 01:02:03",
  "infinity",
  "-infinity",
];

/**
 * Types of a Parquet file written by DuckDB; what changes on the way there isn't tested. No lists of fixed length:
 * if one is NULL, hyparquet reads the following rows of DuckDB's file shifted.
 */
export const PARQUET_SORTS: readonly Sort[] = [
  integer("TINYINT", -128n, 127n),
  integer("SMALLINT", -32_768n, 32_767n),
  integer("INTEGER", -(2n ** 31n), 2n ** 31n - 1n),
  integer("BIGINT", -(2n ** 63n), 2n ** 63n - 1n),
  integer("UTINYINT", 0n, 255n),
  integer("USMALLINT", 0n, 65_535n),
  integer("UINTEGER", 0n, 2n ** 32n - 1n),
  integer("UBIGINT", 0n, 2n ** 64n - 1n),
  integer("HUGEINT", -(2n ** 127n), 2n ** 127n - 1n),
  integer("UHUGEINT", 0n, 2n ** 128n - 1n),
  ...(
    [
      [4, 1],
      [9, 9],
      [18, 4],
      [19, 0],
      [38, 0],
      [38, 10],
      [38, 38],
    ] as const
  ).map(([p, s]) => decimal(p, s)),
  sort("FLOAT", "number", ["nan", "inf", "-inf", "-0.0", "0.1", "1e-45", "3.4028235e38"], floats),
  sort(
    "DOUBLE",
    "number",
    ["nan", "inf", "-inf", "-0.0", "0.1", "5e-324", "1.7976931348623157e308", "9007199254740993"],
    doubles,
  ),
  sort("BOOLEAN", "bool", ["true", "false"]),
  sort(
    "DATE",
    "date",
    ["0001-01-01", "9999-12-31", "10000-01-01", "0044-03-15 (BC)", "infinity", "-infinity"],
    days,
  ),
  sort("TIME", "time", ["00:00:00", "23:59:59.999999", "24:00:00"], clocks),
  sort("TIMETZ", "timetz", ["00:00:00+15:59", "23:59:59.999999-12", "12:00:00+05:30"]),
  sort("TIMESTAMP", "timestamp", micros, instants),
  sort(
    "TIMESTAMP_S",
    "timestamp",
    at,
    instants.map((text) => text.replace(/\..*/, "")),
  ),
  sort(
    "TIMESTAMP_MS",
    "timestamp",
    [...at, "1969-12-31 23:59:59.999"],
    instants.map((text) => text.replace(/(\.\d{3}).*/, "$1")),
  ),
  sort("TIMESTAMP_NS", "timestamp", [
    "1969-12-31 23:59:59.999999999",
    "2026-01-02 03:04:05.000000001",
    "1677-09-22 00:00:00",
    "2262-04-11 23:47:16.854775806",
  ]),
  sort("TIMESTAMP_NS", "timestamp", ["2026-01-02 03:04:05.123456", "1970-01-01 00:00:00"]),
  sort(
    "TIMESTAMPTZ",
    "timestamptz",
    [...micros.slice(0, 6).map((text) => `${text}+00`), "2026-01-02 03:04:05.000001+05:30", "infinity"],
    instants.map((text) => `${text}+00`),
  ),
  sort("INTERVAL", "interval", [
    "1 year 2 months 3 days 04:05:06.789",
    "00:00:00",
    "100 days",
    "23:59:59.999",
  ]),
  sort(
    "UUID",
    "uuid",
    [
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "80000000-0000-0000-0000-000000000000",
    ],
    fc.uuid(),
  ),
  sort("BLOB", "bytes", ["", "\\x00", "\\x00\\xFF\\x80", "ab"]),
  sort(
    "VARCHAR",
    "text",
    ["", " ", "a ", "e\u0301", "é", '"', "a\nb", "NULL", "漢🙂", "x".repeat(5000), "\u0000"],
    texts,
  ),
  sort("JSON", "json", [
    '{"b":1.0,"a":[1,null]}',
    "12345678901234567890123",
    '{"a":1,"a":2}',
    "1.10",
    "null",
    '"x"',
  ]),
  sort("ENUM('sad', 'o''k', '漢')", "text", ["sad", "o'k", "漢"]),
  sort("BIT", "text", ["0", "1", "10101", "1".repeat(70)]),
  sort("INTEGER[]", "number", ["[1, NULL, 3]", "[]", "[NULL]", "[-2147483648]"]),
  sort("UBIGINT[]", "number", ["[18446744073709551615, NULL]", "[]"]),
  sort("DECIMAL(38,10)[]", "number", [`[${"9".repeat(28)}.0000000001, NULL]`, "[]"]),
  sort("DOUBLE[]", "number", ["[0.1, nan, -inf, NULL]", "[-0.0, 5e-324]"]),
  sort("VARCHAR[]", "text", ["['a', NULL, '']", "[]", "['a,b', '\"', 'NULL']"]),
  sort("DATE[]", "date", ["[2026-01-02, NULL]", "[0001-01-01]"]),
  sort("TIMESTAMP[]", "timestamp", ["['2026-01-02 03:04:05.000001', NULL]"]),
  sort("TIMESTAMPTZ[]", "timestamptz", ["['2026-01-02 03:04:05.000001+00', NULL]"]),
  sort("UUID[]", "uuid", ["[00000000-0000-0000-0000-000000000000, NULL]"]),
  sort("BLOB[]", "bytes", ["[\\x00\\xFF, NULL]"]),
  sort("INTEGER[][]", "number", ["[[1, 2], [], NULL]", "[]"]),
  sort("STRUCT(a INTEGER, b VARCHAR)", "tree", ["{'a': 1, 'b': x}", "{'a': NULL, 'b': NULL}"]),
  sort("STRUCT(a DECIMAL(38,10), b HUGEINT, d DOUBLE)", "tree", [
    `{'a': ${NINES.slice(10)}.0000000001, 'b': 5, 'd': 0.1}`,
    "{'a': 1.5, 'b': NULL, 'd': -0.0}",
  ]),
  sort("STRUCT(n DOUBLE, t VARCHAR)", "tree", [
    "{'n': nan, 't': NaN}",
    "{'n': -inf, 't': ':Infinity,\"'}",
    "{'n': 1.5, 't': ':NaN,'}",
    "{'n': -0.0, 't': NULL}",
  ]),
  sort("DOUBLE[][]", "number", ["[[0.1, -0.0], [], NULL]", "[[5e-324]]"]),
  sort("VARCHAR[][][]", "text", ["[[['a', NULL], []], NULL]", "[]"]),
  sort("STRUCT(a STRUCT(b BIGINT[]))", "tree", ["{'a': {'b': [9007199254740993, NULL]}}", "{'a': NULL}"]),
  sort("STRUCT(x BIGINT)[]", "tree", ["[{'x': 9007199254740993}, NULL]", "[]"]),
  sort("MAP(VARCHAR, BIGINT)", "tree", ["{ké=1, b=9007199254740993}", "{}", "{a=NULL}"]),
  sort("MAP(INTEGER, VARCHAR)", "tree", ["{1=x, 2=y}", "{}"]),
];
