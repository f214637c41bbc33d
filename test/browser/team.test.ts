import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { PASSWORD } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

describe("the team", () => {
  deepTest("someone is invited by link, joins, and gets another role while watching", async () => {
    const { page, go, heading, troubles, weir } = seen;
    await go("/team");
    await heading("Team");
    await page.getByText("No pending invitations").waitFor();
    await page.getByRole("button", { name: "Invite member" }).click();
    await page.keyboard.type("grace");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").locator("[aria-invalid=true]").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByLabel("Email").fill("grace@example.com");
    await page.getByRole("dialog").getByLabel("Role").selectOption("viewer");
    await page.getByRole("button", { name: "Create invitation" }).click();
    const link = page.getByRole("dialog", { name: "Send this link to grace@example.com" });
    const address = (await link.locator("code").textContent()) ?? "";
    expect(await troubles()).toEqual([]);
    await link.getByRole("button", { name: "Done" }).click();
    await page.getByRole("table", { name: "Invitations" }).getByText("grace@example.com").waitFor();

    const elsewhere = await openBrowser();
    const hers = await elsewhere.open(weir.origin);
    await hers.page.goto(address);
    await hers.page.getByLabel(/Password/).fill(PASSWORD);
    await hers.page.getByLabel("First name").fill(MARKUP);
    await hers.page.getByRole("button", { name: "Accept invitation" }).click();
    await hers.page.getByRole("link", { name: "Open Weir" }).click();
    await hers.page.getByRole("heading", { name: `Hello, ${MARKUP}` }).waitFor();

    for (const [path, text] of [
      ["/webhooks", "Only admins can see webhooks"],
      ["/webhooks/new", "Only admins can see webhooks"],
      ["/access?tab=keys", "Only admins can see API keys"],
      ["/bundles/quick-start", "Installing bundles requires the member role"],
      ["/dead-letters", "No dead letters"],
      ["/templates", "No templates yet"],
      ["/organization", "acme"],
    ] as const) {
      await hers.page.goto(weir.origin + path);
      await hers.page.getByText(text, { exact: true }).or(hers.page.getByText(text)).first().waitFor();
      expect(
        await hers.page.getByRole("button", { name: /^(New (webhook|API key|template)|Save)/ }).count(),
      ).toBe(0);
    }
    await hers.page.goto(`${weir.origin}/team`);
    await hers.page.getByText("You", { exact: true }).waitFor();
    expect(await hers.page.getByRole("combobox").count()).toBe(0);
    expect(hers.faults).toEqual([]);

    await page.getByLabel(`Role of ${MARKUP}`).selectOption("admin");
    await page.getByText(`${MARKUP}: Admin`).waitFor();
    await hers.page.reload();
    await hers.page.getByRole("heading", { name: "Invitations" }).waitFor();
    expect(await hers.page.getByLabel("Role of Ada Lovelace").count()).toBe(0);
    expect(await troubles()).toEqual([]);
    await elsewhere.close();
  });

  deepTest(
    "an invitation is revoked, and a member removed with an explanation of what that means",
    async () => {
      const { page, go, troubles, weir } = seen;
      const { user } = await join(weir, "member");
      await weir.owner("POST", "/api/v1/organizations/invitations", { email: "alan@example.com" });
      await go("/team");
      await page.getByRole("button", { name: "Revoke invitation for alan@example.com" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
      await page.getByText("No pending invitations").waitFor();
      await page.getByRole("button", { name: `Remove ${user.firstName}` }).click();
      await page.getByRole("dialog").getByText("Everything they created is kept.").waitFor();
      expect(await troubles()).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByText(user.email).waitFor({ state: "detached" });
    },
  );

  test("the last owner stays one, and giving up the own role asks for confirmation", async () => {
    const { page, go } = seen;
    await go("/team");
    await page.getByLabel("Role of Ada Lovelace").selectOption("member");
    await page
      .getByRole("dialog")
      .getByText(/won't be able to restore your current role/)
      .waitFor();
    await page.getByRole("button", { name: "Change role" }).click();
    await page.getByText(/^An organization needs at least one owner/).waitFor();
    expect(await page.getByLabel("Role of Ada Lovelace").inputValue()).toBe("owner");
  });
});

describe("access", () => {
  deepTest("a token is created, works, is shown once, and fails once it is revoked", async () => {
    const { page, go, heading, troubles, weir } = seen;
    await go("/access");
    await heading("Access");
    await page.getByRole("button", { name: "New access token" }).click();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").locator("[aria-invalid=true]").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByLabel("Name").fill(MARKUP);
    await page.getByLabel("Expires in").selectOption("30");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Create token" }).click();
    const shown = page.getByRole("dialog", { name: /^Save your access token/ });
    const token = (await shown.locator("code", { hasText: "svc_pat_" }).textContent()) ?? "";
    const asked = () =>
      weir.anonymous("GET", "/api/v1/users/me", undefined, { authorization: `Bearer ${token}` });
    expect((await asked()).body.email).toBe("ada@example.com");
    expect(await troubles()).toEqual([]);
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: /onerror.*in 4 wk/ }).waitFor();
    await go("/access"); // It may have been used after the list was read.
    await page.getByRole("row", { name: /onerror.*in 4 wk\. now/ }).waitFor();
    expect(await page.getByText(token).count()).toBe(0);
    await page.getByRole("button", { name: `Revoke ${MARKUP}` }).click();
    await page
      .getByRole("dialog")
      .getByText(/fail immediately/)
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("row", { name: /onerror/ }).waitFor({ state: "detached" });
    expect((await asked()).status).toBe(401);
  });

  deepTest("an API key is created with a role, works, and is revoked", async () => {
    const { page, go, troubles, weir } = seen;
    await go("/access?tab=keys");
    await page.getByText("No API keys yet").waitFor();
    await page.getByRole("button", { name: "New API key" }).click();
    await page.keyboard.type("Nightly import");
    await page.getByLabel("Role").selectOption("viewer");
    await page.getByRole("button", { name: "Create key" }).click();
    const shown = page.getByRole("dialog", { name: "Save your API key" });
    const key = (await shown.locator("code", { hasText: "svc_key_" }).textContent()) ?? "";
    const asked = (method: string) =>
      weir.anonymous(method, "/api/v1/actions", method === "GET" ? undefined : {}, { "x-api-key": key });
    expect([(await asked("GET")).status, (await asked("POST")).status]).toEqual([200, 403]);
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: /Nightly import.*Viewer/ }).waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Revoke Nightly import" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No API keys yet").waitFor();
    expect((await asked("GET")).status).toBe(401);
  });

  deepTest("other sessions are ended here, and this one continues", async () => {
    const { page, go, troubles, weir } = seen;
    const sign = () =>
      weir.anonymous("POST", "/api/v1/auth/login", { email: "ada@example.com", password: PASSWORD });
    await sign();
    await sign();
    await go("/access?tab=sessions");
    await page.getByRole("row").nth(3).waitFor();
    expect(await troubles()).toEqual([]);
    await page
      .getByRole("button", { name: /^Sign out Bun/ })
      .first()
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Session signed out").waitFor();
    await page.getByRole("button", { name: "Sign out all other sessions" }).click();
    await page.getByText("1 session signed out").waitFor();
    await page.getByRole("row", { name: /Chrome/ }).waitFor();
    expect(await page.getByRole("table", { name: "Sessions" }).getByRole("row").count()).toBe(2);
  });
});

