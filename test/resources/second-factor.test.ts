import { describe, expect, test } from "bun:test";
import { codeAt, counterAt } from "../../src/crypto/totp.ts";
import { resetPassword } from "../../src/resources/sign-in/password.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { browser, fromBase32, join, turnOnSecondFactor } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { until } from "../support/work.ts";

const TOTP = "/api/v1/users/me/totp";
const LOGIN = "/api/v1/auth/login";
type Started = Awaited<ReturnType<typeof startApp>>;

/** What an authenticator app shows; `later` in steps of 30 s. */
function shownBy(app: Started, secret: string) {
  const bytes = fromBase32(secret);
  return (later = 0) => codeAt(bytes, counterAt(app.clock.now().getTime()) + later);
}

const login = (app: Started, code?: string) =>
  app.anonymous("POST", LOGIN, { email: "ada@example.com", password: PASSWORD, ...(code ? { code } : {}) });

describe("a second factor", () => {
  test("is on once the app's first code is confirmed, and then required", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const begun = await app.owner("POST", TOTP);
    const { secret, otpauthUrl } = begun.body;
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    const url = new URL(otpauthUrl);
    expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual([
      "otpauth:",
      "totp",
      "/Weir:ada@example.com",
    ]);
    expect(url.searchParams.get("secret")).toBe(secret);
    expect((await login(app)).status).toBe(200); // Not confirmed yet.
    const wrong = await app.owner("POST", `${TOTP}/confirm`, { code: "000000x" });
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "code"]]);
    const code = shownBy(app, secret);
    const { body } = await app.owner("POST", `${TOTP}/confirm`, { code: code() });
    expect(new Set(body.recoveryCodes).size).toBe(10);
    expect([
      (await app.owner("POST", TOTP)).status,
      (await app.owner("POST", `${TOTP}/confirm`, { code: code(1) })).status,
    ]).toEqual([409, 409]);

    const asked = await login(app);
    expect([asked.status, asked.body.code]).toEqual([401, "second_factor_required"]);
    expect(asked.headers.getSetCookie()).toEqual([]);
    const guessed = await login(app, "abcdef");
    expect([guessed.status, guessed.body.code]).toEqual([401, "unauthenticated"]);
    expect((await login(app, code(1))).status).toBe(200);
    const list = "/api/v1/events?type=auth.login_failed";
    const { items } = await until(app.owner, list, (found) => found.items.length === 1);
    expect(items[0].data.cause).toBe("code");
    const stored = await app.app.store.db.all(
      "select sealed_secret, code_hash from second_factors, recovery_codes",
    );
    for (const shown of [secret, ...body.recoveryCodes]) expect(JSON.stringify(stored)).not.toContain(shown);
  });

  test("reveals nothing without the password", async () => {
    await using app = await startApp({ engine: false });
    await turnOnSecondFactor(app);
    const wrong = await app.anonymous("POST", LOGIN, { email: "ada@example.com", password: "guess" });
    expect([wrong.status, wrong.body.code]).toEqual([401, "unauthenticated"]);
  });

  test("accepts a code once, even within its time", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const { code } = await turnOnSecondFactor(app);
    expect((await login(app, code())).status).toBe(401); // It confirmed the app.
    const race = await Promise.all([1, 2, 3].map(() => login(app, code(1))));
    expect(race.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await login(app, code(2))).status).toBe(401); // From the future.
    app.clock.turn(60_000);
    expect((await login(app, ` ${code().slice(0, 3)} ${code().slice(3)}`)).status).toBe(200);
  });

  test("accepts a recovery code however it is written", async () => {
    await using app = await startApp({ engine: false });
    const { recoveryCodes } = await turnOnSecondFactor(app);
    const [plain = "", loud = ""] = recoveryCodes;
    for (const typed of [plain.replaceAll("-", ""), ` ${loud.toUpperCase().replaceAll("-", " ")} `])
      expect((await login(app, typed)).status).toBe(200);
    expect((await login(app, plain)).status).toBe(401);
  });

  test("accepts each recovery code once instead of the app's", async () => {
    await using app = await startApp({ engine: false });
    const { recoveryCodes } = await turnOnSecondFactor(app);
    const [first = "", second = ""] = recoveryCodes;
    expect((await login(app, first)).status).toBe(200);
    expect((await login(app, first)).status).toBe(401);
    expect((await login(app, second.toUpperCase())).status).toBe(200);
  });

  test("has recovery codes of at least 112 bits, unlike any before", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const seen = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const { recoveryCodes } = await turnOnSecondFactor(app);
      for (const code of recoveryCodes) {
        expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){5}$/); // 24 letters of 5 bits.
        seen.add(code);
      }
      expect((await app.owner("DELETE", TOTP, { password: PASSWORD })).status).toBe(204);
      app.clock.turn(120_000);
    }
    expect(seen.size).toBe(30);
  });

  deepTest("can't be guessed from many addresses, and a known browser isn't blocked by that", async () => {
    await using app = await startApp({
      engine: false,
      stands: true,
      env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" },
    });
    const { code } = await turnOnSecondFactor(app);
    const mine = browser(app.origin);
    const credentials = { email: "ada@example.com", password: PASSWORD };
    expect((await mine.call("POST", LOGIN, { ...credentials, code: code(1) })).status).toBe(200);
    const guess = (n: number) =>
      app.anonymous("POST", LOGIN, { ...credentials, code: "abcdef" }, { "x-forwarded-for": `192.0.2.${n}` });
    for (let n = 0; n < 10; n++) expect((await guess(n)).status).toBe(401);
    expect((await guess(100)).status).toBe(429);
    app.clock.turn(30_000);
    expect((await mine.call("POST", LOGIN, { ...credentials, code: code(1) })).status).toBe(200);
  });

  test("is turned off with the password, a code or a recovery code, and nothing less", async () => {
    await using app = await startApp({ engine: false, stands: true });
    for (const proof of [
      () => ({ password: PASSWORD }),
      ({ code }: { code: (later: number) => string }) => ({ code: code(1) }),
      ({ recoveryCodes }: { recoveryCodes: string[] }) => ({ code: recoveryCodes[3] }),
    ]) {
      const factor = await turnOnSecondFactor(app);
      expect((await app.owner("DELETE", TOTP, {})).status).toBe(422);
      expect((await app.owner("DELETE", TOTP, { password: "guess" })).status).toBe(401);
      const off = await app.owner("DELETE", TOTP, proof(factor));
      expect([off.status, off.text]).toEqual([204, ""]);
      expect((await login(app)).status).toBe(200);
      app.clock.turn(120_000);
    }
    expect((await app.owner("DELETE", TOTP, { password: PASSWORD })).status).toBe(409);
    const { items } = (await app.owner("GET", "/api/v1/events?type=user.updated")).body;
    expect(items[0].data.changes).toEqual([{ field: "secondFactor", from: "on", to: "off" }]);
  });

  test("survives a password reset, unless the operator turns it off", async () => {
    await using app = await startApp({ engine: false });
    await turnOnSecondFactor(app);
    const reset = { email: "ada@example.com", password: PASSWORD };
    expect(await resetPassword(app.app, reset)).toMatchObject({ secondFactor: "kept" });
    expect((await login(app)).body.code).toBe("second_factor_required");
    expect(await resetPassword(app.app, { ...reset, endSecondFactor: true })).toMatchObject({
      secondFactor: "ended",
    });
    expect((await login(app)).status).toBe(200);
  });
});

