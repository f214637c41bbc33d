import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { codeOf } from "./base/disk.ts";
import { isObject, parseJson } from "./base/json.ts";
import { nullable, optional, read } from "./base/shape.ts";
import { type Config, ConfigError, type Secrets } from "./config.ts";
import { keyIdOf } from "./crypto/secretbox.ts";
import {
  finishRestore,
  flushFolder,
  keyInFile,
  nextMasterKey,
  parseMasterKey,
  previousMasterKey,
  SHARED_ID_FILE,
  writeBeside,
} from "./folder.ts";

/**
 * What a data directory depends on elsewhere, by the settings of its last start. Stored in `installation.json`.
 * Fields that aren't known are absent, such as after an upgrade from a version that didn't store them.
 */
const Installation = Type.Object({
  /** URL of the database server, without credentials. Null for `weir.db`. */
  database: optional(nullable(Type.String())),
  /** `s3://BUCKET/PREFIX`. Null for the folder `lake`. */
  lake: optional(nullable(Type.String())),
  /** Endpoint of an S3-compatible store, without credentials. Null for Amazon S3. */
  lakeEndpoint: optional(nullable(Type.String())),
  /** ID of the master key that encrypts. */
  keyId: optional(Type.String()),
});
export type Installation = Static<typeof Installation>;

type Settings = { config: Config; secrets: Pick<Secrets, "secretKey" | "secretKeyPrevious"> };
type Locations = Pick<Config, "dataFolder" | "databaseUrl" | "lakeUrl" | "lakeEndpoint">;

const fileIn = (dataFolder: string) => join(dataFolder, "installation.json");

/** Returns what is known about a data directory. Empty if it doesn't exist. Throws `ConfigError`. */
export function readInstallation(dataFolder: string): Installation {
  const file = fileIn(dataFolder);
  let kept: unknown;
  try {
    kept = parseJson(readFileSync(file, "utf8"));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw unreadable(file, code || "not valid JSON");
  }
  const { value, faults } = read(Installation, kept, []);
  if (!isObject(kept) || faults.length > 0) throw unreadable(file, "unexpected content");
  return value;
}

const unreadable = (file: string, why: string) =>
  new ConfigError(
    `Couldn't read ${file} (${why}). Run the command as the same user as the server. If the file is damaged, delete it; the next start writes it again.`,
  );

/** Stores new or changed facts atomically. */
export function recordInstallation(dataFolder: string, facts: Installation): void {
  const kept = readInstallation(dataFolder);
  const next = { ...kept, ...facts };
  if (JSON.stringify(kept) === JSON.stringify(next)) return;
  const file = fileIn(dataFolder);
  renameSync(writeBeside(file, `${JSON.stringify(next, null, 2)}\n`), file);
  flushFolder(file);
}

/** What a data directory depends on with these settings. */
export const locationsOf = ({ databaseUrl, lakeUrl, lakeEndpoint }: Omit<Locations, "dataFolder">) => ({
  database: withoutCredentials(databaseUrl),
  lake: lakeUrl,
  lakeEndpoint: lakeUrl === null ? null : withoutCredentials(lakeEndpoint),
});

function withoutCredentials(address: string | null): string | null {
  if (address === null) return null;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname.replace(/\/+$/, "")}`;
}

/**
 * Compares the settings with what the data directory depends on.
 * Throws `ConfigError` that names the first setting that differs, so that nobody believes that data elsewhere is lost.
 */
export function checkInstallation({ config, secrets }: Settings): void {
  const { dataFolder } = config;
  finishRestore(dataFolder);
  // A server that rotates its key may do so between the reads, so a mismatch is checked again.
  const hasWrongKey = wrongKey(dataFolder, secrets) !== null;
  refuse(wrongLocation(config) ?? (hasWrongKey ? wrongKey(dataFolder, secrets) : null));
}

/** Compares only the locations of database and lake. Throws `ConfigError`. */
export const checkLocations = (settings: Locations): void => refuse(wrongLocation(settings));

function refuse(sentence: string | null): void {
  if (sentence !== null) throw new ConfigError(sentence);
}

/**
 * Returns the message for a database or lake that isn't where the settings say.
 * Null if they agree, or if it isn't known.
 */
export function wrongLocation(settings: Locations): string | null {
  const configured = locationsOf(settings);
  const kept = readInstallation(settings.dataFolder);
  return (
    (kept.database === undefined ? signOfDatabase(settings) : null) ??
    difference("WEIR_DATABASE_URL", "database", "in its file weir.db", kept.database, configured.database) ??
    difference("WEIR_LAKE_URL", "lake", "in its folder lake", kept.lake, configured.lake) ??
    difference("WEIR_LAKE_ENDPOINT", "lake", "at Amazon S3", kept.lakeEndpoint, configured.lakeEndpoint)
  );
}

/** Checks the files if `installation.json` doesn't name the database. */
function signOfDatabase({ dataFolder, databaseUrl }: Locations): string | null {
  const hasOwn = existsSync(join(dataFolder, "weir.db"));
  const wasShared = existsSync(join(dataFolder, SHARED_ID_FILE));
  if (databaseUrl === null && !hasOwn && wasShared) {
    return "This data directory's database is on a server, but WEIR_DATABASE_URL isn't set. Set it to that server's URL.";
  }
  if (databaseUrl === null || !hasOwn || wasShared) return null;
  const configured = withoutCredentials(databaseUrl);
  return difference("WEIR_DATABASE_URL", "database", "in its file weir.db", null, configured);
}

function difference(
  setting: string,
  what: string,
  inside: string,
  kept: string | null | undefined,
  configured: string | null,
): string | null {
  if (kept === undefined || kept === configured) return null;
  const location = kept === null ? inside : `at ${kept}`;
  const message = configured === null ? `${setting} isn't set` : `${setting} is ${configured}`;
  const remedy = kept === null ? `Remove ${setting}.` : `Set ${setting} to ${kept}.`;
  return `This data directory's ${what} is ${location}, but ${message}. ${remedy} If you moved it on purpose, run "weir config accept".`;
}

/** Returns the message for a wrong master key. Null if it is right, or if it isn't known. */
function wrongKey(dataFolder: string, { secretKey, secretKeyPrevious }: Settings["secrets"]): string | null {
  const { keyId } = readInstallation(dataFolder);
  if (keyId === undefined) return null;
  const isFromFile = secretKey === null;
  // The next key can replace the current one at any time, so it is read first.
  const other = isFromFile ? nextMasterKey(dataFolder) : previousMasterKey(secretKeyPrevious);
  const own = isFromFile ? keyInFile(dataFolder) : parseMasterKey(secretKey);
  const ids = [own, other].filter((key) => key !== null).map(keyIdOf);
  if (ids.includes(keyId)) return null;
  const message =
    ids[0] === undefined
      ? "neither WEIR_SECRET_KEY nor secret.key exists"
      : isFromFile
        ? `secret.key contains the key ${ids[0]}`
        : `WEIR_SECRET_KEY is the key ${ids[0]}`;
  return `This data directory's secrets are encrypted with the key ${keyId}, but ${message}. Set WEIR_SECRET_KEY to that key, or restore its secret.key. If you changed it on purpose, run "weir config accept".`;
}
