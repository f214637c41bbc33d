import type { Line } from "./line.ts";

const line = (title: string, values: readonly string[], more: Partial<Line> = {}): Line => ({
  type: title,
  title,
  values,
  ...more,
});

const NINES = "9".repeat(38);

/** Texts in a column of CSV or TSV. */
export const CSV_LINES: readonly Line[] = [
  line("64-bit integers", ["7", "9223372036854775807"]),
  line("integers of up to 38 digits", ["18446744073709551616"]),
  line("amounts and other decimals", ["12.34", "5"]),
  line("numbers of more than 38 digits", [`${NINES}9`]),
  line("numbers with an exponent", ["1.5e300"]),
  line("`true`, `false`", ["true", "false"]),
  line("dates", ["2026-01-31"]),
  line("timestamps without a time zone", ["2026-01-31 12:00:00", "2026-01-31T12:00"]),
  line("timestamps with a time zone", ["2026-01-31T12:00:00Z", "2026-01-31 12:00:00+05:30"]),
  line("timestamps with and without a time zone", ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00"]),
  line("timestamps with nanoseconds", ["2026-01-31T12:00:00.123456789Z"]),
  line("dates in other formats", ["01/02/2026"]),
  line("invalid dates", ["2026-02-31"]),
  line("times of day", ["12:00:00"]),
  line("numbers with leading zeros, plus signs or blanks", ["01234", "+5", " 7"]),
  line("numbers with other separators", ["1,000.50"]),
  line("hexadecimal numbers", ["0x1F"]),
  line("numbers in another notation", ["1.5e0", "-0"]),
  line("NaN, infinities", ["NaN", "1.5"]),
  line("`yes`, `no`", ["yes", "no"]),
  line("UUIDs", ["01900000-0000-7000-8000-000000000001"]),
  line("JSON", ['{"a":1.0}']),
  line("numbers and other text", ["1", "n/a"]),
  line("any other text", ["Zoë"]),
];

/** Values of a field of JSON. */
export const JSON_LINES: readonly Line[] = [
  line("64-bit integers", ["7", "9223372036854775807"]),
  line("larger integers", ["18446744073709551616"]),
  line("numbers that a double stores exactly as written", ["0.1", "5"]),
  line("decimals that a double can't store exactly", ["12345678901234567.89"]),
  line("numbers of more than 38 digits", [`0.${NINES}9`]),
  line("other numbers with an exponent", ["1e400"]),
  line("`true`, `false`", ["true", "false"]),
  line("text", ['"Zoë"']),
  line("dates as text", ['"2026-01-31"']),
  line("timestamps without a time zone as text", ['"2026-01-31T12:00:00"']),
  line("timestamps with a time zone as text", ['"2026-01-31T12:00:00Z"', '"2026-01-31 12:00:00+05:30"']),
  line("timestamps with and without a time zone", ['"2026-01-31T12:00:00Z"', '"2026-01-31T12:00:00"']),
  line("invalid dates", ['"2026-02-31"']),
  line("numbers as text", ['"01234"', '"1.50"']),
  line("values of several types", ["1", '"1"', "true"]),
  line("objects", ['{"a":1,"b":"x"}']),
  line("lists", ["[1,2]"]),
  line("lists of objects", ['[{"sku":"a","amount":0.5}]']),
];
