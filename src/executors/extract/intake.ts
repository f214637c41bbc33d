import { isUtf8 } from "node:buffer";
import { unlink } from "node:fs/promises";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { OddValues } from "../../base/odd-values.ts";
import { KEY_REPEATED } from "../../base/repeated-keys.ts";
import { openTurns } from "../../base/slices.ts";
import {
  cutLines,
  lineIn,
  linesIn,
  type OnRepeated,
  parseItem,
  parseLine,
  parseLines,
  readJson,
  readLines,
} from "../../lake/json-reader.ts";
import { pastValue } from "../../providers/api/json-list.ts";
import type { Extraction, JsonList } from "../../providers/contract.ts";
import { ahead } from "./ahead.ts";
import { ByteRows } from "./byte-rows.ts";
import { csvStyleOf, warnOfRejecting } from "./file-options.ts";
import { addFolderValues, type FolderValue, lostValuesSentence } from "./folder-values.ts";
import type { Intake, IntakeOptions } from "./intake-options.ts";
import { normaliseName } from "./naming.ts";
import { Normaliser, rootSlots } from "./normalise.ts";
import { type CopiedFile, prepared, type SourceFiles, type StreamedFile } from "./prepared.ts";
import { addRejects, type Reject, rejectedSentence, rejectText } from "./rejects.ts";
import { Sheet } from "./sheet.ts";
import { byteOrderOf } from "./spool.ts";
import type { Staging } from "./staging.ts";
import { Tabular } from "./tabular.ts";
import { isRefusal } from "./typed.ts";

/** Number of rows of a page to process before lines are written to disk. */
const ROWS_AT_ONCE = 512;
const NEWLINE = 0x0a;
const COMMA = 0x2c;
const BYTE_ORDER_MARK = 0xef;

/** Reads JSON rows, or files of any format, into staged files. */
export async function takeLoose(
  extraction: Extraction & { kind: "rows" | "files" },
  staging: Staging,
  options: IntakeOptions,
): Promise<Intake> {
  const root = new Sheet(options.table, null, rootSlots(options), options.namesOf(options.table));
  const reader = new LooseReader(root, staging, options);
  let isMiscounted = false;
  if (extraction.kind === "rows") {
    await reader.api(extraction);
    const { total } = extraction;
    if (total !== undefined && total !== root.rows && !reader.full) {
      const message = `the source announced ${total} rows of ${options.table} and returned ${root.rows}.`;
      if (options.strictCounts) {
        throw new AppError("row_count_mismatch", `Nothing was loaded: ${message}`, {
          details: { table: options.table, told: total, read: root.rows },
        });
      }
      options.warn(`source_count_mismatch: ${message}`);
      isMiscounted = true;
    }
  } else await reader.files(extraction.files);
  await reader.end();
  return {
    sheets: reader.sheets,
    areNamed: reader.areNamed,
    isPartial: isMiscounted || reader.isPartial,
    rejects: reader.rejects,
    odd: reader.odd,
    furtherSheets: [...reader.furtherSheets],
    fingerprinted: options.fingerprint,
  };
}

class LooseReader {
  readonly #normaliser: Normaliser;
  /** Null if rows or values are left out, or each row has a fingerprint. */
  readonly #bytes: ByteRows | null;
  readonly #tabular: Tabular;
  /** Names of sheets that weren't read. */
  readonly furtherSheets = new Set<string>();
  /** Reading doesn't pause while rows arrive, so it must yield to other work. */
  readonly #yieldSlice = openTurns();
  /** Columns in the names of folders, each with the first such folder. */
  readonly #folderValues: FolderValue[] = [];
  /** Whether a file may not have been written to its end. */
  isPartial = false;
  /** Numbers of files with and without column names. */
  #named = 0;
  #unnamed = 0;

  constructor(
    readonly root: Sheet,
    readonly staging: Staging,
    readonly options: IntakeOptions,
  ) {
    this.#tabular = new Tabular(root, staging, options);
    this.#normaliser = new Normaliser(root, { ...options, odd: this.#tabular.odd });
    const [lines] = this.#normaliser.lines;
    const isAll = options.limit === null && options.only === null && !options.fingerprint;
    this.#bytes = isAll && lines ? new ByteRows(this.#normaliser, lines, options) : null;
  }

  readonly #onRepeated: OnRepeated = ({ path, lost }) => this.odd.add(path, KEY_REPEATED, lost);

  get sheets(): Sheet[] {
    return this.#normaliser.lines.map((lines) => lines.sheet);
  }

  get odd(): OddValues {
    return this.#tabular.odd;
  }

  get rejects(): readonly Reject[] {
    return this.#tabular.rejects;
  }

