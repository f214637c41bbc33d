import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SECRETS, startJsonApi, type TestJsonApi } from "../peers/json-api.ts";
import type { Answer } from "../support/app.ts";
import { ok, published, TEMPLATES } from "../support/bundles.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { definitionOf, many, order, SINCE, WAYS } from "../support/json-api.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, makeAction } from "../support/work.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let peer: TestJsonApi;
beforeAll(async () => {
  data = await startData({ hurry: 50 });
});
afterAll(async () => data[Symbol.asyncDispose]());
beforeEach(async () => {
  peer = await startJsonApi();
  return () => peer[Symbol.asyncDispose]();
});

const plain = definitionOf("bearer");
const RESOURCES = [
  {
    name: "orders",
    title: "Orders",
    spec: "/cursors",
    primaryKey: ["id"],
    incremental: { cursorField: "updated_at" },
    endpoint: { ...WAYS["/cursors"], incremental: SINCE },
  },
  { name: "found", spec: "/search", endpoint: WAYS["/search"] },
  {
    name: "chosen",
    spec: "/{{config.list}}",
    endpoint: { params: { of: "{{config.list}}" }, dataPath: "results", paginator: { type: "page" } },
  },
];
const templateOf = (http: object) => ({
  ...plain,
  http: { ...plain.http, ...http },
  configSchema: {
    type: "object",
    properties: {
      baseUrl: { type: "string" },
      list: { type: "string", default: "pages" },
      version: { type: "string", default: "2026-01" },
    },
  },
});

const pathsOf = (answer: Answer) => answer.body.detail?.map(({ loc }: { loc: string[] }) => loc.join("."));

let count = 0;
async function open(http: object = { resources: RESOURCES }, config: object = {}) {
  const slug = `lists${++count}`;
  const body = { slug, displayName: "A shop", templateType: "connection", definition: templateOf(http) };
  await published(data.owner, body);
  const made = await connect(data.owner, {
    name: slug,
    templateSlug: slug,
    config: { baseUrl: peer.baseUrl, ...config },
    credentials: { token: SECRETS.token },
  });
  return { id: made.id as string, dataset: slug };
}

describe("an extract that names a resource of its connection's template", () => {
  test("takes path, endpoint, key and cursor from there, so that the second run requests only what is new", async () => {
    peer.orders.push(...many(45, order));
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      resources: [
        { name: "orders", writeDisposition: "merge" },
        { name: "mine", spec: "found" },
      ],
    });
    const first = await extract.result();
    expect(first.warnings).toEqual([]);
    peer.orders.push(order(46));
    peer.asked.length = 0;
    const second = await extract.result();
    const asked = peer.asked.find(({ path }) => path === "cursors")?.parameters.get("updated_since");
    expect(asked).toBe(order(45).updated_at);
    const counts = Object.fromEntries(
      second.tables.map((each: { table: string; inserted: number }) => [each.table, each.inserted]),
    );
    expect(counts).toMatchObject({ orders: 1, mine: 46 });
    expect(
      await data.rows(
        `select count(*)::int as n, count(distinct id)::int as ids from raw.${dataset}__orders`,
      ),
    ).toEqual([{ n: 46, ids: 46 }]);
  });

  test("keeps its own fields", async () => {
    peer.orders.push(...many(3, order));
    const { id, dataset } = await open();
    const resources = [
      {
        name: "orders",
        incremental: { cursorField: "id" },
        endpoint: { ...WAYS["/cursors"], params: { per_page: 1 } },
      },
    ];
    const extract = await data.extract(id, { dataset, resources });
    const { tables } = await extract.result();
    expect(tables[0].cursor).toEqual({ start: null, end: 3 });
    expect(
      peer.asked.filter(({ path }) => path === "cursors").map(({ parameters }) => parameters.get("per_page")),
    ).toEqual(["1", "1", "1"]);
  });

  test("lists the existing names for an unknown one", async () => {
    const { id, dataset } = await open();
    const definition = { dataset, resources: [{ spec: "customers" }] };
    const saved = await data.owner("POST", ACTIONS, {
      kind: "dlt_extract",
      name: "x",
      connectionId: id,
      definition,
    });
    expect(saved.body.detail).toMatchObject([
      {
        loc: ["body", "definition", "resources", "0", "spec"],
        msg: expect.stringContaining("orders, found, chosen"),
      },
    ]);
    const run = await data.end(
      "dlt_extract",
      { dataset, resources: [{ spec: '{{"customers"}}' }] },
      { connectionId: id },
    );
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "definition_invalid", message: expect.stringContaining("orders, found, chosen") },
    });
  });

  test("stays one segment if config fills its path, whatever the value", async () => {
    peer.orders.push(...many(2, order));
    const { id, dataset } = await open({ resources: RESOURCES }, { list: "../orders?x=" });
    const run = await data.end(
      "dlt_extract",
      { dataset, resources: [{ name: "chosen" }] },
      { connectionId: id },
    );
    expect(run.status).toBe("failed");
    expect(peer.asked.map(({ path }) => path)).toEqual(["..%2Forders%3Fx%3D"]);
    const fair = await open();
    const chosen = await data.end(
      "dlt_extract",
      { dataset: fair.dataset, resources: [{ name: "chosen" }] },
      { connectionId: fair.id },
    );
    expect(chosen.result.tables[0]).toMatchObject({ table: "chosen", rows: 2 });
    expect(peer.asked.at(-1)?.parameters.get("of")).toBe("pages");
  });

  test("needs a key for a merge if neither it nor the template has one", async () => {
    const { id, dataset } = await open();
    const definition = { dataset, resources: [{ name: "found", writeDisposition: "merge" }] };
    for (const connectionId of [id, null]) {
      const saved = await data.owner("POST", ACTIONS, {
        kind: "dlt_extract",
        name: "x",
        connectionId,
        definition,
      });
      expect([saved.status, pathsOf(saved)]).toEqual([422, ["body.definition.resources.0.primaryKey"]]);
    }
  });
});

