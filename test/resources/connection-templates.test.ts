import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { draft, ok, published, RANDOM_ID, schemaOf, TEMPLATES } from "../support/bundles.ts";
import { CONNECTIONS, connect, faultsOf, trailOf } from "../support/connections.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { makeAction, runToEnd } from "../support/work.ts";

let started: Awaited<ReturnType<typeof startApp>>;
let owner: typeof started.owner;
beforeAll(async () => {
  started = await startApp();
  owner = started.owner;
});
afterAll(async () => {
  await started[Symbol.asyncDispose]();
});

let counter = 0;
const fresh = (name: string) => `${name}-${++counter}`;

/** A connection template for an API at `config.baseUrl` that accepts `auth`. */
const template = (auth: object, credentials: object = {}, more: object = {}) => ({
  slug: fresh("api"),
  displayName: "An API",
  templateType: "connection",
  definition: {
    http: {
      baseUrl: "{{config.baseUrl}}",
      auth,
      verify: { method: "GET", path: "/me", expectStatus: 200 },
    },
    configSchema: schemaOf(
      {
        baseUrl: { type: "string", format: "uri" },
        tokenUrl: { type: "string", format: "uri" },
        region: { type: "string", enum: ["eu", "us"], default: "eu" },
        pageSize: { type: "integer", minimum: 1 },
      },
      { required: ["baseUrl"], additionalProperties: false },
    ),
    credentialsSchema: schemaOf(
      Object.fromEntries(Object.keys(credentials).map((key) => [key, { type: "string", minLength: 1 }])),
      { required: Object.keys(credentials), additionalProperties: false },
    ),
    ...more,
  },
});

/** Creates a connection from such a template. */
async function connectTo(
  baseUrl: string,
  auth: object,
  credentials: Record<string, string>,
  config: object = {},
) {
  const { id } = await published(owner, template(auth, credentials));
  return connect(owner, { name: fresh("conn"), templateId: id, config: { baseUrl, ...config }, credentials });
}

const request = async (connectionId: string, definition: object) => {
  const made = await makeAction(owner, { kind: "http_request", name: "Ask", connectionId, definition });
  return runToEnd(owner, made.id);
};

