import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import type { Opened, Stamp, Tree, TreeFile } from "../contract-tree.ts";
import { changedFile, readChunks } from "../files/streams.ts";
import { readReply, send } from "./client.ts";
import { noSuchFile, refusal } from "./failure.ts";
import { type Entry, instant, listPages, plainTag } from "./list.ts";
import { checkKey, regionOf, rootOf, type S3Link, urlOf } from "./shape.ts";
import { inParts, type ObjectHeaders, PART_BYTES, type Uploaded, upload, uploadWhole } from "./upload.ts";
import { textOf } from "./xml.ts";

/** S3's limit for a copy in one request. */
const MAX_WHOLE_COPY_BYTES = 5 * 1024 ** 3;
/** Larger objects are copied in parts of this size, several in parallel. */
const COPY_PART_BYTES = 1024 ** 3;
const COPIES_AT_ONCE = 4;

/** Maximum size of files that are read in one piece. */
const WHOLE_BYTES = 1024 ** 2;

/** S3's maximum length of a key. */
const MAX_KEY_BYTES = 1_024;

/** Prefixes of a bucket as trees: a sync lists 1,000 objects per request and copies within the store. */
export const s3Tree: Tree<S3Link> = {
  home: (link) => `s3:${urlOf(link.config, "").replace(/\/+$/, "")}/${rootOf(link.config)}`,

  async *walk(link, path, only) {
    const folder = prefixOf(link, path);
    if (!only) {
      let isThere = folder === ""; // a bucket may be empty; an empty folder doesn't exist
      for await (const { entries } of listPages(link, folder)) {
        isThere ||= entries.length > 0;
        for (const entry of entries) if (!isMark(entry)) yield fileOf(entry, folder);
      }
      if (!isThere) throw noSuchFile(path);
      return;
    }
    const yielded = new Set<string>();
    for (const item of only.items) {
      const full = prefixOf(link, item.startsWith("/") ? item : `${path.replace(/\/$/, "")}/${item}`);
      const key = full.replace(/\/$/, "");
      let isThere = false;
      if (!full.startsWith(folder)) {
        only.missing(item);
        continue;
      }
      for await (const { entries } of listPages(link, key)) {
        for (const entry of entries) {
          if (entry.key !== key && !entry.key.startsWith(full)) continue;
          isThere = true;
          if (!yielded.has(entry.key) && !isMark(entry)) yield fileOf(entry, folder);
          yielded.add(entry.key);
        }
      }
      if (!isThere) only.missing(item);
    }
  },

  async stat(link, file) {
    try {
      const { headers, body } = await send(link, { method: "HEAD", key: file.id });
      await body.cancel();
      const size = Number(headers.get("content-length") ?? 0);
      const modifiedAt = instant(headers.get("last-modified"));
      return { ...file, size, modifiedAt, ...stampOf(plainTag(headers.get("etag")), size, modifiedAt) };
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return null;
      throw error;
    }
  },

  async open(link, file) {
    const headers: Record<string, string> = file.hash === null ? {} : { "if-match": `"${file.hash}"` };
    const reply = await send(link, { method: "GET", key: file.id, headers, long: true, isRaw: true });
    const metadata = reply.headers;
    const etag = plainTag(metadata.get("etag"));
    if (file.hash !== null && etag !== null && etag !== file.hash) {
      await reply.body.cancel();
      throw changedFile(file.id);
    }
    return {
      bytes: file.size !== null && file.size <= WHOLE_BYTES ? await wholeOf(reply, file.size) : reply.body,
      contentType: metadata.get("content-type"),
      contentEncoding: metadata.get("content-encoding"),
    };
  },

  writes: {
    isFolderLike: false,

    fault(link, path) {
      const key = keyOf(link, path);
      if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `its key is longer than ${MAX_KEY_BYTES} bytes`;
      try {
        checkKey(key);
        return null;
      } catch (error) {
        if (error instanceof AppError) return error.message.replace(/^The path (.*)\.$/, "its key $1");
        throw error;
      }
    },

    async put(link, path, { bytes, contentType, contentEncoding }, size) {
      const key = keyOf(link, path);
      const headers: ObjectHeaders = {
        ...(contentType ? { "content-type": contentType } : {}),
        ...(contentEncoding ? { "content-encoding": contentEncoding } : {}),
      };
      if (size !== null && size <= PART_BYTES)
        return written(await uploadWhole(link, key, await readWhole(link, path, bytes, size), headers));
      const stream = bytes instanceof Uint8Array ? new Blob([bytes]).stream() : bytes;
      const done = await upload(link, key, stream, Number.MAX_SAFE_INTEGER, { size, headers });
      return written(done);
    },

    async copy(from, file, to, path) {
      if (!isOneStore(from, to)) return null;
      const key = keyOf(to, path);
      const size = file.size ?? 0;
      const source = {
        "x-amz-copy-source": copySource(from, file.id),
        ...(file.hash === null ? {} : { "x-amz-copy-source-if-match": `"${file.hash}"` }),
      };
      if (size > MAX_WHOLE_COPY_BYTES) return written(await copyInParts(from, file, to, key, source));
      const etag = await copyOnce(
        to,
        { method: "PUT", key, headers: source, long: true },
        "CopyObjectResult",
      );
      if (isMd5(file.hash) && isMd5(etag) && etag !== file.hash) throw changedFile(file.id);
      return written({ size, etag });
    },

    async remove(link, path) {
      const response = await send(link, { method: "DELETE", key: keyOf(link, path) });
      await response.body.cancel();
    },
  },
};

