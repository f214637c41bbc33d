import { accessSync, constants, statfsSync } from "node:fs";
import { codeOf, diskFull } from "./disk.ts";
import { AppError } from "./errors.ts";

/** SQLite can't do anything with less: each open database needs more for its shared memory and its log. */
const MIN_FREE_BYTES = 128 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "part of the path isn't a directory",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  SQLITE_FULL: "no space is left",
  EIO: "the disk failed",
  EEXIST: "it already exists",
};

/** Returns why a file couldn't be read or written, as the end of a sentence. */
export function fileReason(error: unknown): string {
  const code = codeOf(error);
  return REASONS[code] ?? (code || "it isn't a file");
}

/** True for an error of the operating system, as opposed to one of Node or of a library. */
export const isSystemError = (error: unknown): boolean => /^E(?!RR_)[A-Z0-9]+$/.test(codeOf(error));

/** Returns an actionable error if the disk of `folder` is full or read-only. Null for any other error. */
export function diskFault(error: unknown, folder: string): AppError | null {
  if (codeOf(error) !== "EROFS") return diskFull(error, full(folder));
  const message = `${folder} is on a read-only file system. Make it writable and try again.`;
  return new AppError("unavailable", message, { cause: error });
}

const full = (folder: string) => `The disk is full. Free up space for ${folder} and try again.`;

/**
 * Looks at the disk of `folder` after SQLite failed there, which often calls a full or read-only disk an I/O error.
 * Null if it is neither.
 */
export function diskTrouble(folder: string): AppError | null {
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return diskFault(error, folder);
  }
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < MIN_FREE_BYTES
    ? new AppError("disk_full", full(folder), { retryable: true })
    : null;
}

/** Returns why nothing could be written in `folder`, and what to do. */
export const writeFault = (error: unknown, folder: string): AppError =>
  diskFault(error, folder) ??
  new AppError("unavailable", `Couldn't write in ${folder}: ${fileReason(error)}.`, { cause: error });
