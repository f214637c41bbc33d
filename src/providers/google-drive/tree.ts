import { AppError } from "../../base/errors.ts";
import type { FileItem, FilePage } from "../contract.ts";
import { exportedName, withoutEnding } from "./export.ts";
import { noSuchItem } from "./failure.ts";
import { type DriveFile, findFile, isFolder, listFiles } from "./files.ts";
import type { DriveLink } from "./shape.ts";

/** The file or folder at a path. */
export interface Found {
  /** File at the path. Null for the root if none is configured. */
  file: DriveFile | null;
  /** ID of a shortcut's target, else of the file. `root` for My Drive. */
  id: string;
  target: DriveFile | null;
  driveId: string | null;
  /** Prefix of its own ID and of all IDs below it. Empty, unless a shortcut leads outside the root. */
  above: string;
  prefix: string;
}

const ID = /^[A-Za-z0-9_-]+$/;

/** Deeper than Drive itself allows. */
const MAX_DEPTH = 110;

/** The root, with the folder in `rootFolderId`. Throws `upstream` if the credentials can't access it. */
export async function findRoot(link: DriveLink, isHurried: boolean): Promise<Found> {
  const { rootFolderId } = link.config;
  if (rootFolderId === undefined)
    return { file: null, id: "root", target: null, driveId: null, above: "", prefix: "" };
  const file = await findFile(link, rootFolderId, isHurried);
  const found = file && (await resolved(link, file, isHurried));
  if (!found?.target || !isFolder(found.target)) {
    throw new AppError(
      "upstream",
      found
        ? `rootFolderId ${rootFolderId} is not a folder.`
        : `There is no folder ${rootFolderId}, or it is not shared with these credentials.`,
      { details: { reason: ROOT_GONE } },
    );
  }
  return { ...found, above: "", prefix: "" };
}

const ROOT_GONE = "root_gone";

/** Whether an error is the one of `findRoot` for a missing root. */
export const isRootGone = (error: unknown): error is AppError =>
  error instanceof AppError && error.details?.reason === ROOT_GONE;

/**
 * Resolves a path: `/`, the ID of a file or folder, or names from the root, each part either one. Throws `not_found`,
 * also for files outside the root, and `bad_request` for an ambiguous name.
 */
export async function findPath(link: DriveLink, path: string): Promise<Found> {
  let found = await findRoot(link, false);
  for (const part of path.split("/").filter((each) => each !== "")) {
    const file = found.target && !isFolder(found.target) ? null : await findChild(link, found, part);
    if (!file) throw noSuchItem(JSON.stringify(path));
    const above = found.prefix;
    const leavesRoot = file.target !== null && link.config.rootFolderId !== undefined;
    const prefix = leavesRoot ? `${above}${file.id}/` : above;
    found = { ...(await resolved(link, file, false)), above, prefix };
  }
  return found;
}

async function resolved(
  link: DriveLink,
  file: DriveFile,
  isHurried: boolean,
): Promise<Omit<Found, "above" | "prefix">> {
  const target = file.target ? await findFile(link, file.target.id, isHurried) : file;
  if (!target || target.target) {
    throw new AppError("not_found", `The shortcut ${JSON.stringify(file.name)} has no target.`);
  }
  return { file, id: target.id, target, driveId: target.driveId };
}

async function findChild(link: DriveLink, parent: Found, part: string): Promise<DriveFile | null> {
  const byId = ID.test(part) ? await findFile(link, part, false) : null;
  if (byId && (await isBelow(link, parent, byId))) return byId;
  const named = await findNamed(link, parent, part);
  if (named.length > 1) {
    throw new AppError(
      "bad_request",
      `Several files bear the name ${JSON.stringify(part)}; say which one by its id: ${named.map(({ id }) => id).join(", ")}.`,
    );
  }
  return named[0] ?? null;
}

/** Finds an entry by name, including the name under which a Google document is exported. */
async function findNamed(link: DriveLink, { id, driveId }: Found, part: string): Promise<DriveFile[]> {
  const listing = { folderId: id, driveId, pageSize: 10, withShared: seesShared(link, id) };
  const { files } = await listFiles(link, { ...listing, name: part }, false);
  const exact = files.filter((file) => file.name === part); // Drive ignores case
  const plain = withoutEnding(part);
  if (exact.length > 0 || plain === null) return exact;
  const exported = await listFiles(link, { ...listing, name: plain }, false);
  return exported.files.filter((file) => exportedName(file) === part);
}

/** Whether `file` is anywhere below `parent`. */
async function isBelow(link: DriveLink, parent: Found, file: DriveFile): Promise<boolean> {
  if (parent.file === null) return true;
  const seen = new Set<string>();
  for (let parents = file.parents; parents.length > 0 && seen.size < MAX_DEPTH; ) {
    if (parents.includes(parent.id)) return true;
    const [next = ""] = parents;
    if (seen.has(next)) return false;
    seen.add(next);
    parents = (await findFile(link, next, false))?.parents ?? [];
  }
  return false;
}

/** A service account has no My Drive of its own; it sees what is shared with it. */
export const seesShared = ({ config, credentials }: DriveLink, folderId: string): boolean =>
  folderId === "root" && config.rootFolderId === undefined && Boolean(credentials.serviceAccountJson);

/** One page of a folder. Drive returns folders first, then by name. */
export async function browse(link: DriveLink, path: string, pageToken?: string): Promise<FilePage> {
  const found = await findPath(link, path);
  if (found.target && !isFolder(found.target)) throw noSuchItem(JSON.stringify(path));
  const { id, driveId } = found;
  const page = await listFiles(
    link,
    { folderId: id, driveId, withShared: seesShared(link, id), ...(pageToken ? { pageToken } : {}) },
    false,
  );
  return {
    items: page.files.map((file) => itemOf(file, found.prefix)),
    ...(page.nextPageToken === null ? {} : { nextPageToken: page.nextPageToken }),
  };
}

export function itemOf(file: DriveFile, prefix: string): FileItem {
  const folder = isFolder(file);
  return {
    id: `${prefix}${file.id}`,
    name: file.name,
    kind: folder ? "folder" : "file",
    mimeType: folder ? null : (file.target?.mimeType ?? file.mimeType),
    size: file.size,
    modifiedAt: file.modifiedTime,
  };
}
