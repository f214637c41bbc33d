import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { action, bundle, install, published } from "../support/bundles.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { branch } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

/** A connection to a folder that is an input. */
const FOLDER = {
  key: "files",
  type: "connection",
  name: MARKUP,
  definition: { provider: "local_files", config: { root: "{{inputs.folder}}" } },
};
const INPUTS = {
  type: "object",
  properties: { folder: { type: "string", title: "Folder", minLength: 3, default: "inbox" } },
};

describe("bundles", () => {
  deepTest(
    "an empty home leads to the quick start, which is installed by its form and shows what it created",
    async () => {
      const { page, go, heading, troubles } = seen;
      await go("/");
      await page.getByRole("link", { name: "Install quick start" }).click();
      await heading("Quick start");
      await page.getByLabel("Folder").fill("my-shop");
      expect(await troubles()).toEqual([]);
      await page.getByRole("button", { name: "Install" }).click();
      await page.getByRole("heading", { name: "Installed components" }).waitFor();
      await page.getByRole("button", { name: "Install again" }).waitFor();
      const { automations } = (await seen.weir.owner("GET", "/api/v1/automations")).body;
      const next = page.getByRole("link", { name: /^Open (webhook|automation)$/ });
      expect(await next.getAttribute("href")).toBe(`/automations/${automations[0].id}?tab=webhook`);
      expect(await troubles()).toEqual([]);
      await page.getByText("Copy it now.").waitFor();
      const secret = page.locator("code", { hasText: /^whsec_/ });
      expect(await secret.count()).toBe(1);
      await page.getByText(automations[0].webhookUrl, { exact: true }).waitFor();
      await page.getByText("X-SVC-Signature", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Sign and send" }).click();
      await page
        .getByRole("status")
        .getByText(/^20[02]$/)
        .waitFor();
      expect(await troubles()).toEqual([]);
      await page.reload();
      await next.waitFor();
      expect(await secret.count()).toBe(0);
      const { connections } = (await seen.weir.owner("GET", "/api/v1/connections")).body;
      expect(connections).toMatchObject([{ config: { root: "my-shop" } }]);
      await page.getByRole("link", { name: `${connections[0].name} Connection` }).click();
      await heading(connections[0].name);
      await go("/bundles");
      await page.getByRole("link", { name: /Quick start.*Installed/ }).waitFor();
      expect(await troubles()).toEqual([]);
    },
  );

  deepTest(
    "a custom one reports faults at their fields, and installing it again restores what was deleted",
    async () => {
      const { page, go, heading, troubles, weir } = seen;
      const { id } = await published(
        weir.owner,
        bundle("drop", [FOLDER], { displayName: MARKUP, inputJsonSchema: INPUTS }),
      );
      await go("/bundles");
      await page.getByRole("link", { name: /onerror.*Yours/ }).click();
      await heading(MARKUP);
      await page.getByLabel("Folder").fill("ab");
      await page.keyboard.press("Control+Enter");
      await page.locator("[aria-invalid=true]").waitFor();
      expect(await troubles()).toEqual([]);
      await page.getByLabel("Folder").fill("drop-box");
      await page.keyboard.press("Control+Enter");
      const made = page.getByRole("link", { name: /onerror.*Connection$/ });
      await made.waitFor();
      const first = await made.getAttribute("href");
      await weir.owner("DELETE", `/api/v1${first}`);
      await page.getByText("deleted", { exact: true }).waitFor();
      await page.getByLabel("Folder").fill("drop-box");
      await page.getByRole("button", { name: "Install again" }).click();
      await page.getByRole("heading", { name: "Earlier install" }).waitFor();
      expect(await made.getAttribute("href")).not.toBe(first);
      expect(await troubles()).toEqual([]);
      await page.getByRole("link", { name: "Open template" }).click();
      await page.waitForURL(`**/templates/${id}`);
    },
  );
});

describe("templates", () => {
  deepTest("one is drafted, corrected, published, changed as its next version, and deprecated", async () => {
    const { page, go, heading, troubles, write } = seen;
    await go("/templates/new?type=bundle");
    await page.getByRole("textbox", { name: "Name" }).fill("Inbox");
    await page.getByRole("textbox", { name: "Slug" }).fill("Not a slug");
    await write("Definition", '{"components": [');
    await page.getByRole("alert").getByText(/JSON/).waitFor();
    expect(await page.getByRole("button", { name: "Create draft" }).isDisabled()).toBe(true);
    await write("Definition", JSON.stringify({ components: [{ key: "files", type: "teapot" }] }));
    await page.getByRole("button", { name: "Create draft" }).click();
    await page
      .getByText(/^components\.0/)
      .first()
      .waitFor();
    const slug = page.getByRole("textbox", { name: "Slug" });
    expect(await slug.getAttribute("aria-invalid")).toBe("true");
    expect(await slug.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await troubles()).toEqual([]);
    await slug.fill("inbox");
    await write("Definition", JSON.stringify({ components: [FOLDER] }));
    await page.keyboard.press("Control+Enter");
    await heading("Inbox");
    await page.getByText("Draft", { exact: true }).first().waitFor();

    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Published", { exact: true }).waitFor();
    await page.getByRole("textbox", { name: "Description" }).fill(MARKUP);
    await page.getByRole("button", { name: "Save draft" }).click();
    await page.getByText("Version 2", { exact: true }).first().waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("link", { name: /Version 1/ }).click();
    await page.getByText(/Version 2 is a draft/).waitFor();
    await page.getByRole("button", { name: "Deprecate" }).click();
    await page
      .getByRole("dialog")
      .getByText(/can no longer be used for new installs/)
      .waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Deprecate" }).click();
    await page.getByText("Deprecated", { exact: true }).first().waitFor();
    expect(await page.getByRole("button", { name: /Save/ }).count()).toBe(0);

    await go("/templates?status=draft");
    await page.getByRole("row", { name: /Inbox.*2 Draft/ }).waitFor();
    await page.getByLabel("Status").selectOption("deprecated");
    await page.getByRole("row", { name: /Inbox.*1 Deprecated/ }).click();
    await page.getByRole("button", { name: "Delete version" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL("**/templates");
    expect(await troubles()).toEqual([]);
  });

  deepTest("one that is in use can't be deleted, and a built-in one is read-only", async () => {
    const { page, go, weir, troubles } = seen;
    const config = { steps: [{ key: "go", kind: "conditional_branch", definition: branch() }] };
    const flow = { key: "flow", type: "automation", definition: { triggerType: "manual", config } };
    const used = await published(weir.owner, bundle("used", [flow]));
    await install(weir.owner, "used");
    await go(`/templates/${used.id}`);
    await page.getByRole("button", { name: "Delete version" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText(/is in use: 1 automation created from it/).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await troubles()).toEqual([]);
    const { bundles } = (await weir.owner("GET", "/api/v1/bundles")).body;
    await go(`/templates/${bundles[0].id}`);
    await page.getByText(/Built-in template/).waitFor();
    expect(await page.getByRole("button", { name: "Delete version" }).count()).toBe(0);
    expect(await troubles()).toEqual([]);
  });
});

deepTest("connections and actions are created from published templates by form", async () => {
  const { page, go, heading, troubles, weir } = seen;
  await using api = startReceiver();
  await go("/templates?status=published");
  await heading("Templates");
  await seen.live();
  const { id } = await published(weir.owner, {
    slug: "orders-api",
    displayName: "Orders API",
    templateType: "connection",
    definition: {
      http: { baseUrl: "{{config.baseUrl}}", auth: { type: "bearer" }, verify: { path: "/me" } },
      configSchema: { type: "object", properties: { baseUrl: { type: "string" } }, required: ["baseUrl"] },
      credentialsSchema: { type: "object", properties: { token: { type: "string" } }, required: ["token"] },
    },
  });
  await page.getByRole("row", { name: /Orders API.*Connection 1 Published/ }).click();
  await page.waitForURL(`**/templates/${id}`);
  await page.getByRole("button", { name: "Create and verify" }).click();
  await page.locator("[aria-invalid=true]").first().waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Base URL").fill(api.url);
  await page.getByLabel("Token").fill("a-token-of-the-shop");
  await page.getByRole("button", { name: "Create and verify" }).click();
  await page.waitForURL("**/connections/**");
  await page.getByText("Active", { exact: true }).waitFor();
  expect(api.got.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer a-token-of-the-shop"]);

  const template = await published(
    weir.owner,
    action(
      "ask",
      { url: "https://example.com/{{inputs.path}}" },
      {
        inputDefaults: { path: "orders" },
        inputJsonSchema: { type: "object", properties: { path: { type: "string" } } },
      },
    ),
  );
  await go(`/templates/${template.id}`);
  await page.getByLabel("Connection").selectOption({ label: "None" });
  await page.getByRole("button", { name: "Create action" }).click();
  await page.waitForURL("**/actions/**");
  await heading("Template ask");
  const made = await weir.owner("GET", `/api/v1${new URL(page.url()).pathname}`);
  expect(made.body.definition).toMatchObject({ url: "https://example.com/orders" });
});

deepTest("the palette finds a bundle, and an event leads to its resource", async () => {
  const { page, go, heading, weir } = seen;
  await go("/");
  await heading("Hello, Ada");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("file drop");
  await page.getByRole("option", { name: /File drop to dataset/ }).waitFor();
  await page.keyboard.press("Enter");
  await heading("File drop to dataset");
  await go("/events?type=template.published");
  await page
    .getByRole("button", { name: /Template published/ })
    .first()
    .click();
  await page.getByRole("dialog").getByRole("link").first().click();
  const [event] = (await weir.owner("GET", "/api/v1/events?type=template.published")).body.items;
  const template = await weir.owner("GET", `/api/v1/templates/${event.entity.id}`);
  await heading(template.body.displayName);
});

deepTest("they are readable in dark mode and on a phone", async () => {
  const { templates } = (await seen.weir.owner("GET", "/api/v1/templates")).body;
  expect(
    await seen.alsoDarkAndNarrow(
      "/bundles",
      "/bundles/quick-start",
      "/templates",
      "/templates/new?type=connection",
      `/templates/${templates[0].id}`,
    ),
  ).toEqual([]);
});

test("a bundle that doesn't exist is reported", async () => {
  await seen.go("/bundles/no-such-bundle");
  await seen.page.getByText("Not found").waitFor();
});
