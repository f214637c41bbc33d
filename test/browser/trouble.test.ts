import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { PASSWORD, startApp } from "../support/app.ts";
import { ask } from "../support/decisions.ts";
import { openAs, startLine } from "../support/hands.ts";
import { deepTest, someOf } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { makeAction, makeAutomation } from "../support/work.ts";

let seen: Seen;
const made = { action: "", flow: "", connection: "" };
beforeAll(async () => {
  seen = await openSeen();
  const { owner } = seen.weir;
  made.action = (await makeAction(owner)).id;
  made.flow = (await makeAutomation(owner, { steps: [{ key: "a", actionId: made.action }] })).id;
  const folder = { name: "Files", provider: "local_files" };
  made.connection = (await owner("POST", "/api/v1/connections", folder)).body.id;
});
afterAll(() => seen[Symbol.asyncDispose]());
// An address can sign in ten times a minute, and each test here does so.
beforeEach(() => seen.weir.clock.turn(60_000));

/** Forms: of what, their path, the field to fill in, and the button that submits. */
const FORMS: readonly (readonly [of: string, path: () => string, field: string | RegExp, send: string])[] = [
  ["a new action", () => "/actions/new?kind=conditional_branch", "Name", "Create action"],
  ["an action", () => `/actions/${made.action}`, "Name", "Save"],
  ["a new connection", () => "/connections/new?provider=local_files", "Name", "Create and verify"],
  ["a connection", () => `/connections/${made.connection}?tab=settings`, "Name", "Save"],
  ["an automation", () => `/automations/${made.flow}?tab=edit`, "Description", "Save"],
  ["an approval", () => "/approvals", /^Reason/, "Reject"],
  ["a new template", () => "/templates/new", "Name", "Create draft"],
  ["a new webhook", () => "/webhooks/new", "URL", "Create webhook"],
  ["the organization", () => "/organization", "Name", "Save"],
];

describe("a session that ends during work", () => {
  test.each(someOf(2, FORMS))("loses nothing that was typed: %s", async (_, path, field, send) => {
    const { page, go, weir } = seen;
    if (path() === "/approvals") await ask(weir);
    await go(path());
    const box = page.getByRole("textbox", { name: field, exact: typeof field === "string" }).first();
    await box.fill("Half of what I wanted to say");
    expect((await weir.owner("DELETE", "/api/v1/sessions?exclude_current=false")).status).toBe(200);
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    // No click, since the page may have noticed by itself and show the dialog over the button.
    await page.getByRole("button", { name: send, exact: true }).first().dispatchEvent("click");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await box.inputValue()).toBe("Half of what I wanted to say");
  });
});

deepTest("a page whose code couldn't be loaded appears automatically once the server responds", async () => {
  await using weir = await startApp();
  await using line = await startLine(Number(new URL(weir.origin).port));
  await using ada = await openAs(line.origin, {}, {}, { savesData: false });
  const { page } = ada;
  await page.goto(`${line.origin}/actions/new?kind=conditional_branch`);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Begun too early");
  const isCode = (request: { url(): string }) => /\/assets\/action-[^/]*\.js/.test(request.url());
  const lost = page.waitForEvent("requestfailed", isCode);
  line.cut();
  await lost;
  line.mend();
  await page.getByRole("button", { name: "Create action" }).click();
  await page.getByRole("heading", { name: "Begun too early" }).waitFor();
});

deepTest(
  "when a server is away and returns, the page says so, keeps what was typed, and shows what happened in between",
  async () => {
    await using weir = await startApp();
    await using line = await startLine(Number(new URL(weir.origin).port));
    await using ada = await openAs(line.origin);
    const { page } = ada;
    await page.goto(`${line.origin}/actions/new?kind=conditional_branch`);
    await page.locator("aside [title^='Live']").waitFor();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Written in the dark");
    line.cut();
    await page.locator("aside").getByText("Reconnecting…").waitFor();
    await page.getByRole("button", { name: "Create action" }).click();
    await page.getByRole("alert").getByText("Couldn't reach the server.").waitFor();
    await makeAction(weir.owner, { name: "Made meanwhile" });
    line.mend();
    await page.locator("aside [title^='Live']").waitFor();
    await page.getByRole("button", { name: "Create action" }).click();
    await page.getByRole("heading", { name: "Written in the dark" }).waitFor();
    await page.getByRole("link", { name: "Actions", exact: true }).first().click();
    await page.getByText("Made meanwhile").waitFor();

    // A page that stayed open is updated automatically.
    line.cut();
    await page.locator("aside").getByText("Reconnecting…").waitFor();
    await makeAction(weir.owner, { name: "Made in the second night" });
    line.mend();
    await page.getByText("Made in the second night").waitFor();
  },
  120_000,
);

