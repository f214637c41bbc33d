import { mkdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { AppError } from "../../base/errors.ts";

/**
 * The real, absolute path of `parts` below `root`, which is a real path itself, or null if it doesn't exist. Throws
 * `forbidden` if a symbolic link leads outside.
 */
export async function findInside(root: string, parts: readonly string[]): Promise<string | null> {
  const real = await realpath(join(root, ...parts)).catch(absentAsNull);
  if (real !== null) checkInside(root, real, parts);
  return real;
}

/** As `findInside`, but creates missing folders level by level. Throws `conflict` if one of them is a file. */
export async function makeInside(root: string, parts: readonly string[]): Promise<string> {
  let folder = root;
  for (const [index, part] of parts.entries()) {
    const next = join(folder, part);
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    folder = await realpath(next);
    checkInside(root, folder, parts.slice(0, index + 1));
    if (!(await stat(folder)).isDirectory()) {
      throw new AppError(
        "conflict",
        `${JSON.stringify(`/${parts.slice(0, index + 1).join("/")}`)} is a file, not a folder.`,
      );
    }
  }
  return folder;
}

export const isInside = (root: string, real: string): boolean => real === root || real.startsWith(root + sep);

function checkInside(root: string, real: string, parts: readonly string[]): void {
  if (isInside(root, real)) return;
  throw new AppError(
    "forbidden",
    `${JSON.stringify(`/${parts.join("/")}`)} leads outside the connection's folder.`,
    {
      details: { rule: "outside_root" },
    },
  );
}

/** For a path that may not exist or may be below a file. */
export function absentAsNull(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ELOOP") return null;
  throw error;
}

/** Converts errors of the file system to ones for users. Passes an `AppError` through. */
function localFailure(error: unknown): unknown {
  if (error instanceof AppError) return error;
  switch ((error as { code?: unknown } | null)?.code) {
    case "ENOSPC":
    case "EDQUOT":
      return new AppError("disk_full", "Not enough space on the disk for this file.", { cause: error });
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new AppError("upstream", "Weir has no permission to read or write in this folder.", {
        cause: error,
      });
    case "ENAMETOOLONG":
      return new AppError("bad_request", "The path is too long for this machine.", { cause: error });
    default:
      return error;
  }
}

/** Runs the work and converts the file system's errors with `localFailure`. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw localFailure(error);
  }
}