describe("a connection from a template", () => {
  test("has all fields of a connection, and says what it was created from", async () => {
    const body = template({ type: "bearer" }, { token: "x" });
    const { id: templateId } = await published(owner, body);
    const made = await owner("POST", CONNECTIONS, {
      name: "CRM",
      slug: fresh("crm"),
      kind: "from_template",
      templateId,
      config: { baseUrl: "https://crm.example.com", region: null },
      credentials: { token: "secret-token-1" },
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      name: "CRM",
      slug: made.body.slug,
      provider: "http",
      status: "needs_verification",
      config: { baseUrl: "https://crm.example.com" },
      hasCredentials: true,
      isDefault: false,
      isFromTemplate: true,
      templateId,
      lastUsedAt: null,
      lastVerifiedAt: null,
      verificationError: null,
      approvalRequired: "none",
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
      createdBy: started.ids.userId,
      updatedBy: started.ids.userId,
    });
    expect(made.text).not.toContain("secret-token-1");
    expect(ok(await owner("GET", `${CONNECTIONS}/${made.body.id}`))).toEqual(made.body);
    const list = ok(await owner("GET", `${CONNECTIONS}?provider=http&q=CRM`));
    expect(list.connections).toEqual([made.body]);
    expect((await trailOf(started, made.body.id))[0]).toMatchObject({
      type: "connection.created",
      data: { name: "CRM", provider: "http", templateId },
    });
  });

  test("uses the newest published version, or the named one", async () => {
    const first = await published(owner, template({ type: "bearer" }, { token: "x" }));
    const second = ok(await owner("PUT", `${TEMPLATES}/${first.id}`, { displayName: "Second" }));
    const make = (more: object) =>
      owner("POST", CONNECTIONS, {
        name: fresh("v"),
        config: { baseUrl: "https://x.test" },
        credentials: { token: "t" },
        ...more,
      });
    const slug = { templateSlug: first.slug };
    expect((await make(slug)).body.templateId).toBe(first.id); // The second is a draft.
    expect((await make({ ...slug, templateVersion: 2 })).body.code).toBe("invalid_state");
    expect((await make({ templateId: second.id })).body.code).toBe("invalid_state");
    ok(await owner("POST", `${TEMPLATES}/${second.id}/publish`));
    expect((await make(slug)).body.templateId).toBe(second.id);
    expect((await make({ ...slug, templateVersion: 1 })).body.templateId).toBe(first.id);
    expect((await make({ ...slug, templateId: first.id })).body.templateId).toBe(first.id);
    expect((await make({ templateSlug: "http-api" })).status).toBe(201);

    expect(faultsOf(await make({ ...slug, templateVersion: 3 }))).toEqual(["body.templateVersion not_found"]);
    expect(faultsOf(await make({ templateId: first.id, templateVersion: 2 }))).toEqual([
      "body.templateVersion not_found",
    ]);
    expect(faultsOf(await make({ ...slug, templateVersion: 0 }))).toEqual([
      "body.templateVersion greater_than_equal",
    ]);
    expect(faultsOf(await make({ templateSlug: "nobody" }))).toEqual(["body.templateSlug not_found"]);
    expect(faultsOf(await make({ templateId: RANDOM_ID }))).toEqual(["body.templateId not_found"]);
    expect(faultsOf(await make({ templateId: first.id, templateSlug: "http-api" }))).toEqual([
      "body.templateId not_found",
      "body.templateSlug not_found",
    ]);
    expect(faultsOf(await make({ templateSlug: "quick-start" }))).toEqual(["body.templateSlug not_found"]);
    expect(faultsOf(await make({ kind: "from_template" }))).toEqual(["body.templateId missing"]);
    expect(faultsOf(await make({ ...slug, provider: "local_files" }))).toContain("body.provider value_error");
    expect(faultsOf(await make({ provider: "http" }))).toContain("body.provider enum");

    const foreign = (await neighbour(started)).call;
    const body = {
      name: "x",
      config: { baseUrl: "https://x.test" },
      credentials: { token: "t" },
      templateId: first.id,
    };
    expect(faultsOf(await foreign("POST", CONNECTIONS, body))).toEqual(["body.templateId not_found"]);
    for (const { id } of [first, second]) ok(await owner("POST", `${TEMPLATES}/${id}/deprecate`));
    expect((await make(slug)).body).toMatchObject({ code: "invalid_state" });
  });

  test("accepts the config and credentials of the template's schemas, and reports every fault", async () => {
    const { id: templateId } = await published(
      owner,
      template({ type: "bearer" }, { token: "x", other: "y" }),
    );
    const make = (more: object) => owner("POST", CONNECTIONS, { name: "n", templateId, ...more });
    expect(
      faultsOf(
        await make({
          name: "",
          config: { baseUrl: "not an address", pageSize: 0, region: "mars", surprise: 1 },
          credentials: { token: "", more: "z" },
        }),
      ),
    ).toEqual([
      "body.config.baseUrl uri_parsing",
      "body.config.pageSize greater_than_equal",
      "body.config.region enum",
      "body.config.surprise extra_forbidden",
      "body.credentials.more extra_forbidden",
      "body.credentials.other missing",
      "body.credentials.token string_too_short",
      "body.name string_too_short",
    ]);
    expect(faultsOf(await make({ credentials: { token: "t", other: "o" } }))).toEqual([
      "body.config.baseUrl missing",
    ]);
    expect(faultsOf(await make({ config: { baseUrl: "https://x.test" } }))).toEqual([
      "body.credentials missing",
    ]);
    expect(
      faultsOf(await make({ config: { baseUrl: "https://x.test" }, credentials: { token: 7 } })),
    ).toContain("body.credentials.token string_type");
    const open = await published(owner, template({ type: "none" }));
    const bare = await owner("POST", CONNECTIONS, {
      name: "bare",
      templateId: open.id,
      config: { baseUrl: "https://x.test" },
    });
    expect([bare.status, bare.body.hasCredentials]).toEqual([201, false]);
    for (const baseUrl of ["https://me:pw@x.test", "ftp://x.test", "https://x.test/?a=1"]) {
      const refused = await make({ config: { baseUrl }, credentials: { token: "t", other: "o" } });
      expect(refused.body.detail[0].loc.slice(0, 2)).toEqual(["body", "config"]);
    }
  });

  test("without a schema of credentials, requires those that the sign-in uses, and no others", async () => {
    const make = async (auth: object, more: object) => {
      const { definition, ...rest } = template(auth);
      const { credentialsSchema: _, ...open } = definition;
      const { id: templateId } = await published(owner, { ...rest, definition: open });
      return owner("POST", CONNECTIONS, {
        name: fresh("n"),
        templateId,
        config: { baseUrl: "https://x.test" },
        ...more,
      });
    };
    const signIn = { authorizeUrl: "https://x.test/a", tokenUrl: "https://x.test/t" };
    for (const [auth, names] of [
      [{ type: "bearer" }, ["token"]],
      [{ type: "basic" }, ["password", "username"]],
      [{ type: "header", value: "Key {{credentials.key}}" }, ["key"]],
      [{ type: "header", value: "{{ 'Token ' + credentials.key }}" }, ["key"]],
      [{ type: "query" }, ["apiKey"]],
      [{ type: "path" }, ["token"]],
      [{ type: "oauth2_client_credentials", tokenUrl: "https://x.test/t" }, ["clientId", "clientSecret"]],
      [{ type: "oauth2_authorization_code", ...signIn }, ["clientId"]],
    ] as [object, string[]][]) {
      const missing = names.map((name) => `body.credentials.${name} missing`);
      expect(faultsOf(await make(auth, { credentials: {} }))).toEqual(missing);
      expect(faultsOf(await make(auth, { credentials: { misspelt: "x" } })).toSorted()).toEqual(
        [...missing, "body.credentials.misspelt extra_forbidden"].toSorted(),
      );
      expect(faultsOf(await make(auth, {}))).toEqual(["body.credentials missing"]);
      const credentials = Object.fromEntries(names.map((name) => [name, "x"]));
      expect((await make(auth, { credentials })).status).toBe(201);
    }
    expect((await make({ type: "none" }, {})).status).toBe(201);
    for (const token of [
      '{{credentials.token ?? "-"}}',
      "{{ 'x' + (credentials.token ?? '-') }}",
      "{{ has(credentials.token) ? credentials.token : '-' }}",
    ])
      expect((await make({ type: "bearer", token }, {})).status).toBe(201);
    const made = (await make({ type: "bearer" }, { credentials: { token: "t" } })).body;
    expect(
      faultsOf(await owner("PATCH", `${CONNECTIONS}/${made.id}`, { credentials: { tokn: "t" } })),
    ).toEqual(["body.credentials.tokn extra_forbidden"]);
    expect(ok(await owner("GET", `${TEMPLATES}/${made.templateId}`)).credentialsSchema).toMatchObject({
      properties: { token: { type: "string" } },
      required: ["token"],
    });
  });

  test("keeps the definition that it was created with", async () => {
    await using api = startReceiver();
    const first = await published(owner, template({ type: "header", name: "X-Key" }, { apiKey: "k" }));
    const made = await connect(owner, {
      name: fresh("kept"),
      templateId: first.id,
      config: { baseUrl: api.url },
      credentials: { apiKey: "key-of-kept" },
    });
    const next = ok(
      await owner("PUT", `${TEMPLATES}/${first.id}`, {
        definition: template({ type: "header", name: "X-Other" }, { apiKey: "k" }).definition,
        status: "published",
      }),
    );
    expect(next.version).toBe(2);
    ok(await owner("POST", `${TEMPLATES}/${first.id}/deprecate`));
    expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    expect(api.got[0]?.headers.get("x-key")).toBe("key-of-kept");
    expect(api.got[0]?.headers.get("x-other")).toBeNull();
  });
});

