import { expect, test } from "bun:test";
import { inWords } from "../../web/parts/base/time.tsx";
import { valueOfText } from "../../web/parts/sql/parameters.ts";
import { toCsv } from "../../web/parts/table/csv.ts";

test("a duration is rounded before it is split into units", () => {
  expect([0.34, 0.9994, 0.9996, 4.24, 9.94, 9.96, 59.4, 59.7].map(inWords)).toEqual([
    "340 ms",
    "999 ms",
    "1.0 s",
    "4.2 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1 min",
  ]);
  expect([60, 119.7, 185, 3599.4, 3599.8, 7199, 9000].map(inWords)).toEqual([
    "1 min",
    "2 min",
    "3 min 5 s",
    "59 min 59 s",
    "1 h",
    "2 h",
    "2 h 30 min",
  ]);
});

test("a number is sent as a number whenever a double keeps its value", () => {
  const sent = (text: string) => valueOfText({ type: "number", text });
  expect(
    ["2.50", "10.50", "007", "1.10", " 3 ", "-0.0", "0.12345678901234567", "9007199254740993", "x"].map(sent),
  ).toEqual([2.5, 10.5, 7, 1.1, 3, -0, "0.12345678901234567", "9007199254740993", "x"]);
});

test("CSV distinguishes an empty text from NULL", () => {
  expect(toCsv([{ name: "a" }, { name: "b" }], [{ a: "", b: null }])).toBe('a,b\r\n"",');
});