test("a template's resources are listed as tables, with the columns and first rows of a page", async () => {
  peer.orders.push(...many(5, order));
  const { id } = await open();
  const tables = ok(await data.owner("GET", `${CONNECTIONS}/${id}/schema/tables`)).tables;
  const listed = (name: string, more: object = {}) => ({ schema: "http", table: name, spec: name, ...more });
  expect(tables).toEqual([listed("orders", { primaryKey: ["id"] }), listed("found"), listed("chosen")]);
  const query = "schema=http&table=orders";
  const { columns } = ok(await data.owner("GET", `${CONNECTIONS}/${id}/schema/columns?${query}`));
  expect(columns).toContainEqual({ name: "customer", dataType: "object", nullable: false });
  const preview = ok(await data.owner("GET", `${CONNECTIONS}/${id}/schema/preview?${query}&limit=2`));
  expect(preview).toMatchObject({ rows: [{ id: 1 }, { id: 2 }], truncated: true });
  const posted = await data.owner("GET", `${CONNECTIONS}/${id}/schema/columns?schema=http&table=found`);
  expect([posted.status, posted.body.code]).toEqual([400, "bad_request"]);
  const bare = await open({});
  expect((await data.owner("GET", `${CONNECTIONS}/${bare.id}/schema/tables`)).status).toBe(400);
});

test("a template's headers are sent with every request of its connections, and its credentials with them", async () => {
  peer.orders.push(order(1));
  const { id, dataset } = await open({
    headers: { "X-Version": "v{{config.version}}" },
    resources: RESOURCES,
  });
  ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`));
  await data.end("dlt_extract", { dataset, resources: [{ name: "orders" }] }, { connectionId: id });
  const plain = await data.end("http_request", { url: "/me" }, { connectionId: id });
  expect(plain.status).toBe("completed");
  expect(peer.asked.map(({ path, headers }) => [path, headers["x-version"], headers.authorization])).toEqual(
    ["me", "cursors", "me"].map((path) => [path, "v2026-01", `Bearer ${SECRETS.token}`]),
  );
});

test("a connection is verified by a POST with a body, and an error with a success status counts as one", async () => {
  const verify = { method: "POST", path: "/search", body: { first: 1 } };
  const { id } = await open({ verify });
  const verified = async () => ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`));
  expect((await verified()).status).toBe("active");
  expect(peer.asked.map(({ method, body }) => [method, body])).toEqual([["POST", '{"first":1}']]);
  for (const [value, said] of [
    [{ ok: false, error: "invalid_auth" }, "invalid_auth"],
    [{ errors: [{ message: "Not you" }] }, "Not you"],
    [{ ok: false }, "not ok"],
  ]) {
    peer.state.instead = () => ({ status: 200, body: JSON.stringify(value) });
    const { status, verificationError } = await verified();
    expect([status, verificationError]).toEqual(["error", expect.stringContaining(String(said))]);
  }
});