describe("authorization", () => {
  /** What the API received in one request. */
  async function seen(auth: object, credentials: Record<string, string>) {
    await using api = startReceiver();
    const made = await connectTo(`${api.url}/base`, auth, credentials);
    expect(await request(made.id, { url: "/orders?a=1", query: { b: 2 } })).toMatchObject({
      status: "completed",
    });
    expect(ok(await owner("POST", `${CONNECTIONS}/${made.id}/verify`))).toMatchObject({ status: "active" });
    expect(api.got.map(({ path }) => path.split("?")[0])).toEqual(["/base/orders", "/base/me"]);
    const [run, verify] = api.got;
    if (!run || !verify) throw new Error("Nothing came.");
    return { run, verify };
  }

  test("none, bearer, basic and header", async () => {
    const none = await seen({ type: "none" }, {});
    expect([none.run.headers.get("authorization"), none.run.path]).toEqual([null, "/base/orders?a=1&b=2"]);
    for (const [auth, credentials, header, value] of [
      [{ type: "bearer" }, { token: "abc" }, "authorization", "Bearer abc"],
      [{ type: "bearer" }, { apiKey: "only-one" }, "authorization", "Bearer only-one"],
      [{ type: "bearer", token: "{{credentials.b}}" }, { a: "1", b: "2" }, "authorization", "Bearer 2"],
      [
        { type: "basic" },
        { username: "ada", password: "pä:ss" },
        "authorization",
        `Basic ${Buffer.from("ada:pä:ss").toString("base64")}`,
      ],
      [{ type: "header" }, { apiKey: "k-1" }, "x-api-key", "k-1"],
      [
        { type: "header", name: "X-Shop", value: "{{config.region}} {{credentials.key}}" },
        { key: "k-2" },
        "x-shop",
        "eu k-2",
      ],
    ] as [object, Record<string, string>, string, string][]) {
      const { run, verify } = await seen(auth, credentials);
      expect([run.headers.get(header), verify.headers.get(header)]).toEqual([value, value]);
    }
  });

  test("the template's own headers are sent with a run and a verification alike", async () => {
    await using api = startReceiver();
    const { definition, ...rest } = template({ type: "none" }, {});
    const http = { ...definition.http, headers: { "User-Agent": "Shop/1", Accept: "text/csv" } };
    const { id } = await published(owner, { ...rest, definition: { ...definition, http } });
    const made = await connect(owner, { name: fresh("own"), templateId: id, config: { baseUrl: api.url } });
    await request(made.id, { url: "/a" });
    await owner("POST", `${CONNECTIONS}/${made.id}/verify`);
    expect(api.got.map(({ headers }) => [headers.get("user-agent"), headers.get("accept")])).toEqual([
      ["Shop/1", "text/csv"],
      ["Shop/1", "text/csv"],
    ]);
  });

  test("query", async () => {
    const { run, verify } = await seen({ type: "query", name: "key" }, { apiKey: "k 1&" });
    expect(run.path).toBe("/base/orders?a=1&b=2&key=k+1%26");
    expect(verify.path).toBe("/base/me?key=k+1%26");
  });
});

