import { expect, setDefaultTimeout, test } from "bun:test";
import { startMonitored } from "../support/main-thread.ts";

setDefaultTimeout(180_000);

/**
 * The yardstick is a piece of work of about 80 ms, done by the same thread just before and after: what is compared is
 * processor time with processor time, whatever the machine.
 */
test("nothing that a tenant asks for keeps others waiting longer than the yardstick", async () => {
  await using monitored = await startMonitored();
  const tooLong: string[] = [];
  for (const input of monitored.inputs) {
    const before = await monitored.yardstick();
    const longest = await monitored.longest(input);
    const allowed = Math.max(before, await monitored.yardstick());
    if (longest > allowed) tooLong.push(`${input.name}: ${longest.toFixed(0)} of ${allowed.toFixed(0)} ms`);
  }
  expect(tooLong).toEqual([]);
});
