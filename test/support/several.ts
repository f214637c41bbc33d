import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startInstallation } from "./process.ts";
import { s3Keys, startS3 } from "./s3.ts";
import { type Sqld, startSqld } from "./sqld.ts";
import { newDatabase } from "./test-store.ts";

export const KEY = Buffer.alloc(32, 7).toString("base64");

/** A libSQL server, or a PostgreSQL database if the tests run on that. */
async function startDatabase(): Promise<Pick<Sqld, "url" | "file"> & AsyncDisposable> {
  const url = await newDatabase();
  return url === null ? startSqld() : { url, file: "", async [Symbol.asyncDispose]() {} };
}

/**
 * An installation whose database is on a server and whose lake is a bucket, for several servers.
 * Each that is started by `join` has its own data directory, as on a separate machine.
 */
export async function startSeveral(env: Record<string, string> = {}) {
  const database = await startDatabase();
  const bucket = await startS3();
  bucket.createBucket("lake");
  const folders: string[] = [];
  const newFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-several-"));
    folders.push(folder);
    return folder;
  };
  const shared = {
    WEIR_DATABASE_URL: database.url,
    WEIR_SECRET_KEY: KEY,
    WEIR_LAKE_URL: "s3://lake/weir",
    WEIR_LAKE_ENDPOINT: bucket.endpointUrl,
    WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
    WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
    WEIR_DEFAULT_PLAN: "enterprise",
    ...env,
  };
  const installation = await startInstallation(shared);
  return {
    database,
    bucket,
    newFolder,
    /** The settings that all share. */
    env: shared,
    organizationId: installation.organizationId,
    token: installation.token,
    serve: installation.serve,
    join: (more: Record<string, string> = {}) => installation.serve({ env: more, dataFolder: newFolder() }),
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      await bucket[Symbol.asyncDispose]();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Several = Awaited<ReturnType<typeof startSeveral>>;
export type Member = Awaited<ReturnType<Several["serve"]>>;
