import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { FileItem } from "../contract.ts";
import type { Opened, Stamp, Tree } from "../contract-tree.ts";
import { readChunks } from "../files/streams.ts";
import { getDrive, readDrive } from "./client.ts";
import { isNative } from "./export.ts";
import { type DriveFile, FIELDS, FOLDER, findFile, isFolder, listAll, readFile } from "./files.ts";
import type { DriveLink } from "./shape.ts";
import { findPath, findRoot, itemOf } from "./tree.ts";
import { uploadFile } from "./upload.ts";

/** A folder above a file. */
interface Parent {
  id: string;
  driveId: string | null;
}

/** Folders that were found or created, by path. */
const known = new WeakMap<DriveLink, Map<string, Promise<Parent>>>();

const MAX_NAME = 1_024;
const READ_ONLY =
  "This Google Drive connection is read-only: set access to write in its config, then sign in again.";

/** Writes files by path and creates missing folders. */
export const driveWrites: NonNullable<Tree<DriveLink>["writes"]> = {
  isFolderLike: false,
  renamesTwins: true,

  refusal: ({ access }) => (access === "write" ? null : READ_ONLY),

  fault(_link, path) {
    const long = namesOf(path).find((name) => name.length > MAX_NAME);
    return long === undefined ? null : `a name in it has more than ${MAX_NAME} characters`;
  },

  async put(link, path, file, size, replacesFolder = false): Promise<Stamp> {
    const written = await writeFile(link, path, file, { size, replacesFolder });
    return { version: written.md5 ?? `${written.modifiedTime}`, size: written.size ?? 0 };
  },

  async remove(link, path) {
    refuseReadOnly(link);
    const [names, name] = split(path);
    const parent = await findParent(link, names);
    const file = (parent && (await findNamed(link, parent, name))) ?? (await findById(link, path));
    if (file) await trash(link, file, path);
  },
};

/** Moves a file to the trash, where its owner finds it for 30 days. */
async function trash(link: DriveLink, { id }: DriveFile, path: string): Promise<void> {
  const request = { path: `/files/${encodeURIComponent(id)}`, what: JSON.stringify(path), isHurried: false };
  const response = await getDrive(link, { ...request, method: "PATCH", body: { trashed: true } });
  await response.body.cancel();
}

/** Writes one uploaded file. Throws `payload_too_large`. */
export async function writeItem(
  link: DriveLink,
  path: string,
  bytes: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<FileItem> {
  let total = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes)
        throw new AppError("payload_too_large", `The file is larger than the allowed ${maxBytes} bytes.`);
      controller.enqueue(chunk);
    },
  });
  return itemOf(await writeFile(link, path, { bytes: bytes.pipeThrough(counted) }), "");
}

async function writeFile(
  link: DriveLink,
  path: string,
  { bytes, contentType }: Opened,
  { size = null, replacesFolder = false }: { size?: number | null; replacesFolder?: boolean } = {},
): Promise<DriveFile> {
  refuseReadOnly(link);
  const [names, name] = split(path);
  if (name === "") throw new AppError("bad_request", "The path names a folder, not a file.");
  const stream = bytes instanceof Uint8Array ? new Blob([bytes]).stream() : bytes;
  const parent = await makeParent(link, names);
  const twins = await named(link, parent, name);
  if (replacesFolder) await trashEmpty(link, twins, path);
  const before = twins.find(isOrdinary) ?? null;
  const metadata: JsonObject = before ? {} : { name, parents: [parent.id] };
  const upload = {
    ...{ id: before?.id ?? null, metadata, size, what: JSON.stringify(path) },
    contentType: contentType ?? "application/octet-stream",
  };
  return uploadFile(link, upload, readChunks(stream, link.signal));
}

function refuseReadOnly(link: DriveLink): void {
  if (link.config.access === "write") return;
  throw new AppError("definition_invalid", READ_ONLY);
}

const namesOf = (path: string) => path.split("/").filter((name) => name !== "");

function split(path: string): [folders: string[], name: string] {
  const names = namesOf(path);
  return [names.slice(0, -1), path.endsWith("/") ? "" : (names.at(-1) ?? "")];
}

/** The file of that name, the oldest if there are several, null if there is none. Ignores Google's own documents. */
async function findNamed(link: DriveLink, parent: Parent, name: string): Promise<DriveFile | null> {
  return (await named(link, parent, name)).find(isOrdinary) ?? null;
}

const isOrdinary = (file: DriveFile): boolean =>
  !isFolder(file) && file.target === null && !isNative(file.mimeType);

/** Moves folders without files to the trash. */
async function trashEmpty(link: DriveLink, files: readonly DriveFile[], path: string): Promise<void> {
  for (const file of files) {
    if (!(await isEmptyFolder(link, file))) continue;
    await trash(link, file, path);
    known.delete(link);
  }
}

async function isEmptyFolder(link: DriveLink, file: DriveFile): Promise<boolean> {
  if (file.mimeType !== FOLDER) return false;
  for (const each of await listAll(link, { folderId: file.id, driveId: file.driveId }))
    if (!(await isEmptyFolder(link, each))) return false;
  return true;
}

async function named(link: DriveLink, { id, driveId }: Parent, name: string): Promise<DriveFile[]> {
  const files = await listAll(link, { folderId: id, driveId, name });
  const age = (file: DriveFile) => `${file.createdTime ?? ""} ${file.id}`;
  return files.filter((file) => file.name === name).sort((a, b) => (age(a) < age(b) ? -1 : 1));
}

/** The file at a path of IDs; null if there is none or it is a folder. */
async function findById(link: DriveLink, path: string): Promise<DriveFile | null> {
  const found = await findPath(link, path).catch((error: unknown) => {
    if (error instanceof AppError && (error.code === "not_found" || error.code === "bad_request"))
      return null;
    throw error;
  });
  return found?.file && !isFolder(found.file) ? found.file : null;
}

async function findParent(link: DriveLink, names: readonly string[]): Promise<Parent | null> {
  let parent: Parent = await findRoot(link, false);
  for (const name of names) {
    const folder = await findFolder(link, parent, name);
    if (!folder) return null;
    parent = folder;
  }
  return parent;
}

async function findFolder(link: DriveLink, parent: Parent, name: string): Promise<Parent | null> {
  const folder = (await named(link, parent, name)).find(isFolder);
  if (!folder) return null;
  return folder.target ? findFile(link, folder.target.id, false) : folder;
}

/** The folder at this path, created if it is missing; one at a time, so that none is created twice. */
function makeParent(link: DriveLink, names: readonly string[]): Promise<Parent> {
  const folders = known.get(link) ?? new Map<string, Promise<Parent>>();
  known.set(link, folders);
  const path = names.join("/");
  const made = folders.get(path) ?? make(link, names);
  folders.set(path, made);
  made.catch(() => folders.delete(path));
  return made;
}

async function make(link: DriveLink, names: readonly string[]): Promise<Parent> {
  const name = names.at(-1);
  if (name === undefined) return findRoot(link, false);
  const parent = await makeParent(link, names.slice(0, -1));
  const found = await findFolder(link, parent, name);
  if (found) return found;
  const what = JSON.stringify(`/${names.join("/")}`);
  const body = { name, mimeType: FOLDER, parents: [parent.id] };
  const query = { fields: FIELDS };
  const created = readFile(
    await readDrive(link, { path: "/files", query, method: "POST", body, what, isHurried: false }),
  );
  // another process may have created the same folder in the meantime: use the oldest
  return (await findFolder(link, parent, name)) ?? created;
}