describe("a session whose last sign-in is over an hour ago", () => {
  const HOUR_MS = 60 * 60 * 1000;
  const MAKERS = ["/api/v1/access-tokens", "/api/v1/api-keys"] as const;
  const CONFIRM = "/api/v1/auth/confirm";

  test("creates no access tokens and API keys until it is confirmed", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    for (const path of MAKERS) expect((await ada.call("POST", path, { name: "k" })).status).toBe(201);
    app.clock.turn(HOUR_MS + 1000);
    for (const path of MAKERS) {
      const refused = await ada.call("POST", path, { name: "k" });
      expect([refused.status, refused.body.code]).toEqual([401, "sign_in_again"]);
    }
    expect((await ada.call("GET", MAKERS[0])).status).toBe(200);
    expect((await ada.call("POST", CONFIRM, { password: "guess" })).status).toBe(401);
    expect((await ada.call("POST", MAKERS[0], { name: "k" })).status).toBe(401);
    const confirmed = await ada.call("POST", CONFIRM, { password: PASSWORD });
    expect([confirmed.status, confirmed.text]).toEqual([204, ""]);
    for (const path of MAKERS) expect((await ada.call("POST", path, { name: "k" })).status).toBe(201);
    expect((await app.owner("POST", MAKERS[0], { name: "by a token" })).status).toBe(201);
  });

  test("turns on no second factor, approves no client and links no chat user until it is confirmed", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const begun = await ada.call("POST", TOTP);
    expect(begun.status).toBe(200);
    app.clock.turn(HOUR_MS + 1000);
    const asked = await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
    const userCode = asked.body.user_code;
    const ways = [
      () => ada.call("POST", TOTP),
      () => ada.call("POST", `${TOTP}/confirm`, { code: "123456" }),
      () => ada.call("POST", "/api/v1/auth/device/approve", { userCode, approve: true }),
      () => ada.call("GET", "/api/inbound/link-callback?token=none"),
    ];
    for (const way of ways) {
      const refused = await way();
      expect([refused.status, refused.body.code]).toEqual([401, "sign_in_again"]);
    }
    expect((await ada.call("POST", CONFIRM, { password: PASSWORD })).status).toBe(204);
    expect((await ada.call("POST", TOTP)).status).toBe(200);
    expect((await ada.call("GET", "/api/inbound/link-callback?token=none")).status).toBe(410);
    expect((await ways[2]?.())?.status).toBe(204);
  });

  test("can still deny a client", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    app.clock.turn(HOUR_MS + 1000);
    const asked = await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
    const decision = { userCode: asked.body.user_code, approve: false };
    expect((await ada.call("POST", "/api/v1/auth/device/approve", decision)).status).toBe(204);
  });

  test("can be confirmed with a code too; an access token can't", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const ada = browser(app.origin);
    await ada.signIn();
    const { code } = await turnOnSecondFactor(app, ada.call);
    app.clock.turn(HOUR_MS + 1000);
    expect((await ada.call("POST", CONFIRM, { code: code() })).status).toBe(204);
    expect((await ada.call("POST", MAKERS[0], { name: "k" })).status).toBe(201);
    expect((await ada.call("POST", CONFIRM, { code: code(1), password: PASSWORD })).status).toBe(422);
    expect((await app.owner("POST", CONFIRM, { password: PASSWORD })).status).toBe(409);
  });
});

