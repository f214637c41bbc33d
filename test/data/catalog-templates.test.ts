import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Order, SECRETS, startJsonApi } from "../peers/json-api.ts";
import { ok } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { created, faultsOf } from "../support/work.ts";
import { startData } from "./place.ts";

let data: Awaited<ReturnType<typeof startData>>;
let api: Awaited<ReturnType<typeof startJsonApi>>;
beforeAll(async () => {
  data = await startData({ hurry: 25 });
  api = await startJsonApi();
  api.orders.push(
    ...Array.from(
      { length: 230 },
      (_, index): Order => ({
        id: index + 1,
        updated_at: new Date(Date.UTC(2026, 3, 1, 0, index)).toISOString(),
        total: index,
      }),
    ),
  );
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const CATALOG = "/api/v1/api-catalog";

const order = { $ref: "#/components/schemas/Order" };
const orders = { type: "array", items: order };
const object = (properties: object) => ({ type: "object", properties });
const query = (name: string, schema: object, more: object = {}) => ({ name, in: "query", schema, ...more });
const size = (name: string) => query(name, { type: "integer", maximum: 100 });
const list = (name: string, schema: object, parameters: object[] = [], headers?: object) => ({
  get: {
    operationId: name,
    parameters,
    responses: {
      200: {
        description: "Orders",
        content: { "application/json": { schema } },
        ...(headers ? { headers } : {}),
      },
    },
  },
});
const since = query("updated_since", { type: "string", format: "date-time" });

/** The description that the peer's vendor would publish. */
const description = {
  openapi: "3.1.0",
  info: { title: "A shop", version: "1" },
  security: [{ token: [] }],
  paths: {
    "/orders": list("listOrders", orders, [since]),
    "/linked": list("listLinked", orders, [size("per_page")], { Link: { schema: { type: "string" } } }),
    "/addressed": list(
      "listAddressed",
      object({ items: orders, links: object({ next: { type: "string" } }) }),
      [size("per_page")],
    ),
    "/cursors": list(
      "listCursors",
      object({
        data: object({ orders }),
        meta: object({
          next_cursor: { type: ["string", "null"] },
          has_more: { type: "boolean" },
          total: { type: "integer" },
        }),
      }),
      [size("per_page"), query("cursor", { type: "string" })],
    ),
    "/pages": list("listPages", object({ results: orders, count: { type: "integer" } }), [
      query("page", { type: "integer", default: 1 }),
      size("per_page"),
    ]),
    "/offsets": list("listOffsets", object({ rows: orders, total: { type: "integer" } }), [
      query("offset", { type: "integer" }),
      size("limit"),
    ]),
    "/unsure": list("listUnsure", object({ results: orders }), [query("page", { type: "integer" })]),
    "/limited": list("listLimited", orders, [size("limit")]),
    "/both": list("listBoth", object({ open: orders, closed: orders })),
    "/shops/{id}/orders": list("listShopOrders", orders, [
      { name: "id", in: "path", required: true, schema: { type: "string" }, description: "The shop" },
      query("kind", { type: "string" }, { required: true }),
    ]),
    "/me": { get: { operationId: "whoAmI", responses: { 200: { description: "The shop" } } } },
  },
  components: {
    securitySchemes: { token: { type: "http", scheme: "bearer" } },
    schemas: {
      Order: object({
        id: { type: "integer" },
        updated_at: { type: "string", format: "date-time" },
        total: { type: "number" },
      }),
    },
  },
};

/** Imports the description as an entry of the catalog. */
async function imported(name: string, document: object = description) {
  const content = JSON.stringify(document);
  const body = { content, contentType: "openapi", baseUrl: `${api.origin}/v1` };
  const { endpoints, authHints, baseUrl } = ok(await data.owner("POST", `${CATALOG}/ai-import`, body));
  const entry = { name, description: "What a shop sells", baseUrl, endpoints, authHints };
  return created(await data.owner("POST", `${CATALOG}/http`, entry));
}

const draftOf = (id: string, body: object = {}) =>
  data.owner("POST", `${CATALOG}/${id}/connection-template`, body);

deepTest("an imported description becomes a template, a connection, and tables with all rows", async () => {
  const { id } = await imported("Shop");
  const { template, unresolved } = created(await draftOf(id));
  expect(template).toMatchObject({
    slug: "shop",
    displayName: "Shop",
    templateType: "connection",
    status: "draft",
  });
  const { http, configSchema } = template.definition;
  expect(http).toMatchObject({ auth: { type: "bearer" }, verify: { path: "/me" } });
  expect(configSchema.properties).toEqual({
    shop_id: { type: "string", description: "The shop" },
    shop_orders_kind: { type: "string" },
  });
  const names = http.resources.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["orders", "linked", "addressed", "cursors", "pages", "offsets", "shop_orders"]);
  expect(http.resources[0]).toEqual({
    name: "orders",
    spec: "/orders",
    endpoint: { incremental: { startParam: "updated_since", format: "iso" } },
    primaryKey: ["id"],
    incremental: { cursorField: "updated_at", lagSeconds: 1 },
  });
  expect(http.resources.at(-1)).toMatchObject({
    spec: "/shops/{{config.shop_id}}/orders",
    endpoint: { params: { kind: "{{config.shop_orders_kind}}" } },
  });
  expect(unresolved).toEqual([
    {
      ...{ endpoint: "listUnsure", resource: null, field: "endpoint.paginator" },
      message: "It doesn't say whether the first page is 0 or 1.",
      candidates: [0, 1].map((startPage) => ({ type: "page", pageParam: "page", startPage })),
    },
    expect.objectContaining({ endpoint: "listLimited", resource: null, field: "endpoint.paginator" }),
    expect.objectContaining({
      endpoint: "listBoth",
      field: "endpoint.dataPath",
      candidates: ["open", "closed"],
    }),
  ]);

  ok(await data.owner("POST", `/api/v1/templates/${template.id}/publish`));
  const credentials = { token: SECRETS.token };
  const connection = await connect(data.owner, { name: "Shop", templateId: template.id, credentials });
  const verified = ok(await data.owner("POST", `/api/v1/connections/${connection.id}/verify`));
  expect(verified.status).toBe("active");
  const read = names.filter((name: string) => name !== "shop_orders");
  const resources = read.map((name: string) => ({ name, spec: name, writeDisposition: "replace" }));
  const extract = await data.extract(connection.id, { dataset: "shop", resources });
  expect((await extract.result()).warnings).toEqual([]);
  for (const name of read)
    expect(await data.rows(`select count(*) as n, count(distinct id) as d from raw.shop__${name}`)).toEqual([
      { n: 230, d: 230 },
    ]);
});

test("endpoints are selected by name, and a second draft gets the next free slug", async () => {
  const { id } = await imported("Chosen");
  const first = created(await draftOf(id, { endpoints: ["listOrders"], displayName: "Orders alone" }));
  expect(first.template).toMatchObject({ slug: "chosen", displayName: "Orders alone" });
  expect(first.template.definition.http.resources).toHaveLength(1);
  expect(created(await draftOf(id)).template.slug).toBe("chosen-2");
  expect(await draftOf(id, { slug: "chosen" })).toMatchObject({ status: 409, body: { code: "slug_taken" } });
  expect(faultsOf(await draftOf(id, { endpoints: ["listOrders", "nothing"] }))).toEqual([
    "body.endpoints.1 not_found",
  ]);
});

test("an entry with unknown lists says so, and an MCP server has no template", async () => {
  const endpoints = [{ name: "a", method: "GET", path: "/a" }];
  const body = { name: "By hand", description: "Written", baseUrl: "https://api.example.com", endpoints };
  const { id } = created(await data.owner("POST", `${CATALOG}/http`, body));
  const { template, unresolved } = created(await draftOf(id));
  expect(template.definition.http).toEqual({ baseUrl: "https://api.example.com", auth: { type: "none" } });
  expect(unresolved.map(({ field }: { field: string }) => field)).toEqual([
    "http.resources",
    "http.auth",
    "http.verify",
  ]);
  const mcp = {
    name: "Tools",
    description: "Tools",
    url: "https://mcp.example.com",
    tools: [{ upstreamName: "a" }],
  };
  const server = created(await data.owner("POST", `${CATALOG}/mcp`, mcp));
  expect((await draftOf(server.id)).status).toBe(409);
});

test("another import reports lists that are read differently now", async () => {
  const { id, endpoints } = await imported("Again", {
    ...description,
    paths: { "/unsure": description.paths["/unsure"] },
  });
  expect(endpoints[0].listing.unresolved).toHaveLength(1);
  const sure = list("listUnsure", object({ results: orders }), [
    query("page", { type: "integer", default: 0 }),
  ]);
  const content = JSON.stringify({ ...description, paths: { "/unsure": sure } });
  const { diff } = ok(await data.owner("POST", `${CATALOG}/${id}/ai-import`, { content }));
  expect(diff.changed[0].listing.endpoint.paginator).toMatchObject({ startPage: 0 });
  const patched = ok(await data.owner("PATCH", `${CATALOG}/${id}`, { endpoints: diff.changed }));
  expect(patched.endpoints[0].listing.unresolved).toEqual([]);
});
