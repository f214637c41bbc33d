import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import {
  action,
  bundle,
  draft,
  install,
  ok,
  published,
  RANDOM_ID,
  schemaOf,
  TEMPLATES,
} from "../support/bundles.ts";
import { faultsOf, trailOf } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { created } from "../support/work.ts";

let started: Awaited<ReturnType<typeof startApp>>;
let owner: typeof started.owner;
beforeAll(async () => {
  started = await startApp({ engine: false });
  owner = started.owner;
});
afterAll(async () => {
  await started[Symbol.asyncDispose]();
});

const fetchOrders = action(
  "orders",
  { url: "https://api.example.com/{{inputs.path}}" },
  {
    inputJsonSchema: schemaOf({ path: { type: "string" } }),
    inputDefaults: { path: "orders" },
  },
);

const api = {
  http: {
    baseUrl: "{{config.baseUrl}}",
    auth: { type: "bearer" },
    verify: { method: "GET", path: "/me", expectStatus: 200 },
  },
  configSchema: schemaOf({ baseUrl: { type: "string" } }, { required: ["baseUrl"] }),
  credentialsSchema: schemaOf({ token: { type: "string" } }, { required: ["token"] }),
};

const connection = (slug: string, definition: object = api) => ({
  slug,
  displayName: "An API",
  templateType: "connection",
  definition,
});

/** The slug is numbered, so that tests of one server don't conflict. */
let counter = 0;
const fresh = (name = "template") => `${name}-${++counter}`;

