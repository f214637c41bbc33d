import { expect, test } from "bun:test";
import { seenByAll } from "../support/seen-by-all.ts";
import { ACTIONS, AUTOMATIONS, branch, created, makeAction, makeAutomation } from "../support/work.ts";

const seen = await seenByAll({ engine: false });

const CONNECTIONS = "/api/v1/connections";
const changed = () => seen.page.getByText(/^Someone else changed this while you were working on it/).first();
const save = () => seen.page.getByRole("button", { name: "Save", exact: true });
const field = (name: string) => seen.page.getByRole("textbox", { name, exact: true });

test("a connection's settings follow what someone else saves, and keep it when they are saved", async () => {
  const { page, go, weir } = seen;
  const { id } = created(
    await weir.owner("POST", CONNECTIONS, {
      name: "Shop",
      provider: "postgres",
      config: { host: "shop.example", database: "old" },
      credentials: { user: "weir", password: "secret" },
    }),
  );
  await go(`/connections/${id}?tab=settings`);
  await seen.live();
  expect(await field("Database").inputValue()).toBe("old");
  const patch = (config: object) => weir.owner("PATCH", `${CONNECTIONS}/${id}`, { config });
  expect((await patch({ database: "new" })).status).toBe(200);
  await page.waitForFunction(() =>
    [...document.querySelectorAll("input")].some((each) => each.value === "new"),
  );
  await field("Name").fill("Store");
  await patch({ database: "newest" });
  await page.getByText(/^Someone else has edited this since you opened it/).waitFor();
  await save().click();
  await changed().waitFor();
  await save().click();
  await page.getByText("Connection saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", `${CONNECTIONS}/${id}`)).body).toMatchObject({
    name: "Store",
    config: { host: "shop.example", database: "newest" },
  });
});

test("a dashboard and a saved query can be saved after someone else changed them", async () => {
  const { page, go, weir } = seen;
  const panel = { key: "one", title: "One", sql: "SELECT 1", x: 0, y: 0, width: 3, height: 3 };
  const dashboard = created(
    await weir.owner("POST", "/api/v1/dashboards", { name: "Floor", panels: [panel] }),
  );
  await go(`/dashboards/${dashboard.slug}/edit`);
  await seen.live();
  await field("Name").fill("Ground floor");
  const path = `/api/v1/dashboards/${dashboard.id}`;
  await weir.owner("PATCH", path, { description: "By someone else" });
  await page.getByText(/^Someone else has edited this since you opened it/).waitFor();
  await save().click();
  await changed().waitFor();
  await save().click();
  await seen.heading("Ground floor");
  expect((await weir.owner("GET", path)).body).toMatchObject({
    name: "Ground floor",
    description: "By someone else",
  });

  const query = created(await weir.owner("POST", "/api/v1/queries", { name: "Ones", sql: "SELECT 1" }));
  await go(`/sql?query=${query.id}`);
  await page.getByRole("button", { name: "Close Ones" }).waitFor();
  await weir.owner("PATCH", `/api/v1/queries/${query.id}`, { sql: "SELECT 2" });
  await seen.write("SQL", "SELECT 3");
  await save().click();
  await changed().waitFor();
  await save().click();
  await page.getByText("Query saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", `/api/v1/queries/${query.id}`)).body.sql).toBe("SELECT 3");
});

test("nothing can be typed into a form while it is saved, and its field has the focus afterwards", async () => {
  const { page, go, weir } = seen;
  const { id } = await makeAction(weir.owner);
  await go(`/actions/${id}`);
  const answer = Promise.withResolvers<void>();
  let isAsked = false;
  await page.route(`**${ACTIONS}/${id}`, async (route) => {
    if (route.request().method() !== "PATCH") return route.continue();
    isAsked = true;
    await answer.promise;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await field("Name").fill("First");
  await page.keyboard.press("Control+Enter");
  await page.locator("button[aria-busy]").waitFor();
  await page.keyboard.type(" ga and lost?");
  await page.keyboard.press("Control+k");
  answer.resolve();
  await page.getByText("Too busy.").waitFor();
  expect([isAsked, await field("Name").inputValue()]).toEqual([true, "First"]);
  expect(new URL(page.url()).pathname).toBe(`/actions/${id}`);
  expect(await page.locator("dialog").count()).toBe(0);
  await page.keyboard.type(" and last");
  expect(await field("Name").inputValue()).toBe("First and last");
  await page.unroute(`**${ACTIONS}/${id}`);
  await page.keyboard.press("Control+Enter");
  await page.getByText("Action saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", `${ACTIONS}/${id}`)).body.name).toBe("First and last");
});

