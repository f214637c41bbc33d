import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { addHttp, addMcp, CATALOG, endpoint, httpApi, mcpApi } from "../support/catalog.ts";
import { CONNECTIONS, connect, faultsOf, localFiles, trailOf } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { NOBODY } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: typeof weir.owner;
let member: typeof weir.owner;
let viewer: typeof weir.owner;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  owner = weir.owner;
  member = (await join(weir, "member")).call;
  viewer = (await join(weir, "viewer")).call;
});
afterAll(() => weir[Symbol.asyncDispose]());

let counter = 0;
const fresh = (name = "Orders") => `${name} ${++counter}`;
const INSTANT = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/);

const plainEndpoint = {
  name: "list_orders",
  description: null,
  method: "GET",
  path: "/orders",
  headers: {},
  queryTemplate: {},
  bodyTemplate: null,
  inputSchema: null,
  responseExtract: null,
  source: null,
  unverified: false,
  enabled: true,
  approvalRequired: false,
};

describe("adding an HTTP API", () => {
  test("returns it with all of its fields, and null for omitted ones", async () => {
    const body = httpApi(fresh());
    const { status, body: entry } = await owner("POST", `${CATALOG}/http`, body);
    expect(status).toBe(201);
    expect(entry).toEqual({
      id: expect.any(String),
      name: body.name,
      description: body.description,
      type: "http",
      status: "active",
      url: null,
      baseUrl: body.baseUrl,
      connectionId: null,
      approvalRequired: false,
      endpointCount: 1,
      toolCount: 0,
      transport: null,
      createdAt: INSTANT,
      updatedAt: entry.createdAt,
      endpoints: [{ ...plainEndpoint, modelName: `orders-${counter}__list_orders` }],
      tools: [],
    });
    expect((await viewer("GET", `${CATALOG}/${entry.id}`)).body).toEqual(entry);
    const [event] = await trailOf(weir, entry.id);
    expect(event).toMatchObject({
      type: "catalog.created",
      entityType: "catalog_entry",
      actorId: weir.ids.userId,
      data: { name: body.name, type: "http", address: body.baseUrl, endpointCount: 1, toolCount: 0 },
    });
  });

  test("keeps every field of an endpoint as given", async () => {
    const whole = {
      name: "create.order",
      description: "Makes an order.",
      method: "POST",
      path: "/shops/{shop}/orders",
      headers: { "X-Trace": "{{input.trace}}" },
      queryTemplate: { dry: "{{input.dry}}" },
      bodyTemplate: { items: "{{input.items}}", note: "for {{input.shop}}" },
      inputSchema: { type: "object", properties: { shop: { type: "string" } }, required: ["shop"] },
      responseExtract: "order.id",
      source: "openapi",
      unverified: true,
      enabled: false,
      approvalRequired: true,
    };
    const connection = await connect(owner, localFiles(fresh("files")));
    const entry = await addHttp(owner, {
      ...httpApi(fresh(), { endpoints: [whole], connectionId: connection.id, approvalRequired: true }),
      baseUrl: "https://held.example.com",
    });
    expect(entry.endpoints).toEqual([
      { ...whole, modelName: expect.stringMatching(/__create_order_[0-9a-f]{12}$/) },
    ]);
    expect([entry.connectionId, entry.approvalRequired]).toEqual([connection.id, true]);
  });

  test("reports every fault at its place", async () => {
    const refusal = async (more: object) =>
      faultsOf(await owner("POST", `${CATALOG}/http`, httpApi("x", more)));
    expect(faultsOf(await owner("POST", `${CATALOG}/http`, {}))).toEqual([
      "body.baseUrl missing",
      "body.description missing",
      "body.endpoints missing",
      "body.name missing",
    ]);
    expect(await refusal({ endpoints: [] })).toEqual(["body.endpoints too_short"]);
    expect(await refusal({ endpoints: [{}] })).toEqual([
      "body.endpoints.0.method missing",
      "body.endpoints.0.name missing",
      "body.endpoints.0.path missing",
    ]);
    expect(await refusal({ endpoints: [endpoint(), endpoint()] })).toEqual([
      "body.endpoints.1.name not_unique",
    ]);
    expect(await refusal({ baseUrl: "ftp://x", surprise: 1 })).toEqual([
      "body.baseUrl url_parsing",
      "body.surprise extra_forbidden",
    ]);
    for (const baseUrl of ["https://me:pw@x.example", "https://x.example/?key=secret", "//x.example"])
      expect(await refusal({ baseUrl })).toEqual(["body.baseUrl url_parsing"]);
    for (const path of ["https://evil.example/", "//evil.example", "/a b", "/a?b=c", "/{{input.x}}"])
      expect(await refusal({ endpoints: [endpoint("a", { path })] })).toEqual([
        "body.endpoints.0.path value_error",
      ]);
    expect(
      await refusal({
        endpoints: [
          endpoint("a", {
            method: "FETCH",
            headers: { Authorization: "Bearer abc", Host: "x", "X-Note": "a\nb" },
            queryTemplate: { q: "{{input.q" },
            inputSchema: { type: "nothing" },
            responseExtract: "a[",
          }),
        ],
      }),
    ).toEqual([
      "body.endpoints.0.headers.Authorization value_error",
      "body.endpoints.0.headers.Host value_error",
      "body.endpoints.0.headers.X-Note value_error",
      "body.endpoints.0.inputSchema.type schema_invalid",
      "body.endpoints.0.method enum",
      "body.endpoints.0.queryTemplate.q template_error",
      "body.endpoints.0.responseExtract value_error",
    ]);
    expect(
      await refusal({ endpoints: [endpoint("a", { queryTemplate: { api_key: "abc", page: "1" } })] }),
    ).toEqual(["body.endpoints.0.queryTemplate.api_key value_error"]);
    expect(await refusal({ connectionId: NOBODY })).toEqual(["body.connectionId not_found"]);
    const { call } = await neighbour(weir);
    const foreign = await connect(call, localFiles("theirs"));
    expect(await refusal({ connectionId: foreign.id })).toEqual(["body.connectionId not_found"]);
  });

  test("limits the lengths of name and description", async () => {
    const refusal = async (more: object) =>
      faultsOf(await owner("POST", `${CATALOG}/http`, httpApi("x", more)));
    expect(await refusal({ name: "" })).toEqual(["body.name string_too_short"]);
    expect(await refusal({ name: "n".repeat(256) })).toEqual(["body.name string_too_long"]);
    expect(await refusal({ description: "" })).toEqual(["body.description string_too_short"]);
    expect(await refusal({ description: "d".repeat(2049) })).toEqual(["body.description string_too_long"]);
    expect(await refusal({ baseUrl: "" })).toEqual(["body.baseUrl string_too_short"]);
    const longest = { name: "n".repeat(255), description: "d".repeat(2048) };
    expect(await addHttp(owner, httpApi("x", longest))).toMatchObject(longest);
  });

  test("rejects a name that is taken, and accepts an Idempotency-Key", async () => {
    const body = httpApi(fresh());
    const key = { "idempotency-key": `catalog-${counter}` };
    const first = await owner("POST", `${CATALOG}/http`, body, key);
    const second = await owner("POST", `${CATALOG}/http`, body, key);
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    const again = await owner("POST", `${CATALOG}/http`, body);
    expect([again.status, again.body.code]).toEqual([409, "conflict"]);
    const asMcp = await owner("POST", `${CATALOG}/mcp`, mcpApi(body.name));
    expect([asMcp.status, asMcp.body.code]).toEqual([409, "conflict"]);
  });
});

