import { afterAll, beforeAll, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { checkTable, loadMetadata, type Metadata, pathOf, readAvro, readRows } from "../support/iceberg.ts";
import { loadTable } from "../support/lake.ts";
import { deepTest } from "../support/scale.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
});
afterAll(() => weir[Symbol.asyncDispose]());

async function load(dataset: string, select: string) {
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: dataset,
  });
  await loadTable(ctx, { layer: "raw", dataset, table: dataset, select });
}

/** Entries of the table's current files, with their statistics by column name. */
async function entriesOf(dataset: string) {
  const { metadata } = await loadMetadata(weir.owner, weir.ids.organizationId, "raw", dataset, dataset);
  await checkTable(metadata);
  const names = new Map<number, string>(metadata.schemas.at(-1).fields.map((f: Metadata) => [f.id, f.name]));
  const lists = await readAvro(pathOf(metadata.snapshots.at(-1)["manifest-list"]));
  const manifests = await Promise.all(lists.rows.map(({ manifest_path }) => readAvro(pathOf(manifest_path))));
  const byName = (pairs: { key: number; value: unknown }[] | null) =>
    Object.fromEntries((pairs ?? []).map(({ key, value }) => [names.get(key) ?? "", value]));
  const entries = manifests
    .flatMap(({ rows }) => rows)
    .filter(({ status }) => status !== 2)
    .map(({ data_file: file }) => ({
      rows: file.record_count,
      values: byName(file.value_counts),
      nulls: byName(file.null_value_counts),
      nans: byName(file.nan_value_counts),
      lower: byName(file.lower_bounds),
      upper: byName(file.upper_bounds),
    }));
  return { metadata, entries };
}

const le = (bytes: 4 | 8, value: number | bigint) => {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 8) buffer.writeBigInt64LE(BigInt(value));
  else buffer.writeInt32LE(Number(value));
  return buffer;
};
const f32 = (value: number) => Buffer.from(new Float32Array([value]).buffer);
const f64 = (value: number) => Buffer.from(new Float64Array([value]).buffer);
const hex = (text: string) => Buffer.from(text, "hex");
const micros = (text: string) => le(8, BigInt(Date.parse(text)) * 1000n);
const days = (text: string) => le(4, Date.parse(text) / 86_400_000);

type Bound = Buffer | undefined;

/** A column's values as SQL, and its bounds from appendix D of the specification. */
const CASES: Record<string, [values: string[], lower: Bound, upper: Bound]> = {
  flag: [["true", "false"], hex("00"), hex("01")],
  tiny: [["-5::TINYINT", "5::TINYINT"], le(4, -5), le(4, 5)],
  small: [["300::SMALLINT", "-300::SMALLINT"], le(4, -300), le(4, 300)],
  whole: [["7", "-2147483647"], le(4, -2147483647), le(4, 7)],
  large: [
    ["9007199254740993", "-9223372036854775808"],
    le(8, -9223372036854775808n),
    le(8, 9007199254740993n),
  ],
  single: [["-1.5::FLOAT", "2.5::FLOAT"], f32(-1.5), f32(2.5)],
  double: [["-1.5::DOUBLE", "1e300"], f64(-1.5), f64(1e300)],
  zeros: [["0.0::DOUBLE", "-0.0::DOUBLE"], f64(-0), f64(0)],
  endless: [["'-infinity'::DOUBLE", "1::DOUBLE"], f64(Number.NEGATIVE_INFINITY), f64(1)],
  nan: [["'NaN'::DOUBLE", "1::DOUBLE"], undefined, undefined],
  day: [["DATE '1969-12-31'", "DATE '9999-12-31'"], days("1969-12-31"), days("9999-12-31")],
  hour: [["TIME '03:04:05.000001'", "TIME '00:00:00'"], le(8, 0), le(8, 11_045_000_001)],
  instant: [
    ["TIMESTAMP '1900-01-01 00:00:00'", "TIMESTAMP '2026-01-02 03:04:05'"],
    micros("1900-01-01T00:00:00Z"),
    micros("2026-01-02T03:04:05Z"),
  ],
  zoned: [
    ["TIMESTAMPTZ '2026-01-02 03:04:05+01'", "TIMESTAMPTZ '2026-01-02 03:04:05-01'"],
    micros("2026-01-02T02:04:05Z"),
    micros("2026-01-02T04:04:05Z"),
  ],
  short: [["'abc'", "'Zz'"], Buffer.from("Zz"), Buffer.from("abc")],
  empty: [["''", "''"], Buffer.from(""), Buffer.from("")],
  sixteen: [["repeat('a', 16)", "repeat('b', 16)"], Buffer.from("a".repeat(16)), Buffer.from("b".repeat(16))],
  long: [
    ["repeat('a', 17)", "repeat('b', 300)"],
    Buffer.from("a".repeat(16)),
    Buffer.from(`${"b".repeat(15)}c`),
  ],
  signs: [
    ["repeat('é', 20)", "repeat('😀', 20)"],
    Buffer.from("é".repeat(16)),
    Buffer.from(`${"😀".repeat(15)}😁`),
  ],
  gap: [
    ["'a'", "repeat('b', 15) || chr(55295) || 'c'"],
    Buffer.from("a"),
    Buffer.from(`${"b".repeat(15)}\u{e000}`),
  ],
  greatest: [["'a'", "repeat(chr(1114111), 20)"], Buffer.from("a"), undefined],
  carried: [["'a'", "'b' || repeat(chr(1114111), 20)"], Buffer.from("a"), Buffer.from("c")],
  huge: [
    ["repeat('a', 20000)", "repeat('zé', 9000)"],
    Buffer.from("a".repeat(16)),
    Buffer.from(`${"zé".repeat(7)}zê`),
  ],
  json: [[`'{"a":1}'::JSON`, "'[2]'::JSON"], Buffer.from("[2]"), Buffer.from('{"a":1}')],
  id: [["'00000000-0000-0000-0000-000000000001'::UUID", "uuid()"], undefined, undefined],
  bytes: [["'\\x00'::BLOB", "'\\xFE\\xFF'::BLOB"], hex("00"), hex("feff")],
  cut: [
    ["repeat('\\x01'::BLOB, 20)", "repeat('\\xFE'::BLOB, 15) || repeat('\\xFF'::BLOB, 9)"],
    hex("01".repeat(16)),
    hex(`${"fe".repeat(14)}ff`),
  ],
  most: [["'\\x01'::BLOB", "repeat('\\xFF'::BLOB, 20)"], hex("01"), undefined],
  price: [["-12.34::DECIMAL(4,2)", "1.27::DECIMAL(4,2)"], hex("fb2e"), hex("7f")],
  amount: [["-1.28::DECIMAL(18,2)", "1.28::DECIMAL(18,2)"], hex("80"), hex("0080")],
  total: [
    ["-99999999999999999999.99::DECIMAL(38,2)", "0.00::DECIMAL(38,2)"],
    hex("fde1e61f36454dc00001"),
    hex("00"),
  ],
  nothing: [["NULL::INTEGER", "NULL::INTEGER"], undefined, undefined],
  half: [["NULL::BIGINT", "3::BIGINT"], le(8, 3), le(8, 3)],
};

