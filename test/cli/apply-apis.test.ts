import { expect, test } from "bun:test";
import { parse } from "yaml";
import { startApp } from "../support/app.ts";
import { schemaMisfits } from "../support/schemas.ts";
import { folder } from "../support/shell.ts";
import { created } from "../support/work.ts";
import { terminal } from "./configuration.ts";

const CATALOG = "/api/v1/api-catalog";
const text = { type: "string" };
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  security: [{ key: [] }],
  components: {
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-Key" },
      account: {
        type: "oauth2",
        flows: {
          authorizationCode: {
            authorizationUrl: "https://api.example.com/authorize",
            tokenUrl: "https://api.example.com/token",
            scopes: { read: "Read" },
          },
        },
      },
    },
  },
  paths: {
    "/things": {
      get: {
        operationId: "list_things",
        parameters: [{ name: "page", in: "query", schema: { type: "integer" } }],
        responses: {
          200: {
            description: "Things",
            content: {
              "application/json": {
                schema: {
                  type: "array",
                  items: { type: "object", properties: { id: text, name: text }, required: ["id"] },
                },
              },
            },
          },
        },
      },
    },
  },
};

test("an API takes along what its document says about lists and sign-in", async () => {
  using here = folder();
  await using one = await startApp({ engine: false });
  await using two = await startApp({ engine: false });
  const [from, to] = [terminal(here.path, one), terminal(here.path, two)];
  const { body: read } = await one.owner("POST", `${CATALOG}/ai-import`, {
    content: JSON.stringify(DOCUMENT),
    contentType: "openapi",
    baseUrl: "https://api.example.com",
  });
  const { endpoints, authHints } = read;
  expect([endpoints[0].listing === null, authHints.length > 0]).toEqual([false, true]);
  const entry = { name: "Things", description: "Things", baseUrl: "https://api.example.com" };
  const { id } = created(await one.owner("POST", `${CATALOG}/http`, { ...entry, endpoints, authHints }));
  const { out: file } = await from.export();
  expect(schemaMisfits("config", parse(file))).toEqual([]);
  expect((await to.give(file)).err).toBe("");
  expect((await to.export()).out).toBe(file);
  expect((await to.give(file)).out).toEndWith("No changes.");
  const { body: list } = await two.owner("GET", CATALOG);
  const draftOf = async (app: typeof one, api: string) => {
    const { body } = await app.owner("POST", `${CATALOG}/${api}/connection-template`, {});
    return [body.template.definition, body.unresolved];
  };
  const [definition, unresolved] = await draftOf(one, id);
  expect(definition.http.auth.type).not.toBe("none");
  expect(await draftOf(two, list.items[0].id)).toEqual([definition, unresolved]);

  const without = parse(file);
  delete without.apis[0].authHints;
  delete without.apis[0].endpoints[0].listing;
  expect((await to.give(JSON.stringify(without))).out).toEndWith("No changes.");
  without.apis[0].endpoints[0].description = "All things";
  without.apis[0].authHints = [{ label: "Key", name: "X-Other", location: "header", type: "api_key_header" }];
  expect((await to.give(JSON.stringify(without))).code).toBe(0);
  const { body: changed } = await two.owner("GET", `${CATALOG}/${list.items[0].id}`);
  expect(changed.endpoints[0]).toMatchObject({ description: "All things", listing: endpoints[0].listing });
  expect(changed.authHints).toEqual(without.apis[0].authHints);
});