deepTest(
  "viewers see a notice instead of editors, and the data",
  async () => {
    const { weir } = seen;
    const email = "vera@example.com";
    const { body } = await weir.owner("POST", "/api/v1/organizations/invitations", {
      email,
      roleSlug: "viewer",
    });
    const token = new URL(body.inviteUrl).searchParams.get("token") ?? new URL(body.inviteUrl).hash.slice(1);
    const accepted = await weir.anonymous("POST", "/api/v1/auth/invitations/accept", {
      token: token.replace(/^token=/, ""),
      password: PASSWORD,
      firstName: "Vera",
    });
    expect(accepted.status).toBeLessThan(300);
    await using vera = await openAs(weir.origin, { email });
    const { page, faults } = vera;
    for (const noun of ["actions", "connections", "automations"]) {
      await page.goto(`${weir.origin}/${noun}/new`);
      await page.getByText(`You need the member role to create ${noun}`).waitFor();
      expect(await page.getByRole("button", { name: /^Create/ }).count()).toBe(0);
    }
    await page.goto(`${weir.origin}/automations/${made.flow}/edit`);
    await page.locator("[data-step=a]").click();
    expect(await page.getByRole("button", { name: "Publish" }).count()).toBe(0);
    await page.goto(`${weir.origin}/automations/${made.flow}?tab=edit`);
    await page.getByRole("heading", { name: "Config" }).waitFor();
    await page.goto(`${weir.origin}/actions/${made.action}`);
    await page.getByText("branches").first().waitFor();
    await page.goto(`${weir.origin}/connections/${made.connection}?tab=settings`);
    await page.getByRole("heading", { name: "Configuration" }).waitFor();
    for (const name of ["Save", "Run", "Delete", "Disable", "Enable", "Verify"])
      expect([name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([name, 0]);
    expect(faults).toEqual([]);
  },
  120_000,
);

deepTest("a schema that a form can't draw is edited as JSON, in place of the field", async () => {
  const { page, go, weir, troubles } = seen;
  await ask(weir, {
    title: "An odd question",
    decisionType: "form_input",
    formSchema: {
      type: "object",
      properties: {
        either: {
          anyOf: [
            { type: "object", properties: { a: { type: "number" } } },
            { type: "array", items: {} },
          ],
        },
        any: {},
      },
      required: ["either"],
    },
  });
  await go("/approvals");
  const question = page.getByRole("article").filter({ hasText: "An odd question" });
  const box = (await question.count()) > 0 ? question : page.locator("main");
  await box.getByLabel("Either").fill("[1, 2");
  await box.getByText(/JSON/).first().waitFor();
  await box.getByLabel("Either").fill("[1, 2]");
  expect(await troubles()).toEqual([]);
});

test("a definition is edited by form or as JSON, and both are the same", async () => {
  const { page, go, write } = seen;
  await go("/actions/new?kind=http_request");
  await page.getByLabel("URL").fill("https://example.com/");
  await page.getByRole("button", { name: "JSON" }).click();
  await write("Definition", '{"url": "https://example.org/", "headers": {"x-a": "1"}}');
  await page.getByRole("button", { name: "Form" }).click();
  expect(await page.getByLabel("URL").inputValue()).toBe("https://example.org/");
  expect(await page.getByLabel("Headers: value 1").inputValue()).toBe("1");
  await page.getByRole("button", { name: "JSON" }).click();
  await write("Definition", '{"url": ');
  await page.getByRole("button", { name: "Form", disabled: true }).waitFor();
  await page.getByRole("button", { name: "Create action", disabled: true }).waitFor();
});

deepTest("a page whose code couldn't be loaded works when it is opened again", async () => {
  const { page, weir } = seen;
  let isCut = true;
  const scripts = "**/assets/team-*.js";
  await page.route(scripts, (route) => (isCut ? route.abort() : route.continue()));
  await page.goto(`${weir.origin}/team`);
  await page.getByText("Part of this page failed to load. Reload to try again.").waitFor();
  isCut = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Team", level: 1 }).waitFor();
  await page.unroute(scripts);
});
