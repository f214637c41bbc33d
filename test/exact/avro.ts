import { deflateRawSync } from "node:zlib";
import { clockFrom, dayFrom, instantFrom } from "./civil.ts";
import type { Written } from "./files-source.ts";
import type { SourceTable } from "./table.ts";

/** How a text goes into Avro, and the schema that says so. */
interface AvroType {
  schema: object | string;
  encode(text: string): Buffer;
}

/** Zigzag and seven bits a byte, of any size up to 64 bits. */
function long(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(left)]);
}

const sized = (bytes: Buffer): Buffer => Buffer.concat([long(BigInt(bytes.length)), bytes]);
const utf8 = (text: string): Buffer => sized(Buffer.from(text));
const micros = (nanos: bigint | undefined): bigint => (nanos ?? 0n) / 1000n;

/** Two's complement, big-endian, of so many bytes. */
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
      const pairs = entries.flatMap(([key, value]) => [utf8(key), whole(value)]);
      const blocks = entries.length === 0 ? [] : [long(BigInt(entries.length)), ...pairs];
      return Buffer.concat([...blocks, long(0n)]);
    },
  },
};

const SYNC = Buffer.from("0123456789abcdef");
const IN_BLOCK = 100;

/** A table as an Avro file; its number decides whether the blocks are deflated. */
export function avroOf({ name, columns, rows }: SourceTable): Written {
  const codec = Bun.hash.crc32(name) % 2 === 0 ? "null" : "deflate";
  const types = columns.map(({ type }) => AVRO_TYPES[type] as AvroType);
  // A type with a name may be spelt out once only, so each column has its own.
  const named = (schema: object | string, at: number) =>
    typeof schema === "object" && "name" in schema ? { ...schema, name: `${schema.name}${at}` } : schema;
  const fields = columns.map((column, at) => ({
    name: column.name,
    type: ["null", named(types[at]?.schema ?? "", at)],
  }));
  const schema = { type: "record", name: "row", fields: [{ name: "id", type: "int" }, ...fields] };
  const meta = [utf8("avro.schema"), utf8(JSON.stringify(schema)), utf8("avro.codec"), utf8(codec)];
  const parts = [Buffer.from("Obj\x01"), long(2n), ...meta, long(0n), SYNC];
  const records = rows.map((row, index) => {
    const cells = row.map((text, at) =>
      text === null ? long(0n) : Buffer.concat([long(1n), types[at]?.encode(text) ?? Buffer.of()]),
    );
    return Buffer.concat([long(BigInt(index + 1)), ...cells]);
  });
  for (let from = 0; from < records.length; from += IN_BLOCK) {
    const some = records.slice(from, from + IN_BLOCK);
    const block = Buffer.concat(some);
    parts.push(long(BigInt(some.length)), sized(codec === "null" ? block : deflateRawSync(block)), SYNC);
  }
  return { content: Buffer.concat(parts), values: rows };
}
