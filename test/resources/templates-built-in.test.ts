import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { searchJson } from "../../src/base/jmespath.ts";
import { startApp } from "../support/app.ts";
import { draft, ok, TEMPLATES } from "../support/bundles.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const list = async (query: string) => ok(await app.owner("GET", `${TEMPLATES}?${query}`));
const slugsOf = ({ templates }: { templates: { slug: string }[] }) => templates.map(({ slug }) => slug);

describe("the built-in templates", () => {
  test("are listed by name for an organization that has none, page by page, and after its own for connections", async () => {
    expect(await list("")).toEqual({ templates: [], total: 0 });
    const all = await list("built_in=true&template_type=connection&limit=100");
    expect(all.total).toBe(all.templates.length);
    const names = all.templates.map(({ displayName }: { displayName: string }) => displayName);
    expect(names).toEqual(names.toSorted((a: string, b: string) => a.localeCompare(b)));
    expect(all.templates).toContainEqual(
      expect.objectContaining({ slug: "github", isBuiltIn: true, status: "published", version: 1 }),
    );
    const pages = await Promise.all(
      [0, 3].map((offset) => list(`built_in=true&template_type=connection&limit=3&offset=${offset}`)),
    );
    expect(pages.flatMap(slugsOf)).toEqual(slugsOf(all).slice(0, 6));
    expect(pages[0].total).toBe(all.total);
    const own = { slug: "own", displayName: "Own", templateType: "connection", definition: {} };
    const made = await draft(app.owner, own);
    expect(made.isBuiltIn).toBeUndefined();
    expect(slugsOf(await list(""))).toEqual(["own"]);
    expect((await list("built_in=true&template_type=connection")).total).toBe(all.total);
    const both = await list("template_type=connection&limit=100");
    expect([both.total, slugsOf(both)]).toEqual([all.total + 1, ["own", ...slugsOf(all)]]);
    const beyond = await list("template_type=connection&offset=1&limit=2");
    expect([beyond.total, slugsOf(beyond)]).toEqual([both.total, slugsOf(both).slice(1, 3)]);
    expect(slugsOf(await list("template_type=connection&status=draft"))).toEqual(["own"]);
    expect(slugsOf(await list("template_type=connection&built_in=false"))).toEqual(["own"]);
    expect(slugsOf(await list("built_in=true&template_type=bundle"))).toContain("quick-start");
    expect(await list("built_in=true&status=draft")).toEqual({ templates: [], total: 0 });
  });

  test("are found by words in name, slug and description, like custom ones", async () => {
    expect(slugsOf(await list("built_in=true&q=GRAPHQL linear"))).toEqual(["linear"]);
    expect(slugsOf(await list("built_in=true&q=no such service"))).toEqual([]);
    const body = { slug: "ours", displayName: "100% Ours", templateType: "connection", definition: {} };
    await draft(app.owner, { ...body, description: "Of the Kitchen" });
    expect(slugsOf(await list("q=kitchen 100%25"))).toEqual(["ours"]);
    expect(slugsOf(await list("q=_"))).toEqual([]);
  });

  test("are returned without long fields if a summary is requested", async () => {
    const [short] = (await list("built_in=true&q=linear&summary=true")).templates;
    const [whole] = (await list("built_in=true&q=linear")).templates;
    const { definition, inputDefaults, inputJsonSchema, ...rest } = whole;
    expect(short).toEqual(rest);
    expect(definition).toMatchObject({ http: { baseUrl: "{{config.baseUrl}}" } });
    expect([inputDefaults, inputJsonSchema.type]).toEqual([{}, "object"]);
  });

  test("are shown by slug and ID, and nobody can change, delete or replace them", async () => {
    const template = ok(await app.owner("GET", `${TEMPLATES}/slug/stripe`));
    expect(ok(await app.owner("GET", `${TEMPLATES}/${template.id}`))).toEqual(template);
    for (const [method, path, body] of [
      ["PUT", "", { displayName: "Mine" }],
      ["DELETE", "", undefined],
      ["POST", "/publish", undefined],
      ["POST", "/deprecate", undefined],
    ] as const) {
      const answer = await app.owner(method, `${TEMPLATES}/${template.id}${path}`, body);
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 409, "invalid_state"]);
    }
    const taken = { slug: "stripe", displayName: "Mine", templateType: "connection", definition: {} };
    expect((await app.owner("POST", TEMPLATES, taken)).status).toBe(409);
  });

  test("have unique IDs and slugs, and could be created as they are", async () => {
    const { templates } = await list("built_in=true&template_type=connection&limit=100");
    for (const key of ["id", "slug", "displayName"])
      expect(new Set(templates.map((each: Record<string, string>) => each[key])).size).toBe(templates.length);
    for (const { slug, displayName, templateType, definition } of templates) {
      const body = { slug: `copy-of-${slug}`, displayName, templateType, definition };
      const made = await app.owner("POST", TEMPLATES, body);
      expect([slug, made.status, made.body.detail]).toEqual([slug, 201, undefined]);
    }
  });
});

describe("the lists of built-in connections", () => {
  const listOf = async (slug: string, name: string) =>
    ok(await app.owner("GET", `${TEMPLATES}/slug/${slug}`)).definition.http.resources.find(
      (resource: { name: string }) => resource.name === name,
    );

  test("request what a system omits by default", async () => {
    expect((await listOf("stripe", "subscriptions")).endpoint.params).toEqual({ status: "all" });
    expect((await listOf("linear", "issues")).endpoint.body.query).toContain("includeArchived: true");
    expect((await listOf("odoo", "leads")).endpoint.body.context).toEqual({ active_test: false });
    expect((await listOf("grafana", "folders")).endpoint.params).toEqual({ type: "dash-folder" });
    expect((await listOf("trello", "cards")).endpoint.paginator).toMatchObject({ pageSize: 1_000 });
    expect((await listOf("zendesk", "all_tickets")).spec).toBe("/incremental/tickets/cursor.json");
  });

  test("keep what is to the right of the named columns", async () => {
    const { dataPath } = (await listOf("google-sheets", "rows")).endpoint;
    const values = [Array.from({ length: 28 }, (_, at) => at), ["only one"], []];
    const rows = searchJson({ values }, dataPath) as { [column: string]: unknown }[];
    expect(rows.map(({ a, z, beyond_z }) => [a, z, beyond_z])).toEqual([
      [0, 25, [26, 27]],
      ["only one", null, null],
      [null, null, null],
    ]);
    expect(searchJson({}, dataPath)).toEqual([]);
  });
});