/** A token server that issues `token-1`, `token-2` …, and an API that accepts those that aren't `revoked`. */
function startOAuth(expiresIn: number | null = 3600) {
  const revoked = new Set<string>();
  let count = 0;
  const server = startReceiver(({ path, headers }) => {
    if (path === "/token") {
      count++;
      return Response.json({
        access_token: `token-${count}-of-oauth`,
        token_type: "bearer",
        ...(expiresIn === null ? {} : { expires_in: expiresIn }),
      });
    }
    const token = headers.get("authorization")?.replace("Bearer ", "") ?? "";
    const isGood = token.startsWith("token-") && !revoked.has(token);
    return Response.json({ ok: isGood }, { status: isGood ? 200 : 401 });
  });
  return { server, revoked, tokens: () => server.got.filter(({ path }) => path === "/token") };
}

describe("OAuth 2 client credentials", () => {
  const auth = { type: "oauth2_client_credentials", tokenUrl: "{{config.tokenUrl}}", scope: "read write" };
  const credentials = { clientId: "id:1", clientSecret: "the secret/1" };
  const to = ({ url }: { url: string }, more: object = {}) =>
    connectTo(url, { ...auth, ...more }, credentials, { tokenUrl: `${url}/token` });

  test("a token is fetched once and used until it expires", async () => {
    const { server, tokens } = startOAuth(600);
    await using _ = server;
    const made = await to(server);
    for (let n = 0; n < 3; n++) expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    expect(tokens().map(({ method, text, headers }) => [method, text, headers.get("authorization")])).toEqual(
      [
        [
          "POST",
          "grant_type=client_credentials&scope=read+write",
          `Basic ${Buffer.from("id%3A1:the+secret%2F1").toString("base64")}`,
        ],
      ],
    );
    const uses = server.got
      .filter(({ path }) => path === "/a")
      .map(({ headers }) => headers.get("authorization"));
    expect(uses).toEqual(Array(3).fill("Bearer token-1-of-oauth"));
    const refreshed = (await trailOf(started, made.id)).filter(
      ({ type }) => type === "connection.token_refreshed",
    );
    expect(refreshed).toMatchObject([
      { actorType: "system", data: { expiresAt: expect.any(String), runId: expect.any(String) } },
    ]);

    started.clock.turn(600_000);
    expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    expect(tokens()).toHaveLength(2);
  });

  test("the credentials can be sent in the body, and a very short-lived token isn't stored", async () => {
    const { server, tokens } = startOAuth(10);
    await using _ = server;
    const made = await to(server, { clientAuth: "body", scope: "a" });
    for (let n = 0; n < 2; n++) expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    expect(tokens().map(({ text, headers }) => [text, headers.get("authorization")])).toEqual(
      Array(2).fill([
        "grant_type=client_credentials&scope=a&client_id=id%3A1&client_secret=the+secret%2F1",
        null,
      ]),
    );
  });

  test("a revoked token is replaced, and verifying always requests a new one", async () => {
    const { server, tokens, revoked } = startOAuth();
    await using _ = server;
    const made = await to(server);
    expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    revoked.add("token-1-of-oauth");
    expect((await request(made.id, { url: "/a" })).status).toBe("completed");
    expect(tokens()).toHaveLength(2);
    expect(ok(await owner("POST", `${CONNECTIONS}/${made.id}/verify`)).status).toBe("active");
    expect(tokens()).toHaveLength(3);
    for (const n of [3, 4, 5]) revoked.add(`token-${n}-of-oauth`);
    expect((await request(made.id, { url: "/a" })).error).toMatchObject({ code: "unexpected_status" });
    expect(tokens()).toHaveLength(4);
  });

  test("changed credentials get another token", async () => {
    const { server, tokens } = startOAuth();
    await using _ = server;
    const made = await to(server);
    await request(made.id, { url: "/a" });
    ok(
      await owner("PATCH", `${CONNECTIONS}/${made.id}`, { credentials: { clientSecret: "another secret" } }),
    );
    await request(made.id, { url: "/a" });
    expect(tokens()).toHaveLength(2);
    expect((await owner("DELETE", `${CONNECTIONS}/${made.id}`)).status).toBe(409); // Actions use it.
  });

  test("a server that issues none is reported in a sentence, without the credentials", async () => {
    for (const [status, body, sentence] of [
      [
        401,
        { error: "invalid_client", error_description: "the secret/1 is wrong" },
        /answered 401 \(invalid_client\)/,
      ],
      [200, { token_type: "bearer" }, /gave no token/],
      [200, { access_token: "x y" }, /gave no token/],
      [200, { access_token: "x", token_type: "mac" }, /Bearer is what it takes/],
      [503, "down", /answered 503/],
      [302, "", /answered 302/],
    ] as const) {
      await using server = startReceiver(() =>
        typeof body === "string"
          ? new Response(body, { status, headers: { location: "/elsewhere" } })
          : Response.json(body, { status }),
      );
      const made = await to(server);
      const refused = ok(await owner("POST", `${CONNECTIONS}/${made.id}/verify`));
      expect(refused.status).toBe("error");
      expect(refused.verificationError).toMatch(sentence);
      expect(refused.verificationError).not.toContain("the secret");
      expect(server.got).toHaveLength(1);
    }
  });
});

