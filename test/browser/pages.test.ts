import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { PASSWORD, startApp } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { gate } from "../support/decisions.ts";
import { pressTogether } from "../support/hands.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, automationRunEnd, created, makeAutomation } from "../support/work.ts";

const SECRET = "a secret of sixteen characters";
const MARKUP = `<img src=x onerror=alert(1)> & "Ünïcödé" مرحبا`;

let browser: Awaited<ReturnType<typeof openBrowser>>;
let weir: Awaited<ReturnType<typeof startApp>>;
let seen: Awaited<ReturnType<typeof browser.open>>;
let page: Page;
const made = { connection: "", load: "", broken: "", automation: "" };

/** One installation for the file: files, a dataset, successful and failed runs, a webhook automation. */
beforeAll(async () => {
  weir = await startApp();
  browser = await openBrowser();
  const create = async (path: string, body: unknown) =>
    (await weir.owner("POST", path, body)).body.id as string;
  made.connection = await create("/api/v1/connections", {
    name: MARKUP,
    slug: "shop",
    provider: "local_files",
  });
  const files = `/api/v1/connections/${made.connection}/files?path=`;
  const raw = { "content-type": "application/octet-stream" };
  await weir.owner("PUT", `${files}/in/orders.csv`, "id,total\n1,12.5\n2,40\n", raw);
  made.load = await create("/api/v1/actions", {
    kind: "dlt_extract",
    name: "Load orders",
    connectionId: made.connection,
    definition: { dataset: "orders", resources: [{ spec: "in/orders.csv", name: "orders" }] },
  });
  made.broken = await create("/api/v1/actions", {
    kind: "duckdb_transform",
    name: MARKUP,
    slug: "broken",
    definition: { sql: "SELECT * FROM raw.nothing" },
  });
  made.automation = await create("/api/v1/automations", {
    name: "Orders came",
    triggerType: "webhook",
    config: {
      path: "orders",
      secret: SECRET,
      steps: [
        { key: "load", actionId: made.load },
        {
          key: "route",
          kind: "conditional_branch",
          definition: { branches: [{ key: "big", when: "true" }] },
          dependsOn: ["load"],
        },
        {
          key: "sum",
          kind: "duckdb_transform",
          definition: { sql: "SELECT sum(total) AS sum FROM raw.orders" },
          dependsOn: ["route:big"],
        },
      ],
    },
  });
  for (const id of [made.load, made.broken]) await weir.owner("POST", `/api/v1/actions/${id}/run`, {});
  const isOver = async () => {
    const { runs } = (await weir.owner("GET", "/api/v1/action-runs")).body;
    return runs.every(({ status }: { status: string }) => ["completed", "failed"].includes(status));
  };
  while (!(await isOver())) await Bun.sleep(50);

  seen = await browser.open(weir.origin);
  page = seen.page;
  await page.goto(`${weir.origin}/login`);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await weir?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  seen.faults.length = 0;
  seen.foreign.length = 0;
});

