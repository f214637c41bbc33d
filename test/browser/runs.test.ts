import { afterAll, beforeAll, expect, test } from "bun:test";
import { deepTest } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  runToEnd,
  until,
} from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const step = (key: string, definition: object = branch(), more: object = {}) => ({
  key,
  kind: "conditional_branch",
  definition,
  ...more,
});
const LONG = "Donaudampfschifffahrtsgesellschaft".repeat(4);
const gate = { key: "ask", kind: "approval_gate", definition: { title: "Ship it?" } };

test("runs opens with automation runs, and an action's run is found by name or error", async () => {
  const { page, go, weir, troubles } = seen;
  const definition = branch("a", "run.parcel == 1");
  const { id } = await makeAction(weir.owner, { name: "Weigh parcels", definition });
  await runToEnd(weir.owner, id);
  await runToEnd(weir.owner, (await makeAction(weir.owner, { name: "Count" })).id);
  await go("/runs");
  await page.getByText("No automation runs yet").waitFor();
  await page.getByRole("link", { name: "Action runs" }).click();
  const table = page.getByRole("table", { name: "Runs" });
  await page.getByText("1–2 of 2").waitFor();
  const search = page.getByRole("searchbox", { name: "Action, ID or error" });
  for (const text of ["weigh", "parcel"]) {
    await search.fill(text);
    await page.getByText("1–1 of 1").waitFor();
    await table.getByRole("row", { name: /Weigh parcels.*Failed/ }).waitFor();
  }
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByText("1–2 of 2").waitFor();
  await go(`/runs?action=${id}`);
  await page.getByText("1–1 of 1").waitFor();
});

test("long lines of a log wrap, and each is copied as one line", async () => {
  const { page, go, weir } = seen;
  const source = `export default () => { console.log("${LONG} ${LONG}"); console.log("a  gap"); }`;
  const { id } = await makeAction(weir.owner, { kind: "run_script", name: "Chatty", definition: { source } });
  const run = await runToEnd(weir.owner, id);
  await go(`/runs/${run.id}`);
  const log = page.getByRole("region", { name: "Log" });
  await log.getByText(/a\s+gap/).waitFor();
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 860 });
    expect(await log.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
  }
  const copied = await log.evaluate((box) => {
    getSelection()?.selectAllChildren(box);
    return String(getSelection());
  });
  const lines = copied.split("\n").map((line) => line.replace(/^[0-9:.]{12} info {2}/, ""));
  expect(lines).toContain(`${LONG} ${LONG}`);
  expect(lines).toContain("a  gap");
});

/** Opens a running run whose log is streamed in these parts. */
async function openLog(parts: readonly (readonly string[])[]) {
  const { page, go, weir } = seen;
  const source = "export default () => { for (;;); }";
  const { id } = await makeAction(weir.owner, {
    kind: "run_script",
    name: "Followed",
    definition: { source },
  });
  const run = created(await weir.owner("POST", `${ACTIONS}/${id}/run`, {}));
  let seq = 0;
  const event = (name: string, data: object) => {
    const line = { seq: ++seq, timestamp: "2026-01-01T00:00:00.000Z", level: "info", ...data };
    return `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(line)}\n\n`;
  };
  const bodies = parts.map((part) => part.map((message) => event("log", { message })).join(""));
  await page.unroute("**/stream");
  await page.route("**/stream", (route) => {
    const body = bodies.shift() ?? "";
    const end = bodies.length === 0 ? event("end", {}) : "";
    return route.fulfill({ contentType: "text/event-stream", body: body + end });
  });
  await go(`/runs/${run.id}`);
  const log = page.getByRole("region", { name: "Log" });
  await log.getByText("the end").waitFor();
  return log;
}

/** Waits until the log shows its end. */
const showsEnd = () =>
  seen.page.waitForFunction(() => {
    const box = document.querySelector("[aria-label=Log]");
    return box && box.scrollTop > 1000 && box.scrollHeight - box.scrollTop - box.clientHeight < 2;
  });

