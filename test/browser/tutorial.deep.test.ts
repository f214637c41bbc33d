import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { openAs } from "../support/hands.ts";

const FILE = "id,customer,country,amount\n1,Ada,GB,12.50\n2,Grace,US,8.00\n3,Linus,FI,120.00\n";

test("the tutorial's steps on the page lead from a file to a dashboard", async () => {
  await using weir = await startApp();
  await using person = await openAs(weir.origin);
  const { page, faults } = person;

  // 2. Create a connection and upload a file
  await page.getByRole("link", { name: "Connections", exact: true }).click();
  await page.getByRole("link", { name: "New connection" }).first().click();
  await page.getByRole("button", { name: /Local files/ }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Shop files");
  await page.getByRole("textbox", { name: "Root", exact: true }).fill("shop");
  await page.getByRole("button", { name: "Create and verify" }).click();
  await page.getByText("Active", { exact: true }).waitFor();
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Upload" }).click();
  await (await chooser).setFiles({ name: "may.csv", mimeType: "text/csv", buffer: Buffer.from(FILE) });

  // 3. Load it and query it
  await page.getByRole("link", { name: /^Load/ }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).first().fill("Load orders");
  const resources = page.getByRole("group", { name: "Resources" });
  await resources.getByLabel("Name", { exact: true }).fill("orders");
  await resources.getByLabel("Spec", { exact: true }).fill("*.csv");
  await resources.getByLabel("Primary key").fill("id");
  await resources.getByLabel("Write disposition").selectOption("merge");
  await page.getByLabel("Dataset").fill("shop");
  await page.getByRole("button", { name: "Create and run" }).click();
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  await page.getByRole("link", { name: "SQL", exact: true }).click();

  // 7. Build a dashboard
  await page.getByRole("link", { name: "Dashboards", exact: true }).click();
  await page.getByRole("link", { name: "New dashboard" }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Orders");
  await page.getByRole("button", { name: "Add panel" }).first().click();
  await page.getByLabel("Title").fill("Revenue by country");
  await page.locator(".cm-content").first().click();
  await page.keyboard.type(
    "SELECT country, sum(amount) AS revenue FROM raw.shop__orders GROUP BY country ORDER BY country",
  );
  await page.getByRole("dialog").getByRole("button", { name: "Add panel" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "Orders" }).waitFor();
  await page.getByText("120").first().waitFor();
  expect(faults).toEqual([]);
});