test("a file's entry has the counts and bounds of its columns, as in the specification", async () => {
  const row = (at: 0 | 1) =>
    `SELECT ${Object.entries(CASES)
      .map(([name, [values]]) => `${values[at]} AS "${name}"`)
      .join(", ")}, [1, 2] AS list`;
  await load("bounds", `${row(0)} UNION ALL ${row(1)}`);
  const { metadata, entries } = await entriesOf("bounds");
  expect(entries).toHaveLength(1);
  const [{ values, nulls, nans, lower, upper } = entries[0] as never] = entries;
  for (const [name, [, least, most]] of Object.entries(CASES)) {
    expect([name, lower[name]]).toEqual([name, least]);
    expect([name, upper[name]]).toEqual([name, most]);
    expect([name, values[name]]).toEqual([name, 2]);
    expect([name, nulls[name]]).toEqual([name, { nothing: 2, half: 1 }[name] ?? 0]);
  }
  expect(nans).toEqual({ single: 0, double: 0, zeros: 0, endless: 0 });
  expect([values.list, lower.list]).toEqual([undefined, undefined]);
  expect(await readRows(metadata)).toHaveLength(2);
});

test("bounds cover all row groups, in the column's current type", async () => {
  await load(
    "wide",
    "SELECT i - 200000 AS n, CASE WHEN i < 200000 THEN 'b' ELSE 'a' END AS text FROM range(300000) t(i)",
  );
  await load("wide", "SELECT 5000000000 AS n, NULL::VARCHAR AS text");
  const { entries } = await entriesOf("wide");
  const found = entries.map(({ rows, lower, upper }) => [rows, lower.n, upper.n, lower.text, upper.text]);
  expect(found).toContainEqual([300_000, le(8, -200_000), le(8, 99_999), Buffer.from("a"), Buffer.from("b")]);
  expect(found).toContainEqual([1, le(8, 5_000_000_000), le(8, 5_000_000_000), undefined, undefined]);
});

deepTest("bounds stay if another manifest names a file, whatever the order of its columns", async () => {
  for (let n = 0; n < 10; n++)
    await load("many", n % 2 === 0 ? `SELECT ${n} AS n, 'x' AS text` : `SELECT 'x' AS text, ${n} AS n`);
  const { entries } = await entriesOf("many");
  const found = entries.map(({ lower, upper }) => [lower.n, upper.n, lower.text]);
  expect(found).toHaveLength(10);
  for (let n = 0; n < 10; n++) expect(found).toContainEqual([le(4, n), le(4, n), Buffer.from("x")]);
});
