import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { sweepStamps } from "../../src/resources/inbound/stamps.ts";
import { webhookDeliveries, webhookSignatures } from "../../src/resources/inbound/table.ts";
import { startApp } from "../support/app.ts";
import { makeHook, SECRET, send, sign, stamped } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { AUTOMATIONS, branch, created, faultsOf } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const quick = { action: { kind: "conditional_branch", definition: branch() } };
const http = { kind: "http_request", definition: { url: "http://127.0.0.1:9/" } };
const body = '{"n":1}';
const stored = ({ app }: Started) => app.store.db.$count(webhookDeliveries);
const now = ({ clock }: Started) => clock.now().getTime();
const unstamped = (text: string) => ({ "x-svc-signature": `sha256=${sign(text)}` });
const make = (app: Started, config: object) =>
  app.owner("POST", AUTOMATIONS, {
    name: "Hook",
    triggerType: "webhook",
    config: { path: "orders", ...quick, ...config },
  });

describe("a timestamp", () => {
  test("is required for a new webhook", async () => {
    await using app = await startApp();
    created(await make(app, { secret: SECRET }));
    const without = await send(app, body, unstamped(body));
    expect([without.status, without.body.detail]).toEqual([
      401,
      expect.stringContaining("Missing X-SVC-Timestamp header"),
    ]);
    expect((await send(app, body, stamped(body, SECRET, now(app)))).status).toBe(200);
    expect(await stored(app)).toBe(1);
  });

  test.each<[string, object, boolean]>([
    ["a header of the sender's own", { signatureHeader: "X-SVC-Signature" }, false],
    ["requireTimestamp: false", { requireTimestamp: false }, false],
    ["requireTimestamp: true", { signatureHeader: "X-SVC-Signature", requireTimestamp: true }, true],
  ])("with %s: %j needs one: %p", async (_, config, isNeeded) => {
    await using app = await startApp();
    created(await make(app, { secret: SECRET, ...config }));
    expect((await send(app, body, unstamped(body))).status).toBe(isNeeded ? 401 : 200);
  });

  test.each([[{ requireTimestamp: false }], [{ requireTimestamp: false, auth: { type: "signature" } }]])(
    "is required after the first one, until configured otherwise, with %j",
    async (config) => {
      await using app = await startApp();
      const hook = await makeHook(app, { ...quick, ...config });
      expect((await send(app, body, unstamped(body))).status).toBe(200);
      expect((await send(app, body, stamped(body, SECRET, now(app)))).status).toBe(200);
      expect((await send(app, body, unstamped(body))).status).toBe(401);
      const patch = (config: object) => app.owner("PATCH", `${AUTOMATIONS}/${hook.id}`, { config });
      await patch({ waitSeconds: 29 });
      expect((await send(app, body, unstamped(body))).status).toBe(401);
      expect((await patch({ requireTimestamp: false })).status).toBe(200);
      expect((await send(app, body, unstamped(body))).status).toBe(200);
      expect((await patch({ requireTimestamp: null })).status).toBe(200);
      expect((await send(app, body, unstamped(body))).status).toBe(401);
    },
  );

  test("can't be passed off as the beginning of the body", async () => {
    await using app = await startApp();
    await makeHook(app, quick);
    const { "x-svc-timestamp": at, "x-svc-signature": signature = "" } = stamped(body, SECRET, now(app));
    const moved = await send(app, `${at}.${body}`, {
      "x-svc-signature": signature,
      "content-type": "text/plain",
    });
    expect(moved.status).toBe(401);
    expect(await stored(app)).toBe(0);
  });
});