describe("creating a template", () => {
  test("returns the first version, a draft, with all of its fields", async () => {
    const body = {
      ...fetchOrders,
      slug: fresh("orders"),
      description: "Fetches orders",
      iconUrl: "https://example.com/icon.svg",
    };
    const made = await owner("POST", TEMPLATES, body);
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      ...body,
      status: "draft",
      isActive: true,
      version: 1,
      createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      updatedAt: made.body.createdAt,
    });
    expect(ok(await owner("GET", `${TEMPLATES}/${made.body.id}`))).toEqual(made.body);
    expect(ok(await owner("GET", `${TEMPLATES}/slug/${body.slug}`))).toEqual(made.body);
    const [event] = await trailOf(started, made.body.id);
    expect(event).toMatchObject({
      type: "template.created",
      entityType: "template",
      actorId: started.ids.userId,
      data: { slug: body.slug, version: 1, templateType: "action", displayName: body.displayName },
    });
  });

  test("shows omitted optional fields as null or empty", async () => {
    const made = await draft(owner, connection(fresh("api")));
    expect(made).toMatchObject({
      description: null,
      iconUrl: null,
      kind: null,
      inputDefaults: {},
      inputJsonSchema: {},
      definition: api,
    });
  });

  test("limits the lengths of slug and name, and reports all faults at once", async () => {
    const refusal = async (more: object) =>
      faultsOf(await owner("POST", TEMPLATES, { ...connection("x"), ...more }));
    for (const slug of ["", "a".repeat(101), "Not-A-Slug", "a_b", "-a", "a--b"])
      expect((await refusal({ slug }))[0]).toStartWith("body.slug string_");
    expect(await refusal({ displayName: "" })).toEqual(["body.displayName string_too_short"]);
    expect(await refusal({ displayName: "n".repeat(256) })).toEqual(["body.displayName string_too_long"]);
    expect(await refusal({ templateType: "agent", surprise: 1, iconUrl: "javascript:alert(1)" })).toEqual([
      "body.iconUrl string_pattern_mismatch",
      "body.surprise extra_forbidden",
      "body.templateType enum",
    ]);
    expect(faultsOf(await owner("POST", TEMPLATES, {}))).toEqual([
      "body.definition missing",
      "body.displayName missing",
      "body.slug missing",
      "body.templateType missing",
    ]);
    const longest = { slug: "s".repeat(100), displayName: "n".repeat(255) };
    expect((await owner("POST", TEMPLATES, { ...connection("x"), ...longest })).status).toBe(201);
  });

  test("accepts just the four required fields; a draft can lack a definition until it is published", async () => {
    const drafts = [];
    for (const templateType of ["action", "connection", "bundle"]) {
      const body = { slug: fresh("bare"), displayName: "Bare", templateType, definition: {} };
      drafts.push(await draft(owner, body));
      expect(drafts.at(-1)).toMatchObject({ ...body, kind: null, status: "draft", version: 1 });
    }
    const [bare, api, parts] = drafts;
    const publish = (id: string) => owner("POST", `${TEMPLATES}/${id}/publish`);
    const early = {
      name: "Early",
      templateId: api.id,
      credentials: { token: "t" },
      config: { baseUrl: "https://x.test" },
    };
    expect((await owner("POST", "/api/v1/connections", early)).body.code).toBe("invalid_state");
    expect(faultsOf(await publish(api.id))).toEqual(["body.definition.http missing"]);
    expect(faultsOf(await publish(parts.id))).toEqual(["body.definition.components missing"]);
    expect(ok(await publish(bare.id))).toMatchObject({ kind: null, status: "published" });
    expect(
      ok(await owner("PUT", `${TEMPLATES}/${api.id}`, { definition: connection("x").definition })),
    ).toMatchObject({ id: api.id, version: 1 });
    expect(ok(await publish(api.id)).status).toBe("published");
  });

  test("rejects a slug that is taken, also by a built-in one", async () => {
    const slug = fresh("taken");
    await draft(owner, connection(slug));
    for (const each of [slug, "quick-start", "http-api"]) {
      const again = await owner("POST", TEMPLATES, connection(each));
      expect([again.status, again.body.code]).toEqual([409, "slug_taken"]);
    }
  });

  test("accepts an Idempotency-Key", async () => {
    const body = connection(fresh("once"));
    const key = { "idempotency-key": "template-once" };
    const first = await owner("POST", TEMPLATES, body, key);
    const second = await owner("POST", TEMPLATES, body, key);
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("checks when it is saved", () => {
  const refusal = async (body: object) => faultsOf(await owner("POST", TEMPLATES, body));

  test("an action's kind, its definition, and the inputs that it names", async () => {
    expect(await refusal(action("a", {}, { kind: "teleport" }))).toEqual(["body.kind enum"]);
    expect(
      await refusal(action("a", { url: "ftp://x", method: "FETCH", surprise: 1, body: "{{payload" })),
    ).toEqual([
      "body.definition.body template_error",
      "body.definition.method enum",
      "body.definition.surprise extra_forbidden",
      "body.definition.url value_error",
    ]);
    expect(
      await refusal(
        action("a", { url: "https://x/{{inputs.a}}/{{inputs.b}}" }, { inputJsonSchema: schemaOf({ a: {} }) }),
      ),
    ).toEqual(["body.definition.url value_error"]);
    expect(
      await refusal(
        action(
          "a",
          {
            branches: [
              { key: "k", when: "payload.a > {{inputs.a}} &&" },
              { key: "l", when: "'{{inputs.a}}' == 'x'" },
            ],
          },
          { kind: "conditional_branch", inputJsonSchema: schemaOf({ a: {} }) },
        ),
      ),
    ).toEqual(expect.arrayContaining(["body.definition.branches.0.when condition_error"]));
    expect(
      await draft(
        owner,
        action(
          fresh("branch"),
          { branches: [{ key: "k", when: "payload.amount > {{inputs.limit}}" }], else: "{{inputs.other}}" },
          { kind: "conditional_branch", inputJsonSchema: schemaOf({ limit: {}, other: {} }) },
        ),
      ),
    ).toMatchObject({ kind: "conditional_branch", status: "draft" });
  });

  test("a connection's URLs, authorization, schemas, and the fields that they name", async () => {
    const faults = (http: object, more: object = {}) => refusal(connection("c", { http, ...more }));
    expect(await refusal(connection("c", { configSchema: {} }))).toEqual(["body.definition.http missing"]);
    expect(await faults({ baseUrl: "ftp://x", auth: { type: "none" } })).toEqual([
      "body.definition.http.baseUrl value_error",
    ]);
    expect(await faults({ baseUrl: "https://me:pw@x", auth: { type: "none" } })).toEqual([
      "body.definition.http.baseUrl value_error",
    ]);
    expect(await faults({ baseUrl: "https://x", auth: { type: "magic" } })).toHaveLength(1);
    expect(await faults({ baseUrl: "https://x", auth: { type: "oauth2_client_credentials" } })).toEqual([
      "body.definition.http.auth.tokenUrl missing",
    ]);
    expect(await faults({ baseUrl: "https://x", auth: { type: "header", name: "X Y" } })).toEqual([
      "body.definition.http.auth.name value_error",
    ]);
    expect(
      await faults(
        {
          baseUrl: "https://{{credentials.token}}.example.com",
          auth: { type: "bearer", token: "{{credentials.key}}" },
          verify: { path: "/{{config.tenant}}", expectStatus: [200, 999] },
        },
        {},
      ),
    ).toEqual(["body.definition.http.verify.expectStatus.1 less_than_equal"]);
    expect(
      await faults(
        {
          baseUrl: "https://{{credentials.token}}.example.com",
          auth: { type: "basic", username: "{{credentials.nobody}}" },
          verify: { path: "/{{config.tenant}}" },
        },
        { credentialsSchema: schemaOf({ password: {}, user: {} }), configSchema: schemaOf({ shop: {} }) },
      ),
    ).toEqual([
      "body.definition.http.auth.username value_error",
      "body.definition.http.baseUrl value_error",
      "body.definition.http.verify.path value_error",
    ]);
    expect(
      await faults(
        { baseUrl: "https://x", auth: { type: "none" } },
        { configSchema: { type: "strange" }, credentialsSchema: { type: "array" } },
      ),
    ).toEqual([
      "body.definition.configSchema.type value_error",
      "body.definition.credentialsSchema.type value_error",
    ]);
  });

  test("a bundle's keys, dependencies, templates, names, and each component", async () => {
    const faults = (components: object[], more: object = {}) => refusal(bundle("b", components, more));
    const files = { type: "connection", definition: { provider: "local_files", credentials: {} } };
    expect(await refusal({ ...bundle("b", []), definition: { parts: [] } })).toContain(
      "body.definition.components missing",
    );
    expect(await faults([])).toEqual(["body.definition.components too_short"]);
    expect(await faults([{ key: "1 x", type: "thing" }])).toEqual([
      "body.definition.components.0.key string_pattern_mismatch",
      "body.definition.components.0.type enum",
    ]);
    expect(
      await faults([
        { key: "a", ...files },
        { key: "a", ...files },
        { key: "b", ...files, dependsOn: ["z"] },
      ]),
    ).toEqual([
      "body.definition.components.1.key value_error",
      "body.definition.components.2.dependsOn.0 value_error",
    ]);
    const circle = await owner(
      "POST",
      TEMPLATES,
      bundle("b", [
        { key: "a", ...files, dependsOn: ["b"] },
        { key: "b", ...files, name: "{{components.a.name}}" },
      ]),
    );
    expect(circle.body.detail).toEqual([
      {
        loc: ["body", "definition", "components"],
        msg: "Circular dependency: a → b → a",
        type: "value_error",
      },
    ]);
    expect(
      await faults([
        { key: "a", type: "connection" },
        { key: "b", type: "connection", templateSlug: "nobody" },
        { key: "c", type: "connection", templateSlug: "http-api", templateVersion: 9 },
        { key: "d", type: "action", templateSlug: "http-api" },
        { key: "e", type: "automation", templateSlug: "http-api" },
        { key: "f", type: "connection", templateSlug: "http-api", definition: {} },
        { key: "g", type: "agent_spec", definition: {} },
      ]),
    ).toEqual(
      [
        "body.definition.components.0.definition missing",
        "body.definition.components.1.templateSlug not_found",
        "body.definition.components.2.templateVersion not_found",
        "body.definition.components.3.templateSlug not_found",
        "body.definition.components.4.templateSlug value_error",
        "body.definition.components.5.definition value_error",
        "body.definition.components.6.definition.markdown missing",
      ].sort(),
    );
    expect(
      await faults(
        [
          { key: "a", type: "connection", definition: { provider: "gopher", credentials: {} } },
          { key: "b", type: "connection", definition: { provider: "local_files", config: { surprise: 1 } } },
          { key: "c", type: "action", definition: { kind: "http_request", definition: { url: 7 } } },
          {
            key: "d",
            type: "automation",
            definition: {
              config: {
                steps: [{ key: "s", kind: "http_request", definition: { method: "NO" }, when: "(" }],
              },
            },
          },
          {
            key: "e",
            type: "automation",
            definition: { config: { action: { actionId: "{{components.x.id}}" } } },
          },
          {
            key: "f",
            type: "action",
            definition: { kind: "http_request", definition: { url: "{{components.c.secret}}" } },
          },
          {
            key: "g",
            type: "action",
            definition: { kind: "http_request", definition: { url: "https://x/{{inputs.nope}}" } },
          },
        ],
        { inputJsonSchema: schemaOf({ a: {} }) },
      ),
    ).toEqual([
      "body.definition.components.0.definition.provider enum",
      "body.definition.components.1.definition.config.surprise extra_forbidden",
      "body.definition.components.2.definition.definition.url string_type",
      "body.definition.components.3.definition.config.steps.0.definition.method enum",
      "body.definition.components.3.definition.config.steps.0.definition.url missing",
      "body.definition.components.3.definition.config.steps.0.when condition_error",
      "body.definition.components.4.definition.config.action.actionId value_error",
      "body.definition.components.5.definition.definition.url value_error",
      "body.definition.components.6.definition.definition.url value_error",
    ]);
  });

  test("allow a secret input only in credentials", async () => {
    const inputJsonSchema = schemaOf({
      token: { type: "string", writeOnly: true },
      pin: { type: "string", format: "password" },
      deep: { type: "object", properties: { k: { writeOnly: true } } },
      named: { $ref: "#/$defs/secret" },
      plain: { type: "string" },
    });
    Object.assign(inputJsonSchema, {
      $defs: { secret: { type: "string", format: "password" } },
      allOf: [{ properties: { apart: { writeOnly: true } } }],
    });
    const components = (place: string) => [
      {
        key: "api",
        type: "connection",
        templateSlug: "http-api",
        inputs: { baseUrl: "https://x/{{inputs.plain}}", token: "{{inputs.token}}{{inputs.pin}}" },
      },
      {
        key: "act",
        type: "action",
        name: place,
        definition: { kind: "http_request", definition: { url: "https://x" } },
      },
    ];
    expect(
      await draft(owner, bundle(fresh("secret"), components("{{inputs.plain}}"), { inputJsonSchema })),
    ).toBeDefined();
    for (const place of [
      "{{inputs.token}}",
      "x{{inputs.pin}}",
      "{{inputs.deep.k}}",
      "{{inputs.deep}}",
      "{{inputs.named}}",
      '{{inputs.apart ?? ""}}',
      "{{inputs}}",
    ]) {
      expect(await refusal(bundle("s", components(place), { inputJsonSchema }))).toEqual([
        "body.definition.components.1.name secret_exposed",
      ]);
    }
    const base = bundle(
      "s",
      [
        {
          key: "api",
          type: "connection",
          templateSlug: "http-api",
          inputs: { baseUrl: "https://x/{{inputs.token}}" },
        },
      ],
      { inputJsonSchema },
    );
    expect(await refusal(base)).toEqual(["body.definition.components.0.inputs.baseUrl secret_exposed"]);
  });

  test("a valid schema of inputs, and defaults that match it", async () => {
    const faults = (inputJsonSchema: object, inputDefaults: object = {}) =>
      refusal({ ...connection("c"), inputJsonSchema, inputDefaults });
    expect(await faults({ type: "sometimes" })).toEqual(["body.inputJsonSchema.type schema_invalid"]);
    expect(await faults({ type: "string" })).toEqual(["body.inputJsonSchema.type value_error"]);
    expect(await faults(schemaOf({ a: { pattern: "(?<=x)y" } }))).toEqual([
      "body.inputJsonSchema.properties.a.pattern pattern_invalid",
    ]);
    const schema = schemaOf(
      { n: { type: "integer", maximum: 3 }, s: { type: "string" } },
      { required: ["n", "s"], additionalProperties: false },
    );
    expect(await faults(schema, { n: 4, x: 1 })).toEqual([
      "body.inputDefaults.n less_than_equal",
      "body.inputDefaults.x extra_forbidden",
    ]);
    expect(
      (
        await owner("POST", TEMPLATES, {
          ...connection(fresh()),
          inputJsonSchema: schema,
          inputDefaults: { n: 3 },
        })
      ).status,
    ).toBe(201);
  });
});

describe("versions", () => {
  test("go from draft to published to deprecated, each recorded in the audit log", async () => {
    const { id, slug } = await draft(owner, connection(fresh("life")));
    const deprecateEarly = await owner("POST", `${TEMPLATES}/${id}/deprecate`);
    expect([deprecateEarly.status, deprecateEarly.body.code]).toEqual([409, "invalid_state"]);
    const now = ok(await owner("POST", `${TEMPLATES}/${id}/publish`));
    expect(now).toMatchObject({ id, slug, version: 1, status: "published", isActive: true });
    const again = await owner("POST", `${TEMPLATES}/${id}/publish`);
    expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
    const gone = ok(await owner("POST", `${TEMPLATES}/${id}/deprecate`));
    expect(gone).toMatchObject({ id, status: "deprecated", isActive: false });
    for (const verb of ["publish", "deprecate"]) {
      const refused = await owner("POST", `${TEMPLATES}/${id}/${verb}`);
      expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    }
    const change = await owner("PUT", `${TEMPLATES}/${id}`, { displayName: "Other" });
    expect([change.status, change.body.code]).toEqual([409, "invalid_state"]);
    const data = { slug, version: 1, templateType: "connection", displayName: "An API" };
    expect(await trailOf(started, id)).toMatchObject([
      { type: "template.created", data },
      { type: "template.published", data },
      { type: "template.deprecated", data },
    ]);
  });

  test("a PUT changes a draft itself, and only the given fields", async () => {
    const made = await draft(owner, { ...fetchOrders, slug: fresh("put"), description: "first" });
    const at = `${TEMPLATES}/${made.id}`;
    started.clock.turn(1000);
    const changed = ok(await owner("PUT", at, { displayName: "Orders, new", description: null }));
    expect(changed).toEqual({
      ...made,
      displayName: "Orders, new",
      description: null,
      updatedAt: expect.any(String),
    });
    expect(changed.updatedAt > made.updatedAt).toBe(true);
    for (const body of [{}, { displayName: "Orders, new" }, { status: "draft" }])
      expect(ok(await owner("PUT", at, body))).toEqual(changed);
    const cleared = ok(await owner("PUT", at, { inputDefaults: null }));
    expect(cleared.inputDefaults).toEqual({});
    expect((await trailOf(started, made.id)).slice(1).map(({ type, data }) => [type, data])).toEqual([
      [
        "template.updated",
        {
          changes: [
            { field: "displayName", from: fetchOrders.displayName, to: "Orders, new" },
            { field: "description", from: "first", to: null },
          ],
        },
      ],
      ["template.updated", { changes: [{ field: "inputDefaults", from: { path: "orders" }, to: {} }] }],
    ]);
    for (const field of ["slug", "templateType", "kind", "version", "isActive", "id"])
      expect(faultsOf(await owner("PUT", at, { [field]: "x" }))).toEqual([`body.${field} extra_forbidden`]);
    expect(faultsOf(await owner("PUT", at, { definition: { url: 7 } }))).toEqual([
      "body.definition.url string_type",
    ]);
    expect(faultsOf(await owner("PUT", at, { displayName: null, status: "gone" }))).toEqual([
      "body.displayName string_type",
      "body.status enum",
    ]);
    // Omitted fields matter too: the definition refers to an input that the new schema lacks.
    expect(faultsOf(await owner("PUT", at, { inputJsonSchema: schemaOf({ other: {} }) }))).toEqual([
      "body.definition.url value_error",
    ]);
  });

  test("a PUT on a published one creates the next as a draft, which later ones change", async () => {
    const first = await published(owner, connection(fresh("next")));
    const at = `${TEMPLATES}/${first.id}`;
    expect(ok(await owner("PUT", at, { displayName: first.displayName }))).toEqual(first);
    const second = ok(await owner("PUT", at, { displayName: "Second" }));
    expect(second).toEqual({
      ...first,
      id: expect.any(String),
      displayName: "Second",
      version: 2,
      status: "draft",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(second.id).not.toBe(first.id);
    expect(ok(await owner("GET", at))).toEqual(first);
    expect(ok(await owner("PUT", at, { displayName: "Second" }))).toEqual(second);
    const edited = ok(await owner("PUT", at, { description: "of the second" }));
    expect(edited).toMatchObject({
      id: second.id,
      version: 2,
      displayName: "Second",
      description: "of the second",
    });
    const bySlug = (query = "") => owner("GET", `${TEMPLATES}/slug/${first.slug}${query}`);
    expect((await bySlug()).body.version).toBe(1);
    expect((await bySlug("?version=2")).body).toEqual(edited);
    const none = await bySlug("?version=3");
    expect([none.status, none.body.code]).toEqual([404, "not_found"]);
    expect(faultsOf(await bySlug("?version=0"))).toEqual(["query.version greater_than_equal"]);
    expect(faultsOf(await bySlug("?version=one"))).toEqual(["query.version int_type"]);

    ok(await owner("POST", `${TEMPLATES}/${second.id}/publish`));
    expect((await bySlug()).body.version).toBe(2);
    ok(await owner("POST", `${TEMPLATES}/${second.id}/deprecate`));
    expect((await bySlug()).body.version).toBe(1);
    const third = ok(await owner("PUT", at, { displayName: "Third" }));
    expect(third.version).toBe(3);
    const events = await trailOf(started, third.id);
    expect(events.map(({ type, data }) => [type, data.version, data.fromVersion])).toEqual([
      ["template.created", 3, 1],
    ]);
  });

  test("are created by number, next to those that aren't drafts", async () => {
    const slug = fresh("numbered");
    const create = (more: object) => owner("POST", TEMPLATES, { ...connection(slug), ...more });
    const refusal = async (more: object) => {
      const { status, body } = await create(more);
      return [status, body.code];
    };
    const third = created(await create({ version: 3 }));
    expect(third).toMatchObject({ slug, version: 3, status: "draft" });
    expect(await refusal({ version: 4 })).toEqual([409, "invalid_state"]);
    ok(await owner("POST", `${TEMPLATES}/${third.id}/publish`));
    expect(await refusal({})).toEqual([409, "slug_taken"]);
    expect(await refusal({ version: 3 })).toEqual([409, "conflict"]);
    expect(await refusal({ version: 4, kind: "shop" })).toEqual([409, "slug_taken"]);
    expect(faultsOf(await create({ version: 0 }))).toEqual(["body.version greater_than_equal"]);
    expect(created(await create({ version: 1 }))).toMatchObject({ version: 1, status: "draft" });
    const at = `${TEMPLATES}/${third.id}`;
    expect(ok(await owner("PUT", at, { displayName: "Into the draft" })).version).toBe(1);
    const shipped = await owner("POST", TEMPLATES, { ...connection("github"), version: 2 });
    expect([shipped.status, shipped.body.code]).toEqual([409, "slug_taken"]);
  });

  test("fifty concurrent changes of a published one create one draft", async () => {
    const { id, slug } = await published(owner, connection(fresh("race")));
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => owner("PUT", `${TEMPLATES}/${id}`, { displayName: `Name ${n}` })),
    );
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.version} ${body.id}`)).size).toBe(1);
    expect(replies[0]?.body.version).toBe(2);
    const none = await owner("GET", `${TEMPLATES}/slug/${slug}?version=3`);
    expect(none.status).toBe(404);
  });

  test("status in a PUT does what publish and deprecate do", async () => {
    const { id } = await draft(owner, connection(fresh("status")));
    const put = (body: object, template = id) => owner("PUT", `${TEMPLATES}/${template}`, body);
    expect((await put({ status: "deprecated" })).body.code).toBe("invalid_state");
    expect(ok(await put({ displayName: "Renamed", status: "published" }))).toMatchObject({
      id,
      displayName: "Renamed",
      status: "published",
    });
    expect((await put({ status: "draft" })).body.code).toBe("invalid_state");
    const next = ok(await put({ displayName: "Again", status: "published" }));
    expect(next).toMatchObject({ version: 2, status: "published" });
    const both = await put({ displayName: "Old", status: "deprecated" });
    expect([both.status, both.body.detail]).toEqual([
      409,
      expect.stringMatching(
        /^Other changes would make version 3 .* To deprecate version 1, set only its status\.$/,
      ),
    ]);
    const old = ok(await put({ status: "deprecated" }));
    expect(old).toMatchObject({ id, status: "deprecated" });
    expect(ok(await put({ displayName: "Renamed", status: "deprecated" }))).toEqual(old);
    expect((await put({ displayName: "Other" })).body.code).toBe("invalid_state");
    const types = async (template: string) => (await trailOf(started, template)).map(({ type }) => type);
    expect(await types(id)).toEqual([
      "template.created",
      "template.updated",
      "template.published",
      "template.deprecated",
    ]);
    expect(await types(next.id)).toEqual(["template.created", "template.published"]);
  });
});

describe("deleting", () => {
  test("removes a version that nothing was created from", async () => {
    const { id, slug } = await published(owner, connection(fresh("delete")));
    const { id: second } = ok(await owner("PUT", `${TEMPLATES}/${id}`, { displayName: "Second" }));
    const gone = await owner("DELETE", `${TEMPLATES}/${second}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await owner("GET", `${TEMPLATES}/${second}`)).status).toBe(404);
    expect((await owner("DELETE", `${TEMPLATES}/${second}`)).status).toBe(404);
    expect((await trailOf(started, second)).at(-1)).toMatchObject({
      type: "template.deleted",
      data: { slug, version: 2 },
    });
    expect((await owner("DELETE", `${TEMPLATES}/${id}`)).status).toBe(204);
    expect((await owner("GET", `${TEMPLATES}/slug/${slug}`)).status).toBe(404);
    expect((await owner("POST", TEMPLATES, connection(slug))).status).toBe(201);
  });

  test("is rejected while something created from it exists, or a bundle names it", async () => {
    const { id, slug } = await published(owner, connection(fresh("used")));
    const named = await published(
      owner,
      bundle(fresh("names"), [
        {
          key: "api",
          type: "connection",
          templateSlug: slug,
          inputs: { baseUrl: "https://x", token: "t0k3n" },
        },
      ]),
    );
    const refused = async (template: string) => {
      const { status, body } = await owner("DELETE", `${TEMPLATES}/${template}`);
      return [status, body?.code];
    };
    expect(await refused(id)).toEqual([409, "in_use"]);
    const { ids } = await install(owner, named.slug);
    const { ids: bundled } = await install(
      owner,
      (
        await published(
          owner,
          bundle(fresh("inline"), [
            {
              key: "a",
              type: "action",
              definition: { kind: "http_request", definition: { url: "https://x" } },
            },
          ]),
        )
      ).slug,
    );
    const inline = (await owner("GET", `/api/v1/actions/${bundled.a}`)).body.templateId;
    expect(await refused(inline)).toEqual([409, "in_use"]);
    expect((await owner("DELETE", `/api/v1/actions/${bundled.a}`)).status).toBe(204);
    expect((await refused(inline))[0]).toBe(204);
    expect((await owner("DELETE", `${TEMPLATES}/${named.id}`)).status).toBe(204);
    expect(await refused(id)).toEqual([409, "in_use"]);
    expect((await owner("DELETE", `/api/v1/connections/${ids.api}`)).status).toBe(204);
    expect((await refused(id))[0]).toBe(204);
  });
});

