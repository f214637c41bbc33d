import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { events } from "../../src/resources/events/table.ts";
import { client, startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import {
  action,
  BUNDLES,
  bundle,
  draft,
  install,
  ok,
  published,
  RANDOM_ID,
  schemaOf,
  TEMPLATES,
} from "../support/bundles.ts";
import { CONNECTIONS, faultsOf, trailOf } from "../support/connections.ts";
import { stamped } from "../support/hook.ts";
import { join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, AUTOMATIONS, branch, flowToEnd } from "../support/work.ts";

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
const fresh = (name = "bundle") => `${name}-${++counter}`;

/** A connection, an action that uses it, and an automation that runs the action, in the wrong order. */
const chain = [
  {
    key: "flow",
    type: "automation",
    name: "Flow of {{inputs.name}}",
    definition: {
      description: "Runs {{components.ask.name}}",
      config: {
        steps: [
          { key: "ask", actionId: "{{components.ask.id}}" },
          {
            key: "route",
            kind: "conditional_branch",
            dependsOn: ["ask"],
            when: "input.n > {{inputs.least}}",
            definition: {
              branches: [{ key: "a", when: "steps.ask.result.status == 200 && {{inputs.name}} != 'x'" }],
            },
          },
        ],
      },
    },
  },
  {
    key: "ask",
    type: "action",
    name: "Ask {{inputs.name}}",
    definition: {
      kind: "http_request",
      connectionId: "{{components.api.id}}",
      definition: {
        url: "/{{inputs.name}}",
        method: "POST",
        body: { at: "{{run.startedAt}}", list: "{{inputs.list}}" },
      },
    },
  },
  {
    key: "api",
    type: "connection",
    name: "API of {{inputs.name}}",
    templateSlug: "http-api",
    inputs: { baseUrl: "{{inputs.baseUrl}}", token: "{{inputs.token}}" },
  },
];

const chainSchema = schemaOf(
  {
    name: { type: "string", minLength: 1 },
    baseUrl: { type: "string", format: "uri", default: "https://api.test" },
    token: { type: "string", writeOnly: true },
    least: { type: "integer" },
    list: { type: "array" },
  },
  { required: ["name", "token"] },
);

const chainBundle = () => ({
  ...bundle(fresh("chain"), chain),
  inputJsonSchema: chainSchema,
  inputDefaults: { least: 3, list: ["{{payload}}", 1] },
});

/** Number of each kind, so that a test sees that nothing was left behind. */
async function amounts(call = owner) {
  const total = async (at: string) => ok(await call("GET", `${at}?limit=1`)).total;
  return [await total(CONNECTIONS), await total(ACTIONS), await total(AUTOMATIONS)];
}

describe("the list of bundles", () => {
  test("has the built-in ones, then the organization's newest published versions", async () => {
    await using other = await startApp({ engine: false });
    const call = other.owner;
    const shipped = ok(await call("GET", BUNDLES));
    const builtIn = shipped.total;
    expect(shipped).toMatchObject({ limit: 50, offset: 0 });
    expect(builtIn).toBeGreaterThan(8);
    expect(shipped).not.toHaveProperty("hasNext");
    expect(shipped.bundles).toHaveLength(builtIn);
    const components = [{ key: "a", type: "action", definition: { kind: "http_request" } }];
    const first = await published(call, {
      ...bundle("zeta", components),
      description: "Z",
      inputJsonSchema: schemaOf({}),
    });
    await published(call, bundle("beta", components));
    await draft(call, bundle("alpha", components));
    await published(call, action("act", { url: "https://x.test" }));
    const next = ok(
      await call("PUT", `${TEMPLATES}/${first.id}`, { displayName: "Zeta 2", status: "published" }),
    );
    const all = ok(await call("GET", BUNDLES));
    expect(all.total).toBe(builtIn + 2);
    expect(all.bundles.slice(builtIn)).toEqual([
      expect.objectContaining({ slug: "beta", version: 1 }),
      {
        id: next.id,
        slug: "zeta",
        displayName: "Zeta 2",
        description: "Z",
        iconUrl: null,
        inputJsonSchema: schemaOf({}),
        version: 2,
      },
    ]);
    const page = async (query: string) =>
      ok(await call("GET", `${BUNDLES}?${query}`)).bundles.map(({ slug }: { slug: string }) => slug);
    const slugs = all.bundles.map(({ slug }: { slug: string }) => slug);
    for (let offset = 0; offset < builtIn + 3; offset++) {
      expect(await page(`limit=3&offset=${offset}`)).toEqual(slugs.slice(offset, offset + 3));
    }
    expect(faultsOf(await call("GET", `${BUNDLES}?limit=0&offset=-1&q=x`))).toEqual([
      "query.limit greater_than_equal",
      "query.offset greater_than_equal",
      "query.q extra_forbidden",
    ]);
    expect((await call("GET", `${BUNDLES}?limit=101`)).status).toBe(422);
    expect(ok(await call("GET", `${BUNDLES}?limit=100`)).limit).toBe(100);
    ok(await call("POST", `${TEMPLATES}/${next.id}/deprecate`));
    expect(ok(await call("GET", BUNDLES)).bundles.at(-1)).toMatchObject({ slug: "zeta", version: 1 });
    const stranger = await neighbour(other);
    expect(ok(await stranger.call("GET", BUNDLES)).total).toBe(builtIn);
  });
});

describe("installing", () => {
  test("creates every component, each after its dependencies, and records it", async () => {
    await using api = startReceiver();
    const { id, slug } = await published(owner, chainBundle());
    const reply = await owner("POST", `${BUNDLES}/${slug}/install`, {
      inputs: { name: "orders", baseUrl: api.url, token: "token-of-orders" },
    });
    expect(reply.status).toBe(200);
    const [flow, ask, connection] = reply.body.components;
    expect(reply.body).toEqual({
      bundleSlug: slug,
      bundleTemplateId: id,
      bundleVersion: 1,
      components: [
        {
          key: "flow",
          type: "automation",
          entityType: "automation",
          entityId: flow.entityId,
          entityName: "Flow of orders",
        },
        {
          key: "ask",
          type: "action",
          entityType: "action",
          entityId: ask.entityId,
          entityName: "Ask orders",
        },
        {
          key: "api",
          type: "connection",
          entityType: "connection",
          entityId: connection.entityId,
          entityName: "API of orders",
        },
      ],
    });
    expect(ok(await owner("GET", `${CONNECTIONS}/${connection.entityId}`))).toMatchObject({
      slug: "api-of-orders",
      provider: "http",
      isFromTemplate: true,
      config: { baseUrl: api.url },
      hasCredentials: true,
    });
    expect(ok(await owner("GET", `${ACTIONS}/${ask.entityId}`))).toMatchObject({
      templateId: id,
      connectionId: connection.entityId,
      definition: {
        url: "/orders",
        body: { at: "{{run.startedAt}}", list: ['{{"{{"}}payload}}', 1] },
      },
    });
    expect(ok(await owner("GET", `${AUTOMATIONS}/${flow.entityId}`))).toMatchObject({
      templateId: id,
      description: "Runs Ask orders",
      config: {
        steps: [
          { actionId: ask.entityId },
          {
            when: "input.n > 3",
            definition: { branches: [{ when: "steps.ask.result.status == 200 && \"orders\" != 'x'" }] },
          },
        ],
      },
    });
    const run = await flowToEnd(owner, flow.entityId, { input: { n: 4 } });
    expect(run.steps.map(({ status }: { status: string }) => status)).toEqual(["completed", "completed"]);
    expect(api.got.map(({ path, text }) => [path, JSON.parse(text).list])).toEqual([
      ["/orders", ["{{payload}}", 1]],
    ]);
    expect(api.got[0]?.headers.get("authorization")).toBe("Bearer token-of-orders");

    const [installed] = await trailOf(started, id).then((rows) =>
      rows.filter(({ type }) => type === "bundle.installed"),
    );
    expect(installed).toMatchObject({
      entityType: "bundle",
      data: { bundleSlug: slug, version: 1, previousVersion: null, left: [] },
    });
    const trail = await started.app.store.db.select().from(events);
    const chained = trail.filter(({ correlationId }) => correlationId === installed?.correlationId);
    expect(chained.map(({ type }) => type)).toEqual([
      "connection.created",
      "action.created",
      "automation.created",
      "bundle.installed",
    ]);
    expect(JSON.stringify(trail)).not.toContain("token-of-orders");
  });

  test("the same version with the same inputs creates nothing new, in any order and with explicit defaults", async () => {
    const { slug } = await published(owner, chainBundle());
    const inputs = { name: "same", token: "token-of-same" };
    const first = await install(owner, slug, inputs);
    const before = await amounts();
    const count = () => started.app.store.db.$count(events);
    const written = await count();
    for (const again of [
      inputs,
      { token: "token-of-same", least: 3, name: "same", baseUrl: "https://api.test" },
    ]) {
      expect((await install(owner, slug, again, "?version=1")).reply).toEqual(first.reply);
    }
    expect(await amounts()).toEqual(before);
    expect(await count()).toBe(written);

    const other = await install(owner, slug, { ...inputs, token: "another" });
    expect(other.ids.flow).not.toBe(first.ids.flow);
    expect(ok(await owner("GET", `${CONNECTIONS}/${other.ids.api}`)).slug).toBe("api-of-same-2");
    expect(ok(await owner("GET", `${AUTOMATIONS}/${other.ids.flow}`)).slug).toBe("flow-of-same-2");
    expect(ok(await owner("GET", `${ACTIONS}/${other.ids.ask}`)).slug).toBe("ask-same-2");
  });

  test("ten at once with the same inputs create one set", async () => {
    const { slug } = await published(owner, chainBundle());
    const before = await amounts();
    const done = await Promise.all(
      Array.from({ length: 10 }, () => install(owner, slug, { name: "race", token: "t-race" })),
    );
    expect(new Set(done.map(({ reply }) => JSON.stringify(reply))).size).toBe(1);
    expect(await amounts()).toEqual(before.map((n) => n + 1));
  });

  test("creates again what someone has deleted, and leaves the rest", async () => {
    const { slug } = await published(owner, chainBundle());
    const inputs = { name: "heal", token: "token-of-heal" };
    const first = await install(owner, slug, inputs);
    expect((await owner("DELETE", `${AUTOMATIONS}/${first.ids.flow}`)).status).toBe(204);
    const second = await install(owner, slug, inputs);
    expect(second.ids).toEqual({ ...first.ids, flow: expect.any(String) });
    expect(second.ids.flow).not.toBe(first.ids.flow);
    expect((await install(owner, slug, inputs)).reply).toEqual(second.reply);
  });

  test("checks the inputs, and reports every fault", async () => {
    const { slug } = await published(owner, chainBundle());
    const before = await amounts();
    const refusal = async (body: unknown) =>
      faultsOf(await owner("POST", `${BUNDLES}/${slug}/install`, body));
    expect(
      await refusal({ inputs: { name: "", baseUrl: "nowhere", least: "3", list: {}, nmae: "x" } }),
    ).toEqual([
      "body.inputs.baseUrl uri_parsing",
      "body.inputs.least int_type",
      "body.inputs.list list_type",
      "body.inputs.name string_too_short",
      "body.inputs.nmae extra_forbidden",
      "body.inputs.token missing",
    ]);
    for (const body of [{}, { inputs: {} }, { inputs: null }, undefined]) {
      expect(await refusal(body)).toEqual(["body.inputs.name missing", "body.inputs.token missing"]);
    }
    expect(await refusal({ inputs: [] })).toEqual(["body.inputs dict_type"]);
    expect(await refusal({ input: {} })).toEqual(["body.input extra_forbidden"]);
    expect(await amounts()).toEqual(before);
  });

  test("leaves nothing if the last component fails", async () => {
    const inputJsonSchema = schemaOf({ path: { type: "string" }, label: { type: "string" } });
    const { slug } = await published(owner, {
      ...bundle(fresh("fails"), [
        { ...chain[2], name: "api", inputs: { baseUrl: "https://x.test", token: "fixed-token" } },
        {
          key: "one",
          type: "action",
          definition: { kind: "http_request", definition: { url: "https://x.test" } },
        },
        {
          key: "hook",
          type: "automation",
          dependsOn: ["api", "one"],
          definition: {
            triggerType: "webhook",
            config: {
              path: "{{inputs.path}}",
              action: { kind: "http_request", definition: { url: "https://x.test/{{inputs.label}}" } },
            },
          },
        },
      ]),
      inputJsonSchema,
    });
    const before = [...(await amounts()), await started.app.store.db.$count(events)];
    const attempt = (inputs: object) => owner("POST", `${BUNDLES}/${slug}/install`, { inputs });
    const badPath = await attempt({ path: "not a path", label: "x" });
    expect(badPath.body.detail).toEqual([
      {
        loc: ["body", "inputs"],
        msg: expect.stringContaining("Couldn't create the component hook: config.path:"),
        type: "string_pattern_mismatch",
      },
    ]);
    expect(faultsOf(await attempt({ path: "fine" }))).toEqual(["body.inputs.label missing"]);
    expect([...(await amounts()), await started.app.store.db.$count(events)]).toEqual(before);
    const taken = await install(owner, slug, { path: "taken", label: "a" });
    expect(taken.ids.hook).toBeString();
    const between = await amounts();
    const conflict = await attempt({ path: "taken", label: "b" });
    expect([conflict.status, conflict.body.code]).toEqual([409, "conflict"]);
    expect(conflict.body.detail).toStartWith("Couldn't create the component hook: ");
    expect(await amounts()).toEqual(between);
  });

  test("an action of a template gets the inputs named for it, or those with the same names", async () => {
    const template = await published(owner, {
      ...action(fresh("part"), {
        url: "https://x.test/{{inputs.path}}",
        query: { q: "{{inputs.q}}", z: "{{payload.z}}" },
      }),
      inputJsonSchema: schemaOf({ path: {}, q: {} }, { additionalProperties: false }),
      inputDefaults: { path: "default" },
    });
    const { slug } = await published(owner, {
      ...bundle(fresh(), [
        { key: "same", type: "action", templateSlug: template.slug },
        {
          key: "named",
          type: "action",
          templateSlug: template.slug,
          inputs: { q: "<{{inputs.path}}>" },
          connectionId: "{{components.api.id}}",
        },
        { ...chain[2], inputs: { baseUrl: "https://x.test", token: "fixed-token" }, name: "api" },
      ]),
      inputJsonSchema: schemaOf({ path: {}, other: {} }),
    });
    const { ids } = await install(owner, slug, { path: "{{given}}", other: 1 });
    expect(ok(await owner("GET", `${ACTIONS}/${ids.same}`))).toMatchObject({
      templateId: template.id,
      name: "same",
      definition: { url: 'https://x.test/{{"{{"}}given}}', query: { z: "{{payload.z}}" } },
    });
    expect(ok(await owner("GET", `${ACTIONS}/${ids.named}`))).toMatchObject({
      connectionId: ids.api,
      definition: { url: "https://x.test/default", query: { q: '<{{"{{"}}given}}>', z: "{{payload.z}}" } },
    });
    ok(await owner("POST", `${TEMPLATES}/${template.id}/deprecate`));
    const refused = await owner("POST", `${BUNDLES}/${slug}/install`, { inputs: { path: "another" } });
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
  });

  test("a connection can have its own template, and a provider's connection its credentials", async () => {
    const { id, slug } = await published(owner, {
      ...bundle(fresh(), [
        {
          key: "own",
          type: "connection",
          definition: {
            http: { baseUrl: "{{config.base}}", auth: { type: "header" } },
            configSchema: schemaOf({ base: { type: "string" } }, { required: ["base"] }),
            credentialsSchema: schemaOf({ apiKey: { type: "string" } }, { required: ["apiKey"] }),
          },
        },
        {
          key: "database",
          type: "connection",
          definition: {
            provider: "postgres",
            config: { host: "{{inputs.host}}", port: "{{inputs.port}}", database: "shop" },
            credentials: { user: "weir", password: "{{inputs.apiKey}}" },
          },
        },
      ]),
      inputJsonSchema: schemaOf({
        base: { type: "string" },
        apiKey: { type: "string", format: "password" },
        host: { type: "string" },
        port: { type: "integer" },
      }),
    });
    const { ids } = await install(owner, slug, {
      base: "https://x.test",
      apiKey: "key-of-both",
      host: "db.test",
    });
    expect(ok(await owner("GET", `${CONNECTIONS}/${ids.own}`))).toMatchObject({
      provider: "http",
      templateId: id,
      config: { base: "https://x.test" },
      hasCredentials: true,
    });
    expect(ok(await owner("GET", `${CONNECTIONS}/${ids.database}`))).toMatchObject({
      provider: "postgres",
      isFromTemplate: false,
      config: { host: "db.test", database: "shop" },
      hasCredentials: true,
    });
    const missing = await owner("POST", `${BUNDLES}/${slug}/install`, {
      inputs: { base: "https://x.test", host: "h" },
    });
    expect(missing.status).toBe(422);
    expect(missing.body.detail[0].msg).toContain("apiKey");
  });
});

test("a connection without a schema of credentials takes those that its sign-in uses, or gets them later", async () => {
  const definition = { http: { baseUrl: "https://x.test", auth: { type: "bearer" } } };
  const { slug } = await published(owner, {
    ...bundle(fresh(), [{ key: "api", type: "connection", definition }]),
    inputJsonSchema: schemaOf({ token: { type: "string", writeOnly: true } }),
  });
  for (const [inputs, hasCredentials] of [
    [{}, false],
    [{}, false],
    [{ token: "token-of-api" }, true],
  ] as const) {
    const { ids } = await install(owner, slug, inputs);
    expect(ok(await owner("GET", `${CONNECTIONS}/${ids.api}`)).hasCredentials).toBe(hasCredentials);
  }
});

test("an input in a connection's own template stays text", async () => {
  await using receiver = startReceiver(() => Response.json({}));
  const http = {
    baseUrl: `${receiver.url}/{{inputs.text}}`,
    auth: { type: "header", name: "x-key", value: "{{credentials.key}} {{inputs.text}}" },
  };
  const component = {
    key: "api",
    type: "connection",
    inputs: { key: "{{inputs.key}}" },
    definition: { http, credentialsSchema: schemaOf({ key: { type: "string" } }) },
  };
  const inputJsonSchema = schemaOf({ text: { type: "string" }, key: { type: "string", writeOnly: true } });
  const { slug } = await published(owner, { ...bundle(fresh(), [component]), inputJsonSchema });
  const text = '{{credentials.key}}{{"{{"}}';
  const { ids } = await install(owner, slug, { text, key: "key-of-api" });
  await owner("POST", `${CONNECTIONS}/${ids.api}/verify`);
  const [got] = receiver.got;
  expect(decodeURIComponent(got?.path ?? "")).toBe(`/${text}/`);
  expect(got?.headers.get("x-key")).toBe(`key-of-api ${text}`);
});

describe("versions of a bundle", () => {
  test("a newer one sends no stored credential to another destination, unless it is entered again", async () => {
    await using good = startReceiver(() => Response.json({}));
    await using other = startReceiver(() => Response.json({}));
    const api = (baseUrl: string) => ({
      components: [
        {
          key: "api",
          type: "connection",
          definition: {
            http: { baseUrl, auth: { type: "bearer" } },
            credentialsSchema: schemaOf({ token: { type: "string" } }),
          },
        },
      ],
    });
    const inputJsonSchema = schemaOf({ token: { type: "string", writeOnly: true } });
    const { id, slug } = await published(owner, {
      ...bundle(fresh(), []),
      definition: api(good.url),
      inputJsonSchema,
    });
    const { ids } = await install(owner, slug, { token: "token-of-the-first" });
    const definition = api(other.url);
    const next = ok(await owner("PUT", `${TEMPLATES}/${id}`, { definition, status: "published" }));
    const refused = await owner("POST", `${BUNDLES}/${slug}/install`, { inputs: {} });
    expect(faultsOf(refused)).toEqual(["body.inputs credentials_required"]);
    const path = `${CONNECTIONS}/${ids.api}`;
    expect(ok(await owner("GET", path)).templateId).toBe(id);
    await owner("POST", `${path}/verify`);
    expect([good.got.length, other.got.length]).toEqual([1, 0]);

    await install(owner, slug, { token: "token-of-the-second" });
    expect(ok(await owner("GET", path))).toMatchObject({ templateId: next.id, status: "needs_verification" });
    await owner("POST", `${path}/verify`);
    expect(other.got.map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer token-of-the-second",
    ]);
  });

  test("a newer one that signs in differently keeps no old credential, and gets its own later", async () => {
    const api = (auth: object) => ({
      components: [
        { key: "api", type: "connection", definition: { http: { baseUrl: "http://a.test", auth } } },
      ],
    });
    const inputJsonSchema = schemaOf({ token: { type: "string", writeOnly: true } });
    const { id, slug } = await published(owner, {
      ...bundle(fresh(), []),
      definition: api({ type: "bearer" }),
      inputJsonSchema,
    });
    const { ids } = await install(owner, slug, { token: "token-of-the-first" });
    const path = `${CONNECTIONS}/${ids.api}`;
    expect(ok(await owner("GET", path)).hasCredentials).toBe(true);
    const definition = api({ type: "header", name: "X-Key" });
    const next = ok(await owner("PUT", `${TEMPLATES}/${id}`, { definition, status: "published" }));
    await install(owner, slug);
    expect(ok(await owner("GET", path))).toMatchObject({
      templateId: next.id,
      hasCredentials: false,
      status: "needs_verification",
    });
    expect(
      ok(await owner("PATCH", path, { credentials: { apiKey: "key-of-the-second" } })).hasCredentials,
    ).toBe(true);
  });

  test("a newer one updates what the older one created; what it no longer has is kept", async () => {
    const first = await published(owner, chainBundle());
    const inputs = { name: "up", token: "token-of-up" };
    const old = await install(owner, first.slug, inputs);
    ok(await owner("PATCH", `${ACTIONS}/${old.ids.ask}`, { name: "Renamed by hand" }));
    const [flow, ask, api] = structuredClone(chain) as [
      (typeof chain)[0],
      { definition: { definition: object; kind?: string } },
      (typeof chain)[2],
    ];
    ask.definition.definition = { url: "/v2/{{inputs.name}}", headers: { "x-new": "{{inputs.fresh}}" } };
    const extra = {
      key: "extra",
      type: "action",
      definition: { kind: "conditional_branch", definition: { branches: [{ key: "a", when: "true" }] } },
    };
    const definition = {
      components: [
        { ...flow, definition: { config: { action: { actionId: "{{components.ask.id}}" } } } },
        ask,
        api,
        extra,
      ],
    };
    const inputJsonSchema = {
      ...chainSchema,
      properties: { ...chainSchema.properties, fresh: {} },
      required: ["name", "token", "fresh"],
    };
    const next = ok(
      await owner("PUT", `${TEMPLATES}/${first.id}`, { definition, inputJsonSchema, status: "published" }),
    );
    expect(next.version).toBe(2);
    const before = await amounts();
    const up = await install(owner, first.slug, { ...inputs, fresh: "f" });
    expect(up.reply).toMatchObject({ bundleVersion: 2, bundleTemplateId: next.id });
    expect(up.ids).toEqual({ ...old.ids, extra: expect.any(String) });
    expect(await amounts()).toEqual(before.map((n, index) => n + (index === 1 ? 1 : 0)));
    expect(ok(await owner("GET", `${ACTIONS}/${old.ids.ask}`))).toMatchObject({
      name: "Renamed by hand",
      templateId: next.id,
      definition: { url: "/v2/up", headers: { "x-new": "f" } },
    });
    const { config, description } = ok(await owner("GET", `${AUTOMATIONS}/${old.ids.flow}`));
    expect([config, description]).toEqual([{ action: { actionId: old.ids.ask } }, null]);
    const told = (await trailOf(started, next.id)).find(({ type }) => type === "bundle.installed");
    expect(told?.data).toMatchObject({ version: 2, previousVersion: 1, left: [] });
    expect((await install(owner, first.slug, { ...inputs, fresh: "f" })).reply).toEqual(up.reply);

    const older = await owner("POST", `${BUNDLES}/${first.slug}/install?version=1`, {
      inputs: { ...inputs, fresh: "f" },
    });
    expect(faultsOf(older)).toEqual(["body.inputs.fresh extra_forbidden"]);

    const last = ok(
      await owner("PUT", `${TEMPLATES}/${next.id}`, {
        definition: { components: [extra] },
        status: "published",
      }),
    );
    const shrunk = await install(owner, first.slug, { ...inputs, fresh: "f" });
    expect(shrunk.ids).toEqual({ extra: up.ids.extra ?? "" });
    expect((await owner("GET", `${AUTOMATIONS}/${old.ids.flow}`)).status).toBe(200);
    const left = (await trailOf(started, last.id)).find(({ type }) => type === "bundle.installed")?.data.left;
    expect((left as { key: string }[]).map(({ key }) => key).sort()).toEqual(["api", "ask", "flow"]);
    const down = await owner("POST", `${BUNDLES}/${first.slug}/install?version=2`, {
      inputs: { ...inputs, fresh: "f" },
    });
    expect([down.status, down.body.code]).toEqual([409, "conflict"]);
  });

  test("only published, existing ones can be installed", async () => {
    const made = await draft(owner, chainBundle());
    const attempt = async (slug: string, query = "") => {
      const { status, body } = await owner("POST", `${BUNDLES}/${slug}/install${query}`, {
        inputs: { name: "n", token: "t" },
      });
      return [status, body.code, ...(status === 404 ? [body.detail] : [])];
    };
    const none = [404, "not_found", "Bundle not found."];
    expect(await attempt(made.slug)).toEqual([409, "invalid_state"]);
    expect(await attempt(made.slug, "?version=1")).toEqual([409, "invalid_state"]);
    expect(await attempt(made.slug, "?version=2")).toEqual([
      404,
      "not_found",
      `The bundle ${made.slug} has no version 2.`,
    ]);
    expect(await attempt("nobody")).toEqual(none);
    expect(await attempt("http-api")).toEqual(none);
    expect((await attempt("quick-start", "?version=7")).slice(0, 2)).toEqual([404, "not_found"]);
    expect(await attempt(made.slug, "?version=0")).toEqual([422, undefined]);
    ok(await owner("POST", `${TEMPLATES}/${made.id}/publish`));
    const { ids } = await install(owner, made.slug, { name: "goes-on", token: "t" });
    ok(await owner("POST", `${TEMPLATES}/${made.id}/deprecate`));
    expect(await attempt(made.slug)).toEqual([409, "invalid_state"]);
    expect((await owner("GET", `${AUTOMATIONS}/${ids.flow}`)).body.status).toBe("active");
  });
});

