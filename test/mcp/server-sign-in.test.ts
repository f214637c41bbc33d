import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";

let weir: Awaited<ReturnType<typeof startApp>>;
/** The owner in a browser. */
let browser: ReturnType<typeof client>;
beforeAll(async () => {
  weir = await startApp();
  await signIn();
});
async function signIn() {
  const signedIn = await weir.anonymous("POST", "/api/v1/auth/login", {
    email: "ada@example.com",
    password: PASSWORD,
  });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  browser = client(weir.origin, { cookie, "sec-fetch-site": "same-origin" });
}
beforeEach(() => weir.clock.turn(120_000)); // Ten a minute from one address.
afterAll(() => weir[Symbol.asyncDispose]());

const api = (path: string) => `/api/v1/auth/clients/${path}`;

/** What a client of the SDK stores of a sign-in, and where it sends the browser. */
function openProvider(more: Partial<OAuthClientProvider> = {}) {
  const kept: Record<string, unknown> = {};
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: "Test agent",
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: "none",
      scope: "read run",
    },
    clientInformation: () => kept.client as never,
    saveClientInformation: (information) => {
      kept.client = information;
    },
    tokens: () => kept.tokens as never,
    saveTokens: (tokens) => {
      kept.tokens = tokens;
    },
    redirectToAuthorization: (url) => {
      kept.url = url;
    },
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier;
    },
    codeVerifier: () => String(kept.verifier),
    state: () => "some-state",
    ...more,
  };
  return { provider, kept };
}

/** The user opens the client's URL and decides. Returns where the browser goes next. */
async function decide(address: URL, approve: boolean): Promise<URL> {
  const request = Object.fromEntries(address.searchParams);
  const shown = await browser("GET", api(`request${address.search}`));
  expect(shown.status).toBe(200);
  const decided = await browser("POST", api("decide"), { request, approve });
  expect(decided.status).toBe(200);
  return new URL(decided.body.redirectTo);
}

async function connect(provider: OAuthClientProvider) {
  const agent = new Client({ name: "test", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(`${weir.origin}/mcp`), {
    authProvider: provider,
  });
  return {
    agent,
    transport,
    done: await agent.connect(transport).then(
      () => null,
      (error: Error) => error,
    ),
  };
}

describe("a client of the MCP SDK", () => {
  test("registers itself, is approved by a user, and uses the tools within its scopes", async () => {
    const { provider, kept } = openProvider();
    const first = await connect(provider);
    expect(first.done).not.toBeNull();
    const address = kept.url as URL;
    expect([address.origin, address.pathname]).toEqual([weir.origin, "/oauth/authorize"]);
    const page = await weir.anonymous("GET", address.pathname + address.search);
    expect([page.status, page.headers.get("content-security-policy")]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ]);
    const back = await decide(address, true);
    expect([
      back.origin + back.pathname,
      back.searchParams.get("state"),
      back.searchParams.get("iss"),
    ]).toEqual([REDIRECT, "some-state", weir.origin]);
    await first.transport.finishAuth(
      back.searchParams.get("code") ?? "",
      back.searchParams.get("iss") ?? undefined,
    );

    const second = await connect(provider);
    expect(second.done).toBeNull();
    const { tools } = await second.agent.listTools();
    expect(tools.map(({ name }) => name)).toContain("query");
    await second.agent.close();

    const { items } = (await weir.owner("GET", "/api/v1/organizations/tokens")).body;
    const mine = items.find(({ name }: { name: string }) => name === "MCP client: Test agent");
    expect(mine.scopes).toEqual(["read", "run"]);
    const { items: events } = (await weir.owner("GET", "/api/v1/events?limit=50")).body;
    expect(events.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(["auth.client_approved", "auth.token_created"]),
    );
  });

  test("is notified if the user denies it", async () => {
    const { provider, kept } = openProvider();
    await connect(provider);
    const back = await decide(kept.url as URL, false);
    expect([back.searchParams.get("error"), back.searchParams.get("code")]).toEqual(["access_denied", null]);
  });
});