describe("reading templates", () => {
  test("lists them newest first, by type and status, page by page", async () => {
    await using other = await startApp({ engine: false });
    const call = other.owner;
    const list = async (query = "") => ok(await call("GET", `${TEMPLATES}${query}`));
    expect(await list()).toEqual({ templates: [], total: 0 });
    const first = await published(call, connection("one"));
    const second = await draft(call, { ...fetchOrders, slug: "two" });
    const third = ok(await call("PUT", `${TEMPLATES}/${first.id}`, { displayName: "One again" }));
    expect(await list()).toEqual({ templates: [third, second, first], total: 3 });
    expect(await list("?limit=1&offset=1")).toEqual({ templates: [second], total: 3 });
    expect(await list("?offset=9")).toEqual({ templates: [], total: 3 });
    expect(await list("?template_type=connection&status=draft")).toEqual({ templates: [third], total: 1 });
    expect(await list("?status=deprecated")).toEqual({ templates: [], total: 0 });
    const refusal = async (query: string) => faultsOf(await call("GET", `${TEMPLATES}${query}`));
    expect(await refusal("?limit=0&offset=-1&template_type=agent&status=gone&surprise=1")).toEqual([
      "query.limit greater_than_equal",
      "query.offset greater_than_equal",
      "query.status enum",
      "query.surprise extra_forbidden",
      "query.template_type enum",
    ]);
    expect(await refusal("?limit=101")).toEqual(["query.limit less_than_equal"]);
    expect((await call("GET", `${TEMPLATES}?limit=100`)).status).toBe(200);
  });

  test("shows built-in ones by ID and slug, and rejects every change of them", async () => {
    const shown = ok(await owner("GET", `${TEMPLATES}/slug/quick-start`));
    expect(shown).toMatchObject({ templateType: "bundle", status: "published", version: 2, isActive: true });
    expect(ok(await owner("GET", `${TEMPLATES}/${shown.id}`))).toEqual(shown);
    const at = `${TEMPLATES}/${shown.id}`;
    for (const [method, path, body] of [
      ["PUT", at, { displayName: "Mine" }],
      ["PUT", at, {}],
      ["DELETE", at],
      ["POST", `${at}/publish`],
      ["POST", `${at}/deprecate`],
    ] as const) {
      const { status, body: told } = await owner(method, path, body);
      expect([method, status, told.code]).toEqual([method, 409, "invalid_state"]);
    }
  });

  test("viewers can read, members can change; others' templates don't exist", async () => {
    const viewer = (await join(started, "viewer")).call;
    const member = (await join(started, "member")).call;
    const stranger = (await neighbour(started)).call;
    const made = await draft(member, connection(fresh("roles")));
    const at = `${TEMPLATES}/${made.id}`;
    const calls: [string, string, unknown?][] = [
      ["PUT", at, { displayName: "x" }],
      ["POST", `${at}/publish`],
      ["POST", `${at}/deprecate`],
      ["DELETE", at],
    ];
    expect((await viewer("GET", TEMPLATES)).status).toBe(200);
    expect(ok(await viewer("GET", at))).toEqual(made);
    expect((await viewer("POST", TEMPLATES, connection("x"))).status).toBe(403);
    for (const [method, path, body] of calls) expect((await viewer(method, path, body)).status).toBe(403);
    for (const [method, path, body] of [["GET", at], ...calls] as [string, string, unknown?][]) {
      const correlation = { "x-correlation-id": "same-for-both-calls" };
      const foreign = await stranger(method, path, body, correlation);
      const random = await stranger(method, path.replace(made.id, RANDOM_ID), body, correlation);
      expect([foreign.status, foreign.text]).toEqual([404, random.text]);
    }
    expect((await stranger("GET", `${TEMPLATES}/slug/${made.slug}`)).status).toBe(404);
    expect((await stranger("GET", TEMPLATES)).body).toEqual({ templates: [], total: 0 });
    expect((await stranger("POST", TEMPLATES, connection(made.slug))).status).toBe(201);
    expect(faultsOf(await owner("GET", `${TEMPLATES}/nonsense`))).toEqual(["path.template_id uuid_parsing"]);
    expect((await started.anonymous("GET", TEMPLATES)).status).toBe(401);
    for (const [method, path, body] of calls)
      expect((await member(method, path, body)).status).toBeLessThan(300);
  });
});

