import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { KINDS } from "../../src/cli/apply/kinds.ts";
import { listSchemas, schemaDocument, schemaUrn } from "../../src/resources/openapi/schemas.ts";
import { builtIns } from "../../src/resources/template-library/built-in/all.ts";
import { blocks, docs } from "../docs/blocks.ts";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { schemaMisfits, validatorOf } from "../support/schemas.ts";
import { branch, NOBODY } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let document: {
  components: { schemas: Record<string, Schema> };
  paths: Record<string, Record<string, Operation>>;
};
beforeAll(async () => {
  weir = await startApp({ engine: false });
  document = JSON.parse((await weir.anonymous("GET", "/openapi.json")).text);
});
afterAll(() => weir[Symbol.asyncDispose]());

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Every schema that a request body leads to, each once, with its path. */
function written(): { at: string; schema: Schema; field: string | null }[] {
  const found: { at: string; schema: Schema; field: string | null }[] = [];
  const seen = new Set<string>();
  const walk = (schema: Schema, at: string, field: string | null): void => {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split("/").at(-1) ?? "";
      if (seen.has(name)) return;
      seen.add(name);
      return walk(document.components.schemas[name] ?? {}, name, null);
    }
    found.push({ at, schema, field });
    for (const [name, inner] of Object.entries(schema.properties ?? {})) walk(inner, `${at}.${name}`, name);
    for (const inner of [schema.items, schema.additionalProperties])
      if (typeof inner === "object") walk(inner, `${at}[]`, null);
    for (const inner of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? []))
      walk(inner, at, null);
  };
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, { requestBody }] of Object.entries(item))
      for (const [type, { schema }] of Object.entries(requestBody?.content ?? {}))
        if (type === "application/json") walk(schema, `${method} ${path}`, null);
  return found;
}

describe("input schemas", () => {
  test("are typed: no object in a request accepts arbitrary fields without saying what it is", () => {
    const open = written().filter(
      ({ schema }) =>
        schema.additionalProperties === true ||
        (schema.type === "object" && !schema.properties && schema.additionalProperties === undefined),
    );
    expect(open.map(({ at }) => at)).toEqual([]);
  });

  test("have a description and an example for each field", () => {
    const isNamedOnly = (schema: Schema) => Object.keys(schema).length === 0; // Of which one is required.
    const fields = written().filter(({ field, schema }) => field !== null && !isNamedOnly(schema));
    expect(fields.length).toBeGreaterThan(1000);
    expect(fields.filter(({ schema }) => !schema.description).map(({ at }) => at)).toEqual([]);
    // The referenced schema has its own.
    const refers = ({ anyOf = [] }: Schema): boolean =>
      anyOf.some((one) => one.$ref !== undefined || refers(one));
    const bare = fields.filter(({ schema }) => !schema.examples?.length && !refers(schema));
    expect(bare.map(({ at }) => at)).toEqual([]);
  });

  deepTest("have matching examples", () => {
    const { components } = document;
    const fields = written().filter(({ schema }) => schema.examples !== undefined);
    const ids = fields.map((_, at) => `field${at}`);
    const all = {
      type: "object",
      properties: Object.fromEntries(
        fields.map(({ schema }, at) => [ids[at], { type: "array", items: withoutExamples(schema) }]),
      ),
      components,
    };
    const misfits = validatorOf(all, { allErrors: true })(
      Object.fromEntries(fields.map(({ schema }, at) => [ids[at], schema.examples])),
    );
    const places = new Set(misfits.map((text) => Number(/^\/field(\d+)/.exec(text)?.[1])));
    expect([...places].map((at) => [fields[at]?.at, fields[at]?.schema.examples])).toEqual([]);
  });

  test("are unions by trigger, kind, provider and type", async () => {
    const { schemas } = document.components;
    const tags = (name: string, field: string) =>
      [
        ...new Set(
          (schemas[name]?.oneOf ?? schemas[name]?.anyOf ?? []).map((one) => constOf(one.properties?.[field])),
        ),
      ]
        .filter((value) => value !== undefined)
        .sort();
    const { kinds } = (await weir.owner("GET", "/api/v1/action-kinds")).body;
    const { providers } = (await weir.owner("GET", "/api/v1/connection-providers")).body;
    expect(tags("AutomationCreate", "triggerType")).toEqual([
      "event",
      "form",
      "manual",
      "schedule",
      "webhook",
    ]);
    expect(tags("ActionCreate", "kind")).toEqual(kinds.map(({ kind }: { kind: string }) => kind).sort());
    expect(tags("AutomationStep", "kind")).toEqual(kinds.map(({ kind }: { kind: string }) => kind).sort());
    expect(tags("ConnectionCreate", "provider")).toEqual(
      providers.map(({ id }: { id: string }) => id).sort(),
    );
    expect(tags("TemplateCreate", "templateType")).toEqual(["action", "bundle", "connection"]);
  });
});

