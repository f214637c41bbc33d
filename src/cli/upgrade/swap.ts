import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { flush } from "../../base/disk.ts";
import { AppError } from "../../base/errors.ts";

const CHUNK_BYTES = 1 << 20;
/** Age after which the next upgrade deletes leftovers of one that was killed. */
const LEFT_FOR_MS = 60 * 60 * 1000;

/** Path of the previous program. */
export const previousOf = (program: string): string => `${program}.previous`;

const asideOf = (program: string, what: string) => `${program}.${what}-${process.pid}`;

export interface Staged {
  path: string;
  bytes: number;
  sha256: string;
}

/**
 * Copies `file` next to the program, with its mode and owner, and hashes the copied bytes:
 * exactly what was verified is installed, even if `file` changes in the meantime.
 */
export function stage(
  file: string,
  program: string,
  { now, hear }: { now: Date; hear: (bytes: number) => void },
): Staged {
  sweep(program, now);
  const path = asideOf(program, "new");
  const like = statSync(program);
  const hash = createHash("sha256");
  let bytes = 0;
  rmSync(path, { force: true });
  const from = openSync(file, "r");
  try {
    const to = openSync(path, "wx", 0o700);
    try {
      for (const chunk of chunksOf(from)) {
        hash.update(chunk);
        for (let at = 0; at < chunk.length; ) at += writeSync(to, chunk, at, chunk.length - at);
        bytes += chunk.length;
        hear(bytes);
      }
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
    if (process.getuid?.() === 0) chownSync(path, like.uid, like.gid);
    chmodSync(path, like.mode & 0o777);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(from);
  }
  return { path, bytes, sha256: hash.digest("hex") };
}

/** SHA-256 of a file, in hex. */
export function hashOf(path: string): string {
  const hash = createHash("sha256");
  const file = openSync(path, "r");
  try {
    for (const chunk of chunksOf(file)) hash.update(chunk);
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

function* chunksOf(file: number): Generator<Uint8Array> {
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let length = readSync(file, chunk); length > 0; length = readSync(file, chunk)) {
    yield chunk.subarray(0, length);
  }
}

/**
 * Replaces the program with `staged`, and keeps the old one. There is a complete program at that path at any time,
 * except on Windows, where a running program can't be overwritten: there it is missing between two renames.
 */
export function swap(staged: string, program: string): void {
  if (process.platform === "win32") {
    renameSync(program, previousOf(program));
    renameSync(staged, program);
    return;
  }
  const old = asideOf(program, "old");
  try {
    twin(program, old);
    renameSync(old, previousOf(program));
    renameSync(staged, program);
  } finally {
    rmSync(old, { force: true }); // renaming to another link of the same file keeps both
  }
  flush(dirname(program));
}

/** Swaps the program and the previous one. */
export function swapBack(program: string): void {
  const back = asideOf(program, "new");
  try {
    twin(previousOf(program), back);
    swap(back, program);
  } finally {
    rmSync(back, { force: true });
  }
}

/** Creates a hard link, or a copy if the file system doesn't support links. */
function twin(path: string, to: string): void {
  rmSync(to, { force: true });
  try {
    linkSync(path, to);
  } catch {
    copyFileSync(path, to); // reports why it can't be written
    flush(to);
  }
}

function sweep(program: string, now: Date): void {
  const folder = dirname(program);
  for (const name of readdirSync(folder)) {
    const left = /^(.+)\.(?:new|old)-\d+$/.exec(name);
    const path = join(folder, name);
    if (left?.[1] !== basename(program)) continue;
    if (now.getTime() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < LEFT_FOR_MS) continue;
    rmSync(path, { force: true });
  }
}

/** Throws `not_found` if there is no previous program. */
export function requirePrevious(program: string): string {
  const previous = previousOf(program);
  if (existsSync(previous)) return previous;
  throw new AppError("not_found", `Nothing to roll back to: ${previous} not found.`);
}
