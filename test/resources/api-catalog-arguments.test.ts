import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, startApi } from "../peers/api.ts";
import { startApp } from "../support/app.ts";
import { addHttp, CATALOG, endpoint, httpApi } from "../support/catalog.ts";
import { connect } from "../support/connections.ts";
import { created } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: typeof weir.owner;
let peer: ReturnType<typeof startApi>;
beforeAll(async () => {
  weir = await startApp();
  owner = weir.owner;
  peer = startApi({ "*": json({}) });
});
afterAll(async () => {
  await peer.stop();
  await weir[Symbol.asyncDispose]();
});

let counter = 0;

/** Adds the endpoint, and returns a function that tests it and returns what arrived, or the error. */
async function added(definition: object, more: object = {}) {
  const entry = httpApi(`Arguments ${++counter}`, {
    baseUrl: peer.url,
    endpoints: [endpoint("it", definition)],
    ...more,
  });
  const { id } = await addHttp(owner, entry);
  return async (input: object) => {
    const before = peer.heard.length;
    const { status, body } = await owner("POST", `${CATALOG}/${id}/endpoints/it/test`, { input });
    const sent = peer.heard[before];
    return status === 200 && sent
      ? `${sent.path}${sent.query}`
      : `${status} ${body.code}: ${body.detail ?? body.message}`;
  };
}

describe("a path argument", () => {
  test("that is empty, or a list with an empty item, is refused", async () => {
    const send = await added({ method: "DELETE", path: "/things/{ids}" });
    const refused = "422 definition_invalid: The path /things/{ids} needs the argument ids";
    for (const ids of ["", [], [""], ["a", ""], [null]])
      expect([ids, await send({ ids })]).toEqual([ids, expect.stringContaining(refused)]);
    expect(await send({ ids: ["a", "b"] })).toBe("/things/a,b");
  });

  test("that is a list keeps its items apart", async () => {
    const send = await added({ path: "/things/{ids}/of/{shop}" });
    expect(await send({ ids: ["a", "b,c", "d/é"], shop: "e,f" })).toBe("/things/a,b%2Cc,d%2F%C3%A9/of/e%2Cf");
    expect(await send({ ids: [".."], shop: "x" })).toContain("422 definition_invalid");
  });
});

describe("an object in the query", () => {
  test("can't replace another parameter, whether that is sent or not", async () => {
    const query = {
      tenant: "mine",
      filter: "{{input.filter}}",
      page: "{{input.page}}",
      more: "{{input.more}}",
    };
    const send = await added({ path: "/list", queryTemplate: query });
    for (const [input, name] of [
      [{ filter: { tenant: "other" } }, "tenant"],
      [{ filter: { page: 2 } }, "page"],
      [{ more: { filter: 1 } }, "filter"],
      [{ filter: { a: 1 }, more: { a: 2 } }, "a"],
    ] as const)
      expect(await send(input)).toBe(
        `422 definition_invalid: An object in the query can't set the parameter ${name}, which the request has already.`,
      );
    expect(await send({ filter: { filter: 1, a: "x" }, page: 2 })).toBe(
      "/list?tenant=mine&filter=1&a=x&page=2",
    );
  });

  test("of the style deepObject can't either", async () => {
    const properties = { filter: { type: "object", "x-weir-style": "deepObject" } };
    const send = await added({
      path: "/list",
      queryTemplate: { filter: "{{input.filter}}", "filter[tenant]": "mine" },
      inputSchema: { type: "object", properties },
    });
    expect(await send({ filter: { tenant: "other" } })).toContain("can't set the parameter filter[tenant]");
    expect(decodeURIComponent(await send({ filter: { a: 1 } }))).toBe(
      "/list?filter[a]=1&filter[tenant]=mine",
    );
  });
});

