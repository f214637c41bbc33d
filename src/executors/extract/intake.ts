import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { readHead } from "../../lake/csv-head.ts";
import type { Extraction, JsonList } from "../../providers/contract.ts";
import { pastValue } from "../../providers/json-list.ts";
import { quoteName, quoteText } from "../../sql/text.ts";
import { ahead } from "./ahead.ts";
import { ByteRows } from "./byte-rows.ts";
import type { Choice } from "./chosen.ts";
import { fingerprintOf, fingerprintPair } from "./fingerprint.ts";
import { lineIn, linesIn, parseItem, parseLines, readJson, readLines } from "./json-reader.ts";
import type { Names } from "./naming.ts";
import { FINGERPRINTED_SLOTS, Normaliser, ROOT_SLOTS } from "./normalise.ts";
import { SEQUENCE, Sheet } from "./sheet.ts";
import type { Staging } from "./staging.ts";
import { storedType, typeName } from "./types.ts";

/** Pages are looked at in pieces of so many rows, between which lines go to disk. */
const ROWS_AT_ONCE = 512;
/** The longest row of a CSV file. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
const COMMA = 0x2c;
const BYTE_ORDER_MARK = 0xef;

export interface IntakeOptions {
  table: string;
  idPrefix: string;
  maxNesting: number;
  fingerprint: boolean;
  /** Columns that are wanted; null for all. */
  only: Choice | null;
  /** Rows after which reading stops; null for all. */
  limit: number | null;
  /** Whether a count of the source's own that differs is an error. */
  strictCounts: boolean;
  tables: Names;
  signal: AbortSignal;
  warn(text: string): void;
  /** Told the number of rows read so far. */
  progress(rows: number): void;
}

/** What was read of one resource: its root table first, then child tables, parents before children. */
export interface Intake {
  sheets: Sheet[];
  /** Whether the root's staged rows carry a fingerprint of the whole row. */
  fingerprinted: boolean;
}

/** Reads JSON rows, or files of any format, into staged files. */
export async function takeLoose(
  extraction: Extraction & { kind: "rows" | "files" },
  staging: Staging,
  options: IntakeOptions,
): Promise<Intake> {
  const root = new Sheet(options.table, null, options.fingerprint ? FINGERPRINTED_SLOTS : ROOT_SLOTS);
  const reader = new LooseReader(root, staging, options);
  if (extraction.kind === "rows") {
    await reader.api(extraction);
    const { total } = extraction;
    if (total !== undefined && total !== root.rows && !reader.full) {
      const told = `the source spoke of ${total} rows of ${options.table} and gave ${root.rows}.`;
      if (options.strictCounts) {
        throw new AppError("row_count_mismatch", `Nothing was loaded: ${told}`, {
          details: { table: options.table, told: total, read: root.rows },
        });
      }
      options.warn(`source_count_mismatch: ${told}`);
    }
  } else await reader.files(extraction.files);
  await reader.end();
  return { sheets: reader.sheets, fingerprinted: options.fingerprint };
}

class LooseReader {
  readonly #normaliser: Normaliser;
  /** Null where some rows or values are left out, or each row has a fingerprint. */
  readonly #bytes: ByteRows | null;

  constructor(
    readonly root: Sheet,
    readonly staging: Staging,
    readonly options: IntakeOptions,
  ) {
    this.#normaliser = new Normaliser(root, options);
    const [lines] = this.#normaliser.lines;
    const isAll = options.limit === null && options.only === null && !options.fingerprint;
    this.#bytes = isAll && lines ? new ByteRows(this.#normaliser, lines, options) : null;
  }

  get sheets(): Sheet[] {
    return this.#normaliser.lines.map((lines) => lines.sheet);
  }

  get full(): boolean {
    return this.root.rows >= (this.options.limit ?? Number.POSITIVE_INFINITY);
  }

  async rows(pages: AsyncIterable<JsonObject[]>): Promise<void> {
    for await (const page of pages) {
      await this.#add(page);
      if (this.full) break;
    }
  }

  async api({ pages, texts }: Extraction & { kind: "rows" }): Promise<void> {
    if (this.options.limit !== null) return this.rows(pages); // a page too many is not asked for
    const bytes = texts ? this.#bytes : null;
    if (!texts || !bytes) return this.rows(ahead(pages));
    for await (const page of ahead(texts)) {
      if (Array.isArray(page)) await this.#add(page);
      else await this.#list(page, bytes);
    }
  }

