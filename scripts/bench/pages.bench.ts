/**
 * Every page at scale: `bun scripts/bench/pages.bench.ts`. The demo's workspace is filled up with 2,000 automations,
 * 300,000 runs of them and 100,000 of actions, 1,000 actions and 500 datasets. For each page: requests,
 * milliseconds until nothing on it is loading, and CPU milliseconds of the server and of the page's main thread,
 * which hardly depend on other load on the machine. Arguments select paths.
 */
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { startModel } from "../../test/peers/model.ts";
import { client } from "../../test/support/app.ts";
import { openBrowser } from "../../test/support/chromium.ts";
import { fillCrowd } from "../../test/support/crowd.ts";
import { signIn } from "../../test/support/hands.ts";
import { named, startDemo } from "../pictures/demo.ts";
import { everyPage } from "../pictures/pages.ts";
import { answer, fillWorkspace } from "../pictures/sample.ts";
import { tempFolder } from "./ending.ts";
import { tell } from "./load.ts";
import { treeSeconds } from "./process.ts";

const MOST_REQUESTS = 14;
const USEFUL_MS = 1000;
const QUIET_MS = 300;
const CLOSED = "http://127.0.0.1:9";

/** Searches in long lists, without screenshots. */
const SEARCHES = [
  "/automations?q=automation+19",
  "/automations?sort=name",
  "/automations/AUTOMATION/edit?step=extract",
  "/automations/01900001-0000-7000-8000-000000000007",
  "/automations/01900001-0000-7000-8000-000000000007/edit",
  "/runs?q=warehouse+is+closed",
  "/runs?tab=actions",
  "/runs?tab=actions&status=failed",
  "/runs?tab=actions&q=warehouse+is+closed",
  "/actions/ACTION?tab=runs",
  "/actions?q=action+09",
  "/datasets/raw/crowd",
];

/** Counts the page's API requests, until all are answered and no more follow. */
function requestsOf(page: Page) {
  const asked: string[] = [];
  let open = 0;
  const isCall = (url: string) => /\/api\/(?!.*\/stream)/.test(new URL(url).pathname);
  page.on("request", (request) => {
    if (!isCall(request.url())) return;
    asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
    open++;
  });
  for (const end of ["requestfinished", "requestfailed"] as const)
    page.on(end as "requestfinished", (request) => void (isCall(request.url()) && open--));
  return async () => {
    for (let before = -1; before !== asked.length || open > 0; await page.waitForTimeout(QUIET_MS))
      before = asked.length;
    return asked.splice(0);
  };
}

/** Milliseconds of the main thread's own time so far: in total, and in scripts. */
async function threadOf(session: CDPSession): Promise<[tasks: number, scripts: number]> {
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (wanted: string) => (metrics.find(({ name }) => name === wanted)?.value ?? 0) * 1000;
  return [of("TaskDuration"), of("ScriptDuration")];
}

const model = await startModel(answer);
const data = tempFolder();
const env = {
  ...process.env,
  ...model.env,
  WEIR_API_RATE: "off",
  WEIR_DEFAULT_PLAN: "enterprise",
  WEIR_EGRESS_ALLOW: `127.0.0.1:9,${new URL(model.origin).host}`,
};
const demo = await startDemo(env, ["--data", join(data, "demo")]);
const { origin, email, password, token } = demo;
const ids = { ...demo.ids, ...(await fillWorkspace(demo, CLOSED)) };
const began = performance.now();
await fillCrowd(
  { owner: client(origin, { authorization: `Bearer ${token}` }), dataFolder: join(data, "demo") },
  { automations: 2_000, automationRuns: 300_000, actions: 1_000, actionRuns: 100_000, datasets: 500 },
);
console.log(`filled in ${((performance.now() - began) / 1000).toFixed(1)} s`);

const browser = await openBrowser();
const { page, context } = await browser.open(origin);
await signIn(page, origin, email, password);
const session = await context.newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
const untilQuiet = requestsOf(page);

/** Opens a page, and measures once the page and its requests are idle. */
async function open(path: string) {
  await page.goto("about:blank");
  await untilQuiet();
  const [server, [tasks, scripts]] = [treeSeconds(demo.pid), await threadOf(session)];
  const start = performance.now();
  await page.goto(origin + named(path, ids));
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.locator("[aria-label=Loading], main .pulse").first().waitFor({ state: "detached" });
  const useful = performance.now() - start;
  const asked = await untilQuiet();
  const [tasksNow, scriptsNow] = await threadOf(session);
  return {
    path,
    asked,
    useful,
    server: (treeSeconds(demo.pid) - server) * 1000,
    thread: tasksNow - tasks,
    scripts: scriptsNow - scripts,
  };
}

const wanted = process.argv.slice(2);
const paths =
  wanted.length > 0 ? wanted : [...new Set([...everyPage().map(({ path }) => path), ...SEARCHES])];
await open("/"); // Fetches the code of all pages.
const ms = (value: number) => value.toFixed(0).padStart(6);
console.log(`${"".padEnd(44)}  asked  useful  server  thread  scripts`);
const all: Awaited<ReturnType<typeof open>>[] = [];
for (const path of paths) {
  const one = await open(path);
  all.push(one);
  console.log(
    `${path.slice(0, 44).padEnd(44)} ${String(one.asked.length).padStart(6)} ${ms(one.useful)}  ${ms(one.server)}  ${ms(one.thread)}   ${ms(one.scripts)}`,
  );
  if (one.asked.length > MOST_REQUESTS) console.log(`  ${one.asked.sort().join("\n  ")}`);
}
const most = (of: (each: (typeof all)[number]) => number) => Math.max(...all.map(of));
tell(
  "every page at scale: most requests",
  most(({ asked }) => asked.length),
  MOST_REQUESTS,
  MOST_REQUESTS,
  "",
  true,
);
tell(
  "every page at scale: longest until useful",
  most(({ useful }) => useful),
  USEFUL_MS,
  USEFUL_MS / 2,
  "ms",
  true,
);
await browser.close();
await demo[Symbol.asyncDispose]();
await model[Symbol.asyncDispose]();
process.exit(0); // Also ends the browser.