test("members can install, viewers can read; another organization's bundle doesn't exist", async () => {
  const { slug } = await published(owner, chainBundle());
  const inputs = { name: "roles", token: "t" };
  const viewer = (await join(started, "viewer")).call;
  const member = (await join(started, "member")).call;
  const stranger = (await neighbour(started)).call;
  expect((await viewer("GET", BUNDLES)).status).toBe(200);
  expect((await viewer("POST", `${BUNDLES}/${slug}/install`, { inputs })).status).toBe(403);
  expect((await member("POST", `${BUNDLES}/${slug}/install`, { inputs })).status).toBe(200);
  const headers = { "x-correlation-id": "same-for-both-calls" };
  const foreign = await stranger("POST", `${BUNDLES}/${slug}/install`, { inputs }, headers);
  const random = await stranger("POST", `${BUNDLES}/no-such-bundle/install`, { inputs }, headers);
  expect([foreign.status, foreign.text]).toEqual([404, random.text]);
  expect((await started.anonymous("POST", `${BUNDLES}/${slug}/install`, { inputs })).status).toBe(401);
  const own = await published(stranger, { ...chainBundle(), slug });
  expect((await install(stranger, slug, inputs)).reply.bundleTemplateId).toBe(own.id);
  expect(await amounts(stranger)).toEqual([1, 1, 1]);
  const id = {
    definition: {
      components: [
        { key: "a", type: "automation", definition: { config: { action: { actionId: RANDOM_ID } } } },
      ],
    },
  };
  const strange = await published(stranger, { ...bundle(fresh(), []), ...id });
  expect((await stranger("POST", `${BUNDLES}/${strange.slug}/install`, {})).status).toBe(422);
});

