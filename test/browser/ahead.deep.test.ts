import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { openAs } from "../support/hands.ts";
import { eventually } from "../support/outbound.ts";

/** More than on the first page, and fewer than all. */
const SOME = 90;

test("the code of all pages is loaded after the first one, but not in a browser that saves data", async () => {
  await using app = await startApp({ engine: false });
  for (const savesData of [true, false]) {
    await using ada = await openAs(app.origin, {}, {}, { savesData });
    const { page } = ada;
    let count = 0;
    page.on("request", (request) => {
      if (request.resourceType() === "script") count++;
    });
    await page.clock.install();
    await page.goto(app.origin);
    await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
    await page.clock.runFor(10_000);
    if (!savesData) await eventually(() => count > SOME);
    await page.evaluate(() => fetch("/api/v1/health")); // After the requests that were sent before.
    expect([savesData, count < SOME]).toEqual([savesData, savesData]);
  }
});
