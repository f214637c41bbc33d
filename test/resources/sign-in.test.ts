import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { events } from "../../src/resources/events/table.ts";
import { organizations } from "../../src/resources/organizations/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { createAdminFromConfig, ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { knownBrowsers } from "../../src/resources/sign-in/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { settings } from "../../src/store/settings.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { browser } from "../support/people.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest } from "../support/scale.ts";
import { until } from "../support/work.ts";

/** Fails from one address until that is rejected. */
async function exhaust(app: Awaited<ReturnType<typeof startApp>>) {
  for (let n = 0; n < 30; n++) {
    const answer = await browser(app.origin).signIn("ada@example.com", "guess");
    if (answer.status !== 401) return answer;
  }
  throw new Error("Nothing was refused.");
}

const DAY_MS = 24 * 60 * 60 * 1000;
const person = { email: "Grace@Example.com", password: PASSWORD, firstName: "Grace", lastName: "Hopper" };
const owner = { ...person, organizationName: "Navy Works" };

describe("setup", () => {
  test("creates the owner with the link's token, signs them in, and is then over", async () => {
    await using app = await startApp({ engine: false, owner: false });
    const token = await ensureSetupToken(app.app);
    expect((await app.anonymous("GET", "/api/v1/auth/methods")).body).toEqual({
      setupRequired: true,
      password: true,
      oidc: null,
    });

    const grace = browser(app.origin);
    const made = await grace.call("POST", "/api/v1/auth/setup", { token, ...owner });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ email: "grace@example.com", firstName: "Grace", locale: null });
    expect(made.text).not.toContain("argon2");
    expect((await grace.call("GET", "/api/v1/users/me")).body.id).toBe(made.body.id);
    expect((await grace.call("GET", "/api/v1/organizations/current")).body).toMatchObject({
      slug: "navy-works",
    });

    const again = await app.anonymous("POST", "/api/v1/auth/setup", { token, ...owner });
    expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
    expect((await app.anonymous("GET", "/api/v1/auth/methods")).body.setupRequired).toBe(false);
    expect(await ensureSetupToken(app.app)).toBeNull();
    const trail = await app.app.store.db.select().from(events);
    expect(trail.map(({ type }) => type)).toEqual([
      "organization.created",
      "auth.permission_granted",
      "auth.login",
    ]);
    expect(trail[2]).toMatchObject({ actorId: made.body.id, actor: { ip: "127.0.0.1" } });
  });

  test("keeps everything else closed until then", async () => {
    await using app = await startApp({ engine: false, owner: false });
    expect((await app.anonymous("GET", "/health")).status).toBe(200);
    for (const [method, place] of [
      ["GET", "/api/v1/users/me"],
      ["POST", "/api/v1/organizations"],
      ["GET", "/api/v1/sessions"],
    ] as const) {
      expect((await app.anonymous(method, place, method === "POST" ? {} : undefined)).status).toBe(401);
    }
    expect((await browser(app.origin).signIn()).status).toBe(401);
  });

  test("rejects a wrong token, one of an earlier start, and one that is a day old", async () => {
    await using app = await startApp({ engine: false, owner: false });
    const set = (token: unknown) => app.anonymous("POST", "/api/v1/auth/setup", { token, ...owner });
    expect((await set("guess")).status).toBe(401);
    const first = await ensureSetupToken(app.app);
    const second = await ensureSetupToken(app.app);
    expect((await set(first)).status).toBe(401);
    app.clock.turn(DAY_MS + 1000);
    expect((await set(second)).status).toBe(410);
    expect(await app.app.store.db.$count(users)).toBe(0);
    expect(JSON.stringify(await app.app.store.db.select().from(settings))).not.toContain(second!);
  });

  test("names every invalid field", async () => {
    await using app = await startApp({ engine: false, owner: false });
    const refused = await app.anonymous("POST", "/api/v1/auth/setup", {
      token: "t",
      email: "grace",
      password: "eleven-char",
      organizationName: "",
      isAdmin: true,
    });
    expect(refused.status).toBe(422);
    expect(refused.body.detail.map((fault: { loc: string[] }) => fault.loc.join("."))).toEqual([
      "body.email",
      "body.password",
      "body.organizationName",
      "body.isAdmin",
    ]);
  });

  test("creates one owner if two try at once", async () => {
    await using app = await startApp({ engine: false, owner: false });
    const token = await ensureSetupToken(app.app);
    const race = ["a", "b", "c"].map((name) =>
      app.anonymous("POST", "/api/v1/auth/setup", { token, ...owner, email: `${name}@example.com` }),
    );
    const statuses = (await Promise.all(race)).map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 409, 409]);
    const { db } = app.app.store;
    expect([await db.$count(users), await db.$count(organizations), await db.$count(sessions)]).toEqual([
      1, 1, 1,
    ]);
  });

  test("is done at the first start by WEIR_ADMIN_EMAIL and its password file, and never again", async () => {
    const folder = mkdtempSync(path(tmpdir(), "weir-admin-"));
    const file = path(folder, "password");
    writeFileSync(file, `${PASSWORD}\n`);
    try {
      await using app = await startApp({
        owner: false,
        env: { WEIR_ADMIN_EMAIL: "root@example.com", WEIR_ADMIN_PASSWORD_FILE: file },
      });
      expect((await createAdminFromConfig(app.app))?.email).toBe("root@example.com");
      expect((await browser(app.origin).signIn("root@example.com")).status).toBe(200);
      expect(await createAdminFromConfig(app.app)).toBeNull();
      expect(await app.app.store.db.$count(users)).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("stops the start with a sentence if the password file can't be read or its password is too short", async () => {
    const folder = mkdtempSync(path(tmpdir(), "weir-admin-"));
    const file = path(folder, "password");
    try {
      await using app = await startApp({
        owner: false,
        env: { WEIR_ADMIN_EMAIL: "root@example.com", WEIR_ADMIN_PASSWORD_FILE: file },
      });
      expect(await refusalOf(createAdminFromConfig(app.app))).toContain("Couldn't read");
      writeFileSync(file, "short");
      expect(await refusalOf(createAdminFromConfig(app.app))).toContain("at least 12");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("signing in", () => {
  test("creates a new session each time, in a cookie that scripts and other sites can't use", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    const first = await ada.signIn("ADA@example.com");
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ id: app.ids.userId, email: "ada@example.com" });
    const [cookie] = first.headers.getSetCookie();
    expect(cookie).toMatch(/^svc_token=svc_at_\w{49}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/);
    const before = ada.cookie();
    await ada.signIn();
    expect(ada.cookie()).not.toBe(before);
    expect(await app.app.store.db.$count(sessions)).toBe(2);
    const stored = JSON.stringify(await app.app.store.db.select().from(sessions));
    expect(stored).not.toContain(before.replace("svc_token=", ""));
  });

  test("returns the session's token only in the cookie: no response about the user or the session has it", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    const replies = [await ada.signIn()];
    const token = ada.cookie().replace("svc_token=", "");
    expect(token).toStartWith("svc_at_");
    for (const place of ["users/me", "users/me/memberships", "users/me/export", "sessions", "events"])
      replies.push(await ada.call("GET", `/api/v1/${place}`));
    for (const { status, text } of replies) {
      expect(status).toBe(200);
      expect(text).not.toContain(token.slice("svc_at_".length));
    }
  });

  test("marks the cookie Secure if Weir is accessed over https", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_BASE_URL: "https://weir.example.com" } });
    const [cookie] = (await browser(app.origin).signIn()).headers.getSetCookie();
    expect(cookie).toEndWith("; Secure");
  });

  test("sets every cookie only for Weir's own host, in every sign-in and sign-out", async () => {
    for (const isSecure of [true, false]) {
      const env = { ...(isSecure ? { WEIR_BASE_URL: "https://weir.example.com" } : {}) };
      await using app = await startApp({ owner: false, engine: false, env });
      const token = await ensureSetupToken(app.app);
      const root = browser(app.origin, isSecure ? { origin: "https://weir.example.com" } : {});
      const replies = [await root.call("POST", "/api/v1/auth/setup", { token, ...owner })];
      const invited = { email: "alan@example.com" };
      const { inviteUrl } = (await root.call("POST", "/api/v1/organizations/invitations", invited)).body;
      const accepted = { token: new URL(inviteUrl).searchParams.get("token"), password: PASSWORD };
      replies.push(await browser(app.origin).call("POST", "/api/v1/auth/invitations/accept", accepted));
      replies.push(await root.signIn(person.email));
      replies.push(await root.call("POST", "/api/v1/auth/logout"));
      const cookies = replies.map(({ headers }) => headers.getSetCookie());
      expect(cookies.map((all) => all.length > 0)).toEqual([true, true, true, true]);
      for (const cookie of cookies.flat()) {
        const [, ...attributes] = cookie.split("; ");
        expect(attributes).toEqual(expect.arrayContaining(["Path=/", "HttpOnly"]));
        expect(attributes.filter((each) => /^SameSite=(Lax|Strict)$/.test(each))).toHaveLength(1);
        expect([cookie, attributes.includes("Secure")]).toEqual([cookie, isSecure]);
        expect(attributes.filter((each) => /^domain/i.test(each))).toEqual([]);
      }
    }
  });

  test("is recorded in the audit log, with the session and its source", async () => {
    await using app = await startApp({ engine: false });
    await browser(app.origin, { "user-agent": "curl/8.0", "x-correlation-id": "sign-in-1234" }).signIn();
    const trail = await app.app.store.db.select().from(events);
    const [session] = await app.app.store.db.select().from(sessions);
    expect(trail.at(-1)).toMatchObject({
      type: "auth.login",
      entityType: "session",
      entityId: session!.id,
      actorType: "user",
      actorId: app.ids.userId,
      actor: { email: "ada@example.com", ip: "127.0.0.1", userAgent: "curl/8.0" },
      correlationId: "sign-in-1234",
      data: { method: "password" },
    });
  });

  test("responds in the same way to a wrong password and an unknown user", async () => {
    await using app = await startApp({ engine: false });
    const asked = { "x-correlation-id": "same-same-1" };
    const wrong = await browser(app.origin, asked).signIn("ada@example.com", "not the password");
    const unknown = await browser(app.origin, asked).signIn("nobody@example.com", "not the password");
    expect(wrong.status).toBe(401);
    expect(wrong.body.code).toBe("unauthenticated");
    expect(wrong.headers.get("www-authenticate")).toBe("Bearer");
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text]);
    expect(wrong.headers.getSetCookie()).toEqual([]);
    expect(await app.app.store.db.$count(sessions)).toBe(0);
  });

  test("is possible ten times a minute from one address", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const tries = await Promise.all(
      Array.from({ length: 11 }, () => browser(app.origin).signIn("x@example.com")),
    );
    const refused = tries.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]!.body.code).toBe("rate_limited");
    expect(Number(refused[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
    app.clock.turn(60_000);
    expect((await browser(app.origin).signIn()).status).toBe(200);
  });

  test("has a limit of failures per account and source, so that nobody can lock a user out from elsewhere", async () => {
    await using app = await startApp({
      engine: false,
      stands: true,
      env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" },
    });
    const from = (n: number) => browser(app.origin, { "x-forwarded-for": `192.0.2.${n}` });
    const guess = async () => (await from(1).signIn("ada@example.com", "guess")).status;
    const seen: number[] = [];
    for (let n = 0; n < 60 && seen.at(-1) !== 429; n++) {
      app.clock.turn(6_000); // One more of the address's ten a minute.
      seen.push(await guess());
    }
    expect([seen.at(-1), seen.length > 20]).toEqual([429, true]);
    expect((await from(1).signIn("ADA@example.com")).body.detail).toContain("for this account");
    expect((await from(1).signIn("nobody@example.com")).status).toBe(401);
    expect((await from(2).signIn()).status).toBe(200);
  });

  test("is always possible in a known browser, even if others fail at the same address", async () => {
    await using app = await startApp({ stands: true, engine: false });
    const ada = browser(app.origin);
    const [, known = ""] = (await ada.signIn()).headers.getSetCookie();
    expect(known).toMatch(/^svc_browser=\w{49}; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Strict$/);
    const stored = JSON.stringify(await app.app.store.db.select().from(knownBrowsers));
    expect(stored).not.toContain(known.slice(12, 61));
    const refused = await exhaust(app);
    expect(refused.status).toBe(429);
    expect((await browser(app.origin).signIn()).status).toBe(429);
    expect((await ada.signIn()).status).toBe(200);
  });

  deepTest("isn't made easier for others by a browser that is known to someone else", async () => {
    await using app = await startApp({ stands: true, engine: false });
    const eve = browser(app.origin);
    await eve.signIn();
    await app.app.store.write(async (db) => void (await db.update(users).set({ email: "eve@example.com" })));
    const seen = [];
    for (let n = 0; n < 12; n++) seen.push((await eve.signIn("ada@example.com", "guess")).status);
    expect(seen.at(-1)).toBe(429);
    expect((await eve.signIn("eve@example.com")).status).toBe(200);
    for (let n = 0; n < 20; n++) seen.push((await eve.signIn("eve@example.com", "guess")).status);
    expect([seen.at(-1), (await eve.signIn("eve@example.com")).status]).toEqual([401, 429]);
  });

  deepTest("that succeeds doesn't count as a failure", async () => {
    await using app = await startApp({ stands: true, engine: false });
    for (let n = 0; n < 40; n++) {
      app.clock.turn(6_000);
      expect((await browser(app.origin).signIn()).status).toBe(200);
    }
  });

  test("that fails is recorded in the audit log of the user's organization, at most five times a minute", async () => {
    await using app = await startApp({ stands: true, engine: false });
    const guess = (email: string) => browser(app.origin).signIn(email, "guess");
    await guess("nobody@example.com");
    for (let n = 0; n < 8; n++) await guess("ada@example.com");
    const list = "/api/v1/events?type=auth.login_failed";
    const found = await until(app.owner, list, ({ items }) => items.length === 5);
    expect(found.items[0]).toMatchObject({
      type: "auth.login_failed",
      actor: { type: "system" },
      entity: { type: "user", id: app.ids.userId },
      data: { cause: "password", address: "127.0.0.1" },
    });
    expect(JSON.stringify(found)).not.toContain("guess");
    app.clock.turn(60_000);
    await guess("ada@example.com");
    await until(app.owner, list, ({ items }) => items.length === 6);
  });

  test("isn't possible from another site's page", async () => {
    await using app = await startApp({ engine: false });
    const body = { email: "ada@example.com", password: PASSWORD };
    const foreign: Record<string, string>[] = [
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.example" },
    ];
    for (const headers of foreign) {
      const refused = await app.anonymous("POST", "/api/v1/auth/login", body, headers);
      expect([refused.status, refused.body.code]).toEqual([403, "csrf"]);
    }
    expect((await app.anonymous("POST", "/api/v1/auth/login", body)).status).toBe(200);
  });
});

