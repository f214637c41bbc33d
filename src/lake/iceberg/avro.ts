import { createHash } from "node:crypto";
import type { Schema } from "avsc";

/** Rows of one schema as Avro object container files. */
export interface AvroWriter {
  /** `metadata` is added to the header, next to the schema and the codec. */
  write(rows: readonly object[], metadata: Readonly<Record<string, string>>): Buffer;
}

const MAGIC = Buffer.from("Obj\u0001");
const SYNC_BYTES = 16;
/** Readers load a whole block into memory. */
const ROWS_PER_BLOCK = 4_000;

/**
 * Creates a writer whose header contains `schema` unchanged: the library would drop `field-id`, by which Iceberg's
 * readers find the fields.
 */
export function avroWriter(schema: object): AvroWriter {
  const text = JSON.stringify(schema);
  let types: ReturnType<typeof typesOf> | null = null;
  return {
    write(rows, metadata) {
      types ??= typesOf(schema);
      const { type, header, long, deflateRawSync } = types;
      const meta = { ...metadata, "avro.schema": text, "avro.codec": "deflate" };
      const bytes = Object.fromEntries(
        Object.entries(meta).map(([name, value]) => [name, Buffer.from(value)]),
      );
      const blocks: [count: number, data: Buffer][] = [];
      for (let start = 0; start < rows.length; start += ROWS_PER_BLOCK) {
        const some = rows.slice(start, start + ROWS_PER_BLOCK);
        blocks.push([some.length, deflateRawSync(Buffer.concat(some.map((row) => type.toBuffer(row))))]);
      }
      const hash = createHash("sha256").update(JSON.stringify(meta));
      for (const [, data] of blocks) hash.update(data);
      const sync = hash.digest().subarray(0, SYNC_BYTES);
      return Buffer.concat([
        MAGIC,
        header.toBuffer(bytes),
        sync,
        ...blocks.flatMap(([count, data]) => [long.toBuffer(count), long.toBuffer(data.length), data, sync]),
      ]);
    },
  };
}

/** Loads the libraries: 7 MB that only those servers need whose tables other engines read. */
function typesOf(schema: object) {
  const { Type } = require("avsc") as typeof import("avsc");
  const { deflateRawSync } = require("node:zlib") as typeof import("node:zlib");
  return {
    deflateRawSync,
    type: Type.forSchema(schema as Schema),
    header: Type.forSchema({ type: "map", values: "bytes" }),
    long: Type.forSchema("long"),
  };
}
