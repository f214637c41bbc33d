import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillCrowd } from "../support/crowd.ts";
import { openSeen } from "../support/seen.ts";
import { branch, created, flowToEnd, makeAction, makeAutomation } from "../support/work.ts";

const MOST_REQUESTS = 14;
const QUIET_MS = 300;

/** Counts a page's API requests. */
function requestsOf(page: Page) {
  let asked: string[] = [];
  const open = new Set<object>();
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith("/api/") || pathname.endsWith("/stream")) return;
    asked.push(`${request.method()} ${pathname}${search}`);
    open.add(request);
  });
  page.on("requestfinished", (request) => void open.delete(request));
  page.on("requestfailed", (request) => void open.delete(request));
  return {
    /** Waits until all requests are answered, and no more follow. */
    async untilQuiet(): Promise<string[]> {
      for (let before = -1; before !== asked.length || open.size > 0; await page.waitForTimeout(QUIET_MS))
        before = asked.length;
      const all = asked;
      asked = [];
      return all;
    },
  };
}

/** Returns the number of times that the most frequent request was sent. */
function mostAlike(asked: readonly string[]): number {
  const shapes = asked.map((each) => each.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replace(/\?.*/, ""));
  return Math.max(0, ...shapes.map((each) => shapes.filter((other) => other === each).length));
}

test("SQL is completed with any table, however many there are", async () => {
  await using seen = await openSeen();
  const few = { automations: 1, automationRuns: 1, actions: 1, actionRuns: 1 };
  await fillCrowd(seen.weir, { ...few, datasets: 150 });
  await seen.go("/sql");
  await seen.write("SQL", "SELECT * FROM ");
  await seen.page.keyboard.type("raw.crowd_14");
  await seen.page.locator(".cm-tooltip-autocomplete").getByText("raw.crowd_149", { exact: true }).waitFor();
}, 120_000);

test("40 steps, their actions and results are read in one request each, and on an automation's page only once a step is selected", async () => {
  await using seen = await openSeen();
  const { page, weir } = seen;
  const steps: object[] = [];
  for (let at = 0; at < 40; at++) {
    const { id: actionId } = await makeAction(weir.owner, { name: `Step ${at}` });
    steps.push({ key: `step${at}`, actionId, ...(at === 0 ? {} : { dependsOn: [`step${at - 1}`] }) });
  }
  const flow = await makeAutomation(weir.owner, { steps });
  const run = await flowToEnd(weir.owner, flow.id);
  const { untilQuiet } = requestsOf(page);
  /**
   * Returns the different requests. A page repeats some after the stream reports the run,
   * which includes everything from the seconds before the page was loaded.
   */
  const different = async () => [...new Set(await untilQuiet())];
  /** Returns a page's requests, up to `last`. */
  const askedBy = async (path: string, last: RegExp) => {
    await untilQuiet();
    const isAnswered = page.waitForResponse((response) => last.test(response.url()));
    await seen.go(path);
    await page.locator('[data-step="step1"]').waitFor();
    await isAnswered;
    return await different();
  };
  const whole = await askedBy(`/automation-runs/${run.id}`, /\/action-runs\?/);
  const editor = await askedBy(`/automations/${flow.id}/edit`, /\/action-runs\?/);
  const overview = await askedBy(`/automations/${flow.id}`, /\/layout$/);
  await page.locator('[data-step="step1"]').click();
  await page.getByRole("button", { name: "Input", exact: true }).click();
  await page.getByRole("heading", { name: "step0" }).waitFor();
  const chosen = await different();
  expect([whole, overview, editor].filter((asked) => asked.length > 12)).toEqual([]);
  const ofSteps = (asked: readonly string[]) => asked.filter((each) => each.includes("/action-runs")).length;
  expect([whole, editor, overview].map(ofSteps)).toEqual([1, 1, 0]);
  expect(chosen.filter((each) => each.includes("/action-runs?ids="))).toHaveLength(1);
});

