import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eq, isNull } from "drizzle-orm";
import { readAuthorities } from "../../authorities.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { openEgress } from "../../base/egress.ts";
import { toOwn } from "../../base/egress-gate.ts";
import { systemIds } from "../../base/ids.ts";
import type { Config, Secrets } from "../../config.ts";
import { probeBucket } from "../../lake/probe.ts";
import { bucketSettings } from "../../open-lake.ts";
import { lakeFiles } from "../../resources/datasets/table.ts";
import { glimpsePostgres } from "../../store/postgres.ts";
import { askTime, type ProcessRow } from "../../store/processes.ts";
import { type Glimpse, glimpse } from "../../store/remote.ts";
import { settings } from "../../store/settings.ts";
import { isPostgresUrl, type ReadDb, serverName } from "../../store/store.ts";
import { type Finding, fine, wrong } from "./finding.ts";

const QUESTIONS = 5;
/** A write takes several round trips to the database, while all others wait. */
const MAX_JOURNEY_MS = 100;
/** Certificates, signatures and schedules tolerate this difference. */
const MAX_AHEAD_MS = 10_000;
const BY_NTP = "Synchronize the clocks of both machines with NTP (timedatectl set-ntp true).";
const NAMED = 3;

type Settings = { config: Config; secrets: Secrets };

/** Opens a database on a server for read-only checks. */
export function openGlimpse({ config, secrets }: Settings): Glimpse {
  const settings = {
    url: config.databaseUrl ?? "",
    token: secrets.databaseToken ?? undefined,
    ca: readAuthorities(config),
  };
  return isPostgresUrl(settings.url) ? glimpsePostgres(settings) : glimpse(settings);
}

export async function checkServer(db: ReadDb, { databaseUrl }: Config): Promise<Finding> {
  const times: number[] = [];
  for (let n = 0; n < QUESTIONS; n++) times.push((await askTime(db, systemClock)).tookMs);
  const tookMs = Math.ceil(times.sort((a, b) => a - b)[QUESTIONS >> 1] ?? 0);
  const message = `The ${serverName(databaseUrl ?? "")} server responds in ${tookMs} ms.`;
  if (tookMs <= MAX_JOURNEY_MS) return fine("database", message);
  return wrong("database", message, "Run Weir close to its database. Each write needs several round trips.");
}

export async function checkTime(db: ReadDb): Promise<Finding> {
  const { aheadMs } = await askTime(db, systemClock);
  const message = `The database's clock ${comparedText(aheadMs)} this machine's. All processes use the database's clock.`;
  return Math.abs(aheadMs) <= MAX_AHEAD_MS ? fine("time", message) : wrong("time", message, BY_NTP);
}

const comparedText = (ms: number) =>
  Math.abs(ms) < 500
    ? "agrees with"
    : `is ${Math.abs(Math.round(ms / 1000))} s ${ms > 0 ? "ahead of" : "behind"}`;

export async function checkWrites({ tryWrite }: { tryWrite(): Promise<void> }): Promise<Finding> {
  await tryWrite();
  return fine("writes", "The database is writable.");
}

/** Checks which processes are running, and what they share. */
export function checkProcesses(all: readonly ProcessRow[], { config }: Settings): Finding[] {
  const names = all.map(({ host, pid, version }) => `${host} (process ${pid}, ${version})`).join(", ");
  const server = fine("server", all.length === 0 ? "No server is using the database." : `Running: ${names}.`);
  const file = join(config.dataFolder, "folder.id");
  const own = existsSync(file) ? readFileSync(file, "utf8").trim() : null;
  const isApart = new Set([...all.map(({ folderId }) => folderId), ...(own === null ? [] : [own])]).size > 1;
  if (config.lakeUrl !== null) {
    const files = isApart
      ? "Not shared: files of local_files connections. They are unavailable while the processes have different data directories."
      : "Files of local_files connections are shared with processes that use the same data directory.";
    return [
      server,
      fine(
        "shared",
        `Shared: the database, and datasets and large artifacts in ${config.lakeUrl}. ${files} ${OWN}`,
      ),
    ];
  }
  if (!isApart)
    return [
      server,
      fine(
        "shared",
        `Shared: the database. Datasets, large artifacts and files are stored in ${config.dataFolder}. All processes need that directory, or WEIR_LAKE_URL. ${OWN}`,
      ),
    ];
  return [
    server,
    wrong(
      "shared",
      "The processes have different data directories and no bucket, so datasets, large artifacts and files are unavailable.",
      "Set WEIR_LAKE_URL to the same bucket for all of them, or use one data directory for all.",
    ),
  ];
}

