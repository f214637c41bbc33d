import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { read } from "../../src/base/shape.ts";
import { ROLES } from "../../src/resources/organizations/table.ts";
import { mountedRoutes, operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";

type Thing = Record<string, unknown>;

interface Documented {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  "x-role": string;
  security: Thing[];
  parameters: {
    $ref?: string;
    name: string;
    in: string;
    required: boolean;
    description: string;
    schema: Thing;
  }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Thing; example?: unknown }> };
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, { schema: Thing; example?: unknown }> }
  >;
}

let weir: Awaited<ReturnType<typeof startApp>>;
let document: {
  openapi: string;
  info: Thing;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Documented>>;
  components: Record<string, Record<string, Thing>>;
};
const all = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
const resolved = (schema: Thing | undefined): Thing | undefined =>
  typeof schema?.$ref === "string"
    ? document.components.schemas?.[schema.$ref.split("/").at(-1) ?? ""]
    : schema;
const one = (method: string, path: string) => document.paths[path]?.[method.toLowerCase()] as Documented;

beforeAll(async () => {
  weir = await startApp({ engine: false });
  const { status, body } = await weir.anonymous("GET", "/openapi.json");
  expect(status).toBe(200);
  document = body;
});
afterAll(() => weir[Symbol.asyncDispose]());

/** Every object in a document, with its path. */
function* objectsIn(value: unknown, way = "#"): Generator<[way: string, object: Thing]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [way, value as Thing];
  for (const [key, item] of Object.entries(value)) {
    if (key !== "example" && key !== "examples") yield* objectsIn(item, `${way}/${key}`);
  }
}

