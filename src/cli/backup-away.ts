import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { readAuthorities } from "../authorities.ts";
import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { readPassphrase } from "../crypto/age.ts";
import { isEncryptedBackup } from "../engine/backup/archive.ts";
import type { Away } from "../lake/away.ts";
import { awayFrom } from "../lake/away-from.ts";
import { type Host, UsageError } from "./host.ts";

export const isAway = (path: string): boolean => path.startsWith("s3://");

/** Destination of a new backup. */
interface BackupTarget {
  store(path: string): Promise<void>;
}

/** Throws `conflict` if the destination exists: nothing is overwritten. */
export async function openBackupTarget(
  parts: Parts,
  url: string,
  signal: AbortSignal,
): Promise<BackupTarget> {
  const { away, name } = opened(parts, url, signal);
  if ((await away.names()).includes(name)) {
    throw new AppError("conflict", `${url} already exists. Choose another filename.`);
  }
  return { store: (path) => away.put(path, name) };
}

/** Calls `work` with the file. A file in a bucket is copied to a folder in `room` in the meantime. */
export async function withFile<T>(
  host: Host,
  parts: Parts,
  { path, room }: { path: string; room: string },
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (!isAway(path)) return work(path);
  const stop = new AbortController();
  host.onStop(() => stop.abort());
  const { away, name } = opened(parts, path, stop.signal);
  await mkdir(room, { recursive: true });
  const folder = await mkdtemp(join(room, "weir-backup-"));
  try {
    host.status("Downloading…");
    const copy = join(folder, name);
    await away.fetch(name, copy).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "not_found")
        throw new AppError("not_found", `File ${path} not found.`);
      throw error;
    });
    return await work(copy).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, error.message.replaceAll(copy, path), { cause: error });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function opened({ config, secrets }: Parts, url: string, signal: AbortSignal): { away: Away; name: string } {
  const [, folder, name] = /^(s3:\/\/[^/]+(?:\/.+)?)\/([^/]+)$/.exec(url) ?? [];
  if (!folder || !name || name === "." || name === "..")
    throw new UsageError("Invalid bucket URL. Use s3://BUCKET/FILE or s3://BUCKET/PREFIX/FILE.");
  const egress = {
    allow: config.egressAllow,
    ca: readAuthorities(config),
    self: () => null,
    clock: systemClock,
  };
  return { away: awayFrom(folder, { ...config, ...secrets }, { egress, clock: systemClock, signal }), name };
}

/** The passphrase from the flag or the settings. For an encrypted file without one, asks on the terminal. */
export async function passphraseFor(
  host: Host,
  parts: Parts,
  passphraseFile: string | undefined,
  path: string | null,
): Promise<string | null> {
  const file = passphraseFile ?? parts.config.backupPassphraseFile;
  if (file !== null) return readPassphrase(file);
  if (path === null || host.ask === null || !(await isEncryptedBackup(path))) return null;
  return host.ask(`Passphrase of ${path}: `, true);
}