describe("the authorization server", () => {
  const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
  const register = (more: object = {}) =>
    weir.anonymous("POST", "/oauth/register", {
      client_name: "Agent",
      redirect_uris: [REDIRECT, "https://agent.example.com/cb"],
      ...more,
    });
  const requestOf = (clientId: string, more: object = {}) => ({
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    ...more,
  });
  const exchange = (fields: Record<string, string>) =>
    weir.anonymous(
      "POST",
      "/oauth/token",
      new URLSearchParams({
        grant_type: "authorization_code",
        redirect_uri: REDIRECT,
        code_verifier: VERIFIER,
        ...fields,
      }).toString(),
      {
        "content-type": "application/x-www-form-urlencoded",
      },
    );
  const codeFor = async (clientId: string, more: object = {}) => {
    const { body } = await browser("POST", api("decide"), {
      request: requestOf(clientId, more),
      approve: true,
    });
    return new URL(body.redirectTo).searchParams.get("code") ?? "";
  };

  test("is discovered from the 401 of /mcp", async () => {
    const refused = await weir.anonymous("POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect(refused.status).toBe(401);
    const [, link = ""] =
      /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
    const resource = await (await fetch(link)).json();
    expect(resource).toMatchObject({ resource: `${weir.origin}/mcp`, authorization_servers: [weir.origin] });
    const server = (await weir.anonymous("GET", "/.well-known/oauth-authorization-server")).body;
    expect(server).toMatchObject({
      issuer: weir.origin,
      code_challenge_methods_supported: ["S256"],
      client_id_metadata_document_supported: true,
    });
  });

  test("issues one token for a code, and revokes it when the code is used again", async () => {
    const { client_id: id } = (await register()).body;
    const code = await codeFor(id);
    const given = await exchange({ code, client_id: id });
    expect([given.status, given.body.token_type, given.body.scope]).toEqual([200, "Bearer", "read run"]);
    const call = client(weir.origin, { authorization: `Bearer ${given.body.access_token}` });
    expect((await call("GET", "/api/v1/automations")).status).toBe(200);
    expect(
      (await call("POST", "/api/v1/actions", { kind: "conditional_branch", name: "No" })).body.code,
    ).toBe("scope_missing");
    weir.clock.turn(61_000); // Past its minute too.
    const again = await exchange({ code, client_id: id });
    expect([again.status, again.body.error]).toEqual([400, "invalid_grant"]);
    expect((await call("GET", "/api/v1/automations")).status).toBe(401);
  });

  test("issues no token for a code after its user has changed the password", async () => {
    const { client_id: id } = (await register()).body;
    const code = await codeFor(id);
    const change = { currentPassword: PASSWORD, newPassword: PASSWORD, endTokens: false };
    expect((await browser("POST", "/api/v1/users/me/password", change)).status).toBe(204);
    const refused = await exchange({ code, client_id: id });
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_grant"]);
  });

  test("renews a token with each refresh token once, and revokes all of them if one is used twice", async () => {
    const { client_id: id } = (await register()).body;
    const { client_id: other } = (await register({ client_name: "Other" })).body;
    const renew = (refresh_token: string, more: Record<string, string> = {}) =>
      exchange({ grant_type: "refresh_token", client_id: id, refresh_token, ...more });
    const works = async (token: string) => {
      const call = client(weir.origin, { authorization: `Bearer ${token}` });
      return (await call("GET", "/api/v1/automations")).status === 200;
    };
    const { body: first } = await exchange({ code: await codeFor(id), client_id: id });
    expect([first.expires_in, await works(first.refresh_token)]).toEqual([86_400, false]);
    weir.clock.turn(20 * 24 * 3_600_000);
    expect(await works(first.access_token)).toBe(false);
    expect((await renew(first.refresh_token, { client_id: other })).body.error).toBe("invalid_grant");
    expect((await renew(first.refresh_token, { scope: "read write" })).body.error).toBe("invalid_scope");
    const { body: second } = await renew(first.refresh_token, { scope: "read" });
    expect([second.scope, await works(second.access_token)]).toEqual(["read", true]);
    const { body: third } = await renew(second.refresh_token);
    expect([third.scope, await works(second.access_token), await works(third.access_token)]).toEqual([
      "read run",
      false,
      true,
    ]);
    weir.clock.turn(120_000);
    const twice = await renew(first.refresh_token);
    expect([twice.status, twice.body.error]).toEqual([400, "invalid_grant"]);
    expect(await works(third.access_token)).toBe(false);
    expect((await renew(third.refresh_token)).body.error).toBe("invalid_grant");
    expect((await renew("nonsense")).body.error).toBe("invalid_grant");
    await signIn(); // The session from weeks ago has expired.
  });

  test("renews nothing after the token was revoked, was unused for a month, or was approved three months ago", async () => {
    const { client_id: id } = (await register()).body;
    const renew = (refresh_token: string) =>
      exchange({ grant_type: "refresh_token", client_id: id, refresh_token });
    const { body: unused } = await exchange({ code: await codeFor(id), client_id: id });
    const { body: revoked } = await exchange({ code: await codeFor(id), client_id: id });
    const { items } = (await weir.owner("GET", "/api/v1/access-tokens")).body;
    const newest = items.find(({ name }: { name: string }) => name === "MCP client: Agent");
    expect((await weir.owner("DELETE", `/api/v1/access-tokens/${newest.id}`)).status).toBe(204);
    expect((await renew(revoked.refresh_token)).body.error).toBe("invalid_grant");
    const { body: used } = await renew(unused.refresh_token);
    expect(used.token_type).toBe("Bearer");
    weir.clock.turn(30 * 24 * 3_600_000 + 1_000);
    expect((await renew(used.refresh_token)).body.error).toBe("invalid_grant");
    expect((await exchange({ grant_type: "refresh_token", client_id: id })).body).toEqual({
      error: "invalid_request",
      error_description: "refresh_token: Field required",
    });
    await signIn();
    let { body: latest } = await exchange({ code: await codeFor(id), client_id: id });
    for (let day = 0; day < 81; day += 27) {
      weir.clock.turn(27 * 24 * 3_600_000);
      latest = (await renew(latest.refresh_token)).body;
      expect(latest.token_type).toBe("Bearer");
    }
    weir.clock.turn(10 * 24 * 3_600_000); // Ninety days after the approval.
    expect((await renew(latest.refresh_token)).body.error).toBe("invalid_grant");
    await signIn();
  });

  test("rejects another verifier, client or redirect URI, and a code from a minute ago", async () => {
    const { client_id: id } = (await register()).body;
    const { client_id: other } = (await register({ client_name: "Other" })).body;
    const code = await codeFor(id);
    for (const fields of [
      { code, client_id: id, code_verifier: "x".repeat(43) },
      { code, client_id: other },
      { code, client_id: id, redirect_uri: "https://agent.example.com/cb" },
      { code: "nonsense", client_id: id },
    ] as Record<string, string>[])
      expect((await exchange(fields)).body.error).toBe("invalid_grant");
    weir.clock.turn(61_000);
    expect((await exchange({ code, client_id: id })).body.error).toBe("invalid_grant");
  });

  test("redirects nobody to an unregistered URI, and requires PKCE", async () => {
    const { client_id: id } = (await register()).body;
    const cases: [object, string][] = [
      [{ redirect_uri: "https://evil.example.com/cb" }, "invalid_request"],
      [{ redirect_uri: "http://127.0.0.1:1/other" }, "invalid_request"],
      [{ code_challenge: undefined }, "invalid_request"],
      [{ code_challenge_method: "plain" }, "invalid_request"],
      [{ response_type: "token" }, "unsupported_response_type"],
      [{ resource: "https://other.example.com/mcp" }, "invalid_target"],
      [{ client_id: `${id}x` }, "invalid_client"],
      [{ client_id: "weir.e30.xx" }, "invalid_client"],
    ];
    for (const [more, error] of cases) {
      const reply = await browser("POST", api("decide"), { request: requestOf(id, more), approve: true });
      expect([more, reply.status, reply.body.error]).toEqual([more, 400, error]);
    }
    const anyPort = await browser("POST", api("decide"), {
      request: requestOf(id, { redirect_uri: "http://127.0.0.1:40000/callback" }),
      approve: true,
    });
    expect(anyPort.status).toBe(200);
  });

  test("registers no client with a URI that a browser would run or show, and none without", async () => {
    for (const uri of [
      "javascript:alert(1)",
      "data:text/html,x",
      "http://evil.example.com/cb",
      "https://a.example/cb#x",
      "https://u:p@a.example/cb",
      "not an address",
    ])
      expect([uri, (await register({ redirect_uris: [uri] })).body.error]).toEqual([
        uri,
        "invalid_redirect_uri",
      ]);
    expect((await register({ redirect_uris: [] })).body.error).toBe("invalid_redirect_uri");
    expect((await register({ redirect_uris: ["cursor://anysphere.cursor/callback"] })).status).toBe(201);
    expect((await register({ token_endpoint_auth_method: "client_secret_basic" })).body.error).toBe(
      "invalid_client_metadata",
    );
  });

  test("only accepts users' decisions: no API key and no other site decides", async () => {
    const { client_id: id } = (await register()).body;
    const key = (await weir.owner("POST", "/api/v1/api-keys", { name: "key", roleSlug: "admin" })).body.key;
    const decision = { request: requestOf(id), approve: true };
    expect((await client(weir.origin, { "x-api-key": key })("POST", api("decide"), decision)).status).toBe(
      403,
    );
    expect((await browser("POST", api("decide"), decision, { "sec-fetch-site": "cross-site" })).status).toBe(
      403,
    );
    expect((await weir.anonymous("POST", api("decide"), decision)).status).toBe(401);
  });

  test("reads the document of a client whose ID is a URL, and trusts it only about itself", async () => {
    await using host = startReceiver(({ path }) =>
      Response.json({
        client_id: path === "/good.json" ? "https://unreachable.invalid/x" : "x",
        redirect_uris: [REDIRECT],
      }),
    );
    const unreachable = await browser(
      "GET",
      api(`request?${new URLSearchParams(requestOf("https://unreachable.invalid/client.json") as never)}`),
    );
    expect([unreachable.status, unreachable.body.error]).toEqual([400, "invalid_client"]);
    const plain = await browser(
      "GET",
      api(`request?${new URLSearchParams(requestOf(`${host.url}/good.json`) as never)}`),
    );
    expect([plain.status, plain.body.error]).toEqual([400, "invalid_client"]); // http identifies nobody.
    expect(host.got).toEqual([]);
  });
});
