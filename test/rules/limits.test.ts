import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { operations as mounted } from "../../src/server.ts";
import { type Answer, startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, NOBODY } from "../support/work.ts";
import { type Described, readDocument, type Schema } from "./document.ts";
import { fill, makeThings } from "./things.ts";

let app: Awaited<ReturnType<typeof startApp>>;
let described: Described[];
beforeAll(async () => {
  app = await startApp({ engine: false, env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" } });
  described = (await readDocument(app)).operations;
});
afterAll(() => app[Symbol.asyncDispose]());

/** One limit of one field: the last valid value, and the first invalid one, both within a whole body. */
interface Bound {
  way: string[];
  last: unknown;
  beyond: unknown;
  type: string;
}

/** Definitions are checked by kind below. What a config change accepts depends on its resource. */
const heldElsewhere = (path: string) => [
  "definition",
  "steps",
  "action",
  ...(path.includes("{") ? ["config"] : []),
];

/**
 * Every limit in a schema, at any depth; `around` puts a value of it into the whole body.
 * Skips the fields in `skipped`.
 */
function* boundsOf(
  schema: Schema,
  way: string[] = [],
  around: (value: unknown) => unknown = (value) => value,
  skipped: readonly string[] = [],
): Generator<Bound> {
  const {
    anyOf,
    oneOf,
    properties = {},
    items,
  } = schema as {
    anyOf?: Schema[];
    oneOf?: Schema[];
    properties?: Record<string, Schema>;
    items?: Schema;
  };
  for (const member of [...(anyOf ?? []), ...(oneOf ?? [])])
    if (member.title !== "Draft") yield* boundsOf(member, way, around, skipped); // A draft may exceed some.
  for (const [name, field] of Object.entries(properties))
    if (!skipped.includes(name))
      yield* boundsOf(
        field,
        [...way, name],
        (value) => around({ ...marksOf(properties), [name]: value }),
        skipped,
      );
  if (items) yield* boundsOf(items, [...way, "0"], (value) => around([value]), skipped);
  const text = (size: number) => "a".repeat(size);
  const list = (size: number) => Array.from({ length: size }, () => sample(items ?? {}));
  for (const [name, make, step, type] of [
    ["maxLength", text, 1, "string_too_long"],
    ["minLength", text, -1, "string_too_short"],
    ["maxItems", list, 1, "too_long"],
    ["minItems", list, -1, "too_short"],
    ["maximum", Number, 1, "less_than_equal"],
    ["minimum", Number, -1, "greater_than_equal"],
  ] as const) {
    const at = schema[name];
    if (typeof at !== "number" || !Number.isSafeInteger(at + step)) continue;
    if ((name === "minLength" || name === "minItems") && at === 0) continue;
    yield { way, last: around(make(at)), beyond: around(make(at + step)), type };
  }
}

/** The fields that distinguish one member of a union from the others. */
const marksOf = (properties: Record<string, Schema>) =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => {
      const values = field.const === undefined ? field.enum : [field.const];
      return Array.isArray(values) && values.length === 1 ? [[name, values[0]]] : [];
    }),
  );

/** A value of about the right type. */
function sample({ type, enum: values, format, anyOf }: Schema): unknown {
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return sample(anyOf[0] as Schema);
  const own = [type].flat()[0];
  if (own === "string") return format === "uuid" ? NOBODY : "aaaa";
  if (own === "integer" || own === "number") return 1;
  return own === "object" ? {} : own === "array" ? [] : null;
}

/** Returns whether the response has a fault of this type at this place. */
function isTold({ status, body }: Answer, loc: readonly string[], type: string): boolean {
  if (status !== 422) return false;
  return body.detail.some(
    (fault: { loc: string[]; type: string }) => fault.type === type && fault.loc.join() === loc.join(),
  );
}

/** Whether it is a bug; a missing setting of the operator isn't. */
const isOurs = ({ status }: Answer) => status >= 500 && status !== 503;

let asked = 0;
const address = () => ({ "x-forwarded-for": `198.51.${(++asked >> 8) & 255}.${asked & 255}` });
const somewhere = (path: string) =>
  fill(
    path,
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => (name?.endsWith("id") ? NOBODY : "raw")),
  );

describe("the lists have the limits in the interface", () => {
  const LISTS: readonly [path: string, maximum: number, fallback: number][] = [
    ["/api/v1/actions", 100, 100],
    ["/api/v1/templates", 100, 100],
    ["/api/v1/artifacts", 100, 100],
    ["/api/v1/connections", 100, 50],
    ["/api/v1/api-catalog", 100, 50],
    ["/api/v1/bundles", 100, 50],
    ["/api/v1/action-runs", 100, 50],
    ["/api/v1/automations", 100, 50],
    ["/api/v1/sessions", 200, 50],
    ["/api/v1/agents/specs", 100, 100],
    ["/api/v1/chat/threads", 100, 20],
    ["/api/v1/chat/threads/{thread_id}/messages", 200, 50],
    ["/api/v1/events", 200, 50],
    ["/api/v1/action-runs/{run_id}/logs", 1000, 200],
    ["/api/v1/datasets/{layer}/{dataset}/preview", 1000, 50],
  ];
  test.each(LISTS)("%s: 1 to %d, otherwise %d", (path, maximum, fallback) => {
    const operation = described.find((each) => each.method === "GET" && each.path === path);
    const limit = operation?.parameters.find(({ name }) => name === "limit");
    expect(limit?.schema).toMatchObject({ type: "integer", minimum: 1, maximum, default: fallback });
  });

  test("stream-smoke: 1 to 900 seconds, every 1 to 30", () => {
    const smoke = described.find(({ path }) => path === "/api/v1/stream-smoke");
    const named = Object.fromEntries(smoke?.parameters.map(({ name, schema }) => [name, schema]) ?? []);
    expect(named.seconds).toMatchObject({ type: "integer", minimum: 1, maximum: 900, default: 140 });
    expect(named.intervalSeconds).toMatchObject({ type: "number", minimum: 1, maximum: 30, default: 10 });
  });
});

