import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The first owner of an installation. */
export interface Owner {
  userId: string;
  organizationId: string;
  token: string;
}

/** A migrated data directory with an owner, created once and copied for every test that starts with one. */
interface Ground {
  owner: Owner;
  files: readonly { name: string; bytes: Uint8Array }[];
}

type Settle = (dataFolder: string) => Promise<Owner>;

/** Names the folder with this copy that all files of a run share. A file that runs alone creates its own. */
export const GROUND = "TEST_GROUND";

const FILES = ["weir.db", "secret.key", "installation.json"];
const OWNER = "owner.json";

/** Creates it in an empty folder. */
export async function makeGround(folder: string, settle: Settle): Promise<void> {
  writeFileSync(join(folder, OWNER), JSON.stringify(await settle(folder)));
}

const readGround = (folder: string): Ground => ({
  owner: JSON.parse(readFileSync(join(folder, OWNER), "utf8")),
  files: FILES.map((name) => ({ name, bytes: readFileSync(join(folder, name)) })),
});

let ground: Promise<Ground> | undefined;

async function groundBy(settle: Settle): Promise<Ground> {
  const given = process.env[GROUND];
  if (given) return readGround(given);
  const folder = mkdtempSync(join(tmpdir(), "weir-ground-"));
  try {
    await makeGround(folder, settle);
    return readGround(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Copies it to an empty data directory. Returns its owner. */
export async function layGround(dataFolder: string, settle: Settle): Promise<Owner> {
  ground ??= groundBy(settle);
  const { owner, files } = await ground;
  mkdirSync(dataFolder, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(join(dataFolder, name), bytes, { mode: 0o600 });
  lendLibrary(dataFolder);
  return owner;
}

/** Where the executable writes DuckDB's library, which has 70 MB. */
const CACHE = join("scratch", "cache");
const LIBRARY = "library";

/** Written last. */
const MODULE = "duckdb.node";

/** Links the files of a cache into another one. Existing ones stay unchanged. */
function linkCache(from: string, to: string): void {
  for (const folder of readdirSync(from)) {
    if (existsSync(join(to, folder)) || !existsSync(join(from, folder, MODULE))) continue;
    const aside = join(to, `${process.pid}-${folder}`);
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(join(from, folder))) linkSync(join(from, folder, name), join(aside, name));
    renameSync(aside, join(to, folder));
  }
}

/** Links the library that an earlier data directory of the run has unpacked into a new one. */
export function lendLibrary(dataFolder: string): void {
  const given = process.env[GROUND];
  if (!given || !existsSync(join(given, LIBRARY))) return;
  if (statSync(given).dev === statSync(dataFolder).dev) {
    mkdirSync(join(dataFolder, CACHE), { recursive: true, mode: 0o700 });
    linkCache(join(given, LIBRARY), join(dataFolder, CACHE));
  }
}

/** Call it before a data directory is deleted: keeps its unpacked library for later ones. */
export function keepLibrary(dataFolder: string): void {
  const [given, cache] = [process.env[GROUND], join(dataFolder, CACHE)];
  if (!given || existsSync(join(given, LIBRARY)) || !existsSync(cache)) return;
  if (statSync(given).dev !== statSync(dataFolder).dev) return;
  const aside = mkdtempSync(join(given, "aside-"));
  linkCache(cache, aside);
  if (readdirSync(aside).length === 0) return;
  try {
    renameSync(aside, join(given, LIBRARY));
  } catch (error) {
    if (!existsSync(join(given, LIBRARY))) throw error; // Otherwise, another file of the run was faster.
  }
}

/** What creating an owner depends on, or what is stored outside the data directory. */
const OTHERWISE = /^WEIR_(DATABASE|LAKE|SECRET_KEY|DEFAULT_PLAN|ADMIN|OPERATORS|ORGANIZATIONS)/;

/** Returns whether an installation with these settings can start with this copy. */
export const isAsGround = (dataFolder: string, env: Record<string, string>): boolean =>
  !Object.keys(env).some((name) => OTHERWISE.test(name)) &&
  (!existsSync(dataFolder) || readdirSync(dataFolder).length === 0);

/**
 * Fills a folder by `make`, or by copying what the first call of the run with that name has made, in a tenth of the
 * time. Owners and modes stay.
 */
export async function inGround(name: string, folder: string, make: () => Promise<void>): Promise<void> {
  const given = process.env[GROUND];
  const kept = given === undefined ? null : join(given, name);
  if (kept !== null && existsSync(kept)) return copy(kept, folder);
  await make();
  if (given === undefined || kept === null) return;
  const aside = mkdtempSync(join(given, "aside-"));
  await copy(folder, aside);
  try {
    renameSync(aside, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error; // Otherwise, another file of the run was faster.
    rmSync(aside, { recursive: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  await succeed(["cp", "-a", `${from}/.`, to]);
}

/** Throws the errors that a command printed if it fails. */
export async function succeed(command: readonly string[]): Promise<void> {
  const run = Bun.spawn([...command], { stdio: ["ignore", "ignore", "pipe"] });
  const errors = await new Response(run.stderr).text();
  if ((await run.exited) !== 0) throw new Error(`${command[0]} failed: ${errors}`);
}