describe("verifying", () => {
  test("sends the template's request, and reports unexpected responses", async () => {
    await using api = startReceiver(({ headers, path }) =>
      path.startsWith("/hop")
        ? Response.redirect("/me")
        : new Response("", { status: headers.get("x-api-key") === "good" ? 204 : 403 }),
    );
    const body = template({ type: "header" }, { apiKey: "k" });
    const http = {
      ...body.definition.http,
      verify: { method: "POST", path: "{{config.region}}/me", expectStatus: [204, 205] },
    };
    const { id } = await published(owner, { ...body, definition: { ...body.definition, http } });
    const made = await connect(owner, {
      name: "Verified",
      templateId: id,
      config: { baseUrl: `${api.url}/v2/`, region: "us" },
      credentials: { apiKey: "bad-key-1" },
    });
    const at = `${CONNECTIONS}/${made.id}`;
    const refused = ok(await owner("POST", `${at}/verify`));
    expect(refused).toMatchObject({ status: "error", lastVerifiedAt: null });
    expect(refused.verificationError).toBe(
      `${new URL(api.url).host} answered POST /v2/us/me with 403, not 204, 205.`,
    );
    expect(api.got.map(({ method, path }) => [method, path])).toEqual([["POST", "/v2/us/me"]]);
    ok(await owner("PATCH", at, { credentials: { apiKey: "good" } }));
    expect(ok(await owner("POST", `${at}/verify`))).toMatchObject({
      status: "active",
      verificationError: null,
    });
    expect((await trailOf(started, made.id)).map(({ type }) => type)).toEqual([
      "connection.created",
      "connection.tested",
      "connection.error",
      "connection.updated",
      "connection.tested",
    ]);
  });

  test("sends a config value within the path as one segment, and a whole path unchanged", async () => {
    await using api = startReceiver(() => new Response(null, { status: 204 }));
    const verified = async (path: string, region: string) => {
      const body = template({ type: "bearer" }, { token: "k" });
      const http = { ...body.definition.http, verify: { path } };
      const configSchema = schemaOf({ baseUrl: { type: "string" }, region: { type: "string" } });
      const definition = { ...body.definition, http, configSchema };
      const { id } = await published(owner, { ...body, definition });
      const config = { baseUrl: `${api.url}/api`, region };
      const credentials = { token: "t" };
      const made = await connect(owner, { name: "Verified", templateId: id, config, credentials });
      return ok(await owner("POST", `${CONNECTIONS}/${made.id}/verify`)).verificationError;
    };
    const within = "/{{config.region}}/list?in={{config.region}}";
    expect(await verified(within, "../users/1?x=#&y=z")).toBeNull();
    expect(await verified("{{config.region}}", "/orders/all?limit=1")).toBeNull();
    const encoded = "..%2Fusers%2F1%3Fx%3D%23%26y%3Dz";
    expect(api.got.map(({ path }) => path)).toEqual([
      `/api/${encoded}/list?in=${encoded}`,
      "/api/orders/all?limit=1",
    ]);
    for (const region of [".", "..", "%2e%2E"])
      expect([region, await verified("/{{config.region}}", region)]).toEqual([
        region,
        region === "%2e%2E" ? null : expect.stringContaining("would change the URL's path"),
      ]);
    expect(api.got.at(-1)?.path).toBe("/api/%252e%252E");
  });

  test("doesn't access forbidden addresses", async () => {
    await using closed = await startApp({ env: { WEIR_EGRESS_ALLOW: "" } });
    const { id } = await published(closed.owner, template({ type: "bearer" }, { token: "x" }));
    const made = await connect(closed.owner, {
      name: "Inside",
      templateId: id,
      config: { baseUrl: "http://169.254.169.254/latest" },
      credentials: { token: "t" },
    });
    const refused = ok(await closed.owner("POST", `${CONNECTIONS}/${made.id}/verify`));
    expect([refused.status, refused.verificationError]).toEqual([
      "error",
      expect.stringContaining("WEIR_EGRESS_ALLOW"),
    ]);
  });
});

