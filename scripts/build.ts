/**
 * Compiles the single executable: `bun scripts/build.ts [--target linux-arm64] [--quick] [entry] [outfile]`,
 * by default src/main.ts to dist/weir for this machine, or to dist/weir-TARGET for another.
 * The same source produces the same bytes. `--quick` is for tests: it takes half the time, for a larger executable.
 *
 * `WEIR_RELEASE_PUBLIC_KEY` names the file with the public key for releases that `weir upgrade` accepts. Default:
 * scripts/release.pub, if it exists. `WEIR_COMMIT` is the commit, for builds outside of a repository.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { platformOf } from "../src/base/program-file.ts";
import { readPublicKey } from "../src/cli/upgrade/release.ts";
import { bundle, commitOf, requireBun } from "./bundle.ts";
import { isTarget, OWN, TARGETS } from "./targets.ts";

const root = resolve(import.meta.dir, "..");
const started = performance.now();
try {
  await build();
} catch (error) {
  // The bundler's own error lists each failing location.
  console.error(error instanceof Error && !(error instanceof AggregateError) ? error.message : error);
  process.exit(1);
}

async function build(): Promise<void> {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: { target: { type: "string" }, quick: { type: "boolean", default: false } },
  });
  requireBun();
  // The bundler reads it, so a different value would produce a different page.
  process.env.NODE_ENV = "production";
  const target = (flags.target ?? OWN).replace(/^bun-/, "");
  if (!isTarget(target))
    throw new Error(`There is no target ${target}; name ${Object.keys(TARGETS).join(", ")}.`);
  const ending = target.startsWith("windows") ? ".exe" : "";
  const name = target === OWN ? "weir" : `weir-${target}`;
  const [entry = "src/main.ts", out = `dist/${name}${ending}`] = positionals;
  const outfile = resolve(root, out);
  await bundle({
    target,
    entry,
    outfile,
    commit: process.env.WEIR_COMMIT ?? commitOf(),
    releaseKey: releaseKey(),
    isQuick: flags.quick,
  });
  const found = platformOf(outfile);
  if (found !== target) throw new Error(`${out} is for ${found ?? "no machine"}, not for ${target}.`);
  const megabytes = (statSync(outfile).size / 1e6).toFixed(1);
  console.log(`${out}: ${megabytes} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** As the single line embedded in the executable. Undefined if the builder has none. */
function releaseKey(): string | undefined {
  const kept = join(root, "scripts/release.pub");
  const path = process.env.WEIR_RELEASE_PUBLIC_KEY ?? (existsSync(kept) ? kept : undefined);
  if (path === undefined) return undefined;
  return readPublicKey(readFileSync(path, "utf8"), path)
    .export({ format: "der", type: "spki" })
    .toString("base64");
}
