import { describe, expect, test } from "bun:test";
import { eq, like } from "drizzle-orm";
import { ConfigError, readConfig } from "../../src/config.ts";
import { startEngine } from "../../src/engine/start.ts";
import { deadLetters } from "../../src/resources/dead-letters/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { outboundDeliveries, webhooks } from "../../src/resources/webhooks/table.ts";
import { settings } from "../../src/store/settings.ts";
import { type StartOptions, startApp } from "../support/app.ts";
import {
  deliveriesOf,
  eventually,
  happen,
  newest,
  subscribe,
  tellOf,
  WEBHOOKS,
} from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import { makeAction, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const COMPLETED = { events: ["action.completed"] };
/** What the receiver holds isn't given up in the meantime. */
const PATIENT = { WEIR_WEBHOOK_TIMEOUT: "300" };
const idOf = ({ text }: { text: string }): string => JSON.parse(text).entity.id;
const show = async ({ owner }: Started, id: string) => (await owner("GET", `${WEBHOOKS}/${id}`)).body;
const whole = async ({ owner }: Started, webhookId: string, id: string) =>
  (await owner("GET", `${WEBHOOKS}/${webhookId}/deliveries/${id}`)).body;
const typesOf = async ({ app }: Started, entityId: string) =>
  (await app.store.db.select().from(events).where(eq(events.entityId, entityId)).orderBy(events.seq)).map(
    ({ type }) => type,
  );
const rowsOf = ({ app }: Started) => app.store.db.select().from(outboundDeliveries);
const isSettled = async (app: Started) => (await rowsOf(app)).every(({ dueAt }) => dueAt === null);
/** Milliseconds until the next attempt of the only delivery. */
const pauseOf = async (app: Started) => {
  const [row] = await rowsOf(app);
  return Date.parse(row?.dueAt ?? "") - Date.parse(row?.completedAt ?? "");
};

describe("the schedule", () => {
  test("attempts eight times over more than a day, then stores the delivery as a dead letter", async () => {
    await using receiver = startReceiver(() => new Response("not now", { status: 503 }));
    await using app = await startApp({ stands: true });
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    await tellOf(app);
    const steps = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
    for (const [index, step] of steps.entries()) {
      await eventually(async () => (await rowsOf(app))[0]?.attempts === index + 1);
      const pauseMs = await pauseOf(app);
      expect([step, pauseMs >= step * 900, pauseMs <= step * 1100]).toEqual([step, true, true]);
      app.clock.turn(pauseMs);
    }
    await eventually(() => isSettled(app));
    const [row] = await rowsOf(app);
    expect(row).toMatchObject({ status: "dead_letter", attempts: 8, replyCode: 503 });
    expect(receiver.got).toHaveLength(8);
    expect(new Set(receiver.got.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    const stamps = receiver.got.map(({ headers }) => Number(headers.get("webhook-timestamp")));
    expect((stamps.at(-1) ?? 0) - (stamps[0] ?? 0)).toBeGreaterThan(90_000);
    const [letter] = await app.app.store.db.select().from(deadLetters);
    expect(letter).toMatchObject({ source: "outbound", sourceId: id, deliveryId: row?.id, attempts: 8 });
    expect(await typesOf(app, letter?.id ?? "")).toEqual(["webhook.dead_lettered"]);
    expect(await app.app.store.db.select().from(webhooks)).toMatchObject([{ id, status: "active" }]);
  });

  deepTest("follows the receiver's request, up to twice the step", async () => {
    let retryAfter = () => "";
    await using receiver = startReceiver(
      () => new Response(null, { status: 429, headers: { "retry-after": retryAfter() } }),
    );
    const env = { WEIR_WEBHOOK_SCHEDULE: "0,100,100,100,100" };
    await using app = await startApp({ stands: true, env });
    await subscribe(app, receiver.url, COMPLETED);
    const later = () => new Date(app.clock.now().getTime() + 180_000).toUTCString();
    const expected: [() => string, number, number][] = [
      [() => "150", 150, 150],
      [() => "100000", 200, 200],
      [later, 179, 180],
      [() => "1", 90, 110],
    ];
    for (const [index, [make, least, most]] of expected.entries()) {
      retryAfter = make;
      if (index === 0) await tellOf(app);
      else app.clock.turn(await pauseOf(app));
      await eventually(async () => (await rowsOf(app))[0]?.attempts === index + 1);
      const seconds = (await pauseOf(app)) / 1000;
      expect([index, seconds >= least, seconds <= most]).toEqual([index, true, true]);
    }
  });

  test("is what the setting says", async () => {
    await using receiver = startReceiver(() => new Response(null, { status: 500 }));
    await using app = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0,0,0" } });
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    await tellOf(app);
    const row = await newest(app, id, "dead_letter");
    const { attempts } = await whole(app, id, row.id);
    expect(attempts).toEqual(
      [1, 2, 3].map((number) => ({
        number,
        startedAt: expect.any(String),
        durationMs: expect.any(Number),
        replyCode: 500,
        replyExcerpt: null,
        error: {
          code: "unexpected_status",
          message: "The receiver returned 500.",
          retryable: true,
          attempt: number,
          details: { status: 500 },
        },
      })),
    );
  });
});

test("the settings are parsed as written, and an invalid one stops the start", () => {
  const read = (env: Record<string, string>) => readConfig({}, env, {}).config;
  expect(read({})).toMatchObject({
    webhookSchedule: [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000],
    webhookTimeout: 15,
    webhookDisableAfter: 432_000,
  });
  expect(read({ WEIR_WEBHOOK_SCHEDULE: "0, 1,2" }).webhookSchedule).toEqual([0, 1, 2]);
  // The first attempt is always immediate.
  expect(read({ WEIR_WEBHOOK_SCHEDULE: "7,8" }).webhookSchedule).toEqual([0, 7, 8]);
  for (const bad of [" ", "0,,1", "0,-1", "1.5", "soon", Array(51).fill("1").join(",")])
    expect(() => read({ WEIR_WEBHOOK_SCHEDULE: bad })).toThrow(ConfigError);
  for (const [name, value] of [
    ["WEIR_WEBHOOK_TIMEOUT", "0"],
    ["WEIR_WEBHOOK_TIMEOUT", "301"],
    ["WEIR_WEBHOOK_DISABLE_AFTER", "0"],
  ])
    expect(() => read({ [name as string]: value as string })).toThrow(ConfigError);
});

describe("a receiver", () => {
  const once = { env: { WEIR_WEBHOOK_SCHEDULE: "0" } };
  const impatient = { env: { ...once.env, WEIR_WEBHOOK_TIMEOUT: "1" } };
  /** Delivers to it once, and returns the only attempt. */
  const tryOn = async (url: string, options: StartOptions = once) => {
    await using app = await startApp(options);
    const { id } = await subscribe(app, url, COMPLETED);
    await tellOf(app);
    await eventually(async () => (await rowsOf(app)).length === 1 && (await isSettled(app)));
    const [row] = await deliveriesOf(app, id);
    const { attempts } = await whole(app, id, row.id);
    return { row, attempt: attempts[0], attempts: attempts.length };
  };

  test("that redirects is not followed", async () => {
    await using elsewhere = startReceiver();
    await using receiver = startReceiver(() => Response.redirect(`${elsewhere.url}/`, 307));
    const { row } = await tryOn(receiver.url);
    expect(row).toMatchObject({
      status: "dead_letter",
      replyCode: 307,
      error: { message: "The receiver returned 307. Redirects are not followed." },
    });
    expect(elsewhere.got).toEqual([]);
  });

  deepTest("that never responds, or begins and never ends, has failed after its timeout", async () => {
    await using hanging = startReceiver(() => new Promise(() => {}));
    const { row } = await tryOn(hanging.url, impatient);
    expect(row).toMatchObject({ status: "dead_letter", replyCode: null, error: { code: "timeout" } });
    await using dripping = startReceiver(
      () => new Response(new ReadableStream({ pull: () => Bun.sleep(1000) })),
    );
    expect((await tryOn(dripping.url, impatient)).row).toMatchObject({
      status: "dead_letter",
      error: { code: "timeout" },
    });
  });

  test("that refuses the connection has failed", async () => {
    const receiver = startReceiver();
    await receiver[Symbol.asyncDispose]();
    expect((await tryOn(receiver.url)).row).toMatchObject({ replyCode: null, error: { code: "upstream" } });
  });

  test("that floods or sends a bomb has delivered; the first KiB of its response is stored", async () => {
    const flood = () =>
      new Response(new ReadableStream({ pull: (to) => to.enqueue(Buffer.alloc(65_536, "a")) }));
    await using flooding = startReceiver(flood);
    const { row, attempt } = await tryOn(flooding.url);
    expect([row.status, attempt.replyExcerpt]).toEqual(["delivered", "a".repeat(1024)]);
    const bomb = Bun.gzipSync(Buffer.alloc(64 * 1024 * 1024, "b"));
    await using bombing = startReceiver(
      () => new Response(bomb, { headers: { "content-encoding": "gzip" } }),
    );
    expect((await tryOn(bombing.url)).attempt.replyExcerpt).toBe("b".repeat(1024));
  });

  test("that responds with secrets finds them masked in what is stored", async () => {
    const cut = `{"a":1,"password":"hunter22","nested":{"apiKey":"k3y"},"pad":"${"x".repeat(2000)}"}`;
    const replies: [string, string][] = [
      ['{"token":"abc","ok":1}', '{"token":"***","ok":1}'],
      ["Bearer abcdefgh", "Bearer ***"],
      [cut, `{"a":1,"password":"***","nested":{"apiKey":"***"},"pad":"${"x".repeat(2000)}"}`.slice(0, -1)],
      ["you said a-secret-of-the-receiver", "you said ***"],
      ["", ""],
      ["ok", "ok"],
    ];
    let n = 0;
    await using receiver = startReceiver(() => new Response(replies[n]?.[0]));
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    for (; n < replies.length; n++) {
      await tellOf(app);
      await eventually(async () => (await rowsOf(app)).length === n + 1 && (await isSettled(app)));
      const [row] = await deliveriesOf(app, id);
      const kept = (await whole(app, id, row.id)).attempts[0].replyExcerpt ?? "";
      const expected = replies[n]?.[1] ?? "";
      expect([n, expected.startsWith(kept) && (expected.length > 1000 || kept === expected)]).toEqual([
        n,
        true,
      ]);
      expect(kept).not.toMatch(/hunter22|k3y|abcdefgh|secret-of/);
    }
  });

  test("that is gone disables its subscription, and later events are held", async () => {
    let status = 410;
    await using receiver = startReceiver(() => new Response(null, { status }));
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    const told = await tellOf(app, 1);
    await until(app.owner, `${WEBHOOKS}/${id}`, (row) => row.status === "disabled");
    expect(await show(app, id)).toMatchObject({ disabledReason: "The receiver returned 410 (Gone)." });
    expect((await typesOf(app, id)).at(-1)).toBe("webhook.disabled");
    told.push(...(await tellOf(app, 700)));
    await app.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "disabled" });
    status = 200;
    expect(receiver.got).toHaveLength(1);
    const on = await app.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "active" });
    expect(on.body).toMatchObject({ status: "active", disabledReason: null });
    await eventually(() => receiver.got.length >= 702);
    await eventually(() => isSettled(app));
    expect(receiver.got.slice(1).map(idOf).toSorted()).toEqual(told.toSorted());
    const [row] = await app.app.store.db.select().from(webhooks);
    expect(row).toMatchObject({ heldFrom: null, heldTo: null, failingSince: null });
  });

  deepTest("that is slow delays no other, however many there are", async () => {
    const open = Promise.withResolvers<void>();
    await using slow = startReceiver(() => open.promise.then(() => new Response()));
    await using quick = startReceiver();
    await using app = await startApp({ env: PATIENT });
    const slows = [await subscribe(app, slow.url, COMPLETED), await subscribe(app, slow.url, COMPLETED)];
    const { id } = await subscribe(app, quick.url, COMPLETED);
    const told = new Set(await tellOf(app, 1500));
    await eventually(() => new Set(quick.got.map(idOf)).size === told.size);
    await tellOf(app, 300);
    await eventually(() => quick.got.length === 1800);
    const answered = await deliveriesOf(app, slows[0].id, "status=delivered");
    expect([answered, slow.got.length < 100]).toEqual([[], true]);
    await eventually(async () => (await deliveriesOf(app, id, "status=pending")).length === 0);
    open.resolve();
    await eventually(() => slow.got.length === 3600);
    await eventually(() => isSettled(app));
  });
});

