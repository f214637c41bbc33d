import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../base/errors.ts";

/** Size in bytes after which the next CSV file is started. */
const CHUNK_BYTES = 16 * 1024 * 1024;
/** Small chunks are buffered up to this many bytes. */
const BUFFER_BYTES = 512 * 1024;

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const COMMA = 0x2c;

/**
 * Files that can be overwritten. Writing to pages that the system already has takes half the time of new ones, and an
 * overwritten file needs no removal.
 */
export class FilePool {
  readonly #free: string[] = [];
  #number = 0;

  constructor(readonly folder: string) {}

  /** Returns a file with a new name to write from its start. Its previous content beyond that has to be truncated. */
  async take(): Promise<{ file: FileHandle; path: string; isUsed: boolean }> {
    const path = join(this.folder, `in-${++this.#number}.csv`);
    const used = this.#free.pop();
    if (used !== undefined) await rename(used, path); // a filename is never read twice
    return {
      path,
      file: await open(path, used === undefined ? "w" : "r+", 0o600),
      isUsed: used !== undefined,
    };
  }

  give(path: string): void {
    this.#free.push(path);
  }

  async remove(): Promise<void> {
    for (const path of this.#free.splice(0)) await unlink(path);
  }
}

/** Complete CSV records in a file that returns to the pool after use. */
export interface RecordFile {
  path: string;
  records: number;
  /** Size of the longest record, in bytes. */
  longest: number;
}

/**
 * Writes CSV bytes to files of about `CHUNK_BYTES`, each with complete records, and counts the records. Rows are never
 * decoded: an odd number of quotes so far means that a line break is inside a value.
 *
 * Stops reading at `maxRecords`. Throws `upstream` if the bytes end inside a quoted value.
 */
export async function* cutRecords(
  bytes: AsyncIterable<Uint8Array>,
  pool: FilePool,
  options: {
    maxRecords: number | null;
    signal: AbortSignal;
    chunkBytes?: number;
    onRecords?(records: number): void;
    /** Called with the last field of a record, if it isn't empty. */
    onLastField?(text: string): void;
  },
): AsyncGenerator<RecordFile> {
  const { signal, onRecords, chunkBytes = CHUNK_BYTES, maxRecords } = options;
  const scanner = new Scanner(maxRecords ?? Number.POSITIVE_INFINITY, options.onLastField);
  const writer = new Writer(pool);
  let before = 0;
  try {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      const end = scanner.scan(chunk); // after the last complete record of the chunk
      onRecords?.(scanner.records);
      if (scanner.full) {
        await writer.write(chunk.subarray(0, end));
        break;
      }
      if (end > 0 && writer.size + chunk.length >= chunkBytes) {
        await writer.write(chunk.subarray(0, end));
        yield {
          path: await writer.finish(),
          records: scanner.records - before,
          longest: scanner.takeLongest(),
        };
        before = scanner.records;
        await writer.write(chunk.subarray(end));
      } else await writer.write(chunk);
    }
    if (scanner.quoted)
      throw new AppError("upstream", "The source's data ends in the middle of a row.", { retryable: true });
    if (scanner.partial) {
      scanner.endRecord();
      await writer.write(Uint8Array.of(NEWLINE));
    }
    if (scanner.records > before) {
      yield {
        path: await writer.finish(),
        records: scanner.records - before,
        longest: scanner.takeLongest(),
      };
    }
  } finally {
    await writer.close();
  }
}

/** Number of bytes to keep of an incomplete record: more than the field for odd values ever has. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** The record's bytes from earlier chunks, as far as its last field can reach. */
class Tail {
  #pieces: Uint8Array[] = [];
  #size = 0;

  add(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece.slice(-MAX_KEPT_BYTES));
    this.#size += piece.length;
    while (this.#size - (this.#pieces[0]?.length ?? 0) > MAX_KEPT_BYTES)
      this.#size -= this.#pieces.shift()?.length ?? 0;
  }

