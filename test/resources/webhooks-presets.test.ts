import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { PRESETS, type SignaturePreset } from "../../src/crypto/presets.ts";
import { webhookDeliveries } from "../../src/resources/inbound/table.ts";
import vectors from "../crypto/vectors.json" with { type: "json" };
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, branch, faultsOf } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const SECRET = "the-secret-of-a-sender";
const WHSEC = `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`;
const quick = { action: { kind: "conditional_branch", definition: branch() } };
const stored = ({ app }: Started) => app.store.db.$count(webhookDeliveries);
const now = ({ clock }: Started) => Math.floor(clock.now().getTime() / 1000);

const hmacOf = (secret: string | Buffer, text: string, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", secret).update(text).digest(encoding);

type Headers = Record<string, string>;

/** How each sender signs `body` at `time`, in Unix seconds, implemented independently of the code that checks it. */
const SENDERS: Record<SignaturePreset, (body: string, time: number, id: string) => Headers> = {
  github: (body, _, id) => ({
    "x-hub-signature-256": `sha256=${hmacOf(SECRET, body)}`,
    "x-github-delivery": id,
    "x-github-event": "push",
  }),
  stripe: (body, time) => ({
    "stripe-signature": `t=${time},v1=${"0".repeat(64)},v1=${hmacOf(SECRET, `${time}.${body}`)},v0=${"1".repeat(64)}`,
  }),
  shopify: (body, _, id) => ({
    "x-shopify-hmac-sha256": hmacOf(SECRET, body, "base64"),
    "x-shopify-webhook-id": id,
    "x-shopify-topic": "orders/create",
  }),
  slack: (body, time) => ({
    "x-slack-request-timestamp": String(time),
    "x-slack-signature": `v0=${hmacOf(SECRET, `v0:${time}:${body}`)}`,
  }),
  standard: (body, time, id) => ({
    "webhook-id": id,
    "webhook-timestamp": String(time),
    "webhook-signature": new Webhook(WHSEC).sign(id, new Date(time * 1000), body),
  }),
  svix: (body, time, id) => ({
    "svix-id": id,
    "svix-timestamp": String(time),
    "svix-signature": new Webhook(WHSEC).sign(id, new Date(time * 1000), body),
  }),
  gitlab: (_, __, id) => ({ "x-gitlab-token": SECRET, "idempotency-key": id, "x-gitlab-event": "Push Hook" }),
  telegram: () => ({ "x-telegram-bot-api-secret-token": SECRET }),
};

/** These send the secret itself, without a signature. */
const UNSIGNED: readonly SignaturePreset[] = ["gitlab", "telegram"];

/** A signature, with any prefix. */
const SIGNATURE = /[A-Za-z0-9+/]{43,}=?/g;

const names = Object.keys(SENDERS) as SignaturePreset[];
const secretOf = (preset: SignaturePreset) => (["standard", "svix"].includes(preset) ? WHSEC : SECRET);
/** A body with an ID where Stripe, Slack and Telegram have theirs. */
const bodyOf = (id: string) =>
  JSON.stringify({ id, event_id: id, update_id: Number(id.slice(1)), type: "event_callback", n: 1 });

const hookFor = (app: Started, preset: SignaturePreset, more: object = {}) =>
  makeHook(app, { ...quick, signaturePreset: preset, secret: secretOf(preset), path: preset, ...more });

const post = (app: Started, preset: string, body: string, headers: Headers) =>
  send(app, body, { "x-svc-signature": "", ...headers }, `/webhooks/acme/${preset}`);

describe.each(names)("the preset %s", (preset) => {
  const sign = SENDERS[preset];

  test("accepts what its sender signs, and starts nothing for a repeat", async () => {
    await using app = await startApp();
    await hookFor(app, preset);
    const first = await post(app, preset, bodyOf("m1"), sign(bodyOf("m1"), now(app), "m1"));
    expect([first.status, first.body.status]).toEqual([200, "processed"]);
    const again = await post(app, preset, bodyOf("m1"), sign(bodyOf("m1"), now(app) + 1, "m1"));
    expect(again.body).toEqual(first.body);
    const next = await post(app, preset, bodyOf("m2"), sign(bodyOf("m2"), now(app), "m2"));
    expect(next.body.deliveryId).not.toBe(first.body.deliveryId);
    expect(await stored(app)).toBe(2);
  });

  deepTest("rejects another secret, a modified body, a signature of another form, and none", async () => {
    await using app = await startApp();
    const hook = await hookFor(app, preset);
    const body = bodyOf("m1");
    const good = sign(body, now(app), "m1");
    const { header } = PRESETS[preset];
    const name = header.toLowerCase();
    const given = good[name] ?? "";
    const altered: [string, Headers][] = [
      [`${body} `, good],
      [body, { ...good, [name]: given.replace(SIGNATURE, (text) => text.slice(0, -3)) }],
      [body, { ...good, [name]: given.replace(SIGNATURE, (text) => `z${text.slice(1)}`) }],
      [body, { ...good, [name]: given.replace(/(?:sha256=|v[01][=,]|(?=^[A-Za-z0-9+/]{43}=$))/g, "v9=") }],
    ];
    const longer: [string, Headers][] = [[body, { ...good, [name]: `${given}x`, "x-svc-signature": given }]];
    const bad: [string, Headers][] = [
      [body, { ...good, [name]: "" }],
      [body, { ...good, [name]: "nonsense" }],
      [body, { ...good, [name]: "", "x-svc-signature": `sha256=${hmacOf(SECRET, body)}` }],
      ...(UNSIGNED.includes(preset) ? longer : altered),
    ];
    for (const [text, headers] of bad) {
      const answer = await post(app, preset, text, headers);
      expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
        401,
        "unauthenticated",
        expect.stringContaining(header),
      ]);
    }
    const config = { secret: "another-secret-of-the-sender" };
    expect((await app.owner("PATCH", `${AUTOMATIONS}/${hook.id}`, { config })).status).toBe(200);
    expect((await post(app, preset, body, good)).status).toBe(401);
    expect(await stored(app)).toBe(0);
  });

  deepTest("has its own header and algorithm", async () => {
    await using app = await startApp({ engine: false });
    const body = (config: object) => ({
      name: "x",
      triggerType: "webhook",
      config: { ...quick, path: "x", signaturePreset: preset, ...config },
    });
    const clash = { signatureHeader: "X-Other-Signature", signatureAlgorithm: "sha1" };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body(clash)))).toEqual([
      "body.config.signatureHeader value_error",
      "body.config.signatureAlgorithm value_error",
    ]);
    const same = { signatureHeader: PRESETS[preset].header, signatureAlgorithm: "sha256" };
    expect((await app.owner("POST", AUTOMATIONS, body(same))).body.config).toMatchObject({
      signaturePreset: preset,
    });
  });
});