test("adding an MCP server returns it with all of its fields", async () => {
  const schema = { type: "object", properties: { q: { type: "string" } } };
  const tools = [
    { upstreamName: "search" },
    { upstreamName: "read", name: "Read it", title: "Read", description: "Reads.", inputSchema: schema },
  ];
  const body = mcpApi(fresh("Tools"), { tools, transport: "sse" });
  const entry = await addMcp(owner, body);
  const common = {
    outputSchema: null,
    annotations: null,
    enabled: true,
    approvalRequired: false,
    trusted: false,
  };
  expect(entry).toEqual({
    id: expect.any(String),
    name: body.name,
    description: body.description,
    type: "mcp",
    status: "active",
    url: body.url,
    baseUrl: null,
    connectionId: null,
    approvalRequired: false,
    endpointCount: 0,
    toolCount: 2,
    transport: "sse",
    createdAt: INSTANT,
    updatedAt: entry.createdAt,
    endpoints: [],
    tools: [
      {
        ...common,
        upstreamName: "search",
        name: "search",
        title: null,
        description: null,
        inputSchema: null,
        definitionHash: null,
        status: "active",
        pending: null,
        firstSeenAt: null,
        lastSeenAt: null,
        modelName: `tools-${counter}__search`,
      },
      {
        ...common,
        upstreamName: "read",
        name: "Read it",
        title: "Read",
        description: "Reads.",
        inputSchema: schema,
        definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        status: "active",
        pending: null,
        firstSeenAt: INSTANT,
        lastSeenAt: INSTANT,
        modelName: `tools-${counter}__read`,
      },
    ],
  });
  const plain = await addMcp(owner, mcpApi(fresh("Tools")));
  expect(plain.transport).toBe("http");
  const refusal = async (more: object) => faultsOf(await owner("POST", `${CATALOG}/mcp`, mcpApi("x", more)));
  expect(faultsOf(await owner("POST", `${CATALOG}/mcp`, {}))).toEqual([
    "body.description missing",
    "body.name missing",
    "body.tools missing",
    "body.url missing",
  ]);
  expect(await refusal({ transport: "stdio" })).toEqual(["body.transport enum"]);
  expect(await refusal({ tools: [] })).toEqual(["body.tools too_short"]);
  expect(await refusal({ tools: [{}] })).toEqual(["body.tools.0.upstreamName missing"]);
  expect(await refusal({ tools: [{ upstreamName: "a" }, { upstreamName: "a" }] })).toEqual([
    "body.tools.1.upstreamName not_unique",
  ]);
  expect(await refusal({ url: "" })).toEqual(["body.url string_too_short"]);
});

