import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fill, makeThings } from "../rules/things.ts";
import { openSeen, type Seen } from "../support/seen.ts";

/** API paths for the parameters of pages. Pages without parameters need none. */
const API_OF: Readonly<Record<string, string>> = {
  "/runs/:id": "/api/v1/action-runs/{run_id}",
  "/approvals/:id": "/api/v1/approvals/{approval_id}",
  "/actions/:id": "/api/v1/actions/{action_id}",
  "/connections/:id": "/api/v1/connections/{connection_id}",
  "/automations/:id": "/api/v1/automations/{automation_id}",
  "/automations/:id/edit": "/api/v1/automations/{automation_id}",
  "/automation-runs/:id": "/api/v1/automation-runs/{run_id}",
  "/datasets/:layer/:dataset": "/api/v1/datasets/{layer}/{dataset}",
  "/bundles/:id": "/api/v1/bundles/{slug}",
  "/templates/:id": "/api/v1/templates/{template_id}",
  "/webhooks/:id": "/api/v1/webhooks/{webhook_id}",
  "/deliveries/:id": "/api/v1/webhook-deliveries/{delivery_id}",
  "/chat/:id": "/api/v1/chat/threads/{thread_id}",
  "/agents/:id": "/api/v1/agents/specs/{spec_id}",
  "/catalog/:id": "/api/v1/api-catalog/{api_id}",
  "/dashboards/:id": "/api/v1/dashboards/{dashboard_id}",
  "/dashboards/:id/edit": "/api/v1/dashboards/{dashboard_id}",
  "/artifacts/:id": "/api/v1/artifacts/{artifact_id}",
  "/installation/organizations/:id": "/api/v1/installation/organizations/{organization_id}",
};

/** The page's own list of routes, so that none is missing. */
const patterns = [
  ...readFileSync(join(import.meta.dir, "../../web/routes.tsx"), "utf8").matchAll(/route\("(\/[^"]*)"/g),
].map(([, path = ""]) => path);

let seen: Seen;
const paths: string[] = [];
beforeAll(async () => {
  seen = await openSeen();
  const { organizationId, userId } = seen.weir.ids;
  const side = { app: seen.weir, organizationId, userId, call: seen.weir.owner };
  for (const pattern of patterns) {
    const api = API_OF[pattern];
    if (pattern.includes(":") && api === undefined)
      throw new Error(`Nobody has said what stands at ${pattern}.`);
    const values = api === undefined ? [] : await makeThings(side, api);
    paths.push(api === undefined ? pattern : fill(pattern.replaceAll(/:(\w+)/g, "{$1}"), values));
  }
});
afterAll(() => seen[Symbol.asyncDispose]());

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Returns everything that axe finds on the current page, including target sizes. */
async function found(): Promise<string[]> {
  const { page } = seen;
  await page.evaluate(readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8"));
  return page.evaluate(async (tags) => {
    const { axe } = window as unknown as {
      axe: {
        run(
          at: Document,
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run(document, {
      runOnly: { type: "tag", values: tags },
      rules: { "target-size": { enabled: true } },
    });
    return violations.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.html.slice(0, 240)}`);
  }, RULES);
}

async function open(path: string) {
  await seen.go(path);
  await seen.page.getByRole("heading", { level: 1 }).first().waitFor();
  await seen.page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
}

/** Returns the elements that reach beyond the page, from the outside in. */
const widest = (width: number) =>
  seen.page.evaluate((most) => {
    const over = [...document.querySelectorAll("main *")].filter(
      (each) => each.getBoundingClientRect().right > most + 1 && !each.closest("nav, .overflow-x-auto"),
    );
    return over
      .slice(0, 6)
      .map((each) => each.outerHTML.slice(0, 90))
      .join(" > ");
  }, width);

/** URLs of the page's other tabs. */
const tabsHere = () =>
  seen.page.locator("main nav a").evaluateAll((all) =>
    all
      .map((each) => (each as HTMLAnchorElement).getAttribute("href") ?? "")
      .filter((href) => /[?&](tab|view)=/.test(href))
      .map((href) => (href.startsWith("?") ? location.pathname + href : href)),
  );

/** Returns what is wrong on all pages and tabs. */
async function walk(theme: "light" | "dark", width: number): Promise<string[]> {
  const { page } = seen;
  const wrong: string[] = [];
  const tabs = new Set<string>();
  await page.evaluate((name) => localStorage.setItem("weir.theme", name), theme);
  await page.setViewportSize({ width, height: 800 });
  const look = async (path: string) => {
    wrong.push(...(await found()).map((each) => `${path}: ${each}`));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) wrong.push(`${path} is ${wide} wide: ${await widest(width)}`);
    const current = page.locator("main nav[aria-label='Page sections'] [aria-current]");
    const box = (await current.count()) > 0 ? await current.boundingBox() : null;
    if (box && (box.x < 0 || box.x + box.width > width)) wrong.push(`${path}: its tab is out of view`);
  };
  for (const path of paths) {
    await open(path);
    for (const tab of await tabsHere()) tabs.add(tab);
    await look(path);
  }
  for (const tab of tabs) {
    await open(tab);
    await look(tab);
  }
  wrong.push(...seen.faults.splice(0), ...seen.foreign.splice(0));
  return wrong;
}

test("axe finds nothing on any page, in light mode and wide", async () => {
  expect(await walk("light", 1280)).toEqual([]);
}, 600_000);

test("nor in dark mode and 320 pixels wide, where nothing is wider than the page", async () => {
  expect(await walk("dark", 320)).toEqual([]);
}, 600_000);

test("axe finds nothing in any dialog that a button opens, and Escape closes each", async () => {
  const { page } = seen;
  const wrong: string[] = [];
  let dialogs = 0;
  await page.evaluate(() => localStorage.setItem("weir.theme", "light"));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const path of paths) {
    await open(path);
    const names = await page
      .locator("main button:visible:enabled")
      .evaluateAll((all) =>
        all.map((each) => each.textContent?.trim() || each.getAttribute("aria-label") || ""),
      );
    for (const name of [...new Set(names)].filter((each) => each !== "" && each.length < 40).slice(0, 12)) {
      const button = page.locator("main").getByRole("button", { name, exact: true }).first();
      // An earlier click may have removed it.
      if (!(await button.isEnabled({ timeout: 1000 }).catch(() => false))) continue;
      await button.click({ timeout: 2000, noWaitAfter: true }).catch(() => undefined); // Another element covers it.
      await page.waitForTimeout(60);
      const dialog = page.locator("dialog[open]");
      if ((await dialog.count()) > 0) {
        dialogs++;
        wrong.push(...(await found()).map((each) => `${path}, ${name}: ${each}`));
        await page.keyboard.press("Escape");
        await page.waitForTimeout(60);
        if ((await dialog.count()) > 0) wrong.push(`${path}, ${name}: Escape doesn't close it`);
      }
      if ((await dialog.count()) > 0 || new URL(page.url()).pathname !== path) await open(path);
    }
  }
  console.log(`${dialogs} dialogs`);
  expect(dialogs).toBeGreaterThan(20);
  expect([...new Set(wrong)]).toEqual([]);
}, 1_200_000);
