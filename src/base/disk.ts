import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { AppError } from "./errors.ts";

/** Returns the system's error code, such as `ENOENT`. Empty for other errors. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Returns an actionable error if the disk is full. Null for any other error. */
export function diskFull(
  error: unknown,
  message = "The disk is full. Free up space and try again.",
): AppError | null {
  return ["ENOSPC", "EDQUOT"].includes(codeOf(error))
    ? new AppError("disk_full", message, { retryable: true, cause: error })
    : null;
}

/** Syncs a directory, so that the names of its files are on disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Like `syncFolder`, without waiting for others; also for a file. */
export function flush(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
