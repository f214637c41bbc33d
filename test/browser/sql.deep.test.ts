import { afterAll, beforeAll, expect, test } from "bun:test";
import { openSeen, type Seen } from "../support/seen.ts";
import { created } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen?.[Symbol.asyncDispose]());

const shot = async (name: string) => {
  const folder = process.env.SHOTS;
  if (folder) await seen.page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

test("a query with parameters runs, is charted, saved with its chart, and opened again; earlier ones are in the history", async () => {
  const { page, weir, go, heading, troubles, write } = seen;
  await go("/sql");
  await heading("SQL");
  const sql = "SELECT range AS n, range * 2 AS twice FROM range(5) WHERE range >= $least AND '$not' <> ''";
  await write("SQL", sql);
  await page.getByLabel("Type of least").selectOption("integer");
  await page.getByLabel("Value of least").fill("2");
  expect(await page.getByLabel(/^Value of/).count()).toBe(1);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("3 rows").waitFor();
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByLabel("Type", { exact: true }).selectOption("area");
  await page.getByRole("img", { name: "Area chart. X axis: n. Y axis: twice." }).waitFor();
  await shot("sql");
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Doubles");
  await page.getByRole("button", { name: "Save query" }).click();
  await page.getByRole("button", { name: "Close Doubles" }).waitFor();
  const [saved] = (await weir.owner("GET", "/api/v1/queries?q=Doubles")).body.queries;
  expect(saved).toMatchObject({
    sql,
    parameters: { least: { type: "integer", default: 2 } },
    chart: { kind: "area", x: "n", y: ["twice"] },
  });
  await page.getByRole("button", { name: "Close Doubles" }).click();
  await page.getByRole("button", { name: "Saved", exact: true }).click();
  await page.getByRole("button", { name: "Doubles", exact: true }).click();
  expect(await page.getByLabel("Value of least").inputValue()).toBe("2");
  await page.getByLabel("Value of least").fill("4");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Query saved").first().waitFor();
  await page.getByRole("button", { name: "Explain" }).click();
  await page.getByRole("region", { name: "Query plan" }).getByText(/RANGE/i).first().waitFor();
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("button", { name: /^SELECT range AS n/ }).waitFor();
  expect(await troubles()).toEqual([]);
  expect((await weir.owner("GET", `/api/v1/queries/${saved.id}`)).body.parameters.least.default).toBe(4);

  await go("/sql");
  expect(await page.getByLabel("Value of least").inputValue()).toBe("4");
  const addTo = async (dashboard: string, title: string) => {
    await page.getByRole("button", { name: "Add to dashboard" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Dashboard", { exact: true }).selectOption(dashboard);
    if (dashboard === "New dashboard") await dialog.getByLabel("Name").fill("Numbers");
    await dialog.getByLabel("Panel title").fill(title);
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Add to dashboard" }).click();
    await heading("Numbers");
  };
  await addTo("New dashboard", "Saved");
  await go("/sql");
  await page.getByLabel("Value of least").fill("3");
  await addTo("Numbers", "Changed");
  await page.getByRole("region", { name: "Changed", exact: true }).getByRole("img").waitFor();
  const [{ panels }] = (await weir.owner("GET", "/api/v1/dashboards?q=numbers")).body.dashboards;
  expect(panels).toMatchObject([
    { title: "Saved", queryId: saved.id, sql: null, parameters: {}, chart: { kind: "area" }, x: 0, y: 0 },
    { title: "Changed", queryId: null, sql, parameters: { least: 3 }, y: 5 },
  ]);
  expect(await seen.alsoDarkAndNarrow("/sql")).toEqual([]);
});

test("SQL is completed with tables that couldn't be read at first", async () => {
  const { page, weir, go, write } = seen;
  const upload = "/api/v1/datasets/raw/orders_of_2026/upload?format=csv";
  expect((await weir.owner("PUT", upload, "id\n1\n", { "content-type": "text/csv" })).status).toBe(201);
  const first = (url: URL) => url.pathname.endsWith("/datasets") && !url.searchParams.has("q");
  await page.route(first, (route) => route.fulfill({ status: 503, json: { detail: "Busy." } }));
  await go("/sql");
  await write("SQL", "SELECT * FROM ");
  await page.keyboard.type("raw.ord");
  await page.locator(".cm-tooltip-autocomplete").getByText("raw.orders_of_2026", { exact: true }).waitFor();
  await page.unroute(first);
});

test("a number typed for a parameter is compared as that number", async () => {
  const { page, weir, go, heading, write } = seen;
  await go("/sql");
  await page.getByRole("button", { name: "New tab" }).click();
  await write("SQL", "SELECT greatest($p, 9) AS top, typeof($q) AS type");
  for (const [name, value] of [
    ["p", "10.50"],
    ["q", "9007199254740993"],
  ] as const) {
    await page.getByLabel(`Type of ${name}`).selectOption("number");
    await page.getByLabel(`Value of ${name}`).fill(value);
  }
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("10.5", { exact: true }).waitFor();
  await result.getByText("BIGINT", { exact: true }).waitFor();

  await page.getByRole("button", { name: "Add to dashboard" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Dashboard", { exact: true }).selectOption("New dashboard");
  await dialog.getByLabel("Name").fill("Long");
  await dialog.getByLabel("Panel title").fill("Number");
  await dialog.getByRole("button", { name: "Add to dashboard" }).click();
  await heading("Long");
  await page.getByText("BIGINT", { exact: true }).waitFor();
  const [{ panels }] = (await weir.owner("GET", "/api/v1/dashboards?q=long")).body.dashboards;
  expect(panels[0].parameters).toEqual({ p: 10.5, q: { $number: "9007199254740993" } });
  await page.getByRole("link", { name: "Open SQL of Number" }).click();
  await heading("SQL");
  expect(await page.getByLabel("Value of q").inputValue()).toBe("9007199254740993");
  expect(await page.getByLabel("Type of q").inputValue()).toBe("number");
});

test("a dashboard panel opens its SQL with the filters' values", async () => {
  const { page, weir, go, heading } = seen;
  created(
    await weir.owner("POST", "/api/v1/dashboards", {
      name: "Greeting",
      filters: [{ key: "who", type: "text", default: "Ann" }],
      panels: [{ key: "hello", title: "Hello", sql: "SELECT 'Hello ' || $who AS text" }],
    }),
  );
  await go("/dashboards/greeting?who=Bob");
  await heading("Greeting");
  await page.getByText("Hello Bob").waitFor();
  await page.getByRole("link", { name: "Open SQL of Hello" }).click();
  await heading("SQL");
  expect(await page.getByLabel("Value of who").inputValue()).toBe("Bob");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("region", { name: "Result" }).getByText("Hello Bob").waitFor();
});

test("without SQL a question of a table is built, drawn, edited and added to a dashboard, by keyboard too", async () => {
  const { page, weir, go, troubles, heading } = seen;
  const upload = "/api/v1/datasets/raw/sales/upload?format=csv";
  const rows = "day,country,total\n2026-01-05,CH,3\n2026-01-06,DE,4\n2026-02-07,CH,5\n2026-02-08,CH,100\n";
  expect((await weir.owner("PUT", upload, rows, { "content-type": "text/csv" })).status).toBe(201);
  await go("/sql");
  await page.getByRole("button", { name: "New tab" }).click();
  await page.getByRole("button", { name: "Query builder" }).click();
  const builder = page.getByRole("region", { name: "Query builder" });
  await builder.getByRole("combobox", { name: "Table" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.type("sal");
  await page.getByRole("option", { name: "raw.sales" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("4 rows").waitFor();
  await builder.getByRole("button", { name: "Add group" }).click();
  await builder.getByLabel("Summary", { exact: true }).selectOption("Sum");
  await page.getByRole("img", { name: "Line chart. X axis: day: month. Y axis: sum(total)." }).waitFor();
  await page.getByText("2 rows").waitFor();
  await builder.getByRole("button", { name: "Add filter" }).click();
  await builder.getByLabel("Column of the filter").selectOption("total");
  await builder.getByLabel("Condition of total").selectOption("is less than");
  await builder.getByLabel("Value of total").fill("100");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await page.getByText("2026-02-01").waitFor();
  expect(await page.getByRole("textbox", { name: "SQL" }).textContent()).toContain('WHERE "total" < 100');
  expect(await troubles()).toEqual([]);
  expect(await seen.alsoDarkAndNarrow("/sql")).toEqual([]);
  await builder.waitFor();

  await go("/dashboards/new");
  await heading("New dashboard");
  await page.getByRole("textbox", { name: "Name" }).fill("Sales");
  await page.getByRole("button", { name: "Add panel" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Title" }).fill("By country");
  await dialog.getByRole("combobox", { name: "Table" }).click();
  await page.getByRole("option", { name: "raw.sales" }).click();
  await dialog.getByRole("button", { name: "Add group" }).click();
  await dialog.getByLabel("Column of the group").selectOption("country");
  await dialog.getByRole("img", { name: /^Bar chart. X axis: country. Y axis: count/ }).waitFor();
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Add panel" }).click();
  await page
    .getByRole("button", { name: /^(Save|Create)/ })
    .first()
    .click();
  await heading("Sales");
  const { dashboards } = (await weir.owner("GET", "/api/v1/dashboards?q=Sales")).body;
  const { panels } = (await weir.owner("GET", `/api/v1/dashboards/${dashboards[0].id}`)).body;
  expect(panels[0]).toMatchObject({
    title: "By country",
    chart: { kind: "bar", x: "country", y: ["count"] },
  });
});

test("a number with trailing zeros is compared as a number, and the CSV distinguishes an empty text from NULL", async () => {
  const { page, go, write } = seen;
  await go("/sql?sql=SELECT 1");
  await write("SQL", "SELECT greatest($p, 9) AS most, '' AS empty, NULL AS none");
  await page.getByLabel("Type of p").selectOption("number");
  await page.getByLabel("Value of p").fill("10.50");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("1 row", { exact: true }).waitFor();
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  expect(await Bun.file(await (await coming).path()).text()).toBe('most,empty,none\r\n10.5,"",');
});