describe("the organization", () => {
  deepTest("its names, plan and rate are changed, and faults appear at their fields", async () => {
    const { page, go, heading, troubles, weir } = seen;
    await neighbour(weir);
    await go("/organization");
    await heading("Organization");
    await page.getByRole("textbox", { name: "Slug" }).fill("Not a slug");
    await page.getByLabel("Plan").selectOption("enterprise");
    await page.getByLabel("Webhooks per minute").fill("many");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[aria-invalid=true]").nth(1).waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("textbox", { name: "Slug" }).fill("acme-works");
    await page.getByLabel("Webhooks per minute").fill("5000");
    await page.getByLabel("Burst").fill("700");
    await page.getByRole("textbox", { name: "Name" }).fill(MARKUP);
    await page.keyboard.press("Control+Enter");
    await page.getByText("Settings saved", { exact: true }).waitFor();
    await page.getByRole("button", { name: MARKUP }).waitFor();
    expect((await weir.owner("GET", "/api/v1/organizations/current")).body).toMatchObject({
      name: MARKUP,
      slug: "acme-works",
      plan: "enterprise",
      webhookRate: { perMinute: 5000, burst: 700 },
    });
    await page.getByText("90 days").waitFor();
    expect(await troubles()).toEqual([]);
  });

  deepTest("another one is created empty, and the switcher leads back", async () => {
    const { page, go, heading, troubles } = seen;
    await go("/");
    await page.getByRole("button", { name: MARKUP }).click();
    await page.getByRole("menuitem", { name: "New organization" }).click();
    await page.getByRole("dialog", { name: "New organization" }).waitFor();
    await page.keyboard.type("Second");
    expect(await troubles()).toEqual([]);
    await page.keyboard.press("Enter");
    await page.locator("header").getByText("Second", { exact: true }).waitFor();
    await page.getByText("Welcome to Weir").waitFor();
    await page.getByRole("button", { name: "Second" }).click();
    await page.getByRole("menuitem", { name: MARKUP }).click();
    await page.locator("header").getByText(MARKUP, { exact: true }).waitFor();
    await go("/organization");
    await page
      .getByRole("listitem")
      .filter({ hasText: "Second" })
      .getByRole("button", { name: "Switch" })
      .click();
    await page.locator("header").getByText("Second", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Second" }).click();
    await page.getByRole("menuitem", { name: MARKUP }).click();
    await heading("Hello, Ada");
    await page.locator("header").getByText(MARKUP, { exact: true }).waitFor();
  });
});

deepTest("they are readable in dark mode and on a phone", async () => {
  expect(
    await seen.alsoDarkAndNarrow(
      "/team",
      "/access",
      "/access?tab=keys",
      "/access?tab=sessions",
      "/organization",
      "/organization?new=yes",
    ),
  ).toEqual([]);
});

deepTest("an owner exports the organization as an archive", async () => {
  const { page, go, heading, troubles } = seen;
  await go("/organization");
  await heading("Organization");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const archive = await saved;
  expect(archive.suggestedFilename()).toMatch(/^[a-z0-9-]+\.tar$/);
  const listed = Bun.spawnSync(["tar", "-tf", await archive.path()])
    .stdout.toString()
    .trim()
    .split("\n");
  expect([listed[0], listed.at(-1)]).toEqual(["organization.jsonl", "manifest.json"]);
  expect(await troubles()).toEqual([]);
});

deepTest("an owner removes an organization by typing its name", async () => {
  const { page, go, heading, troubles, weir } = seen;
  await weir.owner("POST", "/api/v1/organizations", { name: "To go" });
  await go("/organization");
  await heading("Organization");
  await page
    .getByRole("listitem")
    .filter({ hasText: "To go" })
    .getByRole("button", { name: "Switch" })
    .click();
  await page.getByRole("heading", { name: /^Hello/ }).waitFor();
  await go("/organization");
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByLabel("Organization name").fill("To stay");
  await page.getByRole("button", { name: "Remove organization" }).click();
  await page.getByRole("dialog").locator("[aria-invalid=true]").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Organization name").fill("To go");
  await page.getByRole("button", { name: "Remove organization" }).click();
  await page.getByRole("heading", { name: /^Hello/ }).waitFor();
  const { items } = (await weir.owner("GET", "/api/v1/organizations")).body;
  expect(items.map(({ name }: { name: string }) => name)).not.toContain("To go");
});