test.each<[SignaturePreset, string]>([
  ["stripe", "stripe-signature"],
  ["slack", "x-slack-request-timestamp"],
  ["standard", "webhook-timestamp"],
  ["svix", "svix-timestamp"],
])("a send time from %s is valid for five minutes", async (preset, header) => {
  await using app = await startApp({ stands: true });
  await hookFor(app, preset);
  const at = async (time: number) => {
    const id = `m${time}`;
    return (await post(app, preset, bodyOf(id), SENDERS[preset](bodyOf(id), time, id))).status;
  };
  for (const off of [0, -290, 290]) expect([off, await at(now(app) + off)]).toEqual([off, 200]);
  for (const off of [-310, 310]) expect([off, await at(now(app) + off)]).toEqual([off, 401]);
  const headers = SENDERS[preset](bodyOf("m"), now(app), "m");
  const altered = (headers[header] ?? "").replace(/\d{10}/, (time) => String(Number(time) + 1));
  expect((await post(app, preset, bodyOf("m"), { ...headers, [header]: altered })).status).toBe(401);
  expect((await post(app, preset, bodyOf("m"), { ...headers, [header]: "" })).status).toBe(401);
});

test.each(UNSIGNED)("the secret that %s sends is in no delivery and no template", async (preset) => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const { header } = PRESETS[preset];
  const name = header.toLowerCase();
  const action = {
    kind: "http_request",
    definition: { url: receiver.url, method: "POST", body: { seen: `{{headers.${name}}}` } },
  };
  await hookFor(app, preset, { action, debug: true });
  const { body } = await post(app, preset, bodyOf("m1"), SENDERS[preset](bodyOf("m1"), 0, "m1"));
  expect(JSON.parse(receiver.got[0]?.text ?? "")).toEqual({ seen: "***" });
  const delivery = await app.owner("GET", `/api/v1/webhook-deliveries/${body.deliveryId}`);
  expect(delivery.body.headers[name]).toBe("***");
});

