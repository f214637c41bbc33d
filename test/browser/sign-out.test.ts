import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deepTest } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

/** Pages without an ID. All others are drawn in the same frame. */
const PLACES = [
  ...readFileSync(join(import.meta.dir, "../../web/routes.tsx"), "utf8").matchAll(/route\("([^":]+)"/g),
]
  .map(([, path]) => path ?? "")
  .filter((path) => path !== "");

deepTest(
  "each page has a way to sign out",
  async () => {
    const { page, go } = seen;
    expect(PLACES.length).toBeGreaterThan(25);
    for (const path of PLACES) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByRole("button", { name: /^Ada Lovelace/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    }
    expect(seen.faults).toEqual([]);
  },
  120_000,
);

test("a password can be pasted, and is masked", async () => {
  const { page, go } = seen;
  await go("/access?tab=sign-in");
  const fields = page.locator("input[type=password]");
  await fields.first().waitFor();
  expect(await fields.count()).toBe(2);
  const isTaken = await fields.first().evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "from a password manager");
    return field.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  });
  expect(isTaken).toBe(true); // Nothing prevents the browser's default action.
});

deepTest(
  "signing out leaves nothing of the user in the browser's storage, and previous pages show nothing",
  async () => {
    const { page, go, weir } = seen;
    await go("/sql");
    await page.getByRole("textbox", { name: "SQL" }).click();
    await page.keyboard.insertText("select 'of Ada alone'");
    const kept = () => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    await page.waitForFunction(() => JSON.stringify({ ...sessionStorage }).includes("of Ada alone"));
    await page.getByRole("button", { name: /^Ada Lovelace/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByLabel("Email").waitFor();
    expect(Object.keys(JSON.parse(await kept())).filter((name) => name !== "weir.theme")).toEqual([]);
    await page.goBack();
    await page.getByLabel("Email").waitFor();
    expect(await page.content()).not.toContain("of Ada alone");
    expect((await weir.owner("GET", "/api/v1/sessions")).body.items).toEqual([]);
  },
);