test("a webhook's generated signing secret is only in the response of the install that created it", async () => {
  const hook = {
    triggerType: "webhook",
    config: { path: "told-once", action: { kind: "conditional_branch", definition: branch() } },
  };
  const component = { key: "hook", type: "automation", name: "Hook", definition: hook };
  const { slug } = await published(owner, bundle("told-once", [component]));
  const { reply, ids } = await install(owner, slug);
  const { secret } = reply.components[0];
  const { webhookUrl } = ok(await owner("GET", `${AUTOMATIONS}/${ids.hook}`));
  const sent = await client("")("POST", webhookUrl, Buffer.from("{}"), stamped("{}", secret));
  expect(sent.status).toBe(200);
  const again = await install(owner, slug);
  expect(again.ids).toEqual(ids);
  expect(JSON.stringify(again.reply)).not.toContain("secret");
  expect((await owner("GET", "/api/v1/events?limit=200")).text.includes(secret)).toBe(false);
});

test("secret inputs appear in no response, event, log line or table", async () => {
  const canary = "canary-8c1e4b";
  const { slug } = await published(owner, chainBundle());
  const replies: string[] = [];
  for (const inputs of [
    { name: "quiet", token: canary },
    { name: "quiet", token: canary },
    { name: "quiet", token: `${canary}-2`, baseUrl: 7 },
  ]) {
    replies.push((await owner("POST", `${BUNDLES}/${slug}/install`, { inputs })).text);
  }
  const hook = await install(owner, "webhook-approval", { path: "quiet", secret: `${canary}-of-the-hook` });
  replies.push(JSON.stringify(hook.reply), (await owner("GET", `${AUTOMATIONS}/${hook.ids.intake}`)).text);
  replies.push((await owner("GET", "/api/v1/events?limit=200")).text);
  expect([...replies, ...started.logged].join("\n").includes(canary)).toBe(false);
  expect(await isStored(started, canary)).toBe(false);
});

