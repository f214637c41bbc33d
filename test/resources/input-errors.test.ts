import { afterAll, beforeAll, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { connections } from "../../src/resources/connections/table.ts";
import { startApp } from "../support/app.ts";
import { makeThread } from "../support/chat.ts";
import { ACTIONS, AUTOMATIONS, branch, created, faultsOf, NOBODY } from "../support/work.ts";

const CONNECTIONS = "/api/v1/connections";
const TEMPLATES = "/api/v1/templates";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

test("an invalid header is reported with the errors of the body", async () => {
  const { at } = await makeThread({ app });
  const turn = await app.owner("POST", `${at}/turns/stream`, { content: 5 }, { "x-user-timezone": "Mars" });
  expect(faultsOf(turn)).toEqual(["body.content string_type", "header.x-user-timezone timezone"]);
  const action = await app.owner("POST", ACTIONS, { name: "x" }, { "idempotency-key": "two words" });
  expect(faultsOf(action)).toEqual(["body.kind missing", "header.Idempotency-Key string_pattern_mismatch"]);
});

test("an update reports what its kind or trigger rejects with the errors of its other fields", async () => {
  const action = created(await app.owner("POST", ACTIONS, { kind: "http_request", name: "Fetch" }));
  const changed = { name: "", definition: { urll: "https://example.com" }, connectionId: NOBODY };
  const work = [
    "body.connectionId not_found",
    "body.definition.url missing",
    "body.definition.urll extra_forbidden",
  ];
  expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/${action.id}`, changed)).sort()).toEqual([
    ...work,
    "body.name string_too_short",
  ]);
  const named = { ...changed, name: "Fetch orders" };
  expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/${action.id}`, named)).sort()).toEqual(work);
  const automation = created(
    await app.owner("POST", AUTOMATIONS, {
      name: "Receive",
      triggerType: "webhook",
      config: { path: "orders", action: { kind: "conditional_branch", definition: branch() } },
    }),
  );
  const other = { status: "on", config: { path: "", allowedIps: ["10.0.0.0/33"] } };
  expect(faultsOf(await app.owner("PATCH", `${AUTOMATIONS}/${automation.id}`, other)).sort()).toEqual([
    "body.config.allowedIps.0 value_error",
    "body.config.path string_too_short",
    "body.status enum",
  ]);
  const connection = created(
    await app.owner("POST", CONNECTIONS, {
      name: "Shop",
      provider: "postgres",
      config: { host: "db.example.com", database: "shop" },
      credentials: { user: "weir" },
    }),
  );
  const settings = { slug: "A B", config: { port: 70_000 }, credentials: { user: null } };
  expect(faultsOf(await app.owner("PATCH", `${CONNECTIONS}/${connection.id}`, settings)).sort()).toEqual([
    "body.config.port less_than_equal",
    "body.credentials.user missing",
    "body.slug string_pattern_mismatch",
  ]);
  const template = created(
    await app.owner("POST", TEMPLATES, {
      slug: "fetch",
      displayName: "Fetch",
      templateType: "action",
      kind: "http_request",
      definition: { url: "https://example.com" },
    }),
  );
  const edited = { displayName: "", definition: {}, inputJsonSchema: { type: 5 } };
  expect(faultsOf(await app.owner("PUT", `${TEMPLATES}/${template.id}`, edited)).sort()).toEqual([
    "body.displayName string_too_short",
    "body.inputJsonSchema.type schema_invalid",
  ]);
  const preferences = { locale: 5, timezone: "Mars/Olympus" };
  expect(faultsOf(await app.owner("PATCH", "/api/v1/users/me/preferences", preferences))).toEqual([
    "body.locale string_type",
    "body.timezone timezone_unknown",
  ]);
});

test("an update without settings is checked although this version doesn't support the provider", async () => {
  const config = { host: "db.example.com", database: "shop" };
  const shop = { name: "Old shop", provider: "postgres", config, credentials: { user: "weir" } };
  const { id } = created(await app.owner("POST", CONNECTIONS, shop));
  await app.app.store.write((db) =>
    db.update(connections).set({ provider: "gone" }).where(eq(connections.id, id)),
  );
  expect(faultsOf(await app.owner("PATCH", `${CONNECTIONS}/${id}`, { name: "" }))).toEqual([
    "body.name string_too_short",
  ]);
});
