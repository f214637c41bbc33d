import { clocks, days, digits, doubles, instants, type Sort, texts, wholes } from "./make.ts";

const sort = (type: string, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind: "written",
  hostile,
  ...(any ? { any } : {}),
});

/** Columns of text files, by what they seem to contain. The values of each are mixed randomly. */
const PLAIN: readonly Sort[] = [
  sort(
    "integers",
    ["0", "-1", "9223372036854775807", "-9223372036854775808"],
    wholes(-(2n ** 63n), 2n ** 63n - 1n),
  ),
  sort("small integers", ["1", "2", "3"], wholes(0n, 9n)),
  sort(
    "integers beyond 64 bits",
    ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "9".repeat(38)],
    digits(38, 0),
  ),
  sort("integers beyond 38 digits", ["9".repeat(39), `1${"0".repeat(38)}`, "1"], digits(60, 0)),
  sort("decimals", ["0.1", "1.10", "-0.01", "12345678901234567.89"], digits(12, 2)),
  sort("long decimals", ["12345678901234567890.123456789012345678", "0.30000000000000004"], digits(20, 18)),
  sort(
    "decimals beyond 38 digits",
    [`${"9".repeat(20)}.${"9".repeat(19)}`, `0.${"3".repeat(39)}`],
    digits(30, 30),
  ),
  sort("days", ["0001-01-01", "9999-12-31", "2024-02-29"], days),
  sort("instants", ["2026-01-02 03:04:05", "2026-01-02T03:04:05.123456", "2026-01-02 03:04"], instants),
  sort(
    "instants of zones",
    ["2026-01-02T03:04:05Z", "2026-01-02 03:04:05.000001+05:30", "1900-01-01T00:00:00-11:30"],
    instants.map((text) => `${text.replace(" ", "T")}Z`),
  ),
  sort("true and false", ["true", "false"]),
  sort("times", ["00:00:00", "23:59:59.999999", "12:30"], clocks),
  sort(
    "texts",
    ["", " ", "a ", "e\u0301", "é", '"', "a\nb", "a\r\nb", "a,b;c\td|e", "'", "#1", "\\N", "漢🙂"],
    texts,
  ),
];

const ODD: readonly Sort[] = [
  sort("leading zeros", ["007", "00", "-01", "0", "00123.50", "01234"]),
  sort("minus zero", ["-0", "-0.0", "0", "1", "-0.00"]),
  sort("plus and spaces", ["+5", " 7", "7 ", "5", "1 000"]),
  sort("separators", ["1,000", "1.000,50", "1_000", "1'000", "$5", "5%"]),
  sort("powers", ["1e5", "1E5", "1e-7", "1e400", "1e-400", "5e-324", "1.5e300", "0e0"], doubles),
  sort("hexadecimal", ["0x1F", "0b101", "1f", "0xff", "1e2", "12"]),
  sort("not numbers", ["nan", "NaN", "inf", "-Infinity", "1", "1.5", "NULL", "NA"]),
  sort("odd days", [
    "infinity",
    "epoch",
    "0044-03-15 BC",
    "2026-02-30",
    "2026-1-2",
    "10000-01-01",
    "0000-01-01",
    "2026-01-02",
  ]),
  sort("days of other orders", [
    "01/02/2026",
    "13/02/2026",
    "2026/01/02",
    "1.2.2026",
    "02-03-26",
    "20260102",
  ]),
  sort("odd instants", [
    "2026-01-02 24:00:00",
    "2026-01-02T03:04:60Z",
    "2026-01-02 03:04:05+25:00",
    "2026-01-02 03:04:05 Europe/Berlin",
    "2026-01-02 03:04:05.1234567",
    "0000-01-01T00:00:00Z",
    "2026-01-02 03:04:05",
  ]),
  sort("zones and none", [
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05+02:00",
    "2026-01-02",
  ]),
  sort("yes and no", ["yes", "no"]),
  sort("truths", ["true", "TRUE", "t", "1", "0", "f", "True", "false"]),
  sort("one letter truths", ["t", "f", "T", "F"]),
  sort("ones and zeros", ["1", "0"]),
  sort("times of zones", ["12:00+05:30", "24:00:00", "12:00:00Z", "12:00"]),
  sort("JSON", ['{"a":1.0}', "[1, 2]", "null", '{"b":12345678901234567.89}']),
  sort("addresses", ["00000000-0000-0000-0000-000000000000", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff"]),
];

const all = [...PLAIN, ...ODD];

/** The last has everything, so that any two kinds of values meet in one column. */
export const CSV_SORTS: readonly Sort[] = [
  ...all,
  sort("all of these", [...new Set(all.flatMap(({ hostile }) => hostile))]),
];

/** The usual value in a column's rows, and the last one, which differs. */
export const LATE_TEXTS: readonly (readonly [usual: string, last: string])[] = [
  ["#", "x"],
  ["#", "1.5"],
  ["#", "007"],
  ["#", "9223372036854775808"],
  ["#", "9".repeat(39)],
  ["#", "1e5"],
  ["#", "-0"],
  ["#", " 7"],
  ["#", "1_000"],
  ["#", "0x1F"],
  ["#.25", "12345678901234567890.123456789012345678"],
  ["#.25", "0.30000000000000004"],
  ["#.25", "NaN"],
  ["#.25", "1,000.00"],
  ["2026-01-02", "2026/01/03"],
  ["2026-01-02", "infinity"],
  ["2026-01-02", "2026-02-30"],
  ["2026-01-02", "2026-01-02 00:00:00"],
  ["01/02/2026", "13/02/2026"],
  ["2026-01-02 03:04:05", "2026-01-02 03:04:05+02"],
  ["2026-01-02 03:04:05", "2026-01-02 03:04:05.1234567"],
  ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05"],
  ["true", "yes"],
  ["true", "TRUE"],
  ["true", "1"],
  ["12:00:00", "12:00:00+05:30"],
  ["", "007"],
  ["", "2026-01-02"],
];
