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

/** Whom an installation belongs to at first. */
export interface Owner {
  userId: string;
  organizationId: string;
  token: string;
}

/** A data directory that is migrated and has an owner, made once and laid under every test that begins with one. */
interface Ground {
  owner: Owner;
  files: readonly { name: string; bytes: Uint8Array }[];
}

type Settle = (dataFolder: string) => Promise<Owner>;

/** Names the folder of the ground that all files of a run share; a file that is run alone makes its own. */
export const GROUND = "TEST_GROUND";

const FILES = ["weir.db", "secret.key", "installation.json"];
const OWNER = "owner.json";

/** Makes the ground in a folder that is empty. */
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

/** Fills an empty data directory with the ground, and tells whose it is. */
export async function layGround(dataFolder: string, settle: Settle): Promise<Owner> {
  ground ??= groundBy(settle);
  const { owner, files } = await ground;
  mkdirSync(dataFolder, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(join(dataFolder, name), bytes, { mode: 0o600 });
  lendLibrary(dataFolder);
  return owner;
}

/** Where the executable lays DuckDB's library down, which has 70 MB. */
const CACHE = join("scratch", "cache");
const LIBRARY = "library";

/** Is written last. */
const MODULE = "duckdb.node";

/** Links the files of a cache into another one; what is there already is left alone. */
function linkCache(from: string, to: string): void {
  for (const folder of readdirSync(from)) {
    if (existsSync(join(to, folder)) || !existsSync(join(from, folder, MODULE))) continue;
    const aside = join(to, `${process.pid}-${folder}`);
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(join(from, folder))) linkSync(join(from, folder, name), join(aside, name));
    renameSync(aside, join(to, folder));
  }
}

/** A data directory begins with the library that an earlier one of the run has laid down. */
export function lendLibrary(dataFolder: string): void {
  const given = process.env[GROUND];
  if (!given || !existsSync(join(given, LIBRARY))) return;
  if (statSync(given).dev === statSync(dataFolder).dev) {
    mkdirSync(join(dataFolder, CACHE), { recursive: true, mode: 0o700 });
    linkCache(join(given, LIBRARY), join(dataFolder, CACHE));
  }
}

/** To be called before a data directory is deleted: keeps the library that was laid down in it for the later ones. */
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
    if (!existsSync(join(given, LIBRARY))) throw error; // else another file of the run was quicker
  }
}

/** What the making of an owner depends on, or what is kept elsewhere than in the data directory. */
const OTHERWISE = /^WEIR_(DATABASE|LAKE|SECRET_KEY|DEFAULT_PLAN|ADMIN|OPERATORS|ORGANIZATIONS)/;

/** True where an installation with these settings begins as the ground does. */
export const isAsGround = (dataFolder: string, env: Record<string, string>): boolean =>
  !Object.keys(env).some((name) => OTHERWISE.test(name)) &&
  (!existsSync(dataFolder) || readdirSync(dataFolder).length === 0);
