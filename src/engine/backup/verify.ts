import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../../base/errors.ts";
import { diskFault, writeFault } from "../../base/file-error.ts";
import type { Ids } from "../../base/ids.ts";
import { endOfChain } from "../../resources/events/heads.ts";
import { type AuditLogs, refuseInvalidLogs, verifyAuditLogs } from "../audit-logs.ts";
import { damaged, type Entry, foreign, readArchive, type Watch } from "./archive.ts";
import { describe, refuseNewer, withDatabase } from "./contents.ts";
import {
  DATABASE,
  HEAD,
  isPartName,
  KEY_FILE,
  MANIFEST,
  type Manifest,
  readHead,
  readManifest,
} from "./shape.ts";

const MAX_TEXT_BYTES = 256 * 1024 * 1024;

interface VerifyOptions {
  /** Folder to unpack the database to, and the folder to name if its disk is full. Default: a temporary one. */
  work?: { folder: string; named: string };
  /** Decrypts an encrypted backup. */
  passphrase?: string | null;
  signal?: AbortSignal;
  watch?: Watch | undefined;
}

/**
 * Reads a whole backup and verifies that every file is complete and unchanged, and that the database opens. Throws
 * `invalid_state` otherwise, and `unavailable` for a backup of a newer version.
 */
export const verifyFiles = (path: string, options: VerifyOptions = {}): Promise<Manifest> =>
  withUnpacked(path, options, async ({ manifest }) => manifest);

/**
 * Like `verifyFiles`, and verifies the audit logs with the master key in the backup, or one of `keys`. Throws
 * `invalid_state` if one isn't valid.
 */
export const verifyBackup = (
  path: string,
  { keys, ids, ...options }: VerifyOptions & { keys: readonly Uint8Array[]; ids: Ids },
): Promise<{ manifest: Manifest; auditLogs: AuditLogs }> =>
  withUnpacked(path, options, async ({ manifest, key }, file) => {
    const { signal } = options;
    const known = key === null ? keys : [key, ...keys];
    const auditLogs = await withDatabase(file, (db) => verifyAuditLogs(db, { keys: known, ids, signal }));
    refuseInvalidLogs(auditLogs, "Use another backup. To restore this one anyway, set --allow-invalid-logs.");
    return { manifest, auditLogs };
  });

async function withUnpacked<T>(
  path: string,
  options: VerifyOptions,
  work: (unpacked: Unpacked, file: string) => Promise<T>,
): Promise<T> {
  const { folder, named } = options.work ?? { folder: tmpdir(), named: `${tmpdir()} (TMPDIR)` };
  const into = await mkdtemp(join(folder, "weir-verify-")).catch((error: unknown) => {
    throw diskFault(error, named) ?? error;
  });
  try {
    options.watch?.begin("check", await sizeOf(path));
    const unpacked = await unpack(path, { ...options, into, named, isWanted: (name) => name === DATABASE });
    const file = join(into, DATABASE);
    await checkDatabase(path, file, unpacked.manifest);
    return await work(unpacked, file);
  } finally {
    await rm(into, { recursive: true, force: true });
  }
}

/** 0 for an unreadable file: the next function to read it reports the reason. */
export const sizeOf = async (path: string): Promise<number> =>
  (await stat(path).catch(() => null))?.size ?? 0;

interface Unpacked {
  manifest: Manifest;
  /** The master key in the backup. Null if it isn't included. */
  key: Uint8Array | null;
}

/**
 * Reads a whole backup, and writes the requested files below `into`. Throws like `verifyBackup`, leaving the files
 * written so far.
 */
export async function unpack(
  path: string,
  options: {
    into: string;
    /** The folder to name if it can't be written. */
    named: string;
    isWanted: (name: string) => boolean;
    passphrase?: string | null;
    signal?: AbortSignal;
    watch?: Watch | undefined;
  },
): Promise<Unpacked> {
  const { into, named, isWanted, passphrase = null, signal, watch } = options;
  const seen = new Map<string, Manifest["parts"][number]>();
  let hasHead = false;
  let manifest: Manifest | null = null;
  let key: Uint8Array | null = null;
  const visit = async (entry: Entry, chunks: AsyncIterable<Uint8Array>) => {
    if (signal?.aborted) throw new AppError("cancelled", "No longer needed.");
    if (!hasHead) {
      if (entry.name !== HEAD) throw foreign(path);
      const head = readHead(path, await textOf(path, entry, chunks));
      refuseNewer(head.isNewer ? [`of format ${head.formatVersion}`] : head.migrations, `The backup ${path}`);
      hasHead = true;
    } else if (manifest !== null) throw damaged(path);
    else if (entry.name === MANIFEST) manifest = readManifest(path, await textOf(path, entry, chunks));
    else {
      if (!isPartName(entry.name) || seen.has(entry.name)) throw damaged(path);
      const target = isWanted(entry.name) ? join(into, ...entry.name.split("/")) : null;
      if (entry.name === KEY_FILE) {
        const text = await textOf(path, entry, chunks);
        key = new Uint8Array(Buffer.from(text, "base64"));
        seen.set(entry.name, await take(entry, [Buffer.from(text)], target, named));
      } else seen.set(entry.name, await take(entry, chunks, target, named));
    }
  };
  await readArchive(path, visit, passphrase, (bytes) => watch?.reach(bytes));
  if (!hasHead) throw foreign(path);
  // TypeScript doesn't see assignments in callbacks
  const summary = manifest as Manifest | null;
  if (summary === null || summary.parts.length !== seen.size) throw damaged(path);
  for (const { path: name, bytes, sha256 } of summary.parts) {
    const part = seen.get(name);
    if (part?.bytes !== bytes || part.sha256 !== sha256) throw damaged(path);
  }
  if (!seen.has(DATABASE)) throw damaged(path);
  return { manifest: summary, key };
}

async function take(
  entry: Entry,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: string | null,
  named: string,
): Promise<Manifest["parts"][number]> {
  // an error while writing says nothing about the backup, unlike one of `chunks`
  const written = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      throw writeFault(error, named);
    });
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  if (target !== null) await written(mkdir(dirname(target), { recursive: true, mode: 0o700 }));
  const file = target === null ? null : createWriteStream(target, { flags: "wx", mode: 0o600 });
  const ended = file ? written(once(file, "close")) : null;
  ended?.catch(() => undefined); // awaited below
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
    if (file && !file.write(chunk)) await Promise.race([written(once(file, "drain")), ended]);
  }
  file?.end();
  await ended;
  if (target !== null) await written(flush(target));
  return { path: entry.name, bytes, sha256: hash.digest("hex") };
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function textOf(path: string, { bytes }: Entry, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  if (bytes > MAX_TEXT_BYTES) throw damaged(path);
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces).toString("utf8");
}

/** Opens an unpacked database. Throws `invalid_state` if it doesn't match the backup's metadata. */
export async function checkDatabase(path: string, file: string, manifest: Manifest): Promise<void> {
  await withDatabase(file, async (db) => {
    const [state] = await db.all<{ quick_check: string }>("PRAGMA quick_check(1)");
    if (state?.quick_check !== "ok") throw damaged(path);
    const { migrations, keyId, organizations } = await describe(db);
    if (migrations.at(-1) !== manifest.schemaVersion || keyId !== manifest.keyId) throw damaged(path);
    if (organizations.length !== manifest.organizations.length) throw damaged(path);
    for (const { id, events, head } of manifest.organizations) {
      const found = await endOfChain(db, id);
      if (found.events !== events || found.head !== head) throw damaged(path);
    }
  });
}
