import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { type Ids, systemIds } from "../base/ids.ts";
import { openSemaphore } from "../base/semaphore.ts";
import { readReply, send } from "../providers/s3/client.ts";
import { listPages } from "../providers/s3/list.ts";
import { ownLink, rootOf, type S3Config, type S3Credentials, type S3Link } from "../providers/s3/shape.ts";
import { upload } from "../providers/s3/upload.ts";
import { childrenOf, textOf } from "../providers/s3/xml.ts";
import { openCache } from "./cache.ts";
import type { BlobStore, Lake, LakeFile } from "./contract.ts";
import { openFolderLake } from "./folder.ts";
import { checkPath, folderOf } from "./names.ts";

export interface BucketOptions {
  config: S3Config;
  credentials: S3Credentials;
  /** Absolute path of the folder for work folders and cached files. */
  folder: string;
  /** Maximum size of the cache. */
  cacheBytes: number;
  /** Milliseconds that a cached file stays at least after its last use. */
  graceMs: number;
  egress: Egress;
  clock: Clock;
  /** Aborts requests in progress. */
  signal: AbortSignal;
  ids?: Ids;
}

export interface BucketLake extends Lake {
  /**
   * Checks that the bucket is readable and writable and belongs to the installation `id`. Claims a bucket without an
   * owner, unless `mayTake` throws. Throws `unavailable` with the reason, and `conflict` if the bucket belongs to
   * another installation.
   */
  claim(id: string, mayTake?: () => Promise<void>): Promise<void>;
  /** Whether a file is in the bucket. */
  has(path: string): Promise<boolean>;
  /** A blob store in the folder `name` next to the datasets. */
  blobs(name: string): BlobStore;
}

/** File below the lake's root that names the owner, so that no other installation deletes its files as leftovers. */
export const MARKER = ".weir";
const MAX_MARKER_BYTES = 1_000;

/** Maximum number of concurrent transfers. */
const TRANSFERS = 8;
/** Maximum number of attempts for an interrupted download. */
const MAX_READS = 3;
/** S3's limit for one object. */
const MAX_FILE_BYTES = 5 * 1024 ** 4;

/**
 * A lake in a bucket of S3 or a compatible store. Files never change, so the most recently used ones are cached
 * locally.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its verbs share the bucket and the cache
export function openBucketLake(options: BucketOptions): BucketLake {
  const { config, credentials, folder, cacheBytes, graceMs, egress, clock, signal } = options;
  const ids = options.ids ?? systemIds;
  const root = rootOf(config);
  const link = ownLink({ config, credentials, egress, clock, signal });
  const local = openFolderLake(join(folder, "work"), ids);
  const cache = openCache({ folder: join(folder, "files"), maxBytes: cacheBytes, graceMs, clock, ids });
  const semaphore = openSemaphore(TRANSFERS);

  const transfer = async <T>(work: () => Promise<T>): Promise<T> => {
    const leave = await semaphore.enter(signal);
    try {
      return await work();
    } catch (error) {
      throw explained(config, error);
    } finally {
      leave();
    }
  };

  return {
    home: `s3://${config.bucket}/${root}`.replace(/\/$/, ""),

    workFolder: local.workFolder,

    async add(at, file) {
      const path = `${folderOf(at)}/${at.loadId}-${ids.uuid()}.parquet`;
      await transfer(() => upload(link, `${root}${path}`, Bun.file(file.path).stream(), MAX_FILE_BYTES));
      await cache.put(path, file.path);
      const { rows, bytes, part } = file;
      const added: LakeFile = {
        id: ids.uuid(),
        path,
        rows,
        bytes,
        loadId: at.loadId,
        ...(part ? { part } : {}),
      };
      return added;
    },

    localPath({ path }, hold) {
      checkPath(path);
      return cache.get(path, (into) => transfer(() => download(link, `${root}${path}`, into)), hold);
    },

    async tail({ path, bytes }, length) {
      checkPath(path);
      const range = `bytes=${Math.max(bytes - length, 0)}-${bytes - 1}`;
      return transfer(async () => {
        const request = { method: "GET", key: `${root}${path}`, headers: { range }, isRaw: true } as const;
        return (await (await send(link, request)).bytes(length)).bytes;
      });
    },

    async write(folder, files) {
      checkPath(folder);
      for (const { name, bytes } of files) {
        const body = new Blob([bytes as BlobPart]).stream();
        await transfer(() => upload(link, `${root}${folder}/${name}`, body, MAX_FILE_BYTES));
      }
    },

    async remove(paths) {
      await local.remove(paths.filter(isWork));
      const ours = paths.filter((path) => !isWork(path) && checkPath(path));
      await Promise.all(
        ours.map(async (path) => {
          await transfer(() => removeObject(link, `${root}${path}`));
          await cache.drop(path);
        }),
      );
    },

    async *list(before) {
      yield* local.list(before);
      try {
        await giveUpUploads(link, before).catch((error: unknown) => {
          // Some stores can't list unfinished uploads, and some keys may not. Listing files must work anyway.
          if (!(error instanceof AppError)) throw error;
        });
        for await (const { entries } of listPages(link, root)) {
          for (const { key, modifiedAt } of entries) {
            const path = key.slice(root.length);
            if (path !== MARKER && isOld(modifiedAt, before) && isPath(path)) yield path;
          }
        }
      } catch (error) {
        throw explained(config, error);
      }
    },

    claim: (id, mayTake) => transfer(() => claim(link, id, mayTake)),

    async has(path) {
      const key = `${root}${path}`;
      for await (const { entries } of listPages(link, key, { maxKeys: 1 }))
        return entries.some((entry) => entry.key === key);
      return false;
    },

    blobs: (name) => ({
      async put(path, content) {
        const bytes = (content instanceof Blob ? content : new Blob([content as BlobPart])).stream();
        await transfer(() => upload(link, `${root}${name}/${path}`, bytes, MAX_FILE_BYTES));
      },
      async open(path) {
        const key = `${name}/${path}`;
        try {
          return Bun.file(
            await cache.get(key, (into) => transfer(() => download(link, `${root}${key}`, into))),
          );
        } catch (error) {
          if (error instanceof AppError && error.code === "dataset_changed") return null; // file not found
          throw error;
        }
      },
      async remove(path) {
        await transfer(() => removeObject(link, `${root}${name}/${path}`));
        await cache.drop(`${name}/${path}`);
      },
      async *list(before) {
        for await (const { entries } of listPages(link, `${root}${name}/`)) {
          for (const { key, modifiedAt } of entries)
            if (isOld(modifiedAt, before)) yield key.slice(`${root}${name}/`.length);
        }
      },
    }),
  };
}

const isWork = (path: string) => path.startsWith(".work/");

/** Ignores files whose names Weir doesn't write: they belong to someone else. */
const isPath = (path: string) =>
  /^[^/]+(\/[a-z_][a-z0-9_]*){3}\/([^/]+\.parquet|metadata\/(version-hint\.text|[^/]+(\.avro|\.metadata\.json)))$/.test(
    path,
  );

