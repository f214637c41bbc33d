import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { openMemory } from "../../src/base/memory.ts";
import { type ApiPage, expiredCursor, type PageWalk, walkPages } from "../../src/providers/api/pages.ts";
import { draw, hold, retryAfterMs, setTokens } from "../../src/providers/api/throttle.ts";
import type { StoredQuota } from "../../src/providers/contract.ts";
import { leapingClock } from "../support/extract.ts";
import { failure } from "../support/link.ts";

const never = new AbortController().signal;

interface Turn {
  from: string | null;
  after: number;
}

/** A list of numbered rows whose cursors are positions, and which returns `most` of them before it refuses. */
function listOf(rows: { id: string; at: string }[], size: number, most = Number.POSITIVE_INFINITY) {
  const turns: Turn[] = [];
  const walk: PageWalk<Turn> = {
    system: "The list",
    first: { from: null, after: 0 },
    async read(turn): Promise<ApiPage<Turn>> {
      turns.push(turn);
      if (turn.after >= most) throw expiredCursor("The list");
      const { from } = turn;
      const all = rows.filter(({ at }) => from === null || at >= from);
      const page = all.slice(turn.after, turn.after + size);
      const next = turn.after + size < all.length ? { ...turn, after: turn.after + size } : null;
      return { rows: page as unknown as JsonObject[], next };
    },
    keyOf: ({ id }) => String(id),
    orderOf: ({ at }) => String(at),
    resume: (from) => ({ from, after: 0 }),
    maxRows: null,
    signal: never,
  };
  return { walk, turns };
}

const read = async (walk: PageWalk<Turn>) => {
  const ids: unknown[] = [];
  for await (const page of walkPages(walk)) ids.push(...page.map(({ id }) => id));
  return ids;
};
const rows = (n: number, perLevel: number) =>
  Array.from({ length: n }, (_, index) => ({
    id: `r${index}`,
    at: String(Math.floor(index / perLevel)).padStart(4, "0"),
  }));
const ids = (n: number) => rows(n, 1).map(({ id }) => id);

describe("a walk through pages", () => {
  test("starts again in the last row's order before the list ends, and returns each row once", async () => {
    const { walk, turns } = listOf(rows(95, 4), 10, 30);
    expect(await read({ ...walk, resumeAfter: 20 })).toEqual(ids(95));
    expect(Math.max(...turns.map(({ after }) => after))).toBeLessThan(30);
  });

  test("continues with the cursor if too many rows share the value from which to restart", async () => {
    const { walk } = listOf(rows(60, 50), 10);
    expect(await read({ ...walk, resumeAfter: 20 })).toEqual(ids(60));
  });

  test("continues after an expired cursor, and fails if there is no row to continue from", async () => {
    const { walk, turns } = listOf(rows(70, 3), 10, 30);
    expect(await read(walk)).toEqual(ids(70));
    expect(turns.filter(({ after }) => after >= 30).length).toBeGreaterThan(1);
    const stuck = listOf(rows(70, 50), 10, 30).walk; // More rows share a value than the list returns.
    expect(await failure(read(stuck))).toMatchObject({ code: "upstream", retryable: true });
    expect(await failure(read({ ...listOf(rows(70, 3), 10, 0).walk }))).toMatchObject({ retryable: true });
  });

  test("requests no page before the previous one was consumed", async () => {
    const { walk, turns } = listOf(rows(50, 1), 10);
    const pages = walkPages(walk);
    await pages.next();
    expect(turns).toHaveLength(1);
    await pages.next();
    await pages.return(undefined);
    expect(turns).toHaveLength(2);
  });

  test("stops on request", async () => {
    const stop = new AbortController();
    const { walk, turns } = listOf(rows(50, 1), 10);
    const pages = walkPages({ ...walk, signal: stop.signal });
    await pages.next();
    stop.abort(new Error("enough"));
    await expect(pages.next()).rejects.toThrow("enough");
    expect(turns).toHaveLength(1);
  });
});

