import { expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { read } from "../../src/base/shape.ts";
import { requestExampleOf } from "../../src/resources/openapi/example.ts";
import { operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { ACTIONS, AUTOMATIONS, branch, created, faultsOf, NOBODY } from "../support/work.ts";

const IDS: Readonly<Record<string, string>> = {
  layer: "raw",
  dataset: "shop",
  name: "automation",
  version: "1",
};

/** Its path, with unknown IDs. */
const placeOf = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => IDS[name] ?? NOBODY);

const isList = ({ type, anyOf = [] }: TSchema) =>
  type === "array" || anyOf.some((each: TSchema) => each.type === "array");

test("a duplicate single-value parameter is rejected, even with the same value", async () => {
  await using app = await startApp({ engine: false });
  let count = 0;
  for (const { method, path, query } of operations) {
    if (!query) continue;
    const example = requestExampleOf(query) as Record<string, unknown>;
    for (const [name, shape] of Object.entries(query.properties)) {
      if (isList(shape)) continue;
      const usual = Object.entries(example).filter(([each, value]) => each !== name && value !== null);
      const search = new URLSearchParams(usual.map(([each, value]) => [each, String(value)]));
      const value = String(shape.default ?? shape.minimum ?? example[name] ?? "x");
      for (const other of [value, `${value}0`]) {
        const twice = `${search}&${name}=${encodeURIComponent(value)}&${name}=${encodeURIComponent(other)}`;
        const { status, body } = await app.owner(
          method,
          `${placeOf(path.replace("{prefix}", app.ids.organizationId))}?${twice}`,
        );
        const told = [method, path, name, status];
        const isIceberg = path.startsWith("/iceberg/"); // Which reports errors in one sentence.
        expect(told).toEqual([method, path, name, isIceberg ? 400 : 422]);
        const places = isIceberg
          ? (body.error.message as string).split("; ")
          : (body.detail as { loc: string[] }[]).map(({ loc }) => loc.join("."));
        expect([...told, places.some((place) => place.startsWith(`query.${name}`))]).toEqual([...told, true]);
        count++;
      }
    }
  }
  expect(count).toBeGreaterThan(200);
}, 120_000);

/** Fields of resources and users that only Weir sets. */
const OWN_FIELDS = {
  id: NOBODY,
  organizationId: NOBODY,
  userId: NOBODY,
  createdBy: NOBODY,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  role: "owner",
  isOperator: true,
  addressProvenAt: "2026-01-01T00:00:00.000Z",
  passwordHash: "x",
  tokenHash: "x",
};

test("a field that only Weir sets is rejected by every operation with a body, and named", async () => {
  await using app = await startApp({ engine: false });
  let count = 0;
  for (const operation of operations) {
    const { method, path, body, bodyExample, query, oauth, audience } = operation;
    const known = (body as TSchema | undefined)?.properties as Record<string, TSchema> | undefined;
    if (!known || oauth || audience === "signature") continue;
    const own = Object.fromEntries(
      Object.entries(OWN_FIELDS).filter(([name]) => !Object.hasOwn(known, name)),
    );
    const given = { ...((bodyExample ?? requestExampleOf(body as TSchema)) as object), ...own };
    const asked = query ? (requestExampleOf(query) as Record<string, unknown>) : {};
    const search = new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)]));
    const reply = await app.owner(method, `${placeOf(path)}?${search}`, given);
    const refused = ((reply.body?.detail ?? []) as { loc: string[]; type: string }[])
      .filter(({ loc, type }) => loc.length === 2 && type === "extra_forbidden")
      .map(({ loc }) => loc[1]);
    expect([method, path, reply.status, ...refused]).toEqual([method, path, 422, ...Object.keys(own)]);
    count++;
  }
  expect(count).toBeGreaterThan(50);
}, 120_000);

test("an operation without a body rejects the fields of one, and accepts an empty one", async () => {
  await using app = await startApp({ engine: false });
  let count = 0;
  for (const { method, path, body, consumes, query } of operations) {
    if (body || consumes || method === "GET") continue;
    const asked = query ? (requestExampleOf(query) as Record<string, unknown>) : {};
    const search = new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)]));
    const address = `${placeOf(path)}?${search}`;
    const refused = await app.owner(method, address, { name: "x", all: true });
    const faults = refused.status === 422 ? faultsOf(refused) : refused.text;
    const told = ["body.name extra_forbidden", "body.all extra_forbidden"];
    expect([method, path, faults]).toEqual([method, path, told]);
    const broken = await app.owner(method, address, "{", { "content-type": "application/json" });
    expect([method, path, broken.status]).toEqual([method, path, 422]);
    count++;
  }
  expect(count).toBeGreaterThan(40);
  const me = "/api/v1/users/me/invitations";
  for (const empty of [undefined, {}, "null"])
    expect((await app.owner("POST", `${me}/${NOBODY}/decline`, empty)).status).toBe(404);
}, 120_000);

test("null in an optional request field without a default is accepted", () => {
  const refused = operations.flatMap(({ method, path, body, oauth }) => {
    const { properties = {}, required = [] } = (body ?? {}) as TSchema;
    if (method !== "POST" || oauth) return [];
    return Object.entries(properties as Record<string, TSchema>)
      .filter(([name, field]) => !required.includes(name) && !("default" in field))
      .filter(([, field]) => read(field, null, []).faults.length > 0)
      .map(([name]) => `${path} ${name}`);
  });
  expect(refused).toEqual([]);
});

test("null means the same as an omitted field in a creation, and clears an optional one in a change", async () => {
  await using app = await startApp({ engine: false });
  const action = { kind: "conditional_branch", definition: branch() };
  const nothing = { slug: null, tags: null, description: null };
  const flow = {
    ...{ name: "Flow", triggerType: "webhook", orchestratorType: null, status: null, ...nothing },
    config: { path: "flow", action, steps: null, secret: null, retries: null, alerts: null, debug: null },
  };
  const made = created(await app.owner("POST", AUTOMATIONS, flow));
  expect([made.status, made.tags, made.config.path]).toEqual(["active", [], "flow"]);
  expect(made.config.secret).toStartWith("whsec_");
  expect(Object.values(made.config)).not.toContain(null);
  const { connectionId, tags } = created(
    await app.owner("POST", ACTIONS, { ...action, name: "Branch", connectionId: null, tags: null }),
  );
  expect([connectionId, tags]).toEqual([null, []]);
  const database = { host: "127.0.0.1", database: "shop", port: null, sslMode: null };
  const credentials = { user: "weir", password: null };
  const connection = { name: "Shop", provider: "postgres", approvalRequired: null, templateId: null };
  const { config } = created(
    await app.owner("POST", "/api/v1/connections", { ...connection, config: database, credentials }),
  );
  expect(config).toMatchObject({ host: "127.0.0.1", database: "shop" });
  const lacking = await app.owner("POST", "/api/v1/connections", {
    ...connection,
    config: database,
    credentials: null,
  });
  expect(faultsOf(lacking)).toEqual(["body.credentials missing"]);

  const tagged = { tags: ["a"] };
  const at = `${AUTOMATIONS}/${made.id}`;
  expect((await app.owner("PATCH", at, tagged)).body.tags).toEqual(["a"]);
  expect((await app.owner("PATCH", at, { tags: null })).body.tags).toEqual([]);
  expect(faultsOf(await app.owner("PATCH", at, { name: null }))).toEqual(["body.name string_type"]);
}, 120_000);
