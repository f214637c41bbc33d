import { expect, test } from "bun:test";
import { chaos } from "../../scripts/chaos/chaos.ts";

test("killed under a mixed load at any moment, it ends all that it accepted, once, and its books are right", async () => {
  const verdict = await chaos({ rounds: 3, longestMs: 400 });
  expect(verdict.faults).toEqual([]);
  expect(verdict.accepted).toBeGreaterThan(0);
  expect(verdict.made).toBeGreaterThan(0);
}, 120_000);
