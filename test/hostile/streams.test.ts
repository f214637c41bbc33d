import { expect, test } from "bun:test";
import { type Operation, operation } from "../../src/http/operation.ts";
import { eventStream } from "../../src/http/stream.ts";
import { startApp } from "../support/app.ts";
import { startHranaRelay } from "../support/hrana-relay.ts";
import { join } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { KEY } from "../support/several.ts";
import { startSqld } from "../support/sqld.ts";
import { created, makeAction } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** Streams of what a test sends, without a database. */
function startFeed() {
  const told: unknown[] = [];
  let more = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const feed = operation({
    method: "GET",
    path: "/api/v1/feed",
    audience: "viewer",
    tag: "Feed",
    summary: "Follow what a test tells",
    produces: "text/event-stream",
    async handle({ visit }) {
      let at = told.length;
      return eventStream(visit, async function* (signal) {
        const gone = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        try {
          while (!signal.aborted) {
            if (at < told.length) yield { event: "message", data: told[at++] };
            else await Promise.race([more.promise, gone]);
          }
        } finally {
          ended.resolve();
        }
      });
    },
  });
  return {
    operations: [feed] as readonly Operation[],
    tell(data: unknown) {
      told.push(data);
      more.resolve();
      more = Promise.withResolvers();
    },
    /** Resolves once the source of a stream has ended. */
    ended: ended.promise,
  };
}

/** Follows the organization's events; `rest` is everything until the stream ends. */
async function follow({ origin }: Started, token: string, path = "/api/v1/events/stream") {
  const reply = await fetch(origin + path, {
    headers: { authorization: `Bearer ${token}` },
  });
  const reader = reply.body?.getReader();
  if (!reader) throw new Error("no stream");
  await reader.read(); // It is open.
  return {
    close: () => reader.cancel(),
    async rest() {
      let text = "";
      const decoder = new TextDecoder();
      for (let step = await reader.read(); !step.done; step = await reader.read())
        text += decoder.decode(step.value);
      return text;
    },
    async next() {
      return new TextDecoder().decode((await reader.read()).value);
    },
  };
}

test("a stream ends soon after the token that opened it was revoked", async () => {
  await using app = await startApp({ engine: false });
  const token = created(await app.owner("POST", "/api/v1/access-tokens", { name: "follower" }));
  const stream = await follow(app, token.token);
  await app.owner("DELETE", `/api/v1/access-tokens/${token.id}`);
  app.clock.turn(2_000);
  await makeAction(app.owner, { name: "Not for their eyes" });
  expect(await stream.rest()).not.toContain("Not for their eyes");
});

test("a stream ends soon after its user has left the organization", async () => {
  await using app = await startApp({ engine: false });
  const member = await join(app, "viewer");
  const stream = await follow(app, member.token);
  await app.owner("DELETE", `/api/v1/organizations/team/members/${member.membership.id}`);
  app.clock.turn(2_000);
  await makeAction(app.owner, { name: "Not for their eyes" });
  expect(await stream.rest()).not.toContain("Not for their eyes");
});

test("a stream continues as long as it is allowed", async () => {
  await using app = await startApp({ engine: false });
  const stream = await follow(app, app.token);
  app.clock.turn(60_000);
  await makeAction(app.owner, { name: "First" });
  expect(await stream.next()).toContain("First");
  app.clock.turn(60_000);
  await makeAction(app.owner, { name: "Second" });
  expect(await stream.next()).toContain("Second");
  await stream.close();
});

deepTest("a stream continues while the database is temporarily unavailable", async () => {
  await using database = await startSqld();
  const feed = startFeed();
  await using app = await startApp({
    env: { WEIR_DATABASE_URL: database.url, WEIR_SECRET_KEY: KEY },
    engine: false,
    operations: feed.operations,
  });
  const stream = await follow(app, app.token, "/api/v1/feed");
  await database.kill();
  for (const word of ["during", "still"]) {
    app.clock.turn(2_000);
    feed.tell(word);
    expect(await stream.next()).toContain(word);
  }
  await database.start();
  app.clock.turn(2_000);
  feed.tell("after");
  expect(await stream.next()).toContain("after");
  await stream.close();
  await feed.ended;
});

test("the source of a stream ends when the stream fails", async () => {
  const feed = startFeed();
  await using app = await startApp({ engine: false, operations: feed.operations });
  const stream = await follow(app, app.token, "/api/v1/feed");
  feed.tell(1n); // JSON has none.
  await stream.rest().catch(() => undefined); // However the client notices it.
  await feed.ended;
});

test("many streams of one credential look it up once", async () => {
  await using database = await startSqld();
  await using relay = startHranaRelay(database);
  const feed = startFeed();
  await using app = await startApp({
    env: { WEIR_DATABASE_URL: relay.url, WEIR_SECRET_KEY: KEY },
    engine: false,
    stands: true,
    operations: feed.operations,
  });
  const streams = await Promise.all(Array.from({ length: 8 }, () => follow(app, app.token, "/api/v1/feed")));
  for (const word of ["first", "second"]) {
    relay.log.length = 0;
    app.clock.turn(2_000);
    feed.tell(word);
    for (const stream of streams) expect(await stream.next()).toContain(word);
    expect(relay.log.filter((text) => text.includes('from "access_tokens"'))).toHaveLength(1);
  }
  for (const stream of streams) await stream.close();
});
