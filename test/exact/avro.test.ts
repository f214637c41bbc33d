import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { startData } from "../data/place.ts";
import { avroOf } from "./avro.ts";
import type { Kind } from "./canon.ts";
import { filesSource } from "./files-source.ts";
import { reportOf } from "./harness.ts";
import {
  clocks,
  days,
  digits,
  doubles,
  floats,
  instants,
  makeTables,
  type Sort,
  texts,
  wholes,
} from "./make.ts";
import { ARRIVED, TABLES } from "./scale.ts";

setDefaultTimeout(3_600_000);

const sort = (type: string, kind: Kind, hostile: readonly string[], any?: Sort["any"]): Sort => ({
  type,
  kind,
  hostile,
  ...(any ? { any } : {}),
});
const NINES = "9".repeat(28);
const at = [
  "0001-01-01 00:00:00",
  "1969-12-31 23:59:59.999",
  "9999-12-31 23:59:59.999",
  "1970-01-01 00:00:00",
];
const millis = instants.map((text) => text.replace(/(\.\d{3}).*/, "$1"));
const bytes = fc.uint8Array({ maxLength: 20 }).map((some) => `\\x${Buffer.from(some).toString("hex")}`);
const zoned = (some: readonly string[]) => some.map((text) => `${text}+00`);

const SORTS: readonly Sort[] = [
  sort("int", "number", ["-2147483648", "2147483647", "0"], wholes(-(2n ** 31n), 2n ** 31n - 1n)),
  sort(
    "long",
    "number",
    ["-9223372036854775808", "9223372036854775807", "9007199254740993"],
    wholes(-(2n ** 63n), 2n ** 63n - 1n),
  ),
  sort("float", "number", ["NaN", "Infinity", "-Infinity", "-0", "0.1", "1e-45"], floats),
  sort("double", "number", ["NaN", "Infinity", "-Infinity", "-0", "0.1", "5e-324"], doubles),
  sort("boolean", "bool", ["true", "false"]),
  sort("string", "text", ["", " ", "a ", '"', "a\nb", "NULL", "漢🙂", "0042", "2026-01-02"], texts),
  sort("bytes", "bytes", ["\\x", "\\x00", "\\x00ff80", "\\x2c220a0d5c"], bytes),
  sort("fixed", "bytes", ["\\x00000000", "\\xffffffff"]),
  sort("enum", "text", ["sad", "ok"]),
  sort(
    "decimal(38,10)",
    "number",
    [`${NINES}.9999999999`, `-${NINES}.9999999999`, "-0.0000000001", "0"],
    digits(28, 10),
  ),
  sort(
    "decimal(18,2) fixed",
    "number",
    ["9999999999999999.99", "-9999999999999999.99", "-0.01"],
    digits(16, 2),
  ),
  sort("decimal(50,0)", "number", ["9".repeat(50), `-${"9".repeat(50)}`, "1"], digits(50, 0)),
  sort("date", "date", ["0001-01-01", "9999-12-31", "1969-12-31", "0044-03-15 BC"], days),
  sort(
    "time-millis",
    "time",
    ["00:00:00", "23:59:59.999"],
    clocks.map((text) => text.replace(/(\.\d{3}).*/, "$1")),
  ),
  sort("time-micros", "time", ["00:00:00", "23:59:59.999999"], clocks),
  sort(
    "timestamp-millis",
    "timestamptz",
    zoned(at),
    millis.map((text) => `${text}+00`),
  ),
  sort(
    "timestamp-micros",
    "timestamptz",
    zoned([...at, "1969-12-31 23:59:59.999999"]),
    instants.map((text) => `${text}+00`),
  ),
  sort("local-timestamp-micros", "timestamp", at, instants),
  sort("uuid", "uuid", ["00000000-0000-0000-0000-000000000000"], fc.uuid()),
  sort("record", "tree", ['{"a":"9007199254740993","b":"x"}', '{"a":"0","b":""}']),
  sort("map", "tree", ["{}", '{"k":"9223372036854775807","ké":"1"}']),
];

describe.skipIf(!ARRIVED.avro)("Avro (tried with EXACT_ALL=1)", () => {
  let data: Awaited<ReturnType<typeof startData>>;
  beforeAll(async () => {
    data = await startData();
  });
  afterAll(() => data[Symbol.asyncDispose]());

  test("every value of every type arrives, or the run counts it", async () => {
    const source = await filesSource(data, "avro", avroOf);
    expect(await reportOf(data, source, makeTables(SORTS, TABLES))).toEqual([]);
  });
});