test("a Telegram webhook generates and accepts only secrets that Telegram accepts", async () => {
  await using app = await startApp({ engine: false });
  const config = { ...quick, signaturePreset: "telegram", path: "bot" };
  const body = (more: object) => ({ name: "Bot", triggerType: "webhook", config: { ...config, ...more } });
  const made = await app.owner("POST", AUTOMATIONS, body({}));
  expect(made.body.config.secret).toMatch(/^[A-Za-z0-9_-]{20,256}$/);
  const given = await app.owner(
    "POST",
    AUTOMATIONS,
    body({ path: "b2", secret: "not for Telegram: a+b/c=" }),
  );
  expect(faultsOf(given)).toEqual(["body.config.secret value_error"]);
});

describe("published examples", () => {
  const fault = (
    preset: SignaturePreset,
    { secret, body, ts = "0" }: { secret: string; body: string; ts?: string },
    headers: Headers,
  ) => {
    const given = new globalThis.Headers(headers);
    return PRESETS[preset].fault({ headers: given, body: Buffer.from(body), secret, now: Number(ts) });
  };

  test("match what the presets compute, as do their libraries", () => {
    const { github, slack, standardWebhooks } = vectors;
    expect(`sha256=${hmacOf(github.secret, github.body)}`).toBe(github.header);
    expect(fault("github", github, { "x-hub-signature-256": github.header })).toBeNull();

    expect(`v0=${hmacOf(slack.secret, `v0:${slack.ts}:${slack.body}`)}`).toBe(slack.header);
    const slackHeaders = { "x-slack-signature": slack.header, "x-slack-request-timestamp": slack.ts };
    expect(fault("slack", slack, slackHeaders)).toBeNull();
    expect(fault("slack", { ...slack, body: `${slack.body}&` }, slackHeaders)).toContain("Invalid signature");

    const { id, ts, body, secret, header } = standardWebhooks;
    expect(new Webhook(secret).sign(id, new Date(Number(ts) * 1000), body)).toBe(header);
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": ts,
      "webhook-signature": `v1,AAAA v1a,x ${header}`,
    };
    expect(fault("standard", standardWebhooks, headers)).toBeNull();
    expect(fault("standard", standardWebhooks, { ...headers, "webhook-id": "msg_another" })).not.toBeNull();
  });

  test("of Slack events arrive with their fields", async () => {
    await using app = await startApp();
    const { slack } = vectors;
    await hookFor(app, "slack", { debug: true });
    const headers = {
      ...SENDERS.slack(slack.body, now(app), ""),
      "content-type": "application/x-www-form-urlencoded",
    };
    const { status, body } = await post(app, "slack", slack.body, headers);
    expect(status).toBe(200);
    const delivery = (await app.owner("GET", `/api/v1/webhook-deliveries/${body.deliveryId}`)).body;
    expect(delivery.payload).toMatchObject({ command: "/webhook-collect", user_name: "roadrunner" });
  });
});

describe("Slack's challenge for a new URL", () => {
  const asked = JSON.stringify({ type: "url_verification", token: "x", challenge: "3eZbrw1aBm2rZgRNFdxV" });

  test("is echoed, and starts nothing", async () => {
    await using app = await startApp();
    await hookFor(app, "slack");
    const answer = await post(app, "slack", asked, SENDERS.slack(asked, now(app), ""));
    expect([answer.status, answer.body]).toEqual([200, { challenge: "3eZbrw1aBm2rZgRNFdxV" }]);
    expect(await stored(app)).toBe(0);
  });

  test("must be signed, and is an event like any other for other senders", async () => {
    await using app = await startApp();
    await hookFor(app, "slack");
    await hookFor(app, "github");
    expect((await post(app, "slack", asked, {})).status).toBe(401);
    const other = await post(app, "github", asked, SENDERS.github(asked, 0, "m1"));
    expect(other.body.status).toBe("processed");
  });
});

test("the generated secret is accepted by the Standard Webhooks libraries", async () => {
  await using app = await startApp();
  const hook = await makeHook(app, {
    ...quick,
    signaturePreset: "standard",
    path: "standard",
    secret: undefined,
  });
  const time = new Date(now(app) * 1000);
  const signature = new Webhook(hook.config.secret).sign("m1", time, "{}");
  const headers = {
    "webhook-id": "m1",
    "webhook-timestamp": String(now(app)),
    "webhook-signature": signature,
  };
  expect((await post(app, "standard", "{}", headers)).status).toBe(200);
});

