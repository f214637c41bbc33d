import { defineProvider } from "../contract.ts";
import { extractFiles } from "../files/file-extract.ts";
import { pageOf } from "../files/name-pages.ts";
import { noSuchPath, splitPath } from "../files/paths.ts";
import { entryOf, findInside, itemOf, readFolder, walk } from "./folders.ts";
import { readFile, writeFile } from "./io.ts";
import { inSession, take } from "./session.ts";
import { SftpConfig, SftpCredentials } from "./shape.ts";
import { sftpTree } from "./tree.ts";

/** Files of an SSH server, by SFTP version 3. No path leads outside the root, not even through symbolic links. */
export const sftp = defineProvider({
  id: "sftp",
  title: "SFTP",
  description: "Files on an SSH server.",
  config: SftpConfig,
  credentials: SftpCredentials,
  destination: ["host", "port", "hostKey"],
  lacks: ({ password, privateKey }) =>
    password || privateKey ? null : { field: "password", message: "Give a password or a privateKey" },

  verify: (link) =>
    inSession(link, async (session) => {
      await session.list(session.root);
    }),

  files: {
    list: (link, path, pageToken) =>
      inSession(link, async (session) => {
        const parts = splitPath(path);
        const folder = await findInside(session, parts);
        if (folder === null || !(await session.stat(folder))?.isDirectory()) throw noSuchPath(path);
        const entries = await readFolder(session, folder, false);
        if (entries === null) throw noSuchPath(path);
        const { page, nextPageToken } = pageOf(entries, pageToken);
        const items = page.map((entry) => itemOf([...parts, entry.name], entry));
        return nextPageToken === undefined ? { items } : { items, nextPageToken };
      }),
    stat: (link, path) =>
      inSession(link, async (session) => {
        const parts = splitPath(path);
        const real = await findInside(session, parts);
        const stats = real === null ? null : await session.stat(real);
        const entry = stats && entryOf(parts.at(-1) ?? "/", stats);
        if (!entry) throw noSuchPath(path);
        return itemOf(parts, entry);
      }),
    read: (link, path) => readFile(link, path),
    write: async (link, path, bytes, maxBytes) =>
      itemOf(splitPath(path), await writeFile(link, path, bytes, { maxBytes })),
  },

  tree: sftpTree,

  extract: (link, request) =>
    extractFiles(
      {
        async *walk(prefix, unread) {
          const { session, release } = await take(link);
          try {
            for await (const { path } of walk(session, session.root, prefix, unread))
              yield { path, open: () => readFile(link, path) };
          } finally {
            release();
          }
        },
      },
      request,
    ),
});
