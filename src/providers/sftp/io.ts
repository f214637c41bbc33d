import { AppError } from "../../base/errors.ts";
import { noSuchPath, PARTS_FOLDER, splitPath } from "../files/paths.ts";
import { changedFile, readChunks, toStream } from "../files/streams.ts";
import { type Entry, entryOf, findInside, join, makeInside, readFolder, versionOf } from "./folders.ts";
import { inSession, type Session, take } from "./session.ts";
import type { SftpLink } from "./shape.ts";

/** Age at which leftover parts of interrupted uploads are deleted. */
const STALE_MS = 86_400_000;

/** The bytes of a file. With `version`, throws at the start or the end if it is another version. */
export async function readFile(
  link: SftpLink,
  path: string,
  version: string | null = null,
): Promise<ReadableStream<Uint8Array>> {
  const { session, release } = await take(link);
  try {
    const real = await findInside(session, splitPath(path));
    const stats = real === null ? null : await session.stat(real);
    if (real === null || !stats) throw noSuchPath(path);
    if (stats.isDirectory()) throw new AppError("bad_request", `${JSON.stringify(path)} is a folder.`);
    const check = async () => {
      const now = version === null ? null : await session.stat(real);
      if (version !== null && (!now || versionOf(entryOf("", now) as Entry) !== version))
        throw changedFile(path);
    };
    await check();
    const bytes = await session.read(real);
    return toStream(
      (async function* () {
        try {
          yield* bytes;
          await check();
        } finally {
          release();
        }
      })(),
    );
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Writes a file under a temporary name, then renames it. Returns its attributes. With `replacesFolder`, first removes a
 * folder at the path if there is no file in it.
 */
export const writeFile = (
  link: SftpLink,
  path: string,
  bytes: ReadableStream<Uint8Array>,
  { maxBytes, replacesFolder = false }: { maxBytes: number; replacesFolder?: boolean },
): Promise<Entry> =>
  inSession(link, async (session) => {
    const parts = splitPath(path);
    const name = parts.at(-1);
    if (name === undefined || path.endsWith("/"))
      throw new AppError("bad_request", "The path names a folder, not a file.");
    const folder = await makeInside(session, parts.slice(0, -1));
    const target = join(folder, name);
    const isFolder = (await session.stat(target))?.isDirectory() ?? false;
    if (isFolder && !(replacesFolder && (await removeFolder(session, target))))
      throw new AppError("conflict", `${JSON.stringify(path)} is a folder. Delete it first.`);
    const partsFolder = await makeInside(session, [PARTS_FOLDER]);
    await deleteStale(link, session, partsFolder);
    const part = join(partsFolder, Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex"));
    try {
      await session.write(part, limited(readChunks(bytes, link.signal), maxBytes));
      await session.rename(part, target);
    } catch (error) {
      await session.remove(part).catch(() => undefined); // a later write deletes it
      throw error;
    }
    const stats = await session.stat(target);
    const entry = stats && entryOf(name, stats);
    if (!entry) throw noSuchPath(path);
    return entry;
  });

/** Removes a folder and those in it. Returns false, and leaves what is left, if there is anything else in it. */
async function removeFolder(session: Session, folder: string): Promise<boolean> {
  for (const { filename: name, attrs } of (await session.list(folder)) ?? []) {
    if (name === "." || name === "..") continue;
    if (!attrs.isDirectory() || !(await removeFolder(session, join(folder, name)))) return false;
  }
  await session.removeFolder(folder);
  return true;
}

async function* limited(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes)
      throw new AppError("payload_too_large", `The file is larger than the allowed ${maxBytes} bytes.`);
    yield chunk;
  }
}

const swept = new WeakSet<SftpLink>();

async function deleteStale(link: SftpLink, session: Session, folder: string): Promise<void> {
  if (swept.has(link)) return;
  swept.add(link);
  const now = link.clock.now().getTime();
  for (const { name, modifiedMs } of (await readFolder(session, folder, true)) ?? [])
    if (now - modifiedMs > STALE_MS) await session.remove(join(folder, name)).catch(() => undefined); // another upload did
}
