import { AppError } from "../../base/errors.ts";
import type { FileItem, FilePage } from "../contract.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { readReply, send } from "./client.ts";
import { noSuchFile } from "./failure.ts";
import { rootOf, type S3Link } from "./shape.ts";
import { childrenOf, type Element, textOf } from "./xml.ts";

/** Entry of a key or common prefix. */
export interface Entry {
  key: string;
  folder: boolean;
  size: number | null;
  modifiedAt: string | null;
  /** Without quotes; null for a folder, and if the store returns none. */
  etag: string | null;
}

/** Maximum entries per page, in Weir and in S3. */
const PAGE_ITEMS = 1_000;

/** S3 lists in key order: maximum number of requests to find all folders, which come before files. */
const MAX_LOOKAHEAD = 10;

/** Entries that start with `prefix` and come after `after`, one page of S3 at a time, in byte order. */
export async function* listPages(
  link: S3Link,
  prefix: string,
  options: { delimiter?: "/"; after?: string; maxKeys?: number } = {},
): AsyncGenerator<{ entries: Entry[]; more: boolean }> {
  let token: string | null = null;
  const yielded = new Set<string>(); // some servers repeat a folder on the next page
  do {
    const response = await send(link, {
      method: "GET",
      key: "",
      query: {
        "list-type": "2",
        "encoding-type": "url",
        "max-keys": String(options.maxKeys ?? PAGE_ITEMS),
        ...(prefix ? { prefix } : {}),
        ...(options.delimiter ? { delimiter: options.delimiter } : {}),
        ...(token ? { "continuation-token": token } : options.after ? { "start-after": options.after } : {}),
      },
    });
    const reply = await readReply(response);
    const last: string | null = token;
    const isTruncated = textOf(reply, "IsTruncated")?.trim() === "true";
    token = isTruncated ? textOf(reply, "NextContinuationToken") : null;
    // Servers that support only the first version of this call return no token: the list would end after 1,000 objects.
    if (isTruncated && (!token || token === last))
      throw new AppError(
        "upstream",
        "The object store's list is incomplete: it has more objects, but no token for the next page. Check whether the store supports ListObjectsV2.",
      );
    const entries = entriesOf(reply).filter(({ key, folder }) => !folder || !yielded.has(key));
    for (const { key, folder } of entries) if (folder) yielded.add(key);
    yield { entries, more: token !== null };
  } while (token !== null);
}

function entriesOf(reply: Element): Entry[] {
  if (reply.name !== "ListBucketResult")
    throw new AppError("upstream", "The object store's list can't be read.");
  const encoded = textOf(reply, "EncodingType") === "url";
  const plain = (text: string | null) => (encoded ? decodeKey(text ?? "") : (text ?? ""));
  const files = childrenOf(reply, "Contents").map((item) => ({
    key: plain(textOf(item, "Key")),
    folder: false,
    size: sizeIn(textOf(item, "Size")),
    modifiedAt: instant(textOf(item, "LastModified")),
    etag: plainTag(textOf(item, "ETag")),
  }));
  const folders = childrenOf(reply, "CommonPrefixes").map((item) => ({
    key: plain(textOf(item, "Prefix")),
    folder: true,
    size: null,
    modifiedAt: null,
    etag: null,
  }));
  return [...files, ...folders].sort((a, b) => compareBytes(a.key, b.key));
}

const sizeIn = (text: string | null): number | null => (text?.trim() ? Number(text) : null);

/** An ETag without quotes, for comparison. */
export const plainTag = (tag: string | null): string | null => tag?.replace(/^(?:W\/)?"|"$/g, "") || null;

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new AppError("upstream", "The object store's list has a key that can't be read.", { cause });
  }
}

/** An HTTP or ISO date as ISO 8601. */
export function instant(text: string | null): string | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

/** S3's order: by UTF-8 bytes, unlike JavaScript's. */
const compareBytes = (a: string, b: string): number =>
  a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));

/** End of a page. `folders`: folders up to `after` were listed. `files`: all up to `after`, folders up to `seen`. */
interface PageCursor {
  phase: "folders" | "files";
  after: string;
  /** Null if there are no more folders. */
  seen: string | null;
}

/** Folders first, then files, up to 1,000. After 10,000 entries, remaining folders are listed among the files. */
export async function browse(link: S3Link, prefix: string, pageToken?: string): Promise<FilePage> {
  const cursor = pageToken === undefined ? null : readToken(pageToken);
  return cursor?.phase === "files" ? continuePage(link, prefix, cursor) : firstPages(link, prefix, cursor);
}