  get areNamed(): boolean {
    return this.#named > 0 && this.#unnamed === 0;
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
    if (this.options.limit !== null) return this.rows(pages); // no page is requested beyond the limit
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
        for (const row of parseItem(options.table, bytes.subarray(at, end), root.rows, this.#onRepeated))
          this.#normaliser.add(row);
        at = bytes.subarray(0, to).indexOf(COMMA, end) + 1;
      } else at = next;
    }
    await this.#pause();
  }

  /** Yields to other work between rows. */
  async #pause(): Promise<void> {
    this.options.signal.throwIfAborted();
    await this.staging.flushLarge(this.#normaliser.lines);
    await this.#yieldSlice();
    this.options.progress(this.root.rows);
  }

  async #add(page: JsonObject[]): Promise<void> {
    for (let start = 0; start < page.length && !this.full; start += ROWS_AT_ONCE) {
      const room = (this.options.limit ?? Number.POSITIVE_INFINITY) - this.root.rows;
      for (const row of page.slice(start, start + Math.min(ROWS_AT_ONCE, room))) this.#normaliser.add(row);
      await this.#pause();
    }
  }

  async #lines(name: string, stream: AsyncIterable<Uint8Array>): Promise<void> {
    let before = 0;
    for await (const bytes of readLines(name, stream)) {
      this.options.signal.throwIfAborted();
      // A text with a leading byte order mark differs from one without.
      if (this.#bytes && bytes[0] !== BYTE_ORDER_MARK) {
        before = await this.#eachLine(name, bytes, before, this.#bytes);
      } else {
        const texts = linesIn(bytes);
        await this.#add(parseLines(name, texts, before, this.#onRepeated));
        before += texts.length;
      }
      this.options.progress(this.root.rows);
      if (this.full) break;
    }
  }

  /** Returns the number of lines so far. */
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
        for (const row of parseLines(name, texts, count, this.#onRepeated)) this.#normaliser.add(row);
        at = end;
        count += texts.length;
      }
      if (count < flushed + ROWS_AT_ONCE) continue;
      await this.staging.flushLarge(this.#normaliser.lines);
      await this.#yieldSlice();
      flushed = count;
    }
    await this.staging.flushLarge(this.#normaliser.lines);
    return count;
  }

  /** As `#lines`, but lines that aren't JSON are rejected. */
  async #goodLines(name: string, stream: AsyncIterable<Uint8Array>): Promise<void> {
    let [line, rejected] = [0, 0];
    let first: Reject | undefined;
    for await (const bytes of cutLines(name, stream)) {
      const isText = isUtf8(bytes);
      const rejects: Reject[] = [];
      for (let at = line === 0 ? markLength(bytes) : 0; at < bytes.length && !this.full; ) {
        const next = isText && this.#bytes ? this.#bytes.add(bytes, at) : -1;
        const end = next < 0 ? bytes.indexOf(NEWLINE, at) + 1 : next;
        line++;
        if (next < 0) {
          const one = bytes.subarray(at, end - 1);
          const rows = parseLine(one, this.#onRepeated);
          if (typeof rows === "string")
            rejects.push({ file: name, line, reason: rows, text: rejectText(one) });
          else for (const row of rows) this.#normaliser.add(row);
        }
        at = end;
        if (line % ROWS_AT_ONCE === 0) await this.#pause();
      }
      first ??= rejects[0];
      rejected += rejects.length;
      this.root.rejected += rejects.length;
      addRejects(this.#tabular.rejects, rejects);
      await this.#pause();
      if (this.full) break;
    }
    if (rejected > 0) this.options.warn(rejectedSentence(name, rejected, first));
  }

  async files(files: SourceFiles): Promise<void> {
    const { staging, options } = this;
    let isSheetMeant = options.file.sheet === undefined;
    for await (const file of prepared(files, staging, options)) {
      options.signal.throwIfAborted();
      if (this.full) break;
      if (!isSheetMeant && file.format !== "xlsx") {
        isSheetMeant = true;
        options.warn(`file.sheet has no effect on ${file.name}, which was read as ${file.format}.`);
      }
      warnOfRejecting(file.name, file.format, options.file, options.warn);
      addFolderValues(this.#folderValues, file.name);
      if ("open" in file) await this.#streamed(file);
      else await this.#copied(file);
      options.progress(this.root.rows);
    }
  }

  async #streamed({ name, format, open }: StreamedFile): Promise<void> {
    this.#unnamed++;
    const stream = await open();
    if (format === "jsonl") {
      const read = this.options.file.onBadRow === "reject" ? this.#goodLines : this.#lines;
      return read.call(this, name, this.#counted(name, stream));
    }
    const before = this.root.rows;
    let isEmpty = true;
    await this.rows(
      readJson(name, stream, this.#onRepeated, () => {
        isEmpty = false;
      }),
    );
    if (isEmpty && this.root.rows === before) throw emptyFile(name, "JSON");
  }

  /** The bytes of a file. Without any, it may not have been written to its end. */
  async *#counted(name: string, stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of stream) {
      bytes += chunk.length;
      yield chunk;
    }
    if (bytes === 0) this.#warnOfEmpty(name);
  }

  #warnOfEmpty(name: string): void {
    this.options.warn(`${name} has no bytes, and no rows came of it. Was it written to its end?`);
    this.isPartial = true;
  }

  async end(): Promise<void> {
    await this.staging.flushLarge(this.#normaliser.lines, true);
    await this.staging.conveyor.drain();
    await this.#tabular.typeTexts();
    const { root, options } = this;
    if (root.rows === 0 || options.only !== null) return;
    const names = new Set(root.columns.map(({ name }) => name));
    for (const value of this.#folderValues)
      if (!names.has(normaliseName(value.column))) options.warn(lostValuesSentence(value));
  }

  /** A file that DuckDB reads itself. */
  async #copied(file: CopiedFile): Promise<void> {
    const { name, format, path, bytes } = file;
    const { staging, root, options } = this;
    await staging.flushLarge(this.#normaliser.lines, true); // rows keep their order
    await staging.conveyor.drain();
    const limit = options.limit === null ? null : options.limit - root.rows;
    try {
      if (format === "xlsx" || format === "avro") {
        if (bytes === 0) throw emptyFile(name, format === "xlsx" ? "Excel" : "Avro");
        this.#normaliser.skip(await this.#sheets(path, format, limit));
      } else if (format === "parquet") {
        if (bytes === 0) throw emptyFile(name, "Parquet");
        this.#normaliser.skip(await this.#tabular.parquet(file, limit));
      } else {
        if (bytes === 0) this.#warnOfEmpty(name);
        const style = csvStyleOf(options.file);
        const delimiter = format === "tsv" ? { delimiter: "\t" } : {};
        this.#normaliser.skip(await this.#tabular.csv(file, limit, { ...delimiter, ...style }));
      }
    } catch (error) {
      throw isRefusal(error) ? error : unreadable(name, format, error);
    }
    if (bytes > 0) this.#named++;
    await unlink(path);
  }

  /**
   * The first sheet of a workbook goes to the resource's own table, unless the resource names another. Other sheets
   * are reported.
   */
  async #sheets(path: string, format: "xlsx" | "avro", limit: number | null): Promise<number> {
    const { file, readSheets, folder, signal, sheet: further } = this.options;
    const { sheet = null, header = true, skipRows = 0 } = file;
    const tables = await readSheets({
      path,
      format,
      folder,
      sheet: further === null ? sheet : null,
      header,
      skipRows,
      signal,
    });
    const wanted = further ?? sheet;
    const [table] = wanted === null ? tables : tables.filter(({ name }) => name === wanted);
    if (wanted === null)
      for (const { name } of tables.slice(1)) if (name !== null) this.furtherSheets.add(name);
    const rows = table ? await this.#tabular.sheetTable(table, limit) : 0;
    for (const each of tables) await unlink(each.path);
    return rows;
  }
}

