import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { diskTrouble } from "../base/file-error.ts";
import { ConfigError } from "../config.ts";
import { withDatabase } from "../engine/backup/contents.ts";
import { keyInFile, nextMasterKey, previousMasterKey } from "../folder.ts";
import { checkInstallation } from "../installation.ts";
import { livingProcesses } from "../store/processes.ts";
import type { ReadDb } from "../store/store.ts";
import { checkBackups } from "./doctor/backups.ts";
import {
  checkEvents,
  checkIntegrity,
  checkKey,
  checkLake,
  checkQueue,
  checkSchema,
} from "./doctor/database.ts";
import { type Finding, fine, looking, wrong } from "./doctor/finding.ts";
import { checkDisk, checkPermissions, checkWal, isLocked } from "./doctor/folder.ts";
import { checkClock, checkEgress, checkTls, checkWalls } from "./doctor/machine.ts";
import { checkTrails, checkTriggers } from "./doctor/trail.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { unknownSettings } from "./unknown-settings.ts";
import { usage } from "./usage.ts";

const LOOK_AGAIN = "Check the server log, then run doctor as the same user as the server.";
const AS_THE_SERVER = "Run doctor with the same settings as the server.";
const BACKUPS = "Check that backups/ in the data directory exists and is readable.";
const BACKUPS_AWAY = "Check WEIR_BACKUP_URL and its keys, and that this machine can reach the bucket.";
const RESTORE = 'Stop the server and restore the latest backup with "weir restore".';
const DISK_FIRST =
  "Free up disk space or make the file system writable, then run doctor again. Don't restore a backup because of this: the database may be intact.";

/** What to do about a database that can't be read: without a disk to write to, it says nothing about the database. */
const repairOf = (dataFolder: string) => (diskTrouble(dataFolder) === null ? RESTORE : DISK_FIRST);

/**
 * `weir doctor`: checks everything that an installation needs, without changing it. Exit code 1 if something is wrong.
 */
export async function doctor(args: readonly string[], host: Host): Promise<number> {
  let isWell = true;
  const code = await carryOut(host, usage.doctor.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    const parts = await host.parts({ data: flags.data });
    for (const sentence of unknownSettings(host.env ?? {})) host.err(sentence);
    const print = (findings: readonly Finding[]) => host.out(JSON.stringify({ ok: isWell, findings }));
    try {
      checkInstallation(parts); // otherwise, data elsewhere would seem to be lost
    } catch (error) {
      isWell = false;
      if (flags.json && error instanceof ConfigError)
        print([wrong("settings", error.message, AS_THE_SERVER)]);
      throw error;
    }
    const findings = await examine(parts);
    isWell = findings.every(({ ok }) => ok);
    if (flags.json) return print(findings);
    for (const { check, ok, message, remedy } of findings) {
      host.out(`${ok ? "ok   " : "WRONG"} ${check.padEnd(12)}${message}`);
      if (remedy !== null) host.out(`${" ".repeat(18)}→ ${remedy}`);
    }
  });
  return code === 0 && !isWell ? 1 : code;
}

async function examine({ config, secrets, self }: Parts): Promise<Finding[]> {
  const { dataFolder, databaseUrl, egressAllow } = config;
  const findings = [
    await checkClock(systemClock),
    checkEgress(egressAllow),
    await looking("children", LOOK_AGAIN, () => checkWalls(self)),
  ];
  if (config.tlsCert !== null)
    findings.push(await looking("tls", LOOK_AGAIN, () => checkTls(config, systemClock)));
  if (!existsSync(dataFolder)) {
    const remedy =
      'Set --data to an existing data directory, or create one with "weir init" or "weir serve".';
    return [...findings, wrong("data", `Data directory ${dataFolder} not found.`, remedy)];
  }
  findings.push(
    await looking("permissions", LOOK_AGAIN, () => checkPermissions(dataFolder)),
    await looking("disk", LOOK_AGAIN, () => checkDisk(dataFolder)),
  );
  if (databaseUrl !== null) return [...findings, ...(await examineServer({ config, secrets }))];
  const file = join(dataFolder, "weir.db");
  if (!existsSync(file)) {
    const remedy = 'Start the server once with "weir serve", or restore a backup with "weir restore".';
    return [...findings, wrong("database", `No database in ${dataFolder}.`, remedy)];
  }
  findings.push(checkWal(dataFolder)); // before opening the database, which may move the WAL
  return [...findings, ...(await examineDatabase({ config, secrets }, file))];
}

