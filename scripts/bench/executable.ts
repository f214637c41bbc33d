import { statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const weirFile = join(root, "dist/weir");

function isStale(): boolean {
  const madeAt = statSync(weirFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return [
    ...new Bun.Glob("{src,scripts,web,migrations}/**/*.{ts,tsx,css,sql,json}").scanSync(root),
    "bun.lock",
  ].some((path) => statSync(join(root, path)).mtimeMs > madeAt);
}

/** Path of the executable, built if it is missing or older than the source. */
export function builtWeir(): string {
  if (!isStale()) return weirFile;
  const { success } = Bun.spawnSync([process.execPath, join(root, "scripts/build.ts")], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (!success) throw new Error("The executable could not be built.");
  return weirFile;
}