test("a message ID that is too long is rejected, at its place", async () => {
  await using app = await startApp();
  const long = "m".repeat(256);
  for (const [preset, place] of [
    ["github", "header.X-GitHub-Delivery"],
    ["stripe", "body.id"],
  ] as const) {
    await hookFor(app, preset);
    const answer = await post(app, preset, bodyOf(long), SENDERS[preset](bodyOf(long), now(app), long));
    expect(faultsOf(answer)).toEqual([`${place} string_too_long`]);
    const fits = long.slice(1);
    expect(
      (await post(app, preset, bodyOf(fits), SENDERS[preset](bodyOf(fits), now(app), fits))).status,
    ).toBe(200);
  }
});

test("only known senders have a preset, and only webhooks accept one", async () => {
  await using app = await startApp({ engine: false });
  const body = (triggerType: string, config: object) => ({
    name: "x",
    triggerType,
    config: { ...quick, ...config },
  });
  const unknown = body("webhook", { path: "x", signaturePreset: "bitbucket" });
  expect(faultsOf(await app.owner("POST", AUTOMATIONS, unknown))).toEqual([
    "body.config.signaturePreset enum",
  ]);
  expect(
    faultsOf(await app.owner("POST", AUTOMATIONS, body("manual", { signaturePreset: "github" }))),
  ).toEqual(["body.config.signaturePreset extra_forbidden"]);
});