test("with more than a page of each, an action keeps its connection, and says which automations use it", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, weir, go } = seen;
  const make = async (path: string, body: object) => created(await weir.owner("POST", path, body));
  const ofFiles = { provider: "local_files" };
  const first = await make("/api/v1/connections", { ...ofFiles, name: "ZZ" });
  const action = await makeAction(weir.owner, {
    kind: "dlt_extract",
    connectionId: first.id,
    definition: { resources: [{ spec: "a.csv" }], dataset: "shop" },
  });
  const agents = "/api/v1/agents/specs";
  await make(agents, { markdown: "---\nname: Oldest agent\n---\nYou help." });
  await makeAutomation(
    weir.owner,
    { steps: [{ key: "a", actionId: action.id }] },
    { name: "Oldest automation" },
  );
  for (let at = 0; at < 101; at++) {
    await make("/api/v1/connections", { ...ofFiles, name: `Files ${at}` });
    await make(agents, { markdown: `---\nname: Agent ${at}\n---\nYou help.` });
    await makeAutomation(weir.owner, { action: { kind: "conditional_branch", definition: branch() } });
  }
  await go(`/actions/${action.id}`);
  await page
    .getByLabel("Connection")
    .locator("option:checked", { hasText: "ZZ" })
    .waitFor({ state: "attached" });
  expect(await page.getByLabel("Connection").locator("option").count()).toBe(103);
  await page.getByRole("button", { name: "Delete action" }).click();
  await page.getByRole("dialog").getByText("Oldest automation").waitFor();
  await go("/actions/new?kind=call_agent");
  await page.getByRole("combobox", { name: "Agent" }).click();
  await page.keyboard.type("oldest");
  await page.getByRole("option", { name: /Oldest agent/ }).waitFor();
  expect(seen.faults).toEqual([]);
}, 120_000);

test("with 2,000 automations, 400,000 runs, 1,000 actions and 500 datasets, every page sends fewer than 15 requests, none of them per row", async () => {
  await using seen = await openSeen();
  const { page, weir } = seen;
  const started = performance.now();
  const { flow, flowRun, action, run } = await fillCrowd(weir, {
    automations: 2_000,
    automationRuns: 300_000,
    actions: 1_000,
    actionRuns: 100_000,
    datasets: 500,
  });
  console.log(`filled in ${Math.round(performance.now() - started)} ms`);
  const pages = [
    "/",
    "/automations",
    "/automations?q=automation+19",
    `/automations/${flow.id}`,
    `/automations/${flow.id}/edit`,
    "/automations/01900001-0000-7000-8000-000000000007",
    "/runs?tab=actions",
    "/runs?tab=actions&status=failed",
    "/runs?tab=actions&q=warehouse+is+closed",
    "/runs",
    "/runs?status=failed",
    "/runs?q=warehouse+is+closed",
    `/automation-runs/${flowRun.id}`,
    `/runs/${run.id}`,
    "/actions",
    `/actions/${action.id}`,
    `/actions/${action.id}?tab=runs`,
    "/approvals",
    "/connections",
    "/datasets",
    "/datasets/raw/crowd",
    "/sql",
    "/dashboards",
    "/artifacts",
    "/events",
    "/webhooks",
    "/deliveries",
    "/dead-letters",
    "/templates",
    "/bundles",
    "/catalog",
    "/agents",
    "/chat",
    "/team",
    "/access",
    "/organization",
    "/installation",
  ];
  const wrong: string[] = [];
  const { untilQuiet } = requestsOf(page);
  for (const path of pages) {
    await untilQuiet();
    const begun = performance.now();
    await seen.go(path);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
    const usefulMs = Math.round(performance.now() - begun);
    const asked = await untilQuiet();
    const most = mostAlike(asked);
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    console.log(`${path}: ${usefulMs} ms, ${asked.length} requests, ${nodes} elements`);
    if (asked.length > MOST_REQUESTS) wrong.push(`${path} asks ${asked.length}: ${asked.join(", ")}`);
    if (most > 5) wrong.push(`${path} asks the same ${most} times: ${asked.join(", ")}`);
    if (nodes > 5_000) wrong.push(`${path} draws ${nodes} elements`);
  }
  await seen.go("/sql");
  await page.getByText("401 more datasets. Search to find them.").waitFor();
  await page.getByRole("searchbox", { name: "Search tables" }).fill("crowd_450");
  await page.getByText(/^raw\.crowd_450/).waitFor();
  expect(wrong).toEqual([]);
  expect(seen.faults).toEqual([]);
}, 600_000);