test("after a form is saved, the field that had the focus has it again", async () => {
  const { page, go, weir } = seen;
  const { id } = await makeAction(weir.owner, { name: "Kept" });
  await go(`/actions/${id}`);
  const isSaved = () => page.getByText("Unsaved changes").waitFor({ state: "detached" });
  const slug = async () => (await weir.owner("GET", `${ACTIONS}/${id}`)).body.slug;
  await field("Slug").fill("kept");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Control+Enter");
  await isSaved();
  expect(await slug()).toBe("kept");
  await page.keyboard.type("p");
  expect(await field("Slug").inputValue()).toBe("keppt");
  await save().click();
  await isSaved();
  expect(await slug()).toBe("keppt");
  await page.keyboard.type("p");
  expect(await field("Slug").inputValue()).toBe("kepppt");
});

test("after a text in an editor is saved, the editor has the focus again", async () => {
  const { page, go, weir } = seen;
  const { id } = await makeAction(weir.owner, {
    kind: "duckdb_transform",
    name: "Query",
    definition: { sql: "SELECT 1 AS one" },
  });
  await go(`/actions/${id}`);
  await seen.write("SQL", "SELECT 2 AS two");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Unsaved changes").waitFor({ state: "detached" });
  await page.keyboard.type("/* */ ");
  await page.getByText("Unsaved changes").waitFor();
  expect(await page.getByRole("textbox", { name: "SQL" }).textContent()).toContain("/* */ SELECT 2");
});

test("after a save that removes a field, the focus is in the same field, or nowhere", async () => {
  const { page, go, weir } = seen;
  const definition = { method: "POST", url: "https://a.example", headers: { "X-A": "1" }, body: { a: 1 } };
  const { id } = await makeAction(weir.owner, { kind: "http_request", definition });
  await go(`/actions/${id}`);
  const saved = async () => {
    await page.keyboard.press("Control+Enter");
    await page.getByText("Unsaved changes").waitFor({ state: "detached" });
  };
  const hasFocus = (name: string) =>
    page.getByLabel(name, { exact: true }).evaluate((one) => one === document.activeElement);
  const add = page.getByRole("group", { name: "Headers" }).getByRole("button", { name: "Add" });
  await add.click();
  await field("Body").fill('{"a": 2}');
  await saved();
  await page.locator("textarea:focus").waitFor();
  expect(await hasFocus("Body")).toBe(true);

  await page.getByLabel("Body type").selectOption({ index: 1 });
  await add.click();
  await page.getByLabel("Body type").focus();
  await saved();
  await page.locator("select:focus").waitFor();
  expect(await hasFocus("Body type")).toBe(true);

  await add.click();
  await field("URL").fill("https://b.example");
  await field("Headers: name 2").focus();
  await saved();
  expect(await page.locator(":focus:not(body)").count()).toBe(0);
});

