import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { startData } from "../data/place.ts";
import { filesSource } from "./files-source.ts";
import { reportOf } from "./harness.ts";
import { clocks, digits, doubles, makeTables, type Sort, texts } from "./make.ts";
import { TABLES } from "./scale.ts";
import { xlsxOf } from "./xlsx.ts";

setDefaultTimeout(3_600_000);

/** A column of cells, each prefixed with its kind. */
const sort = (type: string, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind: "cell",
  hostile,
  ...(any ? { any } : {}),
});
const all = (kind: string, values: readonly string[]) => values.map((value) => `${kind} ${value}`);
const any = (kind: string, values: fc.Arbitrary<string>) => values.map((value) => `${kind} ${value}`);

const between = (min: string, max: string) =>
  fc.date({ min: new Date(min), max: new Date(max), noInvalidDate: true });
const days = between("1900-03-01T00:00:00Z", "9999-12-31T00:00:00Z").map(
  (date) => `${date.toISOString().slice(0, 10)} 00:00:00`,
);
const instants = between("1904-01-01T00:00:00Z", "2200-01-01T00:00:00Z").map((date) =>
  date.toISOString().slice(0, 23).replace("T", " "),
);
const clocksOfMs = clocks.map((text) => text.replace(/(\.\d{3}).*/, "$1"));
const someDays = all(
  "d",
  ["1900-01-01", "1900-02-28", "1900-03-01", "1904-01-01", "9999-12-31", "2024-02-29"].map(
    (day) => `${day} 00:00:00`,
  ),
);
const someInstants = [
  ...all("d", ["1904-01-02 00:00:00", "2026-01-02 03:04:05", "2024-02-29 12:00:00"]),
  ...all("d", ["1999-12-31 23:59:59.999", "2200-01-01 00:00:00.001"]),
];
const someClocks = all("c", ["00:00:00", "03:04:05", "23:59:59.999", "12:00:00.001"]);
const numbers = ["0.1", "1.5", "-2.25", "0.30000000000000004", "1E-7", "1.0000000000000001E+300"];
const someTexts = ["", " a ", "007", "1.50", "2026-01-02", "a\nb", "<&>", "漢🙂", "_x000D_", "\r\n", "TRUE"];

const SORTS: readonly Sort[] = [
  sort(
    "integers",
    all("n", ["0", "-1", "9007199254740991", "12345678901234567890"]),
    any("n", digits(15, 0)),
  ),
  sort("numbers", all("n", numbers), any("n", doubles)),
  sort("numbers in color", all("n", ["-0", "0.10", "1.50", "1E+05"]), any("n", digits(10, 5))),
  sort("numbers of days", all("n", ["45000", "0.5"])),
  sort("numbers of hours", all("n", ["1.5", "45000.25"])),
  sort(
    "texts",
    all("s", [...someTexts, "\0", "\x01\x1f", "_x0041_", "_X000d_", "\ufffe", "__x000A__"]),
    any("s", texts),
  ),
  sort("truths", all("b", ["true", "false"])),
  sort("errors", all("e", ["#N/A", "#DIV/0!", "#REF!", "#NAME?"])),
  sort("formulas without a value", all("f", ["A1+1", '"x"&"y"'])),
  sort("day", [...someDays, "x 60", "x 0"], any("d", days)),
  sort("day of a code", someDays, any("d", days)),
  sort("instant", someInstants, any("d", instants)),
  sort("instant of a code", someInstants, any("d", instants)),
  sort(
    "day in ISO 8601",
    all("i", ["2026-01-02T00:00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"]),
  ),
  sort("zoned", all("i", ["2026-01-02T03:04:05Z", "1969-12-31T23:59:59.999999Z"])),
  sort("clock", someClocks, any("c", clocksOfMs)),
  sort("clock of seconds", someClocks, any("c", clocksOfMs)),
  sort("clock of a code", someClocks, any("c", clocksOfMs)),
  sort("rounded", [
    "r 2026-01-02 03:04:05.123456",
    "r 1999-12-31 23:59:59.000400",
    "d 2026-01-02 03:04:05.123",
  ]),
  sort("mix", [
    ...all("s", ["x", "007", ""]),
    ...["b true", "d 2026-01-02 00:00:00", "d 2026-01-02 03:04:05.678", "e #N/A"],
    ...all("n", ["-1", "-0.1"]),
  ]),
  sort("mix of numbers", all("n", ["-1", "2958466", "-1E-7"]), any("d", days)),
  sort("numbers and texts", [...all("n", ["1", "0.1", "1E-7", "1E+300", "-0"]), "s x", "s 1"]),
];

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

test("every cell of a sheet arrives, or the run counts it", async () => {
  const source = await filesSource(data, "xlsx", xlsxOf);
  expect(await reportOf(data, source, makeTables(SORTS, TABLES))).toEqual([]);
});