describe("a subscription with nothing but failures", () => {
  const env = { WEIR_WEBHOOK_SCHEDULE: "0", WEIR_WEBHOOK_DISABLE_AFTER: "3600" };

  test("is disabled after the configured time, and an event says so", async () => {
    let status = 500;
    await using receiver = startReceiver(() => new Response(null, { status }));
    await using app = await startApp({ env });
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    const send = async () => {
      const { length } = receiver.got;
      await tellOf(app);
      await eventually(() => receiver.got.length > length);
      await eventually(() => isSettled(app));
    };
    await send();
    app.clock.turn(3_000_000);
    await send();
    status = 200;
    await send(); // After a success, the time starts again.
    status = 500;
    app.clock.turn(3_000_000);
    await send();
    app.clock.turn(3_000_000);
    await send();
    expect((await show(app, id)).status).toBe("active");
    app.clock.turn(700_000);
    await send();
    const off = await show(app, id);
    expect(off).toMatchObject({
      status: "disabled",
      disabledReason: expect.stringMatching(/^All deliveries have failed since 2/),
    });
    const [told] = (await app.app.store.db.select().from(events).where(eq(events.entityId, id))).slice(-1);
    expect(told).toMatchObject({
      type: "webhook.disabled",
      actorType: "system",
      actorId: "deliverer",
      data: { url: receiver.url, reason: off.disabledReason },
    });
  });

  test("reports itself once, not forever, however many subscribe to everything", async () => {
    await using receiver = startReceiver(() => new Response(null, { status: 500 }));
    await using app = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0" } });
    for (let n = 0; n < 3; n++) await subscribe(app, receiver.url, { events: ["*"] });
    await happen(app);
    const count = (type: string) =>
      app.app.store.db.$count(events, eq(events.type, type as "webhook.dead_lettered"));
    // Each of the three reports the connection; the later ones also the previous dead letters;
    // all receive the three dead letters.
    await eventually(async () => (await count("webhook.dead_lettered")) === 3 && (await isSettled(app)));
    const before = await app.app.store.db.$count(events);
    await eventually(async () => {
      const all = await rowsOf(app);
      return all.filter(({ eventType }) => eventType === "webhook.dead_lettered").length === 9;
    });
    await eventually(() => isSettled(app));
    await Bun.sleep(600); // Longer than the deliverer pauses.
    expect([await app.app.store.db.$count(events), await isSettled(app)]).toEqual([before, true]);
  });
});

