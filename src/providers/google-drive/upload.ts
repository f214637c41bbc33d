import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { jsonOf, textOf } from "../api/send.ts";
import { changedFile } from "../files/streams.ts";
import { askDrive } from "./client.ts";
import { type DriveFile, FIELDS, readFile } from "./files.ts";
import { baseOf, type DriveLink } from "./shape.ts";

/** Size of one part; Google requires a multiple of 256 KiB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Consecutive failures of one part. */
const MAX_FAILURES = 5;

/** An upload and its metadata. */
export interface Upload {
  /** The file whose content is replaced; null for a new file described by `metadata`. */
  id: string | null;
  metadata: JsonObject;
  contentType: string;
  /** The file's path, for messages. */
  what: string;
  /** Expected number of bytes. Null if unknown. */
  size: number | null;
}

/**
 * Uploads bytes in parts that can be sent again. Until the last part has arrived, Drive shows the previous content, or
 * no file. Throws `changedFile` if the length isn't `size`, and `upstream` if Drive stored other bytes.
 */
export async function uploadFile(
  link: DriveLink,
  upload: Upload,
  chunks: AsyncIterable<Uint8Array>,
): Promise<DriveFile> {
  const session = await openSession(link, upload);
  const hash = new Bun.CryptoHasher("md5");
  let sent = 0;
  for await (const { bytes, isLast } of partsOf(chunks)) {
    hash.update(bytes);
    if (upload.size !== null && sent + bytes.length > upload.size) throw changedFile(upload.what);
    if (isLast && upload.size !== null && sent + bytes.length < upload.size) throw changedFile(upload.what);
    const file = await sendPart(link, { ...session, what: upload.what }, bytes, sent, isLast);
    sent += bytes.length;
    if (!isLast) continue;
    if (file === null) break;
    if (file.md5 !== null && file.md5 !== hash.digest("hex"))
      throw new AppError("upstream", `Google Drive stored ${upload.what} incorrectly.`, {
        retryable: true,
      });
    return file;
  }
  throw new AppError("upstream", `Google Drive didn't complete the upload of ${upload.what}.`, {
    retryable: true,
  });
}

interface Session {
  url: string;
  what: string;
}

async function openSession(
  link: DriveLink,
  { id, metadata, contentType, what, size }: Upload,
): Promise<Session> {
  const base = `${baseOf(link.config)}/upload/drive/v3/files`;
  const query = new URLSearchParams({ uploadType: "resumable", supportsAllDrives: "true", fields: FIELDS });
  const response = await askDrive(link, {
    url: `${base}${id === null ? "" : `/${encodeURIComponent(id)}`}?${query}`,
    method: id === null ? "POST" : "PATCH",
    headers: {
      "content-type": "application/json",
      "x-upload-content-type": contentType,
      ...(size === null ? {} : { "x-upload-content-length": String(size) }),
    },
    body: JSON.stringify(metadata),
    ...{ what, isHurried: false },
  });
  await response.body.cancel();
  const url = URL.parse(response.headers.get("location") ?? "", base);
  if (url === null || url.origin !== new URL(base).origin)
    throw new AppError("upstream", "Google Drive returned an invalid upload URL. Check baseUrl.");
  return { url: url.href, what };
}

/** Sends one part, or what Drive lacks of it. Returns the file once Drive has all of it. */
async function sendPart(
  link: DriveLink,
  session: Session,
  bytes: Uint8Array<ArrayBuffer>,
  from: number,
  isLast: boolean,
): Promise<DriveFile | null> {
  const end = from + bytes.length;
  const total = isLast ? String(end) : "*";
  let at = from;
  for (let failures = 0; ; ) {
    try {
      const range = at < end ? `bytes ${at}-${end - 1}/${total}` : `bytes */${total}`;
      const found = await put(link, session, bytes.subarray(at - from), range);
      if (found.file !== null) return found.file;
      if (found.received >= end && !isLast) return null;
      if (found.received < from || found.received > end || (found.received === at && at < end))
        throw lost(session);
      at = found.received;
    } catch (error) {
      if (!(error instanceof AppError) || !error.retryable || ++failures >= MAX_FAILURES) throw error;
      const found = await put(link, session, new Uint8Array(), `bytes */${total}`);
      if (found.file !== null) return found.file;
      if (found.received < from) throw lost(session);
      at = Math.min(found.received, end);
    }
  }
}

const lost = ({ what }: Session) =>
  new AppError("upstream", `Google Drive lost a part of the upload of ${what}.`, { retryable: true });

/** The current state at Drive: the complete file, or the number of bytes received. */
async function put(
  link: DriveLink,
  { url, what }: Session,
  body: Uint8Array<ArrayBuffer>,
  range: string,
): Promise<{ file: DriveFile | null; received: number }> {
  const response = await askDrive(link, {
    ...{ url, method: "PUT", body, what, isHurried: false, isLong: true, accepts: 308 },
    headers: { "content-range": range, "content-type": "application/octet-stream" },
  });
  if (response.status === 308) {
    await response.body.cancel();
    const [, last] = /^bytes=0-(\d+)$/.exec(response.headers.get("range") ?? "") ?? [];
    return { file: null, received: last === undefined ? 0 : Number(last) + 1 };
  }
  const reply = await jsonOf(await textOf("Google Drive", response));
  if (!isObject(reply))
    throw new AppError("upstream", "Google Drive returned an invalid response to an upload.");
  return { file: readFile(reply), received: 0 };
}

/** Parts of equal size, except for the last, which may be empty. */
async function* partsOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ bytes: Uint8Array<ArrayBuffer>; isLast: boolean }> {
  let part = new Uint8Array(PART_BYTES);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (filled === PART_BYTES) {
        yield { bytes: part, isLast: false };
        part = new Uint8Array(PART_BYTES);
        filled = 0;
      }
      const taken = chunk.subarray(at, at + PART_BYTES - filled);
      part.set(taken, filled);
      filled += taken.length;
      at += taken.length;
    }
  }
  yield { bytes: part.subarray(0, filled), isLast: true };
}