describe("an action from a template", () => {
  test("gets its definition, filled in with the defaults; templates for runs stay", async () => {
    const template = await published(
      owner,
      action(
        fresh("act"),
        { url: "https://x.test/{{inputs.path}}?id={{payload.id}}", body: "{{inputs.body}}", method: "POST" },
        {
          inputJsonSchema: schemaOf({ path: {}, body: {} }),
          inputDefaults: { path: "a{{payload}}", body: [1] },
        },
      ),
    );
    const make = (more: object) =>
      owner("POST", "/api/v1/actions", {
        kind: "http_request",
        name: "Made",
        templateId: template.id,
        ...more,
      });
    const made = await make({});
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      templateId: template.id,
      definition: { url: 'https://x.test/a{{"{{"}}payload}}?id={{payload.id}}', body: [1], method: "POST" },
    });
    const own = await make({ definition: { url: "https://y.test" } });
    expect(own.body).toMatchObject({ templateId: template.id, definition: { url: "https://y.test" } });
    expect(faultsOf(await make({ kind: "conditional_branch" }))).toEqual(["body.kind value_error"]);
    const { kind, ...rest } = action(fresh("any"), { url: "https://x.test/{{inputs.path}}" });
    const any = await published(owner, { ...rest, inputDefaults: { path: "p" } });
    expect([kind, any.kind]).toEqual(["http_request", null]);
    expect((await make({ templateId: any.id })).body).toMatchObject({
      kind: "http_request",
      definition: { url: "https://x.test/p" },
    });
    expect(faultsOf(await make({ templateId: any.id, kind: "web_search" }))).toEqual([
      "body.definition.query missing",
      "body.definition.url extra_forbidden",
    ]);
    const named = bundle("b", [{ key: "a", type: "action", templateSlug: any.slug }]);
    expect(faultsOf(await owner("POST", TEMPLATES, named))).toEqual([
      "body.definition.components.0.templateSlug value_error",
    ]);
    expect(faultsOf(await make({ templateId: RANDOM_ID }))).toEqual(["body.templateId not_found"]);
    ok(await owner("POST", `${TEMPLATES}/${template.id}/deprecate`));
    expect((await make({})).body.code).toBe("invalid_state");
  });
});