describe("a signature", () => {
  test("is accepted once, however it is written, and a repeat by its key is answered as before", async () => {
    await using app = await startApp({ stands: true });
    created(await make(app, { secret: SECRET }));
    const headers = stamped(body, SECRET, now(app));
    const first = await send(app, body, headers);
    expect(first.status).toBe(200);
    const bare = (headers["x-svc-signature"] ?? "").replace("sha256=", "");
    for (const again of [
      headers,
      { ...headers, "x-svc-signature": bare },
      { ...headers, "idempotency-key": "made-up" },
    ]) {
      const answer = await send(app, body, again);
      expect([answer.status, answer.body.detail]).toEqual([401, expect.stringContaining("already used")]);
    }
    const named = { ...stamped("{}", SECRET, now(app)), "idempotency-key": "k1" };
    const one = await send(app, "{}", named);
    expect((await send(app, "{}", named)).body).toEqual(one.body);
    expect(await stored(app)).toBe(2);
  });

  test("of a repeat isn't accepted again without its key", async () => {
    await using app = await startApp({ stands: true });
    created(await make(app, { secret: SECRET }));
    const named = { "idempotency-key": "k1" };
    const first = await send(app, body, { ...stamped(body, SECRET, now(app)), ...named });
    const signedAgain = stamped(body, SECRET, now(app) + 1000);
    const repeat = () => send(app, body, { ...signedAgain, ...named });
    for (const answer of [await repeat(), await repeat()]) expect(answer.body).toEqual(first.body);
    for (const key of ["", "k2"])
      expect((await send(app, body, { ...signedAgain, "idempotency-key": key })).status).toBe(401);
    expect(await stored(app)).toBe(1);
  });

  test("that is sent fifty times at once starts one run", async () => {
    await using app = await startApp();
    created(await make(app, { secret: SECRET, waitSeconds: 0 }));
    const headers = stamped(body, SECRET, now(app));
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, body, headers)));
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(await stored(app)).toBe(1);
  });

  test.each(["the rate limit", "the quota of queued runs"])(
    "that %s refuses is still valid",
    async (limit) => {
      await using app = await startApp({ stands: true, engine: false });
      created(await make(app, { secret: SECRET, waitSeconds: 0, action: http }));
      const allow = (queuedRuns: number | null) =>
        app.owner("PATCH", `/api/v1/installation/organizations/${app.ids.organizationId}`, {
          quotas: { queuedRuns },
        });
      const isRate = limit === "the rate limit";
      if (!isRate) await allow(1);
      for (let n = 0; n < (isRate ? 10 : 1); n++)
        expect((await send(app, `${n}`, stamped(`${n}`, SECRET, now(app)))).status).toBe(202);
      const headers = stamped(body, SECRET, now(app));
      expect((await send(app, body, headers)).status).toBe(429);
      if (isRate) app.clock.turn(60_000);
      else await allow(null);
      expect((await send(app, body, headers)).status).toBe(202);
      expect((await send(app, body, headers)).status).toBe(401);
    },
  );

  test("is remembered as long as its time is valid, and then deleted", async () => {
    await using app = await startApp({ stands: true, engine: false });
    created(await make(app, { secret: SECRET, waitSeconds: 0 }));
    const count = () => app.app.store.db.$count(webhookSignatures);
    await send(app, body, stamped(body, SECRET, now(app) + 290_000));
    await Array.fromAsync(sweepStamps(app.app));
    expect(await count()).toBe(1);
    app.clock.turn(15 * 60_000);
    await Array.fromAsync(sweepStamps(app.app));
    expect(await count()).toBe(0);
  });
});