describe("the list", () => {
  test("has the interface's envelope, newest first, and filters by text, type and status", async () => {
    await using own = await startApp({ engine: false });
    const call = own.owner;
    const list = async (query = "") => (await call("GET", `${CATALOG}${query}`)).body;
    expect(await list()).toEqual({ items: [], hasNext: false, limit: 50, offset: 0, total: 0 });
    const a = await addHttp(call, httpApi("Alpha", { baseUrl: "https://alpha.example.com" }));
    const b = await addMcp(call, mcpApi("Beta", { description: "100% tools" }));
    const c = await addHttp(call, httpApi("Gamma"));
    await call("PATCH", `${CATALOG}/${c.id}`, { status: "disabled" });
    const names = async (query: string) =>
      (await list(query)).items.map(({ name }: { name: string }) => name);
    const { endpoints: _, tools: __, ...summary } = a;
    expect((await list("?q=alpha")).items).toEqual([summary]);
    expect(await list("?limit=2")).toMatchObject({ hasNext: true, limit: 2, offset: 0, total: 3 });
    expect(await names("?limit=2")).toEqual(["Gamma", "Beta"]);
    expect(await names("?limit=2&offset=2")).toEqual(["Alpha"]);
    expect(await names("?type=mcp")).toEqual(["Beta"]);
    expect(await names("?status=disabled")).toEqual(["Gamma"]);
    expect(await names("?status=active&type=http")).toEqual(["Alpha"]);
    expect(await names("?q=ALPHA.EXAMPLE")).toEqual(["Alpha"]);
    expect(await names("?q=mcp.example.com")).toEqual(["Beta"]);
    expect(await names("?q=0%25")).toEqual([b.name]);
    expect(await names("?q=%25x")).toEqual([]);
  });

  test("has limits from 1 to 100", async () => {
    const status = async (query: string) => (await owner("GET", `${CATALOG}?${query}`)).status;
    for (const query of ["limit=1", "limit=100", "offset=0"])
      expect([query, await status(query)]).toEqual([query, 200]);
    for (const query of ["limit=0", "limit=101", "offset=-1", "type=soap", "status=gone", "Q=x&limit=x"])
      expect([query, await status(query)]).toEqual([query, 422]);
  });
});