async function firstPages(link: S3Link, prefix: string, cursor: PageCursor | null): Promise<FilePage> {
  const folders: Entry[] = [];
  const files: Entry[] = [];
  let seen: string | null = null;
  let hasFolderObject = false;
  let calls = 0;
  for await (const { entries, more } of listPages(link, prefix, { delimiter: "/" })) {
    for (const entry of entries) {
      if (entry.folder) folders.push(entry);
      else if (entry.key === prefix) hasFolderObject = true;
      else if (files.length <= PAGE_ITEMS) files.push(entry);
    }
    seen = more ? (entries.at(-1)?.key ?? seen) : null;
    if (more && ++calls >= MAX_LOOKAHEAD) break;
  }
  if (folders.length + files.length === 0 && !hasFolderObject && prefix !== rootOf(link.config)) {
    throw noSuchFile(pathOf(link, prefix).replace(/(?<=.)\/$/, ""));
  }
  const left = folders.filter(({ key }) => cursor === null || compareBytes(key, cursor.after) > 0);
  const shown = [...left, ...files].slice(0, PAGE_ITEMS);
  const last = shown.at(-1);
  const items = shown.map((entry) => itemOf(link, entry));
  if (shown.length < left.length) {
    return { items, nextPageToken: writeToken({ phase: "folders", after: last?.key ?? "", seen: null }) };
  }
  if (shown.length === left.length + files.length && seen === null) return { items };
  return {
    items,
    nextPageToken: writeToken({ phase: "files", after: last?.folder ? "" : (last?.key ?? ""), seen }),
  };
}

async function continuePage(link: S3Link, prefix: string, cursor: PageCursor): Promise<FilePage> {
  const found: Entry[] = [];
  let more = false;
  const options = { delimiter: "/" as const, ...(cursor.after ? { after: cursor.after } : {}) };
  for await (const page of listPages(link, prefix, options)) {
    for (const entry of page.entries) {
      if (entry.key === prefix || compareBytes(entry.key, cursor.after) <= 0) continue;
      if (entry.folder && (cursor.seen === null || compareBytes(entry.key, cursor.seen) <= 0)) continue;
      found.push(entry);
    }
    more = page.more;
    if (found.length >= PAGE_ITEMS) break;
  }
  const shown = found.slice(0, PAGE_ITEMS);
  const ordered = [...shown.filter(({ folder }) => folder), ...shown.filter(({ folder }) => !folder)];
  const items = ordered.map((entry) => itemOf(link, entry));
  if (!more && shown.length === found.length) return { items };
  return { items, nextPageToken: writeToken({ ...cursor, after: shown.at(-1)?.key ?? cursor.after }) };
}

/** Path below the connection's root, with a leading slash. */
export const pathOf = (link: S3Link, key: string): string => `/${key.slice(rootOf(link.config).length)}`;

export function itemOf(link: S3Link, entry: Entry): FileItem {
  const path = pathOf(link, entry.key);
  const name = entry.key.replace(/\/$/, "").split("/").at(-1) ?? "";
  if (!entry.folder) {
    return {
      id: path,
      name,
      kind: "file",
      mimeType: mimeTypeOf(name),
      size: entry.size,
      modifiedAt: entry.modifiedAt,
    };
  }
  // A folder with an empty name, as in the key a//b, keeps its slash; otherwise it would be its parent.
  return {
    id: name === "" ? path : path.slice(0, -1),
    name: name === "" ? "/" : name,
    kind: "folder",
    mimeType: null,
    size: null,
    modifiedAt: null,
  };
}

const writeToken = (cursor: PageCursor) =>
  Buffer.from(JSON.stringify([cursor.phase, cursor.after, cursor.seen])).toString("base64url");

function readToken(token: string): PageCursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (Array.isArray(value)) {
      const [phase, after, seen] = value as unknown[];
      if (
        (phase === "folders" || phase === "files") &&
        typeof after === "string" &&
        (seen === null || typeof seen === "string")
      ) {
        return { phase, after, seen };
      }
    }
  } catch (cause) {
    throw new AppError("bad_request", "Invalid page token.", { cause });
  }
  throw new AppError("bad_request", "Invalid page token.");
}
