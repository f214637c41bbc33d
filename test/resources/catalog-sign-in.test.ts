import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startGuarded } from "../peers/mcp-guarded.ts";
import { startModern } from "../peers/mcp-modern.ts";
import { startApp } from "../support/app.ts";
import { addHttp, addMcp, CATALOG, httpApi, mcpApi } from "../support/catalog.ts";
import { connect, localFiles } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { addGuarded, callTool, signIn, stateOf } from "../support/sign-ins.ts";
import { NOBODY } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
});
afterAll(() => weir[Symbol.asyncDispose]());

const eventsOf = async (type: string) =>
  (await weir.owner("GET", `/api/v1/events?type=${type}&limit=100`)).body.items;

/** Not a rejection: another attempt may succeed. */
const TOO_MANY = { status: 429, error: "slow_down" };

describe("a user's sign-in", () => {
  test("is requested by the entry, leads to the server's own page, and lets its tools be called", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    expect(await stateOf(weir, id)).toEqual({
      ...{ state: "none", url: peer.url, grant: null, issuer: null, resource: null, clientId: null },
      ...{ scope: null, wantedScope: null, isRenewable: false, expiresAt: null },
      ...{ signedInAt: null, signedInBy: null, problem: null },
    });

    const refused = await callTool(weir, id);
    expect([refused.status, refused.body.code]).toEqual([502, "upstream"]);
    expect(refused.body.detail).toContain(`an admin must sign in at ${weir.origin}/catalog/${id}`);
    expect(await stateOf(weir, id)).toMatchObject({ state: "needed", wantedScope: "tools:read" });
    await callTool(weir, id);
    const wanted = (await eventsOf("catalog.sign_in_needed")).filter(
      ({ data }: { data: { url: string } }) => data.url === peer.url,
    );
    expect(wanted).toMatchObject([
      { actor: { type: "system" }, data: { scope: "tools:read", problem: null } },
    ]);

    const { begun, landing } = await signIn(weir, id);
    expect(begun).toEqual({
      state: "needed",
      authorizationUrl: expect.stringContaining(`${peer.issuer}/auth?`),
      expiresAt: expect.any(String),
      issuer: peer.issuer,
      host: new URL(peer.issuer).host,
      isElsewhere: true,
      resource: peer.url,
      scope: "tools:read offline_access",
      clientId: expect.any(String),
    });
    const sent = new URL(begun.authorizationUrl).searchParams;
    expect(Object.fromEntries(sent)).toMatchObject({
      response_type: "code",
      redirect_uri: `${weir.origin}/api/v1/api-catalog/oauth/callback`,
      resource: peer.url,
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.any(String),
    });
    expect(landing.url.pathname).toBe(`/catalog/${id}`);

    const answer = await callTool(weir, id);
    expect(answer.body).toMatchObject({ status: 200, body: { text: "hello" } });
    expect(peer.uses.at(-1)).toMatchObject({ accountId: "grace", aud: peer.url, clientId: begun.clientId });
    const state = await stateOf(weir, id);
    expect(state).toEqual({
      ...{ state: "signed_in", url: peer.url, grant: "authorization_code", issuer: peer.issuer },
      ...{ resource: peer.url, clientId: begun.clientId, scope: expect.stringContaining("tools:read") },
      ...{ wantedScope: null, isRenewable: true, expiresAt: expect.any(String) },
      ...{ signedInAt: expect.any(String), signedInBy: weir.ids.userId, problem: null },
    });
    expect((await weir.owner("POST", `${CATALOG}/${id}/refresh`)).status).toBe(200);
    const [told] = await eventsOf("catalog.signed_in");
    expect(told).toMatchObject({
      actor: { type: "user", id: weir.ids.userId },
      data: { url: peer.url, issuer: peer.issuer, grantType: "authorization_code" },
    });
    expect((await eventsOf("catalog.sign_in_started"))[0].data).toMatchObject({ url: peer.url });
  });

  test("works for a server that isn't in the catalog yet, and returns to where it is added", async () => {
    await using peer = await startGuarded();
    const look = { sourceType: "mcp", mcpUrl: peer.url };
    const before = (await weir.owner("POST", `${CATALOG}/discover`, look)).body;
    expect(before).toMatchObject({ count: 0, authRequired: true, authHints: [{ type: "oauth2" }] });
    const begun = await weir.owner("POST", `${CATALOG}/authorize`, { mcpUrl: peer.url });
    const { surferOf } = await import("../support/sign-ins.ts");
    const landing = await (await surferOf(weir)).go(begun.body.authorizationUrl, "grace", {
      turn: (url) => (url.pathname === "/catalog/new" ? null : url),
    });
    expect(landing.url.search).toBe(`?${new URLSearchParams({ from: "server", url: peer.url })}`);
    const after = (await weir.owner("POST", `${CATALOG}/discover`, look)).body;
    expect(after).toMatchObject({ count: 2, authRequired: false });
    const { id } = await addMcp(weir.owner, mcpApi("Found", { url: peer.url, tools: after.tools }));
    expect((await callTool(weir, id)).body.status).toBe(200);

    const twin = await addMcp(weir.owner, mcpApi("Found again", { url: peer.url, tools: after.tools }));
    expect((await callTool(weir, twin.id)).body.status).toBe(200);
    await weir.owner("DELETE", `${CATALOG}/${twin.id}`);
    expect((await stateOf(weir, id)).state).toBe("signed_in");
    await weir.owner("DELETE", `${CATALOG}/${id}`);
    const again = await addGuarded(weir, peer);
    expect((await stateOf(weir, again.id)).state).toBe("none");
  });

  deepTest(
    "is requested again with more scopes if a tool needs them, in addition to its previous ones",
    async () => {
      await using peer = await startGuarded({ rights: { write: "tools:write" } });
      const { id } = await addGuarded(weir, peer);
      await signIn(weir, id);
      expect((await callTool(weir, id)).body.status).toBe(200);
      const refused = await callTool(weir, id, "write");
      expect(refused.body.detail).toContain("(tools:write)");
      expect(refused.body.detail).toContain(`/catalog/${id}`);
      const wanted = await stateOf(weir, id);
      expect(wanted.state).toBe("signed_in");
      expect(wanted.wantedScope.split(" ")).toEqual(expect.arrayContaining(["tools:read", "tools:write"]));
      expect((await callTool(weir, id)).body.status).toBe(200);
      const { begun } = await signIn(weir, id);
      expect(begun.scope.split(" ")).toEqual(expect.arrayContaining(["tools:read", "tools:write"]));
      expect((await callTool(weir, id, "write")).body.status).toBe(200);
      expect((await stateOf(weir, id)).wantedScope).toBeNull();
    },
  );

  deepTest("uses a manually registered client, also the next time", async () => {
    const client = {
      client_id: "made-by:hand",
      client_secret: "a secret of:hand+made/things",
      redirect_uris: [`${weir.origin}/api/v1/api-catalog/oauth/callback`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    };
    await using peer = await startGuarded({ registers: false, clients: [client] });
    const { id } = await addGuarded(weir, peer);
    const none = await weir.owner("POST", `${CATALOG}/${id}/authorize`);
    expect([none.status, none.body.detail]).toEqual([502, expect.stringContaining("enter its client ID")]);
    const given = { clientId: client.client_id, clientSecret: client.client_secret };
    const { begun } = await signIn(weir, id, given);
    expect(begun.clientId).toBe("made-by:hand");
    expect((await callTool(weir, id)).body.status).toBe(200);
    expect((await signIn(weir, id)).begun.clientId).toBe("made-by:hand");
    expect((await callTool(weir, id)).body.status).toBe(200);
    expect(JSON.stringify(await stateOf(weir, id))).not.toContain("hand+made");
  });

  test("registers once, however often it is started", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const first = (await weir.owner("POST", `${CATALOG}/${id}/authorize`)).body;
    const second = (await weir.owner("POST", `${CATALOG}/${id}/authorize`)).body;
    expect(second.clientId).toBe(first.clientId);
    expect(peer.requests.filter((each) => each === "POST /reg")).toHaveLength(1);
  });

  test("is ended by signing out, which revokes it at the server", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    const gone = await weir.owner("DELETE", `${CATALOG}/${id}/sign-in`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect(peer.requests).toContain("POST /token/revocation");
    expect((await stateOf(weir, id)).state).toBe("none");
    expect((await callTool(weir, id)).body.detail).toContain("requires a sign-in");
    expect((await eventsOf("catalog.signed_out"))[0].data).toEqual({ url: peer.url });
    expect((await weir.owner("DELETE", `${CATALOG}/${id}/sign-in`)).status).toBe(204);
  });
});

