import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

interface Target {
  /** The package with Bun's program for it, and its path in there. */
  bun: string;
  program: string;
  /** Its name in DuckDB's packages. */
  duckdb: string;
  /** Value for `bun install --os --cpu`. */
  os: string;
  cpu: string;
}

/** Machines that the executable is built for. */
export const TARGETS = {
  "linux-x64": {
    bun: "@oven/bun-linux-x64",
    program: "bin/bun",
    duckdb: "linux-x64",
    os: "linux",
    cpu: "x64",
  },
  "linux-arm64": {
    bun: "@oven/bun-linux-aarch64",
    program: "bin/bun",
    duckdb: "linux-arm64",
    os: "linux",
    cpu: "arm64",
  },
  "darwin-x64": {
    bun: "@oven/bun-darwin-x64",
    program: "bin/bun",
    duckdb: "darwin-x64",
    os: "darwin",
    cpu: "x64",
  },
  "darwin-arm64": {
    bun: "@oven/bun-darwin-aarch64",
    program: "bin/bun",
    duckdb: "darwin-arm64",
    os: "darwin",
    cpu: "arm64",
  },
  "windows-x64": {
    bun: "@oven/bun-windows-x64",
    program: "bin/bun.exe",
    duckdb: "win32-x64",
    os: "win32",
    cpu: "x64",
  },
} as const satisfies Readonly<Record<string, Target>>;
export type TargetName = keyof typeof TARGETS;

export const isTarget = (name: string): name is TargetName => Object.hasOwn(TARGETS, name);

/** This machine's target. */
export const OWN = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

export interface Parts {
  /** Bun for that machine. Undefined if it is the one that builds. */
  executablePath: string | undefined;
  /** The folder of packages with its DuckDB. */
  packages: string;
  duckdb: string;
}

/** The lockfile is JSON with trailing commas. */
export async function readLock(folder: string): Promise<Record<string, [string, ...unknown[]]>> {
  const text = await Bun.file(join(folder, "bun.lock")).text();
  return (Bun.JSONC.parse(text) as { packages: Record<string, [string, ...unknown[]]> }).packages;
}

/**
 * Returns what an executable for `name` consists of.
 * Parts for another machine are installed into a separate folder, once; they must be the exact bytes in the lockfile.
 */
export async function partsFor(name: TargetName): Promise<Parts> {
  const target = TARGETS[name];
  if (name === OWN) {
    return { executablePath: undefined, packages: join(root, "node_modules"), duckdb: target.duckdb };
  }
  const lock = await readLock(root);
  const wanted = [target.bun, `@duckdb/node-bindings-${target.duckdb}`];
  const versions = wanted.map((one) => [one, versionOf(lock, one)] as const);
  const cache = join(root, "node_modules/.cache/weir-targets");
  const folder = join(cache, `${name}-${versions.map(([, version]) => version).join("-")}`);
  if (!existsSync(folder)) await install(folder, versions, target);
  const packages = join(folder, "node_modules");
  return { executablePath: join(packages, target.bun, target.program), packages, duckdb: target.duckdb };
}

async function install(
  folder: string,
  versions: readonly (readonly [string, string])[],
  { os, cpu }: Target,
): Promise<void> {
  const aside = `${folder}.${process.pid}`;
  mkdirSync(aside, { recursive: true });
  try {
    writeFileSync(
      join(aside, "package.json"),
      JSON.stringify({ name: "weir-target", private: true, dependencies: Object.fromEntries(versions) }),
    );
    const words = ["install", "--ignore-scripts", `--os=${os}`, `--cpu=${cpu}`];
    const child = Bun.spawnSync([process.execPath, ...words], {
      cwd: aside,
      stdout: "ignore",
      stderr: "pipe",
    });
    if (!child.success) throw new Error(`The parts could not be installed: ${child.stderr.toString()}`);
    const [own, fetched] = [await readLock(root), await readLock(aside)];
    for (const [one] of versions) {
      if (own[one]?.at(-1) !== fetched[one]?.at(-1))
        throw new Error(`${one} of the registry is not the one that bun.lock names.`);
    }
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function versionOf(lock: Awaited<ReturnType<typeof readLock>>, name: string): string {
  const locator = lock[name]?.[0];
  if (locator === undefined) throw new Error(`bun.lock has no ${name}.`);
  return locator.slice(name.length + 1);
}