deepTest(
  "earlier events aren't for a subscription that added their type later, even after a restart",
  async () => {
    await using receiver = startReceiver();
    await using installation = await startInstallation();
    let server = await installation.serve();
    const { id } = await subscribe(server, receiver.url, { events: ["connection.deleted"] });
    await happen(server);
    await Bun.sleep(700); // Longer than the deliverer pauses.
    await server.owner("PATCH", `${WEBHOOKS}/${id}`, { events: ["connection.created"] });
    await Bun.sleep(700);
    await server.end("SIGKILL");
    server = await installation.serve();
    const after = await happen(server);
    await eventually(() => receiver.got.length > 0);
    expect(receiver.got.map(idOf)).toEqual([after]);
  },
  120_000,
);

describe("while a subscription is disabled", () => {
  test("events are held and delivered afterwards, once each, whatever happens in between", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url, COMPLETED);
    const turn = (status: string) => app.owner("PATCH", `${WEBHOOKS}/${id}`, { status });
    const told = await tellOf(app, 3);
    for (let round = 0; round < 4; round++) {
      await turn("disabled");
      told.push(...(await tellOf(app, 600)));
      await turn("active");
      told.push(...(await tellOf(app, 20)));
    }
    await eventually(() => receiver.got.length >= told.length);
    await eventually(() => isSettled(app));
    expect(receiver.got.map(idOf).toSorted()).toEqual(told.toSorted());
  });

  test("a restart doesn't change that, nor does another organization's event", async () => {
    await using receiver = startReceiver();
    await using installation = await startInstallation();
    let server = await installation.serve();
    const { id } = await subscribe(server, receiver.url);
    const other = await subscribe(server, receiver.url, { events: ["connection.deleted"] });
    await server.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "disabled" });
    const ids = [await happen(server), await happen(server)];
    await server.owner("DELETE", `/api/v1/connections/${ids[0]}`);
    await newest(server, other.id, "delivered");
    await server.end("SIGKILL");
    server = await installation.serve();
    ids.push(await happen(server));
    await server.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "active" });
    await eventually(() => receiver.got.length === 4);
    const created = receiver.got.filter(({ text }) => JSON.parse(text).type === "connection.created");
    expect(created.map(idOf).toSorted()).toEqual(ids.toSorted());
  }, 120_000);
});