/** Length of the byte order mark at the start of a file. */
const markLength = (bytes: Uint8Array): number => (byteOrderOf(bytes)?.encoding === "utf-8" ? 3 : 0);

const emptyFile = (name: string, title: string) =>
  new AppError(
    "upstream",
    `${name} has no bytes, and no file of ${title} is empty. Was it written to its end?`,
    {
      details: { file: name },
    },
  );

const unreadable = (name: string, format: string, error: unknown): unknown =>
  error instanceof AppError && error.code === "sql_error"
    ? new AppError("upstream", `${name} can't be read as ${format}: ${withoutAdvice(error.message)}`, {
        cause: error,
        details: { file: name },
      })
    : error;

/** Returns DuckDB's message, without the settings that it suggests and without the internal filename. */
function withoutAdvice(message: string): string {
  const line = /CSV Error on Line: (\d+)/.exec(message)?.[1];
  const at = line === undefined ? "" : `line ${line}: `;
  if (/unterminated quote|state machine/.test(message))
    return `${at}a quote is never closed, or there is text between a quote and the end of its field. Set file.quote to another character, or to "" for none.`;
  const counts = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message);
  if (counts)
    return `${at}${counts[2]} fields, where the columns of the first one are ${counts[1]}. Set file.delimiter, or file.onBadRow to "reject" to continue without such lines.`;
  if (/not utf-8/i.test(message))
    return `${at}it is not utf-8. Set file.encoding, for example to windows-1252.`;
  return message
    .replace(/\n(?:The search space used was|Possible (?:fix(?:es)?|solutions?)):[\s\S]*$/i, "")
    .replace(/ (?:when sniffing )?file (["'])…[^"'\n]*\1/gi, " the file");
}
