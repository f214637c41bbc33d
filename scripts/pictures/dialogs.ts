import type { Page } from "playwright-core";
import { nameOf, type Shot } from "./pages.ts";

const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click();

const keys =
  (...pressed: readonly string[]) =>
  async (page: Page) => {
    for (const key of pressed) await page.keyboard.press(key);
  };

const ofMain = (name: string) => (page: Page) =>
  page.locator("main").getByRole("button", { name, exact: true }).first().click();

/** Opens the account menu, which is in the navigation on a phone. */
async function openAccount(page: Page) {
  const navigation = page.getByRole("button", { name: "Open navigation" });
  if (await navigation.isVisible()) await navigation.click();
  await page.locator("aside button[aria-haspopup]").last().click();
}

/** Overlays of a page: its path, a word for the picture's name, and how to open it. */
const OPENED: readonly (readonly [path: string, word: string, first: (page: Page) => Promise<unknown>])[] = [
  ["/", "palette", keys("Control+k", "s", "h", "o", "p")],
  ["/", "keys", keys("?")],
  ["/", "account", openAccount],
  ["/actions/ACTION", "run", ofMain("Run")],
  ["/automations/BROKEN", "run", ofMain("Run")],
  ["/automations/FLOW", "delete", ofMain("Delete automation")],
  ["/automations", "selected", (page) => page.getByLabel("Select all on this page").check()],
  ["/automations/FLOW/edit", "test", press("Test")],
  ["/automations/FLOW/edit", "versions", press("Versions")],
  ["/automations/FLOW/edit", "add", (page) => page.getByRole("button", { name: /^Add/ }).last().click()],
  [
    "/automation-runs/FAILED",
    "step",
    (page) => page.locator("main button:visible", { hasText: "Send to the accountant" }).first().click(),
  ],
  ["/automation-runs/FAILED", "run-again", ofMain("Run with edited input")],
  ["/connections/FILES", "delete", ofMain("Delete connection")],
  ["/connections/FILES", "preview", ofMain("customers.csv")],
  ["/events", "event", (page) => page.locator("main li button").nth(1).click()],
  ["/dashboards/DASHBOARD", "share", ofMain("Share")],
  ["/dashboards/DASHBOARD", "email", ofMain("Email")],
  ["/dashboards/DASHBOARD/edit", "panel", ofMain("Add panel")],
  ["/dashboards/DASHBOARD/edit", "filter", ofMain("Add filter")],
  ["/sql", "result", ofMain("Run")],
  ["/sql", "save", ofMain("Save")],
  ["/organization", "remove", ofMain("Remove")],
  ["/webhooks/WEBHOOK?tab=settings", "rotate", ofMain("Rotate")],
];

/** Dialogs, menus and panels that open on a click, on the English page. */
export const DIALOGS: readonly Shot[] = OPENED.map(([path, word, first]) => ({
  name: `${nameOf(path)}-${word}`,
  path,
  first,
  language: "en",
}));