describe("an event is for a subscription that had its type when it happened", () => {
  const types = (app: Pick<Started, "owner">, id: string, ...events: string[]) =>
    app.owner("PATCH", `${WEBHOOKS}/${id}`, { events });
  const turn = (app: Pick<Started, "owner">, id: string, status: string) =>
    app.owner("PATCH", `${WEBHOOKS}/${id}`, { status });
  const act = async (app: Started, name: string) => (await makeAction(app.owner, { name })).id as string;

  test("even if its types change while it is disabled, once or repeatedly", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url, { events: ["connection.created"] });
    await turn(app, id, "disabled");
    const wanted = [await happen(app)];
    await act(app, "Too early");
    await types(app, id, "action.created");
    await happen(app); // Too late.
    wanted.push(await act(app, "In time"));
    await types(app, id, "connection.created");
    await act(app, "Too late");
    wanted.push(await happen(app));
    await turn(app, id, "active");
    wanted.push(await happen(app));
    await eventually(() => receiver.got.length >= wanted.length);
    await eventually(() => isSettled(app));
    expect(receiver.got.map(idOf).toSorted()).toEqual(wanted.toSorted());
    expect(await app.app.store.db.$count(settings, like(settings.key, "webhook_former%"))).toBe(0);
  });

  test("even if they change before the audit log was followed, while it catches up, and across a restart", async () => {
    await using receiver = startReceiver();
    await using app = await startApp({ engine: false });
    const { id } = await subscribe(app, receiver.url, { events: ["connection.created"] });
    const wanted = [await happen(app)];
    await act(app, "Too early");
    await types(app, id, "action.created");
    wanted.push(await act(app, "In time"));
    await happen(app); // Too late.
    await turn(app, id, "disabled");
    await turn(app, id, "active");
    await types(app, id, "connection.deleted");
    await act(app, "Too late");
    const engine = await startEngine(app.app);
    await eventually(() => receiver.got.length >= wanted.length);
    await eventually(() => isSettled(app));
    expect(receiver.got.map(idOf).toSorted()).toEqual(wanted.toSorted());
    await engine.stop(0);
  });

  test("and a deleted subscription leaves none of its types", async () => {
    await using app = await startApp({ engine: false });
    const { id } = await subscribe(app, "http://127.0.0.1:9/", { events: ["connection.created"] });
    await happen(app);
    await types(app, id, "action.created");
    await app.owner("DELETE", `${WEBHOOKS}/${id}`);
    expect(await app.app.store.db.$count(settings, like(settings.key, "webhook_former%"))).toBe(0);
  });
});

