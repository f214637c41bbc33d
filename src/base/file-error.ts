import { codeOf } from "./disk.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "part of the path isn't a directory",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EEXIST: "it already exists",
};

/** Returns why a file couldn't be read or written, as the end of a sentence. */
export function fileReason(error: unknown): string {
  const code = codeOf(error);
  return REASONS[code] ?? (code || "it isn't a file");
}
