import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Actor, type Context, contextFor, write } from "../../src/context.ts";
import { eventsIn, type Stretch } from "../../src/resources/events/list.ts";
import { eraseTrail } from "../../src/resources/events/seals.ts";
import { record } from "../../src/resources/events/service.ts";
import { EVENT_TYPES, type EventType } from "../../src/resources/events/table.ts";
import { verifyTrail } from "../../src/resources/events/verify.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { besideOf } from "../support/beside.ts";
import { isOnPostgres } from "../support/test-store.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const ADA: Actor = { type: "user", id: "ada", email: "ada@example.com", ip: "192.0.2.1", userAgent: "test" };
const WORKER: Actor = { type: "system", id: "worker", process: "weir", version: "0.0.0" };

const contextOf = (weir: Running, overrides: Partial<Context> = {}): Context => ({
  ...contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "owner",
    actor: ADA,
    correlationId: "test-chain",
  }),
  ...overrides,
});

const tell = (ctx: Context, type: EventType, id: string, data = {}) =>
  write(ctx, (tx) =>
    record(tx, type, { type: type.startsWith("connection") ? "connection" : "action", id }, data),
  );

describe("the list of events", () => {
  let weir: Running;
  const bare = () => ({ ...contextOf(weir) });
  beforeAll(async () => {
    weir = await startApp({ engine: false });
    const ctx = bare();
    await tell(ctx, "action.created", "a1", { kind: "http_request" });
    await tell({ ...ctx, actor: WORKER, correlationId: "other-chain" }, "action.started", "a1");
    await tell({ ...ctx, actor: WORKER, correlationId: "other-chain" }, "action.completed", "a1", {
      durationSeconds: 2,
    });
    await tell(ctx, "connection.created", "c1");
    await tell(ctx, "action.created", "a2", { name: 'Load "Ünits" 100% of_it' });
  });
  afterAll(() => weir[Symbol.asyncDispose]());

  const typesOf = async (query: string) => {
    const { status, body, text } = await weir.owner("GET", `/api/v1/events?${query}`);
    expect(status, text).toBe(200);
    return body.items.map(
      (event: { type: string; entity: { id: string } }) => `${event.type} ${event.entity.id}`,
    );
  };

  test("shows the newest first, with all of their fields", async () => {
    const { status, body } = await weir.owner("GET", "/api/v1/events?limit=1");
    expect(status).toBe(200);
    expect(body).toEqual({
      items: [
        {
          id: expect.any(String),
          type: "action.created",
          timestamp: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
          entity: { type: "action", id: "a2" },
          actor: ADA,
          data: { name: 'Load "Ünits" 100% of_it' },
          metadata: { correlationId: "test-chain", organizationId: weir.ids.organizationId },
          hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ],
      hasMore: true,
      nextCursor: expect.any(String),
    });
  });

  test("accepts a type, a trailing wildcard, and an asterisk", async () => {
    expect(await typesOf("type=action.started")).toEqual(["action.started a1"]);
    expect(await typesOf("type=action.*")).toEqual([
      "action.created a2",
      "action.completed a1",
      "action.started a1",
      "action.created a1",
    ]);
    expect(await typesOf("type=action.*&limit=2&order=asc")).toEqual([
      "action.created a1",
      "action.started a1",
    ]);
    expect(await typesOf("type=*&limit=200")).toEqual(await typesOf("limit=200"));
  });

  test("combines its filters", async () => {
    expect(await typesOf("type=action.*&entityId=a1&actorType=system")).toEqual([
      "action.completed a1",
      "action.started a1",
    ]);
    expect(await typesOf("entityType=connection")).toEqual(["connection.created c1"]);
    expect(await typesOf("actorId=worker&type=action.completed")).toEqual(["action.completed a1"]);
    expect(await typesOf("correlationId=other-chain&order=asc")).toEqual([
      "action.started a1",
      "action.completed a1",
    ]);
    expect(await typesOf("entityId=nobody")).toEqual([]);
  });

  test("finds text in the data, the actor and the resource's ID, ignoring case", async () => {
    const found = (q: string, more = "") => typesOf(`q=${encodeURIComponent(q)}${more}`);
    expect(await found('load "ünits"')).toEqual(["action.created a2"]);
    expect(await found("100% of_")).toEqual(["action.created a2"]);
    expect(await found("100%_of_")).toEqual([]);
    expect(await found("HTTP_request")).toEqual(["action.created a1"]);
    expect(await found("ADA@example", "&type=action.*")).toContain("action.created a2");
    expect(await found("a1", "&actorType=system&order=asc")).toEqual([
      "action.started a1",
      "action.completed a1",
    ]);
    expect(await found("ada@example", "&entityId=c1")).toEqual(["connection.created c1"]);
    expect(await found("nothing has this")).toEqual([]);
  });

  test.each([
    ["type=action.exploded", ["query", "type"], "enum"],
    ["type=weather.*", ["query", "type"], "enum"],
    ["actorType=ghost", ["query", "actorType"], "enum"],
    ["limit=201", ["query", "limit"], "less_than_equal"],
    ["order=up", ["query", "order"], "enum"],
    ["q=", ["query", "q"], "string_too_short"],
    ["since=yesterday", ["query", "since"], "date-time_parsing"],
    ["entity_id=a1", ["query", "entity_id"], "extra_forbidden"],
    ["cursor=made-up", ["query", "cursor"], "cursor_invalid"],
  ])("rejects %s", async (query, loc, type) => {
    const { status, body } = await weir.owner("GET", `/api/v1/events?${query}`);
    expect(status).toBe(422);
    expect(body.detail).toEqual([{ loc, msg: expect.any(String), type }]);
  });

  test.each(["desc", "asc"])("returns each event once, page by page (%s)", async (order) => {
    const whole = (await weir.owner("GET", `/api/v1/events?limit=200&order=${order}`)).body;
    expect(whole.hasMore).toBe(false);
    expect(whole).not.toHaveProperty("nextCursor");
    const paged: string[] = [];
    let cursor = "";
    do {
      const { body } = await weir.owner("GET", `/api/v1/events?limit=2&order=${order}${cursor}`);
      paged.push(...body.items.map((event: { id: string }) => event.id));
      cursor = body.hasMore ? `&cursor=${encodeURIComponent(body.nextCursor)}` : "";
    } while (cursor !== "");
    expect(paged).toEqual(whole.items.map((event: { id: string }) => event.id));
  });

  test("accepts a cursor only with the same filters", async () => {
    const { body } = await weir.owner("GET", "/api/v1/events?limit=1&type=action.*");
    const cursor = encodeURIComponent(body.nextCursor);
    expect((await weir.owner("GET", `/api/v1/events?limit=2&type=action.*&cursor=${cursor}`)).status).toBe(
      200,
    );
    expect((await weir.owner("GET", `/api/v1/events?limit=1&cursor=${cursor}`)).status).toBe(422);
  });

  test.skipIf(isOnPostgres)("every form of filter uses an index and sorts nothing", async () => {
    const shapes: (Partial<Stretch> & { index: string })[] = [
      { filter: {}, index: "events_by_organization" },
      { filter: { actorId: "ada" }, index: "events_by_organization" },
      { filter: { q: "ada" }, index: "events_by_organization" },
      { filter: { q: "ada", type: "action.*" }, index: "events_by_type" },
      { filter: { type: "action.created" }, index: "events_by_type" },
      { filter: { type: "action.*" }, index: "events_by_type" },
      { filter: { entityId: "a1", type: "action.*" }, index: "events_by_entity" },
      { filter: { entityId: "a1", type: "action.created" }, index: "events_by_entity" },
      { filter: { correlationId: "test-chain", entityType: "action" }, index: "events_by_correlation" },
    ];
    for (const { index, ...shape } of shapes) {
      const stretch: Stretch = { filter: {}, order: "desc", from: 1, to: 1_000, since: "2020", ...shape };
      const { sql, params } = eventsIn(weir.app.store.db, weir.ids.organizationId, stretch, 50).toSQL();
      await using beside = await besideOf(weir);
      const plan = await beside.rows<{ detail: string }>(
        `EXPLAIN QUERY PLAN ${sql}`,
        ...(params as string[]),
      );
      const steps = plan.map(({ detail }) => detail).join("\n");
      expect(steps).toContain(`INDEX ${index} (`);
      expect(steps).not.toContain("SCAN events");
      const sorted = steps.split("\n").filter((step) => step.includes("ORDER BY")).length;
      expect(sorted).toBeLessThanOrEqual(1); // The page itself.
    }
  });
});

/** The owner, with a token that outlasts the tests' clock. */
async function lastingOwner(weir: Running): Promise<Client> {
  const { body } = await weir.owner("POST", "/api/v1/access-tokens", { name: "lasting", expiresInDays: 365 });
  return client(weir.origin, { authorization: `Bearer ${body.token}` });
}

test("a cursor is valid for 24 hours", async () => {
  await using weir = await startApp({ engine: false });
  const owner = await lastingOwner(weir);
  await tell(contextOf(weir), "action.created", "a1");
  const { body } = await owner("GET", "/api/v1/events?limit=1");
  weir.clock.turn(23 * 60 * 60 * 1000);
  const path = `/api/v1/events?limit=1&cursor=${encodeURIComponent(body.nextCursor)}`;
  expect((await owner("GET", path)).status).toBe(200);
  weir.clock.turn(61 * 60 * 1000);
  const late = await owner("GET", path);
  expect([late.status, late.body?.code]).toEqual([410, "cursor_expired"]);
});

test("since and until limit the events, both ends included", async () => {
  await using weir = await startApp({ engine: false });
  const owner = await lastingOwner(weir);
  const ctx = contextOf(weir);
  for (let day = 0; day < 40; day++) {
    weir.clock.turn(24 * 60 * 60 * 1000);
    await tell(ctx, "action.created", `day-${day}`);
  }
  const { items } = (await owner("GET", "/api/v1/events?limit=200&order=asc&type=action.created")).body;
  const between = (
    await owner("GET", `/api/v1/events?since=${items[10].timestamp}&until=${items[12].timestamp}`)
  ).body;
  expect(between.items.map((event: { entity: { id: string } }) => event.entity.id)).toEqual([
    "day-12",
    "day-11",
    "day-10",
  ]);
  const zoned = items[38].timestamp.replace("Z", "%2B00:00");
  const since = (await owner("GET", `/api/v1/events?since=${zoned}&order=asc`)).body;
  expect(since.items.map((event: { entity: { id: string } }) => event.entity.id)).toEqual([
    "day-38",
    "day-39",
  ]);
});

test("events of a rare actor or with a rare text are found across the pages of a long audit log, none of which scans too much", async () => {
  await using weir = await startApp({ engine: false, stands: true });
  const ctx = contextOf(weir);
  await tell({ ...ctx, actor: WORKER }, "action.failed", "rare");
  await write(ctx, async (tx) => {
    for (let n = 0; n < 20_100; n++) await record(tx, "action.created", { type: "action", id: "many" });
  });
  const first = (await weir.owner("GET", "/api/v1/events?actorId=worker")).body;
  expect(first).toEqual({ items: [], hasMore: true, nextCursor: expect.any(String) });
  const second = (await weir.owner("GET", `/api/v1/events?actorId=worker&cursor=${first.nextCursor}`)).body;
  expect(second.items).toMatchObject([{ type: "action.failed", entity: { id: "rare" } }]);
  expect(second.hasMore).toBe(false);
  const nothing = (await weir.owner("GET", "/api/v1/events?q=rare")).body;
  expect(nothing).toMatchObject({ items: [], hasMore: true });
  const rest = (await weir.owner("GET", `/api/v1/events?q=rare&cursor=${nothing.nextCursor}`)).body;
  expect(rest.items).toMatchObject([{ entity: { id: "rare" } }]);
  for (const narrow of ["entityId=many", `correlationId=${ctx.correlationId}`]) {
    for (const rare of [
      "q=worker",
      "actorId=worker",
      "actorType=api",
      "entityType=run",
      "type=action.deleted",
    ]) {
      const page = (await weir.owner("GET", `/api/v1/events?${rare}&${narrow}`)).body;
      expect(page).toEqual({ items: [], hasMore: true, nextCursor: expect.any(String) });
    }
  }
  const path = `/api/v1/events?type=action.failed&entityId=rare&correlationId=${ctx.correlationId}`;
  expect((await weir.owner("GET", path)).body).toMatchObject({
    items: [{ entity: { id: "rare" } }],
    hasMore: false,
  });
});

describe("the audit log", () => {
  test("can't be changed or deleted by SQL on the store itself", async () => {
    await using weir = await startApp({ engine: false });
    await tell(contextOf(weir), "action.created", "a1");
    await using beside = await besideOf(weir);
    const all = () => beside.rows("SELECT * FROM events ORDER BY seq");
    const before = await all();
    const replace = weir.app.store.remote
      ? "TRUNCATE events CASCADE"
      : "INSERT OR REPLACE INTO events SELECT * FROM events LIMIT 1";
    for (const statement of ["UPDATE events SET data = '{}'", "DELETE FROM events", replace])
      await expect(beside.run(statement)).rejects.toThrow("append-only");
    expect(await all()).toEqual(before);
  });

  const tampered = async (change: string) => {
    await using weir = await startApp({ engine: false });
    const ctx = contextOf(weir);
    for (const id of ["a1", "a2", "a3", "a4"]) await tell(ctx, "action.created", id, { name: id });
    const sound = await weir.owner("GET", "/api/v1/events/verify");
    expect(sound.body).toMatchObject({ valid: true, firstBadId: null });
    const ids = (await weir.owner("GET", "/api/v1/events?type=action.created&order=asc")).body.items.map(
      (event: { id: string }) => event.id,
    );
    await using beside = await besideOf(weir);
    await beside.run("DROP TRIGGER events_no_update");
    await beside.run("DROP TRIGGER events_no_delete");
    await beside.run(change.replaceAll("THE_ID", ids[1]));
    const { status, body } = await weir.owner("GET", "/api/v1/events/verify");
    expect(status).toBe(200);
    expect(await verifyTrail({ db: weir.app.store.db, secrets: null }, weir.ids.organizationId)).toEqual(
      body,
    );
    return { ...body, place: ids.indexOf(body.firstBadId), others: sound.body.checked - 4 };
  };

  test.each([
    "UPDATE events SET data = json_set(data, '$.name', 'forged') WHERE id = 'THE_ID'",
    "UPDATE events SET data = 'no JSON' WHERE id = 'THE_ID'",
    "UPDATE events SET timestamp = '2020-01-01T00:00:00.000Z' WHERE id = 'THE_ID'",
    "UPDATE events SET actor_id = 'eve' WHERE id = 'THE_ID'",
    "UPDATE events SET actor = json_set(actor, '$.ip', '198.51.100.7') WHERE id = 'THE_ID'",
    "UPDATE events SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE id = 'THE_ID'",
  ])("verify names the event that was changed by %s", async (change) => {
    const found = await tampered(change);
    expect(found).toMatchObject({ valid: false, place: 1, checked: found.others + 2 });
  });

  test("verify names the event after one that was removed", async () => {
    expect(await tampered("DELETE FROM events WHERE id = 'THE_ID'")).toMatchObject({
      valid: false,
      place: 2,
    });
  });

  test("verify checks every event, in many batches, and lets others have their turn", async () => {
    await using weir = await startApp({ engine: false });
    const ctx = contextOf(weir);
    await write(ctx, async (tx) => {
      for (let n = 0; n < 1_000; n++) await record(tx, "action.created", { type: "action", id: `a${n}` });
    });
    let turns = 0;
    const spinning = setInterval(() => turns++, 0);
    const { body } = await weir.owner("GET", "/api/v1/events/verify");
    clearInterval(spinning);
    expect(body.valid).toBe(true);
    expect(body.checked).toBeGreaterThan(1_000);
    expect(turns).toBeGreaterThan(0);
  });
});

describe("the stream of events", () => {
  /** Messages of a stream, as they arrive. */
  async function* messages(weir: Running, query: string, lastEventId?: string) {
    const gone = new AbortController();
    const reply = await fetch(`${weir.origin}/api/v1/events/stream?${query}`, {
      headers: {
        authorization: `Bearer ${weir.token}`,
        ...(lastEventId ? { "last-event-id": lastEventId } : {}),
      },
      signal: gone.signal,
    });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toStartWith("text/event-stream");
    let text = "";
    const decoder = new TextDecoder();
    yield null; // The stream is open.
    try {
      for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true });
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const [, id, data] = /^id: (.*)\nevent: message\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
          text = text.slice(end + 2);
          if (data !== undefined) yield { id, event: JSON.parse(data) };
        }
      }
    } finally {
      gone.abort();
    }
  }

  test("begins now and sends matching events as they happen", async () => {
    await using weir = await startApp({ engine: false });
    const ctx = contextOf(weir);
    await tell(ctx, "action.created", "before");
    const stream = messages(weir, "type=action.*&entityId=a1");
    await stream.next();
    await tell(ctx, "action.created", "a2");
    await tell(ctx, "connection.created", "a1");
    await tell(ctx, "action.created", "a1");
    const first = (await stream.next()).value;
    expect(first?.event).toMatchObject({ type: "action.created", entity: { id: "a1" } });
    await tell(ctx, "action.updated", "a1");
    expect((await stream.next()).value?.event.type).toBe("action.updated");
    await stream.return(undefined);
  });

  test("continues after a client's last event", async () => {
    await using weir = await startApp({ engine: false });
    const ctx = contextOf(weir);
    const before = messages(weir, "");
    await before.next();
    for (const id of ["a1", "a2"]) await tell(ctx, "action.created", id);
    const last = (await before.next()).value;
    expect(last?.event.entity.id).toBe("a1");
    await before.return(undefined);
    await tell(ctx, "action.created", "a3");

    const stream = messages(weir, "", last?.id);
    await stream.next();
    expect((await stream.next()).value?.event.entity.id).toBe("a2");
    expect((await stream.next()).value?.event.entity.id).toBe("a3");
    await stream.return(undefined);
  });

  test("begins at a time, at most a minute ago", async () => {
    await using weir = await startApp({ engine: false, stands: true });
    const ctx = contextOf(weir);
    await tell(ctx, "action.created", "old");
    weir.clock.turn(50_000);
    const since = weir.clock.now().toISOString();
    await tell(ctx, "action.created", "a1");
    const near = messages(weir, `since=${encodeURIComponent(since)}`);
    await near.next();
    expect((await near.next()).value?.event.entity.id).toBe("a1");
    await near.return(undefined);
    weir.clock.turn(20_000);
    const far = messages(weir, "since=2020-01-01T00:00:00.000Z");
    await far.next();
    expect((await far.next()).value?.event.entity.id).toBe("a1");
    await far.return(undefined);
  });

  test("rejects a filter that matches no event, and an invalid message ID", async () => {
    await using weir = await startApp({ engine: false });
    expect((await weir.owner("GET", "/api/v1/events/stream?type=weather")).status).toBe(422);
    const { status, body } = await weir.owner("GET", "/api/v1/events/stream", undefined, {
      "last-event-id": weir.ids.userId,
    });
    expect([status, body.detail[0].loc]).toEqual([422, ["header", "Last-Event-ID"]]);
  });
});