deepTest("requests of all runs of a connection keep to the template's rate", async () => {
  peer.orders.push(...many(6, order));
  const { id, dataset } = await open({ requestsPerMinute: 6, resources: RESOURCES });
  const endpoint = { ...WAYS["/cursors"], params: { per_page: 2 } };
  const times: number[] = [];
  peer.state.instead = () => {
    times.push(performance.now());
    return null;
  };
  const ends = await Promise.all([
    data.end("dlt_extract", { dataset, resources: [{ name: "orders", endpoint }] }, { connectionId: id }),
    data.end("http_request", { url: "/me" }, { connectionId: id }),
  ]);
  expect(ends.map(({ status }) => status)).toEqual(["completed", "completed"]);
  // The first is sent immediately, the others at intervals of ten seconds, on a clock that is fifty times as fast.
  expect(times.length).toBe(4);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan((3 * 10_000) / 50 - 20);
});

const refused: [string, object, string][] = [
  ["a header that is none", { headers: { "X Y": "1" } }, "headers.X Y"],
  ["a header that Weir sets", { headers: { Host: "x" } }, "headers.Host"],
  ["the header of the credentials", { headers: { Authorization: "x" } }, "headers.Authorization"],
  ["credentials in a header", { headers: { "X-Key": "{{credentials.token}}" } }, "headers.X-Key"],
  ["a config field that there is not", { headers: { "X-Key": "{{config.key}}" } }, "headers.X-Key"],
  ["a body of a GET", { verify: { path: "/me", body: {} } }, "verify.body"],
  ["no requests at all", { requestsPerMinute: 0 }, "requestsPerMinute"],
  ["a name that is none", { resources: [{ name: "Orders", spec: "/orders" }] }, "resources.0.name"],
  ["a name twice", { resources: [1, 2].map(() => ({ name: "a", spec: "/a" })) }, "resources.1.name"],
  [
    "credentials in a parameter",
    { resources: [{ name: "a", spec: "/a", endpoint: { params: { b: "{{credentials.token}}" } } }] },
    "resources.0.endpoint.params.b",
  ],
  ["a spec that is no path", { resources: [{ name: "a", spec: "a" }] }, "resources.0.spec"],
  [
    "a spec beside its template that climbs",
    { resources: [{ name: "a", spec: "/{{config.list}}/../a" }] },
    "resources.0.spec",
  ],
  [
    "credentials in a spec",
    { resources: [{ name: "a", spec: "/{{credentials.token}}" }] },
    "resources.0.spec",
  ],
  [
    "a template in a path to rows",
    { resources: [{ name: "a", spec: "/a", endpoint: { dataPath: "{{config.list}}" } }] },
    "resources.0.endpoint.dataPath",
  ],
  [
    "no JMESPath",
    { resources: [{ name: "a", spec: "/a", endpoint: { dataPath: "a[" } }] },
    "resources.0.endpoint.dataPath",
  ],
  [
    "a cursor's parameter without a cursor",
    { resources: [{ name: "a", spec: "/a", endpoint: { incremental: { startParam: "since" } } }] },
    "resources.0.endpoint.incremental",
  ],
  [
    "a backfill without a beginning",
    { resources: [{ name: "a", spec: "/a", incremental: { cursorField: "at", endValue: 3 } }] },
    "resources.0.incremental.initialValue",
  ],
];

test.each(refused)("a template with %s is rejected, naming the field", async (what, http, field) => {
  const body = {
    slug: `bad${++count}`,
    displayName: what,
    templateType: "connection",
    definition: templateOf(http),
  };
  const answer = await data.owner("POST", TEMPLATES, body);
  expect([answer.status, pathsOf(answer)]).toEqual([422, [`body.definition.http.${field}`]]);
});

test("a resource of an automation's step is checked against the template too", async () => {
  const { id, dataset } = await open();
  const step = (spec: string) => ({
    name: "Load",
    triggerType: "manual",
    config: {
      action: {
        kind: "dlt_extract",
        connectionId: id,
        definition: { dataset, resources: [{ spec, writeDisposition: "merge" }] },
      },
    },
  });
  expect((await data.owner("POST", "/api/v1/automations", step("orders"))).status).toBe(201);
  const answer = await data.owner("POST", "/api/v1/automations", step("order"));
  expect(pathsOf(answer)).toEqual(["body.config.action.definition.resources.0.spec"]);
  await makeAction(data.owner, {
    kind: "dlt_extract",
    name: "x",
    connectionId: id,
    definition: step("orders").config.action.definition,
  });
});
