import { AppError } from "../../base/errors.ts";
import { isObject, type Json, storedJson } from "../../base/json.ts";
import type { ProviderState } from "../contract.ts";
import { readDrive } from "./client.ts";
import { type DriveFile, findFile } from "./files.ts";
import { baseOf, type DriveLink } from "./shape.ts";
import type { Walked } from "./walk.ts";

/** Maximum number of files of a remembered listing. */
const MAX_FILES = 50_000;
/** Maximum number of pages of changes. Beyond it, a new listing is as fast. */
const MAX_PAGES = 20;
const FOLDER = "application/vnd.google-apps.folder";
const FIELDS =
  "nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file(mimeType,parents,shortcutDetails))";

/** A folder to walk, and how; `seen` is called for every file on the way. */
export interface Expedition {
  start(): Promise<{ id: string; driveId: string | null }>;
  walk(
    folder: { id: string; driveId: string | null },
    seen: (file: DriveFile) => void,
  ): AsyncIterable<Walked>;
}

/** The files found, and the IDs whose changes could alter the result. */
interface Found {
  walked: Walked[];
  known: string[];
  driveId: string | null;
}

/**
 * All files of a walk. If Drive reports no changes since the last walk, returns its result after a single request, else
 * walks again. A change of a folder or of anything that the walk has seen requires a new walk, and so does a token that
 * Drive no longer accepts. `what` names the walk within the connection.
 */
export async function* recallOrWalk(
  link: DriveLink,
  what: string,
  { start, walk }: Expedition,
): AsyncGenerator<Walked> {
  const { state } = link;
  if (!state) return yield* walk(await start(), () => undefined);
  const name = new Bun.CryptoHasher("sha256").update(`${baseOf(link.config)} ${what}`).digest("hex");
  const known = await recall(link, state, name);
  if (known) return yield* known;

  const token = await findToken(link, null);
  let folder = await start();
  let since = token;
  if (folder.driveId !== null) {
    since = await findToken(link, folder.driveId);
    folder = await start(); // it may have been moved before the token was issued
  }
  const ids = new Set<string>([folder.id]);
  const walked: Walked[] = [];
  let isWhole = since !== null && (await nameRoot(link, folder.id, ids));
  const see = (file: DriveFile) => {
    ids.add(file.id);
    if (file.target) ids.add(file.target.id);
    if (file.driveId !== folder.driveId) isWhole = false; // changes in another drive aren't in this list
  };
  for await (const each of walk(folder, see)) {
    if (walked.length < MAX_FILES) walked.push(each);
    else isWhole = false;
    yield each;
  }
  if (since === null || !isWhole) return;
  await keep(state, name, { walked, known: [...ids], driveId: folder.driveId }, since);
}

const walkKey = (name: string) => `drive walk ${name}`;
const tokenKey = (name: string) => `drive token ${name}`;

/** Result of the last walk, if nothing has changed since. */
async function recall(link: DriveLink, state: ProviderState, name: string): Promise<Walked[] | null> {
  const kept = await state.read(tokenKey(name));
  const packed = kept === null ? null : await state.read(walkKey(name));
  if (kept === null || packed === null) return null;
  const { token, of } = storedJson<{ token: string; of: string }>(kept);
  if (of !== digest(packed)) return null;
  const found = storedJson<Found>(
    new TextDecoder().decode(Bun.zstdDecompressSync(Buffer.from(packed, "base64"))),
  );
  try {
    const next = await readChanges(link, token, found);
    if (next === null) return null;
    if (next !== token) await state.keep(tokenKey(name), JSON.stringify({ token: next, of }));
    return found.walked;
  } catch (error) {
    if (!(error instanceof AppError) || link.signal.aborted) throw error;
    return null; // for example an expired token; the walk reports everything else
  }
}

async function keep(state: ProviderState, name: string, found: Found, token: string): Promise<void> {
  const packed = Buffer.from(Bun.zstdCompressSync(JSON.stringify(found))).toString("base64");
  await state.keep(walkKey(name), packed);
  await state.keep(tokenKey(name), JSON.stringify({ token, of: digest(packed) }));
}

const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** My Drive's root has its own ID, which its files refer to. False if unknown. */
async function nameRoot(link: DriveLink, id: string, ids: Set<string>): Promise<boolean> {
  if (id !== "root") return true;
  const root = await findFile(link, id, false);
  if (root) ids.add(root.id);
  return root !== null;
}

/** Token for reading changes later. Null if Drive returns none. */
async function findToken(link: DriveLink, driveId: string | null): Promise<string | null> {
  try {
    const reply = await readDrive(link, {
      path: "/changes/startPageToken",
      query: driveId === null ? {} : { driveId },
      what: "the changes",
      isHurried: true,
    });
    return typeof reply.startPageToken === "string" ? reply.startPageToken : null;
  } catch (error) {
    if (!(error instanceof AppError) || link.signal.aborted) throw error;
    return null; // the walk works without a token
  }
}

/** Next token. Null if a relevant change was found. */
async function readChanges(link: DriveLink, token: string, found: Found): Promise<string | null> {
  const known = new Set(found.known);
  for (let page = 0, pageToken = token; page < MAX_PAGES; page++) {
    const reply = await readDrive(link, {
      path: "/changes",
      query: {
        pageToken,
        pageSize: "1000",
        includeRemoved: "true",
        includeItemsFromAllDrives: "true",
        spaces: "drive",
        fields: FIELDS,
        ...(found.driveId === null ? {} : { driveId: found.driveId }),
      },
      what: "the changes",
      isHurried: false,
    });
    if (!Array.isArray(reply.changes) || reply.changes.some((change) => matters(change, known))) return null;
    if (typeof reply.newStartPageToken === "string") return reply.newStartPageToken;
    if (typeof reply.nextPageToken !== "string") return null;
    pageToken = reply.nextPageToken;
  }
  return null;
}

/** Whether this change could alter a walk's result. A folder's name or parent may matter anywhere. */
function matters(change: Json, known: ReadonlySet<string>): boolean {
  if (!isObject(change) || typeof change.fileId !== "string") return true;
  if (known.has(change.fileId)) return true;
  const { file } = change;
  if (!isObject(file)) return change.removed !== true;
  const { mimeType, parents, shortcutDetails: details } = file;
  if (mimeType === FOLDER || (isObject(details) && details.targetMimeType === FOLDER)) return true;
  if (!Array.isArray(parents) || parents.length === 0) return true;
  return parents.some((parent) => typeof parent === "string" && known.has(parent));
}