test("an access token created with another expires no later than that one", async () => {
  await using app = await startApp({ engine: false });
  const { call } = await join(app, "member"); // By a token that is valid for a day.
  const [own] = (await call("GET", "/api/v1/access-tokens")).body.items;
  const made = await call("POST", "/api/v1/access-tokens", { name: "child", expiresInDays: 30 });
  expect([made.status, made.body.expiresAt]).toEqual([201, own.expiresAt]);
});

test("a client approved with an access token, and what that client creates, expires no later than the token", async () => {
  await using app = await startApp({ engine: false, stands: true });
  const short = await app.owner("POST", "/api/v1/access-tokens", { name: "short", expiresInDays: 1 });
  const { body: codes } = await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
  const byToken = client(app.origin, { authorization: `Bearer ${short.body.token}` });
  const decision = { userCode: codes.user_code, approve: true };
  expect((await byToken("POST", "/api/v1/auth/device/approve", decision)).status).toBe(204);
  const { body } = await app.anonymous("POST", "/api/v1/auth/device/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: codes.device_code,
    client_id: "weir-cli",
  });
  expect(body.expires_in).toBe(24 * 60 * 60);
  const cli = client(app.origin, { authorization: `Bearer ${body.access_token}` });
  const made = await cli("POST", "/api/v1/access-tokens", { name: "long", expiresInDays: 365 });
  expect([made.status, made.body.expiresAt]).toEqual([201, short.body.expiresAt]);
  app.clock.turn(23 * 60 * 60 * 1000);
  expect((await cli("GET", "/api/v1/users/me")).status).toBe(200);
  app.clock.turn(60 * 60 * 1000);
  expect((await cli("GET", "/api/v1/users/me")).status).toBe(401);
});
