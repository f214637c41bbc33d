/**
 * How long the main thread is blocked at most by each of the worst inputs within the limits:
 * CPU time, which other programs don't affect. Arguments select the inputs whose name contains one.
 */
import { startMonitored } from "../../test/support/main-thread.ts";
import { tell } from "./load.ts";

const words = process.argv.slice(2);
await using monitored = await startMonitored();
console.log(`  the yardstick takes ${(await monitored.yardstick()).toFixed(0)} ms`);
const chosen = monitored.inputs.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
for (const input of chosen) tell(input.name, await monitored.longest(input), 80, 50, "ms", true);
