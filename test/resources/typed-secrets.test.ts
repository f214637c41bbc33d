import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { JsonObject } from "../../src/base/json.ts";
import { actions } from "../../src/resources/actions/table.ts";
import { automations } from "../../src/resources/automations/table.ts";
import { type Client, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, AUTOMATIONS, created, faultsOf, makeAction, runToEnd } from "../support/work.ts";

let started: Awaited<ReturnType<typeof startApp>>;
let owner: Client;
beforeAll(async () => {
  started = await startApp();
  owner = started.owner;
});
afterAll(async () => started[Symbol.asyncDispose]());

const url = "https://api.example.com/orders";
const asks = (definition: object) => ({
  kind: "http_request",
  name: "Ask",
  definition: { url, ...definition },
});

const inHeader = (name: string) => [{ headers: { [name]: "abc123456" } }, `headers.${name}`] as const;

describe("a secret that is typed into a definition", () => {
  const typed: [string, object, string][] = [
    ["an Authorization header", { headers: { Authorization: "Bearer abc123456" } }, "headers.Authorization"],
    ["a key in a header", { headers: { "X-API-Key": "abc123456" } }, "headers.X-API-Key"],
    ["a key of Azure API Management", ...inHeader("Ocp-Apim-Subscription-Key")],
    ["a key of Azure Functions", ...inHeader("x-functions-key")],
    ["a key of RapidAPI", ...inHeader("x-rapidapi-key")],
    ["a key of Datadog", ...inHeader("DD-APPLICATION-KEY")],
    ["a cookie", { headers: { cookie: "session=1" } }, "headers.cookie"],
    ["a parameter", { query: { api_key: "abc123456" } }, "query.api_key"],
    ["a parameter called key", { query: { key: "AIza-1" } }, "query.key"],
    ["a parameter in the address", { url: `${url}?access_token=abc123456&page=1` }, "url"],
    ["a password before the host", { url: "https://ada:hunter{2}@api.example.com/orders" }, "url"],
    ["a token before the host", { url: "https://abc123456@api.example.com/orders/{{input.id}}" }, "url"],
    ["a password after three slashes", { url: "https:///ada:hunter2@api.example.com/orders" }, "url"],
    [
      "a password in a body",
      { method: "POST", body: { user: "ada", login: [{ password: "hunter22" }] } },
      "body.login.0.password",
    ],
    ["a private key", { method: "POST", body: { pem: "-----BEGIN RSA PRIVATE KEY-----\nMII" } }, "body.pem"],
    [
      "a token with a template behind it",
      { headers: { Authorization: "Bearer abc123456{{input.x}}" } },
      "headers.Authorization",
    ],
  ];

  test.each(typed)("is rejected: %s", async (_, definition, place) => {
    const fault = `body.definition.${place} use_a_connection`;
    const made = await owner("POST", ACTIONS, asks(definition));
    expect([made.status, faultsOf(made)]).toEqual([422, [fault]]);
    expect(made.body.detail[0].msg).toContain("credentials of a connection");

    const draft = created(await owner("POST", ACTIONS, asks({})));
    const changed = await owner("PATCH", `${ACTIONS}/${draft.id}`, { definition: { url, ...definition } });
    expect(faultsOf(changed)).toEqual([fault]);
    const run = await owner("POST", `${ACTIONS}/${draft.id}/run`, { definitionOverrides: definition });
    expect(faultsOf(run)).toEqual([fault.replace("definition.", "definitionOverrides.")]);

    const { kind, definition: whole } = asks(definition);
    const config = {
      steps: [
        { key: "a", kind, definition: { url } },
        { key: "b", kind, definition: whole },
      ],
    };
    const automation = await owner("POST", AUTOMATIONS, { name: "A", config });
    expect(faultsOf(automation)).toEqual([
      fault.replace("body.definition", "body.config.steps.1.definition"),
    ]);

    const template = { slug: "asks", displayName: "Asks", templateType: "action", kind, definition: whole };
    expect(faultsOf(await owner("POST", "/api/v1/templates", template))).toContain(fault);
  });

  test.each<[string, object, string]>([
    ["in a form as one text", { method: "POST", body: "grant=x&client_secret=abc123456" }, "body"],
    ["in JSON as one text", { method: "POST", body: '{"login": {"password": "abc123456"}}' }, "body"],
    [
      "behind a scheme in any header",
      { headers: { "x-forwarded-auth": "Bearer abc123456" } },
      "headers.x-forwarded-auth",
    ],
    ["in a template", { headers: { Authorization: "{{'Bearer abc123456'}}" } }, "headers.Authorization"],
    [
      "in a template that computes",
      { headers: { Authorization: "{{'Basic ' + base64.encode(bytes('ada:hunter22'))}}" } },
      "headers.Authorization",
    ],
    [
      "in a template for the address",
      { url: "{{'https://api.example.com/?api_key=' + 'abc123456'}}" },
      "url",
    ],
    ["in the fragment of an address", { url: `${url}#access_token=abc123456` }, "url"],
  ])("is found %s", async (_, definition, field) => {
    const made = await owner("POST", ACTIONS, asks(definition));
    expect(faultsOf(made)).toEqual([`body.definition.${field} use_a_connection`]);
  });

  test.each<[string, object]>([
    ["a form with a template", { method: "POST", body: "grant=x&client_secret={{input.secret}}" }],
    ["JSON with a template", { method: "POST", body: '{"password": "{{input.secret}}"}' }],
    ["text that speaks of one", { method: "POST", body: "Your password=forgotten? Ask Basic support." }],
    ["a template that fetches it", { headers: { Authorization: "Bearer {{input.token}}" } }],
    ["a whole template", { query: { api_key: "{{input.key}}" } }],
    ["a page's token", { query: { page_token: "abc123456" } }],
    ["a count of tokens", { method: "POST", body: { max_tokens: 500, prompt: "The token expires soon" } }],
    ["a field that is empty", { method: "POST", body: { password: "", token: null } }],
    ["an address with harmless parameters", { url: `${url}?page=1&sort=key` }],
    ["an address with an @ in its path", { url: "https://api.example.com/@ada/{{input.id}}@2" }],
    ["an address whose host is a template", { url: '{{input.hosts["a@b"]}}/orders' }],
    ["a host from a template", { url: 'https://{{input.hosts["a@b"]}}/orders' }],
    ["a schema of a password", { method: "POST", body: { properties: { password: { type: "string" } } } }],
  ])("isn't: %s", async (_, definition) => {
    expect((await owner("POST", ACTIONS, asks(definition))).status).toBe(201);
  });

  test("is rejected in the sign-in of a connection template", async () => {
    const http = { baseUrl: "https://x.test", auth: { type: "bearer", token: "abc123456" } };
    const template = { slug: "conn", displayName: "X", templateType: "connection" };
    const made = await owner("POST", "/api/v1/templates", {
      ...template,
      definition: { http: { ...http, verify: { path: "/me" } }, configSchema: {}, credentialsSchema: {} },
    });
    expect(faultsOf(made)).toContain("body.definition.http.auth.token use_a_connection");
  });
});

