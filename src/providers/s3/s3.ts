import { AppError } from "../../base/errors.ts";
import { defineProvider, type FileItem } from "../contract.ts";
import { extractFiles } from "../files/file-extract.ts";
import { mimeTypeOf } from "../files/file-kinds.ts";
import { exactly } from "../files/streams.ts";
import { send } from "./client.ts";
import { noSuchFile } from "./failure.ts";
import { browse, type Entry, instant, itemOf, listPages, pathOf, plainTag } from "./list.ts";
import { checkKey, rootOf, S3Config, S3Credentials, type S3Link } from "./shape.ts";
import { s3Tree } from "./tree.ts";
import { upload } from "./upload.ts";

/** Any store with an S3 API: Amazon S3, MinIO, R2, Ceph and others. */
export const s3 = defineProvider({
  id: "s3",
  title: "S3 object storage",
  description: "Files in a bucket of Amazon S3 or of a compatible store.",
  config: S3Config,
  credentials: S3Credentials,
  destination: ["endpointUrl", "bucket", "region", "sslRootCert"],

  async verify(link) {
    for await (const _ of listPages(link, rootOf(link.config), { maxKeys: 1 })) return;
  },

  files: {
    list: (link, path, pageToken) => browse(link, folderKey(link, path), pageToken),
    stat: findItem,
    async read(link, path) {
      const key = fileKey(link, path);
      const response = await send(link, { method: "GET", key, long: true });
      return response.body;
    },
    async write(link, path, bytes, maxBytes) {
      const key = fileKey(link, path);
      if (key.endsWith("/")) throw new AppError("bad_request", "The path names a folder. Add a filename.");
      await upload(link, key, bytes, maxBytes);
      return findItem(link, path);
    },
  },

  tree: s3Tree,

  extract(link, request) {
    const root = rootOf(link.config);
    return extractFiles(
      {
        async *walk(prefix) {
          for await (const { entries } of listPages(link, `${root}${prefix}`)) {
            for (const entry of entries)
              if (!entry.key.endsWith("/"))
                yield { path: entry.key.slice(root.length), open: () => openListed(link, entry) };
          }
        },
      },
      request,
    );
  },
});

/**
 * The bytes of a listed object. The stream throws `upstream` (retryable) if there are fewer or more than were listed,
 * since a store that doesn't send their number can break off unnoticed. An object that was replaced is read as it is.
 */
async function openListed(link: S3Link, { key, size, etag }: Entry): Promise<ReadableStream<Uint8Array>> {
  const { headers, body, isDecoded } = await send(link, { method: "GET", key, long: true });
  const now = plainTag(headers.get("etag"));
  const isReplaced = etag !== null && now !== null && now !== etag;
  return isDecoded || isReplaced ? body : exactly(body, size, key);
}

const below = (path: string): string => (path.startsWith("/") ? path.slice(1) : path);

/** The key of a file, always below the root, because URLs with `..` are refused. */
function fileKey(link: S3Link, path: string): string {
  const rest = below(path);
  if (rest === "") throw new AppError("bad_request", "The path names the root, which is a folder.");
  return `${rootOf(link.config)}${rest}`;
}

/** The prefix of a folder; the trailing slash is optional. */
function folderKey(link: S3Link, path: string): string {
  const rest = below(path);
  checkKey(rest);
  return rest === "" ? rootOf(link.config) : `${rootOf(link.config)}${rest.replace(/\/$/, "")}/`;
}

async function findItem(link: S3Link, path: string): Promise<FileItem> {
  const folder = folderKey(link, path);
  const root = folder === rootOf(link.config);
  const found = root ? null : await findFile(link, fileKey(link, path));
  if (found) return found;
  for await (const { entries } of listPages(link, folder, { maxKeys: 1 })) {
    if (root) return { id: "/", name: "/", kind: "folder", mimeType: null, size: null, modifiedAt: null };
    if (entries.length > 0)
      return itemOf(link, { key: folder, folder: true, size: null, modifiedAt: null, etag: null });
  }
  throw noSuchFile(path);
}

async function findFile(link: S3Link, key: string): Promise<FileItem | null> {
  if (key.endsWith("/")) return null;
  try {
    const { headers, body } = await send(link, { method: "HEAD", key });
    await body.cancel();
    const name = key.split("/").at(-1) ?? "";
    return {
      id: pathOf(link, key),
      name,
      kind: "file",
      mimeType: headers.get("content-type") ?? mimeTypeOf(name),
      size: Number(headers.get("content-length") ?? 0),
      modifiedAt: instant(headers.get("last-modified")),
    };
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}
