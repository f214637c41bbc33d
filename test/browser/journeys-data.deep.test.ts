import { expect, test } from "bun:test";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { startPostgres } from "../support/postgres.ts";
import { openSeen } from "../support/seen.ts";
import { created } from "../support/work.ts";

test("from the setup link through the quick start and its first run to a dashboard", async () => {
  await using weir = await startApp({ owner: false });
  const browser = await openBrowser();
  try {
    const { page, faults, foreign } = await browser.open(weir.origin);
    await page.goto(`${weir.origin}/setup?token=${await ensureSetupToken(weir.app)}`);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel(/Password/).fill(PASSWORD);
    await page.getByLabel("First name").fill("Ada");
    await page.getByLabel("Organization").fill("Acme");
    await page.getByRole("button").click();

    await page.getByRole("link", { name: "Install quick start" }).click();
    await page.getByRole("heading", { name: "Quick start", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Install" }).click();
    await page.getByRole("heading", { name: "Installed components" }).waitFor();
    await page.getByRole("link", { name: /Shop exported/ }).click();
    await page.getByRole("heading", { name: "Shop exported" }).waitFor();

    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL(/\/automation-runs\//);
    // Steps are updated while the run is in progress, without a reload.
    await page.locator("[data-step=transform]", { hasText: "completed" }).waitFor();
    await page.locator("h1 + span", { hasText: "Completed" }).waitFor();

    await page.getByRole("link", { name: "Open Kettle and Leaf" }).click();
    await page.waitForURL(/\/dashboards\//);
    await page.getByRole("link", { name: "Dashboards" }).first().click();
    await page.getByRole("link", { name: /Kettle and Leaf/ }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForURL(/\/dashboards\//);
    await page.getByRole("link", { name: "Home" }).click();
    await page.getByRole("table", { name: "Runs" }).getByText("Completed").first().waitFor();
    expect({ faults, foreign }).toEqual({ faults: [], foreign: [] });
  } finally {
    await browser.close();
  }
}, 120_000);

test("from a PostgreSQL connection through its tables and an extract to SQL, a chart and a file", async () => {
  await using postgres = await startPostgres();
  const { sql } = postgres;
  await sql`CREATE TABLE orders (id int PRIMARY KEY, country text, total numeric(8, 2), placed date)`;
  await sql`INSERT INTO orders SELECT n, CASE n % 2 WHEN 0 THEN 'CH' ELSE 'DE' END, n * 1.5, DATE '2026-01-01' + n FROM generate_series(1, 40) n`;
  await using seen = await openSeen();
  const { page, go, heading, troubles, write } = seen;

  await go("/connections/new");
  await page.getByRole("button", { name: /PostgreSQL/ }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Shop database");
  await page.getByLabel("Host").fill(postgres.host);
  await page.getByLabel("Port").fill(String(postgres.port));
  await page.getByLabel("Database").fill(postgres.database);
  await page.getByLabel("User").fill(postgres.user);
  await page.getByLabel("Password").fill(postgres.password);
  await page.getByLabel("SSL mode").selectOption("disable");
  await page.getByRole("button", { name: "Create and verify" }).click();
  await heading("Shop database");
  await page.getByText("Active", { exact: true }).waitFor();

  // Other credentials are tested when they are saved.
  const status = (text: string) => page.locator("h1 + span", { hasText: text }).waitFor();
  await page.locator("main").getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Save" }).click();
  await status("Error");
  await page.getByLabel("Password").fill(postgres.password);
  await page.getByRole("button", { name: "Save" }).click();
  await status("Active");
  await page.getByRole("link", { name: "Tables" }).click();

  await page.getByRole("button", { name: /^public/ }).click();
  await page.getByText("numeric").first().waitFor();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("region", { name: "Rows of public.orders" }).getByText("DE").first().waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("link", { name: "Load public.orders" }).click();
  const name = page.getByRole("textbox", { name: "Name", exact: true }).first();
  expect(await name.inputValue()).toBe("Load public.orders");
  await name.fill("Load orders");
  expect(await page.getByLabel("Dataset").inputValue()).toBe("shop_database");
  await page.getByLabel("Dataset").fill("shop");
  expect(await page.getByLabel("Spec").inputValue()).toBe("public.orders");
  await page.getByRole("button", { name: "Create and run" }).click();
  await page.waitForURL(/\/runs\//);
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  const chain = page.locator("section", { hasText: "Related runs" }).last();
  await chain.getByRole("img", { name: "Completed" }).waitFor();
  await page.getByRole("link", { name: "raw.shop" }).click();
  await heading("shop");

  await go("/sql");
  await page.getByText("raw.shop__orders").click();
  await page.getByRole("button", { name: "Query this table" }).click();
  await page.getByText("40 rows").waitFor();
  await write("SQL", "SELECT * FROM raw.sh");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: /shop__orders/ }).waitFor();
  await page.keyboard.press("Control+Enter"); // Closes the suggestions, and runs.
  await page.getByRole("option", { name: /shop__orders/ }).waitFor({ state: "detached" });
  await page.getByRole("alert").waitFor();
  await write(
    "SQL",
    "SELECT country, sum(total) AS total FROM raw.shop__orders GROUP BY country ORDER BY country",
  );
  await page.keyboard.press("Control+Enter");
  await page.getByText("2 rows").waitFor();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("CH", { exact: true }).waitFor();
  const take = async (name: string) => {
    const coming = page.waitForEvent("download");
    await page.getByRole(name === "CSV" ? "button" : "menuitem", { name }).click();
    return Bun.file(await (await coming).path());
  };
  expect(await (await take("CSV")).text()).toBe("country,total\r\nCH,630.00\r\nDE,600.00");
  await page.getByRole("button", { name: "All rows" }).click();
  expect((await (await take("CSV")).text()).split(/\r?\n/)).toContain("CH,630.00");
  await page.getByRole("button", { name: "All rows" }).click();
  expect((await (await take("Parquet")).text()).startsWith("PAR1")).toBe(true);
  await page.getByRole("button", { name: "All rows" }).click();
  expect((await (await take("Excel workbook")).text()).startsWith("PK")).toBe(true);
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByRole("img", { name: "Bar chart. X axis: country. Y axis: total." }).waitFor();
  expect(await page.getByLabel("Type", { exact: true }).inputValue()).toBe("bar");
  expect(await troubles()).toEqual([]);
}, 120_000);

test("a run shows what it caused: another automation that its end triggered, in the same chain", async () => {
  await using seen = await openSeen();
  const { page, go, weir, troubles } = seen;
  const steps = [
    { key: "a", kind: "conditional_branch", definition: { branches: [{ key: "yes", when: "true" }] } },
  ];
  const make = async (name: string, triggerType: string, config: object) =>
    (await weir.owner("POST", "/api/v1/automations", { name, triggerType, config: { ...config, steps } }))
      .body;
  const first = await make("First", "manual", {});
  await make("Second", "event", { event: { types: ["automation.completed"] }, concurrency: { max: 1 } });
  await go(`/automations/${first.id}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/automation-runs\//);
  await page.getByRole("list", { name: "Timeline" }).getByRole("link").first().click();
  await page.waitForURL(/\/runs\//);
  await page.getByRole("heading", { name: "Related runs" }).waitFor();
  const chain = page.locator("section", { hasText: "Related runs" }).last();
  await chain.getByRole("link", { name: "First", exact: true }).waitFor();
  await chain.getByRole("link", { name: "Automation", exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("link", { name: "View all events" }).click();
  await page.getByRole("heading", { name: "Events with the same correlation ID" }).waitFor();
  await page.getByText("Automation started").nth(1).waitFor();
  expect(await troubles()).toEqual([]);
}, 120_000);

test("a file is loaded by itself, even if its name looks like a pattern", async () => {
  await using seen = await openSeen();
  const { page, go, weir, troubles } = seen;
  const connection = created(
    await weir.owner("POST", "/api/v1/connections", { name: "Files", provider: "local_files" }),
  );
  const path = `/api/v1/connections/${connection.id}`;
  await weir.owner("POST", `${path}/verify`);
  for (const name of ["a [1].csv", "a 1.csv", "b*.csv", "bc.csv"])
    await weir.owner("PUT", `${path}/files?path=${encodeURIComponent(`/in/${name}`)}`, `name\n${name}\n`);
  for (const [name, table] of [
    ["a [1].csv", "a_1"],
    ["b*.csv", "b"],
  ]) {
    await go(`/connections/${connection.id}?path=/in`);
    await page.getByRole("link", { name: `Load in/${name}` }).click();
    await seen.heading("New action");
    expect(await page.getByRole("textbox", { name: "Name", exact: true }).first().inputValue()).toBe(
      `Load in/${name}`,
    );
    await page.getByRole("button", { name: "Create and run" }).click();
    await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
    const sql = `SELECT name FROM raw.files__${table}`;
    expect((await weir.owner("POST", "/api/v1/query", { sql })).body.rows).toEqual([{ name }]);
  }
  expect(await troubles()).toEqual([]);
}, 120_000);