describe("the document", () => {
  test("is OpenAPI 3.1 and describes every operation that is mounted", () => {
    expect(document.openapi).toBe("3.1.0");
    const named = all().map(({ method, path }) => `${method} ${path}`);
    expect(named.sort()).toEqual(
      mountedRoutes()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
  });

  test("names each operation once, with a summary, a description, and a tag with a description", () => {
    const ids = all().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map((tag) => tag.name);
    for (const { operation } of all()) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z0-9]+$/);
      expect(operation.summary.length).toBeGreaterThan(3);
      expect(operation.description).toMatch(/\.$/);
      expect(operation.tags.every((tag) => tags.includes(tag))).toBe(true);
    }
    for (const tag of document.tags) expect(tag.description).not.toStartWith("Operations on");
  });

  test("says for each operation who can use it, and with which credentials", () => {
    const roles = ["public", "any", "signature", "operator", ...ROLES];
    for (const { operation } of all()) {
      expect(roles).toContain(operation["x-role"]);
      const isOpen = ["public", "signature"].includes(operation["x-role"]);
      expect(operation.security.length === 0).toBe(isOpen);
      expect("401" in operation.responses || isOpen).toBe(true);
    }
    expect(one("GET", "/api/v1/events")["x-role"]).toBe("viewer");
    expect(one("DELETE", "/api/v1/datasets/{layer}/{dataset}")["x-role"]).toBe("member");
    expect(Object.keys(document.components.securitySchemes ?? {})).toEqual(["bearer", "apiKey", "cookie"]);
    expect(one("GET", "/api/v1/users/me").security).not.toContainEqual({ apiKey: [] });
  });

  test("resolves every reference, and contains nothing unreferenced", () => {
    const text = JSON.stringify(document);
    for (const [way, thing] of objectsIn(document)) {
      if (typeof thing.$ref !== "string") continue;
      const found = thing.$ref
        .slice(2)
        .split("/")
        .reduce<unknown>((at, name) => (at as Thing | undefined)?.[name], document);
      expect(found, way).toBeDefined();
    }
    for (const kind of ["responses", "parameters", "schemas"]) {
      for (const name of Object.keys(document.components[kind] ?? {}))
        expect(text).toContain(`"#/components/${kind}/${name}"`);
    }
  });

  test("declares each parameter of a path, and none twice", () => {
    for (const { path, operation } of all()) {
      const own = operation.parameters.filter((parameter) => !parameter.$ref);
      const inPath = own.filter((parameter) => parameter.in === "path");
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inPath.every((parameter) => parameter.required)).toBe(true);
      const names = own.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(names).size).toBe(names.length);
      for (const parameter of own) expect(parameter.description).toMatch(/\S/);
    }
  });

  test("describes every input field and parameter, with more than its name and an article", () => {
    const seen = new Set<unknown>();
    const silent: string[] = [];
    const check = (way: string, { description }: Thing) => {
      const name = way.split(/[/?]/).at(-1) ?? "";
      const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
      const isSaying = typeof description === "string" && /\S/.test(description);
      if (!isSaying || new RegExp(`^the ${words}\\.?$`, "i").test(description)) silent.push(way);
    };
    const visit = (value: unknown, start: string) => {
      for (const [way, object] of objectsIn(value, start)) {
        if (/\/(if|then|dependentSchemas)\b/.test(way)) continue; // Conditions on fields defined elsewhere.
        const component = resolved(object);
        if (component !== object && !seen.has(component)) {
          seen.add(component);
          visit(component, String(object.$ref));
        }
        const fields = way.endsWith("/properties") ? {} : (object.properties ?? {});
        for (const [name, field] of Object.entries(fields as Record<string, Thing>))
          if (!("$ref" in field) && Object.keys(field).length > 0) check(`${way}/${name}`, field);
      }
    };
    for (const { method, path, operation } of all()) {
      for (const parameter of operation.parameters)
        if (!parameter.$ref) check(`${method} ${path}?${parameter.name}`, { ...parameter });
      visit(operation.requestBody?.content, `${method} ${path}`);
    }
    expect(silent).toEqual([]);
  });

  test("shows each error with its body", () => {
    const validation = document.components.responses?.Unprocessable as Documented["responses"][string];
    expect(validation.content?.["application/json"]?.schema).toEqual({
      $ref: "#/components/schemas/ValidationError",
    });
    const conflict = document.components.responses?.Conflict as Documented["responses"][string];
    expect(conflict.content?.["application/json"]).toMatchObject({
      schema: {
        allOf: [
          { $ref: "#/components/schemas/Problem" },
          {
            properties: { code: { enum: expect.arrayContaining(["conflict", "slug_taken", "last_owner"]) } },
          },
        ],
      },
      example: { detail: expect.any(String), code: expect.any(String), correlationId: expect.any(String) },
    });
    const responses = one("POST", "/api/v1/artifacts").responses;
    expect(Object.keys(responses)).toEqual([
      "201",
      "400",
      "401",
      "403",
      "408",
      "409",
      "413",
      "415",
      "422",
      "429",
      "500",
      "503",
    ]);
    expect(one("GET", "/api/v1/events").responses["410"]).toEqual({ $ref: "#/components/responses/Gone" });
    expect(Object.keys(one("GET", "/api/v1/artifacts/{artifact_id}").responses)).toContain("404");
    for (const { path, operation } of all())
      if (path.startsWith("/api/v1/")) expect(Object.keys(operation.responses)).toContain("422");
  });

  test("has schemas whose required fields exist, and whose defaults can be omitted in a request", () => {
    for (const [way, thing] of objectsIn(document)) {
      if (!Array.isArray(thing.required) || typeof thing.properties !== "object") continue;
      const fields = Object.keys(thing.properties as Thing);
      for (const name of thing.required) expect(fields, way).toContain(name);
    }
    const query = one("POST", "/api/v1/query").requestBody?.content["application/json"]?.schema;
    expect(resolved(query)).toMatchObject({ required: ["sql"], additionalProperties: false });
    const limit = one("GET", "/api/v1/events").parameters.find(({ name }) => name === "limit");
    expect(limit).toMatchObject({
      required: false,
      schema: { type: "integer", minimum: 1, maximum: 200, default: 50 },
    });
  });

  test("distinguishes null from optional", () => {
    const artifact = one("GET", "/api/v1/artifacts/{artifact_id}").responses["200"]?.content?.[
      "application/json"
    ]?.schema;
    expect(resolved(artifact)).toMatchObject({ properties: { title: { type: ["string", "null"] } } });
    expect(resolved(artifact)?.required).toContain("title");
    const events = one("GET", "/api/v1/events").responses["200"]?.content?.["application/json"]?.schema;
    expect(resolved(events)?.required).toEqual(["items", "hasMore"]);
  });

  test("has for each body an example that matches its shape", () => {
    for (const operation of operations) {
      const documented = one(operation.method, operation.path);
      const request = documented.requestBody?.content["application/json"];
      if (operation.body) expect(read(operation.body, request?.example, [operation.path]).faults).toEqual([]);
      const success = documented.responses[operation.status ?? 200]?.content?.["application/json"];
      if (operation.response)
        expect(read(operation.response, success?.example, [operation.path]).faults).toEqual([]);
    }
  });

  test("marks streams, downloads and uploads as such", () => {
    expect(Object.keys(one("GET", "/api/v1/events/stream").responses["200"]?.content ?? {})).toEqual([
      "text/event-stream",
    ]);
    expect(one("GET", "/api/v1/events/stream").parameters).toContainEqual({
      $ref: "#/components/parameters/LastEventId",
    } as never);
    const turns = "/api/v1/chat/threads/{thread_id}/turns/stream";
    const headersOf = (method: string) =>
      one(method, turns).parameters.flatMap(({ $ref }) => ($ref ? [$ref.split("/").at(-1)] : []));
    expect(headersOf("POST")).toEqual(["OrganizationId", "UserTimezone"]);
    expect(headersOf("GET")).toEqual(["OrganizationId"]);
    expect(
      Object.keys(one("PUT", "/api/v1/connections/{connection_id}/files").requestBody?.content ?? {}),
    ).toEqual(["application/octet-stream"]);
    expect(one("DELETE", "/api/v1/artifacts/{artifact_id}").responses["204"]).toEqual({
      description: expect.any(String),
    });
    for (const path of ["/api/v1/artifacts", "/api/v1/sync/run"])
      expect(one("POST", path).parameters).toContainEqual({
        $ref: "#/components/parameters/IdempotencyKey",
      } as never);
  });
});

describe("the page that shows it", () => {
  test("loads its own two files and the document, and nothing else", async () => {
    const { status, headers, text } = await weir.anonymous("GET", "/docs");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toStartWith(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
    );
    expect(policy).not.toContain("unsafe");
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\bon\w+=|\bstyle=|https?:\/\//);
    const linked = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
    expect(linked.sort()).toEqual([
      "/docs/docs.css",
      "/docs/docs.js",
      "/docs/index",
      "/openapi.json",
      "/openapi.json",
    ]);
    for (const [path, type] of [
      ["/docs/docs.js", "text/javascript"],
      ["/docs/docs.css", "text/css"],
    ] as const) {
      const file = await weir.anonymous("GET", path);
      expect([file.status, file.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
      expect(file.text).not.toMatch(/https?:\/\/|innerHTML|\beval\b|@import|url\(/);
    }
  });
});
