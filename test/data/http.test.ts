import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SECRETS, startJsonApi, type TestJsonApi } from "../peers/json-api.ts";
import { ok, published, TEMPLATES } from "../support/bundles.ts";
import { CONNECTIONS, connect, localFiles } from "../support/connections.ts";
import {
  credentialsOf,
  definitionOf,
  instant,
  many,
  order,
  SINCE,
  WAYS,
  type Way,
} from "../support/json-api.ts";
import { startInstallation } from "../support/process.ts";
import { deepTest, someOf } from "../support/scale.ts";
import { ACTIONS, faultsOf, RUNS, runEnd, until } from "../support/work.ts";
import { dataOf, startData } from "./place.ts";

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

let count = 0;
const templates = new Map<Way, Promise<string>>();

/** A connection to the peer by a published template, and a dataset for it. */
async function open(way: Way = "bearer", owner = data.owner, secrets: Record<string, string> = SECRETS) {
  const dataset = `shop${++count}`;
  const make = async () => {
    const template = {
      slug: dataset,
      displayName: "A shop",
      templateType: "connection",
      definition: definitionOf(way),
    };
    return (await published(owner, template)).id as string;
  };
  if (!templates.has(way) || owner !== data.owner) templates.set(way, make());
  const templateId = await templates.get(way);
  const config = { baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl };
  const made = await connect(owner, {
    name: dataset,
    templateId,
    config,
    credentials: credentialsOf(way, secrets),
  });
  return { id: made.id as string, dataset };
}

type Table = { table: string; rowsRead: number; rows: number };
const main = (result: { tables: Table[] }, name = "orders") =>
  result.tables.find(({ table }) => table === name);
const json = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });

