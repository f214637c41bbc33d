import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Actor, contextFor, write } from "../../src/context.ts";
import { record } from "../../src/resources/events/service.ts";
import type { EventType } from "../../src/resources/events/table.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { scaled } from "../support/scale.ts";
import { created } from "../support/work.ts";

interface Event {
  id: string;
  type: string;
  timestamp: string;
  entity: { type: string; id: string };
  actor: { type: string; id: string };
  metadata: { correlationId: string };
}

const ACTORS: readonly Actor[] = [
  { type: "user", id: "ada", email: "ada@example.com", ip: "192.0.2.1", userAgent: "test" },
  { type: "system", id: "worker", process: "weir", version: "0.0.0" },
  { type: "automation", id: "flow" },
  { type: "api", id: "key", ip: "192.0.2.2" },
];
const TYPES: readonly EventType[] = ["action.created", "action.failed", "connection.created", "auth.login"];
const ENTITIES = [
  { type: "action", id: "one" },
  { type: "connection", id: "one" },
  { type: "action", id: "two" },
] as const;
const CHAINS = ["chain-1", "chain-2"];
const EVENTS = 120;

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: Client;
/** As `order=asc` returns them. */
let all: Event[];

beforeAll(async () => {
  weir = await startApp({ engine: false });
  const made = created(await weir.owner("POST", "/api/v1/access-tokens", { name: "x", expiresInDays: 365 }));
  owner = client(weir.origin, { authorization: `Bearer ${made.token}` });
  const pick = <T>(items: readonly T[], n: number) => items[n % items.length] as T;
  for (let n = 0; n < EVENTS; n++) {
    weir.clock.turn(n % 5 === 0 ? 0 : 1_000 * 60 * (n % 90)); // Some at the same time, some hours apart.
    const ctx = contextFor(weir.app, {
      organizationId: weir.ids.organizationId,
      role: "owner",
      actor: pick(ACTORS, n * 7 + (n % 3)),
      correlationId: pick(CHAINS, n >> 2),
    });
    await write(ctx, (tx) => record(tx, pick(TYPES, n * 5 + (n >> 3)), pick(ENTITIES, n * 11 + (n >> 4))));
  }
  all = await pages("order=asc", 200);
  expect(all.length).toBeGreaterThan(EVENTS);
});
afterAll(() => weir[Symbol.asyncDispose]());

/** Every page of a list, one after the other. */
async function pages(query: string, limit: number): Promise<Event[]> {
  const found: Event[] = [];
  for (let cursor = ""; ; ) {
    const { status, body, text } = await owner("GET", `/api/v1/events?${query}&limit=${limit}${cursor}`);
    expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
    expect(body.items.length).toBeLessThanOrEqual(limit);
    found.push(...body.items);
    if (!body.hasMore) return found;
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
}

const maybe = <T>(items: readonly T[]) => fc.option(fc.constantFrom(...items), { nil: undefined });

const queries = fc.record({
  type: maybe(["action.created", "action.failed", "action.*", "auth.*", "*"]),
  entityType: maybe(["action", "connection", "nothing"]),
  entityId: maybe(["one", "two", "nobody"]),
  actorType: maybe(["user", "system", "automation", "api"]),
  actorId: maybe(["ada", "worker", "flow", "key", "nobody"]),
  correlationId: maybe([...CHAINS, "chain-3"]),
  since: fc.option(fc.nat(EVENTS + 5), { nil: undefined }),
  until: fc.option(fc.nat(EVENTS + 5), { nil: undefined }),
  order: fc.constantFrom("asc", "desc"),
  limit: fc.integer({ min: 1, max: 60 }),
});

const fits = (pattern: string, type: string) =>
  pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;

describe("the list of events", () => {
  test("returns for any filters, order and pages the same as a scan of every event", async () => {
    await fc.assert(
      fc.asyncProperty(queries, async ({ since, until, limit, order, ...filters }) => {
        const instants = { since: all[since ?? -1]?.timestamp, until: all[until ?? -1]?.timestamp };
        const given = Object.entries({ ...filters, ...instants, order }).filter(([, value]) => value);
        const query = new URLSearchParams(given as [string, string][]).toString();
        const expected = all.filter(
          (event) =>
            fits(filters.type ?? "*", event.type) &&
            [undefined, event.entity.type].includes(filters.entityType) &&
            [undefined, event.entity.id].includes(filters.entityId) &&
            [undefined, event.actor.type].includes(filters.actorType) &&
            [undefined, event.actor.id].includes(filters.actorId) &&
            [undefined, event.metadata.correlationId].includes(filters.correlationId) &&
            (instants.since === undefined || event.timestamp >= instants.since) &&
            (instants.until === undefined || event.timestamp <= instants.until),
        );
        if (order === "desc") expected.reverse();
        expect((await pages(query, limit)).map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      }),
      { numRuns: scaled(40, 450), seed: 20_26 },
    );
  });

  test("reports an unknown type together with other faults", async () => {
    for (const path of ["/api/v1/events", "/api/v1/events/stream"])
      expect((await owner("GET", `${path}?type=zip&since=abc`)).body.detail).toMatchObject([
        { loc: ["query", "since"] },
        { loc: ["query", "type"], type: "enum" },
      ]);
  });

  test("accepts limits from 1 to 200, 50 by default", async () => {
    const count = async (query: string) => (await owner("GET", `/api/v1/events?${query}`)).body.items?.length;
    expect([await count(""), await count("limit=1"), await count("limit=200")]).toEqual([50, 1, all.length]);
    for (const limit of [0, 201]) {
      const { status, body } = await owner("GET", `/api/v1/events?limit=${limit}`);
      expect([status, body.detail[0].loc]).toEqual([422, ["query", "limit"]]);
    }
  });
});