describe("a sender that signs nothing", () => {
  const token = "a-token-of-the-sender";
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  const none = { "x-svc-signature": "" };
  const cases: [string, object, Record<string, string>, Record<string, string>[]][] = [
    [
      "bearer",
      { type: "bearer", token },
      { authorization: `Bearer ${token}` },
      [{ authorization: `Bearer ${token}x` }, { authorization: basic(token) }, {}],
    ],
    [
      "basic",
      { type: "basic", username: "shop", password: token },
      { authorization: basic(`shop:${token}`) },
      [{ authorization: basic(`Shop:${token}`) }, { authorization: basic("shop:") }, {}],
    ],
    [
      "header",
      { type: "header", name: "X-Shop-Key", value: token },
      { "x-shop-key": token },
      [{ "x-shop-key": token.toUpperCase() }, { "x-other": token }, {}],
    ],
  ];

  test.each(cases)("authenticates by %s; the credential is never shown again", async (_, auth, good, bad) => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const seen = { all: "{{headers}}" };
    const action = { kind: "http_request", definition: { url: receiver.url, method: "POST", body: seen } };
    const made = created(await make(app, { auth, action, debug: true }));
    expect(made.hasSecret).toBe(true);
    expect(JSON.stringify(made)).not.toContain(token);
    expect(made.config.secret).toBeUndefined();
    const answer = await send(app, body, { ...none, ...good });
    expect(answer.status).toBe(200);
    for (const headers of bad) expect((await send(app, body, { ...none, ...headers })).status).toBe(401);
    expect((await send(app, body)).status).toBe(401);
    expect(receiver.got[0]?.text).not.toContain(token);
    for (const path of [
      `${AUTOMATIONS}/${made.id}`,
      AUTOMATIONS,
      `/api/v1/webhook-deliveries/${answer.body.deliveryId}`,
      "/api/v1/events",
    ])
      expect((await app.owner("GET", path)).text).not.toContain(token);
  });

  test.each<[string, object, string, string[]]>([
    [
      "bearer",
      { type: "bearer", token },
      `bEARER ${token}`,
      ["", "Bearer", "Bearer ", `Bearer ${"x".repeat(8_000)}`, `Bearer ${token}, Bearer ${token}`],
    ],
    [
      "basic",
      { type: "basic", username: "shöp", password: token },
      basic(`shöp:${token}`),
      [basic("no-colon"), basic(""), basic(`shop:${token}`), "Basic !!!"],
    ],
  ])("by %s is rejected if it is empty, long, duplicated or malformed", async (_, auth, good, bad) => {
    await using app = await startApp();
    created(await make(app, { auth }));
    const status = async (authorization: string) =>
      (await send(app, body, { ...none, AUTHORIZATION: authorization })).status;
    for (const text of bad) expect([text, await status(text)]).toEqual([text, 401]);
    expect(await stored(app)).toBe(0);
    expect(await status(good)).toBe(200);
  });

  test("keeps its credential in a change that omits it, and needs one for another type", async () => {
    await using app = await startApp();
    const made = created(await make(app, { auth: { type: "bearer", token } }));
    const patch = (config: object) => app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { config });
    const sent = (headers: Record<string, string>) => send(app, body, { ...none, ...headers });
    expect((await patch({ auth: { type: "bearer" }, waitSeconds: 30 })).status).toBe(200);
    expect((await sent({ authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await patch({ auth: { type: "bearer", token: "another-token-of-it" } })).status).toBe(200);
    expect((await sent({ authorization: `Bearer ${token}` })).status).toBe(401);
    expect(faultsOf(await patch({ auth: { type: "header", name: "X-Key" } }))).toEqual([
      "body.config.auth.value missing",
    ]);
    expect(faultsOf(await patch({ auth: null }))).toEqual(["body.config.secret missing"]);
    expect((await patch({ auth: null, secret: SECRET })).status).toBe(200);
    expect((await sent({ authorization: "Bearer another-token-of-it" })).status).toBe(401);
    expect((await send(app, body, stamped(body, SECRET, now(app)))).status).toBe(200);
  });

  test("is copied with its automation without the credential, which the copy needs to be active", async () => {
    await using app = await startApp();
    const slack = "https://hooks.slack.com/services/T000/B000/xxxxxxxx";
    const alerts = { onFailure: true, notify: [{ slack }] };
    for (const [auth, field] of [
      [{ type: "bearer", token: "a-token-of-the-shop" }, "token"],
      [{ type: "header", name: "X-Key", value: "a-key-of-the-shop" }, "value"],
    ] as const) {
      const hook = created(await make(app, { path: `of-${field}`, auth, alerts }));
      const copy = created(await app.owner("POST", `${AUTOMATIONS}/${hook.id}/duplicate`));
      expect(copy).toMatchObject({
        status: "draft",
        hasSecret: false,
        config: { path: `of-${field}-2`, auth: hook.config.auth, alerts: hook.config.alerts },
      });
      const at = `${AUTOMATIONS}/${copy.id}`;
      expect(faultsOf(await app.owner("PATCH", at, { status: "active" }))).toEqual([
        `body.config.auth.${field} missing`,
      ]);
      const patch = { status: "active", config: { auth } };
      expect((await app.owner("PATCH", at, patch)).body).toMatchObject({ status: "active", hasSecret: true });
    }
  });

  test("is rejected with conflicting fields", async () => {
    await using app = await startApp({ engine: false });
    const faults = async (config: object) => faultsOf(await make(app, config));
    expect(await faults({ auth: { type: "bearer" } })).toEqual(["body.config.auth.token missing"]);
    expect(await faults({ auth: { type: "bearer", token }, secret: SECRET })).toEqual([
      "body.config.secret extra_forbidden",
    ]);
    expect(await faults({ auth: { type: "bearer", token }, signaturePreset: "github" })).toEqual([
      "body.config.auth value_error",
    ]);
    expect(await faults({ auth: { type: "bearer", token }, requireTimestamp: true })).toEqual([
      "body.config.requireTimestamp value_error",
    ]);
    for (const name of ["Idempotency-Key", "webhook-id", "Host"])
      expect(await faults({ auth: { type: "header", name, value: token } })).toEqual([
        "body.config.auth.name value_error",
      ]);
    const key = { type: "ed25519", publicKey: "0".repeat(43), signatureHeader: "X-Sig" };
    expect(await faults({ auth: { ...key, timestampHeader: "x-sig" } })).toEqual([
      "body.config.auth.timestampHeader value_error",
    ]);
    expect(
      await faults({ auth: { ...key, publicKey: `-----BEGIN PUBLIC KEY-----${"x".repeat(40)}` } }),
    ).toEqual(["body.config.auth.publicKey value_error"]);
  });
});