test("events need credentials, and another organization's don't exist", async () => {
  await using weir = await startApp({ engine: false });
  for (const path of ["", "/verify", "/stream"]) {
    expect((await weir.anonymous("GET", `/api/v1/events${path}`)).status).toBe(401);
  }
  const made = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
  expect(made.status).toBe(201);
  await tell(contextOf(weir), "action.created", "acme-only");
  const inBeta = { "x-organization-id": made.body.id };
  const { body } = await weir.owner("GET", "/api/v1/events?limit=200", undefined, inBeta);
  expect(body.items.length).toBeGreaterThan(0);
  for (const event of body.items) expect(event.metadata.organizationId).toBe(made.body.id);
  expect((await weir.owner("GET", "/api/v1/events/verify", undefined, inBeta)).body.valid).toBe(true);
});

test("an organization's audit log is erased in parts, and nobody else's", async () => {
  await using weir = await startApp({ engine: false });
  const made = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
  await using beside = await besideOf(weir);
  await weir.owner("GET", "/api/v1/events");
  expect(await weir.app.store.write((db) => eraseTrail(weir.app, db, made.body.id, 1))).toBe(false);
  while (!(await weir.app.store.write((db) => eraseTrail(weir.app, db, made.body.id, 1))));
  const ownCount = (await weir.owner("GET", "/api/v1/events/verify")).body;
  expect(ownCount.valid).toBe(true);
  expect(await beside.rows("SELECT count(*) AS n FROM events")).toEqual([{ n: ownCount.checked }]);
  await expect(beside.run("DELETE FROM events")).rejects.toThrow("append-only");
});

test("every event type has a group and a name", () => {
  for (const type of EVENT_TYPES) expect(type).toMatch(/^[a-z_]+\.[a-z_]+$/);
});
