import { afterAll, beforeAll, expect, test } from "bun:test";
import { operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";

let app: Awaited<ReturnType<typeof startApp>>;
let browser: Awaited<ReturnType<typeof openBrowser>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
  browser = await openBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await app[Symbol.asyncDispose]();
});

test("/docs shows every operation with its fields in a browser, and requests nothing from elsewhere", async () => {
  const { page } = await browser.open(app.origin);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).origin));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${app.origin}/docs#createConnection`);
  await page.waitForSelector("#createConnection[open] .inside");
  expect(await page.locator(".operation").count()).toBe(operations.length);
  const shown = () => page.locator("#createConnection .inside").textContent();
  await page.locator("#createConnection summary", { hasText: "PostgreSQL" }).click();
  await page.waitForSelector("#createConnection details[open] >> text=credentials.password");
  for (const text of ["Role: member", "name *", "Shop database", "isFromTemplate *", "curl -X POST"])
    expect(await shown()).toContain(text);
  await page.locator("#createConnection summary", { hasText: "409" }).click();
  expect(await shown()).toContain('"slug_taken"');
  await page.fill("#search", "events verify");
  expect(await page.locator(".operation:visible").count()).toBe(1);
  expect([new Set(asked), complaints]).toEqual([new Set([app.origin]), []]);
}, 120_000);