test("the log of a run is followed to its end, however its lines wrap", async () => {
  const { page } = seen;
  const lines = Array.from({ length: 30 }, (_, at) => (at % 3 === 1 ? "many words ".repeat(300) : "few"));
  const log = await openLog([lines, [...lines, "the end"]]);
  await showsEnd();
  await log.evaluate((box) => {
    const scrolled = new Promise((resolve) => box.addEventListener("scroll", resolve, { once: true }));
    box.scrollTo({ top: 0 });
    return scrolled.then(() => undefined);
  });
  await page.getByLabel("Search log").fill("few");
  await page.getByText("40 of 61 lines").waitFor();
  expect(await log.evaluate((box) => box.scrollTop)).toBe(0);
  await page.unroute("**/stream");
});

deepTest("the end of a log is followed when its first lines are no longer shown", async () => {
  const many = Array.from({ length: 10_000 }, (_, at) => `line ${at}`);
  await openLog([many, [...many.slice(0, 20), "the end"]]);
  await showsEnd();
  await seen.page.unroute("**/stream");
});

test("a completed run offers to run its action as that is now, without what the run was given", async () => {
  const { page, go, weir } = seen;
  const { owner } = weir;
  const { id } = await makeAction(owner, { name: "Given once" });
  const given = { definitionOverrides: branch("given") };
  const { body: once } = await owner("POST", `/api/v1/actions/${id}/run?wait=20`, given);
  expect(once.definition).toEqual(branch("given"));
  await go(`/runs/${once.id}`);
  await page.getByRole("button", { name: "Run action" }).click();
  await page.waitForURL((url) => /^\/runs\/(?!$)/.test(url.pathname) && !url.pathname.endsWith(once.id));
  const { body: again } = await owner("GET", `/api/v1/action-runs/${page.url().slice(-36)}`);
  expect(again.definition).toEqual(branch());
});

