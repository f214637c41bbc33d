import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTerminal } from "../cli/terminal.ts";
import { SELLER_APP, sellerKeys, startSeller } from "../peers/amazon-seller.ts";
import { OAUTH_CLIENT, startOAuthApi } from "../peers/oauth-api.ts";
import { startApp } from "../support/app.ts";
import {
  addSigned,
  authorize,
  ownerSurfer,
  signInFor,
  signInStateOf,
  signInTemplate,
} from "../support/connection-sign-ins.ts";
import { connect, faultsOf, localFiles } from "../support/connections.ts";
import { join } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { surferOf } from "../support/sign-ins.ts";
import { makeAction, runToEnd } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
});
afterAll(() => weir[Symbol.asyncDispose]());

const CONNECTIONS = "/api/v1/connections";

const eventsOf = async (type: string, id: string) =>
  (await weir.owner("GET", `/api/v1/events?type=${type}&entityId=${id}&limit=100`)).body.items;

const shown = async (id: string) => (await weir.owner("GET", `${CONNECTIONS}/${id}`)).body;

/** An action that requests items from the connection's API. */
const asking = (connectionId: string) =>
  makeAction(weir.owner, { kind: "http_request", connectionId, definition: { url: "/api/items" } });

const ask = async (connectionId: string) => runToEnd(weir.owner, (await asking(connectionId)).id);