describe("signing out", () => {
  test("ends the session immediately, clears the cookie, and is recorded in the audit log", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const kept = ada.cookie();
    const out = await ada.call("POST", "/api/v1/auth/logout");
    expect([out.status, out.text]).toEqual([204, ""]);
    expect(out.headers.getSetCookie()[0]).toStartWith("svc_token=; Path=/; Max-Age=0;");
    expect((await app.anonymous("GET", "/api/v1/users/me", undefined, { cookie: kept })).status).toBe(401);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.at(-1)).toMatchObject({
      type: "auth.logout",
      entityType: "session",
      data: { cause: "signed_out" },
    });
  });

  test("can't be done with an access token", async () => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", "/api/v1/auth/logout");
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    expect((await app.owner("GET", "/api/v1/users/me")).status).toBe(200);
  });
});

describe("credentials", () => {
  test("a change with the cookie must come from Weir's own pages", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const change = (headers: Record<string, string>) =>
      app.anonymous(
        "PATCH",
        "/api/v1/users/me/preferences",
        { locale: "de" },
        { cookie: ada.cookie(), ...headers },
      );
    for (const headers of [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site", origin: app.origin },
    ] as Record<string, string>[]) {
      const refused = await change(headers);
      expect([refused.status, refused.body.code]).toEqual([403, "csrf"]);
    }
    expect((await change({ origin: app.origin })).status).toBe(200);
    expect((await change({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    const read = await app.anonymous("GET", "/api/v1/users/me", undefined, { cookie: ada.cookie() });
    expect(read.status).toBe(200);
  });

  test("a present but invalid one is rejected, and the next isn't tried", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const { token } = app;
    const twisted = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
    for (const headers of [
      { authorization: "Bearer nonsense", cookie: ada.cookie() },
      { authorization: `Bearer ${twisted}`, cookie: ada.cookie() },
      { authorization: `Basic ${btoa("ada:secret")}`, cookie: ada.cookie() },
      { authorization: "", cookie: ada.cookie() },
      { "x-api-key": "svc_key_nonsense", cookie: ada.cookie() },
      { cookie: "svc_token=svc_at_nonsense" },
    ] as Record<string, string>[]) {
      const refused = await app.anonymous("GET", "/api/v1/users/me", undefined, headers);
      expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    }
    const both = { authorization: `Bearer ${token}`, "x-api-key": "svc_key_nonsense", cookie: "svc_token=x" };
    expect((await app.anonymous("GET", "/api/v1/users/me", undefined, both)).status).toBe(200);
  });
});