type Settings = Pick<Parts, "config" | "secrets">;

const REACH =
  "Check WEIR_DATABASE_URL and WEIR_DATABASE_TOKEN, and that this machine can reach the database server.";

/** Checks a database on a server: its connection, its processes and its rows. */
async function examineServer(settings: Settings): Promise<Finding[]> {
  const remote = await import("./doctor/remote.ts");
  const findings: Finding[] = [];
  const found = await looking("database", REACH, async () => {
    const database = remote.openGlimpse(settings);
    const { db } = database;
    try {
      const server = await remote.checkServer(db, settings.config);
      findings.push(
        await looking("time", REACH, () => remote.checkTime(db)),
        await looking("writes", REACH, () => remote.checkWrites(database)),
      );
      const { isCurrent, ...schema } = await checkSchema(db);
      findings.push(schema);
      if (!isCurrent) return server;
      const clock = await remote.databaseClock(db);
      const living = await livingProcesses(db);
      findings.push(
        ...remote.checkProcesses(living, settings),
        ...(await examineRows(db, settings, clock, living.length > 0)),
        ...(await examineLake(db, settings)),
      );
      return server;
    } finally {
      await database.close();
    }
  });
  return [found, ...findings];
}

/** Checks the rows, wherever the database is. */
async function examineRows(
  db: ReadDb,
  { config, secrets }: Settings,
  clock: Clock,
  isServed: boolean,
): Promise<Finding[]> {
  const { dataFolder } = config;
  const keys = () =>
    [
      secrets.secretKey === null
        ? keyInFile(dataFolder)
        : new Uint8Array(Buffer.from(secrets.secretKey, "base64")),
      secrets.secretKey === null ? nextMasterKey(dataFolder) : previousMasterKey(secrets.secretKeyPrevious),
    ].filter((key) => key !== null);
  return [
    await looking("key", LOOK_AGAIN, () => checkKey(db, keys(), dataFolder)),
    await looking("audit", repairOf(dataFolder), () =>
      checkTrails(db, keys(), config.databaseUrl === null ? dataFolder : null),
    ),
    await looking("triggers", LOOK_AGAIN, () => checkTriggers(db)),
    await looking("events", LOOK_AGAIN, () => checkEvents(db, clock)),
    await looking("queue", LOOK_AGAIN, () => checkQueue(db, clock, isServed)),
  ];
}

/** Checks the lake: the directory, or the configured bucket. */
async function examineLake(db: ReadDb, settings: Settings): Promise<Finding[]> {
  const { lakeUrl, dataFolder } = settings.config;
  if (lakeUrl === null)
    return [await looking("lake", LOOK_AGAIN, () => checkLake(db, join(dataFolder, "lake")))];
  const { checkBucket } = await import("./doctor/remote.ts");
  try {
    return await checkBucket(db, settings);
  } catch (error) {
    return [await looking("bucket", BUCKET, () => Promise.reject(error))];
  }
}

async function examineBackups(db: ReadDb, settings: Settings, isServed: boolean): Promise<Finding[]> {
  if (settings.config.backupEvery === 0) return [];
  const remedy = settings.config.backupUrl === null ? BACKUPS : BACKUPS_AWAY;
  return [await looking("backups", remedy, () => checkBackups(db, settings, systemClock, isServed))];
}

const BUCKET =
  "Check WEIR_LAKE_URL, its endpoint, region and keys, and that this machine can reach the bucket.";

async function examineDatabase(settings: Settings, file: string): Promise<Finding[]> {
  const isServed = isLocked(settings.config.dataFolder);
  const findings = [
    fine(
      "server",
      isServed ? "A server is using the data directory." : "No server is using the data directory.",
    ),
  ];
  const repair = repairOf(settings.config.dataFolder);
  const opened = await looking("database", repair, () =>
    withDatabase(file, async (db) => {
      findings.push(await looking("integrity", repair, () => checkIntegrity(db)));
      if (findings.some(({ ok }) => !ok)) return fine("database", "The database can be opened.");
      const { isCurrent, ...schema } = await checkSchema(db);
      findings.push(schema);
      if (!isCurrent) return fine("database", "The database can be opened.");
      findings.push(
        ...(await examineRows(db, settings, systemClock, isServed)),
        ...(await examineLake(db, settings)),
        ...(await examineBackups(db, settings, isServed)),
      );
      return fine("database", "The database can be opened.");
    }),
  );
  return opened.ok ? findings : [...findings, opened];
}
