import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../base/disk.ts";

/** Relative paths, with `/` between names, of files last modified before `limit`, in the folder `below` only. */
export async function* filesBelow(root: string, limit: Date, below = ""): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(root, below))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(root, limit, path);
    else if ((await touchedAt(join(root, path))) < limit.getTime()) yield path;
  }
}

/** The entries of a folder, or none if it doesn't exist. */
export async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return [];
    throw error;
  }
}

/** Milliseconds since the epoch. A file that was just deleted counts as new. */
export async function touchedAt(path: string): Promise<number> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return Number.POSITIVE_INFINITY;
    throw error;
  }
}
