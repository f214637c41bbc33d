import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startData } from "../data/place.ts";
import { deepTest } from "../support/scale.ts";
import { filesSource } from "./files-source.ts";
import { reportOf } from "./harness.ts";
import { jsonOf, linesOf } from "./json.ts";
import { JSON_SORTS, LATE_JSON } from "./json-sorts.ts";
import { lateTable, makeTables } from "./make.ts";
import { compareNested } from "./nested.ts";
import { IS_DEEP, LATE, TABLES } from "./scale.ts";

setDefaultTimeout(3_600_000);

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

describe.each([
  ["json", jsonOf],
  ["jsonl", linesOf],
] as const)("%s", (format, write) => {
  const open = () => filesSource(data, format, write, { compare: compareNested });

  test("every value arrives as written", async () => {
    expect(await reportOf(data, await open(), makeTables(JSON_SORTS, Math.ceil(TABLES / 2)))).toEqual([]);
  });

  deepTest("a value that differs from those in earlier rows arrives too", async () => {
    const columns = LATE_JSON.map(([usual, last]) => ({
      column: { type: `${usual} and then ${last}`, kind: "raw" as const, hostile: [] },
      usual: (row: number) => usual.replace("#", String(row)),
      last,
    }));
    const alone = (before: number) =>
      columns.map((column, at) => lateTable(`late${before}c${at}`, [column], before));
    const tables = LATE.flatMap((before) => [
      lateTable(`late${before}`, columns, before),
      ...(IS_DEEP || before === LATE[0] ? alone(before) : []),
    ]);
    expect(await reportOf(data, await open(), tables)).toEqual([]);
  });
});