test("a sender with an Ed25519 key signs time and body, each signature once", async () => {
  await using app = await startApp({ stands: true });
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
  const at = String(Math.floor(now(app) / 1000));
  for (const [index, text] of [raw.toString("hex"), raw.toString("base64"), pem].entries()) {
    const auth = {
      type: "ed25519",
      publicKey: text,
      signatureHeader: "X-Signature-Ed25519",
      timestampHeader: "X-Signature-Timestamp",
    };
    created(await make(app, { auth, path: `p${index}` }));
    const deliver = (content: string, time = at, signed = `${time}${content}`) =>
      send(
        app,
        content,
        {
          "x-svc-signature": "",
          "x-signature-timestamp": time,
          "x-signature-ed25519": signBytes(null, Buffer.from(signed), privateKey).toString("hex"),
        },
        `/webhooks/acme/p${index}`,
      );
    expect((await deliver(body)).status).toBe(200);
    expect((await deliver(body)).status).toBe(401);
    expect((await deliver(body, String(Number(at) - 301))).status).toBe(401);
    expect((await deliver(body, at, `${at}{}`)).status).toBe(401);
  }
});

test("an invalid public key is rejected, as is a private one, which would be shown", async () => {
  await using app = await startApp({ engine: false });
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
  const keys = [
    privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    other.export({ format: "pem", type: "spki" }).toString(),
    raw.toString("hex").slice(1),
    `${raw.toString("hex")}00`,
    Buffer.concat([raw, raw]).toString("base64"),
    `${raw.toString("base64")}!!`,
    "é".repeat(44),
  ];
  for (const text of keys) {
    const answer = await make(app, { auth: { type: "ed25519", publicKey: text, signatureHeader: "X-Sig" } });
    expect([text, faultsOf(answer)]).toEqual([text, ["body.config.auth.publicKey value_error"]]);
    expect(answer.text).not.toContain(text);
  }
});
