import { expect, test } from "bun:test";
import { chaos } from "../../scripts/chaos/chaos.ts";
import { DATABASES } from "../../scripts/chaos/databases.ts";
import { scaled } from "../support/scale.ts";

test("killed under a mixed load at any moment, it ends all that it accepted, once, and its books are right", async () => {
  const databases = DATABASES.slice(0, scaled(0, DATABASES.length));
  const verdict = await chaos({ rounds: scaled(2, 12), longestMs: 400, databases });
  expect(verdict.faults).toEqual([]);
  expect(verdict.accepted).toBeGreaterThan(0);
  expect(verdict.tableLoads > 0).toBe(databases.length > 0);
  expect(verdict.made).toBeGreaterThan(0);
}, 300_000);
