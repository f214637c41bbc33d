import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { unsubscribeToken } from "../../src/resources/dashboard-subscriptions/unsubscribe.ts";
import { join } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { created, makeAction, runToEnd } from "../support/work.ts";

const SALES = `SELECT * FROM (VALUES (DATE '2026-01-01', 'CH', 10), (DATE '2026-01-01', 'DE', 20),
  (DATE '2026-01-02', 'CH', 30), (DATE '2026-01-02', 'DE', 5)) AS sales(day, country, total)
  WHERE $country IS NULL OR country = $country`;
const DASHBOARD = {
  name: "Shop floor",
  description: "Sales by day and country",
  filters: [{ key: "country", label: "Country", type: "choice", options: ["CH", "DE"] }],
  panels: [
    {
      key: "total",
      title: "Total",
      sql: `SELECT sum(total) AS total FROM (${SALES})`,
      chart: { kind: "number", y: ["total"], unit: "CHF", goal: 100 },
      x: 0,
      y: 0,
      width: 3,
      height: 3,
    },
    {
      key: "days",
      title: `By day ${MARKUP}`,
      sql: SALES,
      chart: { kind: "bar", x: "day", y: ["total"], series: "country", stack: true },
      x: 3,
      y: 0,
      width: 9,
      height: 5,
    },
    {
      key: "shares",
      title: "Shares",
      sql: SALES,
      chart: {
        mark: "bar",
        encoding: { x: { field: "country" }, y: { field: "total", aggregate: "sum", type: "quantitative" } },
      },
      x: 0,
      y: 3,
      width: 3,
      height: 5,
    },
    { key: "broken", title: "Broken", sql: "SELECT nothing", x: 3, y: 5, width: 3, height: 3 },
    { key: "rows", title: "Rows", sql: "SELECT range AS n FROM range(300)", x: 6, y: 5, width: 6, height: 3 },
  ],
};

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ hurry: 20 });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

