import { crc32, deflateRawSync, zstdCompressSync } from "node:zlib";
import { clockFrom, dayFrom, instantFrom } from "./civil.ts";
import type { Written } from "./files-source.ts";
import type { SourceTable } from "./table.ts";

/** How a text is encoded in Avro, and the schema for it. */
interface AvroType {
  schema: object | string | (object | string)[];
  /** Preceded by the branch if the schema is a union; 0 is null's. */
  encode(text: string): Buffer;
}

/** Zigzag with seven bits per byte, up to 64 bits. */
function long(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(left)]);
}

const sized = (bytes: Buffer): Buffer => Buffer.concat([long(BigInt(bytes.length)), bytes]);
const utf8 = (text: string): Buffer => sized(Buffer.from(text));
const micros = (nanos: bigint | undefined): bigint => (nanos ?? 0n) / 1000n;

/** Two's complement, big-endian, with this many bytes. */
function bigEndian(value: bigint, size: number): Buffer {
  const hex = BigInt.asUintN(8 * size, value)
    .toString(16)
    .padStart(2 * size, "0");
  return Buffer.from(hex, "hex");
}

const unscaled = (text: string, scale: number): bigint => {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(scale, "0"));
};

const real = (size: 4 | 8) => (text: string) => {
  const bytes = Buffer.alloc(size);
  if (size === 4) bytes.writeFloatLE(Number(text));
  else bytes.writeDoubleLE(Number(text));
  return bytes;
};

const logical = (type: string, logicalType: string) => ({ type, logicalType });
const whole = (text: string): Buffer => long(BigInt(text));
const instant = (text: string): bigint => micros(instantFrom(text)?.nanos);

/** Items in blocks of two, the first of which has its byte count. */
function blocks(items: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < items.length; at += 2) {
    const some = items.slice(at, at + 2);
    const block = Buffer.concat(some);
    const count = BigInt(some.length);
    parts.push(...(at === 0 ? [long(-count), long(BigInt(block.length))] : [long(count)]), block);
  }
  return Buffer.concat([...parts, long(0n)]);
}

const orNull = (text: string | null, encode: (text: string) => Buffer): Buffer =>
  text === null ? long(0n) : Buffer.concat([long(1n), encode(text)]);

interface Chain {
  value: string;
  next: Chain | null;
}
const chain = ({ value, next }: Chain): Buffer =>
  Buffer.concat([whole(value), ...(next === null ? [long(0n)] : [long(1n), chain(next)])]);

