import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EndpointDefinition } from "../../src/catalog/contract.ts";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";

const CATALOG = "/api/v1/api-catalog";

let weir: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  weir = await startApp();
});
afterAll(() => weir[Symbol.asyncDispose]());

const text = { type: "string" };
const row = { type: "object", properties: { id: { type: "integer" } } };
const rows = { type: "array", items: row };
const object = (properties: object) => ({ type: "object", properties });
const query = (name: string, more: object = {}) => ({ name, in: "query", schema: text, ...more });
const get = (schema: object, parameters: object[] = []) => ({
  get: {
    operationId: "listThings",
    parameters,
    responses: { 200: { description: "Things", content: { "application/json": { schema } } } },
  },
});

async function importOf(
  paths: object,
  schemas: object = {},
  { securitySchemes = {}, security = [] }: { securitySchemes?: object; security?: object[] } = {},
) {
  const document = {
    security,
    openapi: "3.1.0",
    info: { title: "Things", version: "1" },
    paths,
    components: { schemas, securitySchemes },
  };
  const content = JSON.stringify(document);
  const body = { content, contentType: "openapi", baseUrl: "https://api.example.com" };
  const { status, body: read } = await weir.owner("POST", `${CATALOG}/ai-import`, body);
  expect(status).toBe(200);
  return read as { endpoints: EndpointDefinition[]; authHints: object[]; warnings: string[] };
}

const listingOf = async (schema: object, parameters: object[] = [], schemas: object = {}) => {
  const { endpoints } = await importOf({ "/things": get(schema, parameters) }, schemas);
  return endpoints[0]?.listing;
};

const openFields = async (...given: Parameters<typeof listingOf>) =>
  ((await listingOf(...given))?.unresolved ?? []).map(({ field }) => field);

const many = (count: number, schema: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`field_${at}`, schema]));

describe("a list is left open", () => {
  test("if its response has more fields than are examined, since the paging may be among them", async () => {
    const reply = { things: rows, ...many(6_000, text), next_cursor: text };
    expect(await openFields(object(reply))).toContain("endpoint.dataPath");
  });

  test("if its schemas are nested without end", async () => {
    const chain = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`S${at}`, { $ref: `#/components/schemas/S${at + 1}` }]),
    );
    const schemas = { ...chain, S40: rows };
    expect(await openFields({ $ref: "#/components/schemas/S0" }, [], schemas)).toEqual(["endpoint.dataPath"]);
  });

  test("if its schemas are recursive", async () => {
    const self = { $ref: "#/components/schemas/Self" };
    const Self = { anyOf: [self, self], allOf: [self], properties: { things: rows } };
    expect(await openFields(self, [], { Self })).toEqual(["endpoint.dataPath"]);
  });

  test("if links next to its rows may be its paging", async () => {
    const links = { type: "array", items: object({ rel: text, href: text }) };
    const listing = await listingOf(object({ things: rows, links }));
    const [gap] = listing?.unresolved ?? [];
    expect(gap?.field).toBe("endpoint.paginator");
    expect(gap?.candidates).toContainEqual({ type: "json_link", nextPath: "links[?rel=='next'].href | [0]" });
  });
});

test("the work on a description's responses is limited, and the import says so", async () => {
  const item = object(many(1_000, text));
  const schemas = { Page: object({ things: { type: "array", items: item }, ...many(2_500, text) }) };
  const path = get({ $ref: "#/components/schemas/Page" });
  const paths = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`/things${at}`, path]));
  const { endpoints, warnings } = await importOf(paths, schemas);
  expect(endpoints).toHaveLength(200);
  expect(warnings.join(" ")).toContain("too large to read them all");
  expect(endpoints.at(-1)?.listing?.unresolved).toEqual([
    expect.objectContaining({ field: "endpoint.dataPath" }),
  ]);
});

deepTest("everything that was imported can be added", async () => {
  const long = "n".repeat(300);
  const cursors = Object.fromEntries(
    ["next_cursor", "cursor", "marker", "next_marker", "bookmark"].map((name) => [name, text]),
  );
  const { endpoints } = await importOf({
    "/long-field": get(object({ things: rows, [long]: text })),
    "/long-parameter": get(rows, [query(long, { required: true })]),
    "/long-header": get(rows, [query(long, { in: "header", required: true })]),
    "/long-description": get(rows, [query("q", { required: true, description: "d".repeat(50_000) })]),
    "/many-parameters": get(
      rows,
      Array.from({ length: 1_500 }, (_, at) => query(`limit_${at}`, { required: true })),
    ),
    "/many-keys": get({
      type: "array",
      items: object(Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`code_${at}_id`, text]))),
    }),
    "/broken-text": get(object({ "\ud800": rows }), [query("\ud800", { required: true })]),
    "/cursors": get(object({ things: rows, ...cursors }), [query("page_token")]),
  });
  expect(endpoints).toHaveLength(8);
  const entry = { name: "Things", description: "Things", baseUrl: "https://api.example.com", endpoints };
  const answer = await weir.owner("POST", `${CATALOG}/http`, entry);
  expect(answer.status, answer.text).toBe(201);
  const draft = await weir.owner("POST", `${CATALOG}/${answer.body.id}/connection-template`, {});
  expect(draft.status, draft.text).toBe(201);
});