describe("a throttle", () => {
  const waiter = (signal = never) => {
    const clock = leapingClock();
    const told: (string | null)[] = [];
    return {
      link: {
        connectionId: crypto.randomUUID(),
        memory: openMemory(),
        clock,
        signal,
        waits: (until: string | null) => void told.push(until),
      },
      clock,
      told,
    };
  };
  const bucket = { name: "requests", capacity: 5, perSecond: 2 };

  test("passes what the bucket holds, then as fast as it fills, and reports long waits", async () => {
    const { link, clock, told } = waiter();
    for (let n = 0; n < 8; n++) await draw(link, "It", [bucket], 60_000);
    expect(clock.waits).toEqual([500, 500, 500]);
    await draw(link, "It", [{ ...bucket, cost: 4 }], 60_000);
    expect(clock.waits.at(-1)).toBe(2_000);
    expect(told).toEqual(["2026-06-01T00:00:03.500Z", null]);
  });

  test("waits for the slowest of several buckets, and for one that is held", async () => {
    const { link, clock } = waiter();
    const slow = { name: "minute", capacity: 1, perSecond: 0.1 };
    await draw(link, "It", [bucket, slow], 60_000);
    await draw(link, "It", [bucket, slow], 60_000);
    expect(clock.waits).toEqual([10_000]);
    hold(link, [bucket], 7_000);
    await draw(link, "It", [bucket], 60_000);
    expect(clock.waits).toEqual([10_000, 7_000]);
  });

  test("follows the server's limit, and throws rather than wait too long, taking nothing", async () => {
    const { link, clock } = waiter();
    setTokens(link, "requests", { capacity: 100, perSecond: 10 }, 0);
    expect(await failure(draw(link, "It", [{ ...bucket, cost: 50 }], 1_000))).toMatchObject({
      code: "upstream",
      retryable: true,
      retryAfterSeconds: 5,
    });
    await draw(link, "It", [{ ...bucket, cost: 5 }], 1_000);
    expect(clock.waits).toEqual([500]);
  });

  test("returns what an aborted wait has taken", async () => {
    const stop = new AbortController();
    const { link, clock } = waiter();
    setTokens(link, "requests", bucket, 0);
    const ended = {
      ...link,
      signal: stop.signal,
      clock: { ...clock, sleep: async () => stop.abort(new Error("no")) },
    };
    await expect(draw(ended, "It", [{ ...bucket, cost: 4 }], 60_000)).rejects.toThrow("no");
    await draw(link, "It", [{ ...bucket, cost: 1 }], 60_000);
    expect(clock.waits).toEqual([500]);
  });

  test("for a slow limit continues where it was after a restart, and for a fast one isn't stored", async () => {
    const kept = new Map<string, StoredQuota>();
    const quotas = {
      read: async () => [...kept.values()],
      keep: async (one: StoredQuota) => void kept.set(one.name, one),
    };
    const { link, clock } = waiter();
    const slow = { name: "orders", capacity: 20, perSecond: 0.0056 };
    for (let n = 0; n < 20; n++) await draw({ ...link, quotas }, "It", [slow, bucket], 60_000);
    expect([...kept.keys()]).toEqual(["orders"]);
    const restarted = { ...link, quotas, memory: openMemory() };
    clock.waits.length = 0;
    await draw(restarted, "It", [slow], 600_000);
    expect(clock.waits).toHaveLength(1);
    expect(clock.waits[0]).toBeGreaterThan(100_000);
    hold(restarted, [slow], 900_000);
    expect(await failure(draw(restarted, "It", [slow], 600_000))).toMatchObject({ retryable: true });
  });

  test("parses Retry-After as seconds and as a date", () => {
    const clock = leapingClock("2026-06-01T00:00:00Z");
    const ms = (value: string) => retryAfterMs(new Headers({ "retry-after": value }), { clock });
    expect(ms("12")).toBe(12_000);
    expect(ms("0")).toBe(1_000);
    expect(ms("Mon, 01 Jun 2026 00:00:30 GMT")).toBe(30_000);
    expect(ms("Sun, 31 May 2026 00:00:30 GMT")).toBe(1_000);
    expect(ms("soon")).toBeNull();
    expect(retryAfterMs(new Headers(), { clock })).toBeNull();
  });
});
