import { AppError } from "../../base/errors.ts";
import { REPLACEMENT } from "../../base/folder-entries.ts";
import type { FileItem } from "../contract.ts";
import type { TreeFile, Unread } from "../contract-tree.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { compareNames, type Name } from "../files/name-pages.ts";
import { GONE, MISNAMED, PARTS_FOLDER } from "../files/paths.ts";
import type { Session } from "./session.ts";

/** Attributes of a file or folder. */
export interface Entry extends Name {
  size: number;
  /** Milliseconds; SFTP's precision is one second. */
  modifiedMs: number;
  /** True if the name isn't valid UTF-8, so that no path leads to it. */
  isMisnamed?: boolean;
}

type Stats = NonNullable<Awaited<ReturnType<Session["stat"]>>>;

const isInside = (root: string, real: string): boolean =>
  real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`);

export const join = (folder: string, name: string): string =>
  folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;

/** The real path of `parts` below the root; null if it doesn't exist. Throws `forbidden` if a link leads outside. */
export async function findInside(session: Session, parts: readonly string[]): Promise<string | null> {
  const real = await session.realpath(parts.reduce(join, session.root));
  if (real === null || (await session.stat(real)) === null) return null; // some servers resolve missing paths
  if (isInside(session.root, real)) return real;
  throw new AppError(
    "forbidden",
    `${JSON.stringify(`/${parts.join("/")}`)} leads outside the connection's folder.`,
    {
      details: { rule: "outside_root" },
    },
  );
}

/** The folder at `parts`, created if missing. Throws `conflict` if it is a file. */
export async function makeInside(session: Session, parts: readonly string[]): Promise<string> {
  let folder = session.root;
  for (const [index, part] of parts.entries()) {
    const shown = parts.slice(0, index + 1);
    let found = await findInside(session, shown);
    if (found === null) {
      const made = join(folder, part);
      await session.makeFolder(made).catch(async (error: unknown) => {
        if ((await session.stat(made)) === null) throw error; // otherwise someone else has created it
      });
      found = await findInside(session, shown);
    }
    if (found === null || !(await session.stat(found))?.isDirectory())
      throw new AppError("conflict", `${JSON.stringify(`/${shown.join("/")}`)} is a file, not a folder.`);
    folder = found;
  }
  return folder;
}

/**
 * Folders and files in a folder, including links to targets inside the root. With `isWalk` omits links to folders. Null
 * if there is no such folder.
 */
export async function readFolder(session: Session, folder: string, isWalk: boolean): Promise<Entry[] | null> {
  const listed = await session.list(folder);
  if (listed === null) return null;
  const entries: Entry[] = [];
  for (const { filename: name, attrs } of listed) {
    if (name === "." || name === ".." || name === PARTS_FOLDER) continue;
    const path = join(folder, name);
    if (name.includes(REPLACEMENT) && (await session.stat(path)) === null) {
      const isFolder = attrs.isDirectory();
      if (isFolder || attrs.isFile() || attrs.isSymbolicLink())
        entries.push({ ...entryAt(name, isFolder, attrs), isMisnamed: true });
      continue;
    }
    const stats = attrs.isSymbolicLink() ? await behind(session, path) : attrs;
    if (stats === null || (isWalk && attrs.isSymbolicLink() && stats.isDirectory())) continue;
    const entry = entryOf(name, stats);
    if (entry) entries.push(entry);
  }
  return entries;
}

async function behind(session: Session, link: string): Promise<Stats | null> {
  const real = await session.realpath(link);
  return real === null || !isInside(session.root, real) ? null : session.stat(real);
}

/** Null for special files. */
export function entryOf(name: string, stats: Stats): Entry | null {
  const folder = stats.isDirectory();
  if (!folder && !stats.isFile()) return null;
  return entryAt(name, folder, stats);
}

const entryAt = (name: string, folder: boolean, { size, mtime }: Pick<Stats, "size" | "mtime">): Entry => ({
  name,
  folder,
  size,
  modifiedMs: mtime * 1000,
});

/**
 * All files below a folder whose paths start with `prefix`, in byte order. Doesn't follow linked folders. Calls `unread`
 * as `Tree.walk` does. Returns false if the folder doesn't exist.
 */
export async function* walk(
  session: Session,
  folder: string,
  prefix: string,
  unread?: Unread,
  above = "",
): AsyncGenerator<{ path: string; entry: Entry }, boolean> {
  const found = await readFolder(session, folder, true);
  if (found === null) return false;
  const entries = found.map((entry) => ({
    entry,
    path: `${above}${entry.name}${entry.folder ? "/" : ""}`,
  }));
  entries.sort((a, b) => compareNames(a.path, b.path));
  for (const { entry, path } of entries) {
    if (!path.startsWith(prefix) && !(entry.folder && prefix.startsWith(path))) continue;
    if (entry.isMisnamed) unread?.(path, MISNAMED);
    else if (!entry.folder) yield { path, entry };
    else if (!(yield* walk(session, join(folder, entry.name), prefix, unread, path))) unread?.(path, GONE);
  }
  return true;
}

export const itemOf = (parts: readonly string[], { folder, size, modifiedMs }: Entry): FileItem => ({
  id: `/${parts.join("/")}`,
  name: parts.at(-1) ?? "/",
  kind: folder ? "folder" : "file",
  mimeType: folder ? null : mimeTypeOf(parts.at(-1) ?? ""),
  size: folder ? null : size,
  modifiedAt: new Date(modifiedMs).toISOString(),
});

export const treeFileOf = (id: string, path: string, entry: Entry): TreeFile => ({
  id,
  path,
  size: entry.size,
  modifiedAt: new Date(entry.modifiedMs).toISOString(),
  version: versionOf(entry),
  hash: null,
});

export const versionOf = ({ size, modifiedMs }: Entry): string => `${size}-${modifiedMs}`;
