import { stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeRows } from "../../lake/merge.ts";
import type { SqlFile, SqlSession } from "../../sql/contract.ts";
import { quoteName, quoteText } from "../../sql/text.ts";
import { Conveyor } from "./conveyor.ts";
import type { Lines } from "./lines.ts";
import { FilePool, type RecordFile } from "./records.ts";
import { selectOf, type Target } from "./resolve.ts";
import { type Chunk, SEQUENCE, type Sheet, type Slot, type Text } from "./sheet.ts";

/** DuckDB's default limit for a line. Longer lines need an explicit limit. */
const USUAL_LINE_BYTES = 1_900_000;
/** A sheet's lines are written at this size in bytes, or if all sheets together have twice as many. */
const FLUSH_BYTES = 8 * 1024 * 1024;

/** Small row groups limit DuckDB's memory: it holds a whole group, in several forms. */
const ROW_GROUP_ROWS = 30_720;

/** Converts text files to Parquet in the session's process, while the caller continues reading. */
export class Staging {
  readonly conveyor = new Conveyor();
  readonly pool: FilePool;
  /** Returns the table's columns for a sheet as it is now. Null if they can only be derived from its rows. */
  guess: ((sheet: Sheet) => Promise<Target[] | null>) | null = null;
  #number = 0;

  constructor(
    readonly session: SqlSession,
    readonly folder: string,
  ) {
    this.pool = new FilePool(folder);
  }

  path(extension: string): string {
    return join(this.folder, `stage-${++this.#number}.${extension}`);
  }

  /** Runs `select` into a Parquet file and returns its number of rows. */
  async write(select: string, path: string): Promise<number> {
    return this.#copy(select, path, "COMPRESSION snappy");
  }

  /** Runs `select` into a Parquet file that is kept after the load. */
  async writeFinal(select: string): Promise<SqlFile> {
    const path = this.path("parquet");
    const rows = await this.#copy(select, path, "COMPRESSION zstd, COMPRESSION_LEVEL 1");
    return { path, rows, bytes: (await stat(path)).size };
  }

  /** Runs a `select` of many rows into Parquet files that are kept after the load. */
  async writeLarge(select: string): Promise<SqlFile[]> {
    return writeRows(this.session, select, this.path("out"), { isQuick: true });
  }

  async #copy(select: string, path: string, compression: string): Promise<number> {
    const [row] = await this.session.run(
      `COPY (${select}\n) TO ${quoteText(path)} (FORMAT parquet, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ${compression})`,
    );
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  /** Writes the lines of a sheet to disk. The Parquet file follows. */
  async flush(lines: Lines): Promise<void> {
    if (lines.size === 0) return;
    const { sheet } = lines;
    const { bytes, longest } = lines.take();
    const slots = sheet.slots.slice(0, lines.cells.length);
    const csv = this.path("csv");
    await writeFile(csv, bytes, { mode: 0o600 });
    const text = { csv, longest, slots };
    const targets = await this.guess?.(sheet);
    if (targets) {
      const chunk: Chunk = { text, targets, blank: new Set(), files: null };
      sheet.chunks.push(chunk);
      await this.conveyor.put(async () => {
        chunk.files = [await this.writeFinal(`SELECT ${selectOf(targets)} FROM ${readText(text)}`)];
      });
      return;
    }
    const parquet = this.path("parquet");
    sheet.files.push(parquet);
    await this.conveyor.put(() => this.stage(text, parquet));
  }

  /** Converts lines to a staged file, and deletes the text. */
  async stage(text: Text, parquet: string): Promise<void> {
    await this.write(`SELECT * FROM ${readText(text)}`, parquet);
    await unlink(text.csv);
  }

  /** Writes buffered lines to disk if there are enough of them, or with `all` the rest at the end. */
  async flushLarge(all: readonly Lines[], rest = false): Promise<void> {
    let total = 0;
    for (const lines of all) total += lines.size;
    for (const lines of all) {
      if (rest || lines.size >= FLUSH_BYTES || total >= 2 * FLUSH_BYTES) await this.flush(lines);
    }
  }
}

export const readText = ({ csv, longest, slots }: Text): string => readCsv({ path: csv, longest }, slots);

/**
 * The table function for CSV text, from Weir or a source, without a header and with NULL as an unquoted empty field.
 */
export function readCsv(
  file: Pick<RecordFile, "path" | "longest">,
  slots: readonly Pick<Slot, "name" | "type">[],
): string {
  const columns = slots.map((slot) => `${quoteText(slot.name)}: ${quoteText(slot.type)}`);
  const longest = file.longest + 1024;
  // DuckDB would reserve memory for 16 such lines.
  const long =
    file.longest > USUAL_LINE_BYTES ? `, max_line_size = ${longest}, buffer_size = ${longest + 1024}` : "";
  return `read_csv(${quoteText(file.path)}, header = false, auto_detect = false, columns = {${columns.join(", ")}}, delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, strict_mode = true${long})`;
}

/** `source` with each row's number, starting after `before`. */
export const numbered = (source: string, before: number): string =>
  `SELECT *, row_number() OVER () + ${before} AS ${quoteName(SEQUENCE.name)} FROM ${source}`;