describe("a multipart form", () => {
  const part = (head: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const openForm = async (app: Awaited<ReturnType<typeof startApp>>) => {
    const auth = { type: "bearer", token: SECRET };
    await makeHook(app, { ...quick, debug: true, path: "form", auth, secret: undefined });
    return async (parts: string) => {
      const headers = {
        "content-type": "multipart/form-data; boundary=b",
        authorization: `Bearer ${SECRET}`,
      };
      const bytes = Buffer.from(`${parts}--b--\r\n`, "latin1");
      const answer = await app.anonymous("POST", "/webhooks/acme/form", new Uint8Array(bytes), headers);
      if (answer.status !== 200) return faultsOf(answer);
      const path = `/api/v1/webhook-deliveries/${answer.body.deliveryId}`;
      return (await app.owner("GET", path)).body.payload;
    };
  };

  test("keeps the type of each file as its part names it, and the bytes", async () => {
    await using app = await startApp();
    const sent = await openForm(app);
    const types = [
      "text/plain; charset=iso-8859-1",
      "text/csv; charset=windows-1252",
      "application/json",
      "application/octet-stream",
    ];
    for (const type of types) {
      const file = part(`name="f"; filename="a.txt"\r\nContent-Type: ${type}`, "\xe9\r\n");
      const data = Buffer.from("\xe9\r\n", "latin1").toString("base64");
      expect(await sent(file)).toEqual({ f: { fileName: "a.txt", mimeType: type, data } });
    }
    const named = part("name=f; filename*=UTF-8''a%20%C3%A9.png", "x");
    expect(await sent(named)).toEqual({ f: { fileName: "a é.png", mimeType: "image/png", data: btoa("x") } });
  });

  test("has a complete file for a field in which no file was chosen", async () => {
    await using app = await startApp();
    const sent = await openForm(app);
    const file = part('name="f"; filename=""\r\nContent-Type: application/octet-stream', "");
    expect(await sent(file)).toEqual({
      f: { fileName: "", mimeType: "application/octet-stream", data: "" },
    });
    expect(await sent("")).toEqual({});
  });

  test("has its texts in UTF-8, or in the charset that their parts name", async () => {
    await using app = await startApp();
    const sent = await openForm(app);
    const utf8 = Buffer.from("Zoë").toString("latin1");
    const label = 'name="b"\r\nContent-Type: text/plain; charset=iso-8859-1';
    expect(await sent(part('name="a"', utf8) + part(label, "Zo\xeb") + part(label, utf8))).toEqual({
      a: "Zoë",
      b: ["Zoë", "Zoë"],
    });
    expect(await sent(part('name="a"', "Zo\xeb"))).toEqual(["body string_unicode"]);
  });

  test("is rejected if a part has no name or can't be read", async () => {
    await using app = await startApp();
    const sent = await openForm(app);
    for (const parts of [
      part('filename="a.txt"', "x"),
      part("", "x"),
      "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n",
      '--b\r\nContent-Disposition: form-data; name="a"\r\n',
      part(`name="a"; filename="${"a".repeat(20_000)}.txt"`, "x"),
      part('name="a"\r\nContent-Type: multipart/mixed; boundary=c', "--c--"),
    ]) {
      const ok = part('name="ok"', "1");
      expect(await sent(ok + parts + ok)).toEqual(["body form_invalid"]);
    }
    const unixLines = '--b\nContent-Disposition: form-data; name="a"\n\nx\n';
    expect(await sent(unixLines)).toEqual(["body form_invalid"]);
  });

  const file = (fileName: string, mimeType = "text/plain;charset=utf-8") => ({
    fileName,
    mimeType,
    data: btoa("x"),
  });
  const formTest = (name: string, cases: [parts: string, payload: unknown][]) =>
    test(name, async () => {
      await using app = await startApp();
      const sent = await openForm(app);
      for (const [parts, payload] of cases) expect(await sent(parts)).toEqual(payload);
    });

  const long = `${"a".repeat(5000)}.txt`;
  formTest("has files with any name, even one that no file could have", [
    [part('name="f"; filename="a\0b.txt"', "x"), { f: file("a\0b.txt") }],
    [part("name=f; filename*=utf-8''a%00b", "x"), { f: file("a\0b", "application/octet-stream") }],
    [part(`name="f"; filename="${long}"`, "x"), { f: file(long) }],
    [part('name="f"; filename="s3://bucket/a.png"', "x"), { f: file("s3://bucket/a.png", "image/png") }],
    [part('name="f"; filename="\xe4.txt"', "x"), { f: file("ä.txt") }],
    [part('name="f"; filename="\xc3\xa4.txt"', "x"), { f: file("ä.txt") }],
    [part("name=f; filename=\"100%.txt\"; filename*=UTF-8''100%.txt", "x"), { f: file("100%.txt") }],
  ]);

  formTest("has the names between the quotes, whatever they contain", [
    [part('name="a; filename=b"', "x"), { "a; filename=b": "x" }],
    [part('name="size; name=width"', "x"), { "size; name=width": "x" }],
    [
      part('name="f"; filename="report; filename*=utf-8\'\'evil.txt"', "x"),
      { f: file("report; filename*=utf-8''evil.txt") },
    ],
    [part('filename="a; name=b.txt"; name="f"', "x"), { f: file("a; name=b.txt") }],
  ]);

  formTest("keeps a line that only begins with the boundary", [
    [part('name="a"', "1\r\n--bb\r\n2"), { a: "1\r\n--bb\r\n2" }],
  ]);

  const first =
    '--c\r\nContent-Disposition: attachment; filename="1.txt"\r\nContent-Type: text/plain\r\n\r\nx\r\n';
  const second = '--c\r\nContent-Disposition: attachment; filename="2.png"\r\n\r\nx\r\n';
  formTest("has several files that were sent as one part", [
    [
      part('name="f"\r\nContent-Type: multipart/mixed; boundary=c', `${first}${second}--c--\r\n`),
      { f: [file("1.txt", "text/plain"), file("2.png", "image/png")] },
    ],
    [
      part('name="f"; filename="mail"\r\nContent-Type: multipart/mixed; boundary=c', "x"),
      { f: file("mail", "multipart/mixed; boundary=c") },
    ],
  ]);
});

test("a multipart form arrives as its fields, with files in base64; an invalid one is rejected", async () => {
  await using app = await startApp();
  await makeHook(app, { ...quick, debug: true, path: "form", secret: SECRET });
  const part = (head: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const form = `${part('name="a"', "1")}${part('name="b"', "x")}${part('name="b"', "y")}${part('name="f"; filename="../a.csv"\r\nContent-Type: text/csv', "1,2")}--b--\r\n`;
  const sent = (text: string) =>
    send(
      app,
      text,
      { "content-type": "multipart/form-data; boundary=b", "x-svc-signature": hmacOf(SECRET, text) },
      "/webhooks/acme/form",
    );
  const { body } = await sent(form);
  expect((await app.owner("GET", `/api/v1/webhook-deliveries/${body.deliveryId}`)).body.payload).toEqual({
    a: "1",
    b: ["x", "y"],
    f: { fileName: "../a.csv", mimeType: "text/csv", data: btoa("1,2") },
  });
  expect(faultsOf(await sent(form.slice(0, -8)))).toEqual(["body form_invalid"]);
});
