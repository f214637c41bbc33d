import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import * as openid from "openid-client";
import { sweeper } from "../../src/engine/sweeper.ts";
import { deviceCodes } from "../../src/resources/device/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { memberships } from "../../src/resources/organizations/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { type Answer, client, PASSWORD, startApp } from "../support/app.ts";
import { browser, join } from "../support/people.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

const CODE = "/api/v1/auth/device/code";
const TOKEN = "/api/v1/auth/device/token";
const SHOWN = "/api/v1/auth/device";
const APPROVE = "/api/v1/auth/device/approve";
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const MINUTE = 60_000;

/** A client without a browser, which requests its codes and polls. */
async function device(app: Running, headers: Record<string, string> = {}, client_id = "weir-cli") {
  const { body } = await app.anonymous("POST", CODE, { client_id }, headers);
  const asked = { grant_type: GRANT, device_code: body.device_code, client_id };
  return {
    codes: body,
    userCode: body.user_code as string,
    poll: (change: object = {}) => app.anonymous("POST", TOKEN, { ...asked, ...change }, headers),
  };
}

/** Ada in her browser. */
async function signedIn(app: Running) {
  const ada = browser(app.origin);
  await ada.signIn();
  return ada;
}

const errorOf = ({ status, body }: Answer) => [status, body.error];
const codeOf = ({ status, body }: Answer) => [status, body.code];
const form = (fields: Record<string, string> | [string, string][]) => new URLSearchParams(fields).toString();
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const trailOf = (app: Running) => app.app.store.db.select().from(events);

describe("a device code", () => {
  test("is issued with everything in RFC 8628, for a form and for JSON, and is stored hashed", async () => {
    await using app = await startApp({ engine: false });
    const replies = [
      await app.anonymous("POST", CODE, { client_id: "weir-cli" }),
      await app.anonymous("POST", CODE, form({ client_id: "weir-cli", scope: "", other: "1" }), FORM),
    ];
    for (const { status, headers, body } of replies) {
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
      expect(body).toEqual({
        device_code: expect.stringMatching(/^\w{40,}$/),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: `${app.origin}/device`,
        verification_uri_complete: `${app.origin}/device?user_code=${body.user_code}`,
        expires_in: 900,
        interval: 5,
      });
    }
    const [one, other] = replies.map(({ body }) => body);
    expect(one.device_code).not.toBe(other.device_code);
    const stored = JSON.stringify(await app.app.store.db.select().from(deviceCodes));
    for (const code of [one.device_code, one.user_code, one.user_code.replace("-", "")])
      expect(stored).not.toContain(code);
  });

  test("is refused to a client that doesn't identify itself, in the words of RFC 6749", async () => {
    await using app = await startApp({ engine: false });
    const bad: [body: unknown, headers?: Record<string, string>][] = [
      [{}],
      [undefined],
      [{ client_id: "" }],
      [{ client_id: 7 }],
      [{ client_id: "c".repeat(101) }],
      [{ client_id: "weir\u202ecli" }],
      [[]],
      [form([["client_id", "a"], ["client_id", "b"]]), FORM], // biome-ignore format: one line a case
    ];
    for (const [body, headers] of bad) {
      const refused = await app.anonymous("POST", CODE, body, headers);
      expect([body, ...errorOf(refused)]).toEqual([body, 400, "invalid_request"]);
      expect(Object.keys(refused.body)).toEqual(["error", "error_description"]);
      expect(refused.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    }
    app.clock.turn(MINUTE);
    expect((await app.anonymous("POST", CODE, { client_id: "c".repeat(100) })).status).toBe(200);
    const text = await app.anonymous("POST", CODE, "client_id=a", { "content-type": "text/plain" });
    expect(codeOf(text)).toEqual([415, "unsupported_media_type"]);
    const broken = await app.anonymous("POST", CODE, "{", { "content-type": "application/json" });
    expect([broken.status, broken.body.detail[0].type]).toEqual([422, "json_invalid"]);
  });

  test("is issued ten times a minute to one address, and not to another site's page", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const ask = () => app.anonymous("POST", CODE, { client_id: "weir-cli" });
    const all = await Promise.all(Array.from({ length: 11 }, ask));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = all.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe("rate_limited");
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    app.clock.turn(MINUTE);
    const foreign = { "sec-fetch-site": "cross-site" };
    expect(codeOf(await app.anonymous("POST", CODE, { client_id: "x" }, foreign))).toEqual([403, "csrf"]);
  });
});