test("nothing is lost to kill -9, whatever a delivery's state", async () => {
  const open = Promise.withResolvers<void>();
  let deaths = 0;
  await using receiver = startReceiver(async (_, count) => {
    if (deaths === 0 && count > 5) await open.promise; // In progress when the process ends.
    if (deaths === 1 && count % 3 === 0) return new Response(null, { status: 500 });
    return new Response();
  });
  await using installation = await startInstallation({ ...PATIENT, WEIR_WEBHOOK_SCHEDULE: "0,0,1,1,1,1" });
  let server = await installation.serve();
  const { id } = await subscribe(server, receiver.url);
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) ids.push(await happen(server));
  await eventually(() => receiver.got.length > 5);
  await server.end("SIGKILL");
  deaths = 1;
  open.resolve();
  server = await installation.serve();
  for (let n = 0; n < 10; n++) ids.push(await happen(server));
  await eventually(() => receiver.got.length > 30);
  await server.end("SIGKILL");
  deaths = 2;
  server = await installation.serve();
  const path = `${WEBHOOKS}/${id}/deliveries?limit=200`;
  const { items } = await until(
    server.owner,
    path,
    ({ items: all }) =>
      all.length === 40 && all.every((one: { status: string }) => one.status === "delivered"),
  );
  expect(items).toHaveLength(40);
  expect(new Set(receiver.got.map(idOf))).toEqual(new Set(ids));
}, 120_000);

