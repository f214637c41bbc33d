import type { BigIntStats } from "node:fs";
import { lstat, rm, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { Stamp, Tree, TreeFile, Unread } from "../contract-tree.ts";
import { fileFault, noSuchPath, splitPath } from "../files/paths.ts";
import { changedFile, exactly, toStream } from "../files/streams.ts";
import { findRoot, type LocalLink, openFile, readHandle, writeFile } from "./io.ts";
import { walkFiles } from "./list.ts";
import { absentAsNull, findInside, translated } from "./paths.ts";

/** Folder trees of this machine, for syncs. A file has changed if its size, its time or its inode has. */
export const localTree: Tree<LocalLink> = {
  home: (link) =>
    `local:${[link.filesFolder, ...splitPath(link.config.root ?? "/")].join("/").replace(/\/+$/, "")}/`,

  async *walk(link, path, only, unread) {
    const root = await translated(() => findRoot(link));
    const base = splitPath(path);
    const folder = root === null ? null : await translated(() => findInside(root, base));
    if (root === null || folder === null) throw noSuchPath(path);
    if (!(await stat(folder)).isDirectory()) {
      throw new AppError("bad_request", `${JSON.stringify(path)} is a file, not a folder.`);
    }
    const above = base.map((part) => `${part}/`).join("").length;
    const unreadPaths = new Set<string>();
    const yielded = new Set<string>();
    for (const item of only?.items ?? [path]) {
      let isThere = !only;
      const parts = item.startsWith("/") ? splitPath(item) : [...base, ...splitPath(item)];
      if (!base.every((part, index) => parts[index] === part)) {
        only?.missing(item);
        continue;
      }
      const note: Unread = (file, reason) => {
        isThere = true;
        if (!unreadPaths.has(file)) unread?.(file.slice(above), reason);
        unreadPaths.add(file);
      };
      for await (const file of walkItem(root, parts, note)) {
        isThere = true;
        const found = await describeFile(join(root, file), file);
        if (!found || yielded.has(file)) continue;
        yielded.add(file);
        yield { ...found, path: file.slice(above) };
      }
      if (!isThere) only?.missing(item);
    }
    // A disk that was unmounted in the meantime looks empty.
    if ((await translated(() => findInside(root, base))) === null) throw noSuchPath(path);
  },

  stat: (link, file) =>
    translated(async () => {
      const root = await findRoot(link);
      const real = root === null ? null : await findInside(root, splitPath(file.id));
      const found = real === null ? null : await describeFile(real, file.id);
      return found && { ...file, ...found, path: file.path };
    }),

  open: (link, file) =>
    translated(async () => {
      const handle = await openFile(link, file.id);
      const isSame = async () => versionOf(await handle.stat({ bigint: true })) === file.version;
      if (!(await isSame())) {
        await handle.close();
        throw changedFile(file.id);
      }
      const check = async () => {
        if (!(await isSame())) throw changedFile(file.id);
      };
      return { bytes: toStream(readHandle(handle, link.signal, check)) };
    }),

  writes: {
    isFolderLike: true,

    fault: (_link, path) => fileFault(path),

    put: (link, path, { bytes }, size, replacesFolder) =>
      translated(async (): Promise<Stamp> => {
        const { target } = await writeFile(link, path, exactly(bytes, size, path), {
          maxBytes: Number.MAX_SAFE_INTEGER,
          replacesFolder,
        });
        const found = await lstat(target, { bigint: true });
        return { version: versionOf(found), size: Number(found.size) };
      }),

    remove: (link, path) =>
      translated(async () => {
        const parts = splitPath(path);
        const name = parts.pop();
        const root = await findRoot(link);
        const folder = root === null ? null : await findInside(root, parts);
        if (folder !== null && name !== undefined) await rm(join(folder, name), { force: true });
      }),
  },
};

/** Paths, relative to the root, of a file or of all files in a folder; none if it doesn't exist. */
async function* walkItem(root: string, parts: readonly string[], unread: Unread): AsyncGenerator<string> {
  const real = await translated(() => findInside(root, parts));
  if (real === null) return;
  if ((await stat(real)).isDirectory()) {
    const shown = parts.join("/");
    const names = relative(root, real).split(sep).filter(Boolean);
    const itemOf = (path: string) => {
      const below = path.slice(names.join("/").length).replace(/^\//, "");
      return shown === "" ? below : `${shown}/${below}`;
    };
    const note: Unread = (path, reason) => unread(itemOf(path), reason);
    for await (const path of walkFiles(root, "", note, names)) yield itemOf(path);
  } else {
    yield parts.join("/");
  }
}

async function describeFile(real: string, id: string): Promise<TreeFile | null> {
  const found = await stat(real, { bigint: true }).catch(absentAsNull);
  if (found === null || !found.isFile()) return null;
  const version = versionOf(found);
  return {
    id,
    path: id,
    size: Number(found.size),
    modifiedAt: found.mtime.toISOString(),
    version,
    hash: null,
  };
}

const versionOf = ({ size, mtimeNs, ino }: BigIntStats): string => `${size}-${mtimeNs}-${ino}`;
