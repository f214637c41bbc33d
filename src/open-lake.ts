import { existsSync } from "node:fs";
import { join } from "node:path";
import { desc, isNull } from "drizzle-orm";
import type { Clock } from "./base/clock.ts";
import { type EgressOptions, openEgress } from "./base/egress.ts";
import { toOwn } from "./base/egress-gate.ts";
import { AppError } from "./base/errors.ts";
import type { Ids } from "./base/ids.ts";
import { type Config, ConfigError, type Secrets } from "./config.ts";
import type { App } from "./context.ts";
import type { DataFolder } from "./folder.ts";
import { openFolderBlobs } from "./lake/blobs.ts";
import { type BucketLake, openBucketLake } from "./lake/bucket.ts";
import { openFolderLake } from "./lake/folder.ts";
import { blobsTogether, lakeTogether } from "./lake/together.ts";
import type { S3Config, S3Credentials } from "./providers/s3/shape.ts";
import { lakeFiles } from "./resources/datasets/table.ts";
import { bytesOf } from "./sql/sql.ts";
import type { Peers } from "./store/peers.ts";
import { installationId } from "./store/settings.ts";
import type { Store } from "./store/store.ts";

/** How much longer than a statement's time limit a file's copy is kept for the work around it. */
const COPY_GRACE_MS = 10 * 60 * 1000;

interface LakeParts {
  folder: DataFolder;
  config: Config;
  secrets: Secrets;
  store: Store;
  peers: Peers | null;
  isLakeNew: boolean;
  clock: Clock;
  ids: Ids;
  egress: EgressOptions;
  signal: AbortSignal;
}

/**
 * Opens the lake and the blob store of large artifacts: in the data directory, or in the configured bucket.
 * Artifacts are in the bucket if the database is elsewhere too. Throws `ConfigError` if the bucket can't be used.
 */
export async function openLake(parts: LakeParts): Promise<Pick<App, "lake" | "artifacts">> {
  const { folder, store, peers, isLakeNew } = parts;
  const bucket = await bucketOf(parts);
  if (isLakeNew && bucket === null && !store.remote && !(await hasFiles(store, hasIn(folder))))
    throw otherLake(folder.lake);
  const lake = bucket ?? openFolderLake(folder.lake);
  const artifacts = bucket && store.remote ? bucket.blobs("artifacts") : openFolderBlobs(folder.artifacts);
  if (peers === null || bucket) return { lake, artifacts };
  return { lake: lakeTogether(lake, peers), artifacts: blobsTogether(artifacts, peers) };
}

/** The bucket configured for the lake, and the egress policy to reach it. Null if there is none. */
export function bucketSettings({ lakeUrl, lakeEndpoint, lakeRegion }: Config, secrets: Secrets) {
  const { lakeAccessKeyId: accessKeyId, lakeSecretAccessKey: secretAccessKey, lakeSessionToken } = secrets;
  if (lakeUrl === null || accessKeyId === null || secretAccessKey === null) return null;
  const [bucket = "", ...prefix] = lakeUrl.replace("s3://", "").split("/");
  const config: S3Config = {
    bucket,
    prefix: prefix.join("/"),
    ...(lakeEndpoint ? { endpointUrl: lakeEndpoint } : {}),
    ...(lakeRegion ? { region: lakeRegion } : {}),
  };
  const credentials: S3Credentials = {
    accessKeyId,
    secretAccessKey,
    ...(lakeSessionToken ? { sessionToken: lakeSessionToken } : {}),
  };
  return { config, credentials };
}

async function bucketOf({
  folder,
  config,
  secrets,
  store,
  egress,
  isLakeNew,
  ...parts
}: LakeParts): Promise<BucketLake | null> {
  const bucket = bucketSettings(config, secrets);
  if (bucket === null) return null;
  const lake = openBucketLake({
    ...parts,
    config: bucket.config,
    credentials: bucket.credentials,
    folder: join(folder.scratch, "lake"),
    cacheBytes: bytesOf(config.lakeCache),
    graceMs: config.sqlTimeoutSeconds * 1000 + COPY_GRACE_MS,
    egress: openEgress(toOwn(egress, config.lakeEndpoint)),
  });
  try {
    await lake.claim(await installationId(store, parts.ids), async () => {
      if (isLakeNew && !(await hasFiles(store, lake.has))) throw otherLake(config.lakeUrl ?? "");
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new ConfigError(`WEIR_LAKE_URL: ${error.message}`);
  }
  return lake;
}

/** Number of newest files that are looked for to recognize the lake. */
const FILES_LOOKED_FOR = 20;

type HasFile = (path: string) => boolean | Promise<boolean>;

/** False if the database lists files, but none of the newest is in the lake. Then it is another database's lake. */
export async function hasFiles({ db }: Store, has: HasFile): Promise<boolean> {
  const { id, path, removedAt } = lakeFiles;
  const files = await db
    .select({ path })
    .from(lakeFiles)
    .where(isNull(removedAt))
    .orderBy(desc(id))
    .limit(FILES_LOOKED_FOR);
  for (const file of files) if (await has(file.path)) return true;
  return files.length === 0;
}

export const hasIn =
  ({ lake }: DataFolder): HasFile =>
  (path) =>
    existsSync(join(lake, path));

const otherLake = (location: string) =>
  new ConfigError(
    `None of the lake's files are in ${location}. Set WEIR_LAKE_URL to the bucket that has them. If they are lost, run "weir config accept".`,
  );