describe("a list in the query", () => {
  const lists = (style: string, more: object = {}) =>
    added(
      {
        path: "/list",
        queryTemplate: { ids: "{{input.ids}}", q: "{{input.q}}" },
        inputSchema: { properties: { ids: { "x-weir-style": style }, q: {} } },
      },
      more,
    );

  test("with commas keeps its items apart", async () => {
    const send = await lists("csv");
    expect(await send({ ids: ["a", "b,c", "d&e f"], q: "1,2" })).toBe("/list?ids=a,b%2Cc,d%26e+f&q=1%2C2");
    expect(await send({ ids: { role: "x,y" } })).toBe("/list?ids=role,x%2Cy");
  });

  test("with commas keeps them apart next to a key in the query", async () => {
    const definition = {
      http: { baseUrl: peer.url, auth: { type: "query", name: "key" } },
      credentialsSchema: { type: "object", properties: { apiKey: { type: "string" } }, required: ["apiKey"] },
    };
    const template = { slug: "with-key", displayName: "Key", templateType: "connection", definition };
    const { id } = created(await owner("POST", "/api/v1/templates", template));
    await owner("POST", `/api/v1/templates/${id}/publish`);
    const credentials = { apiKey: "k1" };
    const connection = await connect(owner, { name: "Key", templateSlug: "with-key", credentials });
    const send = await lists("csv", { connectionId: connection.id });
    expect(await send({ ids: ["a", "b,c"] })).toBe("/list?ids=a,b%2Cc&key=k1");
  });

  test.each([
    ["ssv", " ", "a+b"],
    ["pipes", "|", "a%7Cb"],
    ["tsv", "\t", "a%09b"],
  ])("with the separator of %s refuses an item that contains it", async (style, separator, sent) => {
    const send = await lists(style);
    expect(await send({ ids: ["a", "b"] })).toBe(`/list?ids=${sent}`);
    expect(await send({ ids: ["a", `b${separator}c`] })).toBe(
      `422 definition_invalid: An item of ids contains ${JSON.stringify(separator)}, which separates the items.`,
    );
  });
});

describe("a list in a header or a form", () => {
  test("refuses an item with a comma in a header", async () => {
    const send = await added({ path: "/list", headers: { "X-Ids": "{{input.ids}}" } });
    expect(await send({ ids: ["a", "b"] })).toBe("/list");
    expect(peer.heard.at(-1)?.headers["x-ids"]).toBe("a,b");
    expect(await send({ ids: "a,b" })).toBe("/list");
    expect(await send({ ids: ["a", "b,c"] })).toBe(
      '422 definition_invalid: An item of X-Ids contains ",", which separates the items.',
    );
  });

  test("keeps its items apart in a form", async () => {
    const properties = { csv: { "x-weir-style": "csv" }, pipes: { "x-weir-style": "pipes" } };
    const send = await added({
      method: "POST",
      path: "/form",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      bodyTemplate: { csv: "{{input.csv}}", pipes: "{{input.pipes}}" },
      inputSchema: { type: "object", properties },
    });
    expect(await send({ csv: ["a", "b,c"], pipes: ["a", "b,c"] })).toBe("/form");
    expect(peer.heard.at(-1)?.body).toBe("csv=a,b%2Cc&pipes=a%7Cb%2Cc");
    expect(await send({ pipes: ["a|b"] })).toContain('An item of pipes contains "|"');
  });
});

test("objects in paths and headers are sent as their description says", async () => {
  const value = { type: "object" };
  const parameters = [
    { name: "plain", in: "path", required: true, schema: value },
    { name: "paired", in: "path", required: true, explode: true, schema: value },
    { name: "list", in: "path", required: true, explode: true, schema: { type: "array" } },
    { name: "X-Plain", in: "header", schema: value },
    { name: "X-Paired", in: "header", explode: true, schema: value },
    { name: "X-Json", in: "header", content: { "application/json": { schema: value } } },
  ];
  const content = JSON.stringify({
    openapi: "3.1.0",
    info: { title: "x", version: "1" },
    servers: [{ url: peer.url }],
    paths: { "/{plain}/{paired}/{list}": { get: { operationId: "it", parameters, responses: {} } } },
  });
  const { body } = await owner("POST", `${CATALOG}/ai-import`, { content });
  const send = await added({}, { endpoints: body.endpoints });
  const role = { role: "x/y,z", n: 1 };
  const input = { plain: role, paired: role, list: ["a", "b"] };
  const headers = { "X-Plain": { role: "x", n: 1 }, "X-Paired": { role: "x", n: 1 }, "X-Json": role };
  expect(await send({ ...input, ...headers })).toBe("/role,x%2Fy%2Cz,n,1/role=x%2Fy%2Cz,n=1/a,b");
  expect(peer.heard.at(-1)?.headers).toMatchObject({
    "x-plain": "role,x,n,1",
    "x-paired": "role=x,n=1",
    "x-json": JSON.stringify(role),
  });
  expect(await send({ ...input, "X-Plain": role })).toContain("An item of X-Plain contains");
  expect(await send({ ...input, plain: {} })).toContain("needs the argument plain");
});
