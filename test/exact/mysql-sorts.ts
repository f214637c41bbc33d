import fc from "fast-check";
import type { Kind } from "./canon.ts";
import { clocks, days, digits, doubles, instants, type Sort, texts, wholes } from "./make.ts";

const sort = (type: string, kind: Kind, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind,
  hostile,
  ...(any ? { any } : {}),
});

const integer = (type: string, bits: bigint): Sort[] => {
  const half = 2n ** (bits - 1n);
  return [
    sort(type, "number", [String(-half), String(half - 1n), "0"], wholes(-half, half - 1n)),
    sort(
      `${type} unsigned`,
      "number",
      ["0", String(2n * half - 1n), String(half)],
      wholes(0n, 2n * half - 1n),
    ),
  ];
};
const decimal = (precision: number, scale: number): Sort => {
  const most = `${"9".repeat(precision - scale) || "0"}${scale > 0 ? `.${"9".repeat(scale)}` : ""}`;
  return sort(
    `decimal(${precision},${scale})`,
    "number",
    [most, `-${most}`, "0", "1"],
    digits(precision - scale, scale),
  );
};

const words = [
  "",
  " ",
  "a",
  "A",
  "a ",
  "é",
  "e\u0301",
  "NULL",
  "\\N",
  '"',
  "'",
  "a,b",
  "a\nb",
  "a\r\nb",
  "漢🙂",
  "0042",
  "\\",
  "\u0001",
];
const latin = ["", "a", "é", "ÿ", "a,b", '"'];
const zeroDays = ["0000-00-00", "2026-00-00", "2026-01-00", "0000-01-01", "2026-02-31"];
const short = texts.map((text) => [...text].slice(0, 20).join(""));
const bytes = fc.uint8Array({ maxLength: 20 }).map((some) => `\\x${Buffer.from(some).toString("hex")}`);

/** Types of MariaDB. A session without strict mode inserts what old servers may contain. */
export const MYSQL_SORTS: readonly Sort[] = [
  ...integer("tinyint", 8n),
  ...integer("smallint", 16n),
  ...integer("mediumint", 24n),
  ...integer("int", 32n),
  ...integer("bigint", 64n),
  sort("int(5) unsigned zerofill", "number", ["7", "0", "99999"]),
  ...(
    [
      [5, 2],
      [18, 2],
      [19, 0],
      [38, 0],
      [38, 18],
      [38, 38],
      [39, 1],
      [65, 0],
      [65, 30],
    ] as const
  ).map(([p, s]) => decimal(p, s)),
  sort("float", "number", ["0.1", "16777217", "3.4028234e38", "1e-45", "-0.30000001", "123456.789"]),
  sort(
    "double",
    "number",
    ["0.1", "5e-324", "1.7976931348623157e308", "9007199254740993", "0.30000000000000004", "1e22"],
    doubles.filter((text) => text !== "-0"),
  ),
  sort("bit(1)", "number", ["0", "1"]),
  sort("bit(64)", "number", ["0", "18446744073709551615", "9223372036854775808"], wholes(0n, 2n ** 64n - 1n)),
  sort("date", "date", ["0001-01-01", "9999-12-31", "1000-01-01", ...zeroDays], days),
  sort(
    "datetime(6)",
    "timestamp",
    [
      "0001-01-01 00:00:00",
      "9999-12-31 23:59:59.999999",
      "1969-12-31 23:59:59.999999",
      ...zeroDays.map((day) => `${day} 00:00:00`),
      "2026-00-01 12:00:00",
    ],
    instants,
  ),
  sort("datetime", "timestamp", ["2026-01-02 03:04:05", "0000-00-00 00:00:00"], instants),
  sort("timestamp(6) null", "timestamptz", [
    "1970-01-01 00:00:01",
    "2038-01-19 03:14:07.999999",
    "2026-03-29 02:30:00",
    "0000-00-00 00:00:00",
  ]),
  sort("time(6)", "text", ["-838:59:59.999999", "838:59:59.999999", "00:00:00", "-00:00:00.000001"], clocks),
  sort("year", "number", ["1901", "2155", "0"]),
  sort("char(24)", "text", words, short),
  sort("varchar(24)", "text", words, short),
  sort("varchar(24) character set latin1", "text", latin),
  sort("varchar(24) character set utf8mb4 collate utf8mb4_bin", "text", words, short),
  sort("varchar(24) character set utf16", "text", words, short),
  sort("text", "text", [...words, "x".repeat(5000)], texts),
  sort("json", "json", [
    '{"b":1.0,"a":[1,null]}',
    "12345678901234567890123",
    "1.10",
    "null",
    '"x"',
    '{"a":1,"a":2}',
  ]),
  sort("enum('a','o''k','漢','')", "text", ["a", "o'k", "漢", ""]),
  sort("set('a','b','c')", "text", ["", "a", "a,b", "a,b,c"]),
  sort(
    "uuid",
    "uuid",
    ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    fc.uuid(),
  ),
  sort("inet4", "text", ["0.0.0.0", "255.255.255.255"]),
  sort("inet6", "text", ["::", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:10.0.0.1"]),
  sort("blob", "bytes", ["\\x", "\\x00", "\\x00ff80", "\\x2c220a0d5c", `\\x${"ab".repeat(3000)}`], bytes),
  sort("varbinary(40)", "bytes", ["\\x", "\\x00", "\\xff00"], bytes),
  sort("binary(4)", "bytes", ["\\x", "\\x00000000", "\\x61"]),
  sort("point", "bytes", ["POINT(1 2)", "POINT(0.30000000000000004 -1)"]),
  sort("geometry", "bytes", ["LINESTRING(0 0,1 1)", "POLYGON((0 0,1 0,1 1,0 0))"]),
];