const AVRO_TYPES: Readonly<Record<string, AvroType>> = {
  int: { schema: "int", encode: whole },
  long: { schema: "long", encode: whole },
  float: { schema: "float", encode: real(4) },
  double: { schema: "double", encode: real(8) },
  boolean: { schema: "boolean", encode: (text) => Buffer.from([text === "true" ? 1 : 0]) },
  string: { schema: "string", encode: utf8 },
  bytes: { schema: "bytes", encode: (text) => sized(Buffer.from(text.slice(2), "hex")) },
  fixed: {
    schema: { type: "fixed", name: "four", size: 4 },
    encode: (text) => Buffer.from(text.slice(2), "hex"),
  },
  enum: {
    schema: { type: "enum", name: "mood", symbols: ["sad", "ok"] },
    encode: (text) => long(text === "sad" ? 0n : 1n),
  },
  "decimal(38,10)": {
    schema: { ...logical("bytes", "decimal"), precision: 38, scale: 10 },
    encode: (text) => sized(bigEndian(unscaled(text, 10), 16)),
  },
  "decimal(18,2) fixed": {
    schema: { type: "fixed", name: "amount", size: 8, logicalType: "decimal", precision: 18, scale: 2 },
    encode: (text) => bigEndian(unscaled(text, 2), 8),
  },
  "decimal(50,0)": {
    schema: { ...logical("bytes", "decimal"), precision: 50, scale: 0 },
    encode: (text) => sized(bigEndian(BigInt(text), 24)),
  },
  date: { schema: logical("int", "date"), encode: (text) => long(dayFrom(text) ?? 0n) },
  "time-millis": {
    schema: logical("int", "time-millis"),
    encode: (text) => long(micros(clockFrom(text) ?? 0n) / 1000n),
  },
  "time-micros": {
    schema: logical("long", "time-micros"),
    encode: (text) => long(micros(clockFrom(text) ?? 0n)),
  },
  "timestamp-millis": {
    schema: logical("long", "timestamp-millis"),
    encode: (text) => long(instant(text) / 1000n),
  },
  "timestamp-micros": { schema: logical("long", "timestamp-micros"), encode: (text) => long(instant(text)) },
  "local-timestamp-micros": {
    schema: logical("long", "local-timestamp-micros"),
    encode: (text) => long(instant(text)),
  },
  uuid: { schema: logical("string", "uuid"), encode: utf8 },
  record: {
    schema: {
      type: "record",
      name: "inner",
      fields: [
        { name: "a", type: "long" },
        { name: "b", type: "string" },
      ],
    },
    encode(text) {
      const { a, b } = JSON.parse(text) as { a: string; b: string };
      return Buffer.concat([whole(a), utf8(b)]);
    },
  },
  map: {
    schema: { type: "map", values: "long" },
    encode(text) {
      const entries = Object.entries(JSON.parse(text) as Record<string, string>);
      return blocks(entries.map(([key, value]) => Buffer.concat([utf8(key), whole(value)])));
    },
  },
  "string of odd bytes": { schema: "string", encode: (text) => sized(Buffer.from(text.slice(2), "hex")) },
  "timestamp-nanos": {
    schema: logical("long", "timestamp-nanos"),
    encode: (text) => long(instantFrom(text)?.nanos ?? 0n),
  },
  "local-timestamp-nanos": {
    schema: logical("long", "local-timestamp-nanos"),
    encode: (text) => long(instantFrom(text)?.nanos ?? 0n),
  },
  "local-timestamp-millis": {
    schema: logical("long", "local-timestamp-millis"),
    encode: (text) => long(instant(text) / 1000n),
  },
  "uuid fixed": {
    schema: { type: "fixed", name: "id", size: 16, logicalType: "uuid" },
    encode: (text) => Buffer.from(text.replaceAll("-", ""), "hex"),
  },
  duration: {
    schema: { type: "fixed", name: "span", size: 12, logicalType: "duration" },
    encode(text) {
      const [months, days, seconds] = text.match(/[\d.]+/g) ?? [];
      const parts = [Number(months), Number(days), Math.round(Number(seconds) * 1000)];
      return Buffer.from(Uint32Array.from(parts).buffer);
    },
  },
  "unknown logical type": { schema: logical("long", "of-somebody-else"), encode: whole },
  "record of doubles": {
    schema: {
      type: "record",
      name: "pair",
      fields: ["d", "f"].map((name, at) => ({ name, type: at === 0 ? "double" : "float" })),
    },
    encode(text) {
      const { d, f } = JSON.parse(text) as { d: string; f: string };
      return Buffer.concat([real(8)(d), real(4)(f)]);
    },
  },
  "record of records": {
    schema: {
      type: "record",
      name: "outer",
      namespace: "some.where",
      fields: [
        { name: "amount", type: { ...logical("bytes", "decimal"), precision: 38, scale: 10 } },
        {
          name: "in",
          type: {
            type: "record",
            name: "deep",
            fields: [{ name: "day", type: ["null", logical("int", "date")] }],
          },
        },
        { name: "again", type: ["null", "some.where.deep"] },
      ],
    },
    encode(text) {
      const outer = JSON.parse(text) as {
        amount: string;
        in: { day: string | null };
        again: { day: string | null } | null;
      };
      const deep = ({ day }: { day: string | null }) => orNull(day, (some) => long(dayFrom(some) ?? 0n));
      const again = outer.again === null ? long(0n) : Buffer.concat([long(1n), deep(outer.again)]);
      return Buffer.concat([sized(bigEndian(unscaled(outer.amount, 10), 16)), deep(outer.in), again]);
    },
  },
  chain: {
    schema: {
      type: "record",
      name: "chain",
      fields: [
        { name: "value", type: "long" },
        { name: "next", type: ["null", "chain"] },
      ],
    },
    encode: (text) => chain(JSON.parse(text) as Chain),
  },
  array: {
    schema: { type: "array", items: ["null", "long"] },
    encode: (text) => blocks((JSON.parse(text) as (string | null)[]).map((item) => orNull(item, whole))),
  },
  union: {
    schema: ["long", "string", "boolean", { type: "array", items: "string" }],
    encode(text) {
      const value = JSON.parse(text) as unknown;
      if (typeof value === "string") return Buffer.concat([long(2n), utf8(value)]);
      if (typeof value === "boolean") return Buffer.concat([long(3n), Buffer.of(value ? 1 : 0)]);
      if (Array.isArray(value)) return Buffer.concat([long(4n), blocks(value.map(utf8))]);
      return Buffer.concat([long(1n), whole(text)]);
    },
  },
};