describe("the credentials", () => {
  test("are required again when they would be sent to another destination", async () => {
    const made = await connectTo(
      "https://one.test",
      { type: "oauth2_client_credentials", tokenUrl: "{{config.tokenUrl}}" },
      { clientId: "i", clientSecret: "s" },
      { tokenUrl: "https://one.test/token" },
    );
    const at = `${CONNECTIONS}/${made.id}`;
    for (const config of [{ baseUrl: "https://two.test" }, { tokenUrl: "https://two.test/token" }]) {
      expect(faultsOf(await owner("PATCH", at, { config }))).toEqual([
        "body.credentials credentials_required",
      ]);
      const half = { config, credentials: { clientId: "i" } };
      expect(faultsOf(await owner("PATCH", at, half))).toEqual(["body.credentials credentials_required"]);
    }
    expect(ok(await owner("PATCH", at, { config: { pageSize: 5, region: "us" } })).config).toEqual({
      baseUrl: "https://one.test",
      tokenUrl: "https://one.test/token",
      pageSize: 5,
      region: "us",
    });
    expect(
      faultsOf(await owner("PATCH", at, { config: { pageSize: "five" }, credentials: { nope: "x" } })),
    ).toEqual(["body.config.pageSize int_type", "body.credentials.nope extra_forbidden"]);
    const moved = ok(
      await owner("PATCH", at, {
        config: { baseUrl: "https://two.test" },
        credentials: { clientId: "i", clientSecret: "s" },
      }),
    );
    expect(moved).toMatchObject({ status: "needs_verification", config: { baseUrl: "https://two.test" } });
  });

  test("are sent to no other origin: not by a redirect, a URL in the definition, or a next page", async () => {
    await using elsewhere = startReceiver();
    await using api = startReceiver(({ path }) =>
      path.startsWith("/leave")
        ? Response.redirect(`${elsewhere.url}/stolen`)
        : path.startsWith("/pages")
          ? Response.json([], { headers: { link: `<${elsewhere.url}/next>; rel="next"` } })
          : Response.json({ ok: true }),
    );
    for (const [auth, credentials] of [
      [{ type: "header", name: "X-Plain-Name" }, { apiKey: "canary-header" }],
      [{ type: "bearer" }, { token: "canary-bearer" }],
      [{ type: "query", name: "id" }, { apiKey: "canary-query" }],
    ] as [object, Record<string, string>][]) {
      const made = await connectTo(api.url, auth, credentials);
      expect((await request(made.id, { url: "/leave" })).status).toBe("completed");
      expect((await request(made.id, { url: `${elsewhere.url}/direct` })).error).toMatchObject({
        code: "definition_invalid",
      });
      expect(
        (await request(made.id, { url: "/pages", pagination: { type: "link_header" } })).error,
      ).toMatchObject({
        code: "upstream",
      });
    }
    const told = JSON.stringify(elsewhere.got.map(({ path, headers, text }) => [path, [...headers], text]));
    expect(elsewhere.got.map(({ path }) => path)).toEqual(["/stolen", "/stolen", "/stolen"]);
    expect(told).not.toContain("canary");
  });

  test("appear in no response, result, error, log line or database, even if the API echoes them", async () => {
    const canary = "canary-5d1f7a";
    await using api = startReceiver(({ headers, path, text }) => {
      const echo = {
        echo: [...headers],
        path,
        text,
        [`key ${headers.get("x-api-key")}`]: new URL(path, "http://x").searchParams.get("api_key"),
      };
      return Response.json(echo, {
        status: path.startsWith("/good") ? 200 : 418,
        headers: { "x-echo": path },
      });
    });
    const replies: string[] = [];
    for (const [auth, credentials] of [
      [{ type: "header" }, { apiKey: `${canary}-h` }],
      [{ type: "bearer" }, { token: `${canary}-b` }],
      [{ type: "basic" }, { username: "ada", password: `${canary}-p/+ä` }],
      [{ type: "query" }, { apiKey: `${canary} q&` }],
    ] as [object, Record<string, string>][]) {
      const made = await connectTo(api.url, auth, credentials);
      const good = await request(made.id, { url: "/good" });
      expect(good.status).toBe("completed");
      const bad = await request(made.id, { url: "/bad" });
      expect(bad.error.code).toBe("unexpected_status");
      const logs = await owner("GET", `/api/v1/action-runs/${bad.id}/logs`);
      const refused = await owner("POST", `${CONNECTIONS}/${made.id}/verify`);
      expect(refused.body.status).toBe("error");
      replies.push(JSON.stringify([good, bad]), logs.text, refused.text);
    }
    const events = await owner("GET", "/api/v1/events?limit=200");
    const all = [...replies, events.text, ...started.logged].join("\n");
    const pair = Buffer.from(`ada:${canary}-p/+ä`).toString("base64");
    for (const secret of [canary, encodeURIComponent(canary), pair]) expect(all.includes(secret)).toBe(false);
    for (const text of [canary, "token-1-of-oauth"]) expect(await isStored(started, text)).toBe(false);
  });
});

