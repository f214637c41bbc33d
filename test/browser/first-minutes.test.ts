import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { eventually } from "../support/outbound.ts";
import { deepTest } from "../support/scale.ts";

let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const ORDERS = "id,country,total\n1,CH,12.5\n2,DE,40\n3,CH,7.25\n";

describe("the first five minutes", () => {
  deepTest("lead from the setup link to rows of the user's own file", async () => {
    await using weir = await startApp({ owner: false });
    const { page, faults, foreign } = await browser.open(weir.origin);

    await page.goto(`${weir.origin}/setup?token=${await ensureSetupToken(weir.app)}`);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel(/Password/).fill(PASSWORD);
    await page.getByLabel("First name").fill("Ada");
    await page.getByLabel("Organization").fill("Acme");
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    await page.getByText("Welcome to Weir").waitFor();

    await page.getByRole("link", { name: "Create connection" }).click();
    await page.getByRole("button", { name: /Local files/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Shop");
    await page.getByRole("button", { name: "Create and verify" }).click();
    await page.getByRole("heading", { name: "Shop" }).waitFor();
    await page.getByText("Active", { exact: true }).waitFor();

    await page.setInputFiles("input[type=file]", {
      name: "orders.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(ORDERS),
    });
    await page.getByRole("button", { name: "orders.csv" }).click();
    await page.getByRole("dialog", { name: "orders.csv" }).getByText("3,CH,7.25").waitFor();
    await page.getByRole("button", { name: "Close" }).click();

    await page.getByRole("link", { name: "New action" }).click();
    await page.getByRole("button", { name: /Extract/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Load orders");
    const chosen = page.getByLabel("Connection").locator("option:checked", { hasText: "Shop" });
    await chosen.waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Add" }).first().click();
    await page.getByLabel("Spec").fill("orders.csv");
    await page.getByLabel("Dataset").fill("shop");
    await page.getByRole("button", { name: "Create action" }).click();
    await page.getByRole("heading", { name: "Load orders" }).waitFor();

    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL(/\/runs\//);
    await page.locator("h1 + span", { hasText: "Completed" }).waitFor();

    await page.getByRole("link", { name: "Datasets" }).click();
    await page.getByRole("link", { name: /shop/ }).click();
    const preview = page.getByRole("region", { name: /^Rows of/ });
    await preview.getByText("7.25").waitFor();
    expect(await preview.textContent()).toContain("country");

    await page.getByRole("link", { name: "Home" }).click();
    await page.getByRole("table", { name: "Runs" }).getByText("Load orders").waitFor();
    expect({ faults, foreign }).toEqual({ faults: [], foreign: [] });
  });
});

describe("signing in", () => {
  deepTest("a user who isn't signed in returns to the requested page after signing in", async () => {
    await using weir = await startApp({ engine: false });
    const { page, faults } = await browser.open(weir.origin);
    await page.goto(`${weir.origin}/runs?status=failed`);
    await page.waitForURL(/\/login\?return_to=/);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(await page.getByLabel("Status").inputValue()).toBe("failed");
    expect(faults).toEqual([]);
  });

  deepTest("a session that ends during work asks for the password, and keeps what was typed", async () => {
    await using weir = await startApp({ engine: false });
    const { page } = await browser.open(weir.origin);
    await page.goto(weir.origin);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Actions" }).click();
    await page.getByRole("link", { name: "New action" }).click();
    await page.getByRole("button", { name: /HTTP request/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Half done");
    await page.getByLabel("URL").fill("https://example.com/");
    expect((await weir.owner("DELETE", "/api/v1/sessions?exclude_current=false")).status).toBe(200);
    await page.getByRole("button", { name: "Create action" }).click();

    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("Half done");
    await page.getByRole("button", { name: "Create action" }).click();
    await page.getByRole("heading", { name: "Half done" }).waitFor();
  });

  test("these tests notice what the policy blocks", async () => {
    await using weir = await startApp({ engine: false });
    const { page, faults, foreign, refused } = await browser.open(weir.origin);
    await page.goto(`${weir.origin}/login`);
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.wasRun = true";
      document.body.append(script);
      const image = document.createElement("img");
      image.src = "http://127.0.0.1:9/elsewhere.png";
      document.body.append(image);
    });
    await eventually(() => faults.length + foreign.length > 1);
    expect(await page.evaluate(() => (window as { wasRun?: boolean }).wasRun ?? false)).toBe(false);
    await eventually(() => faults.some((fault) => fault.startsWith("policy:")));
    expect(refused.length).toBeGreaterThan(0);
    refused.length = 0;
  });
});