describe("an agent of a bundle", () => {
  const markdown = (least: string) =>
    `---\nname: Orders of {{inputs.shop}}\ntools:\n  - query\n  - action:{{components.count.slug}}\n---\nYou know the orders of {{inputs.shop}}, ${least}.`;
  const components = (least = "all of them") => [
    { key: "agent", type: "agent_spec", definition: { markdown: markdown(least) } },
    {
      key: "count",
      type: "action",
      name: "Count",
      definition: { kind: "duckdb_transform", definition: { sql: "SELECT 1 AS n" } },
    },
  ];
  const inputs = { inputJsonSchema: schemaOf({ shop: { type: "string" } }, { required: ["shop"] }) };

  test("is created from its text, with inputs filled in, and updated by a later version", async () => {
    const slug = fresh("agents");
    const first = await published(owner, bundle(slug, components(), inputs));
    const made = await install(owner, slug, { shop: "Kettle & Leaf" });
    const spec = ok(await owner("GET", `/api/v1/agents/specs/${made.ids.agent}`));
    const count = ok(await owner("GET", `${ACTIONS}/${made.ids.count}`));
    expect(spec.name).toBe("Orders of Kettle & Leaf");
    expect(spec.frontmatter.tools).toEqual(["query", `action:${count.slug}`]);
    expect(spec.markdown).toEndWith("You know the orders of Kettle & Leaf, all of them.");
    expect((await install(owner, slug, { shop: "Kettle & Leaf" })).ids).toEqual(made.ids);
    const [agent, ...rest] = components();
    const named = fresh("named-agents");
    await published(owner, bundle(named, [{ ...agent, name: "Analyst: {{inputs.shop}}" }, ...rest], inputs));
    const other = await install(owner, named, { shop: "Kettle & Leaf" });
    const renamed = ok(await owner("GET", `/api/v1/agents/specs/${other.ids.agent}`));
    expect([renamed.name, renamed.frontmatter.name]).toEqual(Array(2).fill("Analyst: Kettle & Leaf"));
    expect(renamed.markdown).toEndWith("You know the orders of Kettle & Leaf, all of them.");

    const next = ok(
      await owner("PUT", `${TEMPLATES}/${first.id}`, {
        definition: { components: components("the new ones") },
      }),
    );
    ok(await owner("POST", `${TEMPLATES}/${next.id}/publish`));
    expect((await install(owner, slug, { shop: "Kettle & Leaf" })).ids).toEqual(made.ids);
    expect(ok(await owner("GET", `/api/v1/agents/specs/${made.ids.agent}`)).markdown).toContain(
      "the new ones",
    );
  });

  test("is checked when the bundle is saved, and an input that breaks it leaves nothing behind", async () => {
    const wrong = [
      {
        key: "agent",
        type: "agent_spec",
        definition: { markdown: "---\nname: x\ntemperature: hot\n---\nHi." },
      },
    ];
    expect(faultsOf(await owner("POST", TEMPLATES, bundle(fresh(), wrong)))).toEqual([
      expect.stringContaining("body.definition.components.0.definition.markdown.temperature"),
    ]);
    const slug = fresh("spoilt");
    await published(owner, bundle(slug, components(), inputs));
    const before = ok(await owner("GET", ACTIONS)).total;
    const spoilt = await owner("POST", `${BUNDLES}/${slug}/install`, { inputs: { shop: "a: b: [" } });
    expect(spoilt.status).toBe(422);
    expect(ok(await owner("GET", ACTIONS)).total).toBe(before);
  });
});