test("when it stops, the server returns what it hasn't sent, and counts no attempt", async () => {
  await using receiver = startReceiver(() => new Promise(() => {}));
  await using app = await startApp({ env: PATIENT });
  await subscribe(app, receiver.url, COMPLETED);
  await tellOf(app, 200);
  await eventually(() => receiver.got.length > 0);
  await app.engine?.stop(0);
  const rows = await rowsOf(app);
  expect(rows).toHaveLength(200);
  for (const row of rows) expect(row).toMatchObject({ status: "pending", attempts: 0, takenBy: null });
});

deepTest(
  "of two processes on one store, one sends each delivery",
  async () => {
    await using server = await startSqld();
    await using receiver = startReceiver();
    const env = {
      WEIR_DATABASE_URL: server.url,
      WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    await using one = await startApp({ env });
    await using two = await startApp({ env, owner: false });
    await subscribe(one, receiver.url, COMPLETED);
    const told: string[] = [];
    for (let n = 0; n < 12; n++) {
      told.push(...(await tellOf(one, 5)));
      await Bun.sleep(20);
    }
    await eventually(() => receiver.got.length >= told.length);
    await eventually(() => isSettled(two));
    expect(receiver.got.map(idOf).toSorted()).toEqual(told.toSorted());
  },
  120_000,
);

test("a response with a length that is sent in chunks isn't read to its end", async () => {
  let sent = 0;
  await using liar = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        const chunk = `10000\r\n${"c".repeat(65_536)}\r\n`;
        const head = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write(head);
        const timer = setInterval(() => {
          if (socket.write(chunk) <= 0 || ++sent > 2000) clearInterval(timer);
        }, 1);
      },
    },
  });
  await using app = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0", WEIR_WEBHOOK_TIMEOUT: "5" } });
  const { id } = await subscribe(app, `http://127.0.0.1:${liar.port}`, COMPLETED);
  await tellOf(app);
  await eventually(async () => (await rowsOf(app)).length === 1 && (await isSettled(app)));
  const [row] = await deliveriesOf(app, id);
  expect(["delivered", "dead_letter"]).toContain(row.status);
  expect((await rowsOf(app))[0]?.replyExcerpt?.length ?? 0).toBeLessThanOrEqual(1024);
});
