import { lstat, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { type FolderEntry, readEntries } from "../../base/folder-entries.ts";
import type { FileItem, FilePage } from "../contract.ts";
import type { Unread } from "../contract-tree.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { compareNames, type Name, pageOf } from "../files/name-pages.ts";
import { GONE, MISNAMED, PARTS_FOLDER } from "../files/paths.ts";
import { absentAsNull, isInside } from "./paths.ts";

/** Lists folders first, then files, by name. Anything else, or outside `root`, is omitted. */
export async function listFolder(
  root: string,
  folder: string,
  parts: readonly string[],
  pageToken?: string,
): Promise<FilePage> {
  const { page, nextPageToken } = pageOf((await readNames(root, folder)) ?? [], pageToken);
  const items: FileItem[] = [];
  for (const { name, path } of page) {
    const item = await describe(path, [...parts, name]);
    if (item) items.push(item);
  }
  return nextPageToken === undefined ? { items } : { items, nextPageToken };
}

/**
 * The paths of all files below `folder` that start with `prefix`, in byte order. Doesn't follow linked folders. Calls
 * `unread` as `Tree.walk` does. Returns false if the folder doesn't exist.
 */
export async function* walkFiles(
  root: string,
  prefix: string,
  unread?: Unread,
  parts: readonly string[] = [],
): AsyncGenerator<string, boolean> {
  const names = await readNames(root, join(root, ...parts), true);
  if (names === null) return false;
  const paths = names.map(({ name, folder, isMisnamed }) => ({
    name,
    folder,
    isMisnamed,
    path: [...parts, name].join("/") + (folder ? "/" : ""),
  }));
  paths.sort((a, b) => compareNames(a.path, b.path));
  for (const { name, folder, isMisnamed, path } of paths) {
    if (!path.startsWith(prefix) && !(folder && prefix.startsWith(path))) continue;
    if (isMisnamed) unread?.(path, MISNAMED);
    else if (!folder) yield path;
    else if (!(yield* walkFiles(root, prefix, unread, [...parts, name]))) unread?.(path, GONE);
  }
  return true;
}

type LocalName = Name & Pick<FolderEntry, "path" | "isMisnamed">;

/** Null if there is no such folder. */
async function readNames(root: string, folder: string, own = false): Promise<LocalName[] | null> {
  const entries = await readEntries(folder).catch(absentAsNull);
  if (entries === null) return null;
  const names: LocalName[] = [];
  for (const entry of entries) {
    const { name, kind, path, isMisnamed } = entry;
    const isFolder = await isFolderAt(root, entry);
    if (isFolder === null || name === PARTS_FOLDER) continue;
    if (own && isFolder && kind === "link") continue;
    names.push({ name, folder: isFolder, path, isMisnamed });
  }
  return names;
}

/** Null for special files and for links to the outside. Links with undecodable names aren't followed. */
async function isFolderAt(root: string, { kind, path }: FolderEntry): Promise<boolean | null> {
  if (kind === "folder") return true;
  if (kind === "file") return false;
  if (kind !== "link") return null;
  if (typeof path !== "string") return false;
  const real = await realpath(path).catch(absentAsNull);
  if (real === null || !isInside(root, real)) return null;
  const target = await stat(path).catch(absentAsNull);
  return target?.isDirectory() ? true : target?.isFile() ? false : null;
}

/** Entry at a real path. Null if there is none. */
export async function describe(real: string | Buffer, parts: readonly string[]): Promise<FileItem | null> {
  const found = await (typeof real === "string" ? stat(real) : lstat(real)).catch(absentAsNull);
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
