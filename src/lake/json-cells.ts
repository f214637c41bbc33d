import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import { isObject } from "../base/json.ts";
import { digitsOf, exactJson, NumberText } from "../base/json-numbers.ts";
import type { RepeatedKey } from "../base/repeated-keys.ts";
import { readLineValues, readValues } from "./json-reader.ts";
import { decimalReading, MAX_DECIMAL_DIGITS } from "./readings.ts";

const WRITE_CHARACTERS = 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

interface JsonFile {
  path: string;
  format: "json" | "jsonl";
  /** The CSV file to write. */
  to: string;
  maxColumns: number;
  /** Maximum bytes of one row. */
  maxBytes: number;
  signal: AbortSignal;
}

interface JsonCells {
  columns: JsonColumn[];
  /** Upper bound for the longest line, in bytes. */
  longest: number;
}

/**
 * Writes the rows of a JSON file as CSV: a row number, then the JSON text of each field, without trailing fields
 * that the row lacks. An empty list has no columns. Throws `sql_error` for anything but a list of objects.
 */
export async function writeCells(file: JsonFile): Promise<JsonCells> {
  const columns = new Map<string, JsonColumn>();
  let hasText = false;
  const bytes = readNoting(file.path, () => {
    hasText = true;
  });
  const read = file.format === "json" ? readValues : readLineValues;
  const out = await open(file.to, "wx", 0o600);
  let longest = 0;
  let count = 0;
  let text = "";
  try {
    for await (const values of read("the file", bytes, refuseRepeated)) {
      file.signal.throwIfAborted();
      for (const value of values) {
        const line = `${++count}${cellsOf(value, columns, file.maxColumns)}\n`;
        const size = Buffer.byteLength(line);
        if (size > file.maxBytes)
          throw new AppError(
            "sql_error",
            `The file can't be read as JSON: row ${count} is longer than ${Math.floor(file.maxBytes / 1024 ** 2)} MiB.`,
          );
        longest = Math.max(longest, size);
        text += line;
        if (text.length < WRITE_CHARACTERS) continue;
        await out.writeFile(text);
        text = "";
      }
    }
    await out.writeFile(text);
  } finally {
    await out.close();
  }
  if (count > 0 && columns.size === 0)
    throw new AppError("sql_error", "The file has only objects without fields, and so no columns.");
  if (count === 0 && !hasText) throw noObjects();
  return { columns: [...columns.values()], longest };
}

/** Reads a file, and calls `onText` if it has more than whitespace. */
async function* readNoting(path: string, onText: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(path, { highWaterMark: PIECE_BYTES })) {
    if ((chunk as Uint8Array).some((byte) => byte > SPACE)) onText();
    yield chunk as Uint8Array;
  }
}

const SPACE = 0x20;

function refuseRepeated({ path }: RepeatedKey): never {
  throw new AppError("sql_error", `The file can't be read as JSON: an object has the key "${path}" twice.`);
}

const noObjects = () =>
  new AppError("sql_error", "The file can't be read as JSON: use a list of objects, or one object per line.");

function cellsOf(row: unknown, columns: Map<string, JsonColumn>, maxColumns: number): string {
  if (!isObject(row)) throw noObjects();
  const cells: string[] = [];
  for (const name of Object.keys(row)) {
    let column = columns.get(name);
    if (!column) {
      if (columns.size >= maxColumns)
        throw new AppError("sql_error", `The file has more than ${maxColumns} columns.`);
      column = new JsonColumn(name, columns.size);
      columns.set(name, column);
    }
    cells[column.at] = column.cell(row[name]);
  }
  let line = "";
  for (let at = 0; at < cells.length; at++) line += `,${cells[at] ?? ""}`;
  return line;
}

/** A field of JSON rows, and the kinds of its values. */
export class JsonColumn {
  #hasTexts = false;
  #hasNumbers = false;
  #hasBooleans = false;
  #hasNested = false;
  /** The type that holds the widest of the numbers. */
  #hasFractions = false;
  /** A number whose text a double can't hold exactly was seen. */
  #isBeyondDouble = false;
  #isBeyond64Bits = false;
  /** A number with an exponent, or a negative zero, was seen. */
  #isNoDecimal = false;
  #whole = 1;
  #scale = 0;

  constructor(
    readonly name: string,
    readonly at: number,
  ) {}

  /** The value as a CSV field, empty for NULL. */
  cell(value: unknown): string {
    if (value === null || value === undefined) return "";
    switch (typeof value) {
      case "string":
        this.#hasTexts = true;
        return quoted(JSON.stringify(value));
      case "boolean":
        this.#hasBooleans = true;
        return String(value);
      case "number":
      case "bigint":
        return this.#number(value, exactJson(value));
    }
    if (value instanceof NumberText) return this.#number(value, value.text);
    this.#hasNested = true;
    return quoted(exactJson(value));
  }

  #number(value: number | bigint | NumberText, text: string): string {
    this.#hasNumbers = true;
    const digits = digitsOf(text);
    if (digits === null || Object.is(value, -0)) this.#isNoDecimal = true;
    else {
      this.#whole = Math.max(this.#whole, digits.whole);
      this.#scale = Math.max(this.#scale, digits.scale);
    }
    if (typeof value === "bigint") {
      this.#isBeyondDouble = true;
      if (value !== BigInt.asIntN(64, value)) this.#isBeyond64Bits = true;
    } else {
      if (typeof value !== "number") this.#isBeyondDouble = true;
      if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.#hasFractions = true;
    }
    return text;
  }

  /** True if all values are strings, which may be dates or timestamps. */
  get isText(): boolean {
    return this.#hasTexts && this.#kinds === 1;
  }

  get #kinds(): number {
    return [this.#hasTexts, this.#hasNumbers, this.#hasBooleans, this.#hasNested].filter(Boolean).length;
  }

  /** SQL that reads `cell` as a type that holds all values. */
  sql(cell: string): string {
    if (this.#kinds === 0) return cell;
    if (this.#kinds > 1 || this.#hasNested) return `CAST(${cell} AS JSON)`;
    if (this.#hasTexts) return `(${cell} ->> '$')`;
    if (this.#hasBooleans) return `CAST(${cell} AS BOOLEAN)`;
    if (!this.#hasFractions && !this.#isBeyond64Bits) return `CAST(${cell} AS BIGINT)`;
    if (!this.#isBeyondDouble) return `CAST(${cell} AS DOUBLE)`;
    const isDecimal = !this.#isNoDecimal && this.#whole + this.#scale <= MAX_DECIMAL_DIGITS;
    return isDecimal ? decimalReading(MAX_DECIMAL_DIGITS, this.#scale).cast(cell) : cell;
  }
}

const quoted = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;
