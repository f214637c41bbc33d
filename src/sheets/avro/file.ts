import { join } from "node:path";
import type { Json } from "../../base/json.ts";
import type { SheetTable } from "../contract.ts";
import { damaged, FileFault } from "../fault.ts";
import { FileReader } from "../file-reader.ts";
import { CsvWriter } from "../file-writer.ts";
import { Odd } from "../odd.ts";
import { codecNamed, MAX_BLOCK_BYTES, TOO_LARGE } from "./codecs.ts";
import { columnsOf } from "./schema.ts";
import { Tap } from "./tap.ts";

const MAGIC = Buffer.from("Obj\x01", "latin1");
const SYNC_BYTES = 16;
/** Maximum number of bytes of a length in Avro. */
const MAX_LENGTH_BYTES = 10;
const MAX_METADATA_BYTES = 16 * 1024 * 1024;

/** Converts an Avro container file to a CSV file in the folder. Throws `FileFault`. */
export function readAvro(path: string, folder: string): SheetTable {
  using file = new FileReader(path);
  try {
    return tableOf(file, join(folder, "1.csv"));
  } catch (error) {
    if (error instanceof RangeError && /call stack/i.test(error.message)) {
      throw new FileFault("The file can't be read: its values are nested too deeply.");
    }
    throw error;
  }
}

function tableOf(file: FileReader, path: string): SheetTable {
  const metadata = metadataOf(file);
  const columns = columnsOf(schemaIn(metadata)).map((column) => ({ ...column, odd: new Odd() }));
  const decompress = codecNamed(metadata.get("avro.codec")?.toString() || "null");
  const sync = Buffer.from(bytesOf(file, SYNC_BYTES));
  const csv = new CsvWriter(path);
  while (file.left > 0) {
    const count = lengthOf(file);
    const size = lengthOf(file);
    if (size > MAX_BLOCK_BYTES) throw new FileFault(TOO_LARGE);
    const tap = new Tap(decompress(bytesOf(file, size)));
    if (!bytesOf(file, SYNC_BYTES).equals(sync)) throw damaged("a block doesn't end where it should");
    tap.checkCount(count);
    for (let row = 0; row < count; row++) {
      for (const { reading, odd } of columns) {
        tap.odd = odd;
        const text = reading.read(tap);
        csv.value(text, isQuoted(reading.type));
      }
      csv.endRow();
    }
    if (tap.left > 0) throw damaged("a block has more bytes than its rows");
  }
  csv.end();
  return {
    name: null,
    path,
    rows: csv.rows,
    longest: csv.longest,
    columns: columns.map(({ name, reading }) => ({ name, type: reading.type })),
    odd: columns.flatMap(({ name, odd }) => odd.of(name)),
  };
}

/** Includes timestamps: a later one may turn the column into text. */
const isQuoted = (type: string) => /^(?:VARCHAR|JSON|BLOB|TIMESTAMP)/.test(type);

/** The metadata in the header, by name. */
function metadataOf(file: FileReader): Map<string, Buffer> {
  if (file.left < MAGIC.length || !file.take(MAGIC.length).equals(MAGIC)) {
    throw new FileFault("The file isn't an Avro container file (.avro).");
  }
  const metadata = new Map<string, Buffer>();
  for (let count = numberOf(file); count !== 0; count = numberOf(file)) {
    if (count < 0) numberOf(file); // size of the block in bytes, for readers that skip it
    for (let entry = Math.abs(count); entry > 0; entry--) {
      const key = Buffer.from(bytesOf(file, lengthOf(file, MAX_METADATA_BYTES)));
      metadata.set(key.toString(), Buffer.from(bytesOf(file, lengthOf(file, MAX_METADATA_BYTES))));
    }
  }
  return metadata;
}

function schemaIn(metadata: ReadonlyMap<string, Buffer>): Json {
  const text = metadata.get("avro.schema")?.toString();
  if (text === undefined) throw damaged("it has no schema");
  try {
    return JSON.parse(text);
  } catch {
    throw damaged("its schema isn't JSON");
  }
}

/** A zigzag number, read byte by byte because its length isn't known in advance. */
function numberOf(file: FileReader): number {
  const bytes: number[] = [];
  do bytes.push(bytesOf(file, 1)[0] ?? 0);
  while ((bytes.at(-1) ?? 0) >= 0x80 && bytes.length < MAX_LENGTH_BYTES);
  return new Tap(Buffer.from(bytes)).count();
}

function lengthOf(file: FileReader, limit = Number.MAX_SAFE_INTEGER): number {
  const length = numberOf(file);
  if (length < 0 || length > limit) throw damaged("a length is out of range");
  return length;
}

function bytesOf(file: FileReader, count: number): Buffer {
  if (count > file.left)
    throw new FileFault("The file isn't whole: it ends within a block. Try to export it again.");
  return file.take(count);
}