test("endpoints and tools of all APIs are searched in one list, without disabled ones", async () => {
  const name = fresh("Parcels");
  const endpoints = [
    endpoint("create_parcel", { method: "POST", path: "/parcels", description: "Ship a box" }),
    endpoint("list_parcels", { path: "/parcels" }),
    endpoint("hidden_parcel", { enabled: false }),
  ];
  const { body: api } = await owner("POST", `${CATALOG}/http`, { ...httpApi(name), endpoints });
  const { body: found } = await viewer("GET", `${CATALOG}/items?q=parcel`);
  expect(found.total).toBe(2);
  expect(found.items).toEqual([
    {
      apiId: api.id,
      apiName: name,
      type: "http",
      name: "create_parcel",
      description: "Ship a box",
      method: "POST",
      path: "/parcels",
    },
    expect.objectContaining({ name: "list_parcels", method: "GET" }),
  ]);
  const words = encodeURIComponent(`box ${name}`);
  expect((await viewer("GET", `${CATALOG}/items?q=${words}`)).body.total).toBe(1);
  const paged = (await viewer("GET", `${CATALOG}/items?q=parcel&limit=1&offset=1`)).body;
  expect(paged.items.map((item: { name: string }) => item.name)).toEqual(["list_parcels"]);
  const { call } = await neighbour(weir);
  expect((await call("GET", `${CATALOG}/items?q=parcel`)).body.total).toBe(0);
});