test("a template is installed, a connection created and verified, an extract run, and its rows read back", async () => {
  peer.orders.push(...many(95, order));
  const { id, dataset } = await open();
  expect(ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`)).status).toBe("active");
  const resources = Object.entries(WAYS).map(([spec, endpoint]) => ({ spec, primaryKey: ["id"], endpoint }));
  const extract = await data.extract(id, {
    dataset,
    resources: [...resources, { name: "all", spec: "/orders" }],
  });
  const result = await extract.result();
  expect(result).toMatchObject({ mode: "initial", warnings: [] });
  for (const name of ["linked", "addressed", "cursors", "pages", "offsets", "search", "all"]) {
    expect(main(result, name)).toMatchObject({ rowsRead: 95, rows: 95 });
    expect(main(result, `${name}__lines`)).toMatchObject({ rows: 95 });
  }
  const rows = await data.rows(
    `select o.id, o.customer__name as name, sum(l.amount) as amount from raw.${dataset}__pages o
     join raw.${dataset}__pages__lines l on l._dlt_parent_id = o._dlt_id where o.id < 3 group by all order by 1`,
  );
  expect(rows).toEqual([
    { id: 1, name: "Customer 1", amount: 0.5 },
    { id: 2, name: "Customer 2", amount: 1 },
  ]);
});

deepTest("a duplicate key in an object is reported, however the page is read", async () => {
  const { id, dataset } = await open();
  const filler = (n: number) => `{"id":${n},"note":"${"x".repeat(1_000)}"}`;
  const odd = '{"id":1,"who":{"name":"Ada","name":"Bo"},"id":2}';
  const long = `{"id":"lost","text":"${"y".repeat(40_000)}","more":[1],"id":3}`;
  const pageOf = (...rows: string[]) => ({ status: 200, body: `{"data":[${rows.join(",")}],"next":null}` });
  const many = Array.from({ length: 400 }, (_, n) => filler(n + 10));
  for (const [rows, what] of [
    [[odd], ["1"]],
    [
      [odd, ...many, long],
      ["1", "lost"],
    ],
  ] as const) {
    for (const dataPath of ["data", "data[?id != `0`]"]) {
      peer.state.instead = () => pageOf(...rows);
      const extract = await data.extract(id, {
        dataset: `${dataset}_${++count}`,
        resources: [{ name: "orders", spec: "/x", endpoint: { dataPath } }],
      });
      const { warnings } = await extract.result();
      const told = (column: string) =>
        warnings.filter((text: string) => text.includes("gave way to a later one") && text.includes(column));
      expect([dataPath, told("who.name: 1 value")]).toEqual([dataPath, [expect.stringContaining('"Ada')]]);
      for (const lost of what)
        expect([dataPath, told("id: ").join()]).toEqual([dataPath, expect.stringContaining(lost)]);
    }
  }
});

test.each(someOf(2, ["basic", "header", "query", "path", "oauth2_client_credentials"] as Way[]))(
  "an extract with %s, which is never shown",
  async (way) => {
    peer.orders.push(...many(45, order));
    peer.state.tokenUses = 1;
    const { id, dataset } = await open(way);
    const extract = await data.extract(id, {
      dataset,
      resources: [{ name: "orders", spec: "/linked", endpoint: WAYS["/linked"] }],
    });
    const run = await extract.run();
    expect(run).toMatchObject({ status: "completed", result: { warnings: [] } });
    expect(main(run.result)).toMatchObject({ rowsRead: 45, rows: 45 });
    peer.state.instead = ({ headers, parameters, segment }) => ({
      status: 418,
      body: JSON.stringify({
        message: `${headers.authorization} ${headers["x-api-key"]} ${parameters} ${segment} ${segment && decodeURIComponent(segment)}`,
      }),
    });
    const failed = await extract.run();
    expect(failed).toMatchObject({ status: "failed", error: { code: "upstream", retryable: false } });
    const told = JSON.stringify([run, failed, await data.logs(run.id), await data.logs(failed.id)]);
    for (const secret of [
      SECRETS.password,
      SECRETS.apiKey,
      SECRETS.clientSecret,
      "456/789",
      "456%2F789",
      "granted-",
      "YWRhOnBhc3M",
    ])
      expect([secret, told.includes(secret)]).toEqual([secret, false]);
  },
);

test("a credential in the path is only sent below the base URL, and no error, verification or response shows it", async () => {
  const { id } = await open("path");
  const request = (definition: object) => data.end("http_request", definition, { connectionId: id });
  expect(ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`)).status).toBe("active");
  expect(await request({ url: "/me?a=b" })).toMatchObject({
    status: "completed",
    result: { body: { name: "A shop" } },
  });
  expect(peer.asked.at(-1)).toMatchObject({ path: "me", segment: "key-0123:456%2F789%20abcdef" });
  const before = peer.asked.length;
  const elsewhere = await request({ url: `${new URL(peer.baseUrl).origin}/v2/me` });
  expect(elsewhere.error).toMatchObject({
    code: "definition_invalid",
    message: expect.stringContaining("The connection's credentials only go below /v1."),
  });
  expect(peer.asked.length).toBe(before);
  peer.state.instead = ({ segment }) => ({ status: 404, body: JSON.stringify({ message: `No ${segment}` }) });
  const missing = await request({ url: "/me" });
  const verified = ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`));
  expect([missing.status, verified.status]).toEqual(["failed", "error"]);
  peer.state.instead = () => "cut";
  const cut = [await request({ url: "/me" }), ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`))];
  const told = JSON.stringify([missing, verified, cut, await data.logs(missing.id)]);
  for (const part of ["456/789", "456%2F789"]) expect([part, told.includes(part)]).toEqual([part, false]);
});