const constOf = (schema: Schema | undefined) => (schema as { const?: string } | undefined)?.const;
const withoutExamples = ({ examples: _, ...schema }: Schema): Schema => schema;

describe("the JSON Schemas for editors", () => {
  test("are served to anyone, each at its $id, and match those of weir schema", async () => {
    for (const { name } of listSchemas()) {
      const { status, body } = await weir.anonymous("GET", `/api/v1/schemas/${name}`);
      expect([name, status, body.$id]).toEqual([name, 200, `${weir.origin}/api/v1/schemas/${name}`]);
      expect(body.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
      expect(JSON.stringify(body)).not.toMatch(/"x-|components\/schemas|"additionalProperties":true/);
    }
    const { status, body } = await weir.anonymous("GET", "/api/v1/schemas/workflow");
    expect([status, body.code, body.detail]).toEqual([
      404,
      "not_found",
      expect.stringContaining("automation, action, connection, template, bundle, agent-spec, config"),
    ]);
  });

  test("match every built-in bundle and template", () => {
    const misfits = builtIns.flatMap(({ slug, displayName, templateType, definition, ...rest }) =>
      schemaMisfits("template", {
        slug,
        displayName,
        templateType,
        definition,
        inputJsonSchema: rest.inputJsonSchema ?? {},
      }).map((fault) => `${slug}: ${fault}`),
    );
    expect(misfits.slice(0, 20)).toEqual([]);
    for (const { templateType, definition } of builtIns)
      if (templateType === "bundle") expect(schemaMisfits("bundle", definition)).toEqual([]);
  });

  test("match every example in the documents", () => {
    const NAMES = {
      kind: "action",
      triggerType: "automation",
      provider: "connection",
      templateType: "template",
    };
    const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
    let count = 0;
    for (const doc of docs) {
      for (const text of blocks(doc, "json")) {
        const example = JSON.parse(text.replaceAll("CONNECTION", id));
        const field = Object.keys(NAMES).find((name) => name in example) as keyof typeof NAMES | undefined;
        if (field === undefined) continue;
        count++;
        expect([doc.path, text, schemaMisfits(NAMES[field], example)]).toEqual([doc.path, text, []]);
      }
      for (const text of blocks(doc, "markdown")) {
        const frontMatter = parse(/^---\n(.*?)^---$/ms.exec(text)?.[1] ?? "");
        expect([doc.path, schemaMisfits("agent-spec", frontMatter)]).toEqual([doc.path, []]);
      }
      for (const text of blocks(doc, "yaml")) {
        const file = parse(text);
        if (file?.weir !== undefined)
          expect([doc.path, schemaMisfits("config", file)]).toEqual([doc.path, []]);
      }
    }
    expect(count).toBeGreaterThan(20);
  });

  test("match every example workspace", () => {
    const files = [...new Bun.Glob("examples/**/*.yaml").scanSync()];
    expect(files.length).toBeGreaterThan(5);
    for (const file of files)
      expect([file, schemaMisfits("config", parse(readFileSync(file, "utf8")))]).toEqual([file, []]);
  });

  const action = (kind: string, definition: object) => ({ kind, name: "A", definition });
  const webhook = (config: object) => {
    const action = { kind: "conditional_branch", definition: branch() };
    return { name: "A", triggerType: "webhook", config: { path: "a", action, ...config } };
  };
  const extract = (resource: object) => action("dlt_extract", { dataset: "shop", resources: [resource] });
  const into = (output: object) =>
    action("duckdb_transform", {
      sql: "SELECT 1 AS id",
      output: { layer: "marts", dataset: "a", ...output },
    });
  const call = (more: object) => action("call_automation", more);
  test.each<[string, string, object, object]>([
    [
      "a form needs its schema",
      "action",
      action("approval_gate", { title: "A?", decisionType: "form_input" }),
      action("approval_gate", { title: "A?", decisionType: "form_input", formSchema: { type: "object" } }),
    ],
    ["a call names one automation", "action", call({ automationId: NOBODY, slug: "a" }), call({ slug: "a" })],
    ["a call names an automation", "action", call({ input: 1 }), call({ automationId: NOBODY })],
    [
      "a merge needs its key",
      "action",
      into({ writeDisposition: "merge", primaryKey: [] }),
      into({ writeDisposition: "merge", primaryKey: ["id"] }),
    ],
    ["a resource needs a name or a spec", "action", extract({ primaryKey: ["id"] }), extract({ spec: "a" })],
    [
      "an expectation expects something",
      "automation",
      webhook({ expect: {} }),
      webhook({ expect: { minRows: 1 } }),
    ],
    [
      "a preset says itself what is signed",
      "automation",
      webhook({ signaturePreset: "github", requireTimestamp: true }),
      webhook({ requireTimestamp: true }),
    ],
  ])("express dependencies between fields like the server: %s", async (_, name, wrong, right) => {
    expect(schemaMisfits(name, wrong)).not.toEqual([]);
    expect(schemaMisfits(name, right)).toEqual([]);
    expect((await weir.owner("POST", `/api/v1/${name}s`, wrong)).status).toBe(422);
  });

  test("have every section and field that weir apply reads, and no others", () => {
    const { properties } = schemaDocument("config", schemaUrn("config")) as unknown as {
      properties: Record<string, Schema>;
    };
    const { weir: _, values: __, ...sections } = properties;
    const fieldsOf = ({ items = {} }: Schema) => {
      const variants = items.oneOf ?? items.anyOf ?? [items];
      return [...new Set(variants.flatMap((one) => Object.keys(one.properties ?? {})))].sort();
    };
    expect(
      Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, fieldsOf(section)])),
    ).toEqual(
      Object.fromEntries(
        KINDS.map(({ section, key, fields }) => [
          section,
          [...new Set([key, ...Object.keys(fields)])].sort(),
        ]),
      ),
    );
  });

  test("reject a misspelled field, wherever it is", () => {
    const automation = (config: object) => ({ name: "Orders", triggerType: "schedule", config });
    const schedule = { cron: "0 7 * * *" };
    const step = { key: "load", kind: "duckdb_transform", definition: { sql: "SELECT 1" } };
    expect(schemaMisfits("automation", automation({ schedule, steps: [step] }))).toEqual([]);
    for (const wrong of [
      automation({ schedule: { ...schedule, timeZone: "UTC" }, steps: [step] }),
      automation({ schedule, steps: [{ ...step, dependOn: [] }] }),
      automation({ schedule, steps: [{ ...step, definition: { sql: "SELECT 1", outputs: {} } }] }),
      automation({ schedule, steps: [step], alert: {} }),
      automation({ steps: [step] }),
      { ...automation({ schedule, steps: [step] }), trigger: "schedule" },
    ])
      expect(schemaMisfits("automation", wrong)).not.toEqual([]);
    const connection = { name: "Shop", provider: "postgres", config: { host: "db", database: "shop" } };
    expect(schemaMisfits("connection", { ...connection, credentials: { user: "ada" } })).toEqual([]);
    expect(schemaMisfits("connection", { ...connection, credentials: { username: "ada" } })).not.toEqual([]);
    expect(schemaMisfits("connection", connection)).not.toEqual([]);
  });
});
