/**
 * The tests of test/exact with what is too much for each change: `bun scripts/deep.ts [path…]`. 10,500 tables of seven
 * kinds of sources, and 50 rounds of changes, loads and kills. What EXACT_TABLES, EXACT_ROUNDS and EXACT_SEED say
 * counts; the seed of a run that failed makes the same tables again.
 */
import { join } from "node:path";

const seed = String(Math.floor(Math.random() * 2 ** 31));
const env = { EXACT_TABLES: "1500", EXACT_ROUNDS: "50", EXACT_SEED: seed, ...process.env };
const paths = process.argv.slice(2);
console.log(`seed ${env.EXACT_SEED}`);
const here = "127.0.0.1,localhost,::1";
const tests = Bun.spawn(
  [process.execPath, "test", "--no-orphans", ...(paths.length > 0 ? paths : ["test/exact"])],
  {
    cwd: join(import.meta.dir, ".."),
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...env, NO_PROXY: here, no_proxy: here },
  },
);
process.exit(await tests.exited);
