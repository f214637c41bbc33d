import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { events } from "../../src/resources/events/table.ts";
import { webhooks } from "../../src/resources/webhooks/table.ts";
import { startApp } from "../support/app.ts";
import { makeHook } from "../support/hook.ts";
import {
  deliveriesOf,
  eventually,
  happen,
  newest,
  OUT_SECRET,
  subscribe,
  tellOf,
  WEBHOOKS,
} from "../support/outbound.ts";
import { join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { faultsOf, NOBODY, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const URL = "https://example.com/weir";
const LETTERS = "/api/v1/dead-letters";

const trailOf = async ({ app }: Started, entityId: string) =>
  (await app.store.db.select().from(events).where(eq(events.entityId, entityId)).orderBy(events.seq)).map(
    ({ type, data }) => [type, data],
  );

describe("a subscription", () => {
  test("is returned completely, with its secret only once", async () => {
    await using app = await startApp({ engine: false });
    const body = { url: `${URL}?token=abcdef`, events: ["action.*", "decision.requested"] };
    const made = await app.owner("POST", WEBHOOKS, body);
    const { secret, ...row } = made.body;
    expect([made.status, row]).toEqual([
      201,
      {
        id: expect.stringMatching(ID),
        ...body,
        status: "active",
        disabledReason: null,
        createdAt: expect.stringMatching(INSTANT),
        updatedAt: row.createdAt,
      },
    ]);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await app.owner("GET", `${WEBHOOKS}/${row.id}`)).body).toEqual(row);
    expect((await app.owner("GET", WEBHOOKS)).body).toEqual({ items: [row] });
    expect(await trailOf(app, row.id)).toEqual([
      ["webhook.created", { url: `${URL}?token=***`, events: body.events }],
    ]);
    const [kept] = await app.app.store.db.select().from(webhooks);
    expect(JSON.stringify(kept)).not.toContain(secret);
  });

  test("is shown in events without the token in its path", async () => {
    await using app = await startApp({ engine: false });
    const url = "https://hooks.example.com/services/T0001/catch/abcSECRETxyz/";
    const made = (await app.owner("POST", WEBHOOKS, { url, events: ["*"] })).body;
    const moved = url.replace("xyz", "abc");
    await app.owner("PATCH", `${WEBHOOKS}/${made.id}`, { url: moved });
    await app.owner("PATCH", `${WEBHOOKS}/${made.id}`, { status: "disabled" });
    await app.owner("DELETE", `${WEBHOOKS}/${made.id}`);
    const shown = "https://hooks.example.com/services/T0001/catch/***/";
    expect(await trailOf(app, made.id)).toEqual([
      ["webhook.created", { url: shown, events: ["*"] }],
      ["webhook.updated", { changes: [{ field: "url", from: shown, to: shown }] }],
      ["webhook.disabled", { url: shown, reason: null }],
      ["webhook.deleted", { url: shown }],
    ]);
  });

  test("created again with the same key is the same, with its secret", async () => {
    await using app = await startApp({ engine: false });
    const body = { url: URL, events: ["*"] };
    const key = { "idempotency-key": "one-subscription" };
    const made = await app.owner("POST", WEBHOOKS, body, key);
    const again = await app.owner("POST", WEBHOOKS, body, key);
    expect([again.status, again.body]).toEqual([201, made.body]);
    expect(await app.app.store.db.$count(webhooks)).toBe(1);
  });

  test("accepts only valid fields, and reports every fault", async () => {
    await using app = await startApp({ engine: false });
    const post = (more: object) => app.owner("POST", WEBHOOKS, { url: URL, events: ["*"], ...more });
    const bad = {
      url: "ftp://example.com",
      events: ["action.*", "acton.created", "acti*"],
      secret: "x".repeat(15),
      on: 1,
    };
    expect(faultsOf(await post(bad)).sort()).toEqual([
      "body.events.1 enum",
      "body.events.2 enum",
      "body.on extra_forbidden",
      "body.secret string_too_short",
      "body.url url_parsing",
    ]);
    expect(faultsOf(await app.owner("POST", WEBHOOKS, {}))).toEqual([
      "body.url missing",
      "body.events missing",
    ]);
    for (const url of [
      "http://",
      "https://ada:secret@example.com/",
      "javascript:alert(1)",
      "//example.com",
      "http://a b",
    ])
      expect([url, faultsOf(await post({ url }))]).toEqual([url, ["body.url url_parsing"]]);
    const path = (length: number) => `https://example.com/${"a".repeat(length - 20)}`;
    for (const [more, fault] of [
      [{ url: path(2049) }, "body.url string_too_long"],
      [{ url: "" }, "body.url string_too_short"],
      [{ events: [] }, "body.events too_short"],
      [{ events: Array(101).fill("*") }, "body.events too_long"],
      [{ events: "*" }, "body.events list_type"],
      [{ events: [""] }, "body.events.0 string_too_short"],
      [{ secret: "x".repeat(513) }, "body.secret string_too_long"],
    ] as const)
      expect(faultsOf(await post(more))).toEqual([fault]);
    for (const more of [
      { url: path(2048) },
      { events: Array(100).fill("*") },
      { secret: "x".repeat(16) },
      { secret: "x".repeat(512) },
      { secret: null },
    ])
      expect((await post(more)).status).toBe(201);
  });

  test("changes only the given fields, and records what changed", async () => {
    await using app = await startApp({ engine: false });
    const { secret: _, ...made } = await subscribe(app, URL);
    const patch = (body: object) => app.owner("PATCH", `${WEBHOOKS}/${made.id}`, body);
    app.clock.turn(5000);
    for (const same of [{}, { url: URL, events: ["connection.created"], status: "active" }])
      expect((await patch(same)).body).toEqual(made);
    const moved = await patch({ url: `${URL}/2?key=s3cret`, events: ["*"] });
    expect([moved.status, moved.body]).toEqual([
      200,
      { ...made, url: `${URL}/2?key=s3cret`, events: ["*"], updatedAt: expect.stringMatching(INSTANT) },
    ]);
    expect(moved.body.updatedAt > made.updatedAt).toBe(true);
    const off = await patch({ status: "disabled" });
    expect(off.body).toEqual({ ...moved.body, status: "disabled", updatedAt: off.body.updatedAt });
    expect((await patch({ status: "active" })).body.status).toBe("active");
    expect((await trailOf(app, made.id)).slice(1)).toEqual([
      [
        "webhook.updated",
        {
          changes: [
            { field: "url", from: URL, to: `${URL}/2?key=***` },
            { field: "events", from: ["connection.created"], to: ["*"] },
          ],
        },
      ],
      ["webhook.disabled", { url: `${URL}/2?key=***`, reason: null }],
      ["webhook.enabled", { url: `${URL}/2?key=***`, reason: null }],
    ]);
    for (const [body, fault] of [
      [{ secret: OUT_SECRET }, "body.secret extra_forbidden"],
      [{ disabledReason: null }, "body.disabledReason extra_forbidden"],
      [{ url: null }, "body.url string_type"],
      [{ url: "mailto:a@b.c" }, "body.url url_parsing"],
      [{ events: ["nothing.here"] }, "body.events.0 enum"],
      [{ status: "paused" }, "body.status enum"],
    ] as const)
      expect(faultsOf(await patch(body))).toEqual([fault]);
  });

  test("is listed page by page, and gone once deleted", async () => {
    await using app = await startApp({ engine: false });
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.unshift((await subscribe(app, `${URL}/${n}`)).id);
    const idsOf = (body: { items: { id: string }[] }) => body.items.map(({ id }) => id);
    const first = (await app.owner("GET", `${WEBHOOKS}?limit=2`)).body;
    const rest = (
      await app.owner("GET", `${WEBHOOKS}?limit=2&cursor=${encodeURIComponent(first.nextCursor)}`)
    ).body;
    expect([idsOf(first), idsOf(rest), "nextCursor" in rest]).toEqual([
      made.slice(0, 2),
      made.slice(2),
      false,
    ]);
    expect(faultsOf(await app.owner("GET", `${WEBHOOKS}?limit=201`))).toEqual([
      "query.limit less_than_equal",
    ]);
    expect(faultsOf(await app.owner("GET", `${WEBHOOKS}?limit=0`))).toEqual([
      "query.limit greater_than_equal",
    ]);
    expect((await app.owner("GET", `${WEBHOOKS}?limit=200`)).status).toBe(200);
    const gone = await app.owner("DELETE", `${WEBHOOKS}/${made[0]}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await app.owner("DELETE", `${WEBHOOKS}/${made[0]}`)).status).toBe(404);
    expect(idsOf((await app.owner("GET", WEBHOOKS)).body)).toEqual(made.slice(1));
    expect((await trailOf(app, made[0] ?? "")).at(-1)).toEqual(["webhook.deleted", { url: `${URL}/2` }]);
  });

  test("is for admins of its own organization", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url);
    await happen(app);
    const { id: deliveryId } = await newest(app, id, "delivered");
    const one = `${WEBHOOKS}/${id}`;
    const calls = [
      ["GET", WEBHOOKS],
      ["POST", WEBHOOKS, { url: URL, events: ["*"] }],
      ["GET", one],
      ["PATCH", one, { status: "active" }],
      ["POST", `${one}/test`],
      ["POST", `${one}/rotate-secret`],
      ["GET", `${one}/deliveries`],
      ["GET", `${one}/deliveries/${deliveryId}`],
      ["POST", `${one}/deliveries/${deliveryId}/redeliver`],
      ["DELETE", one],
    ] as const;
    const [member, admin, other] = [
      await join(app, "member"),
      await join(app, "admin"),
      await neighbour(app),
    ];
    for (const [method, path, body] of calls) {
      expect([path, (await member.call(method, path, body)).status]).toEqual([path, 403]);
      if (path === WEBHOOKS) continue;
      const foreign = await other.call(method, path, body, { "x-correlation-id": "foreign-or-not" });
      const nobody = await other.call(method, path.replace(id, NOBODY), body, {
        "x-correlation-id": "foreign-or-not",
      });
      expect([foreign.status, foreign.text]).toEqual([404, nobody.text]);
    }
    expect(faultsOf(await app.owner("GET", `${WEBHOOKS}/x`))).toEqual(["path.webhook_id uuid_parsing"]);
    expect((await app.owner("GET", `${one}/deliveries/${NOBODY}`)).status).toBe(404);
    for (const [method, path, body] of calls)
      expect([path, (await admin.call(method, path, body)).status < 300]).toEqual([path, true]);
  });
});

describe("a delivery", () => {
  test("contains the event as in the list of events, with both signatures", async () => {
    await using receiver = startReceiver(() => Response.json({ ok: true, token: "s3cret" }));
    await using app = await startApp();
    const { id, secret } = await subscribe(app, `${receiver.url}/in?x=1`, { secret: undefined });
    const entityId = await happen(app);
    const row = await newest(app, id, "delivered");
    const { items } = (await app.owner("GET", `/api/v1/events?entityId=${entityId}`)).body;
    const [got] = receiver.got;
    expect(JSON.parse(got?.text ?? "")).toEqual(items[0]);
    const headers = Object.fromEntries(got?.headers ?? []);
    expect([receiver.got.length, got?.method, got?.path]).toEqual([1, "POST", "/in?x=1"]);
    expect(headers).toMatchObject({ "content-type": "application/json", "webhook-id": items[0].id });
    expect(headers["webhook-timestamp"]).toBe(headers["x-svc-timestamp"] ?? "");
    expect(new Webhook(secret).verify(got?.text ?? "", headers)).toEqual(items[0]);
    const svix = new SvixWebhook(secret);
    expect(() => svix.verify(got?.text ?? "", headers)).not.toThrow();
    expect(() => svix.verify(`${got?.text} `, headers)).toThrow();
    const own = new Bun.CryptoHasher("sha256", secret).update(`${headers["x-svc-timestamp"]}.${got?.text}`);
    expect(headers["x-svc-signature"]).toBe(`sha256=${own.digest("hex")}`);

    expect(row).toEqual({
      id: expect.stringMatching(ID),
      webhookId: id,
      eventId: items[0].id,
      eventType: "connection.created",
      status: "delivered",
      attempts: 1,
      replyCode: 200,
      durationMs: expect.any(Number),
      createdAt: expect.stringMatching(INSTANT),
      nextAttemptAt: null,
      completedAt: expect.stringMatching(INSTANT),
      replayOf: null,
      isTest: false,
      error: null,
    });
    expect((await app.owner("GET", `${WEBHOOKS}/${id}/deliveries/${row.id}`)).body).toEqual({
      ...row,
      payload: items[0],
      attempts: [
        {
          number: 1,
          startedAt: expect.stringMatching(INSTANT),
          durationMs: row.durationMs,
          replyCode: 200,
          replyExcerpt: '{"ok":true,"token":"***"}',
          error: null,
        },
      ],
    });
  });

  test("goes to those who subscribed to its type, in its own organization", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const other = await neighbour(app);
    const wanted = [["connection.created"], ["connection.*"], ["*"], ["action.*"], ["connection.deleted"]];
    const ids: string[] = [];
    for (const types of wanted) ids.push((await subscribe(app, receiver.url, { events: types })).id);
    const foreign = await subscribe({ owner: other.call }, receiver.url, { events: ["*"] });
    const old = await subscribe(app, receiver.url, { events: ["*"] });
    // As stored by versions that accepted it.
    const stored = { events: ["connec*"] };
    await app.app.store.write((db) => db.update(webhooks).set(stored).where(eq(webhooks.id, old.id)));
    await happen(app);
    await newest(app, old.id, "delivered");
    for (const id of ids.slice(0, 3)) await newest(app, id, "delivered");
    const typesOf = async (id: string) =>
      (await deliveriesOf(app, id)).map(({ eventType }: { eventType: string }) => eventType);
    expect(await Promise.all(ids.map(typesOf))).toMatchObject([
      ["connection.created"],
      ["connection.created"],
      expect.arrayContaining(["connection.created"]),
      [],
      [],
    ]);
    const theirs = await deliveriesOf({ owner: other.call }, foreign.id);
    expect(theirs.map(({ eventType }: { eventType: string }) => eventType)).not.toContain(
      "connection.created",
    );
  });

  test("is signed by both secrets for a day after a rotation, each in its place", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const made = await subscribe(app, receiver.url, { secret: undefined, events: ["action.completed"] });
    const path = `${WEBHOOKS}/${made.id}/rotate-secret`;
    const rotated = await app.owner("POST", path);
    const { secret, ...rest } = rotated.body;
    expect([rotated.status, rest]).toEqual([
      200,
      { ...rest, id: made.id, url: made.url, events: made.events, status: "active" },
    ]);
    expect(secret).not.toBe(made.secret);
    await tellOf(app);
    await newest(app, made.id, "delivered");
    const seen = () => receiver.got.at(-1);
    const headers = () => Object.fromEntries(seen()?.headers ?? []);
    const ownOf = (one: string) => {
      const hash = new Bun.CryptoHasher("sha256", one);
      return `sha256=${hash.update(`${headers()["x-svc-timestamp"]}.${seen()?.text}`).digest("hex")}`;
    };
    expect(headers()).toMatchObject({
      "x-svc-signature": ownOf(secret),
      "x-svc-signature-previous": ownOf(made.secret),
    });
    const [first, second, ...none] = headers()["webhook-signature"]?.split(" ") ?? [];
    expect(none).toEqual([]);
    for (const Verifier of [Webhook, SvixWebhook]) {
      const verify = (one: string, signature?: string) =>
        new Verifier(one).verify(seen()?.text ?? "", {
          ...headers(),
          ...(signature === undefined ? {} : { "webhook-signature": signature }),
        });
      for (const one of [secret, made.secret]) expect(() => verify(one)).not.toThrow();
      expect(() => verify(secret, first)).not.toThrow();
      expect(() => verify(made.secret, second)).not.toThrow();
      expect(() => verify(made.secret, first)).toThrow();
    }
    app.clock.turn(24 * 3600_000 + 1000);
    await tellOf(app);
    await eventually(() => receiver.got.length === 2);
    expect(headers()["webhook-signature"]?.split(" ")).toHaveLength(1);
    expect([headers()["x-svc-signature"], headers()["x-svc-signature-previous"]]).toEqual([
      ownOf(secret),
      undefined,
    ]);
  });

  test("after a rotation reaches a receiver with the new secret, and one that expects the old one's signature", async () => {
    await using app = await startApp({ engine: false });
    await using receiver = await startApp();
    const old = "the-secret-before-the-change";
    const fresh = "the-secret-after-the-change";
    // The receiver is a Weir server too: its checks follow the rules of the interface.
    const action = { kind: "conditional_branch", definition: { branches: [{ key: "a", when: "true" }] } };
    for (const [path, config, end] of [
      ["already", { secret: fresh }, "delivered"],
      ["still", { secret: old }, "failed"],
      ["previous", { secret: old, signatureHeader: "X-SVC-Signature-Previous" }, "delivered"],
      ["standard", { secret: old, signaturePreset: "standard" }, "delivered"],
      ["never", { secret: `not-${fresh}` }, "failed"],
    ] as const) {
      const { webhookUrl } = await makeHook(receiver, { path, ...config, action });
      const { id } = await subscribe(app, webhookUrl, { secret: old });
      await app.owner("POST", `${WEBHOOKS}/${id}/rotate-secret`, { secret: fresh });
      await app.owner("POST", `${WEBHOOKS}/${id}/test`);
      expect([path, (await deliveriesOf(app, id))[0]?.status]).toEqual([path, end]);
    }
  });

  test("is signed by a secret given with the rotation, if it is long enough", async () => {
    await using app = await startApp({ engine: false });
    const { id } = await subscribe(app, URL);
    const path = `${WEBHOOKS}/${id}/rotate-secret`;
    expect((await app.owner("POST", path, { secret: `${OUT_SECRET}-2` })).body.secret).toBe(
      `${OUT_SECRET}-2`,
    );
    for (const [secret, fault] of [
      ["x".repeat(15), "string_too_short"],
      ["x".repeat(513), "string_too_long"],
      [1, "string_type"],
    ])
      expect(faultsOf(await app.owner("POST", path, { secret }))).toEqual([`body.secret ${fault}`]);
    expect((await trailOf(app, id)).slice(1)).toEqual([
      ["webhook.secret_rotated", { previousUntil: expect.stringMatching(INSTANT) }],
    ]);
  });

  test("can be requested again, with the same ID", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url);
    await happen(app);
    const row = await newest(app, id, "delivered");
    const path = `${WEBHOOKS}/${id}/deliveries/${row.id}/redeliver`;
    const answer = await app.owner("POST", path, undefined, { "idempotency-key": "once-more" });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        ...row,
        id: expect.stringMatching(ID),
        status: "pending",
        attempts: 0,
        replyCode: null,
        durationMs: null,
        createdAt: expect.stringMatching(INSTANT),
        nextAttemptAt: expect.stringMatching(INSTANT),
        completedAt: null,
        replayOf: row.id,
      },
    ]);
    expect((await app.owner("POST", path, undefined, { "idempotency-key": "once-more" })).body).toEqual(
      answer.body,
    );
    await newest(app, id, "delivered");
    const [first, second] = receiver.got;
    expect([receiver.got.length, second?.text]).toEqual([2, first?.text ?? ""]);
    expect(second?.headers.get("webhook-id")).toBe(row.eventId);
    await app.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "disabled" });
    const refused = await app.owner("POST", path);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    expect((await trailOf(app, row.id)).map(([type]) => type)).toEqual(["webhook.replayed"]);
  });

  test("is listed by status, page by page", async () => {
    let status = 500;
    await using receiver = startReceiver(() => new Response(null, { status }));
    await using app = await startApp({ env: { WEIR_WEBHOOK_SCHEDULE: "0" } });
    const { id } = await subscribe(app, receiver.url);
    for (const [code, end] of [
      [500, "dead_letter"],
      [200, "delivered"],
      [204, "delivered"],
    ] as const) {
      status = code;
      const ended = `status=${end}`;
      const { length } = await deliveriesOf(app, id, ended);
      await happen(app);
      await eventually(async () => (await deliveriesOf(app, id, ended)).length === length + 1);
    }
    const all = await deliveriesOf(app, id);
    expect(all.map(({ replyCode }: { replyCode: number }) => replyCode)).toEqual([204, 200, 500]);
    expect(await deliveriesOf(app, id, "status=dead_letter")).toEqual([all[2]]);
    const path = `${WEBHOOKS}/${id}/deliveries`;
    const first = (await app.owner("GET", `${path}?limit=2&status=delivered`)).body;
    expect(first).toEqual({ items: all.slice(0, 2) });
    const page = (await app.owner("GET", `${path}?limit=2`)).body;
    const rest = (await app.owner("GET", `${path}?limit=2&cursor=${encodeURIComponent(page.nextCursor)}`))
      .body;
    expect(rest).toEqual({ items: all.slice(2) });
    expect(faultsOf(await app.owner("GET", `${path}?limit=201&status=lost`)).sort()).toEqual([
      "query.limit less_than_equal",
      "query.status enum",
    ]);
  });
});

describe("a test", () => {
  test("is sent immediately, once, whatever the subscription's types, and returns the result", async () => {
    let status = 200;
    await using receiver = startReceiver(() => new Response("fine", { status }));
    await using app = await startApp({ engine: false });
    const { id } = await subscribe(app, receiver.url);
    const answer = await app.owner("POST", `${WEBHOOKS}/${id}/test`);
    const event = JSON.parse(receiver.got[0]?.text ?? "");
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        id: expect.stringMatching(ID),
        webhookId: id,
        eventId: event.id,
        eventType: "webhook.tested",
        status: "delivered",
        attempts: 1,
        replyCode: 200,
        durationMs: expect.any(Number),
        createdAt: expect.stringMatching(INSTANT),
        nextAttemptAt: null,
        completedAt: expect.stringMatching(INSTANT),
        replayOf: null,
        isTest: true,
        error: null,
      },
    ]);
    expect(event).toMatchObject({
      type: "webhook.tested",
      entity: { type: "webhook", id },
      data: { url: receiver.url, deliveryId: answer.body.id },
    });
    status = 410;
    await app.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "disabled" });
    expect((await app.owner("POST", `${WEBHOOKS}/${id}/test`)).body).toMatchObject({
      status: "failed",
      attempts: 1,
      replyCode: 410,
      nextAttemptAt: null,
      error: { code: "unexpected_status", message: "The receiver returned 410." },
    });
    expect((await app.owner("GET", `${WEBHOOKS}/${id}`)).body.disabledReason).toBeNull();
    expect((await app.owner("GET", LETTERS)).body.items).toEqual([]);
  });

  test("of a blocked address says which setting would allow it", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_EGRESS_ALLOW: "" } });
    const { id } = await subscribe(app, "http://127.0.0.1:9/");
    const { error } = (await app.owner("POST", `${WEBHOOKS}/${id}/test`)).body;
    expect(error).toMatchObject({
      code: "egress_blocked",
      message: expect.stringContaining("WEIR_EGRESS_ALLOW"),
    });
  });

  test("arrives once, also at a subscription for everything", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    const { id } = await subscribe(app, receiver.url, { events: ["*"] });
    await app.owner("POST", `${WEBHOOKS}/${id}/test`);
    await happen(app);
    await eventually(() => receiver.got.length === 2);
    await eventually(async () => (await deliveriesOf(app, id, "status=delivered")).length === 2);
    const types = receiver.got.map(({ text }) => JSON.parse(text).type);
    expect(types.toSorted()).toEqual(["connection.created", "webhook.tested"]);
  });
});

describe("a dead letter of a subscription", () => {
  const dying = async (app: Started, url: string, happened = 1) => {
    const { id } = await subscribe(app, url);
    for (let n = 0; n < happened; n++) await happen(app);
    await until(app.owner, `${LETTERS}?webhook_id=${id}`, ({ items }) => items.length === happened);
    return id as string;
  };
  const env = { WEIR_WEBHOOK_SCHEDULE: "0,0" };

  test("describes a delivery that failed permanently, and is replayed with the event's ID", async () => {
    let status = 500;
    await using receiver = startReceiver(() => new Response("no", { status }));
    await using app = await startApp({ env });
    const id = await dying(app, receiver.url);
    const row = await newest(app, id, "dead_letter");
    const [letter] = (await app.owner("GET", `${LETTERS}?source=outbound&webhook_id=${id}`)).body.items;
    expect(letter).toEqual({
      id: expect.stringMatching(ID),
      source: "outbound",
      sourceId: id,
      deliveryId: row.id,
      attempts: 2,
      firstFailedAt: expect.stringMatching(INSTANT),
      lastFailedAt: expect.stringMatching(INSTANT),
      error: {
        code: "unexpected_status",
        message: "The receiver returned 500.",
        retryable: true,
        attempt: 2,
        details: { status: 500 },
      },
      replayCount: 0,
      status: "dead",
      eventType: row.eventType,
    });
    expect((await app.owner("GET", `${LETTERS}?automation_id=${id}`)).body.items).toEqual([]);
    expect((await trailOf(app, letter.id))[0]).toEqual([
      "webhook.dead_lettered",
      {
        deliveryId: row.id,
        webhookId: id,
        eventId: row.eventId,
        eventType: "connection.created",
        attempts: 2,
        error: { code: "unexpected_status", message: "The receiver returned 500." },
      },
    ]);
    const member = await join(app, "member");
    const again = await member.call("POST", `${LETTERS}/${letter.id}/replay`);
    expect([again.status, again.body]).toMatchObject([
      201,
      { webhookId: id, status: "pending", replayOf: row.id },
    ]);
    const isBack = ({ items }: { items: { status: string; attempts: number }[] }) =>
      items[0]?.status === "dead" && items[0].attempts === 4;
    await until(app.owner, `${LETTERS}?webhook_id=${id}`, isBack);

    status = 200;
    expect((await app.owner("POST", `${LETTERS}/${letter.id}/replay`)).status).toBe(201);
    const { items } = await until(app.owner, LETTERS, ({ items: all }) => all[0].status === "replayed");
    expect(items).toEqual([{ ...items[0], id: letter.id, replayCount: 2, attempts: 4 }]);
    expect(new Set(receiver.got.map(({ headers }) => headers.get("webhook-id")))).toEqual(
      new Set([row.eventId]),
    );
    expect((await app.owner("POST", `${LETTERS}/${letter.id}/replay`)).body.code).toBe("invalid_state");
  });

  test("is replayed with all others of its webhook, and discarded alone", async () => {
    let status = 500;
    await using receiver = startReceiver(() => new Response(null, { status }));
    await using app = await startApp({ env });
    const id = await dying(app, receiver.url, 3);
    const [first] = (await app.owner("GET", LETTERS)).body.items;
    expect((await app.owner("DELETE", `${LETTERS}/${first.id}`)).status).toBe(204);
    status = 200;
    const both = { webhookId: id, automationId: id };
    expect(faultsOf(await app.owner("POST", `${LETTERS}/replay`, both))).toEqual(["body value_error"]);
    const replayed = await app.owner("POST", `${LETTERS}/replay`, { webhookId: id });
    expect([replayed.status, replayed.body]).toEqual([200, { replayed: 2 }]);
    await until(app.owner, LETTERS, ({ items }) =>
      items.every((letter: { status: string }) => letter.status === "replayed"),
    );
    expect((await app.owner("POST", `${LETTERS}/replay`, { webhookId: id })).body).toEqual({ replayed: 0 });
  });

  test("waits while its webhook is disabled, and can't be replayed once that is deleted", async () => {
    await using receiver = startReceiver(() => new Response(null, { status: 500 }));
    await using app = await startApp({ env });
    const id = await dying(app, receiver.url);
    const [letter] = (await app.owner("GET", LETTERS)).body.items;
    const replay = () => app.owner("POST", `${LETTERS}/${letter.id}/replay`);
    await app.owner("PATCH", `${WEBHOOKS}/${id}`, { status: "disabled" });
    expect(await replay()).toMatchObject({ status: 409, body: { code: "invalid_state" } });
    await app.owner("DELETE", `${WEBHOOKS}/${id}`);
    expect(await replay()).toMatchObject({ status: 409, body: { code: "invalid_state" } });
  });
});
