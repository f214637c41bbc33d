import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { startData } from "../data/place.ts";
import type { Kind } from "./canon.ts";
import { filesSource } from "./files-source.ts";
import { reportOf } from "./harness.ts";
import { digits, doubles, makeTables, type Sort, texts } from "./make.ts";
import { ARRIVED, TABLES } from "./scale.ts";
import { xlsxOf } from "./xlsx.ts";

setDefaultTimeout(3_600_000);

const sort = (type: string, kind: Kind, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind,
  hostile,
  ...(any ? { any } : {}),
});

const days = fc
  .date({ min: new Date("1904-01-02T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true })
  .map((date) => `${date.toISOString().slice(0, 10)} 00:00:00`);
const instants = fc
  .date({ min: new Date("1904-01-02T00:00:00Z"), max: new Date("2200-01-01T00:00:00Z"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 23).replace("T", " "));
const atOnce = [
  "1904-01-02 00:00:00",
  "2026-01-02 03:04:05",
  "1999-12-31 23:59:59.999",
  "2024-02-29 12:00:00",
];

const SORTS: readonly Sort[] = [
  sort("integers", "number", ["0", "-1", "9007199254740991"], digits(15, 0)),
  sort(
    "numbers",
    "number",
    ["0.1", "1.5", "-2.25", "0.30000000000000004", "1E-7", "1.0000000000000001E+300"],
    doubles.filter((text) => text !== "-0"),
  ),
  sort(
    "texts",
    "text",
    ["", " a ", "007", "1.50", "2026-01-02", "a\nb", "<&>", "漢🙂", "_x000D_", "\r", "TRUE"],
    texts,
  ),
  sort("truths", "bool", ["true", "false"]),
  sort("errors", "text", ["#N/A", "#DIV/0!", "#REF!"]),
  sort(
    "numbers and texts",
    "text",
    ["1", "0.1", "x", "007"].map((text) => (text === "007" ? "x007" : text)),
  ),
  sort("day", "timestamp", ["1904-01-02 00:00:00", "9999-12-31 00:00:00", "2024-02-29 00:00:00"], days),
  sort("instant", "timestamp", atOnce, instants),
  sort("instant of a code", "timestamp", atOnce, instants),
];

describe.skipIf(!ARRIVED.xlsx)("XLSX (tried with EXACT_ALL=1)", () => {
  let data: Awaited<ReturnType<typeof startData>>;
  beforeAll(async () => {
    data = await startData();
  });
  afterAll(() => data[Symbol.asyncDispose]());

  test("every cell of a sheet arrives, or the run counts it", async () => {
    const source = await filesSource(data, "xlsx", xlsxOf);
    expect(await reportOf(data, source, makeTables(SORTS, TABLES))).toEqual([]);
  });
});