const shot = async (name: string) => {
  const folder = process.env.SHOTS;
  if (folder) await seen.page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

test("a dashboard is listed and shown at one URL with its filters; a failed panel has its own error", async () => {
  const { page, weir, go, heading, troubles } = seen;
  created(await weir.owner("POST", "/api/v1/dashboards", DASHBOARD));
  await go("/dashboards");
  await page
    .getByRole("table", { name: "Dashboards" })
    .getByRole("link", { name: /Shop floor/ })
    .click();
  await heading("Shop floor");
  await page.getByText("65 CHF").waitFor();
  await page.getByRole("img", { name: "Bar chart. X axis: day. Y axis: CH, DE." }).waitFor();
  await page.getByRole("img", { name: "Chart: Shares" }).locator("canvas").waitFor();
  await page
    .getByRole("region", { name: "Broken" })
    .getByRole("alert")
    .getByText(/nothing/)
    .waitFor();
  await shot("dashboard");
  expect(await troubles()).toEqual([]);

  await page.getByLabel("Country").selectOption("CH");
  await page.getByText("40 CHF").waitFor();
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe("/dashboards/shop-floor?country=CH");
  await page.reload();
  await page.getByText("40 CHF").waitFor();
  const rows = page.getByRole("region", { name: "Rows of Rows" });
  expect(await rows.getByText("299", { exact: true }).count()).toBe(0);
  await page.emulateMedia({ media: "print" });
  await rows.getByText("299", { exact: true }).waitFor();
  expect(await page.locator("aside").isVisible()).toBe(false);
  const lefts = await page
    .locator(".board-panel")
    .evaluateAll((panels) => panels.map((panel) => panel.getBoundingClientRect().left));
  expect(new Set(lefts).size).toBe(1);
  await shot("dashboard-print");
  await page.emulateMedia({ media: "screen" });
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("65 CHF").waitFor();
  expect(await seen.alsoDarkAndNarrow("/dashboards", "/dashboards/shop-floor")).toEqual([]);
});

deepTest(
  "a click on a bar or cell filters the dashboard, in its URL and as a removable chip; another click shows the rows",
  async () => {
    const { page, weir, go, heading, troubles } = seen;
    const panels = [
      DASHBOARD.panels[0],
      {
        key: "countries",
        title: "By country",
        sql: `SELECT country, sum(total) AS total FROM (${SALES}) GROUP BY 1 ORDER BY 1`,
        chart: { kind: "bar", x: "country", y: ["total"] },
        x: 3,
        y: 0,
        width: 9,
        height: 5,
      },
      {
        key: "sizes",
        title: "Sizes",
        sql: "SELECT 'large' AS size, 3 AS orders",
        chart: { kind: "bar", x: "size", y: ["orders"] },
      },
    ];
    created(await weir.owner("POST", "/api/v1/dashboards", { ...DASHBOARD, name: "Clicks", panels }));
    await go("/dashboards/clicks");
    await page.getByText("65 CHF").waitFor();
    const bars = page.getByRole("region", { name: "By country" }).locator("canvas");
    await bars.waitFor();
    const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
    const left = { position: { x: width * 0.3, y: height * 0.6 } };
    await bars.click(left);
    await page.getByText("40 CHF").waitFor();
    expect(new URL(page.url()).search).toBe("?country=CH");
    await shot("dashboard-clicked");
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Remove filter Country: CH" }).click();
    await page.getByText("65 CHF").waitFor();
    await page.getByRole("button", { name: "Show By country as a table" }).click();
    await page.getByRole("button", { name: "DE", exact: true }).press("Enter");
    await page.getByText("25 CHF").waitFor();
    await page.getByRole("button", { name: "DE", exact: true }).press("Enter");
    await page.getByText("65 CHF").waitFor();
    await page.getByRole("region", { name: "Sizes" }).locator("canvas").click();
    await page
      .getByRole("dialog", { name: "Sizes, size: large" })
      .getByText("1 row", { exact: true })
      .waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("link", { name: "Open in SQL" }).click();
    await heading("SQL");
    await page.getByText(/WHERE "size" = 'large'/).waitFor();
  },
);

deepTest("a dashboard is shared by a link, which anyone can open and a member can revoke", async () => {
  const { page, weir, go, heading, troubles, browser } = seen;
  created(await weir.owner("POST", "/api/v1/dashboards", { ...DASHBOARD, name: "Window" }));
  await go("/dashboards/window");
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByLabel("Link expires").selectOption("In 7 days");
  await page.getByRole("button", { name: "Create link" }).click();
  await page.getByText(/^The link expires in/).waitFor();
  const address = await page.getByRole("dialog").locator("code").textContent();
  expect(await troubles()).toEqual([]);
  const outside = await browser.open(weir.origin);
  await outside.page.goto(`${address}?country=DE`);
  await outside.page.getByText("25 CHF").waitFor();
  await outside.page.getByLabel("Country", { exact: true }).selectOption("CH");
  await outside.page.getByText("40 CHF").waitFor();
  await outside.page.getByText("This panel can't be shown right now.").waitFor();
  expect([...outside.faults, ...outside.foreign]).toEqual([]);
  await page.getByRole("button", { name: "Revoke link" }).click();
  await page.getByRole("button", { name: "Revoke link" }).click();
  await page.getByRole("button", { name: "Create link" }).waitFor();
  await outside.page.reload();
  await outside.page.getByText("Not found").waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await heading("Window");
});

deepTest("a dashboard is emailed to members now and on a schedule, with the current filters", async () => {
  const { page, weir, go, troubles } = seen;
  const { id } = created(await weir.owner("POST", "/api/v1/dashboards", { ...DASHBOARD, name: "Letters" }));
  await go("/dashboards/letters?country=CH");
  await page.getByRole("button", { name: "Email" }).click();
  const dialog = page.getByRole("dialog", { name: "Email Letters" });
  await dialog.getByText(/Nothing is emailed/).waitFor();
  await dialog.getByRole("button", { name: "Send" }).click();
  await dialog
    .getByRole("alert")
    .getByText(/No mail server is set/)
    .waitFor();
  await dialog.getByLabel("When").selectOption("Every weekday");
  await dialog.getByLabel("Time").fill("06:30");
  await dialog.getByRole("button", { name: "Save schedule" }).click();
  await dialog.getByText("Every weekday at 06:30").waitFor();
  await shot("dashboard-email");
  expect(await troubles()).toEqual([]);
  const at = `/api/v1/dashboards/${id}/subscriptions`;
  expect((await weir.owner("GET", at)).body.subscriptions).toMatchObject([
    { schedule: { cron: "30 6 * * 1-5" }, recipients: [weir.ids.userId], filters: { country: "CH" } },
  ]);
  await weir.owner("PATCH", `${at}/${(await weir.owner("GET", at)).body.subscriptions[0].id}`, {
    schedule: { cron: "30 6 * * 1-5", timezone: "Asia/Tokyo" },
  });
  const { user: grace } = await join(weir, "viewer");
  await go("/dashboards/letters");
  await page.getByRole("button", { name: "Email" }).click();
  await dialog.getByRole("button", { name: "Edit schedule Every weekday at 06:30" }).click();
  expect(await dialog.getByLabel("Time").inputValue()).toBe("06:30");
  await dialog.getByText("Times are in Asia/Tokyo. Uses these filters: country: CH.").waitFor();
  await dialog.getByLabel("When").selectOption("Every Monday");
  await dialog.getByRole("checkbox", { name: new RegExp(grace.email) }).check();
  await shot("dashboard-email-edit");
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Save changes" }).click();
  await dialog.getByText("Every Monday at 06:30").waitFor();
  const changed = {
    schedule: { cron: "30 6 * * 1", timezone: "Asia/Tokyo" },
    recipients: [weir.ids.userId, grace.id],
  };
  expect((await weir.owner("GET", at)).body.subscriptions).toMatchObject([
    { ...changed, filters: { country: "CH" } },
  ]);
  await dialog.getByRole("button", { name: "Edit schedule Every Monday at 06:30" }).click();
  await dialog.getByRole("checkbox", { name: "Use the filters that are set on the page now" }).check();
  await dialog.getByRole("button", { name: "Save changes" }).click();
  await dialog.getByRole("button", { name: "Save changes" }).waitFor({ state: "detached" });
  expect((await weir.owner("GET", at)).body.subscriptions).toMatchObject([{ ...changed, filters: {} }]);
  await dialog.getByRole("button", { name: "Delete schedule Every Monday at 06:30" }).click();
  await dialog.getByText("Every Monday at 06:30").waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Close" }).last().click();
});

test("the link in an email unsubscribes with one button, without signing in", async () => {
  const { weir, browser } = seen;
  const { id } = created(await weir.owner("POST", "/api/v1/dashboards", { ...DASHBOARD, name: "Unread" }));
  const at = `/api/v1/dashboards/${id}/subscriptions`;
  const { user } = await join(weir, "viewer");
  const body = { schedule: { cron: "0 7 * * *" }, recipients: [weir.ids.userId, user.id] };
  const { id: subscriptionId } = created(await weir.owner("POST", at, body));
  const token = unsubscribeToken(weir.app.secrets, { subscriptionId, userId: user.id });
  const outside = await browser.open(weir.origin);
  await outside.page.goto(`${weir.origin}/unsubscribe?token=${token}`);
  await outside.page.getByRole("button", { name: "Unsubscribe" }).click();
  await outside.page.getByText("You are unsubscribed.").waitFor();
  expect((await weir.owner("GET", `${at}/${subscriptionId}`)).body.recipients).toEqual([weir.ids.userId]);
  await outside.page.goto(`${weir.origin}/unsubscribe?token=${token}x`);
  await outside.page.getByRole("button", { name: "Unsubscribe" }).click();
  await outside.page.getByText(/^This link is invalid/).waitFor();
  expect(outside.foreign).toEqual([]);
});

deepTest("a run's charts are saved as a dashboard", async () => {
  const { page, weir, go, heading } = seen;
  const action = await makeAction(weir.owner, {
    kind: "create_flashboard",
    name: "Board",
    definition: { title: "Weekly board", panels: [{ title: "Answer", sql: "SELECT 42 AS answer" }] },
  });
  await runToEnd(weir.owner, action.id);
  await go("/dashboards");
  await page.getByRole("link", { name: /Weekly board/ }).click();
  const board = page.url();
  await page.getByRole("button", { name: "Save as dashboard" }).click();
  await page.waitForURL(/\/dashboards\/weekly-board$/);
  await heading("Weekly board");
  await page.getByRole("region", { name: "Rows of Answer" }).getByText("42").waitFor();
  await page.goto(board);
  await page.getByRole("button", { name: "Add to dashboard" }).click();
  await page.getByLabel("Dashboard", { exact: true }).selectOption("Weekly board");
  await page.getByLabel("Panel title").fill("Answer again");
  await page.getByRole("dialog").getByRole("button", { name: "Add to dashboard" }).click();
  await page.waitForURL(/\/dashboards\/weekly-board$/);
  await page.getByRole("region", { name: "Rows of Answer again" }).getByText("42").waitFor();
  await page.getByRole("region", { name: "Rows of Answer", exact: true }).getByText("42").waitFor();
});

deepTest(
  "what a user enters for a run's dashboard stays while another user creates another dashboard",
  async () => {
    const { page, weir, go, live } = seen;
    const action = await makeAction(weir.owner, {
      kind: "create_flashboard",
      name: "Kept board",
      definition: { title: "Kept board", panels: [{ title: "Answer", sql: "SELECT 42 AS answer" }] },
    });
    await runToEnd(weir.owner, action.id);
    await go("/dashboards");
    await page.getByRole("link", { name: /Kept board/ }).click();
    await page.waitForURL(/\/dashboards\/[0-9a-f-]{36}$/);
    await page.reload();
    await page.getByRole("button", { name: "Add to dashboard" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Panel title").fill("Half wri");
    await live();
    created(await weir.owner("POST", "/api/v1/dashboards", { ...DASHBOARD, name: "From elsewhere" }));
    await dialog.getByRole("option", { name: "From elsewhere" }).waitFor({ state: "attached" });
    expect(await dialog.getByLabel("Panel title").inputValue()).toBe("Half wri");
    await dialog.getByRole("button", { name: "Cancel" }).click();
  },
);

test("a number filter's default is kept as typed, and must be a number", async () => {
  const { page, weir, go, heading } = seen;
  await go("/dashboards/new");
  await heading("New dashboard");
  await page.getByRole("textbox", { name: "Name" }).fill("Floors");
  await page.getByRole("button", { name: "Add filter" }).click();
  const dialog = page.getByRole("dialog");
  const value = dialog.getByLabel("Default", { exact: true });
  const add = dialog.getByRole("button", { name: "Add filter" });
  await dialog.getByLabel("Key").fill("least");
  await dialog.getByLabel("Type").selectOption("number");
  await value.pressSequentially("-0.x");
  await dialog.getByText("Enter a number.").waitFor();
  expect(await add.isDisabled()).toBe(true);
  await value.press("Backspace");
  await value.pressSequentially("05");
  expect(await value.inputValue()).toBe("-0.05");
  await add.click();
  await page.getByRole("button", { name: "Save" }).click();
  await heading("Floors");
  const { dashboards } = (await weir.owner("GET", "/api/v1/dashboards?q=Floors")).body;
  const { body } = await weir.owner("GET", `/api/v1/dashboards/${dashboards[0].id}`);
  expect(body.filters).toMatchObject([{ key: "least", default: -0.05 }]);
});

deepTest(
  "a dashboard is built from panels and filters; panels are moved and resized with the arrow keys; saving detects another user's changes",
  async () => {
    const { page, weir, go, heading, troubles, write } = seen;
    await go("/dashboards/new");
    await heading("New dashboard");
    await page.getByRole("textbox", { name: "Name" }).fill("Ground floor");
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Key").fill("least");
    await page.getByLabel("Type").selectOption("number");
    await page.getByLabel("Default").fill("2");
    expect(await troubles()).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Add filter" }).click();

    await page.getByRole("button", { name: "Add panel" }).click();
    await page.getByLabel("Title").fill("Numbers");
    await write("SQL", "SELECT range AS n, range * 2 AS twice FROM range(5) WHERE range >= $least");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("dialog").getByRole("region", { name: "Rows of Numbers" }).waitFor();
    await page.getByLabel("Type").selectOption("line");
    await page.getByRole("img", { name: "Line chart. X axis: n. Y axis: twice." }).waitFor();
    await shot("panel-dialog");
    expect(await troubles()).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Add panel" }).click();

    await page.getByRole("button", { name: "Add panel" }).click();
    await page.getByLabel("Title").fill("Most");
    await write("SQL", "SELECT 7 AS most");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByLabel("Type").selectOption("number");
    await page.getByRole("dialog").getByRole("button", { name: "Add panel" }).click();
    await page.getByRole("button", { name: "Move Most", exact: true }).press("ArrowRight");
    for (let n = 0; n < 5; n++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowUp");
    await page.getByRole("button", { name: "Resize Most" }).press("ArrowLeft");
    await page.keyboard.press("ArrowUp");
    const grip = await page.getByRole("button", { name: "Move Numbers", exact: true }).boundingBox();
    await page.mouse.move((grip?.x ?? 0) + 5, (grip?.y ?? 0) + 5);
    await page.mouse.down();
    await page.mouse.move((grip?.x ?? 0) + 515, (grip?.y ?? 0) + 5, { steps: 4 });
    await page.mouse.up();
    await shot("dashboard-edit");
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/dashboards\/ground-floor$/);
    await heading("Ground floor");
    await page.getByText("7", { exact: true }).waitFor();
    const [made] = (await weir.owner("GET", "/api/v1/dashboards?q=ground-floor")).body.dashboards;
    const at = (key: string) => {
      const { x, y, width, height } = made.panels.find(({ title }: { title: string }) => title === key);
      return [x, y, width, height];
    };
    expect(made.filters).toMatchObject([{ key: "least", label: "least", type: "number", default: 2 }]);
    expect(at("Most")).toEqual([6, 5, 5, 4]);
    expect(at("Numbers")).toEqual([6, 0, 6, 5]);

    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await heading("Edit Ground floor");
    await page.getByRole("button", { name: "Remove Numbers" }).click();
    await weir.owner("PATCH", `/api/v1/dashboards/${made.id}`, { description: "By somebody else" });
    await page.getByRole("button", { name: "Save" }).click();
    await page
      .getByRole("alert")
      .getByText(/changed|edited/i)
      .waitFor();
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Discard changes" }).click();
    await page.getByText("By somebody else").waitFor();
    await page.getByRole("link", { name: "Open SQL of Numbers" }).click();
    await heading("SQL");
    expect(await page.getByLabel("Value of least").inputValue()).toBe("2");
  },
);