test("a credential that the path can't contain is rejected with a reason", async () => {
  const { http, ...schemas } = definitionOf("path");
  const definition = { ...schemas, http: { ...http, auth: { type: "path" } } };
  const template = { slug: "dotted", displayName: "Dots", templateType: "connection", definition };
  const { id: templateId } = await published(data.owner, template);
  const config = { baseUrl: peer.baseUrl, tokenUrl: peer.tokenUrl };
  const { id } = await connect(data.owner, {
    ...{ name: "dotted", templateId, config, credentials: { segment: ".." } },
  });
  const { verificationError } = ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`));
  expect(verificationError).toContain("can't be empty or dots");
  expect(peer.asked).toEqual([]);
});

describe("what is new", () => {
  test("is loaded alone, rows at the boundary once, despite equal times and changed rows", async () => {
    peer.orders.push(...many(40, (n) => order(n, { updated_at: instant(Math.ceil(n / 8)) })));
    const { id, dataset } = await open();
    const incremental = { cursorField: "updated_at" };
    const endpoint = { ...WAYS["/cursors"], incremental: SINCE };
    const extract = await data.extract(id, {
      dataset,
      resources: [
        { name: "orders", spec: "/cursors", primaryKey: ["id"], incremental, endpoint },
        {
          name: "state",
          spec: "/cursors",
          primaryKey: ["id"],
          writeDisposition: "merge",
          incremental,
          endpoint,
        },
        { name: "whole", spec: "/orders", primaryKey: ["id"], incremental },
      ],
    });
    expect(await extract.result()).toMatchObject({ mode: "initial", rows: 240, warnings: [] });
    expect(await extract.state()).toMatchObject({
      orders: { cursorField: "updated_at", lastValue: instant(5) },
    });
    const again = await extract.result();
    for (const name of ["orders", "state"])
      expect(main(again, name)).toMatchObject({ rowsRead: 8, rows: 0, deduplicated: 8 });
    expect(main(again, "whole")).toMatchObject({ rows: 0, deduplicated: 8 });

    peer.orders.push(order(41, { updated_at: instant(5) }), order(42));
    Object.assign(peer.orders[2] ?? {}, { updated_at: instant(50), customer: { name: "New" } });
    const third = await extract.result();
    expect(main(third, "orders")).toMatchObject({ rowsRead: 11, rows: 3, deduplicated: 8 });
    expect(main(third, "state")).toMatchObject({ rowsRead: 11, inserted: 2, updated: 1 });
    expect(main(third, "whole")).toMatchObject({ rows: 3 });
    const sums = `select count(*) n, count(distinct id) ids, max(customer__name) filter (id = 3) as name`;
    expect(await data.rows(`${sums} from raw.${dataset}__orders`)).toEqual([{ n: 43, ids: 42, name: "New" }]);
    expect(await data.rows(`${sums} from raw.${dataset}__state`)).toEqual([{ n: 42, ids: 42, name: "New" }]);
  });

  deepTest(
    "is found if the API returns only what is later, with a lag; a backfill keeps the cursor",
    async () => {
      peer.orders.push(...many(20, order));
      const { id, dataset } = await open();
      const incremental = { cursorField: "updated_at", lagSeconds: 1 };
      const endpoint = {
        incremental: { startParam: "updated_since", endParam: "updated_before", format: "epoch_s" },
      };
      const extract = await data.extract(id, {
        dataset,
        resources: [{ name: "orders", spec: "/orders", primaryKey: ["id"], incremental, endpoint }],
      });
      await extract.result();
      peer.orders.push(order(21, { updated_at: instant(20) }));
      expect(main(await extract.result())).toMatchObject({ rowsRead: 2, rows: 1, deduplicated: 1 });
      expect(peer.asked.at(-1)?.parameters.get("updated_since")).toBe(
        String(Date.parse(instant(20)) / 1000 - 1),
      );
      const state = await extract.state();
      const backfill = {
        resources: [
          {
            name: "again",
            spec: "/orders",
            endpoint,
            incremental: { ...incremental, initialValue: instant(5), endValue: instant(15) },
          },
        ],
      };
      expect(await extract.result(backfill)).toMatchObject({
        mode: "backfill",
        tables: [{ rowsRead: 10, rows: 10 }, {}],
      });
      expect(await extract.state()).toEqual(state);
    },
  );

  deepTest("with maxRows is loaded in parts, oldest first, whatever the API's order", async () => {
    peer.orders.push(...many(25, order));
    peer.state.instead = ({ path }) => (path === "orders" ? json(peer.orders.toReversed()) : null);
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      maxRows: 10,
      resources: [
        { name: "orders", spec: "/orders", primaryKey: ["id"], incremental: { cursorField: "updated_at" } },
      ],
    });
    for (const rows of [10, 10, 5, 0]) expect(main(await extract.result())).toMatchObject({ rows });
    expect(await data.rows(`select count(distinct id) n from raw.${dataset}__orders`)).toEqual([{ n: 25 }]);
  });
});

test("a dry run reads a part, shows it, and writes nothing", async () => {
  peer.orders.push(...many(500, order));
  const { id, dataset } = await open();
  const extract = await data.extract(id, {
    dataset,
    resources: [
      {
        name: "orders",
        spec: "/linked",
        endpoint: WAYS["/linked"],
        incremental: { cursorField: "updated_at" },
      },
    ],
  });
  const result = await extract.result({ dryRun: true });
  expect(result.tables[0]).toMatchObject({ table: "orders", rowsRead: 100, sample: expect.any(Array) });
  expect(result.tables[0].columns).toContainEqual({
    name: "customer__name",
    dataType: "VARCHAR",
    nullable: true,
  });
  expect(peer.asked).toHaveLength(4);
  expect([await data.sums("raw", dataset, "orders"), await extract.state()]).toEqual([null, {}]);
});

test("the API's own count is compared with what arrived", async () => {
  peer.orders.push(...many(45, order));
  const { id, dataset } = await open();
  const paginator = { type: "offset", sizeParam: "limit", pageSize: 30, hasNextPath: "more" };
  const resources = [{ name: "orders", spec: "/offsets", endpoint: { ...WAYS["/offsets"], paginator } }];
  const extract = await data.extract(id, { dataset, resources });
  const { warnings } = await extract.result();
  expect(warnings).toEqual([
    expect.stringContaining("nothing at hasNextPath"),
    "source_count_mismatch: the source announced 45 rows of orders and returned 30.",
  ]);
  expect(await extract.run({ strictCounts: true })).toMatchObject({
    status: "failed",
    error: { code: "row_count_mismatch" },
  });
});

deepTest(
  "temporary failures change nothing; a lasting one leaves nothing, and the next attempt loads everything",
  async () => {
    peer.orders.push(...many(95, order));
    let n = 0;
    peer.state.instead = () => {
      n++;
      if (n % 4 === 1) return { status: 502, body: "<html>" };
      if (n % 4 === 2) return "cut in the middle";
      return n % 4 === 3 ? { status: 429, headers: { "retry-after": "3" } } : null;
    };
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      resources: [{ name: "orders", spec: "/pages", endpoint: WAYS["/pages"] }],
    });
    expect(main(await extract.result())).toMatchObject({ rowsRead: 95, rows: 95 });

    const other = await data.extract(id, {
      dataset: `${dataset}b`,
      resources: [{ name: "orders", spec: "/pages", endpoint: WAYS["/pages"] }],
    });
    let isBroken = true;
    peer.state.instead = ({ parameters }) =>
      isBroken && parameters.get("page") === "3" ? { status: 503 } : null;
    expect(await other.run()).toMatchObject({
      status: "failed",
      error: { code: "upstream", retryable: true },
    });
    expect(await data.sums("raw", `${dataset}b`, "orders")).toBeNull();
    isBroken = false;
    expect(main(await other.result())).toMatchObject({ rows: 95 });
  },
);

deepTest(
  "a run that waits for a rate limit says until when; a cancelled one stops requesting and leaves nothing",
  async () => {
    peer.orders.push(...many(95, order));
    let isHeld = true;
    peer.state.instead = () => (isHeld ? { status: 429, headers: { "retry-after": "20" } } : null);
    const { id, dataset } = await open();
    const extract = await data.extract(id, {
      dataset,
      resources: [{ name: "orders", spec: "/linked", endpoint: WAYS["/linked"] }],
    });
    const run = await extract.start();
    const told = await until(data.owner, `${RUNS}/${run.id}`, ({ progress }) =>
      /rate limit/.test(progress?.message),
    );
    expect(told.progress.message).toMatch(/^Reading orders; its rate limit lets it go on at 20\d\d-.*Z$/);
    isHeld = false;
    expect(await runEnd(data.owner, run.id)).toMatchObject({ status: "completed", result: { warnings: [] } });

    peer.asked.length = 0;
    peer.state.instead = ({ parameters }) => (parameters.has("cursor") ? "silence" : null);
    const next = await extract.start({ dataset: `${dataset}b` });
    while (peer.asked.length < 2) await Bun.sleep(10);
    await data.owner("POST", `${RUNS}/${next.id}/cancel`);
    expect(await runEnd(data.owner, next.id)).toMatchObject({ status: "cancelled", result: null });
    expect(peer.asked).toHaveLength(2);
    expect(await data.sums("raw", `${dataset}b`, "orders")).toBeNull();
  },
);

deepTest("an endless list, an invalid response, and missing rows empty no table", async () => {
  peer.orders.push(...many(3, order));
  const { id, dataset } = await open();
  const resource = { name: "orders", spec: "/orders", writeDisposition: "replace" };
  const extract = await data.extract(id, { dataset, resources: [resource] });
  await extract.result();
  for (const [endpoint, instead, words] of [
    [{ paginator: { type: "page" } }, null, "the same rows"],
    [{}, { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }, "which is no JSON"],
    [{ dataPath: "rows" }, json({ items: [] }), "has nothing"],
    [{}, { status: 404 }, "nothing at /orders (404)"],
  ] as const) {
    peer.state.instead = () => instead;
    const run = await extract.run({ resources: [{ ...resource, endpoint }] });
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "upstream", message: expect.stringContaining(words) },
    });
  }
  expect(await data.sums("raw", dataset, "orders")).toMatchObject({ rows: 3 });
});

deepTest(
  "numbers that a double can't hold keep all their digits, and deep nesting does no harm",
  async () => {
    const { id, dataset } = await open();
    const deep = `${'{"a":['.repeat(60)}1${"]}".repeat(60)}`;
    const body = `{"rows":[{"id":9007199254740993,"deep":${deep}},{"id":12345678901234567890123456789,"deep":null}]}`;
    peer.state.instead = () => ({ status: 200, body });
    const extract = await data.extract(id, {
      dataset,
      resources: [{ name: "orders", spec: "/orders", endpoint: { dataPath: "rows" } }],
    });
    expect(await extract.result()).toMatchObject({ warnings: [] });
    expect(await data.rows(`select id::text as id from raw.${dataset}__orders order by 1`)).toEqual([
      { id: "12345678901234567890123456789" },
      { id: "9007199254740993" },
    ]);
    peer.state.instead = () => ({
      status: 200,
      body: `{"rows":[${'{"a":['.repeat(30_000)}1${"]}".repeat(30_000)}]}`,
    });
    expect(await extract.run()).toMatchObject({ status: "failed", error: { code: "upstream" } });
  },
);

describe("an invalid definition", () => {
  const save = async (resource: object, more: object = {}) =>
    data.owner("POST", ACTIONS, {
      kind: "dlt_extract",
      name: "Wrong",
      definition: { dataset: "d", resources: [{ name: "r", spec: "/r", ...resource }], ...more },
    });
  const faults = async (resource: object) =>
    faultsOf(await save(resource)).map((fault: string) => fault.replace("body.definition.resources.0.", ""));

  test("is rejected naming each wrong field of an endpoint", async () => {
    expect(
      await faults({
        endpoint: {
          method: "PUT",
          params: { a: {} },
          headers: { b: [] },
          body: "x",
          dataPath: "",
          paginator: { type: "cursor", cursorPath: 1, surprise: true },
          incremental: { format: "julian" },
          maxPages: 0,
          requestsPerMinute: 0,
          path: "/x",
        },
      }),
    ).toEqual([
      "endpoint.method enum",
      "endpoint.params.a string_type",
      "endpoint.headers.b string_type",
      "endpoint.body dict_type",
      "endpoint.dataPath string_too_short",
      "endpoint.paginator.cursorPath string_type",
      "endpoint.paginator.cursorParam missing",
      "endpoint.paginator.surprise extra_forbidden",
      "endpoint.incremental.startParam missing",
      "endpoint.incremental.format enum",
      "endpoint.maxPages greater_than_equal",
      "endpoint.requestsPerMinute greater_than",
      "endpoint.path extra_forbidden",
      "endpoint.incremental value_error", // the resource has no incremental of its own
    ]);
    expect(await faults({ endpoint: { paginator: { type: "guess" } } })).toEqual([
      "endpoint.paginator.type enum",
    ]);
  });

  test("is rejected naming each conflicting field", async () => {
    expect(
      await faults({
        spec: "https://evil.example.com/r",
        where: "a = 1",
        endpoint: {
          headers: { Host: "x", "bad name": "y" },
          body: {},
          dataPath: "a[",
          totalPath: "[",
          params: { page: 1, since: 2, fine: 3 },
          paginator: { type: "page", hasNextPath: "]", pageSize: 5 },
          incremental: { startParam: "since", endParam: "page", in: "query" },
        },
      }),
    ).toEqual(
      [
        "spec",
        "where",
        "endpoint.headers.Host",
        "endpoint.headers.bad name",
        "endpoint.body",
        "endpoint.dataPath",
        "endpoint.totalPath",
        "endpoint.paginator.hasNextPath",
        "endpoint.paginator.sizeParam",
        "endpoint.incremental",
        "endpoint.incremental.endParam",
        "endpoint.params.page",
        "endpoint.params.since",
      ].map((field) => `${field} value_error`),
    );
    for (const spec of [
      "r",
      "//evil.test/r",
      "/a/../b",
      "/a?x=1",
      "/a#b",
      "/a b",
      "/.",
      "/a\\b",
      "/%2E%2e/x",
    ])
      expect([spec, await faults({ spec, endpoint: {} })]).toEqual([spec, ["spec value_error"]]);
    const bare = await save({ spec: undefined, endpoint: { bodyType: "form" } });
    expect(faultsOf(bare)).toEqual([
      "body.definition.resources.0.spec value_error",
      "body.definition.resources.0.endpoint.bodyType value_error",
    ]);
    expect(await faults({ endpoint: { paginator: { type: "offset", in: "body" } } })).toEqual([
      "endpoint.paginator.offsetParam value_error",
    ]);
  });

  test("can have templates, which are left for the run, and accepts valid fields", async () => {
    const endpoint = {
      params: { shop: "{{payload.shop}}" },
      dataPath: "{{payload.path}}",
      paginator: "{{payload.paginator}}",
      incremental: "{{payload.incremental}}",
    };
    expect((await save({ spec: "/{{payload.shop}}/orders", endpoint })).status).toBe(201);
    expect((await save({ endpoint: "{{payload.endpoint}}" })).status).toBe(201);
    for (const [spec, each] of Object.entries(WAYS))
      expect((await save({ spec, endpoint: each })).status).toBe(201);
  });

  test("with an endpoint for a connection without a template, or a resource without a path, fails the run", async () => {
    const files = await connect(data.owner, localFiles("No API"));
    const wrong = await data.extract(files.id, {
      dataset: "d",
      resources: [{ name: "r", spec: "/r", endpoint: {} }],
    });
    expect(await wrong.run()).toMatchObject({
      status: "failed",
      error: {
        code: "definition_invalid",
        message: expect.stringContaining("connections of an HTTP connection template"),
      },
    });
    const { id, dataset } = await open();
    const extract = await data.extract(id, { dataset, resources: [{ name: "orders" }] });
    expect(await extract.run()).toMatchObject({
      status: "failed",
      error: { code: "definition_invalid", message: expect.stringContaining("such as /orders") },
    });
    expect(peer.asked).toEqual([]);
  });
});

test("such a connection has no tables to browse, and says so", async () => {
  const { id } = await open();
  for (const path of ["schema/tables", "schema/columns?schema=a&table=b"]) {
    const reply = await data.owner("GET", `${CONNECTIONS}/${id}/${path}`);
    expect([reply.status, reply.body.code]).toEqual([400, "bad_request"]);
    expect(reply.body.detail).toContain("have no list of tables");
  }
});

test("a forbidden address is blocked by the egress", async () => {
  await using closed = await startData({ env: { WEIR_EGRESS_ALLOW: "" } });
  const { id, dataset } = await open("bearer", closed.owner);
  const extract = await closed.extract(id, { dataset, resources: [{ name: "orders", spec: "/orders" }] });
  expect(await extract.run()).toMatchObject({
    status: "failed",
    error: { code: "egress_blocked", message: expect.stringContaining("WEIR_EGRESS_ALLOW") },
  });
  expect(peer.asked).toEqual([]);
  templates.clear();
});

deepTest(
  "killed within its pages, an extract continues after the restart, and each row arrives once",
  async () => {
    peer.orders.push(...many(300, order));
    await using installation = await startInstallation();
    let server = await installation.serve();
    const { id, dataset } = await open("oauth2_client_credentials", server.owner);
    const resource = {
      name: "orders",
      spec: "/cursors",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: { ...WAYS["/cursors"], incremental: SINCE },
    };
    const extract = await dataOf(server.owner).extract(id, { dataset, resources: [resource] });
    for (const [round, rows] of [300, 340].entries()) {
      let isHeld = true;
      peer.state.instead = ({ parameters }) =>
        isHeld && (parameters.has("cursor") || round === 1) ? "silence" : null;
      const before = peer.asked.length;
      const run = (await server.owner("POST", `${ACTIONS}/${extract.id}/run`)).body;
      while (peer.asked.length < before + 2 - round) await Bun.sleep(10);
      await server.end("SIGKILL");
      isHeld = false;
      server = await installation.serve();
      const found = dataOf(server.owner);
      await found.good(run.id);
      expect(
        await found.rows(`select count(*) n, count(distinct id) ids from raw.${dataset}__orders`),
      ).toEqual([{ n: rows, ids: rows }]);
      peer.orders.push(...many(40, (n) => order(300 + n)));
    }
    expect((await server.owner("GET", TEMPLATES)).status).toBe(200);
    templates.clear();
  },
  120_000,
);
