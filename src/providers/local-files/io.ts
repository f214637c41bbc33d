import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Static, Type as t } from "@sinclair/typebox";
import { syncFolder } from "../../base/disk.ts";
import { AppError } from "../../base/errors.ts";
import { readEntries } from "../../base/folder-entries.ts";
import type { Link } from "../contract.ts";
import type { FileRoom } from "../contract-room.ts";
import { noSuchPath, PARTS_FOLDER, splitPath } from "../files/paths.ts";
import { readChunks } from "../files/streams.ts";
import { absentAsNull, findInside, makeInside } from "./paths.ts";

const READ_BYTES = 262_144;

/** Age at which leftover parts of interrupted uploads are deleted. */
const STALE_PART_MS = 86_400_000;

export const LocalConfig = t.Object(
  {
    root: t.Optional(
      t.String({
        maxLength: 1_000,
        pattern: "^(?!(.*/)?\\.{1,2}(/|$))",
        default: "/",
        description: "Folder in the organization's files. Created if it doesn't exist.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const LocalCredentials = t.Object({}, { additionalProperties: false });

export type LocalLink = Link<Static<typeof LocalConfig>, Static<typeof LocalCredentials>>;

const rootParts = (link: LocalLink): string[] => splitPath(link.config.root ?? "/");

/** The real path of the connection's root; null if it doesn't exist yet. */
export async function findRoot(link: LocalLink): Promise<string | null> {
  const parts = rootParts(link);
  const files = await realpath(link.filesFolder).catch(absentAsNull);
  return files === null ? null : findInside(files, parts);
}

/** The real path of the connection's root, which is created if missing. */
export async function makeRoot(link: LocalLink): Promise<string> {
  const parts = rootParts(link);
  await mkdir(link.filesFolder, { recursive: true });
  return makeInside(await realpath(link.filesFolder), parts);
}

/** Opens a file for reading; the caller closes it. Throws `not_found`, and `bad_request` if it isn't a file. */
export async function openFile(link: LocalLink, path: string): Promise<FileHandle> {
  const parts = splitPath(path);
  const root = await findRoot(link);
  const real = root === null ? null : await findInside(root, parts);
  if (real === null) throw noSuchPath(path);
  // The path is real, so a link here was created after the check. Without NONBLOCK, opening a pipe would block.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(real, flags).catch(absentAsNull);
  if (handle === null) throw noSuchPath(path);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new AppError("bad_request", `${JSON.stringify(path)} is not a file.`);
}

/** All bytes, then calls `check`; closes the file in any case. */
export async function* readHandle(
  handle: FileHandle,
  signal: AbortSignal,
  check?: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(new Uint8Array(READ_BYTES), 0, READ_BYTES, null);
      if (bytesRead === 0) break;
      yield buffer.subarray(0, bytesRead);
    }
    await check?.();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a temporary file, syncs it to disk, and only then renames it. With `replacesFolder`, first removes a folder at
 * the path if there is no file in it.
 */
export async function writeFile(
  link: LocalLink,
  path: string,
  bytes: ReadableStream<Uint8Array>,
  { maxBytes, replacesFolder = false }: { maxBytes: number; replacesFolder?: boolean },
): Promise<{ target: string; parts: string[] }> {
  const parts = splitPath(path);
  const name = parts.at(-1);
  if (name === undefined || path.endsWith("/")) {
    throw new AppError("bad_request", "The path names a folder. Add a filename.");
  }
  const root = await makeRoot(link);
  const folder = await makeInside(root, parts.slice(0, -1));
  const target = join(folder, name);
  const isFolder = (await lstat(target).catch(absentAsNull))?.isDirectory() ?? false;
  if (isFolder && !(replacesFolder && (await removeFolder(target)))) {
    throw new AppError("conflict", `${JSON.stringify(path)} is a folder. Delete it first.`);
  }
  const part = join(
    await partsFolder(link),
    Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex"),
  );
  const room = (await link.openRoom?.()) ?? null;
  let stays = false;
  try {
    await writePart(part, readChunks(bytes, link.signal), { maxBytes, room });
    await rename(part, target);
    stays = true;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    room?.end(stays);
  }
  await syncFolder(dirname(target));
  return { target, parts };
}

/** Removes a folder and those in it. Returns false, and leaves what is left, if there is anything else in it. */
async function removeFolder(folder: string): Promise<boolean> {
  for (const { kind, path } of await readEntries(folder))
    if (kind !== "folder" || typeof path !== "string" || !(await removeFolder(path))) return false;
  await rmdir(folder);
  return true;
}

async function writePart(
  part: string,
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, room }: { maxBytes: number; room: FileRoom | null },
): Promise<void> {
  const handle = await open(part, "wx", 0o600);
  try {
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > maxBytes) {
        throw new AppError("payload_too_large", `The file is larger than the allowed ${maxBytes} bytes.`);
      }
      room?.take(chunk.length);
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