describe("a sign-in for a connection", () => {
  test("leads to the other system and back, verifies the connection, and its runs use the token", async () => {
    await using peer = await startOAuthApi({ needsOffline: true, rotates: true });
    const { id, status } = await addSigned(weir, peer, { extraParams: { access_type: "offline" } });
    expect(status).toBe("needs_verification");
    const redirectUri = `${weir.origin}/api/v1/connections/oauth/callback`;
    expect(await signInStateOf(weir, id)).toEqual({
      ...{ state: "needed", redirectUri, scopes: ["items:read", "items:write"], missingScopes: [] },
      ...{ isRenewable: false, expiresAt: null, signedInAt: null, signedInBy: null, problem: null },
    });
    const early = await ask(id);
    expect(early).toMatchObject({ status: "failed" });
    expect(early.error.message).toContain("Sign in to");

    const { begun, landing } = await signInFor(weir, id);
    expect(begun).toEqual({
      authorizationUrl: expect.stringContaining(`${peer.origin}/authorize?`),
      expiresAt: expect.any(String),
      redirectUri,
      scopes: ["items:read", "items:write"],
    });
    expect(Object.fromEntries(peer.authorizations[0] ?? [])).toEqual({
      ...{ response_type: "code", client_id: OAUTH_CLIENT.clientId, redirect_uri: redirectUri },
      ...{ scope: "items:read items:write", access_type: "offline", code_challenge_method: "S256" },
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.any(String),
    });
    expect(landing.url.pathname + landing.url.search).toBe(`/connections/${id}?signed-in`);
    expect(await shown(id)).toMatchObject({ status: "active", verificationError: null });
    expect(await signInStateOf(weir, id)).toMatchObject({
      ...{ state: "signed_in", isRenewable: true, expiresAt: expect.any(String), missingScopes: [] },
      ...{ signedInBy: weir.ids.userId, problem: null },
    });
    expect(await ask(id)).toMatchObject({ status: "completed", result: { body: [{ id: 1 }, { id: 2 }] } });
    expect(await eventsOf("connection.sign_in_started", id)).toHaveLength(1);
    const [signedIn] = await eventsOf("connection.signed_in", id);
    expect(signedIn).toMatchObject({
      actor: { type: "user", id: weir.ids.userId },
      data: { isRenewable: true },
    });
    expect(JSON.stringify([signedIn, await shown(id)])).not.toMatch(/access-|refresh-|code-/);
  });

  test("is refreshed before it expires, and a used refresh token is never sent again", async () => {
    await using peer = await startOAuthApi({ rotates: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    for (let round = 1; round <= 3; round++) {
      peer.endTokens();
      expect(await ask(id)).toMatchObject({ status: "completed" });
      expect(peer.state.refreshes).toBe(round);
    }
    expect(await eventsOf("connection.token_refreshed", id)).toHaveLength(3);
    expect(await signInStateOf(weir, id)).toMatchObject({ state: "signed_in", isRenewable: true });
  });

  test("that the other system ends is reported immediately, and needs a user instead of being retried", async () => {
    await using peer = await startOAuthApi({ rotates: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    peer.revoke();
    const failed = await ask(id);
    expect(failed.status).toBe("failed");
    expect(failed.error.message).toContain("Sign in again: ");
    expect(failed.error.message).toContain("(invalid_grant)");
    expect(await shown(id)).toMatchObject({
      status: "error",
      verificationError: expect.stringContaining("Sign in again"),
    });
    expect(await signInStateOf(weir, id)).toMatchObject({
      state: "needed",
      problem: expect.stringContaining("Sign in again"),
    });
    const { refreshes } = peer.state;
    expect((await ask(id)).error.message).toContain("Sign in again");
    expect(peer.state.refreshes).toBe(refreshes);
    expect(await eventsOf("connection.error", id)).toHaveLength(1);
    await signInFor(weir, id);
    expect(await shown(id)).toMatchObject({ status: "active" });
    expect(await ask(id)).toMatchObject({ status: "completed" });
  });

  test("stays when the other system fails temporarily", async () => {
    await using peer = await startOAuthApi({ rotates: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    peer.endTokens();
    peer.state.instead = { status: 503, body: "<h1>Maintenance</h1>" };
    expect((await ask(id)).error).toMatchObject({ code: "upstream", retryable: true });
    for (const error of ["internal_error", "service_unavailable", "fatal_error", "ratelimited"]) {
      peer.state.instead = { status: 200, body: JSON.stringify({ ok: false, error }) };
      expect((await ask(id)).error).toMatchObject({ code: "upstream", retryable: true });
      expect(await signInStateOf(weir, id)).toMatchObject({ state: "signed_in", isRenewable: true });
    }
    peer.state.instead = null;
    expect(await ask(id)).toMatchObject({ status: "completed" });
  });

  test("is refreshed once if that returns the same token, whether it is then accepted or not", async () => {
    await using peer = await startOAuthApi({ keepsToken: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    peer.endTokens();
    expect(await ask(id)).toMatchObject({ status: "completed" });
    peer.state.isShut = true;
    const { refreshes } = peer.state;
    expect((await ask(id)).status).toBe("failed");
    expect(peer.state.refreshes - refreshes).toBeLessThanOrEqual(1);
    expect((await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body).toMatchObject({
      verificationError: expect.stringContaining("401"),
    });
    expect(peer.state.refreshes - refreshes).toBeLessThanOrEqual(2);
  });

  deepTest("is refreshed once for a hundred concurrent runs", async () => {
    await using peer = await startOAuthApi({ rotates: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    peer.endTokens();
    peer.state.delayMs = 200;
    const action = await asking(id);
    const runs = await Promise.all(Array.from({ length: 100 }, () => runToEnd(weir.owner, action.id)));
    expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => "completed"));
    expect(peer.state.refreshes).toBe(1);
  });

  test("without a refresh token works until the token expires, and then says who has to do what", async () => {
    await using peer = await startOAuthApi({ needsOffline: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    expect(await signInStateOf(weir, id)).toMatchObject({ state: "signed_in", isRenewable: false });
    expect(await ask(id)).toMatchObject({ status: "completed" });
    peer.endTokens();
    expect((await ask(id)).error.message).toContain("issued no refresh token");
    expect(await shown(id)).toMatchObject({ status: "error" });
  });
});

describe("systems that deviate from the standard", () => {
  const ways = {
    "seconds as text": [{ textSeconds: true, rotates: true }, {}],
    "replies that are forms": [{ formReplies: true }, {}],
    "no type of token": [{ tokenType: null }, {}],
    "a bot's token": [{ tokenType: "bot" }, { tokenAuth: "body" }],
    "no PKCE": [{}, { pkce: false }],
  } as const;
  for (const [name, [odd, auth]] of Object.entries(ways)) {
    test(`${name} are understood`, async () => {
      await using peer = await startOAuthApi({ ...odd });
      const { id } = await addSigned(weir, peer, auth);
      await signInFor(weir, id);
      expect(await shown(id)).toMatchObject({ status: "active" });
      peer.endTokens();
      expect(await ask(id)).toMatchObject({ status: "completed" });
      expect(await signInStateOf(weir, id)).toMatchObject({ expiresAt: expect.any(String) });
    });
  }

  test("errors sent with status 200 are errors", async () => {
    await using peer = await startOAuthApi({ errorsAs200: true });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    peer.revoke();
    expect((await ask(id)).error.message).toContain("Sign in again");
  });

  test("scopes that were left out are reported", async () => {
    await using peer = await startOAuthApi({ grants: "items:read" });
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    expect(await signInStateOf(weir, id)).toMatchObject({
      state: "signed_in",
      missingScopes: ["items:write"],
    });
  });

  test("a token of a type that a header can't carry is rejected", async () => {
    await using peer = await startOAuthApi({ tokenType: "mac" });
    const { id } = await addSigned(weir, peer);
    expect(await signInFor(weir, id)).toMatchObject({ landing: { status: 502 } });
    expect(await signInStateOf(weir, id)).toMatchObject({ state: "needed" });
  });
});

describe("an authorization response", () => {
  /** Stops before the way back to Weir. */
  async function stopBefore(id: string) {
    const begun = await authorize(weir, id);
    const surfer = await ownerSurfer(weir);
    const { url } = await surfer.go(begun.body.authorizationUrl, null, {
      turn: (to) => (to.pathname.endsWith("/oauth/callback") ? null : to),
    });
    return { callback: url, surfer };
  }

  test("of another system is rejected, and its code is sent nowhere", async () => {
    await using peer = await startOAuthApi({ issuer: "https://login.example.org" });
    const { id } = await addSigned(weir, peer);
    const { landing } = await signInFor(weir, id);
    expect(landing.status).toBe(401);
    expect(landing.text).toContain("another system");
    expect(peer.requests).not.toContain("POST /token");
  });

  test("of the system that identifies itself is accepted", async () => {
    await using peer = await startOAuthApi();
    const { id } = await addSigned(weir, peer);
    const { callback, surfer } = await stopBefore(id);
    callback.searchParams.set("iss", peer.origin);
    const landing = await surfer.go(callback.href, null, {
      turn: (url) => (url.pathname.startsWith("/connections/") ? null : url),
    });
    expect(landing.url.search).toBe("?signed-in");
  });

  test("of a user who denied it is reported as such", async () => {
    await using peer = await startOAuthApi();
    peer.state.denies = true;
    const { id } = await addSigned(weir, peer);
    const { landing } = await signInFor(weir, id);
    expect([landing.status, landing.body.code]).toEqual([403, "forbidden"]);
    expect(landing.text).toContain("access_denied");
  });

  test("is accepted once, from the user who began, and not after ten minutes", async () => {
    await using peer = await startOAuthApi();
    const { id } = await addSigned(weir, peer);
    const { callback, surfer } = await stopBefore(id);
    const other = await join(weir, "admin");
    const stranger = await fetch(callback, { headers: { authorization: `Bearer ${other.token}` } });
    expect(stranger.status).toBe(403);
    expect((await surfer.go(callback.href)).status).toBe(400); // The state is used up by the first response.

    const late = await stopBefore(id);
    weir.clock.turn(11 * 60_000);
    expect((await late.surfer.go(late.callback.href)).status).toBe(410);
    expect((await fetch(late.callback, { headers: { accept: "text/html" } })).status).toBe(401);
    expect(peer.requests).not.toContain("POST /token");
  });

  test("is only accepted in the session in which the sign-in began", async () => {
    await using peer = await startOAuthApi();
    const { id } = await addSigned(weir, peer);
    const [one, other] = [await ownerSurfer(weir), await surferOf(weir)];
    const begin = async () => {
      const cookie = `svc_token=${one.jar.get("svc_token")}`;
      const reply = await fetch(`${weir.origin}${CONNECTIONS}/${id}/authorize`, {
        method: "POST",
        headers: { cookie, origin: weir.origin, "sec-fetch-site": "same-origin" },
      });
      return (await reply.json()).authorizationUrl;
    };
    expect((await other.go(await begin())).status).toBe(403);
    const landing = await one.go(await begin(), null, {
      turn: (url) => (url.pathname.startsWith("/connections/") ? null : url),
    });
    expect(landing.url.search).toBe("?signed-in");
  });
});

describe("the tokens of a sign-in", () => {
  test("stay if only other settings change, and can't be used if they would be sent elsewhere", async () => {
    await using peer = await startOAuthApi();
    await using elsewhere = await startOAuthApi();
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    await weir.owner("PATCH", `${CONNECTIONS}/${id}`, { config: { folder: "reports" } });
    expect((await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body.status).toBe("active");
    const config = { baseUrl: elsewhere.origin };
    const refused = await weir.owner("PATCH", `${CONNECTIONS}/${id}`, { config });
    expect(faultsOf(refused)).toContain("body.credentials credentials_required");
    await weir.owner("PATCH", `${CONNECTIONS}/${id}`, { config, credentials: OAUTH_CLIENT });
    expect(await signInStateOf(weir, id)).toMatchObject({ state: "needed" });
    const verified = (await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body;
    expect(verified).toMatchObject({
      status: "error",
      verificationError: expect.stringContaining("changed after the sign-in"),
    });
    expect(elsewhere.requests).toEqual([]);
  });

  test("are deleted by a sign-out, and with the connection", async () => {
    await using peer = await startOAuthApi();
    const { id } = await addSigned(weir, peer);
    await signInFor(weir, id);
    expect((await weir.owner("DELETE", `${CONNECTIONS}/${id}/sign-in`)).status).toBe(204);
    expect(await signInStateOf(weir, id)).toMatchObject({ state: "needed" });
    expect(await shown(id)).toMatchObject({ status: "needs_verification" });
    expect(await eventsOf("connection.signed_out", id)).toHaveLength(1);
    await signInFor(weir, id);
    expect((await weir.owner("DELETE", `${CONNECTIONS}/${id}`)).status).toBe(204);
    expect((await authorize(weir, id)).status).toBe(404);
  });
});

test("a connection whose credentials need no user says so", async () => {
  const { id } = await connect(weir.owner, localFiles("Own files"));
  expect(await signInStateOf(weir, id)).toMatchObject({ state: "unneeded" });
  expect(await authorize(weir, id)).toMatchObject({ status: 409 });
});

test("a template's parameters can't replace those that Weir writes", async () => {
  const body = signInTemplate(
    { origin: "https://login.example.com" },
    { extraParams: { redirect_uri: "x" } },
  );
  const refused = await weir.owner("POST", "/api/v1/templates", body);
  expect(faultsOf(refused)).toEqual(["body.definition.http.auth.extraParams.redirect_uri value_error"]);
});

describe("an Amazon seller", () => {
  const { clientId, clientSecret, refreshToken } = sellerKeys;
  const credentials = { clientId, clientSecret };

  test("signs in at Seller Central, with the app's ID, and its tokens are refreshed", async () => {
    await using seller = await startSeller();
    seller.state.isDraft = true;
    const config = { ...seller.config, applicationId: SELLER_APP, isDraftApp: true };
    const made = { name: "Seller", provider: "amazon_seller", config, credentials };
    const { id } = await connect(weir.owner, made);
    const { landing } = await signInFor(weir, id);
    expect(landing.url.pathname).toBe(`/connections/${id}`);
    expect(await shown(id)).toMatchObject({ status: "active", verificationError: null });
    const { query } = seller.asked.find(({ path }) => path === "/apps/authorize/consent") ?? {};
    expect(query?.get("application_id")).toBe(SELLER_APP);
    expect(query?.has("code_challenge")).toBe(false);

    seller.expireTokens();
    expect((await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body.status).toBe("active");
    const renewal = seller.asked.findLast(({ path }) => path === "/auth/o2/token");
    expect(renewal?.body).toMatchObject({ grant_type: "refresh_token", refresh_token: refreshToken });

    seller.expireTokens();
    seller.state.isRevoked = true;
    expect((await weir.owner("POST", `${CONNECTIONS}/${id}/verify`)).body).toMatchObject({
      status: "error",
      verificationError: expect.stringContaining("Sign in again"),
    });
  });

  test("uses the Seller Central of the first marketplace", async () => {
    const config = { region: "eu", marketplaceIds: ["A1805IZSGTT6HS"], applicationId: SELLER_APP };
    const { id } = await connect(weir.owner, { name: "NL", provider: "amazon_seller", config, credentials });
    const { authorizationUrl } = (await authorize(weir, id)).body;
    expect(authorizationUrl).toStartWith("https://sellercentral.amazon.nl/apps/authorize/consent?");
  });

  test("has an app's id or a refresh token", async () => {
    const config = { region: "na", marketplaceIds: ["ATVPDKIKX0DER"] };
    const body = { name: "Neither", provider: "amazon_seller", config, credentials };
    const answer = await weir.owner("POST", CONNECTIONS, body);
    expect(faultsOf(answer)).toEqual(["body.credentials.refreshToken missing"]);
    expect(answer.text).toContain("applicationId in config");
  });
});

test("the command line shows the URL where a user signs in", async () => {
  await using peer = await startOAuthApi();
  const { id, slug } = await addSigned(weir, peer);
  using shell = openTerminal(weir.origin, weir.token);
  const { code, out, err } = await shell.run("connections", "authorize", slug);
  expect([code, err]).toEqual([0, expect.stringContaining("/api/v1/connections/oauth/callback")]);
  const surfer = await ownerSurfer(weir);
  await surfer.go(out.trim(), null, {
    turn: (url) => (url.pathname.startsWith("/connections/") ? null : url),
  });
  expect(await shown(id)).toMatchObject({ status: "active" });
});
