import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileItem, FilePage } from "../contract.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { compareNames, type Name, pageOf } from "../files/name-pages.ts";
import { PARTS_FOLDER } from "../files/paths.ts";
import { absentAsNull, isInside } from "./paths.ts";

/** Lists folders first, then files, by name. Anything else, or outside `root`, is omitted. */
export async function listFolder(
  root: string,
  folder: string,
  parts: readonly string[],
  pageToken?: string,
): Promise<FilePage> {
  const { page, nextPageToken } = pageOf(await readNames(root, folder), pageToken);
  const items: FileItem[] = [];
  for (const { name } of page) {
    const item = await describe(join(folder, name), [...parts, name]);
    if (item) items.push(item);
  }
  return nextPageToken === undefined ? { items } : { items, nextPageToken };
}

/** The paths of all files below `folder` that start with `prefix`, in byte order. Doesn't follow linked folders. */
export async function* walkFiles(
  root: string,
  prefix: string,
  parts: readonly string[] = [],
): AsyncGenerator<string> {
  const names = await readNames(root, join(root, ...parts), true);
  const paths = names.map(({ name, folder }) => ({
    name,
    folder,
    path: [...parts, name].join("/") + (folder ? "/" : ""),
  }));
  paths.sort((a, b) => compareNames(a.path, b.path));
  for (const { name, folder, path } of paths) {
    if (!path.startsWith(prefix) && !(folder && prefix.startsWith(path))) continue;
    if (folder) yield* walkFiles(root, prefix, [...parts, name]);
    else yield path;
  }
}

async function readNames(root: string, folder: string, own = false): Promise<Name[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(absentAsNull)) ?? [];
  const names: Name[] = [];
  for (const entry of entries) {
    const isFolder = await kindOf(root, folder, entry);
    if (isFolder === null || entry.name === PARTS_FOLDER) continue;
    if (own && isFolder && entry.isSymbolicLink()) continue;
    names.push({ name: entry.name, folder: isFolder });
  }
  return names;
}

/** Whether it is a folder, or null for special files and for links to the outside. */
async function kindOf(root: string, folder: string, entry: Dirent): Promise<boolean | null> {
  if (entry.isDirectory()) return true;
  if (entry.isFile()) return false;
  if (!entry.isSymbolicLink()) return null;
  const real = await realpath(join(folder, entry.name)).catch(absentAsNull);
  if (real === null || !isInside(root, real)) return null;
  const target = await stat(real);
  return target.isDirectory() ? true : target.isFile() ? false : null;
}

/** Entry at a real path. Null if there is none. */
export async function describe(real: string, parts: readonly string[]): Promise<FileItem | null> {
  const found = await stat(real).catch(absentAsNull);
  if (found === null || !(found.isFile() || found.isDirectory())) return null;
  const name = parts.at(-1) ?? "/";
  const folder = found.isDirectory();
  return {
    id: `/${parts.join("/")}`,
    name,
    kind: folder ? "folder" : "file",
    mimeType: folder ? null : mimeTypeOf(name),
    size: folder ? null : found.size,
    modifiedAt: found.mtime.toISOString(),
  };
}