describe("a sign-in with client credentials", () => {
  const client = {
    client_id: "site",
    client_secret: "secret-of-the-site",
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
  };

  test("needs no browser, gets more scopes by itself, and is refreshed", async () => {
    await using peer = await startGuarded({
      ...{ clients: [client], lifetimeSeconds: 60, rights: { write: "tools:write" } },
    });
    const { id } = await addGuarded(weir, peer);
    const body = { grant: "client_credentials", clientId: "site", clientSecret: client.client_secret };
    const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`, body);
    expect([begun.status, begun.body]).toEqual([
      200,
      {
        ...{ state: "signed_in", authorizationUrl: null, expiresAt: null, issuer: peer.issuer },
        ...{ host: new URL(peer.issuer).host, isElsewhere: true, resource: peer.url },
        ...{ scope: "tools:read", clientId: "site" },
      },
    ]);
    expect((await callTool(weir, id)).body.status).toBe(200);
    expect((await callTool(weir, id, "write")).body.status).toBe(200);
    expect(await stateOf(weir, id)).toMatchObject({ scope: "tools:read tools:write", wantedScope: null });
    peer.forget("AccessToken");
    weir.clock.turn(61_000);
    for (const fails of [{ status: 503, error: "invalid_client" }, TOO_MANY]) {
      peer.faults.failsTokens = fails;
      const unwell = await callTool(weir, id);
      expect([fails, unwell.status, (await stateOf(weir, id)).state]).toEqual([fails, 502, "signed_in"]);
    }
    peer.faults.failsTokens = null;
    const asked = peer.requests.filter((each) => each === "POST /token").length;
    expect((await callTool(weir, id)).body.status).toBe(200);
    expect(peer.requests.filter((each) => each === "POST /token")).toHaveLength(asked + 1);
  });

  test("asks for its secret, and reports a wrong one", async () => {
    await using peer = await startGuarded({ clients: [client] });
    const { id } = await addGuarded(weir, peer);
    const begin = (body: object) => weir.owner("POST", `${CATALOG}/${id}/authorize`, body);
    const lacking = await begin({ grant: "client_credentials", clientId: "site" });
    expect([lacking.status, lacking.body.detail[0].loc]).toEqual([422, ["body", "clientSecret"]]);
    const wrong = { grant: "client_credentials", clientId: "site", clientSecret: "not-this" };
    const refused = await begin(wrong);
    expect([refused.status, refused.body.detail]).toEqual([502, expect.not.stringContaining("not-this")]);
  });
});

describe("tokens", () => {
  test("that expire are refreshed once for all concurrent callers", async () => {
    await using peer = await startGuarded({ lifetimeSeconds: 300 });
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    const asked = () => peer.requests.filter((each) => each === "POST /token").length;
    const before = asked();
    expect((await callTool(weir, id)).body.status).toBe(200);
    expect(asked()).toBe(before);
    weir.clock.turn(271_000);
    const all = await Promise.all([1, 2, 3, 4].map(() => callTool(weir, id)));
    expect(all.map(({ body }) => body.status)).toEqual([200, 200, 200, 200]);
    expect(asked()).toBe(before + 1);
    expect((await eventsOf("catalog.token_refreshed"))[0]).toMatchObject({ actor: { type: "system" } });
  });

  test("that the server forgot are refreshed when it says so", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    peer.forget("AccessToken");
    expect((await callTool(weir, id)).body.status).toBe(200);
  });

  test("that can't be refreshed at the moment are retried; rejected ones need a user", async () => {
    await using peer = await startGuarded({ lifetimeSeconds: 300 });
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    weir.clock.turn(301_000);
    for (const fails of [{ status: 503 }, { status: 503, error: "invalid_grant" }, TOO_MANY]) {
      peer.faults.failsTokens = fails;
      const unwell = await callTool(weir, id);
      expect([fails, unwell.status, (await stateOf(weir, id)).state]).toEqual([fails, 502, "signed_in"]);
    }
    peer.faults.failsTokens = null;
    expect((await callTool(weir, id)).body.status).toBe(200);

    weir.clock.turn(301_000);
    peer.forget("RefreshToken");
    const refused = await callTool(weir, id);
    expect(refused.body.detail).toContain(`an admin must sign in at ${weir.origin}/catalog/${id}`);
    expect(await stateOf(weir, id)).toMatchObject({
      state: "needed",
      isRenewable: false,
      expiresAt: null,
      problem: expect.stringContaining("no longer renews the sign-in"),
    });
    const asked = peer.requests.length;
    await callTool(weir, id);
    expect(peer.requests).toHaveLength(asked);
    await signIn(weir, id);
    expect((await callTool(weir, id)).body.status).toBe(200);
  });

  test("that the server rejects although they are new end the sign-in, without looping", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    peer.faults.refusesAll = true;
    const asked = peer.requests.length;
    expect((await callTool(weir, id)).status).toBe(502);
    expect(peer.requests.slice(asked)).toEqual(["POST /token"]);
    expect((await stateOf(weir, id)).state).toBe("needed");
  });
});

describe("permissions", () => {
  test("admins sign in and out, others can only read", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const path = `${CATALOG}/${id}`;
    for (const [role, begin, look, end] of [
      ["viewer", 403, 200, 403],
      ["member", 403, 200, 403],
      ["admin", 200, 200, 204],
    ] as const) {
      const { call } = await join(weir, role);
      const statuses = [
        (await call("POST", `${path}/authorize`)).status,
        (await call("POST", `${CATALOG}/authorize`, { mcpUrl: peer.url })).status,
        (await call("GET", `${path}/sign-in`)).status,
        (await call("DELETE", `${path}/sign-in`)).status,
      ];
      expect([role, ...statuses]).toEqual([role, begin, begin, look, end]);
    }
  });

  test("another organization's entry looks like an unknown one", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const { call } = await neighbour(weir);
    for (const [method, end] of [
      ["POST", "authorize"],
      ["GET", "sign-in"],
      ["DELETE", "sign-in"],
    ] as const) {
      const [own, random] = [
        await call(method, `${CATALOG}/${id}/${end}`),
        await call(method, `${CATALOG}/${NOBODY}/${end}`),
      ];
      expect([own.status, own.body.detail]).toEqual([404, random.body.detail]);
    }
  });

  deepTest("another organization's sign-in with the same server is separate", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    await signIn(weir, id);
    const { call } = await neighbour(weir);
    const theirs = await addMcp(call, mcpApi("Theirs", { url: peer.url, tools: [{ upstreamName: "echo" }] }));
    expect((await call("GET", `${CATALOG}/${theirs.id}/sign-in`)).body.state).toBe("none");
    const tried = await call("POST", `${CATALOG}/${theirs.id}/endpoints/echo/test`, { input: { text: "x" } });
    expect(tried.body.detail).toContain("requires a sign-in");
  });

  test("an API key can't start a user's sign-in", async () => {
    await using peer = await startGuarded();
    const { id } = await addGuarded(weir, peer);
    const { key } = (await weir.owner("POST", "/api/v1/api-keys", { name: "k", roleSlug: "admin" })).body;
    const begun = await weir.anonymous("POST", `${CATALOG}/${id}/authorize`, {}, { "x-api-key": key });
    expect([begun.status, begun.body.detail[0].loc]).toEqual([422, ["body", "grant"]]);
  });
});

describe("a request", () => {
  test("is rejected for entries that aren't MCP servers or have a connection", async () => {
    const http = await addHttp(weir.owner, httpApi("No server"));
    const { connectionId } = await connectedEntry();
    for (const id of [http.id, connectionId])
      for (const [method, end] of [
        ["POST", "authorize"],
        ["GET", "sign-in"],
        ["DELETE", "sign-in"],
      ] as const)
        expect((await weir.owner(method, `${CATALOG}/${id}/${end}`)).body.code).toBe("invalid_state");
  });

  const connectedEntry = async () => {
    const { id } = await connect(weir.owner, localFiles("Files"));
    const entry = await addMcp(weir.owner, mcpApi("Connected", { connectionId: id }));
    return { connectionId: entry.id as string };
  };

  test("is reported field by field if it is invalid", async () => {
    const faults = async (body: object) =>
      (await weir.owner("POST", `${CATALOG}/authorize`, body)).body.detail.map(
        ({ loc, type }: { loc: string[]; type: string }) => [loc.join("."), type],
      );
    expect(await faults({})).toEqual([["body.mcpUrl", "missing"]]);
    expect(await faults({ mcpUrl: "ftp://x" })).toEqual([["body.mcpUrl", "url_parsing"]]);
    const long = "x".repeat(4_097);
    const wrong = {
      mcpUrl: "https://x.example",
      grant: "password",
      clientId: "",
      clientSecret: long,
      extra: 1,
    };
    expect((await faults(wrong)).map(([loc]: [string]) => loc).sort()).toEqual(
      ["body.clientId", "body.clientSecret", "body.extra", "body.grant"].sort(),
    );
  });

  test("is rejected if there is nothing to sign in to", async () => {
    const open = startModern();
    try {
      const { id } = await addMcp(
        weir.owner,
        mcpApi("Open", { url: open.url, tools: [{ upstreamName: "echo" }] }),
      );
      const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`);
      expect([begun.status, begun.body.detail]).toEqual([
        502,
        expect.stringContaining("Sign-in isn't possible"),
      ]);
    } finally {
      await open.stop();
    }
  });
});

test("Weir describes itself to authorization servers", async () => {
  const { status, body } = await weir.anonymous("GET", `${CATALOG}/oauth/client.json`);
  expect([status, body]).toEqual([
    200,
    {
      client_id: `${weir.origin}/api/v1/api-catalog/oauth/client.json`,
      client_name: "Weir",
      client_uri: weir.origin,
      redirect_uris: [`${weir.origin}/api/v1/api-catalog/oauth/callback`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "web",
    },
  ]);
});
