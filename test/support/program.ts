import { join } from "node:path";

/** Names the executable that a run of all tests has built. Its processes start in half the time. */
export const BUILT = "TEST_PROGRAM";

const built = process.env[BUILT];
export const MAIN = join(import.meta.dir, "../../src/main.ts");
export const SOURCE: readonly string[] = [process.execPath, MAIN];

/** The command that starts this program: the executable of the run, otherwise the source tree. */
export const PROGRAM: readonly string[] = built ? [built] : SOURCE;