test("every parameter of every query is accepted up to its limits and no further", async () => {
  let count = 0;
  for (const { method, path, parameters, responses } of described) {
    if (responses["200"]?.content?.["text/event-stream"]) continue; // It wouldn't end.
    if (path.startsWith("/iceberg/")) continue; // Its errors have that protocol's own format.
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    if (!inQuery.some(({ schema }) => [...boundsOf(schema)].length > 0)) continue;
    const side = { app, organizationId: app.ids.organizationId, userId: app.ids.userId, call: app.owner };
    const at = fill(path, await makeThings(side, path));
    for (const { name, schema } of inQuery) {
      for (const { way, last, beyond, type } of boundsOf(schema)) {
        if (Array.isArray(last)) continue;
        const ask = (value: unknown) =>
          app.owner(method, `${at}?${new URLSearchParams({ [name]: String(value) })}`, undefined, address());
        const loc = ["query", name, ...way];
        const [within, without] = [await ask(last), await ask(beyond)];
        expect([method, path, loc, last, isTold(within, loc, type), isOurs(within)]).toEqual([
          method,
          path,
          loc,
          last,
          false,
          false,
        ]);
        expect([method, path, loc, beyond, isTold(without, loc, type)]).toEqual([
          method,
          path,
          loc,
          beyond,
          true,
        ]);
        if (name === "limit" || name === "offset") {
          const needed = inQuery.filter(({ required }) => required);
          if (needed.length === 0) expect([path, name, last, within.status]).toEqual([path, name, last, 200]);
        }
        count++;
      }
    }
  }
  expect(count).toBeGreaterThan(40);
}, 120_000);

for (const { method, path, oauth } of mounted.filter(({ body }) => body !== undefined)) {
  test(`${method} ${path}: every field of the body is accepted up to its limits and no further`, async () => {
    const operation = described.find((each) => each.method === method && each.path === path);
    const schema = operation?.requestBody?.content["application/json"]?.schema ?? {};
    for (const { way, last, beyond, type } of boundsOf(schema, [], undefined, heldElsewhere(path))) {
      const ask = (value: unknown) => app.owner(method, somewhere(path), value, address());
      const loc = ["body", ...way];
      const [within, without] = [await ask(last), await ask(beyond)];
      expect([loc, isTold(within, loc, type), isOurs(within)]).toEqual([loc, false, false]);
      if (oauth) expect([without.status, typeof without.body.error]).toEqual([400, "string"]);
      else expect([loc, isTold(without, loc, type)]).toEqual([loc, true]);
    }
  }, 120_000);
}

deepTest(
  "every field of every kind's definition is accepted up to its limits and no further",
  async () => {
    let count = 0;
    const { body } = await app.owner("GET", "/api/v1/action-kinds");
    for (const { kind, definitionSchema } of body.kinds as { kind: string; definitionSchema: Schema }[]) {
      for (const { way, last, beyond, type } of boundsOf(definitionSchema)) {
        const ask = (value: unknown) =>
          app.owner("POST", ACTIONS, { kind, name: "Bounds", definition: value });
        const loc = ["body", "definition", ...way];
        const [within, without] = [await ask(last), await ask(beyond)];
        expect([kind, loc, isTold(within, loc, type), isOurs(within)]).toEqual([kind, loc, false, false]);
        expect([kind, loc, isTold(without, loc, type)]).toEqual([kind, loc, true]);
        count++;
      }
    }
    expect(count).toBeGreaterThan(20);
  },
  120_000,
);

test("a body can have as many bytes as the operator allows, and no more, announced or not", async () => {
  await using small = await startApp({ engine: false, env: { WEIR_MAX_BODY_BYTES: "2048" } });
  const bodyOf = (bytes: number) => {
    const empty = JSON.stringify({ kind: "conditional_branch", name: "x", definition: { pad: "" } });
    return empty.replace('""', `"${"x".repeat(bytes - empty.length)}"`);
  };
  for (const [bytes, status] of [
    [2048, 422],
    [2049, 413],
  ] as const) {
    expect(
      (await small.owner("POST", ACTIONS, Buffer.from(bodyOf(bytes)), { "content-type": "application/json" }))
        .status,
    ).toBe(status);
    const chunks = async function* () {
      yield Buffer.from(bodyOf(bytes).slice(0, 1000));
      yield Buffer.from(bodyOf(bytes).slice(1000));
    };
    const streamed = await fetch(small.origin + ACTIONS, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${small.token}` },
      body: chunks() as unknown as ReadableStream,
    });
    expect(streamed.status).toBe(status);
    await streamed.text();
  }
});