const keyOf = (link: S3Link, path: string): string =>
  `${rootOf(link.config)}${path.startsWith("/") ? path.slice(1) : path}`;

/** Prefix of a folder, with a trailing slash; the root's for `/`. */
function prefixOf(link: S3Link, path: string): string {
  const rest = path.replace(/^\//, "").replace(/\/$/, "");
  if (rest === "") return rootOf(link.config);
  checkKey(rest);
  return `${rootOf(link.config)}${rest}/`;
}

/** An empty object that represents a folder. */
const isMark = ({ key, size }: Entry): boolean => key.endsWith("/") && size === 0;

const fileOf = ({ key, size, modifiedAt, etag }: Entry, folder: string): TreeFile => ({
  id: key,
  path: key.slice(folder.length),
  size,
  modifiedAt,
  ...stampOf(etag, size, modifiedAt),
});

const stampOf = (etag: string | null, size: number | null, modifiedAt: string | null) => ({
  version: etag ?? `${size}-${modifiedAt}`,
  hash: etag,
});

const written = ({ size, etag }: Uploaded): Stamp => ({ size, version: etag ?? "" });

const isMd5 = (tag: string | null): boolean => tag !== null && /^[0-9a-f]{32}$/.test(tag);

/** Whether one request with the destination's keys may read both: same endpoint, region and account. */
const isOneStore = (a: S3Link, b: S3Link): boolean =>
  a.config.endpointUrl === b.config.endpointUrl &&
  regionOf(a.config) === regionOf(b.config) &&
  a.credentials.accessKeyId === b.credentials.accessKeyId &&
  a.credentials.secretAccessKey === b.credentials.secretAccessKey &&
  a.credentials.sessionToken === b.credentials.sessionToken;

function copySource({ config }: S3Link, key: string): string {
  checkKey(key);
  return `/${config.bucket}/${key.split("/").map(encodeURIComponent).join("/")}`;
}

/** S3 sends status 200 before it knows the outcome, so the response has to be read. */
async function copyOnce(
  link: S3Link,
  request: Parameters<typeof send>[1],
  wanted: "CopyObjectResult" | "CopyPartResult",
): Promise<string | null> {
  const response = await send(link, request);
  const reply = await readReply(response);
  if (reply.name === wanted) return plainTag(textOf(reply, "ETag"));
  const fault = { code: textOf(reply, "Code") ?? "", message: textOf(reply, "Message") ?? "", region: null };
  throw refusal(link, request, 200, response.headers, fault);
}

async function copyInParts(
  from: S3Link,
  file: TreeFile,
  to: S3Link,
  key: string,
  source: Record<string, string>,
): Promise<Uploaded> {
  const size = file.size ?? 0;
  const { headers, body } = await send(from, { method: "HEAD", key: file.id });
  await body.cancel();
  const kept = ["content-type", "content-encoding"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return inParts(to, key, Object.fromEntries(kept), async (uploadId) => {
    const count = Math.ceil(size / COPY_PART_BYTES);
    const tags: string[] = new Array(count);
    const broken = new AbortController();
    const failed = broken.signal;
    let next = 0;
    const worker = async () => {
      for (let part = next++; part < count && !failed.aborted; part = next++) {
        const last = Math.min(size, (part + 1) * COPY_PART_BYTES) - 1;
        const headers = { ...source, "x-amz-copy-source-range": `bytes=${part * COPY_PART_BYTES}-${last}` };
        const query = { partNumber: String(part + 1), uploadId };
        const tag = await copyOnce(to, { method: "PUT", key, query, headers, long: true }, "CopyPartResult");
        if (!tag) throw new AppError("upstream", "The object store returned no ETag for a part.");
        tags[part] = `"${tag}"`;
      }
    };
    const work = () => worker().catch((error: unknown) => broken.abort(error));
    await Promise.all(Array.from({ length: Math.min(COPIES_AT_ONCE, count) }, work));
    failed.throwIfAborted(); // aborting requires that no part is being sent
    return { tags, size };
  });
}

/** Reads one byte more than expected, so that the caller detects a file that has grown. */
const wholeOf = async (reply: EgressResponse, size: number): Promise<Uint8Array<ArrayBuffer>> =>
  (await reply.bytes(size + 1)).bytes as Uint8Array<ArrayBuffer>;

async function readWhole(
  link: S3Link,
  path: string,
  bytes: Opened["bytes"],
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes instanceof Uint8Array) {
    if (bytes.length !== size) throw changedFile(path);
    return bytes;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for await (const chunk of readChunks(bytes, link.signal)) {
    if (at + chunk.length > size) throw changedFile(path);
    whole.set(chunk, at);
    at += chunk.length;
  }
  if (at < size) throw changedFile(path);
  return whole;
}
