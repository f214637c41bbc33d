import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { readConfig } from "../../src/config.ts";
import { DEVICE_GRANT } from "../../src/resources/device/wire.ts";
import { events } from "../../src/resources/events/table.ts";
import { openidAttempts, openidIdentities } from "../../src/resources/openid/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { startForger } from "../peers/openid-forger.ts";
import { client, startApp } from "../support/app.ts";
import { startWithProvider, stopAtCallback } from "../support/openid.ts";
import { browser, neighbour } from "../support/people.ts";
import { openSurfer } from "../support/surfer.ts";

const OWN = "/api/v1/users/me/invitations";
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;

type Weir = Awaited<ReturnType<typeof startWithProvider>>;

const invite = (weir: Pick<Weir, "owner">, email: string, roleSlug = "member", call = weir.owner) =>
  call("POST", "/api/v1/organizations/invitations", { email, roleSlug });

/** Status, code and message of an error. */
const told = ({ status, body }: { status: number; body: { code: string; detail: string } }) => [
  status,
  body.code,
  body.detail,
];

describe("signing in with an identity provider", () => {
  test("recognizes a user by the verified address, and returns to the previous page", async () => {
    await using weir = await startWithProvider();
    const { host } = new URL(weir.peer.issuer);
    const methods = await weir.anonymous("GET", "/api/v1/auth/methods");
    expect(methods.body).toEqual({ setupRequired: false, password: true, oidc: { name: host } });

    const surfer = openSurfer();
    const asked: URL[] = [];
    const landing = await surfer.go(weir.start("/health?from=here"), "ada", {
      turn: (url) => {
        if (url.pathname === "/auth") asked.push(url);
        return url;
      },
    });
    expect([landing.status, landing.url.pathname + landing.url.search]).toEqual([200, "/health?from=here"]);
    expect(landing.trail.at(-2)).toBe("302 GET /api/v1/auth/oidc/callback");
    const [sent] = asked;
    expect(Object.fromEntries(sent?.searchParams ?? [])).toEqual({
      client_id: "weir",
      response_type: "code",
      redirect_uri: `${weir.origin}/api/v1/auth/oidc/callback`,
      scope: "openid email profile offline_access",
      prompt: "consent",
      state: expect.stringMatching(/^\w{49}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });

    const token = surfer.jar.get("svc_token") ?? "";
    const call = client(weir.origin, { cookie: `svc_token=${token}` });
    const me = await call("GET", "/api/v1/users/me");
    expect(me.body).toMatchObject({ id: weir.ids.userId, firstName: "Ada", lastName: "Lovelace" });
    const list = await call("GET", "/api/v1/sessions");
    expect(list.body.items).toMatchObject([{ clientType: "web", isActive: true, ipAddress: "127.0.0.1" }]);
    const { db } = weir.app.store;
    const [session] = await db.select().from(sessions);
    const logins = await db.select().from(events).where(eq(events.type, "auth.login"));
    expect(logins).toMatchObject([
      {
        entityType: "session",
        entityId: session?.id,
        actorType: "user",
        actorId: weir.ids.userId,
        actor: { email: "ada@example.com", ip: "127.0.0.1" },
        data: { method: "oidc", clientType: "web" },
      },
    ]);
    const updates = await db.select().from(events).where(eq(events.type, "user.updated"));
    const linked = { field: "identityProvider", from: null, to: `${weir.peer.issuer}/` };
    expect(updates.map(({ data }) => data)).toEqual([{ changes: [linked] }]);
    expect(session?.sealedRefreshToken).toStartWith("v1.");
  });

  test("gives the browser two cookies that scripts can't read, and stores nothing that could be replayed", async () => {
    await using weir = await startWithProvider();
    const begun = await weir.anonymous("GET", "/api/v1/auth/oidc/start");
    expect(begun.status).toBe(302);
    expect(begun.headers.get("cache-control")).toBe("no-store");
    const [cookie = ""] = begun.headers.getSetCookie();
    expect(cookie).toMatch(/^svc_openid=\w{49}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const held = cookie.slice("svc_openid=".length).split(";")[0] ?? "";
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? "";
    const [attempt] = await weir.app.store.db.select().from(openidAttempts);
    expect(JSON.stringify(attempt)).not.toContain(state);
    expect(JSON.stringify(attempt)).not.toContain(held);
    expect(attempt).toMatchObject({ returnTo: "/" });

    const { surfer, callback } = await stopAtCallback(weir.start(), "ada");
    const cookieHeader = [...surfer.jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const back = await client(weir.origin, { cookie: cookieHeader })(
      "GET",
      callback.pathname + callback.search,
    );
    expect([back.status, back.headers.get("location")]).toEqual([302, "/"]);
    expect(back.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^svc_token=svc_at_\w{49}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/),
    ]);
    expect(await weir.app.store.db.$count(openidAttempts)).toBe(1); // The one that nobody returned from.
  });

  test("restricts its cookies to https and this host, if Weir is accessed by https", async () => {
    await using weir = await startWithProvider({}, { env: { WEIR_BASE_URL: "https://weir.example.com" } });
    const begun = await weir.anonymous("GET", "/api/v1/auth/oidc/start?return_to=https://weir.example.com/a");
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-svc_openid=\w{49}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ]);
    const { searchParams } = new URL(begun.headers.get("location") ?? "");
    expect(searchParams.get("redirect_uri")).toBe("https://weir.example.com/api/v1/auth/oidc/callback");
    expect(await weir.app.store.db.select().from(openidAttempts)).toMatchObject([{ returnTo: "/a" }]);
  });

  test("allows several sign-ins in one browser at once", async () => {
    await using weir = await startWithProvider();
    const surfer = openSurfer();
    const first = await stopAtCallback(weir.start("/health?tab=1"), "ada", surfer);
    const second = await stopAtCallback(weir.start("/health?tab=2"), "ada", surfer);
    expect((await surfer.go(first.callback.href)).url.search).toBe("?tab=1");
    expect((await surfer.go(second.callback.href)).url.search).toBe("?tab=2");
  });

  test("recognizes a user by issuer and subject, even if their address has changed", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    weir.peer.people.ada = { email: "countess@example.com", email_verified: false };
    const { call } = await weir.signIn("ada");
    expect((await call("GET", "/api/v1/users/me")).body).toMatchObject({
      id: weir.ids.userId,
      email: "ada@example.com",
    });
    expect(await weir.app.store.db.$count(openidIdentities)).toBe(1);
  });

  test("takes the address from the ID token if it is there, without another request", async () => {
    await using weir = await startWithProvider({ claimsInIdToken: true });
    const { call } = await weir.signIn("ada");
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    expect(weir.peer.requests).not.toContain("GET /me");
  });

  test("can access the issuer's own host without an allowlist entry", async () => {
    await using weir = await startWithProvider({}, { env: { WEIR_EGRESS_ALLOW: "" } });
    const { call } = await weir.signIn("ada");
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
  });

  test("creates a user for someone invited, who then accepts the invitation", async () => {
    await using weir = await startWithProvider();
    expect((await invite(weir, "Grace@example.com", "admin")).status).toBe(201);
    const { call, landing } = await weir.signIn("grace");
    expect(landing.url.pathname + landing.url.search).toBe("/invitations?return_to=%2Fhealth");
    expect((await call("GET", "/api/v1/users/me/memberships")).body.items).toEqual([]);
    const [waiting] = (await call("GET", OWN)).body.items;
    expect(waiting).toMatchObject({
      organization: { name: "Acme" },
      roleSlug: "admin",
      invitedBy: { email: "ada@example.com", firstName: "Ada", lastName: "Lovelace" },
    });
    expect((await call("POST", `${OWN}/${waiting.id}/accept`)).status).toBe(200);
    const me = await call("GET", "/api/v1/users/me");
    expect(me.body).toMatchObject({
      email: "grace@example.com",
      firstName: "Grace",
      lastName: "Hopper",
      profilePictureUrl: "https://login.example.com/grace.png",
    });
    const { items } = (await call("GET", "/api/v1/users/me/memberships")).body;
    expect(items).toMatchObject([{ organization: { id: weir.ids.organizationId }, role: "admin" }]);
    expect((await weir.owner("GET", "/api/v1/organizations/invitations")).body.items).toEqual([]);
    const trail = await weir.app.store.db.select().from(events).where(eq(events.actorId, me.body.id));
    expect(trail.map(({ type }) => type)).toEqual(["auth.permission_granted"]);

    const login = { email: "grace@example.com", password: "x" };
    expect((await weir.anonymous("POST", "/api/v1/auth/login", login)).status).toBe(401);
    const { call: again, landing: back } = await weir.signIn("grace");
    expect((await again("GET", "/api/v1/users/me")).body.id).toBe(me.body.id);
    expect(back.url.pathname).toBe("/health");
  });

  test("accepts no other invitations of a user automatically, but asks", async () => {
    await using weir = await startWithProvider();
    const other = await neighbour(weir);
    expect((await invite(weir, "ada@example.com", "viewer", other.call)).status).toBe(201);
    const { call, landing } = await weir.signIn("ada");
    expect(landing.url.pathname).toBe("/invitations");
    const { items } = (await call("GET", "/api/v1/users/me/memberships")).body;
    expect(items).toMatchObject([
      { organization: { id: weir.ids.organizationId }, role: "owner", isDefault: true },
    ]);
    const [waiting] = (await call("GET", OWN)).body.items;
    expect(waiting.organization.id).toBe(other.organization.id);
    expect((await call("POST", `${OWN}/${waiting.id}/decline`)).status).toBe(204);
    expect((await weir.signIn("ada")).landing.url.pathname).toBe("/health");
  });

  test("takes an account back from someone who created it with a link that they sent to themselves", async () => {
    await using weir = await startWithProvider();
    const mallory = await neighbour(weir);
    const { inviteUrl } = (await invite(weir, "grace@example.com", "viewer", mallory.call)).body;
    const token = new URL(inviteUrl).searchParams.get("token");
    const page = browser(weir.origin);
    const password = "mallory knows this one";
    const made = await page.call("POST", "/api/v1/auth/invitations/accept", { token, password });
    expect(made.status).toBe(201);
    const pat = (await page.call("POST", "/api/v1/access-tokens", { name: "for later" })).body;
    const device = { client_id: "for later" };
    const codes = (await weir.anonymous("POST", "/api/v1/auth/device/code", device)).body;
    const yes = { userCode: codes.user_code, approve: true };
    expect((await page.call("POST", "/api/v1/auth/device/approve", yes)).status).toBe(204);

    expect((await invite(weir, "grace@example.com", "admin")).status).toBe(201);
    const { call } = await weir.signIn("grace");
    expect((await call("GET", "/api/v1/users/me")).body.id).toBe(made.body.id);
    const [waiting] = (await call("GET", OWN)).body.items;
    expect((await call("POST", `${OWN}/${waiting.id}/accept`)).status).toBe(200);
    const { items } = (await call("GET", "/api/v1/users/me/memberships")).body;
    expect(items.map(({ role }: { role: string }) => role)).toEqual(["admin", "viewer"]);

    const there = { "x-organization-id": weir.ids.organizationId };
    const byToken = client(weir.origin, { authorization: `Bearer ${pat.token}` });
    for (const old of [byToken, page.call])
      expect((await old("GET", "/api/v1/organizations/team", undefined, there)).status).toBe(401);
    expect((await browser(weir.origin).signIn("grace@example.com", password)).status).toBe(401);
    const poll = { ...device, grant_type: DEVICE_GRANT, device_code: codes.device_code };
    const late = await weir.anonymous("POST", "/api/v1/auth/device/token", poll);
    expect([late.status, late.body.error]).toEqual([400, "access_denied"]);
    const trail = await weir.app.store.db
      .select()
      .from(events)
      .where(eq(events.organizationId, mallory.organization.id));
    const changes = [
      { field: "password", from: "***", to: null },
      { field: "addressProven", from: false, to: true },
    ];
    expect(trail.slice(-5).map(({ type, data }) => ({ type, data }))).toMatchObject([
      { type: "user.updated", data: { changes } },
      { type: "auth.token_revoked", data: { kind: "access_token", lastFour: pat.lastFour } },
      { type: "auth.logout", data: { cause: "revoked" } },
      { type: "user.updated", data: { changes: [{ field: "identityProvider" }] } },
      { type: "auth.login", data: { method: "oidc" } },
    ]);

    const { call: again } = await weir.signIn("grace");
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    expect((await again("GET", "/api/v1/users/me")).status).toBe(200);
  });

  test("names the missing settings if there is no provider", async () => {
    await using weir = await startApp({ engine: false });
    for (const place of ["start", "callback?state=a&code=b"]) {
      const reply = await weir.anonymous("GET", `/api/v1/auth/oidc/${place}`);
      expect(told(reply)).toEqual([404, "not_found", expect.stringContaining("WEIR_OIDC_ISSUER")]);
    }
    expect((await weir.anonymous("GET", "/api/v1/auth/methods")).body.oidc).toBeNull();
  });

  test("is limited per address", async () => {
    await using weir = await startWithProvider({}, { stands: true });
    for (let n = 1; n <= 10; n++) {
      expect([n, (await weir.anonymous("GET", "/api/v1/auth/oidc/start")).status]).toEqual([n, 302]);
    }
    const reply = await weir.anonymous("GET", "/api/v1/auth/oidc/start");
    expect([reply.status, reply.body.code]).toEqual([429, "rate_limited"]);
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("access is denied", () => {
  const nobodyCame = async ({ app, peer }: Weir, people: number) => {
    expect(await app.store.db.$count(users)).toBe(people);
    expect(await app.store.db.$count(sessions)).toBe(0);
    expect(await app.store.db.$count(openidIdentities)).toBe(0);
    expect(peer.requests).toContain("POST /token");
    expect(peer.refreshTokens()).toBe(0); // Tokens that weren't needed are revoked.
  };

  test("with an address that the provider hasn't verified, even if it is a user's", async () => {
    await using weir = await startWithProvider();
    const { landing, surfer } = await weir.signIn("mallory");
    expect(told(landing)).toEqual([403, "forbidden", expect.stringContaining("hasn't verified ada@")]);
    expect(surfer.jar.has("svc_token")).toBe(false);
    await nobodyCame(weir, 1);
  });

  test("to anyone who is neither a user nor invited, has no address, or was invited too long ago", async () => {
    await using weir = await startWithProvider();
    expect(told((await weir.signIn("eve")).landing)).toEqual([
      403,
      "forbidden",
      "No account or invitation for eve@example.com. Ask an administrator for an invitation.",
    ]);
    expect(told((await weir.signIn("nobody")).landing)).toEqual([
      403,
      "forbidden",
      expect.stringContaining("didn't provide your email address"),
    ]);
    expect((await invite(weir, "eve@example.com")).status).toBe(201);
    weir.clock.turn(7 * DAY_MS + MINUTE_MS);
    expect((await weir.signIn("eve")).landing.status).toBe(403);
    await nobodyCame(weir, 1);
  });

  test("to another account of the provider with the address of an existing identity", async () => {
    await using weir = await startWithProvider({
      people: { heir: { email: "ada@example.com", email_verified: true } },
    });
    await weir.signIn("ada");
    const { landing, surfer } = await weir.signIn("heir");
    expect(told(landing)).toEqual([403, "forbidden", expect.stringContaining("Another account of")]);
    expect(surfer.jar.has("svc_token")).toBe(false);
  });

  test("with an address with letters that only look like a user's", async () => {
    await using weir = await startWithProvider({
      people: { kelvin: { email: "\u212Aelvin@example.com", email_verified: true } },
    });
    expect((await invite(weir, "kelvin@example.com")).status).toBe(201);
    expect((await weir.signIn("kelvin")).landing.status).toBe(403);
    await nobodyCame(weir, 1);
  });

  test("to anyone before the first owner has set up Weir", async () => {
    await using weir = await startWithProvider({}, { owner: false });
    expect((await weir.signIn("ada")).landing.status).toBe(403);
    await nobodyCame(weir, 0);
  });

  test("to a user who cancels at the provider", async () => {
    await using weir = await startWithProvider();
    const surfer = openSurfer();
    const form = await surfer.go(weir.start());
    const landing = await surfer.go(`${form.url.href}/abort`);
    expect(told(landing)).toEqual([
      403,
      "forbidden",
      expect.stringMatching(/denied the sign-in \(access_denied\)/),
    ]);
    expect(surfer.jar.has("svc_token")).toBe(false);
  });
});

describe("a response that doesn't belong to the sign-in", () => {
  test("is rejected if its state was modified, is missing, was used, or is another browser's", async () => {
    await using weir = await startWithProvider();
    const { callback, surfer } = await stopAtCallback(weir.start(), "ada");
    const state = callback.searchParams.get("state") ?? "";
    const altered = new URL(callback);
    altered.searchParams.set(
      "state",
      state.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    );
    const bare = new URL(callback);
    bare.searchParams.delete("state");
    for (const url of [altered, bare]) {
      expect(told(await surfer.go(url.href))).toEqual([
        400,
        "bad_request",
        expect.stringContaining("Start again at"),
      ]);
    }
    expect((await surfer.go(callback.href)).headers.get("location")).toBeNull();
    expect(surfer.jar.has("svc_token")).toBe(true);
    expect(told(await surfer.go(callback.href)).slice(0, 2)).toEqual([400, "bad_request"]);

    // Someone sends a link that would sign the victim in as the sender.
    const trap = await stopAtCallback(weir.start(), "ada");
    for (const victim of [openSurfer(), (await stopAtCallback(weir.start(), "ada")).surfer]) {
      const landing = await victim.go(trap.callback.href);
      expect([victim.jar.has("svc_token"), landing.status >= 400]).toEqual([false, true]);
    }
    expect(told(await openSurfer().go((await stopAtCallback(weir.start(), "ada")).callback.href))).toEqual([
      403,
      "csrf",
      expect.stringContaining("another browser"),
    ]);
    // After an attempt by another browser, it no longer works for its own either.
    expect((await trap.surfer.go(trap.callback.href)).status).toBe(400);
    expect(weir.peer.requests.filter((request) => request === "POST /token")).toHaveLength(1);
  });

  test("is rejected after ten minutes", async () => {
    await using weir = await startWithProvider();
    const { callback, surfer } = await stopAtCallback(weir.start(), "ada");
    weir.clock.turn(10 * MINUTE_MS);
    expect(told(await surfer.go(callback.href))).toEqual([
      410,
      "gone",
      expect.stringContaining("10 minutes"),
    ]);
    const inTime = await stopAtCallback(weir.start(), "ada", surfer);
    weir.clock.turn(9 * MINUTE_MS);
    await surfer.go(inTime.callback.href);
    expect(surfer.jar.has("svc_token")).toBe(true);
  });

  test("succeeds for one of two at the same time", async () => {
    await using weir = await startWithProvider();
    const { callback, surfer } = await stopAtCallback(weir.start("/health"), "ada");
    const both = await Promise.all([1, 2].map(() => openSurfer(new Map(surfer.jar)).go(callback.href)));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await weir.app.store.db.$count(sessions)).toBe(1);
  });

  test("is rejected if its ID token has another nonce", async () => {
    await using weir = await startWithProvider();
    const { callback, surfer } = await stopAtCallback(weir.start(), "ada", openSurfer(), (url) => {
      if (url.pathname === "/auth") url.searchParams.set("nonce", "another");
      return url;
    });
    expect(told(await surfer.go(callback.href))).toEqual([
      401,
      "unauthenticated",
      expect.stringContaining("doesn't match this sign-in"),
    ]);
    expect(surfer.jar.has("svc_token")).toBe(false);
  });

  test("is rejected if its code was used, was started with another verifier, or is another sign-in's", async () => {
    await using weir = await startWithProvider();
    const used = await stopAtCallback(weir.start(), "ada");
    await used.surfer.go(used.callback.href);
    const challenged = await stopAtCallback(weir.start(), "ada", openSurfer(), (url) => {
      if (url.pathname === "/auth") url.searchParams.set("code_challenge", "a".repeat(43));
      return url;
    });
    const stolen = await stopAtCallback(weir.start(), "ada");
    const own = await stopAtCallback(weir.start(), "eve");
    const codes = [used, stolen].map(({ callback }) => callback.searchParams.get("code") ?? "");
    expect((await challenged.surfer.go(challenged.callback.href)).status).toBe(401);
    const replayed = await stopAtCallback(weir.start(), "eve", own.surfer);
    for (const [index, { callback }] of [own, replayed].entries()) {
      callback.searchParams.set("code", codes[index] ?? "");
      const landing = await own.surfer.go(callback.href);
      expect([landing.status, landing.body.code]).toEqual([401, "unauthenticated"]);
    }
    expect(own.surfer.jar.has("svc_token")).toBe(false);
  });

  test("is rejected if it names another issuer", async () => {
    await using weir = await startWithProvider();
    const { callback, surfer } = await stopAtCallback(weir.start(), "ada");
    callback.searchParams.set("iss", "https://login.example.com");
    expect((await surfer.go(callback.href)).status).toBe(401);
    expect(weir.peer.requests).not.toContain("POST /token");
  });
});

describe("an ID token", () => {
  test("is accepted only if it is the provider's own, for this server, this sign-in and this time", async () => {
    using forger = await startForger({ id: "weir" });
    const env = {
      WEIR_OIDC_ISSUER: forger.issuer,
      WEIR_OIDC_CLIENT_ID: "weir",
      WEIR_OIDC_CLIENT_SECRET: "x",
    };
    await using weir = await startApp({ engine: false, env });
    const landing = async (forgery: Parameters<typeof forger.forge>[0]) => {
      forger.forge(forgery);
      weir.clock.turn(MINUTE_MS);
      const surfer = openSurfer();
      const { status } = await surfer.go(`${weir.origin}/api/v1/auth/oidc/start?return_to=/health`);
      return [forgery, status, surfer.jar.has("svc_token")];
    };
    const past = Math.floor(Date.now() / 1000) - 3600;
    const future = Math.floor(Date.now() / 1000) + 3600;
    const accessToken = { aud: "https://api.example.com", client_id: "weir", scope: "openid", jti: "1" };
    const forgeries = [
      { key: "another" as const },
      { key: "none" as const },
      { key: "public" as const },
      { key: "shown" as const },
      { claims: { nbf: future } },
      { claims: { nbf: "soon" } },
      { header: { typ: "at+jwt" }, claims: { ...accessToken, nonce: undefined } },
      { claims: { iss: "https://login.example.com" } },
      { claims: { aud: "somebody else" } },
      { claims: { aud: ["weir", "somebody else"], azp: "somebody else" } },
      { claims: { exp: past } },
      { claims: { nonce: undefined } },
      { claims: { nonce: "another" } },
      { claims: { sub: undefined } },
      { claims: { sub: "" } },
      { claims: { sub: " " } },
    ];
    for (const forgery of forgeries) expect(await landing(forgery)).toEqual([forgery, 401, false]);
    for (const verified of [false, "false", null, 1, "yes"]) {
      const forgery = { claims: { email_verified: verified } };
      expect(await landing(forgery)).toEqual([forgery, 403, false]);
    }
    expect(await weir.app.store.db.$count(openidIdentities)).toBe(0);
    expect(await landing({})).toEqual([{}, 200, true]);
  });
});

describe("return_to", () => {
  test("accepts only pages of this server", async () => {
    await using weir = await startWithProvider();
    const bad = [
      "//evil.example",
      "/\\evil.example",
      "\\\\evil.example",
      "https:evil.example",
      "https:/evil.example",
      "https://evil.example/",
      "http://127.0.0.1:1/",
      "/\t/evil.example",
      "/.//evil.example",
      "/a/..//evil.example",
      "javascript:alert(1)",
      "data:text/html,x",
      "evil.example",
      `http://ada:x@${weir.origin.slice(7)}/`,
      `${weir.origin}@evil.example/`,
      "/a\r\nset-cookie: a=b",
      "",
      `/${"a".repeat(2000)}`,
    ];
    for (const place of bad) {
      weir.clock.turn(MINUTE_MS);
      const reply = await weir.anonymous(
        "GET",
        `/api/v1/auth/oidc/start?return_to=${encodeURIComponent(place)}`,
      );
      expect([place, reply.status]).toEqual([place, 422]);
      expect(reply.body.detail).toMatchObject([{ loc: ["query", "return_to"] }]);
    }
    expect(await weir.app.store.db.$count(openidAttempts)).toBe(0);
    const good = [
      ["/", "/"],
      ["/a/../b?c=//d#e", "/b?c=//d#e"],
      [`${weir.origin}/x`, "/x"],
      [`/${"a".repeat(1999)}`, `/${"a".repeat(1999)}`],
    ];
    for (const [place = "", kept = ""] of good) {
      weir.clock.turn(MINUTE_MS);
      await weir.app.store.write(async (db) => void (await db.delete(openidAttempts)));
      expect((await openSurfer().go(weir.start(place))).trail[0]).toStartWith("302");
      expect(await weir.app.store.db.select().from(openidAttempts)).toMatchObject([{ returnTo: kept }]);
    }
    const stray = await weir.anonymous("GET", "/api/v1/auth/oidc/start?returnTo=/");
    expect([stray.status, stray.body.detail[0].type]).toEqual([422, "extra_forbidden"]);
  });
});

describe("a failing provider", () => {
  test("is reported in one sentence while it is down, and discovered again once it is back", async () => {
    await using weir = await startWithProvider();
    await weir.peer.stop();
    const down = await weir.anonymous("GET", "/api/v1/auth/oidc/start");
    expect(told(down)).toEqual([502, "upstream", expect.stringContaining("currently unavailable")]);
    expect(weir.logged.join()).toContain("refused the connection");
    await weir.peer.restart();
    const { callback, surfer } = await stopAtCallback(weir.start(), "ada");
    await weir.peer.stop();
    expect((await surfer.go(callback.href)).status).toBe(502);
    await weir.peer.restart();
    const { call } = await weir.signIn("ada", surfer);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    const found = weir.peer.requests.filter((request) => request.includes("openid-configuration"));
    expect(found).toHaveLength(1);
  });

  test("is rejected if its metadata names another issuer, or leads into the private network", async () => {
    const reached: string[] = [];
    using inside = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        reached.push(request.url);
        return new Response("{}");
      },
    });
    let own = "";
    using provider = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () =>
        Response.json({
          issuer: own,
          authorization_endpoint: `${own}/auth`,
          token_endpoint: `http://127.0.0.1:${inside.port}/token`,
          jwks_uri: `${own}/jwks`,
        }),
    });
    own = `http://localhost:${provider.port}`;
    const address = `http://127.0.0.1:${provider.port}`;
    const env = { WEIR_OIDC_CLIENT_ID: "a", WEIR_OIDC_CLIENT_SECRET: "b", WEIR_EGRESS_ALLOW: "" };
    await using weir = await startApp({ engine: false, env: { ...env, WEIR_OIDC_ISSUER: address } });
    expect((await weir.anonymous("GET", "/api/v1/auth/oidc/start")).status).toBe(502);
    expect(weir.logged.join()).toContain("its issuer doesn't match WEIR_OIDC_ISSUER");

    own = address;
    const surfer = openSurfer();
    const { callback } = await stopAtCallback(`${weir.origin}/api/v1/auth/oidc/start`, "ada", surfer);
    const state = callback.searchParams.get("state");
    const landing = await surfer.go(`${weir.origin}/api/v1/auth/oidc/callback?code=x&state=${state}`);
    expect([landing.status, reached]).toEqual([502, []]);
    expect(weir.logged.join()).toContain("to WEIR_EGRESS_ALLOW and restart Weir");
    expect(landing.text).not.toContain(String(inside.port));
  });

  test("shows browsers a page with the message, with the error's status", async () => {
    await using weir = await startWithProvider({
      people: { odd: { email: '<b>"odd"&\'@example.com', email_verified: true } },
    });
    const landing = await openSurfer().go(weir.start(), "odd", { accept: "text/html,*/*;q=0.8" });
    expect([landing.status, landing.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(landing.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(landing.text).toContain(
      "No account or invitation for &#60;b&#62;&#34;odd&#34;&#38;&#39;@example.com",
    );
    expect(landing.text).not.toContain("<b>");
    const wrong = await weir.anonymous("GET", "/api/v1/auth/oidc/start?return_to=//evil", undefined, {
      accept: "text/html",
    });
    expect([wrong.status, wrong.headers.get("content-type")]).toEqual([422, "text/html; charset=utf-8"]);
  });
});

describe("the settings of the provider", () => {
  test("must be set together or not at all, and the issuer is a URL", () => {
    const read = (env: Record<string, string>) => () => readConfig({}, env, {});
    expect(read({ WEIR_OIDC_ISSUER: "https://login.example.com" })).toThrow(
      "Set all of WEIR_OIDC_ISSUER, WEIR_OIDC_CLIENT_ID and WEIR_OIDC_CLIENT_SECRET, or none. Missing: WEIR_OIDC_CLIENT_ID and WEIR_OIDC_CLIENT_SECRET.",
    );
    expect(read({ WEIR_OIDC_CLIENT_ID: "a", WEIR_OIDC_CLIENT_SECRET: "b" })).toThrow(
      "Missing: WEIR_OIDC_ISSUER",
    );
    for (const issuer of ["login.example.com", "ftp://a", "https://a?b", "https://a#b", "https://u@a"]) {
      expect(read({ WEIR_OIDC_ISSUER: issuer })).toThrow("the issuer URL of an OpenID provider");
    }
    const { config, secrets } = readConfig(
      {},
      { WEIR_OIDC_ISSUER: "https://a/b/", WEIR_OIDC_CLIENT_ID: "c" },
      { oidcClientSecret: "d" },
    );
    expect([config.oidcIssuer, config.oidcClientId, secrets.oidcClientSecret]).toEqual([
      "https://a/b/",
      "c",
      "d",
    ]);
  });
});

describe("a password", () => {
  test("still signs in a user whom the provider knows as well", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    expect((await browser(weir.origin).signIn()).status).toBe(200);
  });
});
