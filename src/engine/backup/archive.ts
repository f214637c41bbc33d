import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../base/errors.ts";
import { fileReason, isSystemError, writeFault } from "../../base/file-error.ts";
import { AGE_MAGIC, ageDecrypt, ageEncrypt } from "../../crypto/age.ts";

const CHUNK_BYTES = 1024 * 1024;
const FILE_MODE = 0o600;
/** Writing a gigabyte at once would delay all other commits. */
const SYNC_BYTES = 16 * 1024 * 1024;
/** Parquet is already compressed, so a higher level costs time and gains little. */
const LEVEL = 1;
/** Magic number of a zstd frame: RFC 8878, section 3.1.1. */
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** A file in an archive: its name and size. */
export interface Entry {
  name: string;
  bytes: number;
}

export interface ArchiveWriter {
  /** Adds a file and returns its SHA-256. Throws `unavailable` if it is shorter than stated. */
  add(entry: Entry, chunks: AsyncIterable<Uint8Array>): Promise<string>;
  /** Writes the end. On return the file is complete and synced to disk. */
  finish(): Promise<void>;
  /** Stops writing, and leaves the incomplete file. */
  abandon(): Promise<void>;
}

/**
 * Streams a tar file, compressed with zstd and encrypted if there is a passphrase. Throws `conflict` if `path`
 * exists.
 */
export async function writeArchive(path: string, passphrase: string | null = null): Promise<ArchiveWriter> {
  const { pack: openPack } = await import("tar-stream");
  const { constants, createZstdCompress } = await import("node:zlib");
  const pack = openPack({ highWaterMark: CHUNK_BYTES });
  const zstd = createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  });
  const handle = await open(path, "wx", FILE_MODE);
  const file = handle.createWriteStream({ highWaterMark: CHUNK_BYTES });
  const packed = pack as unknown as NodeJS.ReadableStream;
  const written =
    passphrase === null ? pipeline(packed, zstd, file) : pipeline(packed, zstd, ageEncrypt(passphrase), file);
  let unsynced = 0;
  let fault: unknown = null;
  written.catch((error: unknown) => {
    fault = error;
    pack.destroy();
  });
  const failed = () =>
    isSystemError(fault)
      ? writeFault(fault, dirname(path))
      : (fault ?? new AppError("unavailable", "Couldn't write the backup."));

  return {
    async add({ name, bytes }, chunks) {
      if (fault !== null) throw failed();
      const hash = new Bun.CryptoHasher("sha256");
      let left = bytes;
      const stored = Promise.withResolvers<void>();
      const sink = pack.entry({ name, size: bytes, mode: FILE_MODE, mtime: new Date(0) }, (error) =>
        error ? stored.reject(error) : stored.resolve(),
      );
      stored.promise.catch(() => undefined); // awaited below, after the chunks
      sink.on("error", () => undefined); // when the file can't be written: `fault` says why
      for await (const chunk of chunks) {
        const piece = chunk.length > left ? chunk.subarray(0, left) : chunk;
        left -= piece.length;
        hash.update(piece);
        if (!sink.write(piece)) await Promise.race([drained(sink), written.catch(() => undefined)]);
        if (fault !== null) throw failed();
        unsynced += piece.length;
        if (unsynced >= SYNC_BYTES) {
          unsynced = 0;
          await handle.datasync();
        }
        if (left === 0) break; // only the stated size of a file that has grown
      }
      if (left > 0) {
        throw new AppError("unavailable", `${name} shrank while it was being copied. Try again.`, {
          retryable: true,
        });
      }
      sink.end(null);
      await Promise.race([stored.promise, written]).catch(() => written.catch(() => undefined));
      if (fault !== null) throw failed();
      return hash.digest("hex");
    },
    async finish() {
      pack.finalize();
      await written.catch(() => {
        throw failed();
      });
      const whole = await open(path, "r");
      try {
        await whole.sync();
      } finally {
        await whole.close();
      }
    },
    async abandon() {
      pack.destroy();
      await written.catch(() => undefined);
    },
  };
}

/** Receives the progress of a backup. */
export interface Watch {
  /** `total` is in bytes. */
  begin(what: "backup" | "check" | "restore", total: number): void;
  /** Number of bytes done in the current phase. */
  reach(bytes: number): void;
}

const drained = (sink: Pick<NodeJS.EventEmitter, "on" | "off">) =>
  new Promise<void>((resolve) => {
    const done = () => {
      sink.off("drain", done);
      sink.off("close", done);
      resolve();
    };
    sink.on("drain", done);
    sink.on("close", done);
  });

/**
 * Reads an archive from beginning to end. `visit` is called for each file in order, and may read as much of it as it
 * needs. Throws `invalid_state` for a file that isn't an archive, is damaged or truncated, or is encrypted without a
 * passphrase.
 */
export async function readArchive(
  path: string,
  visit: (entry: Entry, chunks: AsyncIterable<Uint8Array>) => Promise<void>,
  passphrase: string | null = null,
  reach: (bytes: number) => void = () => undefined,
): Promise<void> {
  const isEncrypted = await isEncryptedBackup(path);
  if (isEncrypted && passphrase === null) throw locked(path);
  const { extract: openExtract } = await import("tar-stream");
  const extract = openExtract();
  let fault: unknown = null;
  const { createZstdDecompress } = await import("node:zlib");
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const unpacked = extract as unknown as NodeJS.WritableStream;
  const read = (
    isEncrypted
      ? pipeline(file, ageDecrypt(passphrase ?? "", path), createZstdDecompress(), unpacked)
      : pipeline(file, createZstdDecompress(), unpacked)
  ).catch((error: unknown) => {
    fault = error;
    extract.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  let refused: unknown = null;
  try {
    for await (const entry of extract) {
      const { name, size = 0, type } = entry.header;
      if (type !== "file") throw damaged(path);
      const chunks = entry as unknown as AsyncIterable<Uint8Array>;
      await visit(
        { name, bytes: size },
        passed(chunks, () => reach(file.bytesRead)),
      );
      entry.resume();
    }
  } catch (error) {
    refused = error;
    extract.destroy();
  }
  await read;
  if (refused instanceof AppError) throw refused;
  const cause = fault ?? refused;
  if (cause === null) return;
  if (cause instanceof AppError) throw cause;
  throw isSystemError(cause) ? unreadable(path, cause) : damaged(path, cause);
}

async function* passed(chunks: AsyncIterable<Uint8Array>, hear: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hear();
    yield chunk;
  }
}

export const damaged = (path: string, cause?: unknown) =>
  new AppError("invalid_state", `${path} is damaged or incomplete. Use another backup.`, { cause });

const unreadable = (path: string, cause: unknown) =>
  new AppError("not_found", `Couldn't read the backup ${path}: ${fileReason(cause)}.`, { cause });

const locked = (path: string) =>
  new AppError(
    "invalid_state",
    `${path} is encrypted. Set --passphrase-file or WEIR_BACKUP_PASSPHRASE_FILE to a file with its passphrase.`,
  );

/** True for an encrypted backup. Throws `invalid_state` for a file that isn't a backup, and `not_found`. */
export async function isEncryptedBackup(path: string): Promise<boolean> {
  const head = new Uint8Array(AGE_MAGIC.length);
  try {
    const handle = await open(path, "r");
    try {
      await handle.read(head, 0, head.length, 0);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (Buffer.from(head).toString("latin1") === AGE_MAGIC) return true;
  if (!ZSTD_MAGIC.every((byte, at) => head[at] === byte)) throw foreign(path);
  return false;
}

export const foreign = (path: string) => new AppError("invalid_state", `${path} is not a Weir backup.`);