describe("polling", () => {
  test("returns a command-line session once the user has approved, once", async () => {
    await using app = await startApp({ engine: false });
    const agent = {
      "user-agent": "weir/0.1.0 (Linux; xterm-256color)",
      "x-correlation-id": "device-sign-in",
    };
    const { userCode, poll } = await device(app, agent);
    expect(errorOf(await poll())).toEqual([400, "authorization_pending"]);
    const ada = await signedIn(app);
    const approved = await ada.call("POST", APPROVE, { userCode, approve: true });
    expect([approved.status, approved.text]).toEqual([204, ""]);

    const given = await poll();
    expect([given.status, given.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(given.body).toEqual({
      access_token: expect.stringMatching(/^svc_at_\w{49}$/),
      token_type: "Bearer",
      expires_in: 14 * 24 * 60 * 60,
    });
    for (let n = 0; n < 2; n++) expect(errorOf(await poll())).toEqual([400, "invalid_grant"]);

    const cli = client(app.origin, { authorization: `Bearer ${given.body.access_token}` });
    expect((await cli("GET", "/api/v1/users/me")).body.id).toBe(app.ids.userId);
    const { items } = (await cli("GET", "/api/v1/sessions")).body;
    expect(items[0]).toMatchObject({
      clientType: "cli",
      cliVersion: "0.1.0",
      terminal: "xterm-256color",
      osFamily: "Linux",
      ipAddress: "127.0.0.1",
      isActive: true,
    });
    const stored = JSON.stringify(await app.app.store.db.select().from(sessions));
    expect(stored).not.toContain(given.body.access_token);
    const trail = await trailOf(app);
    expect(trail.at(-1)).toMatchObject({
      type: "auth.login",
      entityType: "session",
      entityId: items[0].id,
      actorId: app.ids.userId,
      actor: { email: "ada@example.com", ip: "127.0.0.1", userAgent: agent["user-agent"] },
      data: { method: "device", clientType: "cli" },
      correlationId: "device-sign-in",
    });
    expect(trail.at(-2)).toMatchObject({
      type: "auth.device_approved",
      entityType: "device_code",
      actorId: app.ids.userId,
      data: { clientId: "weir-cli", ipAddress: "127.0.0.1" },
    });

    expect((await cli("POST", "/api/v1/auth/logout")).status).toBe(204);
    expect((await cli("GET", "/api/v1/users/me")).status).toBe(401);
  });

  test("returns one token for many concurrent polls", async () => {
    await using app = await startApp({ engine: false });
    const { userCode, poll } = await device(app);
    expect((await app.owner("POST", APPROVE, { userCode, approve: true })).status).toBe(204);
    const all = await Promise.all(Array.from({ length: 6 }, () => poll()));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(all.filter(({ body }) => body.error === "invalid_grant")).toHaveLength(5);
    expect(await app.app.store.db.$count(sessions)).toBe(1);
  });

  test("too early is slowed down, and makes every later poll wait five seconds longer", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const { poll } = await device(app);
    const after = async (seconds: number) => {
      app.clock.turn(seconds * 1000);
      return (await poll()).body.error;
    };
    expect(await after(0)).toBe("authorization_pending");
    expect(await after(5)).toBe("authorization_pending");
    expect(await after(4)).toBe("slow_down");
    expect(await after(9)).toBe("slow_down");
    expect(await after(14)).toBe("slow_down");
    expect(await after(20)).toBe("authorization_pending");
    expect(await after(20)).toBe("authorization_pending");
    expect(await after(19)).toBe("slow_down");
  });

  test("at the allowed interval continues until the code expires, whatever the address's limit", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const { poll } = await device(app);
    for (let second = 0; second < 900; second += 5) {
      expect(errorOf(await poll())).toEqual([400, "authorization_pending"]);
      app.clock.turn(5000);
    }
    expect(errorOf(await poll())).toEqual([400, "expired_token"]);
  });

  test("faster than that, or for unknown codes, ends at the address's limit", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const { poll } = await device(app);
    const answers: unknown[] = [];
    for (let n = 0; n < 6; n++) answers.push((await poll({ device_code: `guess-${n}` })).body.error);
    for (let n = 0; n < 6; n++) answers.push((await poll()).status);
    expect(answers).toEqual([...Array(6).fill("invalid_grant"), 400, 400, 400, 400, 429, 429]);
    const told = await poll();
    expect([told.body.code, Number(told.headers.get("retry-after")) > 0]).toEqual(["rate_limited", true]);
  });

  test("for an expired code says so, even if it was approved", async () => {
    await using app = await startApp({ engine: false });
    const [waiting, approved] = [await device(app), await device(app)];
    await app.owner("POST", APPROVE, { userCode: approved.userCode, approve: true });
    app.clock.turn(15 * MINUTE);
    for (const { poll } of [waiting, approved]) expect(errorOf(await poll())).toEqual([400, "expired_token"]);
    expect(codeOf(await app.owner("POST", APPROVE, { userCode: waiting.userCode, approve: true }))).toEqual([
      410,
      "gone",
    ]);
    expect(await app.app.store.db.$count(sessions)).toBe(0);
  });

  test("for a denied client says so, and nobody can approve it after that", async () => {
    await using app = await startApp({ engine: false });
    const { userCode, poll } = await device(app);
    const denied = await app.owner("POST", APPROVE, { userCode, approve: false });
    expect([denied.status, denied.text]).toEqual([204, ""]);
    for (let n = 0; n < 2; n++) expect(errorOf(await poll())).toEqual([400, "access_denied"]);
    const late = await app.owner("POST", APPROVE, { userCode, approve: true });
    expect(codeOf(late)).toEqual([409, "invalid_state"]);
    expect((await trailOf(app)).at(-1)).toMatchObject({
      type: "auth.device_denied",
      data: { clientId: "weir-cli" },
    });
  });

  test.each([
    "authorization_code",
    "password",
    "implicit",
    "client_credentials",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:saml2-bearer",
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "urn:openid:params:grant-type:ciba",
  ])("is the only supported grant: %s is rejected", async (grant_type) => {
    await using app = await startApp({ engine: false });
    const { poll, userCode } = await device(app);
    await app.owner("POST", APPROVE, { userCode, approve: true });
    const own = {
      username: "ada@example.com",
      password: PASSWORD,
      code: "x",
      refresh_token: "x",
      assertion: "x",
    };
    expect(errorOf(await poll({ ...own, grant_type }))).toEqual([400, "unsupported_grant_type"]);
  });

  test("names what is wrong with the request", async () => {
    await using app = await startApp({ engine: false });
    const { poll, userCode } = await device(app);
    await app.owner("POST", APPROVE, { userCode, approve: true });
    const cases: [change: object, error: string][] = [
      [{ grant_type: undefined }, "invalid_request"],
      [{ grant_type: "authorization_code" }, "unsupported_grant_type"],
      [{ grant_type: "password", device_code: undefined }, "unsupported_grant_type"],
      [{ device_code: undefined }, "invalid_request"],
      [{ device_code: 1 }, "invalid_request"],
      [{ client_id: undefined }, "invalid_request"],
      [{ client_id: "another" }, "invalid_grant"],
      [{ device_code: "x".repeat(49) }, "invalid_grant"],
    ];
    for (const [change, error] of cases) {
      const refused = await poll(change);
      expect([change, ...errorOf(refused)]).toEqual([change, 400, error]);
      expect(refused.body.error_description).toMatch(/^[A-Za-z]/);
    }
    // None of them used it up.
    expect((await poll({ unknown: "field" })).status).toBe(200);
  });

  test("returns nothing to a client whose user has left the organization in the meantime", async () => {
    await using app = await startApp({ engine: false });
    const bob = await join(app, "member");
    const { userCode, poll } = await device(app);
    expect((await bob.call("POST", APPROVE, { userCode, approve: true })).status).toBe(204);
    await app.app.store.write(
      async (db) => void (await db.delete(memberships).where(eq(memberships.id, bob.membership.id))),
    );
    expect(errorOf(await poll())).toEqual([400, "access_denied"]);
  });
});

