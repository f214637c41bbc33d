import { expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { drive } from "../../src/engine/loop.ts";

const IDLE_MS = 100;
const UNTIL_MS = 200_000;

/** The times at which one of `sharers` processes that start together checks, if pauses take no time. */
async function checksOf(sharers: number): Promise<number[]> {
  const end = new AbortController();
  const instants: number[] = [];
  let nowMs = 0;
  await drive(
    {
      name: "checker",
      async tick() {
        instants.push(nowMs);
        return "idle";
      },
    },
    {
      idleMs: IDLE_MS,
      sharers: () => sharers,
      signal: end.signal,
      clock: systemClock,
      report: (error) => {
        throw error;
      },
      async rest(ms) {
        nowMs += ms;
        if (nowMs > UNTIL_MS) end.abort();
      },
    },
  );
  return instants;
}

test("several processes that start together check as often as one, and soon at different times", async () => {
  const all = (await Promise.all(Array.from({ length: 5 }, () => checksOf(5)))).flat().sort((a, b) => a - b);
  const gaps = all.slice(1).map((instant, n) => instant - (all[n] ?? 0));
  const waits = gaps.map((gap) => gap ** 2 / 2 / UNTIL_MS); // Half of the gap, weighted by the time that it takes.
  const meanWaitMs = waits.reduce((sum, each) => sum + each, 0);

  expect(Math.abs(all.length - UNTIL_MS / IDLE_MS)).toBeLessThan(150);
  expect(meanWaitMs).toBeLessThan(1.25 * IDLE_MS); // In step, it is 2.5 times as long.
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * 5 * IDLE_MS);
});

test("a single process checks at even intervals", async () => {
  expect((await checksOf(1)).slice(0, 4)).toEqual([0, 1, 2, 3].map((n) => n * IDLE_MS));
});
