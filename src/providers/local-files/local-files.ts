import { readdir, stat } from "node:fs/promises";
import { defineProvider } from "../contract.ts";
import { extractFiles } from "../files/file-extract.ts";
import { noSuchPath, splitPath } from "../files/paths.ts";
import { toStream } from "../files/streams.ts";
import {
  findRoot,
  LocalConfig,
  LocalCredentials,
  type LocalLink,
  makeRoot,
  openFile,
  readHandle,
  writeFile,
} from "./io.ts";
import { describe, listFolder, walkFiles } from "./list.ts";
import { findInside, translated } from "./paths.ts";
import { localTree } from "./tree.ts";

/** A folder of the organization on this machine. No path leads outside it, not even through symbolic links. */
export const localFiles = defineProvider({
  id: "local_files",
  title: "Local files",
  description: "A folder of the organization on the server. Files can be uploaded.",
  config: LocalConfig,
  credentials: LocalCredentials,
  destination: [],
  isLocal: true,

  verify: (link) =>
    translated(async () => {
      await readdir(await makeRoot(link));
    }),

  files: {
    list: (link, path, pageToken) =>
      translated(async () => {
        const parts = splitPath(path);
        const root = await findRoot(link);
        if (root === null && parts.length === 0) return { items: [] };
        const folder = root === null ? null : await findInside(root, parts);
        if (root === null || folder === null || !(await stat(folder)).isDirectory()) throw noSuchPath(path);
        return listFolder(root, folder, parts, pageToken);
      }),
    stat: (link, path) =>
      translated(async () => {
        const parts = splitPath(path);
        const root = await findRoot(link);
        const real = root === null ? null : await findInside(root, parts);
        const item = real === null ? null : await describe(real, parts);
        if (!item) throw noSuchPath(path);
        return item;
      }),
    read: (link, path) => translated(() => readFile(link, path)),
    write: (link, path, bytes, maxBytes) =>
      translated(async () => {
        const { target, parts } = await writeFile(link, path, bytes, { maxBytes });
        const item = await describe(target, parts);
        if (!item) throw noSuchPath(path);
        return item;
      }),
  },

  tree: localTree,

  async extract(link, request) {
    const root = await translated(() => findRoot(link));
    return extractFiles(
      {
        async *walk(prefix, unread) {
          if (root === null) return;
          for await (const path of walkFiles(root, prefix, unread))
            yield { path, open: () => translated(() => readFile(link, path)) };
        },
      },
      request,
    );
  },
});

const readFile = async (link: LocalLink, path: string) =>
  toStream(readHandle(await openFile(link, path), link.signal));