const isOld = (at: string | null, before: Date) => at !== null && Date.parse(at) < before.getTime();

export async function download(link: S3Link, key: string, into: string): Promise<void> {
  for (let read = 1; ; read++) {
    const response = await send(link, { method: "GET", key, long: true });
    const size = Number(response.headers.get("content-length") ?? Number.NaN);
    const broken = await write(response.body, into).catch((cause: unknown) => {
      if (link.signal.aborted || (cause instanceof Error && "errno" in cause)) throw cause;
      return cause;
    });
    if (broken === undefined && (Number.isNaN(size) || (await stat(into)).size === size)) return;
    if (read === MAX_READS)
      throw new AppError("upstream", "The transfer of a file was interrupted.", {
        retryable: true,
        cause: broken,
      });
  }
}

async function write(bytes: ReadableStream<Uint8Array>, into: string): Promise<void> {
  const file = await open(into, "w", 0o600);
  try {
    for await (const chunk of bytes) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

export async function removeObject(link: S3Link, key: string): Promise<void> {
  try {
    await (await send(link, { method: "DELETE", key })).body.cancel();
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
  }
}

/** Parts of unfinished uploads are invisible but cost money. */
async function giveUpUploads(link: S3Link, before: Date): Promise<void> {
  const reply = await readReply(
    await send(link, { method: "GET", key: "", query: { uploads: "", prefix: rootOf(link.config) } }),
  );
  for (const found of childrenOf(reply, "Upload")) {
    const [key, uploadId] = [textOf(found, "Key"), textOf(found, "UploadId")];
    if (!key || !uploadId || !isOld(textOf(found, "Initiated"), before)) continue;
    await (await send(link, { method: "DELETE", key, query: { uploadId } })).body.cancel();
  }
}

async function claim(link: S3Link, id: string, mayTake?: () => Promise<void>): Promise<void> {
  const key = `${rootOf(link.config)}${MARKER}`;
  for await (const _ of listPages(link, rootOf(link.config), { maxKeys: 1 })) break;
  const owner = await readMarker(link, key);
  if (owner === id) return;
  const { bucket } = link.config;
  if (owner !== null) {
    throw new AppError(
      "conflict",
      `The lake in the bucket ${bucket} belongs to another installation of Weir, or to this one with another database. Set another prefix, or remove ${key} if that installation no longer exists.`,
    );
  }
  await mayTake?.();
  const response = await send(link, { method: "PUT", key, body: new TextEncoder().encode(id) });
  await response.body.cancel();
}

/** The installation that owns the lake below the root, or null if there is none yet. */
export async function readMarker(link: S3Link, key: string): Promise<string | null> {
  try {
    const { bytes } = await (await send(link, { method: "GET", key })).bytes(MAX_MARKER_BYTES);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

/** Maps failures of the bucket to the errors that readers and writers of datasets handle. */
function explained({ bucket }: S3Config, error: unknown): unknown {
  if (!(error instanceof AppError) || ["conflict", "cancelled", "disk_full"].includes(error.code))
    return error;
  if (error.code === "not_found") {
    return new AppError("dataset_changed", "The dataset changed while it was being read. Try again.", {
      retryable: true,
      cause: error,
    });
  }
  return new AppError("unavailable", `The lake's bucket ${bucket} can't be used: ${error.message}`, {
    retryable: true,
    cause: error,
  });
}
