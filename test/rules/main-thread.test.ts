import { expect, setDefaultTimeout, test } from "bun:test";
import { startMonitored } from "../support/main-thread.ts";
import { scaled } from "../support/scale.ts";

setDefaultTimeout(180_000);

/**
 * The yardstick is a task of about 80 ms, done by the same thread just before and after:
 * CPU time is compared with CPU time, whatever the machine. What exceeds the limit is repeated:
 * the first call may load what is needed, and memory is collected sometimes.
 */
test("nothing that a tenant requests blocks others longer than the yardstick", async () => {
  await using monitored = await startMonitored();
  const tooLong: string[] = [];
  let before = await monitored.yardstick();
  for (const input of monitored.inputs.filter((_, at) => at % scaled(16, 1) === 0)) {
    let longest = await monitored.longest(input);
    const after = await monitored.yardstick();
    const allowed = Math.max(before, after);
    before = after;
    if (longest > allowed) longest = Math.min(longest, await monitored.longest(input));
    if (longest > allowed) tooLong.push(`${input.name}: ${longest.toFixed(0)} of ${allowed.toFixed(0)} ms`);
  }
  expect(tooLong).toEqual([]);
});