test("a password in the URL of a page is rejected too", async () => {
  const definition = { url: "http://ada:hunter22@x.example/" };
  const made = await owner("POST", ACTIONS, { kind: "fetch_page", name: "Page", definition });
  expect(faultsOf(made)).toEqual(["body.definition.url use_a_connection"]);
});

describe("a secret that was typed in earlier", () => {
  const secret = "Bearer from-before-1234";

  test("in an action is never shown, continues to be sent, and survives a change next to it", async () => {
    await using receiver = startReceiver();
    const action = await makeAction(owner, asks({ url: receiver.url }));
    const definition: JsonObject = {
      url: `${receiver.url}/?api_key=from-before-1234`,
      headers: { Authorization: secret },
    };
    await started.app.store.write(
      async (db) => void (await db.update(actions).set({ definition }).where(eq(actions.id, action.id))),
    );
    const path = `${ACTIONS}/${action.id}`;
    const shown = await owner("GET", path);
    expect(shown.body.definition).toEqual({
      url: `${receiver.url}/?api_key=***`,
      headers: { Authorization: "***" },
    });
    const run = await runToEnd(owner, action.id);
    expect(JSON.stringify(run)).not.toContain("from-before");
    expect(receiver.got[0]?.headers.get("authorization")).toBe(secret);

    const beside = { ...shown.body.definition, timeoutSeconds: 9 };
    expect((await owner("PATCH", path, { definition: beside })).status).toBe(200);
    await runToEnd(owner, action.id);
    expect([receiver.got[1]?.headers.get("authorization"), receiver.got[1]?.path]).toEqual([
      secret,
      "/?api_key=from-before-1234",
    ]);
    const another = { ...beside, headers: { Authorization: "Bearer another-1234" } };
    expect(faultsOf(await owner("PATCH", path, { definition: another }))).toEqual([
      "body.definition.headers.Authorization use_a_connection",
    ]);
    for (const list of [ACTIONS, "/api/v1/events?limit=200", "/api/v1/action-runs"])
      expect((await owner("GET", list)).text).not.toContain("from-before");
  });

  test("in an automation's step stays with its key, even if the steps are reordered", async () => {
    await using receiver = startReceiver();
    const step = (key: string, more: object = {}) => ({
      key,
      kind: "http_request",
      definition: { url: receiver.url, ...more },
    });
    const made = created(await owner("POST", AUTOMATIONS, { name: "A", config: { steps: [step("a")] } }));
    const stored = { steps: [step("a", { headers: { Authorization: secret } })] } as unknown as JsonObject;
    await started.app.store.write(
      async (db) =>
        void (await db.update(automations).set({ config: stored }).where(eq(automations.id, made.id))),
    );
    const path = `${AUTOMATIONS}/${made.id}`;
    const { config } = (await owner("GET", path)).body;
    expect(config.steps[0].definition.headers).toEqual({ Authorization: "***" });
    const steps = [step("b"), ...config.steps];
    expect((await owner("PATCH", path, { config: { steps } })).status).toBe(200);
    const [row] = await started.app.store.db.select().from(automations).where(eq(automations.id, made.id));
    expect(row?.config).toMatchObject({
      steps: [{ key: "b" }, { definition: { headers: { Authorization: secret } } }],
    });
    const moved = [{ ...config.steps[0], key: "c" }];
    expect(faultsOf(await owner("PATCH", path, { config: { steps: moved } }))).toEqual([
      "body.config.steps.0.definition.headers.Authorization use_a_connection",
    ]);
  });
});