  clear(): void {
    if (this.#size === 0) return;
    this.#pieces = [];
    this.#size = 0;
  }

  /** Returns the content of the quoted field that ends with `end`. Null if there is none. */
  fieldBefore(end: Uint8Array): string | null {
    const bytes = Buffer.concat([...this.#pieces, end]);
    const last = bytes.length - 1;
    if (bytes[last] !== QUOTE) return null;
    // Quotes inside it are doubled: from its end, the first single one is where it starts.
    for (let at = last - 1; at >= 0; at--) {
      if (bytes[at] !== QUOTE) continue;
      if (bytes[at - 1] !== QUOTE) return bytes.toString("utf8", at + 1, last).replaceAll('""', '"');
      at--;
    }
    return null;
  }
}

const WORD_BYTES = 4;
const QUOTES = 0x22222222;
const NEWLINES = 0x0a0a0a0a;

/** The bytes as words, or none if they don't begin where words do. */
const wordsOf = ({ buffer, byteOffset, length }: Uint8Array): Int32Array =>
  byteOffset % WORD_BYTES === 0
    ? new Int32Array(buffer, byteOffset, Math.floor(length / WORD_BYTES))
    : new Int32Array();

/** Whether one of the four bytes of a word is a quote or a line feed. */
const hasMark = (word: number): boolean => hasZero(word ^ QUOTES) || hasZero(word ^ NEWLINES);

/** Whether one of the four bytes of a word is zero. */
const hasZero = (word: number): boolean => ((word - 0x01010101) & ~word & 0x80808080) !== 0;

class Scanner {
  records = 0;
  quoted = false;
  /** Number of bytes since the last complete record. */
  #open = 0;
  #longest = 0;
  #before = 0;
  readonly #tail = new Tail();

  constructor(
    readonly limit: number,
    readonly onLastField?: (text: string) => void,
  ) {}

  get full(): boolean {
    return this.records >= this.limit;
  }

  get partial(): boolean {
    return this.#open > 0;
  }

  endRecord(): void {
    this.records++;
    this.#longest = Math.max(this.#longest, this.#open + 1);
    this.#open = 0;
  }

  /** Counts the records that end in `chunk`. Returns the position after the last of them, 0 for none. */
  scan(chunk: Uint8Array): number {
    let quoted = this.quoted ? 1 : 0;
    let records = this.records;
    let longest = this.#longest;
    let start = -this.#open;
    const { length } = chunk;
    const { limit, onLastField } = this;
    const words = wordsOf(chunk);
    const even = words.length * WORD_BYTES;
    for (let i = 0; i < length; i++) {
      if (i % WORD_BYTES === 0) {
        while (i < even && !hasMark(words[i / WORD_BYTES] ?? 0)) i += WORD_BYTES;
        if (i >= length) break;
      }
      const byte = chunk[i];
      if (byte === QUOTE) quoted ^= 1;
      else if (byte === NEWLINE && quoted === 0) {
        records++;
        if (i + 1 - start > longest) longest = i + 1 - start;
        if (onLastField) {
          if ((i > 0 ? chunk[i - 1] : this.#before) !== COMMA)
            this.#tell(chunk.subarray(Math.max(start, 0), i));
          if (start <= 0) this.#tail.clear();
        }
        start = i + 1;
        if (records >= limit) break;
      }
    }
    this.quoted = quoted === 1; // false once full: a record has just ended
    this.records = records;
    this.#longest = longest;
    this.#open = length - start;
    if (this.full) this.#open = 0;
    if (onLastField) {
      this.#tail.add(chunk.subarray(Math.max(start, 0)));
      this.#before = chunk[length - 1] ?? this.#before;
    }
    return Math.max(start, 0);
  }

  #tell(end: Uint8Array): void {
    const text = this.#tail.fieldBefore(end);
    if (text !== null) this.onLastField?.(text);
  }

  takeLongest(): number {
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }
}

/** Writes one file after another. */
class Writer {
  /** Size of the current file, including buffered bytes. */
  size = 0;
  #open: Awaited<ReturnType<FilePool["take"]>> | null = null;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #used = 0;

  constructor(readonly pool: FilePool) {}

  async write(bytes: Uint8Array): Promise<void> {
    this.size += bytes.length;
    if (this.#used + bytes.length > BUFFER_BYTES) await this.#flush();
    if (bytes.length >= BUFFER_BYTES) return this.#put(bytes);
    this.#buffer.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  async finish(): Promise<string> {
    await this.#flush();
    const { file, path, isUsed } = this.#open ?? (await this.pool.take());
    if (isUsed) await file.truncate(this.size);
    await file.close();
    this.#open = null;
    this.size = 0;
    return path;
  }

  async close(): Promise<void> {
    await this.#open?.file.close();
    this.#open = null;
  }

  async #flush(): Promise<void> {
    if (this.#used > 0) await this.#put(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#open ??= await this.pool.take();
    for (let done = 0; done < bytes.length; ) done += (await this.#open.file.write(bytes, done)).bytesWritten;
  }
}
