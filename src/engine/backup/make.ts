import { createReadStream, existsSync } from "node:fs";
import { link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Clock, timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { diskFault, isSystemError } from "../../base/file-error.ts";
import type { Ids } from "../../base/ids.ts";
import { keyIdOf } from "../../crypto/secretbox.ts";
import { keyInFile } from "../../folder.ts";
import { PARTS_FOLDER } from "../../providers/files/paths.ts";
import { backupInstant } from "../../resources/health/backups.ts";
import { backup as copyDatabase } from "../../store/backup.ts";
import { storeFault } from "../../store/faults.ts";
import { version } from "../../version.ts";
import { type ArchiveWriter, type Watch, writeArchive } from "./archive.ts";
import { describe, folderPieces, hold, lakePieces, type Piece, withDatabase } from "./contents.ts";
import { DATABASE, HEAD, headText, KEY_FILE, MANIFEST, type Manifest, manifestText } from "./shape.ts";
import { verifyFiles } from "./verify.ts";

const CHUNK_BYTES = 1024 * 1024;
/** Age after which leftovers of a killed backup in `backups/` are deleted. */
const LEFT_FOR_MS = 24 * 60 * 60 * 1000;
const WORK = ".work-";
/** Suffix of an incomplete backup. */
const PART = ".part";

/** Folder in the data directory's `backups/` for temporary files of a backup. */
export interface BackupRequest {
  /** The data directory. A server may be running on it. */
  dataFolder: string;
  /** The new file. */
  to: string;
  clock: Clock;
  ids: Ids;
  /** The master key to include, or null for none. */
  key: Uint8Array | null;
  /** Null for a lake in the data directory. Files in a bucket aren't copied. */
  lakeUrl: string | null;
  /** Passphrase for encryption, or null for none. */
  passphrase: string | null;
  signal?: AbortSignal;
  watch?: Watch;
}

export interface BackupResult {
  path: string;
  bytes: number;
  manifest: Manifest;
}

/**
 * Writes a backup of a data directory to one file, and verifies it before giving it its final name. Doesn't block
 * writers of a running server: the database is copied from a read snapshot.
 *
 * Throws `conflict` if the path exists, `not_found` if there is no database, `invalid_state` if a file that the
 * database names is missing, and `cancelled`.
 */
export async function makeBackup(request: BackupRequest): Promise<BackupResult> {
  const { dataFolder, clock, ids } = request;
  const to = resolve(request.to);
  if (existsSync(to)) throw taken(to);
  if (!existsSync(join(dataFolder, DATABASE))) {
    throw new AppError("not_found", `No database in ${dataFolder}. Set --data to the data directory.`);
  }
  const backups = join(dataFolder, "backups");
  const work = join(backups, `${WORK}${ids.uuid()}`);
  const part = `${to}${PART}`;
  try {
    await mkdir(backups, { recursive: true, mode: 0o700 });
    await sweepLeftovers(backups, clock);
    await mkdir(work, { mode: 0o700 });
    await mkdir(dirname(to), { recursive: true });
    await rm(part, { force: true });
    await copyDatabase(join(dataFolder, DATABASE), join(work, DATABASE));
    const archive = await writeArchive(part, request.passphrase);
    try {
      await fill(archive, request, work);
      await archive.finish();
    } catch (error) {
      await archive.abandon();
      throw error;
    }
    const manifest = await verifyFiles(part, {
      work: { folder: work, named: dataFolder },
      passphrase: request.passphrase,
      signal: request.signal,
      watch: request.watch,
    });
    await publish(part, to);
    return { path: to, bytes: (await stat(to)).size, manifest };
  } catch (error) {
    throw fileFault(error, to, dataFolder);
  } finally {
    // what can't be removed now is removed by a later backup
    await rm(part, { force: true }).catch(() => undefined);
    await rm(work, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Writes the header, the database, all other files and their list, in this order. */
async function fill(archive: ArchiveWriter, request: BackupRequest, work: string): Promise<void> {
  const { dataFolder, key, lakeUrl, signal, watch } = request;
  const createdAt = timestamp(request.clock);
  const copy = join(work, DATABASE);
  const { migrations, keyId, organizations, lake } = await withDatabase(copy, async (db) => ({
    ...(await describe(db)),
    lake: lakeUrl === null ? await lakePieces(db, join(dataFolder, "lake")) : { pieces: [], gone: [] },
  }));
  if (key !== null && keyId !== null && keyIdOf(key) !== keyId) {
    throw new AppError(
      "invalid_state",
      "The master key isn't the one that this database's secrets are encrypted with.",
    );
  }
  const files = await folderPieces(join(dataFolder, "files"), "files", (name) => name === PARTS_FOLDER);
  const artifacts = await folderPieces(join(dataFolder, "artifacts"), "artifacts");
  const { heldPieces, gone } = await hold(
    [...lake.pieces, ...files.pieces, ...artifacts.pieces],
    join(work, "held"),
  );

  const parts: Manifest["parts"] = [];
  let done = 0;
  const reach = (bytes: number) => {
    done += bytes;
    watch?.reach(done);
  };
  const add = async (piece: Pick<Piece, "name" | "path" | "bytes">) => {
    if (signal?.aborted) throw new AppError("cancelled", "Backup cancelled.");
    const { name, path, bytes } = piece;
    const sha256 = await archive.add({ name, bytes }, heard(chunksOf(path), reach));
    parts.push({ path: name, bytes, sha256 });
  };
  await addText(archive, HEAD, headText({ version, migrations, createdAt }));
  const databaseBytes = (await stat(copy)).size;
  watch?.begin(
    "backup",
    heldPieces.reduce((sum, { bytes }) => sum + bytes, databaseBytes),
  );
  await add({ name: DATABASE, path: copy, bytes: databaseBytes });
  for (const piece of heldPieces) await add(piece);
  if (key !== null) {
    const text = `${Buffer.from(key).toString("base64")}\n`;
    const sha256 = await addText(archive, KEY_FILE, text);
    parts.push({ path: KEY_FILE, bytes: text.length, sha256 });
  }
  const manifest: Manifest = {
    version,
    schemaVersion: migrations.at(-1) ?? "",
    createdAt,
    keyId,
    hasKey: key !== null,
    lakeUrl,
    organizations,
    parts,
    leftOut: [...lake.gone, ...gone, ...files.leftOut, ...artifacts.leftOut],
  };
  await addText(archive, MANIFEST, manifestText(manifest));
}

async function* heard(
  chunks: AsyncIterable<Uint8Array>,
  hear: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hear(chunk.length);
    yield chunk;
  }
}

function addText(archive: ArchiveWriter, name: string, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return archive.add({ name, bytes: bytes.length }, one(bytes));
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const chunksOf = (path: string): AsyncIterable<Uint8Array> =>
  createReadStream(path, { highWaterMark: CHUNK_BYTES });

/** The key to include in the backup: the current one. */
export function keyToInclude(dataFolder: string, environmentKey: string | null): Uint8Array {
  const key =
    environmentKey === null ? keyInFile(dataFolder) : new Uint8Array(Buffer.from(environmentKey, "base64"));
  if (key !== null) return key;
  throw new AppError("not_found", `No secret.key in ${dataFolder}, and WEIR_SECRET_KEY isn't set.`);
}

/** Renames the file without overwriting another. */
async function publish(part: string, to: string): Promise<void> {
  try {
    await link(part, to);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "EEXIST" || existsSync(to)) throw taken(to);
    await rename(part, to); // a file system without hard links
  }
}

const taken = (path: string) => new AppError("conflict", `${path} already exists. Choose another filename.`);

/** The file system's error as a sentence. */
function fileFault(error: unknown, to: string, dataFolder: string): unknown {
  const known = storeFault(error);
  if (known instanceof AppError || !(error instanceof Error) || !isSystemError(error)) return known;
  const isOfData = "path" in error && String(error.path).startsWith(resolve(dataFolder));
  const full = diskFault(error, isOfData ? dataFolder : dirname(to));
  if (full) return full;
  return new AppError("unavailable", `Couldn't write the backup ${to}: ${error.message}.`, { cause: error });
}

/** Removes what killed backups left in `backups/`: their folders, and incomplete scheduled backups. */
async function sweepLeftovers(backups: string, clock: Clock): Promise<void> {
  const limit = clock.now().getTime() - LEFT_FOR_MS;
  for (const name of await readdir(backups)) {
    const isPart = name.endsWith(PART) && backupInstant(name.slice(0, -PART.length)) !== null;
    if (!isPart && !name.startsWith(WORK)) continue;
    const path = join(backups, name);
    const there = await stat(path).catch(() => null); // another backup may have ended
    if (there !== null && there.mtimeMs < limit) await rm(path, { recursive: true, force: true });
  }
}
