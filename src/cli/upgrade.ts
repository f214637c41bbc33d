import { existsSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { ownPlatform, platformOf } from "../base/program-file.ts";
import { releaseKey, version } from "../version.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { openProgress } from "./progress.ts";
import { isSignedBy, keyIdOf, readPublicKey, readSignature, type SignedRelease } from "./upgrade/release.ts";
import { hashOf, previousOf, requirePrevious, type Staged, stage, swap, swapBack } from "./upgrade/swap.ts";
import { type About, aboutProgram } from "./upgrade/trial.ts";
import { usage } from "./usage.ts";

const OPTIONS = {
  file: { type: "string" },
  signature: { type: "string" },
  "public-key": { type: "string" },
  "allow-older": { type: "boolean" },
  rollback: { type: "boolean" },
  json: { type: "boolean" },
} as const;

/** `weir upgrade --file NEW`: replaces this program with a signed release. `--rollback` restores the previous one. */
export const upgrade = (args: readonly string[], host: Host) =>
  carryOut(host, usage.upgrade.line, async () => {
    const { values: flags } = readArgs({ args: [...args], options: OPTIONS });
    const { file, rollback = false, json } = flags;
    if (rollback === (file !== undefined)) throw new UsageError("Missing flag: --file FILE or --rollback.");
    if (rollback && (flags.signature ?? flags["public-key"] ?? flags["allow-older"]) !== undefined)
      throw new UsageError("--rollback can only be combined with --json.");
    const program = ownProgram(host.self);
    const done = await asSentence(program, () =>
      file === undefined ? rollBack(program) : install(program, { ...flags, file }, host),
    );
    if (json) return host.out(JSON.stringify(done));
    if (!done.changed) return host.out(`${program} is already this version. Nothing was changed.`);
    host.out(
      `${rollback ? "Rolled back" : "Upgraded"} ${program} from ${done.previousVersion} to ${done.version}.`,
    );
    host.out(`Previous version: ${done.previous}`);
    host.out("Restart running servers to use the new version.");
  });

/** Result of an upgrade. */
interface Done {
  program: string;
  previous: string;
  changed: boolean;
  version: string;
  commit: string | null;
  previousVersion: string;
  platform: string;
  sha256: string | null;
  keyId: string | null;
}

interface Asked {
  file: string;
  signature?: string | undefined;
  "public-key"?: string | undefined;
  "allow-older"?: boolean | undefined;
}

async function install(program: string, options: Asked, host: Host): Promise<Done> {
  const { file } = options;
  const key = keyFor(options["public-key"]);
  const path = options.signature ?? `${file}.sig`;
  if (!existsSync(file)) throw new AppError("not_found", `File ${file} not found.`);
  if (!existsSync(path))
    throw new AppError("not_found", `Signature ${path} not found. Set it with --signature FILE.`);
  const release = readSignature(readFileSync(path, "utf8"), path);
  const keyId = keyIdOf(key);
  if (!isSignedBy(release, key)) {
    throw new AppError(
      "forbidden",
      `Invalid signature: ${path} wasn't signed with release key ${keyId}, or was modified.`,
    );
  }
  const progress = openProgress(host);
  progress.begin("Verifying", statSync(file).size);
  const staged = stage(file, program, { now: systemClock.now(), hear: progress.reach });
  try {
    refuseOther(file, release, staged);
    if (!options["allow-older"]) refuseOlder(file, release.version);
    const about = await trial(file, staged.path, release);
    const changed = staged.sha256 !== hashOf(program);
    if (changed) swap(staged.path, program);
    return {
      ...pathsOf(program),
      changed,
      ...about,
      previousVersion: version,
      platform: release.platform,
      sha256: staged.sha256,
      keyId,
    };
  } finally {
    rmSync(staged.path, { force: true });
    progress.end();
  }
}

async function rollBack(program: string): Promise<Done> {
  const previous = requirePrevious(program);
  const about = await aboutProgram(previous);
  if (hashOf(previous) === hashOf(program))
    throw new AppError("invalid_state", `Nothing to roll back to: ${previous} is the version in use.`);
  swapBack(program);
  return {
    ...pathsOf(program),
    changed: true,
    ...about,
    previousVersion: version,
    platform: ownPlatform(),
    sha256: null,
    keyId: null,
  };
}

const pathsOf = (program: string) => ({ program, previous: previousOf(program) });

/** The file of this process, with links resolved. */
function ownProgram([program, ...more]: readonly string[]): string {
  if (program !== undefined && more.length === 0) return realpathSync(program);
  throw new AppError("not_available", "Weir is running from source. Update the source instead.");
}

function keyFor(keyFile: string | undefined) {
  if (keyFile !== undefined) {
    if (!existsSync(keyFile)) throw new AppError("not_found", `File ${keyFile} not found.`);
    return readPublicKey(readFileSync(keyFile, "utf8"), keyFile);
  }
  if (releaseKey !== null) return readPublicKey(releaseKey, "The built-in release key");
  throw new AppError(
    "not_available",
    "This executable has no built-in release key, so it can't verify releases. Set the key with --public-key FILE.",
  );
}

function refuseOther(file: string, release: SignedRelease, staged: Staged): void {
  if (staged.sha256 !== release.sha256 || staged.bytes !== release.bytes) {
    throw new AppError(
      "invalid_state",
      `${file} is not the signed file: its SHA-256 is ${staged.sha256}, but the signature is for ${release.sha256}.`,
    );
  }
  const platform = platformOf(staged.path);
  if (platform !== ownPlatform() || release.platform !== platform) {
    throw new AppError(
      "invalid_state",
      `${file} is ${platform === null ? "not an executable" : `built for ${platform}`}. This machine is ${ownPlatform()}.`,
    );
  }
}

function refuseOlder(file: string, offered: string): void {
  if (Bun.semver.order(offered, version) >= 0) return;
  throw new AppError(
    "invalid_state",
    `${file} is version ${offered}, older than the current ${version}. It may not be able to open the database. To install it anyway, use --allow-older.`,
  );
}

/** Runs the new program, whose signature was verified before. */
async function trial(file: string, path: string, release: SignedRelease): Promise<About> {
  const about = await aboutProgram(path, file);
  if (about.version === release.version) return about;
  throw new AppError(
    "invalid_state",
    `${file} reports version ${about.version}, but is signed as ${release.version}.`,
  );
}

/** Converts file system errors to a message that says the program is unchanged. */
async function asSentence<T>(program: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError || !(error instanceof Error) || !("code" in error)) throw error;
    if (error.code === "ENOSPC") {
      throw new AppError("disk_full", `Not enough disk space next to ${program}. Nothing was changed.`);
    }
    if (!/^E[A-Z]+$/.test(String(error.code))) throw error;
    const hint = ["EACCES", "EPERM", "EROFS"].includes(String(error.code))
      ? " Run the command as the owner of that directory."
      : "";
    throw new AppError("unavailable", `Couldn't change ${program}: ${error.message}.${hint}`, {
      cause: error,
    });
  }
}
