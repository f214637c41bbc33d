/**
 * The type check: `bun scripts/types.ts`. Two checkers that rarely collect garbage need half the CPU time of four.
 * Their results are kept for the next check.
 */
import { join } from "node:path";

const KEPT = "node_modules/.cache/tsc.json";
const GARBAGE_PERCENT = "400";

const tsc = Bun.spawn(
  [
    process.execPath,
    "node_modules/typescript/bin/tsc",
    ...["--noEmit", "-p", ".", "--checkers", "2"],
    ...["--incremental", "--tsBuildInfoFile", KEPT],
  ],
  {
    cwd: join(import.meta.dir, ".."),
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, GOGC: GARBAGE_PERCENT },
  },
);
process.exit(await tsc.exited);
