import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";
import { services } from "../../src/resources/template-library/built-in/connections/all.ts";
import { DescribedService, startDescribed } from "../peers/described-api.ts";
import { ok, published, TEMPLATES } from "../support/bundles.ts";
import { CONNECTIONS } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { created } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

deepTest(
  "a service is found by name and connected by form, and one of its lists is loaded",
  async () => {
    const { page, go, heading, troubles, weir } = seen;
    await using peer = await startDescribed();
    const { definition } = ok(await weir.owner("GET", `${TEMPLATES}/slug/gitea`));
    const baseUrl = `${peer.origin}/gitea`;
    const config = { baseUrl, owner: "ada", repository: "engine" };
    const service = new DescribedService(definition as HttpTemplate, config, { token: "a-token-of-ada" });
    peer.services.set("gitea", service);
    service.grow(8);

    await go("/connections/new");
    const cards = page.locator("main li");
    await page
      .getByRole("button", { name: /^GitHub / })
      .first()
      .waitFor();
    expect(await troubles()).toEqual([]);
    expect(await cards.count()).toBeGreaterThan(60);
    await page.getByLabel("Search connectors").fill("forgejo releases");
    await page.waitForFunction(() => document.querySelectorAll("main li").length === 1);
    await page.getByRole("button", { name: /^Gitea and Forgejo/ }).click();
    await page.getByLabel("Access token").fill("a-token-of-ada");
    await page.getByLabel("Base URL").fill(baseUrl);
    await page.getByLabel("Owner").fill("ada");
    await page.getByLabel("Repository").fill("engine");
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Create and verify" }).click();
    await heading("Gitea and Forgejo");
    await page.locator("h1 + span", { hasText: "Active" }).waitFor();
    await page.getByRole("link", { name: "Load issues" }).waitFor();
    await page.getByRole("button", { name: "http. releases" }).click();
    await page.getByText("string").first().waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("link", { name: "Load issues" }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Create and run" }).click();
    await page.waitForURL(/\/runs\//);
    await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
    const { body: run } = await weir.owner("GET", `/api/v1/action-runs/${page.url().split("/").at(-1)}`);
    expect(run.result.tables).toMatchObject([{ table: "issues", rows: 8, cursor: { start: null } }]);
    expect(run.definition.resources).toEqual([{ spec: "issues", writeDisposition: "merge" }]);
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

deepTest(
  "every built-in service is found by name, with its icon, and asks for everything in one form",
  async () => {
    const { page, go } = seen;
    expect(services.length).toBeGreaterThanOrEqual(60);
    await go("/connections/new");
    const search = page.getByLabel("Search connectors");
    for (const { slug, displayName: name, definition } of services) {
      const { http, configSchema, credentialsSchema } = definition as unknown as HttpTemplate;
      await search.fill(name);
      const card = page.locator("main li button", { has: page.getByText(name, { exact: true }) }).last();
      await card.waitFor();
      const mark = card.locator("[aria-hidden]").first();
      expect(await mark.textContent()).toMatch(/^[\p{L}\p{N}]{1,2}$/u);
      await card.dispatchEvent("click"); // Real mouse clicks are tested above, and take four times as long.
      await page.waitForURL(`**/connections/new?template=${slug}`);
      const isSigned = http.auth.type === "oauth2_authorization_code";
      await page
        .getByRole("button", { name: isSigned ? "Create and sign in" : "Create and verify" })
        .waitFor();
      const fields = [configSchema, credentialsSchema].flatMap((schema) =>
        Object.values((schema?.properties ?? {}) as Record<string, { title: string }>),
      );
      const labels = await page.locator("main form label").allTextContents();
      for (const { title } of fields)
        expect([slug, labels.some((label) => label.startsWith(title))]).toEqual([slug, true]);
      expect(await page.locator("main form").count()).toBe(1);
      await page.goBack();
      await search.waitFor();
    }
    expect(seen.faults).toEqual([]);
  },
  120_000,
);

deepTest(
  "a custom template is listed with the services, and its connection is edited by the template's form",
  async () => {
    const { page, go, heading, troubles, weir } = seen;
    const text = { type: "string", title: "Base address" };
    const own = {
      slug: "ours",
      displayName: MARKUP,
      templateType: "connection",
      definition: {
        http: { baseUrl: "{{config.baseUrl}}", auth: { type: "none" } },
        configSchema: { type: "object", properties: { baseUrl: text }, required: ["baseUrl"] },
      },
    };
    await published(weir.owner, own);
    await go("/connections/new");
    await page.getByRole("button", { name: /onerror.*Yours/ }).click();
    await page.getByLabel("Base address").fill("http://127.0.0.1:9/");
    await page.getByRole("button", { name: "Create and verify" }).click();
    await heading(MARKUP);
    await page.getByRole("alert").first().waitFor();
    await page.getByLabel("Base address").fill("http://127.0.0.1:9/api");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Connection saved").first().waitFor();
    const { connections } = ok(await weir.owner("GET", CONNECTIONS));
    expect(connections).toContainEqual(
      expect.objectContaining({ config: { baseUrl: "http://127.0.0.1:9/api" } }),
    );
    expect(await troubles()).toEqual([]);
    expect(
      await seen.alsoDarkAndNarrow("/connections/new", "/connections/new?template=github-sign-in"),
    ).toEqual([]);
  },
  120_000,
);

test("a test names the field whose text isn't JSON, and tests nothing", async () => {
  const { page, go, weir } = seen;
  const { id } = await published(weir.owner, {
    slug: "with-json",
    displayName: "With JSON",
    templateType: "connection",
    definition: {
      http: { baseUrl: "http://127.0.0.1:9/", auth: { type: "none" } },
      configSchema: { type: "object", properties: { extra: { type: "object", title: "Extra" } } },
    },
  });
  const { id: connection } = created(await weir.owner("POST", CONNECTIONS, { name: "One", templateId: id }));
  let tests = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("/test")) tests++;
  });
  for (const path of ["/connections/new?template=with-json", `/connections/${connection}?tab=settings`]) {
    await go(path);
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Other");
    const extra = page.getByRole("textbox", { name: "Extra" });
    await extra.fill('{ "a": ');
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.locator("textarea:focus[aria-invalid=true]").waitFor();
    expect([tests, await extra.inputValue()]).toEqual([0, '{ "a": ']);
    expect(await extra.evaluate((field) => (field as HTMLTextAreaElement).validationMessage)).toMatch(/JSON/);
  }
});

test("the URL of a missing template says so", async () => {
  await seen.go("/connections/new?template=no-such");
  await seen.page.getByText("Not found").waitFor();
});