test("credentials that an API echoes can't be read letter by letter, nor from where a response is cut off", async () => {
  const canary = "canary/9c5e2b+7d=";
  const reply = JSON.stringify({ got: canary, url: `/x?key=${encodeURIComponent(canary)}` });
  await using api = startReceiver(({ path }) =>
    path.startsWith("/text")
      ? new Response(`You sent ${canary} to us.`)
      : new Response(reply.replaceAll("/", "\\/"), { headers: { "content-type": "application/json" } }),
  );
  const made = await connectTo(api.url, { type: "bearer" }, { token: canary });
  const responseExtract = "[got, reverse(got), length(got), starts_with(got, 'canary'), split(url, '')]";
  const asked = await request(made.id, { url: "/json", responseExtract });
  expect(asked.result.extracted).toEqual(["***", "***", 3, false, [..."/x?key=***"]]);
  const start = "You sent ".length;
  for (let length = start; length <= start + canary.length; length++) {
    const cut = await request(made.id, { url: "/text", maxBytes: length });
    expect(cut.result.body).toBe(length === start ? "You sent " : "You sent ***");
  }
});

describe("pagination", () => {
  const canary = "canary/9c5e2b+7d=";
  const page = async (auth: object, pagination: object, body: (page: number, seen: string) => object) => {
    await using api = startReceiver(({ path }, count) => Response.json(body(count, path)));
    const made = await connectTo(`${api.url}/api`, auth, { token: canary });
    const run = await request(made.id, { url: "/list", pagination: { maxPages: 3, ...pagination } });
    return { run, paths: api.got.map(({ path }) => path) };
  };
  const bearer = { type: "bearer" };
  const escaped = encodeURIComponent(canary);

  test.each([
    [{ type: "page", hasNextPath: "starts_with(got, 'canary')" }, 1],
    [{ type: "page", hasNextPath: "length(got) > `3`" }, 1],
    [{ type: "offset", itemsPath: "split(got, '')", hasNextPath: "length(got) < `9`" }, 3],
    [{ type: "cursor", cursorPath: "reverse(got)", cursorParam: "c" }, 2],
    [{ type: "cursor", cursorPath: "split(got, '')[0]", cursorParam: "c" }, 2],
  ])("can't read what an API echoes of the credentials: %j", async (pagination, pages) => {
    for (const pad of ["", "x".repeat(300_000)]) {
      const { paths } = await page(bearer, pagination, () => ({ got: canary, pad }));
      expect(paths).toHaveLength(pages);
      for (const path of paths)
        expect(path).toMatch(new RegExp(`^/api/list([?](page=[123]|offset=[036]|c=([*]|${escaped})))?$`));
    }
  });

  test("follows links and cursors that contain the credentials", async () => {
    const query = { type: "query", name: "api_key" };
    const nextOf = (link: string) => (n: number) => ({ items: [n], next: n < 3 ? `${link}${n + 1}` : null });
    const links = { type: "cursor", cursorPath: "next", itemsPath: "items" };
    const inQuery = await page(query, links, nextOf(`/api/list?api_key=${escaped}&page=`));
    expect(inQuery.run).toMatchObject({ status: "completed", result: { pages: 3, extracted: [1, 2, 3] } });
    const sent = (path?: string) => Object.fromEntries(new URL(path ?? "", "http://x").searchParams);
    expect(inQuery.paths.map(sent)).toEqual([
      { api_key: canary },
      { api_key: canary, page: "2" },
      { api_key: canary, page: "3" },
    ]);
    const other = await page(query, links, nextOf(`/api/list?sig=x-${escaped}&page=`));
    expect(sent(other.paths[2])).toEqual({ sig: `x-${canary}`, page: "3", api_key: canary });
    const inPath = await page({ type: "path" }, links, nextOf(`/api/${escaped}/list?page=`));
    expect(inPath.paths).toEqual([
      `/api/${escaped}/list`,
      `/api/${escaped}/list?page=2`,
      `/api/${escaped}/list?page=3`,
    ]);
    const cursors = { ...links, cursorParam: "after" };
    const cursor = await page(bearer, cursors, nextOf(`${canary}-`));
    expect(cursor.paths).toEqual([
      "/api/list",
      `/api/list?after=${escaped}-2`,
      `/api/list?after=${escaped}-3`,
    ]);
    const stars = await page(bearer, cursors, nextOf("***-"));
    expect(stars.paths[2]).toBe("/api/list?after=***-3");
  });

  test("rejects a link that an expression makes of the credentials", async () => {
    const cursorPath = "join('', ['/api/list?', next])";
    const { run, paths } = await page(bearer, { type: "cursor", cursorPath }, () => ({
      next: `t=${canary}`,
    }));
    expect(run.error).toMatchObject({
      code: "upstream",
      message: expect.stringContaining("contains credentials"),
    });
    expect(paths).toEqual(["/api/list"]);
  });
});

test("kinds that work on tables or files reject such a connection", async () => {
  const made = await connectTo("https://x.test", { type: "none" }, {});
  const refused = await owner("POST", "/api/v1/actions", {
    kind: "file_sync",
    name: "No",
    connectionId: made.id,
    definition: {},
  });
  expect(faultsOf(refused)).toEqual(["body.connectionId value_error"]);
  const files = await owner("GET", `${CONNECTIONS}/${made.id}/files`);
  expect([files.status, files.body.code]).toEqual([400, "bad_request"]);
  expect(await draft(owner, template({ type: "none" }))).toMatchObject({ status: "draft" });
});
