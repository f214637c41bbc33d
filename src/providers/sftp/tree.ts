import { AppError } from "../../base/errors.ts";
import type { Stamp, Tree, Unread } from "../contract-tree.ts";
import { fileFault, noSuchPath, splitPath } from "../files/paths.ts";
import { exactly } from "../files/streams.ts";
import { entryOf, findInside, join, treeFileOf, versionOf, walk } from "./folders.ts";
import { readFile, writeFile } from "./io.ts";
import { inSession, take } from "./session.ts";
import type { SftpLink } from "./shape.ts";

/** Folder trees of an SFTP server, for syncs. A file has changed if its size or its time, in seconds, has. */
export const sftpTree: Tree<SftpLink> = {
  home: ({ config, credentials }) =>
    `sftp:${config.host}:${config.port ?? 22}/${credentials.user}/${[...splitRoot(config.root)].join("/")}/`,

  async *walk(link, path, only, unread) {
    const { session, release } = await take(link);
    try {
      const base = splitPath(path);
      const folder = await findInside(session, base);
      if (folder === null) throw noSuchPath(path);
      if (!(await session.stat(folder))?.isDirectory())
        throw new AppError("bad_request", `${JSON.stringify(path)} is a file, not a folder.`);
      const wanted = only?.items.map((item) => ({ item, parts: partsBelow(item, base) })) ?? null;
      const left = new Set(only?.items);
      const isSelected = (below: string) => {
        const hits = wanted?.filter(({ parts }) => parts !== null && isWithin(below, parts)) ?? null;
        for (const { item } of hits ?? []) left.delete(item);
        return hits?.length !== 0;
      };
      const note: Unread = (below, reason) => {
        const name = below.replace(/\/$/, "");
        const isAbove = wanted?.some(({ parts }) => parts?.startsWith(`${name}/`)) ?? false;
        if (isSelected(name) || isAbove) unread?.(below, reason);
      };
      for await (const { path: below, entry } of walk(session, folder, "", note)) {
        if (!isSelected(below)) continue;
        yield treeFileOf(`/${[...base, below].join("/")}`, below, entry);
      }
      // A folder that was moved in the meantime looks empty.
      if ((await findInside(session, base)) === null) throw noSuchPath(path);
      for (const item of left) only?.missing(item);
    } finally {
      release();
    }
  },

  stat: (link, file) =>
    inSession(link, async (session) => {
      const parts = splitPath(file.id);
      const real = await findInside(session, parts);
      const stats = real === null ? null : await session.stat(real);
      const entry = stats && entryOf(parts.at(-1) ?? "", stats);
      return entry && !entry.folder ? treeFileOf(file.id, file.path, entry) : null;
    }),

  open: async (link, file) => ({ bytes: await readFile(link, file.id, file.version) }),

  writes: {
    isFolderLike: true,

    fault: (_link, path) => fileFault(path),

    async put(link, path, { bytes }, size, replacesFolder): Promise<Stamp> {
      const entry = await writeFile(link, path, exactly(bytes, size, path), {
        maxBytes: Number.MAX_SAFE_INTEGER,
        replacesFolder,
      });
      return { version: versionOf(entry), size: entry.size };
    },

    remove: (link, path) =>
      inSession(link, async (session) => {
        const parts = splitPath(path);
        const name = parts.pop();
        const folder = await findInside(session, parts);
        if (folder === null || name === undefined || (await session.stat(join(folder, name))) === null)
          return;
        await session.remove(join(folder, name));
      }),
  },
};

const splitRoot = (root = ""): string[] => root.split("/").filter((part) => part !== "");

/** The parts of a selected item relative to the walked folder; null if it is outside. */
function partsBelow(item: string, base: readonly string[]): string | null {
  const parts = splitPath(item);
  if (!item.startsWith("/")) return parts.join("/");
  return base.every((part, index) => parts[index] === part) ? parts.slice(base.length).join("/") : null;
}

const isWithin = (path: string, item: string): boolean =>
  item === "" || path === item || path.startsWith(`${item}/`);
