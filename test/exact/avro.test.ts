import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { connectFolder, startData } from "../data/place.ts";
import { deepTest, scaled } from "../support/scale.ts";
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
import { floatText } from "./parquet.ts";
import { TABLES } from "./scale.ts";

setDefaultTimeout(3_600_000);

/** Number of truncated files, each cut at another position. */
const CUTS = scaled(12, 120);

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
const outside = ["294247-01-01 00:00:00", "-0043-03-15 00:00:00"];
const nanos = ["1969-12-31 23:59:59.999999999", "2026-01-02 03:04:05.000000001", "1970-01-01 00:00:00"];
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
  sort(
    "float",
    "number",
    ["NaN", "Infinity", "-Infinity", "-0", "0.1", "1e-45"],
    floats.map((text) => floatText(Number(text))),
  ),
  sort("double", "number", ["NaN", "Infinity", "-Infinity", "-0", "0.1", "5e-324"], doubles),
  sort("boolean", "bool", ["true", "false"]),
  sort("string", "text", ["", " ", "a ", '"', "a\nb", "NULL", "漢🙂", "0042", "2026-01-02"], texts),
  sort("bytes", "bytes", ["\\x", "\\x00", "\\x00ff80", "\\x2c220a0d5c"], bytes),
  sort("fixed", "bytes", ["\\x00000000", "\\xffffffff", "\\x00017f80"]),
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
  sort(
    "date",
    "date",
    ["0001-01-01", "9999-12-31", "1969-12-31", "0044-03-15 BC", "5874897-12-31", "5874898-01-01"],
    days,
  ),
  sort(
    "time-millis",
    "time",
    ["00:00:00", "23:59:59.999", "24:00:00"],
    clocks.map((text) => text.replace(/(\.\d{3}).*/, "$1")),
  ),
  sort("time-micros", "time", ["00:00:00", "23:59:59.999999", "24:00:00"], clocks),
  sort(
    "timestamp-millis",
    "timestamptz",
    zoned(at),
    millis.map((text) => `${text}+00`),
  ),
  sort(
    "timestamp-micros",
    "timestamptz",
    zoned([...at, ...outside, "1969-12-31 23:59:59.999999"]),
    instants.map((text) => `${text}+00`),
  ),
  sort("local-timestamp-micros", "timestamp", [...at, ...outside], instants),
  sort("local-timestamp-millis", "timestamp", at, millis),
  sort("timestamp-nanos", "timestamptz", zoned(nanos)),
  sort("local-timestamp-nanos", "timestamp", nanos),
  sort("timestamp-nanos", "timestamptz", zoned(["2026-01-02 03:04:05.123456", "1969-12-31 23:59:59.999999"])),
  sort("uuid", "uuid", ["00000000-0000-0000-0000-000000000000", "not one"], fc.uuid()),
  sort("uuid fixed", "uuid", ["ffffffff-ffff-ffff-ffff-ffffffffffff"], fc.uuid()),
  sort("duration", "text", ["P0M0DT0S", "P1M2DT3.004S", "P4294967295M4294967295DT4294967.295S"]),
  sort("string of odd bytes", "text", ["\\xff", "\\xc328", "\\xeda080"]),
  sort("unknown logical type", "number", ["9223372036854775807"], wholes(-(2n ** 63n), 2n ** 63n - 1n)),
  sort("record", "tree", ['{"a":"9007199254740993","b":"x"}', '{"a":"0","b":""}']),
  sort("record of doubles", "tree", [
    '{"d":"0.1","f":"0.5"}',
    '{"d":"NaN","f":"1"}',
    '{"d":"-Infinity","f":"-0"}',
    '{"d":"5e-324","f":"Infinity"}',
  ]),
  sort("record of records", "tree", [
    `{"amount":"${NINES}.0000000001","in":{"day":"2026-01-02"},"again":null}`,
    '{"amount":"-1.5","in":{"day":null},"again":{"day":"0001-01-01"}}',
  ]),
  sort("chain", "tree", [
    '{"value":"9007199254740993","next":{"value":"-1","next":null}}',
    '{"value":"0","next":null}',
  ]),
  sort("map", "tree", ["{}", '{"k":"9223372036854775807","ké":"1","":"-1"}']),
  sort("array", "tree", ["[]", '["9007199254740993",null,"1","-2","3"]']),
  sort("union", "raw", [
    "9007199254740993",
    ...['"9007199254740993"', '""', '"null"', '"NaN"', "true", '["a","NaN"]', "[]"],
  ]),
];

let data: Awaited<ReturnType<typeof startData>>;
beforeAll(async () => {
  data = await startData();
});
afterAll(() => data[Symbol.asyncDispose]());

test("every value of every type arrives, or the run counts it", async () => {
  const source = await filesSource(data, "avro", avroOf);
  expect(await reportOf(data, source, makeTables(SORTS, TABLES))).toEqual([]);
});

deepTest("a file that is cut anywhere fails, and says so", async () => {
  const folder = await connectFolder(data.owner, "/cut");
  const extract = await data.extract(folder, {
    dataset: "cut",
    resources: [{ name: "cut", spec: "cut.avro" }],
  });
  const sorts = SORTS.filter(({ kind }) => kind !== "text");
  const some = makeTables(sorts, sorts.length + CUTS, "cut").slice(-CUTS);
  for (const [at, table] of some.entries()) {
    const { content, ends } = avroOf(table);
    const end = Math.floor((content.length * at) / CUTS);
    const cut = content.subarray(0, ends.includes(end) ? end - 1 : end);
    await data.upload(folder, "/cut.avro", cut);
    expect(await extract.run({})).toMatchObject({ status: "failed", error: { code: "upstream" } });
  }
});