describe("changing an API", () => {
  test("changes only the given fields, and is recorded in the audit log", async () => {
    const entry = await addHttp(owner, httpApi(fresh()));
    const at = `${CATALOG}/${entry.id}`;
    const same = await owner("PATCH", at, {});
    expect([same.status, same.body]).toEqual([200, entry]);
    expect((await owner("PATCH", at, { name: entry.name, endpoints: [endpoint()] })).body).toEqual(entry);
    const changed = await owner("PATCH", at, { description: "New.", status: "disabled" });
    expect(changed.body).toEqual({
      ...entry,
      description: "New.",
      status: "disabled",
      updatedAt: expect.any(String),
    });
    const events = await trailOf(weir, entry.id);
    expect(events.map(({ type }) => type)).toEqual(["catalog.created", "catalog.updated"]);
    expect(events[1]?.data).toEqual({
      changes: [
        { field: "description", from: entry.description, to: "New." },
        { field: "status", from: "active", to: "disabled" },
      ],
    });
  });

  test("treats a list as complete, and keeps omitted fields of its items", async () => {
    const first = endpoint("first", { inputSchema: { type: "object" }, description: "One." });
    const entry = await addHttp(owner, httpApi(fresh(), { endpoints: [first, endpoint("second")] }));
    const at = `${CATALOG}/${entry.id}`;
    const endpoints = [endpoint("third", { method: "POST" }), { name: "first", enabled: false }];
    const { body } = await owner("PATCH", at, { endpoints });
    expect(body.endpointCount).toBe(2);
    expect(body.endpoints.map(({ name }: { name: string }) => name)).toEqual(["third", "first"]);
    expect(body.endpoints[1]).toEqual({ ...entry.endpoints[0], enabled: false });
    const [, updated] = await trailOf(weir, entry.id);
    const changes = (updated?.data.changes ?? []) as { field: string }[];
    expect(changes.map(({ field }) => field)).toEqual([
      "endpoints.third",
      "endpoints.first.enabled",
      "endpoints.second",
    ]);
    const turned = await owner("PATCH", at, { endpoints: [{ name: "first" }, { name: "third" }] });
    expect(turned.body.endpoints.map(({ name }: { name: string }) => name)).toEqual(["first", "third"]);
    expect((await trailOf(weir, entry.id)).at(-1)?.data).toEqual({
      changes: [{ field: "endpoints", from: ["third", "first"], to: ["first", "third"] }],
    });
    expect(faultsOf(await owner("PATCH", at, { endpoints: [{ name: "fourth" }] }))).toEqual([
      "body.endpoints.0.method missing",
      "body.endpoints.0.path missing",
    ]);
    expect(faultsOf(await owner("PATCH", at, { tools: [{ upstreamName: "x" }] }))).toEqual([
      "body.tools value_error",
    ]);
    expect(faultsOf(await owner("PATCH", at, { endpoints: [] }))).toEqual(["body.endpoints too_short"]);
    expect(faultsOf(await owner("PATCH", at, { baseUrl: "https://elsewhere.example" }))).toEqual([
      "body.baseUrl extra_forbidden",
    ]);
  });

  test("clears and sets the connection, and rejects a name that is taken", async () => {
    const [one, other] = [await addHttp(owner, httpApi(fresh())), await addHttp(owner, httpApi(fresh()))];
    const connection = await connect(owner, localFiles(fresh("files")));
    const at = `${CATALOG}/${one.id}`;
    expect((await owner("PATCH", at, { connectionId: connection.id })).body.connectionId).toBe(connection.id);
    const used = await owner("DELETE", `${CONNECTIONS}/${connection.id}`);
    expect([used.status, used.body.code, used.body.detail.includes(one.name)]).toEqual([409, "in_use", true]);
    expect((await owner("PATCH", at, { connectionId: null })).body.connectionId).toBeNull();
    expect((await owner("DELETE", `${CONNECTIONS}/${connection.id}`)).status).toBe(204);
    const taken = await owner("PATCH", at, { name: other.name });
    expect([taken.status, taken.body.code]).toEqual([409, "conflict"]);
  });

  test("lets only admins change what needs approval", async () => {
    const entry = await addHttp(member, httpApi(fresh(), { endpoints: [endpoint(), endpoint("other")] }));
    const at = `${CATALOG}/${entry.id}`;
    const held = { endpoints: [endpoint("list_orders", { approvalRequired: true }), endpoint("other")] };
    for (const patch of [{ approvalRequired: true }, held])
      expect((await member("PATCH", at, patch)).body.code).toBe("forbidden");
    const set = await owner("PATCH", at, { approvalRequired: true, ...held });
    expect([set.body.approvalRequired, set.body.endpoints[0].approvalRequired]).toEqual([true, true]);
    const off = { endpoints: [endpoint("list_orders", { approvalRequired: false }), endpoint("other")] };
    for (const patch of [{ approvalRequired: false }, off, { endpoints: [endpoint("other")] }])
      expect((await member("PATCH", at, patch)).body.code).toBe("forbidden");
    const text = await member("PATCH", at, {
      endpoints: [{ name: "list_orders", description: "Lists." }, endpoint("other")],
    });
    expect(text.body.endpoints[0]).toMatchObject({ description: "Lists.", approvalRequired: true });
    const cleared = await owner("PATCH", at, { approvalRequired: false, ...off });
    expect([cleared.body.approvalRequired, cleared.body.endpoints[0].approvalRequired]).toEqual([
      false,
      false,
    ]);
  });
});