  async #list({ bytes, from, to, rows: count }: JsonList, rows: ByteRows): Promise<void> {
    const { options, root } = this;
    for (let at = from, n = 0; n < count; n++) {
      if (n % ROWS_AT_ONCE === 0) await this.#pause();
      const next = rows.add(bytes, at, true);
      if (next < 0) {
        const end = pastValue(bytes, at);
        for (const row of parseItem(options.table, bytes.subarray(at, end), root.rows))
          this.#normaliser.add(row);
        at = bytes.subarray(0, to).indexOf(COMMA, end) + 1;
      } else at = next;
    }
    await this.#pause();
  }

  /** Between some rows and the next. */
  async #pause(): Promise<void> {
    this.options.signal.throwIfAborted();
    await this.staging.flushLarge(this.#normaliser.lines);
    this.options.progress(this.root.rows);
  }

  async #add(page: JsonObject[]): Promise<void> {
    for (let start = 0; start < page.length && !this.full; start += ROWS_AT_ONCE) {
      const room = (this.options.limit ?? Number.POSITIVE_INFINITY) - this.root.rows;
      for (const row of page.slice(start, start + Math.min(ROWS_AT_ONCE, room))) this.#normaliser.add(row);
      await this.#pause();
    }
  }

  async #lines(name: string, stream: ReadableStream<Uint8Array>): Promise<void> {
    let before = 0;
    for await (const bytes of readLines(name, stream)) {
      this.options.signal.throwIfAborted();
      // What begins with a byte order mark is not the same as a text.
      if (this.#bytes && bytes[0] !== BYTE_ORDER_MARK) {
        before = await this.#eachLine(name, bytes, before, this.#bytes);
      } else {
        const texts = linesIn(bytes);
        await this.#add(parseLines(name, texts, before));
        before += texts.length;
      }
      this.options.progress(this.root.rows);
      if (this.full) break;
    }
  }

  /** Gives the number of lines so far. */
  async #eachLine(name: string, bytes: Uint8Array, before: number, rows: ByteRows): Promise<number> {
    let count = before;
    let flushed = before;
    for (let at = 0; at < bytes.length; ) {
      const next = rows.add(bytes, at);
      if (next >= 0) {
        at = next;
        count++;
      } else {
        const end = bytes.indexOf(NEWLINE, at) + 1;
        const texts = lineIn(bytes.subarray(at, end));
        for (const row of parseLines(name, texts, count)) this.#normaliser.add(row);
        at = end;
        count += texts.length;
      }
      if (count < flushed + ROWS_AT_ONCE) continue;
      await this.staging.flushLarge(this.#normaliser.lines);
      flushed = count;
    }
    await this.staging.flushLarge(this.#normaliser.lines);
    return count;
  }

  async files(files: (Extraction & { kind: "files" })["files"]): Promise<void> {
    for await (const file of files) {
      this.options.signal.throwIfAborted();
      if (this.full) break;
      const stream = await file.open();
      if (file.format === "jsonl") await this.#lines(file.name, stream);
      else if (file.format === "json") await this.rows(readJson(file.name, stream));
      else await this.#copied(file.name, file.format, stream);
      this.options.progress(this.root.rows);
    }
  }

  async end(): Promise<void> {
    await this.staging.flushLarge(this.#normaliser.lines, true);
    await this.staging.conveyor.drain();
  }

  /** A file that DuckDB reads itself. */
  async #copied(name: string, format: "csv" | "parquet", stream: ReadableStream<Uint8Array>): Promise<void> {
    const { staging, options } = this;
    const path = staging.path(format);
    const into = createWriteStream(path, { mode: 0o600 });
    await pipeline(Readable.from(stream), into, { signal: options.signal });
    if (into.bytesWritten > 0) {
      await staging.flushLarge(this.#normaliser.lines, true); // rows keep their order
      await staging.conveyor.drain();
      await this.#staged(path, format).catch((error: unknown) => {
        throw unreadable(name, format, error);
      });
    }
    await unlink(path);
  }

  async #staged(path: string, format: "csv" | "parquet"): Promise<void> {
    if (format === "parquet")
      return this.#stage(`read_parquet(${quoteText(path)}, hive_partitioning = false)`);
    // What is not told is guessed, and a guess may pass over rows as a preamble or as comments.
    const { delimiter, fields } = await readHead(path);
    const parted = fields.length > 1 ? `, delim = ${quoteText(delimiter)}` : "";
    const csv = `read_csv(${quoteText(path)}, header = true, skip = 0, comment = '', quote = '"', escape = '"'${parted}`;
    const slots = this.root.slots.length;
    try {
      await this.#stage(`${csv})`, true);
    } catch (error) {
      // The types were guessed from the first rows, and a later row is not of them, or is very long.
      if (!(error instanceof AppError) || error.code !== "sql_error") throw error;
      this.root.forgetSlots(slots);
      await this.#stage(
        `${csv}, all_varchar = true, max_line_size = ${MAX_LINE_BYTES}, buffer_size = ${2 * MAX_LINE_BYTES})`,
      );
    }
  }

  /** With `isGuessed` the types are those that CSV's first rows look like. */
  async #stage(given: string, isGuessed = false): Promise<void> {
    const { staging, options, root } = this;
    const described = await staging.session.run(`DESCRIBE SELECT * FROM ${given}`);
    const doubles = isGuessed ? described.filter((row) => row.column_type === "DOUBLE") : [];
    const source =
      doubles.length === 0
        ? given
        : exactly(
            given,
            doubles.map((row) => String(row.column_name)),
          );
    const picked = [`row_number() OVER () + ${root.rows} AS ${SEQUENCE.name}`];
    const pairs: string[] = [];
    for (const row of described) {
      const name = String(row.column_name);
      const type = typeName(String(row.column_type));
      if (options.only && !options.only.has(name)) continue;
      const column = root.columnOf(name, options.warn);
      if (column.slots.length === 0) column.texts = "VARCHAR";
      column.jsonNumbers = false;
      const slot = root.slotOf(column, type);
      const value = quoteName(name);
      const cast =
        storedType(type) === "JSON" && type !== "JSON"
          ? `to_json(${value})`
          : `CAST(${value} AS ${slot.type})`;
      picked.push(`${slot.type === type ? value : cast} AS ${slot.name}`);
      pairs.push(fingerprintPair(column.name, value));
    }
    if (options.fingerprint) picked.push(`${fingerprintOf(pairs)} AS __fp`);
    const room = options.limit === null ? "" : ` LIMIT ${options.limit - root.rows}`;
    const parquet = staging.path("parquet");
    const rows = await staging.write(
      `SELECT ${picked.join(", ")} FROM (SELECT * FROM ${source}${room})`,
      parquet,
    );
    if (rows === 0) return;
    root.files.push(parquet);
    root.rows += rows;
    this.#normaliser.skip(rows);
  }
}

