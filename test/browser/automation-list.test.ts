import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openCredentials } from "../../src/cli/credentials.ts";
import { diff } from "../../src/cli/diff.ts";
import { connect } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { folder, shell } from "../support/shell.ts";
import { ACTIONS, AUTOMATIONS, branch, makeAction, makeAutomation, until } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const steps = [{ key: "route", kind: "conditional_branch", definition: branch() }];

const namesIn = (table: string) =>
  seen.page.getByRole("table", { name: table }).getByRole("link").allTextContents();

test("automations are sorted, found by tag, and disabled, tagged and deleted in bulk", async () => {
  const { page, go, weir, troubles } = seen;
  const { owner } = weir;
  const make = (name: string, tags: string[]) => makeAutomation(owner, { steps }, { name, slug: name, tags });
  const { id } = await make("b-orders", ["finance", "daily"]);
  await make("c-stock", []);
  await make("a-bills", ["finance"]);
  const rows = async (...names: string[]) => {
    await page.getByText(`1–${names.length} of ${names.length}`).waitFor();
    expect((await namesIn("Automations")).map((text) => text.slice(0, text.length / 2))).toEqual(names);
  };
  await go("/automations");
  await rows("a-bills", "c-stock", "b-orders");
  await page.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
  await page.locator("th[aria-sort=ascending]").waitFor();
  await page.waitForURL(/sort=name&order=asc/);
  await page.getByRole("row").nth(1).getByText("a-bills").first().waitFor();
  await page.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
  await page.getByRole("row").nth(1).getByText("c-stock").first().waitFor();
  await rows("c-stock", "b-orders", "a-bills");

  await page.getByLabel("Tag", { exact: true }).selectOption("finance");
  await rows("b-orders", "a-bills");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("2 selected").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("2 automations disabled").waitFor();
  await page.getByRole("cell", { name: "Disabled" }).nth(1).waitFor();

  await page.getByRole("button", { name: "Edit tags" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Add tags" }).fill("closed, 2026");
  await dialog.getByLabel("Remove tag").selectOption("daily");
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("2 automations tagged").waitFor();
  expect((await owner("GET", `${AUTOMATIONS}/${id}`)).body.tags).toEqual(["finance", "closed", "2026"]);

  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByRole("textbox", { name: "Type 2 to confirm" }).fill("2");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("2 automations deleted").waitFor();
  await page.getByText("No automations match these filters").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).first().click();
  await rows("c-stock");
});

test("each kind has an icon when an action is created, and each trigger in the list", async () => {
  const { page, go, weir, troubles } = seen;
  await makeAutomation(weir.owner, { steps }, { name: "Marked", slug: "marked" });
  await go("/actions/new");
  const cards = page.locator("main li");
  await cards.first().waitFor();
  const { kinds } = (await weir.owner("GET", "/api/v1/action-kinds")).body;
  expect([await cards.count(), await cards.locator("svg").count()]).toEqual([kinds.length, kinds.length]);
  expect(await troubles()).toEqual([]);
  await go("/automations?q=marked");
  await page.getByRole("cell", { name: "Manual" }).locator("svg").waitFor();
  expect(await troubles()).toEqual([]);
});

test("automations are in folders, which are opened from the list and moved to in bulk", async () => {
  const { page, go, weir, troubles } = seen;
  const make = (name: string, tags: string[]) =>
    makeAutomation(weir.owner, { steps }, { name, slug: name, tags });
  const { id } = await make("in-eu", ["/finance/eu", "daily"]);
  await make("in-finance", ["/finance"]);
  await make("in-none", ["a, b"]);
  await go("/automations");
  const folders = page.getByRole("navigation", { name: "Folders" });
  await folders.getByRole("button", { name: "finance 2" }).click();
  await page.getByText("1–2 of 2").waitFor();
  expect(await page.getByLabel("Tag", { exact: true }).getByRole("option").allTextContents()).toEqual([
    "Tag: all",
    "a, b",
    "daily",
  ]);
  await folders.getByRole("button", { name: "eu 1" }).click();
  await page.getByText("1–1 of 1").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("checkbox", { name: "Select in-eu" }).check();
  await page.getByRole("button", { name: "Move to folder" }).click();
  const dialog = page.getByRole("dialog");
  const field = dialog.getByRole("combobox", { name: "Folder" });
  expect(await field.inputValue()).toBe("/finance/eu");
  await field.fill("sales / de/");
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Move" }).click();
  await page.getByText("1 automation moved").waitFor();
  expect((await weir.owner("GET", `${AUTOMATIONS}/${id}`)).body.tags).toEqual(["daily", "/sales/de"]);
  await folders.getByRole("button", { name: "All" }).click();
  await folders.getByRole("button", { name: "sales 1" }).waitFor();
  expect(await seen.alsoDarkAndNarrow("/automations?folder=/sales")).toEqual([]);
  await go("/automations?folder=sales/");
  await page.getByText("1–1 of 1").waitFor();
  await page.getByRole("link", { name: "New automation" }).click();
  await page.getByText("It will be in the folder /sales.").waitFor();
  await page.getByRole("textbox", { name: "Name" }).fill("Born in sales");
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.waitForURL(/\/edit$/);
  const found = await weir.owner("GET", `${AUTOMATIONS}?q=born`);
  expect(found.body.automations.map(({ tags }: { tags: string[] }) => tags)).toEqual([["/sales"]]);
});

test("rows are dragged into a folder, together with all selected ones", async () => {
  const { page, go, weir, troubles } = seen;
  const make = (name: string, tags: string[]) =>
    makeAutomation(weir.owner, { steps }, { name, slug: name, tags });
  const ids: string[] = [];
  for (const name of ["drag-one", "drag-two", "drag-three"]) ids.push((await make(name, ["daily"])).id);
  await make("drag-kept", ["/kept"]);
  await go("/automations?q=drag-");
  const folders = page.getByRole("navigation", { name: "Folders" });
  const row = (name: string) => page.getByRole("row", { name });
  const tags = () =>
    Promise.all(ids.map(async (id) => (await weir.owner("GET", `${AUTOMATIONS}/${id}`)).body.tags.join(" ")));
  await row("drag-one").dragTo(folders.getByRole("button", { name: "kept 1" }));
  await page.getByText("1 automation moved").waitFor();
  expect(await tags()).toEqual(["daily /kept", "daily", "daily"]);
  for (const name of ["drag-two", "drag-three"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await row("drag-three").dragTo(folders.getByRole("button", { name: "kept 2" }));
  await page.getByText("2 automations moved").waitFor();
  expect(await tags()).toEqual(["daily /kept", "daily /kept", "daily /kept"]);
  await go("/automations?folder=/kept");
  await row("drag-two").dragTo(folders.getByRole("button", { name: "All" }));
  await page.getByText("1 automation moved").waitFor();
  expect(await tags()).toEqual(["daily /kept", "daily", "daily /kept"]);
  expect(await troubles()).toEqual([]);
});

deepTest("actions show their kinds by title, and are sorted, tagged and enabled in bulk", async () => {
  const { page, go, weir, troubles } = seen;
  for (const name of ["Split", "Join"]) {
    const { id } = await makeAction(weir.owner, { name });
    await weir.owner("PATCH", `${ACTIONS}/${id}`, { status: "disabled" });
  }
  await go("/actions?sort=name");
  await page.getByText("1–2 of 2").waitFor();
  const kinds = page.getByRole("cell", { name: "Branch", exact: true });
  expect([await kinds.count(), await kinds.locator("svg").count()]).toEqual([2, 2]);
  await page.getByRole("checkbox", { name: "Select Join" }).check();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("1 action enabled").waitFor();
  await page.getByRole("link", { name: /^Join/ }).click();
  await page.getByRole("textbox", { name: "Tags" }).fill("shop, daily");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Action saved").waitFor();
  await go("/actions?tag=daily");
  await page.getByText("1–1 of 1").waitFor();
  expect(await troubles()).toEqual([]);
});

test("a tag with a comma is edited without being split", async () => {
  const { page, go, weir } = seen;
  const { id } = await makeAction(weir.owner, { name: "Comma", tags: ["one, two", "three"] });
  await go(`/actions/${id}`);
  const tags = page.getByRole("textbox", { name: "Tags" });
  expect(await tags.inputValue()).toBe('"one, two", three');
  await tags.fill('"one, two", "say ""so""",  four,');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Action saved").waitFor();
  expect((await weir.owner("GET", `${ACTIONS}/${id}`)).body.tags).toEqual(["one, two", 'say "so"', "four"]);
});

deepTest(
  "an automation is duplicated as a draft with its tags, and its new secret is shown once",
  async () => {
    const { page, go, weir } = seen;
    const { id } = await makeAutomation(
      weir.owner,
      { path: "orders", steps },
      { name: "Orders", triggerType: "webhook", tags: ["shop"] },
    );
    await go(`/automations/${id}`);
    await page.getByRole("button", { name: "Duplicate automation" }).click();
    expect((await page.getByRole("dialog").locator("code").textContent())?.length).toBeGreaterThan(10);
    await page.getByRole("button", { name: "Done" }).click();
    await page.waitForURL(/\/edit$/);
    const copy = await until(
      weir.owner,
      `${AUTOMATIONS}${new URL(page.url()).pathname.slice(12, -5)}`,
      Boolean,
    );
    expect(copy).toMatchObject({ name: "Orders (copy)", status: "draft", tags: ["shop"] });
  },
);

deepTest("automations are exported as a file with which `weir apply` finds no changes", async () => {
  const { page, go, weir } = seen;
  const { id: connectionId } = await connect(weir.owner, {
    name: "Books",
    provider: "postgres",
    config: { host: "127.0.0.1", port: 9, database: "books" },
    credentials: { user: "ada", password: "secret" },
  });
  const extract = { dataset: "books", resources: [{ name: `public.\${LEFT}` }] };
  const ask = { key: "ask", kind: "dlt_extract", connectionId, definition: extract };
  const called = await makeAutomation(
    weir.owner,
    { path: "2024", steps: [ask] },
    { name: "2024 books", triggerType: "webhook" },
  );
  const call = {
    key: "call",
    dependsOn: ["ask"],
    kind: "call_automation",
    definition: { automationId: called.id },
  };
  const { id } = await makeAutomation(
    weir.owner,
    { steps: [ask, call] },
    { name: "Ask the books", tags: ["shop"] },
  );
  const exported = async (of: string) => {
    await go(`/automations/${of}`);
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    return { name: saved.suggestedFilename(), text: await Bun.file(await saved.path()).text() };
  };
  expect((await exported(called.id)).text).toContain(`secret: \${WEIR_2024_BOOKS_SECRET}`);
  const { name, text } = await exported(id);
  expect(name).toBe("ask-the-books.yaml");
  expect(text).toContain(`\${connection:books}`);
  expect(text).toContain(`\${automation:2024-books}`);
  expect(text).not.toContain(connectionId);
  using place = folder();
  const file = join(place.path, "automations.yaml");
  writeFileSync(file, text);
  const person = { configFolder: join(place.path, "weir"), server: weir.origin, terminal: null };
  openCredentials(person).keep(weir.origin, weir.token);
  const terminal = shell({ WEIR_SERVER: weir.origin, XDG_CONFIG_HOME: place.path });
  const { code, out, err } = await terminal(diff, "-f", file);
  expect([code, out, err]).toEqual([0, "0 to create, 0 to update, 0 to delete, 1 unchanged.", ""]);
});
