import { AppError } from "./errors.ts";

/** A file system's own word for having no room left, as an error that people can act on; null for anything else. */
export function diskFull(error: unknown): AppError | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ENOSPC" || code === "EDQUOT"
    ? new AppError("disk_full", "The disk is full. Free some space and try again.", {
        retryable: true,
        cause: error,
      })
    : null;
}
