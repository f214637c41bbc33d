import { expect, test } from "bun:test";
import { chaos } from "../../scripts/chaos/chaos.ts";
import { DATABASES } from "../../scripts/chaos/databases.ts";
import { chaosOfSeveral } from "../../scripts/chaos/several.ts";
import { deepTest, scaled } from "../support/scale.ts";

test("killed under a mixed load at any time, it finishes everything that it accepted, once, and its records are right", async () => {
  const databases = DATABASES.slice(0, scaled(0, DATABASES.length));
  const verdict = await chaos({ rounds: scaled(2, 12), longestMs: 400, databases });
  expect(verdict.faults).toEqual([]);
  expect(verdict.accepted).toBeGreaterThan(0);
  expect(verdict.tableLoads > 0).toBe(databases.length > 0);
  expect(verdict.made).toBeGreaterThan(0);
}, 300_000);

for (const [server, rounds] of [
  ["postgres", 300],
  ["libsql", 60],
] as const)
  deepTest(
    `on a server too (${server}), which loses connections and commits and crashes under the load`,
    async () => {
      const verdict = await chaos({ rounds, longestMs: 400, databases: [], server, harmed: 0.6 });
      expect(verdict.faults).toEqual([]);
      expect(verdict.accepted).toBeGreaterThan(0);
      expect(Object.keys(verdict.harms)).toHaveLength(5);
    },
    7_200_000,
  );

deepTest(
  "three processes on PostgreSQL, of which one is killed and one is paused in each round, lose and duplicate nothing",
  async () => {
    const verdict = await chaosOfSeveral({ rounds: 6, server: "postgres", databases: [] });
    expect(verdict.faults).toEqual([]);
    expect(verdict.longestStillSeconds).toBeGreaterThan(5);
  },
  3_600_000,
);
