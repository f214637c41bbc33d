/**
 * How much of the interface exists. `bun scripts/coverage.ts` prints what is missing;
 * `--record` writes what exists to test/house/existing.json, from which nothing may disappear.
 */
import { join } from "node:path";
import { mountedRoutes } from "../src/server.ts";
import { type Operation, operations } from "../test/house/interface.ts";

type Route = Pick<Operation, "method" | "path">;

export interface Coverage {
  /** `GET /path` of the specified operations that are mounted, sorted. */
  existing: string[];
  /** Operations that aren't mounted yet, in the order of the specification. */
  missing: Operation[];
  /** Mounted operations that aren't specified, sorted. */
  others: string[];
}

/** Parameters match by position: `{id}` is `{run_id}`. */
const keyOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, "{}")}`;

const spell = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;

export function compareRoutes(asked: readonly Operation[], mounted: readonly Route[]): Coverage {
  const keys = new Set(mounted.map(keyOf));
  const known = new Set(asked.map(keyOf));
  return {
    existing: asked
      .filter((operation) => keys.has(keyOf(operation)))
      .map(spell)
      .sort(),
    missing: asked.filter((operation) => !keys.has(keyOf(operation))),
    others: mounted
      .filter((route) => !known.has(keyOf(route)))
      .map(spell)
      .sort(),
  };
}

export const recordPath = join(import.meta.dir, "..", "test", "house", "existing.json");

export const readRecord = async () => (await Bun.file(recordPath).json()) as string[];

/** Coverage of the current server. */
export const readCoverage = async () => compareRoutes(operations, await mountedRoutes());

export const countLine = ({ existing }: Coverage) =>
  `interface: ${existing.length} of ${operations.length} operations exist`;

if (import.meta.main) {
  const coverage = await readCoverage();
  if (process.argv.includes("--record")) {
    await Bun.write(recordPath, `${JSON.stringify(coverage.existing, null, 2)}\n`);
  } else {
    for (const { method, path, source } of coverage.missing)
      console.log(`${method.padEnd(6)} ${path}  (${source})`);
    for (const route of coverage.others) console.log(`also mounted, in no text: ${route}`);
  }
  console.log(countLine(coverage));
}