describe("approving", () => {
  test("first shows which client it is, and accepts the code however it is typed", async () => {
    await using app = await startApp({ engine: false });
    const { userCode, codes } = await device(app, { "user-agent": "weir/0.1.0 (Linux; dumb)" }, "my laptop");
    const [row] = await app.app.store.db.select().from(deviceCodes);
    const bare = userCode.replace("-", "");
    for (const typed of [userCode, bare, userCode.toLowerCase(), ` ${bare.slice(0, 2)} ${bare.slice(2)}–`]) {
      const shown = await app.owner("GET", `${SHOWN}?user_code=${encodeURIComponent(typed)}`);
      expect(shown.status).toBe(200);
      expect(shown.text).not.toContain(codes.device_code);
      expect(shown.body).toEqual({
        userCode,
        clientId: "my laptop",
        ipAddress: "127.0.0.1",
        userAgent: "weir/0.1.0 (Linux; dumb)",
        createdAt: row!.createdAt,
        expiresAt: row!.expiresAt,
      });
    }
    const typed = bare.toLowerCase();
    expect((await app.owner("POST", APPROVE, { userCode: typed, approve: true })).status).toBe(204);
    for (const again of [true, false]) {
      const refused = await app.owner("POST", APPROVE, { userCode, approve: again });
      expect(codeOf(refused)).toEqual([409, "invalid_state"]);
    }
    expect(codeOf(await app.owner("GET", `${SHOWN}?user_code=${userCode}`))).toEqual([409, "invalid_state"]);
  });

  test("requires a signed-in user, on Weir's own page", async () => {
    await using app = await startApp({ engine: false });
    const { userCode, poll } = await device(app);
    const decision = { userCode, approve: true };
    expect((await app.anonymous("GET", `${SHOWN}?user_code=${userCode}`)).status).toBe(401);
    expect((await app.anonymous("POST", APPROVE, decision)).status).toBe(401);
    const ada = await signedIn(app);
    const elsewhere = { cookie: ada.cookie(), "sec-fetch-site": "cross-site" };
    expect(codeOf(await app.anonymous("POST", APPROVE, decision, elsewhere))).toEqual([403, "csrf"]);
    expect(errorOf(await poll())).toEqual([400, "authorization_pending"]);
  });

  test("names every invalid field, and an unknown code", async () => {
    await using app = await startApp({ engine: false });
    const faultsOf = async (body: unknown) => {
      const { status, body: told } = await app.owner("POST", APPROVE, body);
      return [
        status,
        told.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join("."), type]),
      ];
    };
    expect(await faultsOf({ user_code: "x" })).toEqual([
      422,
      [
        ["body.userCode", "missing"],
        ["body.approve", "missing"],
        ["body.user_code", "extra_forbidden"],
      ],
    ]);
    expect(await faultsOf({ userCode: "x".repeat(41), approve: "yes" })).toEqual([
      422,
      [
        ["body.userCode", "string_too_long"],
        ["body.approve", "bool_type"],
      ],
    ]);
    expect((await app.owner("GET", SHOWN)).body.detail[0].loc).toEqual(["query", "user_code"]);
    for (const userCode of ["BBBB-BBBB", "nonsense", "x".repeat(40)]) {
      const refused = await app.owner("POST", APPROVE, { userCode, approve: true });
      expect(codeOf(refused)).toEqual([404, "not_found"]);
    }
    expect((await app.owner("GET", `${SHOWN}?user_code=BBBB-BBBB`)).status).toBe(404);
  });

  test("binds the session to the selected organization, and ends it when the user leaves that", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", "/api/v1/organizations", { name: "Second", slug: "second" });
    const chosen: (string | null)[] = [null, "second", made.body.id];
    const found: string[] = [];
    for (const organization of chosen) {
      const { userCode, poll } = await device(app);
      const place: Record<string, string> =
        organization === null ? {} : { "x-organization-id": organization };
      expect((await app.owner("POST", APPROVE, { userCode, approve: true }, place)).status).toBe(204);
      const cli = client(app.origin, { authorization: `Bearer ${(await poll()).body.access_token}` });
      found.push((await cli("GET", "/api/v1/organizations/current")).body.slug);
      if (organization === null) continue;
      const { items } = (await cli("GET", "/api/v1/users/me/memberships")).body;
      expect(items.map((item: { isCurrent: boolean }) => item.isCurrent)).toEqual([false, true]);
      const [login] = (await cli("GET", "/api/v1/events?type=auth.login&limit=1")).body.items;
      expect([login.metadata.organizationId, login.data.method]).toEqual([made.body.id, "device"]);
    }
    expect(found).toEqual(["acme", "second", "second"]);

    const { userCode, poll } = await device(app);
    const bob = await join(app, "viewer", made.body.id);
    const elsewhere = { "x-organization-id": "acme" };
    const refused = await bob.call("POST", APPROVE, { userCode, approve: true }, elsewhere);
    expect(codeOf(refused)).toEqual([403, "forbidden"]);
    await bob.call("POST", APPROVE, { userCode, approve: true });
    const cli = client(app.origin, { authorization: `Bearer ${(await poll()).body.access_token}` });
    expect((await cli("GET", "/api/v1/actions")).status).toBe(200);
    await app.app.store.write(
      async (db) => void (await db.delete(memberships).where(eq(memberships.id, bob.membership.id))),
    );
    expect(codeOf(await cli("GET", "/api/v1/actions"))).toEqual([403, "forbidden"]);
  });

  test("is possible ten times a minute from one address, so that codes can't be guessed", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const { userCode } = await device(app);
    app.clock.turn(MINUTE);
    const guess = (n: number) =>
      n % 2
        ? app.owner("POST", APPROVE, { userCode: "BBBB-BBBB", approve: true })
        : app.owner("GET", `${SHOWN}?user_code=CCCC-CCCC`);
    const statuses: number[] = [];
    for (let n = 0; n < 10; n++) statuses.push((await guess(n)).status);
    expect(new Set(statuses)).toEqual(new Set([404]));
    expect((await app.owner("POST", APPROVE, { userCode, approve: true })).status).toBe(429);
    app.clock.turn(MINUTE);
    expect((await app.owner("POST", APPROVE, { userCode, approve: true })).status).toBe(204);
  });

  test("is also limited per user, whichever addresses are used", async () => {
    await using app = await startApp({
      engine: false,
      stands: true,
      env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" },
    });
    const from = (n: number) => ({ "x-forwarded-for": `192.0.2.${n}` });
    const { userCode } = await device(app, from(200));
    for (let n = 0; n < 20; n++) {
      const guess = await app.owner("GET", `${SHOWN}?user_code=BBBB-BBBB`, undefined, from(n));
      expect(guess.status).toBe(404);
    }
    const decision = { userCode, approve: true };
    expect(codeOf(await app.owner("POST", APPROVE, decision, from(100)))).toEqual([429, "rate_limited"]);
    const bob = await join(app, "viewer");
    expect((await bob.call("POST", APPROVE, decision, from(101))).status).toBe(204);
  });
});