describe("an item that an admin requires approval for", () => {
  const held = { endpoints: [endpoint("list_orders", { approvalRequired: true }), endpoint("other")] };
  const refused = (reply: { status: number; body: { code: string } }) =>
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);

  test("can only be removed by admins, alone or with the entry; others by members too", async () => {
    const free = await addHttp(member, httpApi(fresh()));
    expect((await member("DELETE", `${CATALOG}/${free.id}`)).body).toEqual({ deleted: true });
    for (const flag of [{ approvalRequired: true }, held]) {
      const entry = await addHttp(
        member,
        httpApi(fresh(), { endpoints: [endpoint(), endpoint("other", { path: "/other" })] }),
      );
      const at = `${CATALOG}/${entry.id}`;
      await owner("PATCH", at, flag);
      refused(await member("DELETE", at));
      expect((await member("GET", at)).body.endpoints).toHaveLength(2);
      expect((await owner("DELETE", at)).status).toBe(200);
    }
  });

  test("keeps its call, and items with the same call need approval too", async () => {
    const made = [endpoint("one", { method: "POST", path: "/refunds/{id}" }), endpoint("other")];
    const entry = await addHttp(member, httpApi(fresh(), { endpoints: made }));
    const at = `${CATALOG}/${entry.id}`;
    const flagged = await owner("PATCH", at, {
      endpoints: [{ name: "one", approvalRequired: true }, { name: "other" }],
    });
    expect(flagged.status).toBe(200);
    for (const change of [{ path: "/nowhere" }, { method: "GET" }])
      refused(await member("PATCH", at, { endpoints: [{ name: "one", ...change }, { name: "other" }] }));
    refused(
      await member("PATCH", at, {
        endpoints: [{ name: "one" }, { name: "other", method: "POST", path: "/refunds/{x}/" }],
      }),
    );
    const twin = endpoint("twin", { method: "POST", path: "/refunds/{order}" });
    const added = await member("PATCH", at, { endpoints: [{ name: "one" }, { name: "other" }, twin] });
    expect(
      added.body.endpoints.map(({ approvalRequired }: { approvalRequired: boolean }) => approvalRequired),
    ).toEqual([true, false, true]);
  });

  test("can be a tool that was held, and only admins can trust a tool", async () => {
    const tools = [{ upstreamName: "read", annotations: { readOnlyHint: true }, inputSchema: {} }];
    refused(
      await member("POST", `${CATALOG}/mcp`, mcpApi(fresh(), { tools: [{ ...tools[0], trusted: true }] })),
    );
    const entry = await addMcp(member, mcpApi(fresh(), { tools }));
    const at = `${CATALOG}/${entry.id}`;
    const trust = (trusted: boolean) => ({ tools: [{ upstreamName: "read", trusted }] });
    refused(await member("PATCH", at, trust(true)));
    expect((await owner("PATCH", at, trust(true))).body.tools[0].trusted).toBe(true);
    expect((await member("PATCH", at, { tools: [{ upstreamName: "read" }] })).body.tools[0].trusted).toBe(
      true,
    );
    refused(await member("PATCH", at, trust(false)));
    const [change] = (await trailOf(weir, entry.id)).filter(({ type }) => type === "catalog.updated");
    expect(JSON.stringify(change)).toContain("trusted");
  });
});

test("deleting is recorded, and leaves nothing", async () => {
  const entry = await addHttp(owner, httpApi(fresh()));
  const gone = await owner("DELETE", `${CATALOG}/${entry.id}`);
  expect([gone.status, gone.body]).toEqual([200, { deleted: true }]);
  expect((await owner("GET", `${CATALOG}/${entry.id}`)).status).toBe(404);
  expect((await owner("DELETE", `${CATALOG}/${entry.id}`)).status).toBe(404);
  expect((await trailOf(weir, entry.id)).map(({ type }) => type)).toEqual([
    "catalog.created",
    "catalog.deleted",
  ]);
  expect((await addHttp(owner, httpApi(entry.name))).endpoints).toHaveLength(1);
});

test("viewers can read but not change, and other organizations see nothing", async () => {
  const entry = await addHttp(owner, httpApi(fresh()));
  const at = `${CATALOG}/${entry.id}`;
  expect((await viewer("GET", at)).status).toBe(200);
  for (const [method, path, body] of [
    ["POST", `${CATALOG}/http`, httpApi(fresh())],
    ["POST", `${CATALOG}/mcp`, mcpApi(fresh())],
    ["PATCH", at, { description: "x" }],
    ["DELETE", at, undefined],
  ] as const)
    expect((await viewer(method, path, body)).status).toBe(403);
  const { call } = await neighbour(weir);
  for (const [method, body] of [["GET"], ["PATCH", { description: "x" }], ["DELETE"]] as const) {
    const foreign = await call(method, at, body);
    const nobody = await call(method, `${CATALOG}/${NOBODY}`, body);
    const { correlationId: _, ...told } = foreign.body;
    const { correlationId: __, ...same } = nobody.body;
    expect([foreign.status, told]).toEqual([404, same]);
  }
  expect((await call("GET", CATALOG)).body.total).toBe(0);
  expect((await owner("GET", `${CATALOG}/not-an-id`)).status).toBe(422);
});
