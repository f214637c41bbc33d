import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { listPages } from "../providers/s3/list.ts";
import { ownLink, rootOf, type S3Config, type S3Credentials } from "../providers/s3/shape.ts";
import { upload } from "../providers/s3/upload.ts";
import { download, removeObject } from "./bucket.ts";

/** A folder in a bucket that holds complete files. */
export interface Away {
  /** Its address as people write it, `s3://BUCKET/PREFIX`. */
  readonly name: string;
  /** Uploads a local file, under its own name by default. The upload is atomic. */
  put(path: string, name?: string): Promise<void>;
  /** Downloads a file to a local path. Throws `not_found`. */
  fetch(name: string, into: string): Promise<void>;
  /** Lists all files, in order. */
  names(): Promise<string[]>;
  remove(name: string): Promise<void>;
}

/** S3's limit for one object. */
const MAX_BYTES = 5 * 1024 ** 4;

/** Failures are `unavailable`, with the bucket's name and the reason. */
export function openAway(
  config: S3Config,
  credentials: S3Credentials,
  { egress, clock, signal }: { egress: Egress; clock: Clock; signal: AbortSignal },
): Away {
  const root = rootOf(config);
  const link = ownLink({ config, credentials, egress, clock, signal });
  const name = `s3://${config.bucket}/${root}`.replace(/\/$/, "");
  const translated = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError) || ["not_found", "cancelled"].includes(error.code)) throw error;
      throw new AppError("unavailable", `${name} can't be used: ${error.message}`, { cause: error });
    }
  };
  return {
    name,
    put: (path, as = basename(path)) =>
      translated(async () => {
        const { size } = await stat(path);
        const stored = await upload(link, `${root}${as}`, Bun.file(path).stream(), MAX_BYTES, { size });
        if (stored.size !== size)
          throw new AppError("upstream", "The store saved a different number of bytes.");
      }),
    fetch: (as, into) => translated(() => download(link, `${root}${as}`, into)),
    names: () =>
      translated(async () => {
        const found: string[] = [];
        for await (const { entries } of listPages(link, root))
          for (const { key } of entries) found.push(key.slice(root.length));
        return found.filter((key) => !key.includes("/")).sort();
      }),
    remove: (as) => translated(() => removeObject(link, `${root}${as}`)),
  };
}