const OWN = "Each process has its own rate limits, caches and log.";

/** Checks the bucket as the server uses it, and whether the files that the database names are in it. */
export async function checkBucket(db: ReadDb, settings: Settings): Promise<Finding[]> {
  const { config, secrets } = settings;
  const bucket = bucketSettings(config, secrets);
  if (bucket === null) return [];
  const egress = openEgress(
    toOwn({ allow: config.egressAllow, ca: readAuthorities(config), self: () => null }, config.lakeEndpoint),
  );
  const { signal } = new AbortController();
  const found = await probeBucket({ ...bucket, egress, clock: systemClock, ids: systemIds, signal });
  return [
    ...clockFindings(found.aheadMs),
    await ownerFinding(db, config, found.owner),
    await filesFinding(db, config, found.sizes, found.tookMs),
  ];
}

function clockFindings(aheadMs: number | null): Finding[] {
  if (aheadMs === null || Math.abs(aheadMs) <= MAX_AHEAD_MS) return [];
  const message = `The bucket's clock ${comparedText(aheadMs)} this machine's.`;
  return [wrong("bucket time", message, BY_NTP)];
}

async function ownerFinding(db: ReadDb, { lakeUrl }: Config, owner: string | null): Promise<Finding> {
  const [row] = await db.select().from(settings).where(eq(settings.key, "installation_id"));
  if (owner === null)
    return fine("bucket", `${lakeUrl} is readable and writable, and doesn't belong to an installation yet.`);
  if (owner === row?.value)
    return fine("bucket", `${lakeUrl} is readable and writable, and belongs to this installation.`);
  return wrong(
    "bucket",
    `${lakeUrl} belongs to another installation of Weir.`,
    "Set another prefix in WEIR_LAKE_URL, or use the database that belongs to this bucket.",
  );
}

async function filesFinding(
  db: ReadDb,
  { lakeUrl }: Config,
  sizes: ReadonlyMap<string, number>,
  tookMs: number,
): Promise<Finding> {
  const { path, bytes } = lakeFiles;
  const rows = await db.select({ path, bytes }).from(lakeFiles).where(isNull(lakeFiles.removedAt));
  const unseen = rows.filter((row) => sizes.get(row.path) !== row.bytes).map((row) => row.path);
  if (unseen.length === 0) {
    const speed = `writing and deleting a small object takes ${Math.ceil(tookMs)} ms`;
    return fine("lake", `All ${rows.length} lake files are in ${lakeUrl}; ${speed}.`);
  }
  const names = unseen.slice(0, NAMED).join(", ");
  return wrong(
    "lake",
    `${unseen.length} of ${rows.length} lake files are missing from ${lakeUrl} or have a different size: ${names}${unseen.length > NAMED ? ", …" : ""}.`,
    "Check WEIR_LAKE_URL and WEIR_LAKE_ENDPOINT. If they are correct, restore the files from the bucket's versions.",
  );
}

/** The clock that the database's rows are based on. */
export async function databaseClock(db: ReadDb): Promise<Clock> {
  const { aheadMs } = await askTime(db, systemClock);
  return { ...systemClock, now: () => new Date(systemClock.now().getTime() + aheadMs) };
}
