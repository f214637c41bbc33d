import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join as pathOf } from "node:path";
import { startGuarded } from "../peers/mcp-guarded.ts";
import { startForgedSignIn } from "../peers/oauth-forger.ts";
import { startApp } from "../support/app.ts";
import { CATALOG } from "../support/catalog.ts";
import { join } from "../support/people.ts";
import { addGuarded, callTool, signIn, stateOf, stopBefore, surferOf } from "../support/sign-ins.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

const CALLBACK = `${CATALOG}/oauth/callback`;

describe("untrusted metadata begins no sign-in", () => {
  const elsewhere = "https://login.example.com";
  const cases: [string, Parameters<typeof startForgedSignIn>[0], string][] = [
    [
      "that leads inward by the resource's metadata",
      { metadataUrl: "http://169.254.169.254/meta" },
      "not https",
    ],
    ["that leads inward by https", { metadataUrl: "https://169.254.169.254/meta" }, "WEIR_EGRESS_ALLOW"],
    ["that leads inward by the server's name", { issuers: ["https://10.0.0.7"] }, "WEIR_EGRESS_ALLOW"],
    ["that speaks in the open", { issuers: ["http://login.example.com"] }, "not https"],
    ["of another resource", { resource: "https://evil.example.com/mcp" }, "instead of itself"],
    ["of a resource beside it", { resource: "OWN/other" }, "instead of itself"],
    ["with nobody who lets people in", { issuers: [] }, "names no authorization server"],
    ["of a server that calls itself otherwise", { server: { issuer: elsewhere } }, "has the issuer"],
    ["of one that is nearly the same", { server: { issuer: "OWN/" } }, "has the issuer"],
    ["with tokens in the open", { server: { token_endpoint: "http://10.1.2.3/token" } }, "not https"],
    [
      "with a page in the open",
      { server: { authorization_endpoint: "http://evil.example.com/" } },
      "not https",
    ],
    [
      "with a page that is a script",
      { server: { authorization_endpoint: "javascript:alert(1)" } },
      "not https",
    ],
    ["with a password in an address", { server: { token_endpoint: "https://a:b@x.example/" } }, "not https"],
    ["without PKCE", { server: { code_challenge_methods_supported: ["plain"] } }, "PKCE"],
    ["without a way to get tokens", { server: { token_endpoint: null } }, "token_endpoint"],
  ];

  test.each(cases)("%s", async (_, forgery, told) => {
    await using peer = await startForgedSignIn(forgery);
    const { id } = await addGuarded(weir, peer);
    const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`);
    expect([begun.status === 502 || begun.status === 422, begun.body.detail]).toEqual([
      true,
      expect.stringContaining(told),
    ]);
    expect(peer.requests.filter((each) => /\/(auth|token)$/.test(each))).toEqual([]);
  });
});

describe("the redirect back", () => {
  test("that Weir never requested, or twice, or late, leads nowhere", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const owner = (search: string) => weir.owner("GET", `${CALLBACK}?${search}`);
    expect((await owner("code=x&state=made-up")).body.code).toBe("bad_request");
    expect((await owner("code=x")).body.code).toBe("bad_request");
    const { callback } = await stopBefore(weir, id);
    const twice = `${callback.search.slice(1)}&state=${callback.searchParams.get("state")}`;
    expect((await owner(twice)).status).toBe(422);
    expect((await owner(callback.search.slice(1))).status).toBe(302);
    const replayed = await owner(callback.search.slice(1));
    expect([replayed.status, replayed.body.code]).toEqual([400, "bad_request"]);

    const late = await stopBefore(weir, id);
    weir.clock.turn(10 * 60_000 + 1);
    expect((await owner(late.callback.search.slice(1))).body.code).toBe("gone");
  });

  test("is only accepted from the user who began it, and is then used up", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const other = await join(weir, "admin");
    const { callback } = await stopBefore(weir, id);
    const place = callback.pathname + callback.search;
    expect((await weir.anonymous("GET", place)).status).toBe(401);
    const stolen = await other.call("GET", place);
    expect([stolen.status, stolen.body.code]).toEqual([403, "forbidden"]);
    expect((await weir.owner("GET", place)).body.code).toBe("bad_request");
    expect(peer.requests).not.toContain("POST /token");
    expect((await stateOf(weir, id)).state).toBe("needed");
  });

  test("isn't accepted from a user who is no longer an admin", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const admin = await join(weir, "admin");
    const begun = (await admin.call("POST", `${CATALOG}/${id}/authorize`)).body;
    const { url } = await (await surferOf(weir)).go(begun.authorizationUrl, "grace", {
      turn: (to) => (to.pathname === CALLBACK ? null : to),
    });
    await weir.owner("PATCH", `/api/v1/organizations/team/members/${admin.membership.id}/role`, {
      roleSlug: "member",
    });
    const late = await admin.call("GET", url.pathname + url.search);
    expect([late.status, late.body.code]).toEqual([403, "forbidden"]);
    expect(peer.requests).not.toContain("POST /token");
  });

  test("from another server than it led to isn't redeemed", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    for (const iss of ["https://evil.example.com", `${peer.issuer}/`, null]) {
      const { callback } = await stopBefore(weir, id);
      if (iss === null) callback.searchParams.delete("iss");
      else callback.searchParams.set("iss", iss);
      const mixed = await weir.owner("GET", callback.pathname + callback.search);
      expect([iss, mixed.status, mixed.body.code]).toEqual([iss, 401, "unauthenticated"]);
    }
    expect(peer.requests).not.toContain("POST /token");
  });

  test("with the code of another sign-in gets no tokens", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const one = await stopBefore(weir, id);
    const other = await stopBefore(weir, id, "mallory");
    one.callback.searchParams.set("code", other.callback.searchParams.get("code") ?? "");
    const injected = await weir.owner("GET", one.callback.pathname + one.callback.search);
    expect([injected.status, injected.body.code]).toEqual([401, "unauthenticated"]);
    expect((await stateOf(weir, id)).state).toBe("needed");
  });

  test("with a denial shows the user a page about it, without any text from the server", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const { callback, surfer } = await stopBefore(weir, id);
    callback.searchParams.delete("code");
    callback.searchParams.set("error", "access_denied");
    callback.searchParams.set("error_description", "<script>alert(1)</script>");
    const page = await surfer.go(callback.href, null, { accept: "text/html" });
    expect([page.status, page.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(page.text).toContain("access_denied");
    expect(page.text).not.toContain("alert");
  });
});

test("a token is only sent to its own server, even if that redirects", async () => {
  await using peer = await startGuarded();
  const { id } = await addGuarded(weir, peer);
  await signIn(weir, id);
  const seen: (string | null)[] = [];
  const thief = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.push(request.headers.get("authorization"));
      return new Response(null, { status: 401 });
    },
  });
  peer.state.redirectsTo = `http://127.0.0.1:${thief.port}/mcp`;
  expect((await callTool(weir, id)).status).toBe(502);
  await thief.stop(true);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((each) => each !== null)).toEqual([]);
});

test("a server that includes its token in a tool's description has it masked there", async () => {
  await using peer = await startGuarded();
  const { id } = await addGuarded(weir, peer);
  await signIn(weir, id);
  await callTool(weir, id);
  const token = peer.heard.at(-1)?.headers.authorization?.slice("Bearer ".length) ?? "";
  expect(token.length).toBeGreaterThan(30);
  const tool = peer.state.tools[0]!;
  peer.state.tools = [
    { ...tool, description: `It is ${token}.` },
    { ...tool, name: "other", inputSchema: { type: "object", description: `It is ${token}.` } },
  ];
  const found = await weir.owner("POST", `${CATALOG}/discover`, { sourceType: "mcp", mcpUrl: peer.url });
  const refreshed = await weir.owner("POST", `${CATALOG}/${id}/refresh`);
  expect([found.body.count, refreshed.status, refreshed.body.added.length]).toEqual([2, 200, 1]);
  const told = found.text + refreshed.text + (await weir.owner("GET", `${CATALOG}/${id}`)).text;
  expect(told).toContain("***");
  expect(told).not.toContain(token);
});

test("neither tokens nor codes nor secrets appear in logs, responses, events or files", async () => {
  await using peer = await startGuarded({
    lifetimeSeconds: 300,
    modern: { result: () => ({ content: [] }) },
  });
  peer.state.result = () => ({ content: [{ type: "text", text: peer.secrets().join(" ") }] });
  const { id } = await addGuarded(weir, peer);
  const { callback } = await stopBefore(weir, id);
  await weir.owner("GET", callback.pathname + callback.search);
  weir.clock.turn(301_000);
  const replies = [await callTool(weir, id), await weir.owner("GET", `${CATALOG}/${id}/sign-in`)];
  expect(replies[0]?.body.status).toBe(200);
  const used = peer.heard.at(-1)?.headers.authorization?.slice("Bearer ".length) ?? "";
  peer.faults.refusesAll = true;
  replies.push(await callTool(weir, id));
  replies.push(await weir.owner("GET", "/api/v1/events?limit=100"));
  const secrets = [...peer.secrets(), callback.searchParams.get("code") ?? ""];
  expect(secrets.length).toBeGreaterThan(3);
  const files = readdirSync(weir.dataFolder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(pathOf(each.parentPath, each.name), "latin1"));
  expect(used.length).toBeGreaterThan(30);
  expect(replies[0]?.text).not.toContain(used);
  const told = [...weir.logged, ...replies.slice(1).map(({ text }) => text), ...files].join("\n");
  expect(secrets.filter((secret) => secret !== "" && told.includes(secret))).toEqual([]);
});