/** CSV whose fractions are read as texts first: whole numbers that a double would change are refused. */
function exactly(csv: string, columns: readonly string[]): string {
  const texts = columns.map((name) => `${quoteText(name)}: 'VARCHAR'`);
  const values = columns.map((name) => {
    const value = quoteName(name);
    const isLong = `length(${value}) > 15 AND regexp_full_match(${value}, '\\s*[-+]?\\d{16,}\\s*')`;
    return `CASE WHEN ${isLong} THEN error('A number is too long.') ELSE CAST(${value} AS DOUBLE) END AS ${value}`;
  });
  return `(SELECT * REPLACE (${values.join(", ")}) FROM ${csv.replace(/\)$/, "")}, types = {${texts.join(", ")}}))`;
}

const unreadable = (name: string, format: string, error: unknown): unknown =>
  error instanceof AppError && error.code === "sql_error"
    ? new AppError("upstream", `${name} can't be read as ${format}: ${withoutAdvice(error.message)}`, {
        cause: error,
        details: { file: name },
      })
    : error;

/** DuckDB's message, less the settings that it advises, which are ours to make, and our own file's name. */
const withoutAdvice = (message: string): string =>
  /automatically detect/.test(message)
    ? "its lines do not part into the columns of the first one, or a quote is never closed."
    : message
        .replace(/\n(?:The search space used was|Possible (?:fix(?:es)?|solutions?)):[\s\S]*$/i, "")
        .replace(/ (?:when sniffing )?file (["'])…[^"'\n]*\1/gi, " the file");
