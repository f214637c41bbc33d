import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

export interface Shot {
  name: string;
  path: string;
  /** What to do first. */
  first?: (page: Page) => Promise<unknown>;
  /** The language that the page must have. */
  language?: string;
}

/** The pictures of the README. */
export const README: readonly Shot[] = [
  {
    name: "home",
    path: "/",
    first: (page) => page.getByRole("table", { name: "Runs" }).getByText("Shop exported").first().waitFor(),
  },
  {
    name: "automation",
    path: "/automations/AUTOMATION",
    first: (page) => page.locator("[data-step=transform]").click(),
  },
  {
    name: "sql",
    path: `/sql?sql=${encodeURIComponent("SELECT day, revenue, tea\nFROM marts.daily_revenue\nORDER BY day")}`,
    async first(page) {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("button", { name: "Chart" }).click();
      await page.getByRole("img", { name: /chart/i }).waitFor();
    },
  },
];

/** Values for a page's parameters. Uppercase words are IDs of the sample workspace. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  "/runs/:id": ["/runs/STEPRUN"],
  "/approvals/:id": ["/approvals/APPROVAL"],
  "/actions/new": ["/actions/new", "/actions/new?kind=http_request", "/actions/new?kind=dlt_extract"],
  "/connections/new": ["/connections/new", "/connections/new?provider=postgres"],
  "/runs": ["/runs", "/runs?status=failed", "/runs?status=cancelled"],
  "/actions/:id": ["/actions/ACTION"],
  "/connections/:id": ["/connections/FILES", "/connections/INVALID"],
  "/automations/:id": ["/automations/AUTOMATION", "/automations/FLOW"],
  "/automations/:id/edit": [
    "/automations/FLOW/edit",
    "/automations/FLOW/edit?step=route",
    "/automations/AUTOMATION/edit?step=$trigger",
  ],
  "/automation-runs/:id": ["/automation-runs/RUN", "/automation-runs/WAITS", "/automation-runs/FAILED"],
  "/datasets/:layer/:dataset": [
    "/datasets/marts/daily_revenue",
    "/datasets/marts/daily_revenue?tab=profile",
    "/datasets/marts/daily_revenue?tab=lineage",
    "/datasets/raw/shop",
  ],
  "/bundles/:id": ["/bundles/quick-start"],
  "/templates/:id": ["/templates/TEMPLATE"],
  "/webhooks/:id": ["/webhooks/WEBHOOK"],
  "/deliveries/:id": ["/deliveries/DELIVERY"],
  "/chat/:id": ["/chat/THREAD"],
  "/agents/:id": ["/agents/AGENT"],
  "/catalog/:id": ["/catalog/API"],
  "/dashboards/:id": ["/dashboards/DASHBOARD"],
  "/dashboards/:id/edit": ["/dashboards/DASHBOARD/edit"],
  "/artifacts/:id": ["/artifacts/ARTIFACT"],
  "/installation/organizations/:id": ["/installation/organizations/ORGANIZATION"],
};

/** Returns the URLs of the other tabs of the open page. */
export const tabsHere = (page: Page): Promise<string[]> =>
  page.locator("main nav a").evaluateAll((all) =>
    all
      .map((each) => each.getAttribute("href") ?? "")
      .filter((href) => /[?&](tab|view)=/.test(href))
      .map((href) => (href.startsWith("?") ? location.pathname + href : href)),
  );

export const nameOf = (path: string) => path.replace(/\W+/g, "-").replace(/^-|-$/g, "") || "home";

/** The page's own list of routes, so that none is missing. */
export const patterns = [
  ...readFileSync(join(import.meta.dir, "../../web/routes.tsx"), "utf8").matchAll(/route\("(\/[^"]*)"/g),
].map(([, path = ""]) => path);

export const shotsOf = (paths: readonly string[]): Shot[] =>
  paths.map((path) => ({ name: nameOf(path), path }));

/** A run with steps from left to right. On a phone, they are a list. */
const ACROSS: Shot = {
  name: "automation-runs-RUN-right",
  path: "/automation-runs/RUN",
  async first(page) {
    await page.evaluate(() => localStorage.setItem("weir.runDirection", "right"));
    await page.reload();
    await page.locator("[data-step]").first().waitFor({ state: "attached" });
    await page.evaluate(() => localStorage.removeItem("weir.runDirection"));
  },
};

/** At least one picture of each page. */
export function everyPage(): Shot[] {
  const paths = patterns.flatMap((pattern) => {
    const own = PATHS[pattern];
    if (!own && !pattern.includes(":")) return [pattern];
    if (!own) throw new Error(`Nobody has said what stands at ${pattern}.`);
    return own;
  });
  return [...shotsOf([...paths, "/nowhere", "/runs/nothing"]), ACROSS];
}