deepTest(
  "a failed run is found among all by its error, filtered by its step, and retried with similar ones",
  async () => {
    const { page, go, weir, troubles } = seen;
    const { owner } = weir;
    const steps = [step("first"), step("price", branch("a", "payload.price > 3"), { dependsOn: ["first"] })];
    const broken = await makeAutomation(owner, { steps }, { name: "Price check" });
    const fine = await makeAutomation(owner, { steps: [step("only")] }, { name: "Nightly" });
    const { error } = await flowToEnd(owner, broken.id);
    await flowToEnd(owner, broken.id);
    await flowToEnd(owner, fine.id);
    const waiting = await makeAutomation(
      owner,
      { steps: [{ ...gate, name: "Ask Ben" }] },
      { name: "Shipping" },
    );
    const { id } = created(await owner("POST", `${AUTOMATIONS}/${waiting.id}/run`));
    await until(owner, `${AUTOMATION_RUNS}/${id}`, ({ status }) => status === "waiting");

    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await go("/runs");
    const table = page.getByRole("table", { name: "Automation runs" });
    await page.getByText("1–4 of 4").waitFor();
    await table.getByRole("row", { name: /Shipping.*0 of 1 step · Ask Ben.*Waiting for approval/ }).waitFor();
    expect(asked.filter((path) => /^\/api\/v1\/(automations|automation-runs|actions)\//.test(path))).toEqual(
      [],
    );
    expect(await troubles()).toEqual([]);

    await page.getByRole("searchbox", { name: "Name, ID or error" }).fill(error.message.slice(0, 40));
    await page.getByText("1–2 of 2").waitFor();
    const input = page.getByRole("combobox", { name: "Automation", exact: true });
    await input.fill(`Price check (${broken.slug})`);
    await page.getByText("Price check", { exact: true }).first().waitFor();
    await page.getByLabel("Failed step").selectOption("first");
    await page.getByText("No runs match these filters").waitFor();
    await page.getByLabel("Failed step").selectOption("price");
    await page.getByText("1–2 of 2").waitFor();
    await page.getByRole("checkbox", { name: "Select all on this page" }).check();
    await page.getByRole("button", { name: "Retry 2 runs" }).click();
    await page.getByText("2 runs retried").waitFor();
    await page.getByText("1–4 of 4").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();

    await page.getByLabel("Status").selectOption("waiting");
    await page.getByText("1–1 of 1").waitFor();
    await table.getByRole("checkbox", { name: /^Select Shipping/ }).check();
    await page.getByRole("button", { name: "Cancel 1 run" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 1 run?" });
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel 1 run" }).click();
    await page.getByText("1 run cancelled").waitFor();
    expect((await owner("GET", `${AUTOMATION_RUNS}/${id}`)).body.status).toBe("cancelled");
    expect(await seen.alsoDarkAndNarrow("/runs")).toEqual([]);
  },
);

test("a run shows its steps over time, is approved while it waits, and runs again with another input", async () => {
  const { page, go, weir, troubles } = seen;
  const { owner } = weir;
  const load = {
    kind: "duckdb_transform",
    definition: { sql: "SELECT 1 AS id", output: { layer: "marts", dataset: "loaded" } },
  };
  const flow = await makeAutomation(
    owner,
    {
      steps: [
        { key: "load", ...load },
        { ...gate, dependsOn: ["load"] },
        step("check", branch("a", "input.price > 3"), {
          name: `Check the price ${LONG}`,
          dependsOn: ["ask"],
        }),
      ],
    },
    { name: `Release ${LONG}` },
  );
  const { id } = created(await owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { note: "first" } }));
  await until(owner, `${AUTOMATION_RUNS}/${id}`, ({ status }) => status === "waiting");
  await go(`/automation-runs/${id}`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  await timeline.getByRole("link", { name: "marts.loaded" }).waitFor();
  const bars = (key: string, phase: string) =>
    timeline.getByRole("listitem").filter({ hasText: key }).locator(`[data-phase=${phase}]`);
  expect(await bars("load", "active").count()).toBe(1);
  expect(await bars("ask", "waiting").count()).toBe(1);
  expect(await bars("check", "active").count()).toBe(0);
  const waited = await timeline.getByRole("listitem").filter({ hasText: "ask" }).textContent();
  await page.waitForFunction(
    (before) =>
      [...document.querySelectorAll("ol[aria-label=Timeline] > li")].some(
        ({ textContent }) => textContent?.startsWith("ask") && textContent !== before,
      ),
    waited,
  );
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("h1 + span", { hasText: "Failed" }).waitFor();
  await timeline.getByRole("link", { name: "Approval" }).waitFor();

  await timeline.getByRole("link", { name: "Check the price" }).click();
  await seen.heading(`Check the price ${LONG}`);
  await page.getByRole("alert").getByRole("link", { name: "Edit step Check the price" }).waitFor();
  await page.getByText(`Check the price ${LONG} (this run)`).waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Release" }).click();
  await page.waitForURL((url) => url.pathname === `/automation-runs/${id}`);
  expect(await seen.alsoDarkAndNarrow(`/automation-runs/${id}`)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("button", { name: /^Check the price/ }).click();
  const output = page.locator("[data-part=output]");
  await output.getByRole("link", { name: "Open run" }).waitFor();
  expect((await output.boundingBox())?.height).toBeGreaterThan(150);
  await page.waitForURL((url) => url.searchParams.get("step") === "check");
  await page.reload();
  await output.getByRole("link", { name: "Open run" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 860 });

  await page.getByRole("button", { name: "Retry failed steps" }).click();
  await page.getByRole("link", { name: id.slice(-12) }).waitFor();
  await timeline.getByText("Result kept from the retried run").first().waitFor();
  await page.getByText('"first"').waitFor();
  await page.getByRole("button", { name: "Run with edited input" }).click();
  await seen.write("Input", '{"price": 7}');
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
});
