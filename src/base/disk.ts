import { open } from "node:fs/promises";
import { AppError } from "./errors.ts";

/** What the system calls an error, such as `ENOENT`; empty for errors that are not the system's. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** A file system's own word for having no room left, as an error that people can act on; null for anything else. */
export function diskFull(
  error: unknown,
  message = "The disk is full. Free up space and try again.",
): AppError | null {
  return ["ENOSPC", "EDQUOT"].includes(codeOf(error))
    ? new AppError("disk_full", message, { retryable: true, cause: error })
    : null;
}

/** Waits until the disk has the names of what a folder holds. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
