/** Runs each scripts/bench/*.bench.ts in a process of its own; words given pick those whose name holds one. */
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const words = process.argv.slice(2);
const files = [...new Bun.Glob("scripts/bench/*.bench.ts").scanSync(root)]
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort();

let failed = files.length === 0;
if (failed) console.error("No benchmark has such a name.");
for (const path of files) {
  console.log(`\n${path}`);
  const { success } = Bun.spawnSync([process.execPath, path], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  failed ||= !success;
}
process.exit(failed ? 1 : 0);
