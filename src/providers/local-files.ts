import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import { defineProvider, type Link } from "./contract.ts";
import { extractFiles } from "./file-extract.ts";
import { describe, listFolder, walkFiles } from "./local-list.ts";
import {
  absentAsNull,
  findInside,
  localFailure,
  makeInside,
  noSuchPath,
  PARTS_FOLDER,
  splitPath,
} from "./local-paths.ts";
import { readChunks, toStream } from "./streams.ts";

const READ_BYTES = 262_144;

/** Parts of uploads that a stopped process left behind are removed after so long. */
const STALE_PART_MS = 86_400_000;

const LocalConfig = t.Object(
  {
    root: t.Optional(
      t.String({
        maxLength: 1_000,
        default: "/",
        description: "A folder under the organization's own files folder; made when it is not there.",
      }),
    ),
  },
  { additionalProperties: false },
);

const LocalCredentials = t.Object({}, { additionalProperties: false });

type LocalLink = Link<Static<typeof LocalConfig>, Static<typeof LocalCredentials>>;

/** A folder of the organization on this machine. No path leads out of it, symbolic links neither. */
export const localFiles = defineProvider({
  id: "local_files",
  title: "Local files",
  description: "A folder of the organization in Weir's own data directory, with upload.",
  config: LocalConfig,
  credentials: LocalCredentials,
  destination: [],

  verify: (link) =>
    told(async () => {
      await readdir(await makeRoot(link));
    }),

  files: {
    list: (link, path, pageToken) =>
      told(async () => {
        const parts = splitPath(path);
        const root = await findRoot(link);
        if (root === null && parts.length === 0) return { items: [] };
        const folder = root === null ? null : await findInside(root, parts);
        if (root === null || folder === null || !(await stat(folder)).isDirectory()) throw noSuchPath(path);
        return listFolder(root, folder, parts, pageToken);
      }),
    stat: (link, path) =>
      told(async () => {
        const parts = splitPath(path);
        const root = await findRoot(link);
        const place = root === null ? null : await findInside(root, parts);
        const item = place === null ? null : await describe(place, parts);
        if (!item) throw noSuchPath(path);
        return item;
      }),
    read: (link, path) => told(() => readFile(link, path)),
    write: (link, path, bytes, maxBytes) => told(() => writeFile(link, path, bytes, maxBytes)),
  },

  async extract(link, request) {
    const root = await told(() => findRoot(link));
    return extractFiles(
      {
        walk: (prefix) => (root === null ? nothing() : walkFiles(root, prefix)),
        open: (path) => told(() => readFile(link, path)),
      },
      request,
    );
  },
});

async function* nothing(): AsyncGenerator<string> {}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw localFailure(error);
  }
}

const rootParts = (link: LocalLink): string[] => splitPath(link.config.root ?? "/");

async function findRoot(link: LocalLink): Promise<string | null> {
  const parts = rootParts(link);
  const files = await realpath(link.filesFolder).catch(absentAsNull);
  return files === null ? null : findInside(files, parts);
}

async function makeRoot(link: LocalLink): Promise<string> {
  const parts = rootParts(link);
  await mkdir(link.filesFolder, { recursive: true });
  return makeInside(await realpath(link.filesFolder), parts);
}

async function readFile(link: LocalLink, path: string): Promise<ReadableStream<Uint8Array>> {
  const parts = splitPath(path);
  const root = await findRoot(link);
  const place = root === null ? null : await findInside(root, parts);
  if (place === null) throw noSuchPath(path);
  // The place is real, so a link here came after the check. Without NONBLOCK a pipe would hold us up.
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return toStream(readHandle(handle, link.signal));
  await handle.close();
  throw new AppError("bad_request", `${JSON.stringify(path)} is not a file.`);
}

async function* readHandle(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(new Uint8Array(READ_BYTES), 0, READ_BYTES, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Writes beside, makes sure that it is on the disk, and only then gives it its name. */
async function writeFile(link: LocalLink, path: string, bytes: ReadableStream<Uint8Array>, maxBytes: number) {
  const parts = splitPath(path);
  const name = parts.at(-1);
  if (name === undefined || path.endsWith("/")) {
    throw new AppError("bad_request", "The path names a folder: give the file a name.");
  }
  const root = await makeRoot(link);
  const folder = await makeInside(root, parts.slice(0, -1));
  const target = join(folder, name);
  if ((await lstat(target).catch(absentAsNull))?.isDirectory()) {
    throw new AppError("conflict", `${JSON.stringify(path)} is a folder.`);
  }
  const part = join(
    await partsFolder(link),
    Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex"),
  );
  try {
    await writePart(part, readChunks(bytes, link.signal), maxBytes);
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
  const item = await describe(target, parts);
  if (!item) throw noSuchPath(path);
  return item;
}

async function writePart(part: string, chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<void> {
  const handle = await open(part, "wx", 0o600);
  try {
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > maxBytes) {
        throw new AppError(
          "payload_too_large",
          `The file is larger than the ${maxBytes} bytes that are allowed.`,
        );
      }
      for (let at = 0; at < chunk.length; )
        at += (await handle.write(chunk, at, chunk.length - at)).bytesWritten;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function partsFolder(link: LocalLink): Promise<string> {
  const folder = join(await realpath(link.filesFolder), PARTS_FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const now = link.clock.now().getTime();
  for (const name of await readdir(folder)) {
    const found = await lstat(join(folder, name)).catch(absentAsNull);
    if (found && now - found.mtimeMs > STALE_PART_MS) await rm(join(folder, name), { force: true });
  }
  return folder;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
