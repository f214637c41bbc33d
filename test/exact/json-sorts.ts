import fc from "fast-check";
import { days, digits, doubles, instants, type Sort, texts, wholes } from "./make.ts";

const sort = (type: string, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind: "raw",
  hostile,
  ...(any ? { any } : {}),
});

const quoted = (values: readonly string[]): string[] => values.map((value) => JSON.stringify(value));
const NINES = "9".repeat(38);

const SIMPLE: readonly Sort[] = [
  sort(
    "integers",
    ["0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808"],
    wholes(-(2n ** 63n), 2n ** 63n - 1n),
  ),
  sort(
    "integers beyond 64 bits",
    ["9223372036854775808", "18446744073709551615", NINES, `-${NINES}`],
    digits(38, 0),
  ),
  sort("integers beyond 38 digits", [`${NINES}9`, `1${"0".repeat(38)}`, "1"], digits(60, 0)),
  sort(
    "doubles",
    ["0.1", "1.5", "-2.25", "0.30000000000000004", "1e300", "5e-324"],
    doubles.filter((text) => text !== "-0"),
  ),
  sort(
    "fractions",
    ["12345678901234567.89", "0.10", "1.10", "1.0", "12345678901234567890.123456789012345678"],
    digits(20, 18),
  ),
  sort(
    "fractions beyond 38 digits",
    [`${"9".repeat(20)}.${"9".repeat(19)}`, `0.${"3".repeat(39)}`],
    digits(30, 30),
  ),
  sort("powers", [
    "1e5",
    "1E5",
    "1E+2",
    "1e-7",
    "1e400",
    "-1e400",
    "1e-400",
    "1.0e2",
    "123456789012345678e-3",
  ]),
  sort("minus zero", ["-0", "-0.0", "0", "1", "-0e0"]),
  sort("truths", ["true", "false"]),
  sort(
    "texts",
    quoted(["", " ", "a", "e\u0301", "é", '"', "a\nb", "漢🙂", "null", "\\N", "{}"]),
    texts.map((text) => JSON.stringify(text)),
  ),
  sort("escapes", ['"\\u00e9"', '"\\ud83d\\ude42"', '"\\/"', '"\\b\\f"', '"é"']),
  sort(
    "days",
    quoted(["2026-01-02", "0001-01-01", "9999-12-31"]),
    days.map((day) => `"${day}"`),
  ),
  sort(
    "odd days",
    quoted([
      "2026-02-30",
      "infinity",
      "epoch",
      "0044-03-15 BC",
      "01/02/2026",
      "2026-1-2",
      "0000-01-01",
      "2026-01-02",
    ]),
  ),
  sort(
    "instants",
    quoted(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000001Z", "2026-01-02 03:04:05+05:30"]),
    instants.map((text) => `"${text.replace(" ", "T")}Z"`),
  ),
  sort(
    "instants of no zone",
    quoted(["2026-01-02T03:04:05", "2026-01-02 03:04:05.123456"]),
    instants.map((text) => `"${text}"`),
  ),
  sort(
    "odd instants",
    quoted([
      "2026-01-02T24:00:00Z",
      "2026-01-02T03:04:60Z",
      "2026-01-02T03:04:05.1234567Z",
      "0000-01-01T00:00:00Z",
      "2026-01-02T03:04:05+25:00",
      "2026-01-02T03:04:05Z",
    ]),
  ),
  sort("zones and none", quoted(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-01-02"])),
  sort(
    "texts of numbers",
    quoted(["1", "007", "1.50", "1e5", "0x1F", "-0", "NaN"]),
    digits(12, 3).map((text) => `"${text}"`),
  ),
  sort("texts of truths", quoted(["true", "yes", "FALSE", "1"])),
  sort(
    "addresses",
    quoted(["00000000-0000-0000-0000-000000000000", "ffffffff-FFFF-ffff-ffff-ffffffffffff"]),
    fc.uuid().map((id) => `"${id}"`),
  ),
  sort("numbers and texts", ["1", '"1"', "1.5", '"x"']),
  sort("numbers and truths", ["1", "true", "0", "false"]),
  sort("whole numbers and fractions", ["1", "9007199254740993", "0.5", "1.10"]),
];

const NESTED: readonly Sort[] = [
  sort("objects", ['{"a":1,"b":"x"}', '{"a":12345678901234567.89}', '{"a":null}', "{}", '{"b":""}']),
  sort("objects in objects", [
    '{"a":{"b":{"c":1.10}}}',
    '{"a":{"b":null}}',
    '{"a":{"b":{"c":"2026-01-02"}}}',
  ]),
  sort("lists of numbers", ["[1,2]", "[]", "[12345678901234567890123]", "[0.1,null]", "[1.10]", "[-0]"]),
  sort("lists of texts", ['["a",""]', '["007"]', "[]", '["2026-01-02T03:04:05Z"]', '["a",null]']),
  sort("lists of objects", ['[{"a":1},{"a":9007199254740993}]', '[{"b":[1,2]}]', '[{"a":0.1,"b":[]}]', "[]"]),
  sort("lists of lists", ["[[1,2],[3]]", "[[]]", "[[[1]]]"]),
  sort("lists of mixed kinds", ['[1,"a"]', "[true,1]", '[{"a":1},2]']),
  sort("objects and texts", ['{"a":1}', '"x"', "1"]),
  sort("lists and texts", ["[1]", '"x"', "null"]),
];

export const JSON_SORTS: readonly Sort[] = [
  ...SIMPLE,
  ...NESTED,
  sort("all of these", [...new Set(SIMPLE.flatMap(({ hostile }) => hostile))]),
];

/** The usual value in a field's rows, and the last one, which differs. */
export const LATE_JSON: readonly (readonly [usual: string, last: string])[] = [
  ["#", "1.5"],
  ["#", "9223372036854775808"],
  ["#", "12345678901234567.89"],
  ["#", "1e400"],
  ["#", '"x"'],
  ["#", '{"a":1}'],
  ["#", "-0"],
  ["#.5", "12345678901234567890.123456789012345678"],
  ["#.5", "9007199254740993"],
  ["true", "1"],
  ['"2026-01-02"', '"2026-02-30"'],
  ['"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05"'],
  ['"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05.1234567Z"'],
  ['"a"', "1"],
  ["null", "1.10"],
  ["[#]", "[12345678901234567.89]"],
  ['{"a":#}', '{"a":"x"}'],
];
