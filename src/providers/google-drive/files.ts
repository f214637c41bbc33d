import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { readDrive } from "./client.ts";
import type { DriveLink } from "./shape.ts";

/** A file, folder or shortcut, as Drive describes it. */
export interface DriveFile {
  id: string;
  name: string;
  mimeType: string;
  /** Null for folders and for Google's own documents. */
  size: number | null;
  /** Hash of the bytes, in hex. Null if Drive has none. */
  md5: string | null;
  createdTime: string | null;
  modifiedTime: string | null;
  parents: string[];
  isTrashed: boolean;
  /** Shared drive that contains it. */
  driveId: string | null;
  /** Target of a shortcut. */
  target: { id: string; mimeType: string } | null;
}

export const FOLDER = "application/vnd.google-apps.folder";
const SHORTCUT = "application/vnd.google-apps.shortcut";
export const FIELDS =
  "id,name,mimeType,size,md5Checksum,createdTime,modifiedTime,parents,trashed,driveId,shortcutDetails";
const PAGE_SIZE = 1_000;

/** Whether it is a folder, or a shortcut to one. */
export const isFolder = (file: DriveFile): boolean => (file.target?.mimeType ?? file.mimeType) === FOLDER;

/** The file with this ID. Null if it doesn't exist, is in the trash, or isn't accessible with these credentials. */
export async function findFile(link: DriveLink, id: string, isHurried: boolean): Promise<DriveFile | null> {
  try {
    const path = `/files/${encodeURIComponent(id)}`;
    const reply = await readDrive(link, {
      path,
      query: { fields: FIELDS },
      what: JSON.stringify(id),
      isHurried,
    });
    const file = readFile(reply);
    return file.isTrashed ? null : file;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

/** Query of a list: files in a folder, optionally by name. */
export interface Listing {
  folderId: string;
  /** The shared drive that contains the folder. */
  driveId: string | null;
  name?: string;
  /** Include files that were shared with a service account, which are in none of its folders. */
  withShared?: boolean;
  pageToken?: string;
  pageSize?: number;
}

/** One page of a folder's content without the trash: folders first, then by name. */
export async function listFiles(
  link: DriveLink,
  listing: Listing,
  isHurried: boolean,
): Promise<{ files: DriveFile[]; nextPageToken: string | null }> {
  const { folderId, driveId, name, pageToken } = listing;
  const inside = `${quote(folderId)} in parents`;
  const conditions = [
    listing.withShared ? `(${inside} or sharedWithMe = true)` : inside,
    ...(name === undefined ? [] : [`name = ${quote(name)}`]),
    "trashed = false",
  ];
  const reply = await readDrive(link, {
    path: "/files",
    query: {
      q: conditions.join(" and "),
      fields: `nextPageToken,incompleteSearch,files(${FIELDS})`,
      pageSize: String(listing.pageSize ?? PAGE_SIZE),
      orderBy: "folder,name",
      includeItemsFromAllDrives: "true",
      ...(driveId === null ? {} : { corpora: "drive", driveId }),
      ...(pageToken === undefined ? {} : { pageToken }),
    },
    what: JSON.stringify(folderId),
    isHurried,
  });
  if (reply.incompleteSearch === true || !Array.isArray(reply.files)) {
    throw new AppError("upstream", "Google Drive returned an incomplete list.", { retryable: true });
  }
  const next = reply.nextPageToken;
  return {
    files: reply.files.map(readFile).filter((file) => !file.isTrashed),
    nextPageToken: typeof next === "string" && next !== "" ? next : null,
  };
}

/** All entries of a folder, each once, even if pages overlap. */
export async function listAll(link: DriveLink, listing: Listing): Promise<DriveFile[]> {
  const files = new Map<string, DriveFile>();
  const tokens = new Set<string>();
  for (let pageToken: string | null | undefined; pageToken !== null; ) {
    const page = await listFiles(link, { ...listing, ...(pageToken ? { pageToken } : {}) }, false);
    for (const file of page.files) files.set(file.id, file);
    pageToken = page.nextPageToken;
    if (pageToken !== null && tokens.has(pageToken))
      throw new AppError("upstream", "Google Drive returned the same page of the list twice.");
    if (pageToken !== null) tokens.add(pageToken);
  }
  return [...files.values()];
}

const quote = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

export function readFile(value: Json): DriveFile {
  const file: JsonObject = isObject(value) ? (value as JsonObject) : {};
  const { id, name, mimeType, size, parents, shortcutDetails: details } = file;
  if (typeof id !== "string" || typeof name !== "string" || typeof mimeType !== "string") {
    throw new AppError("upstream", "Google Drive returned a file without an ID, name or type.");
  }
  const native = mimeType.startsWith("application/vnd.google-apps.");
  const target = mimeType === SHORTCUT && isObject(details) ? details : null;
  return {
    id,
    name,
    mimeType,
    size: native || size === undefined || size === null ? null : Number(size),
    md5: /^[0-9a-f]{32}$/.exec(String(file.md5Checksum))?.[0] ?? null,
    createdTime: instant(file.createdTime),
    modifiedTime: instant(file.modifiedTime),
    parents: Array.isArray(parents) ? parents.filter((each) => typeof each === "string") : [],
    isTrashed: file.trashed === true,
    driveId: typeof file.driveId === "string" ? file.driveId : null,
    target:
      target && typeof target.targetId === "string"
        ? { id: target.targetId, mimeType: String(target.targetMimeType ?? "") }
        : null,
  };
}

function instant(value: Json | undefined): string | null {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