test("keys that are typed while a dialog saves aren't shortcuts, and don't close it", async () => {
  const { page, go } = seen;
  const answer = Promise.withResolvers<void>();
  await page.route("**/api/v1/organizations/invitations", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await answer.promise;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await go("/team");
  await page.getByRole("button", { name: "Invite member" }).click();
  await page.getByRole("dialog").getByLabel("Email").fill("vera@example.com");
  await page.getByRole("dialog").locator("button[type=submit]").click();
  await page.locator("button[aria-busy]").waitFor();
  await page.keyboard.type("ga");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  answer.resolve();
  await page.getByText("Too busy.").waitFor();
  expect(new URL(page.url()).pathname).toBe("/team");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.unroute("**/api/v1/organizations/invitations");
});

test("a form that is submitted twice at once is sent once", async () => {
  const { page, go } = seen;
  let sent = 0;
  await page.route("**/api/v1/{organizations/invitations,connections}", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    sent += 1;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  const sentTwice = async () => {
    sent = 0;
    await page.locator("form").evaluate((form) => {
      (form as HTMLFormElement).requestSubmit();
      (form as HTMLFormElement).requestSubmit();
    });
    await page.getByText("Too busy.").waitFor();
    return sent;
  };
  await go("/team");
  await page.getByRole("button", { name: "Invite member" }).click();
  await page.getByRole("dialog").getByLabel("Email").fill("vera@example.com");
  expect(await sentTwice()).toBe(1);
  expect(await sentTwice()).toBe(1);
  await go("/connections/new?provider=postgres");
  await field("Name").fill("Shop");
  await field("Host").fill("shop.example");
  expect(await sentTwice()).toBe(1);
  await page.unroute("**/api/v1/{organizations/invitations,connections}");
});

test("settings can be tested again before an earlier test of the same settings has answered", async () => {
  const { page, go } = seen;
  let tests = 0;
  await page.route("**/api/v1/connections/test", (route) => {
    tests += 1; // the first one is never answered
    if (tests > 1) return route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await go("/connections/new?provider=postgres");
  await field("Name").fill("Shop");
  await field("Host").fill("shop.example");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.locator("button[aria-busy]").waitFor();
  await field("Host").fill("other.example");
  await field("Host").fill("shop.example");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("Too busy.").waitFor();
  await page.unroute("**/api/v1/connections/test");
});

test("dialogs stay open on Escape while they send an email or restore a version", async () => {
  const { page, go, weir } = seen;
  const panel = { key: "one", title: "One", sql: "SELECT 1", x: 0, y: 0, width: 3, height: 3 };
  const board = created(await weir.owner("POST", "/api/v1/dashboards", { name: "Mailed", panels: [panel] }));
  const steps = [{ key: "one", kind: "conditional_branch", definition: branch() }];
  const { id } = await makeAutomation(weir.owner, { steps });
  await weir.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { steps: [{ ...steps[0], key: "two" }] } });
  const stays = async (dialog: string, button: string, path: string) => {
    const answer = Promise.withResolvers<void>();
    await page.route(path, async (route) => {
      await answer.promise;
      await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
    });
    const opened = page.getByRole("dialog", { name: dialog });
    await opened.getByRole("button", { name: button }).click();
    await opened.locator("button[aria-busy]").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    answer.resolve();
    await page.getByText("Too busy.").waitFor();
    expect(await opened.count()).toBe(1);
    await page.keyboard.press("Escape");
    await opened.waitFor({ state: "detached" });
    await page.unroute(path);
  };
  await go(`/dashboards/${board.slug}`);
  await page.getByRole("button", { name: "Email" }).click();
  await stays("Email Mailed", "Send", "**/api/v1/dashboards/*/send");
  await go(`/automations/${id}/edit`);
  await page.getByRole("button", { name: "Versions" }).click();
  await stays("Versions of Flow", "Restore version 1", "**/api/v1/automations/*/versions/1/restore");
});

test("the profile and the notice settings keep what was changed in another tab", async () => {
  const { page, go, weir } = seen;
  await go("/access?tab=profile");
  await seen.live();
  await field("First name").fill("Augusta");
  await weir.owner("PATCH", "/api/v1/users/me/preferences", { timezone: "Asia/Tokyo" });
  await save().click();
  await page.getByText("Profile saved", { exact: true }).waitFor();
  const { body } = await weir.owner("GET", "/api/v1/users/me");
  expect(body).toMatchObject({ firstName: "Augusta", timezone: "Asia/Tokyo" });

  await go("/access?tab=notices");
  await page.getByLabel("Approvals").selectOption("assigned");
  await weir.owner("PATCH", "/api/v1/users/me/notices", { failures: "none" });
  await save().click();
  await page.getByText("Notice settings saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", "/api/v1/users/me/notices")).body).toMatchObject({
    approvals: "assigned",
    failures: "none",
  });
});