const SYNC = Buffer.from("0123456789abcdef");
const IN_BLOCK = 5;

/** Snappy with only literals, and its checksum. */
function snappy(bytes: Buffer): Buffer {
  const size: number[] = [];
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) size.push((left & 0x7f) | 0x80);
  const parts: Buffer[] = [Buffer.from([...size, left])];
  for (let at = 0; at < bytes.length; at += 60) {
    const some = bytes.subarray(at, at + 60);
    parts.push(Buffer.of((some.length - 1) << 2), some);
  }
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return Buffer.concat([...parts, sum]);
}

const CODECS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ["null", (bytes) => bytes],
  ["deflate", (bytes) => deflateRawSync(bytes)],
  ["snappy", snappy],
  ["zstandard", (bytes) => zstdCompressSync(bytes)],
];

/** A named type may be spelled out only once, so each column has its own. */
function named(schema: AvroType["schema"], at: number): AvroType["schema"] {
  if (typeof schema !== "object" || !("name" in schema)) return schema;
  const name = String(schema.name);
  const text = JSON.stringify(schema).replaceAll(`"${name}"`, `"${name}${at}"`);
  return JSON.parse(text.replaceAll(/"(some[.]where[.])?deep"/g, `"$1deep${at}"`));
}

/**
 * A table as an Avro file, and the positions where it may end without being cut.
 * Its number determines how its blocks are compressed.
 */
export function avroOf({ name, columns, rows }: SourceTable): Written & { content: Buffer; ends: number[] } {
  const [codec, compress] = CODECS[Bun.hash.crc32(name) % CODECS.length]!;
  const types = columns.map(({ type }) => AVRO_TYPES[type] as AvroType);
  const fields = columns.map((column, at) => ({
    name: column.name,
    type: ["null", named(types[at]?.schema ?? "", at)].flat(),
  }));
  const schema = { type: "record", name: "row", fields: [{ name: "id", type: "int" }, ...fields] };
  const meta = [utf8("avro.schema"), utf8(JSON.stringify(schema)), utf8("avro.codec"), utf8(codec)];
  const parts = [Buffer.concat([Buffer.from("Obj\x01"), long(2n), ...meta, long(0n), SYNC])];
  const records = rows.map((row, index) => {
    const cells = row.map((text, at) => {
      const { schema, encode } = types[at] as AvroType;
      if (text === null) return long(0n);
      return Array.isArray(schema) ? encode(text) : Buffer.concat([long(1n), encode(text)]);
    });
    return Buffer.concat([long(BigInt(index + 1)), ...cells]);
  });
  for (let from = 0; from < records.length; from += IN_BLOCK) {
    const some = records.slice(from, from + IN_BLOCK);
    const block = compress(Buffer.concat(some));
    parts.push(Buffer.concat([long(BigInt(some.length)), sized(block), SYNC]));
  }
  const odd = rows.flatMap((row, index) =>
    row.flatMap((text, at) =>
      columns[at]?.type === "record of doubles" && /NaN|Infinity/.test(text ?? "") ? [`${index}:${at}`] : [],
    ),
  );
  const ends = parts.map((_, at) => Buffer.concat(parts.slice(0, at + 1)).length);
  return { content: Buffer.concat(parts), values: rows, odd: new Set(odd), ends };
}