/** Returns what axe finds serious on the current page, and what was recorded. */
async function troubles() {
  const axe = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");
  await page.evaluate(axe); // By the debugger, which isn't bound by the page's policy.
  const found = await page.evaluate(async () => {
    const { axe: checker } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    interface Violation {
      id: string;
      impact: string;
      nodes: { html: string }[];
    }
    const { violations } = await checker.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
  return [...found, ...seen.faults, ...seen.foreign];
}

/** Types like a user, replacing the text; the debugger's own `fill` bypasses the editor's keys. */
async function write(name: string, text: string) {
  await page.getByRole("textbox", { name }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

const go = (path: string) => page.goto(weir.origin + path);
const heading = (name: string) => page.getByRole("heading", { name, exact: true }).waitFor();

describe("each page works, is accessible, and violates no policy", () => {
  deepTest("home shows what needs attention and what ran", async () => {
    await go("/");
    await page.getByText("1 run failed in the last 24 hours").waitFor();
    await page.getByRole("table", { name: "Runs" }).getByText("Load orders").waitFor();
    await page.getByRole("button", { name: /2 runs, 1 failed/ }).waitFor();
    expect(await troubles()).toEqual([]);
  });

  deepTest("runs are filtered by the URL", async () => {
    await go("/runs?tab=actions&status=failed");
    const table = page.getByRole("table", { name: "Runs" });
    await table.getByText(MARKUP).waitFor();
    expect(await table.getByRole("row").count()).toBe(2);
    await page.getByLabel("Status").selectOption("completed");
    await table.getByText("Load orders").waitFor();
    expect(page.url()).toContain("status=completed");
    expect(await table.getByText(MARKUP).count()).toBe(0);
    expect(await troubles()).toEqual([]);
  });

  deepTest("a failed run shows why, and is retried there", async () => {
    await go("/runs?tab=actions&status=failed");
    await page.getByRole("table", { name: "Runs" }).getByText(MARKUP).click();
    await page.getByRole("alert").getByText("Table with name nothing does not exist").waitFor();
    await page.getByRole("alert").getByText("LINE 1: SELECT * FROM raw.nothing").waitFor();
    await page.getByText("raw.nothing").first().waitFor();
    expect(await troubles()).toEqual([]);
    const before = page.url();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.getByText("Retried from").waitFor();
    await page.locator("h1 + span", { hasText: "Failed" }).waitFor();
  });

  deepTest(
    "an action is created as a draft or by form, its faults appear at their fields, and a run can override it",
    async () => {
      await go("/actions/new?kind=duckdb_transform");
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("Count");
      await page.getByRole("button", { name: "Create action" }).click();
      await heading("Count");
      await go("/actions/new?kind=duckdb_transform");
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("Count");
      await page.getByRole("combobox", { name: "Output" }).selectOption("File");
      await page.getByLabel("Format").waitFor();
      await page.getByRole("combobox", { name: "Output" }).selectOption("Table of the lake");
      await page.getByRole("button", { name: "Create action" }).click();
      await page.getByText("Field required").nth(2).waitFor();
      expect(await page.getByLabel("Layer").getAttribute("aria-invalid")).toBe("true");
      await page.getByRole("combobox", { name: "Output" }).selectOption("None");
      expect(await troubles()).toEqual([]);
      await write("SQL", "SELECT 1 AS one");
      await page.getByRole("button", { name: "Create action" }).click();
      await heading("Count");

      await page.getByRole("button", { name: "JSON" }).click();
      await write("Definition", '{"sql": "SELECT 2 AS two"}');
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Action saved", { exact: true }).waitFor();

      await page.getByRole("button", { name: "Run", exact: true }).click();
      await write("Overrides", '{"sql": "SELECT 3 AS three"}');
      await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
      await page.waitForURL(/\/runs\//);
      await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
      await page.getByText("SELECT 3 AS three").waitFor();
    },
  );

  deepTest("actions are searched by name", async () => {
    await go("/actions");
    await page.getByRole("searchbox").fill("load");
    await page.waitForURL(/q=load/);
    const table = page.getByRole("table", { name: "Actions" });
    await table.getByText("Load orders").waitFor();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    expect(await troubles()).toEqual([]);
  });

  deepTest("a connection's folders open, and deleting it shows what depends on it", async () => {
    await go("/connections");
    await page.getByRole("link", { name: MARKUP }).click();
    await page.getByRole("button", { name: "in", exact: true }).click();
    await page.getByText("orders.csv").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Delete connection" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("link", { name: "Load orders" }).waitFor();
    await dialog.getByText("This connection is in use.").waitFor();
    expect(await dialog.getByRole("button", { name: "Delete" }).count()).toBe(0);
    expect(await troubles()).toEqual([]);
  });

  deepTest("a database connection is created with its provider's form", async () => {
    await go("/connections/new?provider=postgres");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Nobody there");
    await page.getByRole("button", { name: "Create and verify" }).click();
    await page.getByText("Field required").first().waitFor();
    expect(await page.locator("[aria-invalid=true]").count()).toBe(3);
    expect(await troubles()).toEqual([]);
    await page.getByLabel("Host").fill("127.0.0.1");
    await page.getByLabel("Port").fill("9");
    await page.getByLabel("Database").fill("shop");
    await page.getByLabel("User").fill("ada");
    await page.getByRole("button", { name: "Create and verify" }).click();
    await heading("Nobody there");
    await page.getByText("Error", { exact: true }).waitFor();
  });

  deepTest("a connection string fills in a database's form", async () => {
    await go("/connections/new?provider=postgres");
    const line = page.getByRole("textbox", { name: "Connection string" });
    await line.fill("mysql://ada@db.example.com/shop");
    await page.getByRole("button", { name: "Fill in" }).click();
    await page.getByText("Use postgres://user:password@host/database.").waitFor();
    await line.fill("postgresql://ada:p%40ss@db.example.com:6432/shop?sslmode=require");
    await page.getByRole("button", { name: "Fill in" }).click();
    await page.getByText("Filled in below.").waitFor();
    expect(await line.inputValue()).toBe("");
    const values = ["Host", "Port", "Database", "SSL mode", "User", "Password"].map((name) =>
      page.getByLabel(name).first().inputValue(),
    );
    expect(await Promise.all(values)).toEqual(["db.example.com", "6432", "shop", "require", "ada", "p@ss"]);
    expect(await troubles()).toEqual([]);
  });

  deepTest("a webhook is signed and sent from the page, and its run is drawn step by step", async () => {
    await go(`/automations/${made.automation}?tab=webhook`);
    await page.getByLabel("Secret").fill(SECRET);
    await page.getByRole("button", { name: "Sign and send" }).click();
    await page.getByText("200", { exact: true }).first().waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("link", { name: "Steps and runs" }).click();
    await page.getByRole("button", { name: /sum.*completed/ }).click();
    await page.getByRole("link", { name: "Open run" }).waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("table", { name: "Runs" }).getByRole("link").first().click();
    await page.waitForURL(/\/automation-runs\//);
    await page.getByRole("heading", { name: "Steps", exact: true }).waitFor();
    expect(await troubles()).toEqual([]);
  });

  deepTest("an automation is built from actions, disabled and enabled", async () => {
    await go("/automations/new");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Every morning");
    await page.getByLabel("Trigger").selectOption("schedule");
    await page.getByRole("button", { name: "Create automation" }).click();
    await page.getByRole("button", { name: "Add the first step" }).click();
    await page.getByRole("combobox", { name: /^Search kinds/ }).fill("load ord");
    await page.getByRole("option", { name: /^Load orders/ }).click();
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Published", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Back to the automation" }).click();
    await heading("Every morning");
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Automations", exact: true }).first().click();
    await page.getByRole("table", { name: "Automations" }).getByText("Every morning").waitFor();
    expect(await troubles()).toEqual([]);
  });

  test("an approval appears automatically and is decided by form, also on a phone; its run continues", async () => {
    const formSchema = {
      type: "object",
      properties: { amount: { type: "integer", minimum: 1 }, note: { type: "string" } },
      required: ["amount"],
    };
    const definition = gate({
      description: MARKUP,
      context: { order: 7 },
      decisionType: "form_input",
      formSchema,
    });
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { key: "ask", kind: "approval_gate", definition },
        {
          key: "ship",
          kind: "duckdb_transform",
          definition: { sql: "SELECT {{steps.ask.result.formResponse.amount}} AS amount" },
          dependsOn: ["ask"],
        },
      ],
    });
    const start = async () => created(await weir.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, {}));
    const question = page.getByRole("heading", { name: "Ship it?" });
    await go("/approvals");
    await page.getByText("No pending approvals").waitFor();
    await page.locator("aside [title^='Live']").waitFor();
    const approved = await start();
    await question.waitFor();
    await page.getByRole("link", { name: "Approvals 1 pending" }).waitFor();
    expect(await troubles()).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByLabel("Amount").fill("40");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("No pending approvals").waitFor();
    await page.setViewportSize({ width: 1280, height: 860 });
    const { status, steps } = await automationRunEnd(weir.owner, approved.id);
    expect({ status, steps }).toMatchObject({
      status: "completed",
      steps: [{ status: "completed" }, { status: "completed" }],
    });

    const rejected = await start();
    await go("/");
    await page.getByRole("link", { name: "1 approval pending" }).click();
    await question.waitFor();
    await page.getByLabel(/^Reason/).fill("Too dear");
    await page.keyboard.press("Enter");
    await question.waitFor({ state: "detached" });
    expect((await automationRunEnd(weir.owner, rejected.id)).status).toBe("failed");
    await page.getByRole("link", { name: "Decided" }).click();
    const decisions = page.getByRole("table", { name: "Decisions" });
    await decisions.getByRole("row", { name: /Too dear Rejected Ada/ }).waitFor();
    await decisions.getByRole("row", { name: /Approved Ada/ }).waitFor();
    expect(await troubles()).toEqual([]);
  });

  test("a dataset shows its columns and rows", async () => {
    await go("/datasets");
    await page
      .getByRole("table", { name: "Datasets" })
      .getByRole("link", { name: /orders/ })
      .click();
    await page.getByRole("region", { name: "Rows of orders" }).getByText("12.5").first().waitFor();
    await page.getByText("_dlt_load_id").first().waitFor();
    expect(await troubles()).toEqual([]);
  });

  deepTest("SQL runs, its errors are reported, and the result is exported as CSV", async () => {
    await go("/sql");
    await write("SQL", "SELECT * FROM raw.nowhere");
    await page.keyboard.press("Control+Enter");
    await page
      .getByRole("alert")
      .getByText(/nowhere/)
      .waitFor();
    await write("SQL", "SELECT DISTINCT id, total FROM raw.orders ORDER BY id");
    await page.keyboard.press("Control+Enter");
    await page.getByText("2 rows").waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    expect(readFileSync(await file.path(), "utf8")).toBe("id,total\r\n1,12.5\r\n2,40.0");
    expect(await troubles()).toEqual([]);
  });

  deepTest("events appear automatically, lead to their chain, and are verified", async () => {
    await go("/events?type=connection.*");
    await page
      .getByRole("button", { name: /Connection created/ })
      .first()
      .waitFor();
    await page.locator("aside [title^='Live']").waitFor();
    await weir.owner("POST", "/api/v1/connections", { name: "Warehouse", provider: "local_files" });
    await page.getByText("Warehouse").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Verify integrity" }).click();
    await page.getByText(/^Verified: \d+ events intact/).waitFor();
    await page.getByText("Warehouse").click();
    await page.getByRole("link", { name: "View related events" }).click();
    await page.getByRole("heading", { name: "Events with the same correlation ID" }).waitFor();
  });

  deepTest("Ctrl+K finds by name and ID, and shortcuts lead to areas", async () => {
    await go("/");
    await heading("Hello, Ada");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("orders came");
    await page.getByRole("option", { name: /Orders came/ }).waitFor();
    expect(await troubles()).toEqual([]);
    await page.keyboard.press("Enter");
    await heading("Orders came");
    await page.keyboard.press("Control+k");
    await page.keyboard.type(made.load);
    await page.getByRole("option", { name: /Load orders/ }).click();
    await heading("Load orders");
    await pressTogether(page, "g", "d");
    await heading("Datasets");
    await page.goBack();
    await heading("Load orders");
  });

  deepTest("dark mode is as readable as light mode, and stays selected", async () => {
    await go("/runs");
    await page.getByRole("button", { name: /Ada Lovelace/ }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    for (const path of ["/runs?tab=actions", `/automations/${made.automation}`, "/events"]) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForLoadState("load");
      expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
      expect(await troubles()).toEqual([]);
    }
    await page.evaluate(() => localStorage.setItem("weir.theme", "light"));
  });

  deepTest("on a phone, only tables and graphs are wider than the screen", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of [
      "/",
      "/runs?tab=actions",
      `/actions/${made.load}`,
      `/automations/${made.automation}`,
    ]) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    }
    await page.getByRole("button", { name: "Open navigation" }).click();
    await page.getByRole("link", { name: "Events" }).click();
    await heading("Events");
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("an unknown ID and an unknown URL are reported", async () => {
    await go("/runs/01890a5d-ac96-774b-bcce-b302099a8057");
    await heading("Not found");
    await page.getByRole("link", { name: "Go to Home" }).waitFor();
    await go("/no/such/page");
    await page.getByText("There's nothing at this address").waitFor();
    expect(seen.faults).toEqual([]);
  });
});
