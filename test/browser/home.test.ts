import { afterAll, beforeAll, expect, test } from "bun:test";
import { automationWatches } from "../../src/resources/automations/table.ts";
import { pressTogether } from "../support/hands.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { branch, created, flowToEnd, makeAction, makeAutomation, runToEnd, until } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const steps = [{ key: "go", kind: "conditional_branch", definition: branch() }];

deepTest("home shows what is stale, what is broken and what comes next, each with a link", async () => {
  const { page, go, heading, troubles, weir } = seen;
  const { owner } = weir;
  await runToEnd(owner, (await makeAction(owner)).id);
  const watched = { steps, expect: { maxSilenceSeconds: 3600 } };
  const silent = await makeAutomation(owner, watched, { name: MARKUP });
  const mended = await makeAutomation(owner, watched, { name: "Mended since" });
  while ((await weir.app.store.db.$count(automationWatches)) < 2) await Bun.sleep(20);
  weir.clock.turn(3_700_000);
  await until(owner, "/api/v1/overview", ({ automations }) => automations.late === 2);
  await flowToEnd(owner, mended.id);
  await makeAutomation(
    owner,
    { steps, schedule: { cron: `30 ${(weir.clock.now().getUTCHours() + 6) % 24} * * *`, timezone: "UTC" } },
    { name: "Every day", triggerType: "schedule" },
  );
  const { id } = created(
    await owner("POST", "/api/v1/connections", {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "127.0.0.1", port: 9, database: "shop" },
      credentials: { user: "ada", password: "secret" },
    }),
  );
  await owner("POST", `/api/v1/connections/${id}/verify`);

  await go("/");
  await page.getByRole("link", { name: `${MARKUP}: overdue` }).waitFor();
  await page.getByRole("link", { name: /^Error Warehouse: connection failed/ }).waitFor();
  await page.getByRole("link", { name: /^Every day in [67] hr/ }).waitFor();
  expect(await page.getByText(/^Mended since: /).count()).toBe(0);
  expect(await troubles()).toEqual([]);
  await page.getByRole("link", { name: /: overdue/ }).click();
  await heading(MARKUP);
  await flowToEnd(owner, silent.id);
  await go("/");
  await page.getByRole("link", { name: /^Error Warehouse: connection failed/ }).waitFor();
  expect(await page.getByText(/: overdue/).count()).toBe(0);
});

deepTest("home requests the overview every few seconds, however many runs start and end", async () => {
  const { page, go, heading, live, weir } = seen;
  await go("/");
  await heading("Hello, Ada");
  await live();
  const flow = await makeAutomation(weir.owner, { steps }, { name: "Busy" });
  await page.getByText(/^\d+ runs?, 0 failed$/).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const start = performance.now();
  for (let n = 0; n < 30; n++) await flowToEnd(weir.owner, flow.id);
  const { actionRuns } = (await weir.owner("GET", "/api/v1/overview")).body;
  await page.getByText(`${actionRuns.total} runs, 0 failed`).waitFor();
  const times = (performance.now() - start) / 3000 + 2;
  const count = (path: string) => asked.filter((each) => each === path).length;
  expect(count("/api/v1/overview")).toBeGreaterThan(0);
  expect(count("/api/v1/overview")).toBeLessThanOrEqual(times);
  expect(asked.filter((path) => path.startsWith("/api/v1/")).length).toBeLessThanOrEqual(times * 5);
});

deepTest("shortcuts and the palette lead to each area", async () => {
  const { page, go, heading } = seen;
  await go("/");
  await heading("Hello, Ada");
  for (const [key, name] of [
    ["b", "Bundles"],
    ["v", "Dashboards"],
    ["f", "Artifacts"],
    ["w", "Webhooks"],
    ["m", "Team"],
    ["k", "Access"],
    ["o", "Organization"],
  ] as const) {
    await pressTogether(page, "g", key);
    await heading(name);
    await page.locator("aside [aria-current=page]").waitFor();
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("dead l");
  await page.keyboard.press("Enter");
  await heading("Dead letters");
  await page.locator("aside [aria-current=page]", { hasText: "Webhooks" }).waitFor();
});

test("it is readable in dark mode and on a phone", async () => {
  expect(await seen.alsoDarkAndNarrow("/")).toEqual([]);
});