test("a third-party client signs in", async () => {
  await using app = await startApp({ engine: false });
  const ada = await signedIn(app);
  const config = new openid.Configuration(
    {
      issuer: app.origin,
      device_authorization_endpoint: app.origin + CODE,
      token_endpoint: app.origin + TOKEN,
    },
    "another-client",
    undefined,
    openid.None(),
  );
  openid.allowInsecureRequests(config);
  const polls: string[] = [];
  config[openid.customFetch] = async (url, options) => {
    const reply = await fetch(url, options as RequestInit);
    if (!url.endsWith("/token")) return reply;
    const { error = "done" } = await reply.clone().json();
    polls.push(error);
    app.clock.turn(5000);
    if (polls.length < 2) return reply;
    const shown = await ada.call("GET", `${SHOWN}?user_code=${codes.user_code}`);
    if (shown.body.clientId !== "another-client") return reply;
    await ada.call("POST", APPROVE, { userCode: shown.body.userCode, approve: true });
    return reply;
  };
  const codes = await openid.initiateDeviceAuthorization(config, { scope: "openid" });
  expect(codes).toMatchObject({ expires_in: 900, interval: 5, verification_uri: `${app.origin}/device` });
  const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.01 });
  expect(polls).toEqual(["authorization_pending", "authorization_pending", "done"]);
  expect([tokens.token_type, tokens.expires_in]).toEqual(["bearer", 14 * 24 * 60 * 60]);
  const call = client(app.origin, { authorization: `Bearer ${tokens.access_token}` });
  expect((await call("GET", "/api/v1/users/me")).body.email).toBe("ada@example.com");
});

test("codes are swept an hour after they expired", async () => {
  await using app = await startApp({ engine: false });
  await device(app);
  app.clock.turn(10 * MINUTE);
  await device(app);
  const { db } = app.app.store;
  const left = async (minutes: number) => {
    app.clock.turn(minutes * MINUTE);
    const loop = sweeper(app.app);
    while ((await loop.tick(new AbortController().signal)) === "more");
    return db.$count(deviceCodes);
  };
  expect(await left(64)).toBe(2);
  expect(await left(2)).toBe(1);
  expect(await left(10)).toBe(0);
});
