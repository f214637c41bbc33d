import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type Json, type JsonObject } from "../../src/base/json.ts";
import { builtIns } from "../../src/resources/template-library/built-in/all.ts";
import { type Client, startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { terminal } from "./configuration.ts";

const EXAMPLES = join(import.meta.dir, "..", "..", "examples");

/** A value for a variable with this name. */
const sampleFor = (name: string): string =>
  /URL/.test(name)
    ? `https://x.example.com/${name.toLowerCase()}`
    : /MAIL_(FROM|TO)/.test(name)
      ? "ada@example.com"
      : /HOST/.test(name)
        ? "db.example.com"
        : `value-of-${name.toLowerCase()}`;

const variablesIn = (text: string) =>
  [...text.matchAll(/(?<!\$)\$\{([A-Z][A-Z0-9_]*)\}/g)].map(([, name]) => String(name));

/** Fills in the required fields of a schema. */
function filled(schema: Json | undefined, connectionId = ""): JsonObject {
  const { required = [], properties = {} } = isObject(schema ?? null) ? (schema as JsonObject) : {};
  return Object.fromEntries(
    (required as string[]).map((name) => {
      const field = (properties as Record<string, JsonObject>)[name] ?? {};
      const [example] = (field.examples ?? []) as Json[];
      const [first] = (field.enum ?? []) as Json[];
      if (field.format === "uuid") return [name, connectionId];
      const isUrl = field.format === "uri" || /url/i.test(name);
      return [
        name,
        field.default ?? example ?? first ?? (isUrl ? "https://a.example.com" : "a-value-that-is-long"),
      ];
    }),
  );
}

const LISTS = {
  connections: "connections",
  actions: "actions",
  automations: "automations",
  queries: "queries",
  dashboards: "dashboards",
  "agents/specs": "specs",
  "api-catalog": "items",
  templates: "templates",
} as const;

/** Fields that differ between servers: IDs, times, and users. */
const OWN = /^(id|.*At|createdBy|updatedBy|templateId|tenantId|organizationId|latestRun|nextRunAt|version)$/;

/** Everything that lists show, with names instead of IDs. */
async function shownBy({
  owner,
  origin,
}: {
  owner: Client;
  origin: string;
}): Promise<Record<string, string[]>> {
  const rows = new Map<string, JsonObject[]>();
  for (const [path, field] of Object.entries(LISTS)) {
    const { body } = await owner(
      "GET",
      `/api/v1/${path}?limit=100&offset=0${path === "templates" ? "&built_in=false" : ""}`,
    );
    rows.set(path, body[field]);
  }
  const names = new Map(
    [...rows.values()].flat().map((row) => [String(row.id), String(row.slug ?? row.name)]),
  );
  const plain = (value: Json): Json => {
    if (typeof value === "string") return names.get(value) ?? value.replace(origin, "");
    if (Array.isArray(value)) return value.map(plain);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !OWN.test(key))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, one]) => [key, plain(one)]),
    );
  };
  return Object.fromEntries(
    [...rows].map(([path, found]) => [path, found.map((row) => JSON.stringify(plain(row))).sort()]),
  );
}

test("all examples, bundles and built-in templates are transferred to an empty server unchanged", async () => {
  using here = folder();
  await using one = await startApp({ engine: false });
  await using two = await startApp({ engine: false });
  const from = terminal(join(here.path, "one"), one);
  const to = terminal(join(here.path, "two"), two);
  const texts = readdirSync(EXAMPLES)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(join(EXAMPLES, name), "utf8"));
  for (const name of texts.flatMap(variablesIn)) from.env[name] = sampleFor(name);
  const examples = await from.apply("-f", EXAMPLES, "--yes");
  expect([examples.code, examples.err]).toEqual([0, ""]);
  const { body: database } = await one.owner("GET", "/api/v1/connections/slug/reports-database");
  for (const { slug, displayName, templateType, definition, inputJsonSchema } of builtIns) {
    const made =
      templateType === "connection"
        ? await one.owner("POST", "/api/v1/connections", {
            name: displayName,
            templateSlug: slug,
            config: filled(definition.configSchema),
            credentials: filled(definition.credentialsSchema),
          })
        : await one.owner("POST", `/api/v1/bundles/${slug}/install`, {
            inputs: filled(inputJsonSchema, database.id),
          });
    expect([slug, made.status, made.text]).toEqual([
      slug,
      templateType === "connection" ? 201 : 200,
      made.text,
    ]);
  }
  const { out: file, err } = await from.export();
  expect(err).toBe("");
  for (const name of variablesIn(file)) to.env[name] = from.env[name] ?? sampleFor(name);
  const applied = await to.give(file);
  expect([applied.code, applied.err]).toEqual([0, ""]);
  expect((await to.export()).out).toBe(file);
  expect(await shownBy(two)).toEqual(await shownBy(one));
});
