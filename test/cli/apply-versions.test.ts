import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import { folder } from "../support/shell.ts";
import { created } from "../support/work.ts";
import { terminal } from "./configuration.ts";

type Owner = Awaited<ReturnType<typeof startApp>>["owner"];

const TEMPLATES = "/api/v1/templates";

const callTo = (path: string) => ({ url: `https://shop.example/${path}` });

/** Publishes an action template with this slug. Returns the ID of its first version. */
async function publish(owner: Owner, slug: string): Promise<string> {
  const { id } = created(
    await owner("POST", TEMPLATES, {
      slug,
      displayName: slug,
      templateType: "action",
      kind: "http_request",
      definition: callTo("one"),
    }),
  );
  expect((await owner("POST", `${TEMPLATES}/${id}/publish`)).status).toBe(200);
  return id;
}

/** Creates the next version, and publishes it if requested. */
async function next(owner: Owner, id: string, path: string, status?: "published"): Promise<string> {
  const { status: code, body } = await owner("PUT", `${TEMPLATES}/${id}`, {
    definition: callTo(path),
    ...(status ? { status } : {}),
  });
  expect(code).toBe(200);
  return body.id;
}

const actionOf = async (owner: Owner, name: string, templateId: string) =>
  created(await owner("POST", "/api/v1/actions", { name, kind: "http_request", templateId }));

/** Returns the template that an action on a server was created from. */
async function originOf(owner: Owner, action: string) {
  const { body } = await owner("GET", `/api/v1/actions/slug/${action}`);
  const { body: template } = await owner("GET", `${TEMPLATES}/${body.templateId}`);
  return [template.version, template.status, template.definition.url];
}

describe("versions of templates in configuration files", () => {
  deepTest(
    "arrive at an empty server with their numbers, status and what was created from them",
    async () => {
      using here = folder();
      await using one = await startApp({ engine: false });
      await using two = await startApp({ engine: false });
      const { owner } = one;
      const old = await publish(owner, "old-call");
      await actionOf(owner, "Old", old);
      await next(owner, old, "draft");
      await owner("POST", `${TEMPLATES}/${old}/deprecate`);
      const call = await publish(owner, "call");
      await actionOf(owner, "First", call);
      const second = await next(owner, call, "two", "published");
      await actionOf(owner, "Second", second);
      await owner("POST", `${TEMPLATES}/${second}/deprecate`);
      const third = await next(owner, call, "three", "published");
      await next(owner, third, "four");
      const api = created(
        await owner("POST", TEMPLATES, {
          slug: "api",
          displayName: "API",
          templateType: "connection",
          definition: { http: { baseUrl: "https://one.example", auth: { type: "none" } } },
        }),
      );
      await owner("POST", `${TEMPLATES}/${api.id}/publish`);
      created(
        await owner("POST", "/api/v1/connections", { name: "Shop", templateSlug: "api", credentials: {} }),
      );
      await owner("PUT", `${TEMPLATES}/${api.id}`, {
        definition: { http: { baseUrl: "https://two.example", auth: { type: "none" } } },
        status: "published",
      });
      const parts = await publish(owner, "parts");
      const chosen = await next(owner, parts, "chosen", "published");
      await next(owner, chosen, "later", "published");
      created(
        await owner("POST", TEMPLATES, {
          slug: "bundle",
          displayName: "Bundle",
          templateType: "bundle",
          definition: {
            components: [{ key: "part", type: "action", templateSlug: "parts", templateVersion: 2 }],
          },
        }),
      );

      const { out: file, err } = await terminal(join(here.path, "one"), one).export();
      expect(err).toBe("");
      const shell = terminal(join(here.path, "two"), two);
      const applied = await shell.give(file);
      expect([applied.err, applied.code]).toEqual(["", 0]);
      expect((await shell.export()).out).toBe(file);
      expect((await shell.give(file)).out).toEndWith("No changes.");
      for (const action of ["old", "first", "second"])
        expect([action, await originOf(two.owner, action)]).toEqual([action, await originOf(owner, action)]);
      const { body: part } = await two.owner("GET", `${TEMPLATES}/slug/parts?version=2`);
      expect(part).toMatchObject({ status: "published", definition: callTo("chosen") });
      const { body: draft } = await two.owner("GET", `${TEMPLATES}/slug/call?version=4`);
      expect(draft).toMatchObject({ status: "draft", definition: callTo("four") });
      const { body: shop } = await two.owner("GET", "/api/v1/connections/slug/shop");
      expect((await two.owner("GET", `${TEMPLATES}/${shop.templateId}`)).body.version).toBe(1);
      expect((await shell.give(file, "--prune")).out).toEndWith("No changes.");
      const { body: first } = await two.owner("GET", "/api/v1/actions/slug/first");
      expect((await two.owner("DELETE", `/api/v1/actions/${first.id}`)).status).toBe(204);
      expect((await shell.give(file)).out).toContain("1 to create, 0 to update, 0 to delete");
      const emptied = await shell.give("weir: 1\ntemplates: []\nactions: []\nconnections: []\n", "--prune");
      expect([emptied.err, emptied.code]).toEqual(["", 0]);
      expect((await two.owner("GET", TEMPLATES)).body.total).toBe(0);
    },
  );

  test("are only named if a file needs them, and a published one can't be edited by its number", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const call = await publish(app.owner, "call");
    await next(app.owner, call, "two", "published");
    const shell = terminal(here.path, app);
    const { out: file } = await shell.export();
    expect(file).not.toContain("version");
    const edited = file.replace("/two", "/three");
    expect((await shell.give(edited)).code).toBe(0);
    expect((await shell.give(edited)).out).toEndWith("No changes.");
    const numbered = (path: string) =>
      edited.replace("slug: call", "slug: call\n    version: 3").replace("/three", path);
    expect((await shell.give(numbered("/three"))).out).toEndWith("No changes.");
    const refused = await shell.give(numbered("/four"));
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining(
        "Version 3 of template call is published and can't be edited. Add a version 4, or omit version.",
      ),
    ]);
    const added = await shell.give(numbered("/four").replace("version: 3", "version: 4"));
    expect([added.err, added.code]).toEqual(["", 0]);
    expect((await app.owner("GET", `${TEMPLATES}/slug/call`)).body).toMatchObject({
      version: 4,
      definition: callTo("four"),
    });
  });

  test("of a built-in template only need its slug", async () => {
    using here = folder();
    await using one = await startApp({ engine: false });
    await using two = await startApp({ engine: false });
    const token = "a-token-of-github-that-is-long";
    const github = { name: "GitHub", templateSlug: "github", credentials: { token } };
    created(await one.owner("POST", "/api/v1/connections", github));
    const { out: file } = await terminal(join(here.path, "one"), one).export();
    expect(file).toContain("template: github");
    const shell = terminal(join(here.path, "two"), two);
    shell.env.GITHUB_TOKEN = token;
    const applied = await shell.give(file);
    expect([applied.err, applied.code]).toEqual(["", 0]);
    expect((await shell.export()).out).toBe(file);
  });
});