test("a header that one list requires is reported, and a list that is left out requires nothing", async () => {
  const { endpoints } = await importOf({
    "/things": get(rows, [query("X-Shop", { in: "header", required: true })]),
    "/unsure/{shop_name}": get(object({ things: rows, more: rows }), [
      query("unsure_kind", { required: true }),
    ]),
  });
  const entry = { name: "Shop things", description: "Things", baseUrl: "https://api.example.com", endpoints };
  const { body } = await weir.owner("POST", `${CATALOG}/http`, entry);
  const { body: draft } = await weir.owner("POST", `${CATALOG}/${body.id}/connection-template`, {});
  const { configSchema } = draft.template.definition;
  expect(Object.keys(configSchema.properties)).toEqual(["x_shop"]);
  expect(configSchema.required).toEqual(["x_shop"]);
  const told = draft.unresolved.filter(({ field }: { field: string }) => field === "http.headers");
  expect(told.map(({ message }: { message: string }) => message).join()).toContain("X-Shop");
});

describe("a description doesn't prevent a draft", () => {
  const draftOf = async (paths: object, securitySchemes: object = {}) => {
    const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
    const { endpoints, authHints } = await importOf(paths, {}, { securitySchemes, security });
    const name = `Things ${crypto.randomUUID()}`;
    const entry = { name, description: name, baseUrl: "https://api.example.com", endpoints, authHints };
    const added = await weir.owner("POST", `${CATALOG}/http`, entry);
    expect(added.status, added.text).toBe(201);
    const draft = await weir.owner("POST", `${CATALOG}/${added.body.id}/connection-template`, {});
    expect(draft.status, draft.text).toBe(201);
    return draft.body.template.definition;
  };

  test("by a default with braces, which becomes a field instead of being filled in", async () => {
    const required = (preset: string) => query("k", { required: true, schema: { ...text, default: preset } });
    const { http } = await draftOf({
      "/secret": get(rows, [required("{{credentials.apiKey}}")]),
      "/computed": get(rows, [required("{{ 1 + 1 }}")]),
      "/broken": get(rows, [required("a {{ b")]),
      "/lines": get(rows, [
        query("X-V", { in: "header", required: true, schema: { ...text, default: "a\r\nb" } }),
      ]),
    });
    expect(JSON.stringify(http)).not.toMatch(/credentials\.apiKey|1 \+ 1|a \{\{ b|\\r/);
    expect(http.resources).toHaveLength(4);
    expect(http.resources[0].endpoint.params.k).toMatch(/^\{\{config\.\w+\}\}$/);
  });

  test("by an authorization that no request can send", async () => {
    const key = (more: object) => ({ key: { type: "apiKey", ...more } });
    const one = await draftOf({ "/things": get(rows) }, key({ in: "header", name: "X-K\r\nX-E: 1" }));
    expect(one.http.auth).toEqual({ type: "none" });
    const other = await draftOf({ "/things": get(rows) }, key({ in: "query", name: "{{config.x}}" }));
    expect(other.http.auth).toEqual({ type: "none" });
  });

  test("by naming its credential among its parameters, which is asked for once", async () => {
    const header = query("X-Shop", { in: "header", required: true });
    const one = await draftOf(
      { "/things": get(rows, [header]) },
      { key: { type: "apiKey", in: "header", name: "x-shop" } },
    );
    expect(one.configSchema.properties).toEqual({});
    expect(one.http).toMatchObject({ auth: { type: "header", name: "x-shop" } });
    const asked = query("shop", { required: true });
    const other = await draftOf(
      { "/things": get(rows, [asked]) },
      { key: { type: "apiKey", in: "query", name: "shop" } },
    );
    expect(other.configSchema.properties).toEqual({});
  });
});

test("a path with undescribed parameters isn't a list that is read without them", async () => {
  const { endpoints } = await importOf({
    "/named?kind=a": get(rows, [query("kind", { required: true, schema: { ...text, default: "a" } })]),
    "/unnamed?kind=a": get(rows),
  });
  expect(endpoints.map(({ listing }) => listing?.unresolved[0]?.field)).toEqual([
    undefined,
    "endpoint.dataPath",
  ]);
});
