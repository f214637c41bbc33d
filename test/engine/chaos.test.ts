import { expect, test } from "bun:test";
import { chaos } from "../../scripts/chaos/chaos.ts";

test("killed under load three times, it keeps every accepted webhook, does each once, and its trail holds", async () => {
  const verdict = await chaos({ rounds: 3, longestMs: 1500 });
  expect(verdict.faults).toEqual([]);
  expect(verdict.accepted).toBeGreaterThan(0);
}, 60_000);
