import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openAs } from "../support/hands.ts";
import { configHas, makeTelling, runToApproval, startShop } from "../support/journeys.ts";
import { onlyKeys } from "../support/only-keys.ts";
import { eventually } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, makeAutomation } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

/** The canvas, which has the focus once it is shown. */
const canvasOf = (page: Page) => page.locator("div:focus:has([data-step])");

/** Leaves a step's form with Escape, back to its card. */
async function leavePanel(keys: ReturnType<typeof onlyKeys>) {
  await keys.press("Escape");
  await seen.page.locator("[data-step]:focus").waitFor();
}

test("a first automation over PostgreSQL with a branch, an approval and a request is built by keyboard", async () => {
  const { page, weir, troubles } = seen;
  await using shop = await startShop(weir.owner);
  const { receiver } = shop;
  await seen.go("/");
  await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
  const keys = onlyKeys(page);
  const panel = page.getByRole("region", { name: /^Step / });
  const field = (name: string | RegExp) => panel.getByRole("textbox", { name });
  const add = async (kind: string, key: string) => {
    await leavePanel(keys);
    await keys.press("a");
    await page.getByRole("combobox", { name: /^Search kinds/ }).waitFor();
    await keys.write(kind);
    await page.getByRole("option", { name: new RegExp(`^${kind}`) }).waitFor();
    await keys.press("Enter");
    await page.locator(`[data-step=${key}]`).waitFor();
    await field("Step name").waitFor();
  };
  const began = performance.now();
  await keys.press("Control+k");
  await keys.write("new automation");
  await page.getByRole("option", { name: /New automation/ }).waitFor();
  await keys.press("Enter");
  await page.getByRole("textbox", { name: "Name", exact: true }).waitFor();
  await keys.fill(page.getByRole("textbox", { name: "Name", exact: true }), "Orders");
  await keys.choose(page.getByLabel("Trigger", { exact: true }), "Webhook");
  await keys.fill(page.getByRole("textbox", { name: "Path" }), "orders");
  await keys.press("Enter");
  await keys.enter(page.getByRole("dialog").getByRole("button", { name: "Done" }));

  await canvasOf(page).waitFor();
  await keys.press("ArrowDown");
  await add("Extract", "extract");
  await keys.choose(panel.getByLabel("Connection"), "Shop");
  await keys.tabTo(page.getByRole("checkbox", { name: "public.orders" }));
  await keys.press(" ");
  await keys.fill(panel.getByRole("combobox", { name: /^Dataset/ }), "shop");
  await keys.press("Tab");

  await add("SQL transform", "sql_transform");
  await keys.fill(field("SQL"), "SELECT sum(total) AS total FROM raw.shop__orders");
  await keys.press("Shift+Tab"); // The editor's suggestions would consume Escape.

  await add("Branch", "branch");
  await keys.enter(panel.getByRole("button", { name: "Add", exact: true }).first());
  await field(/^Key/).last().waitFor();
  await keys.fill(field(/^Key/).last(), "big");
  await keys.fill(field(/^When/).last(), "steps.sql_transform.result.items[0].total > 100");

  await add("Approval", "approval");
  await keys.fill(field("Title"), "Send it?");

  await add("HTTP request", "http_request");
  await keys.choose(panel.getByLabel("Method"), "POST");
  await keys.fill(field("URL"), `${receiver.url}/total`);
  expect(await troubles()).toEqual([]);
  await keys.press("Control+Shift+Enter");
  await page.getByText("Published", { exact: true }).waitFor();
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`first automation by keyboard: ${keys.count} keys, ${seconds} s`);
  expect([...keys.unseen]).toEqual([]);

  const config = await runToApproval(weir.owner, {});
  expect(config.steps.map(({ key, dependsOn }: Record<string, unknown>) => [key, dependsOn])).toEqual([
    ["extract", undefined],
    ["sql_transform", ["extract"]],
    ["branch", ["sql_transform"]],
    ["approval", ["branch:big"]],
    ["http_request", ["approval"]],
  ]);
  await keys.press("Control+k");
  await keys.write("approvals");
  await page.getByRole("option", { name: /^Approvals/ }).waitFor();
  await keys.press("Enter");
  await page.getByRole("button", { name: "Approve" }).first().waitFor();
  await keys.press("a");
  await eventually(() => receiver.got.length === 1);
}, 240_000);

test("by keyboard, a failed run is found by its error, fixed and rerun, and a version restored", async () => {
  await using receiver = startReceiver(({ path }) =>
    path === "/no" ? new Response("no", { status: 418 }) : Response.json({ ok: true }),
  );
  const { page, weir, troubles } = seen;
  const flowId = await makeTelling(weir.owner, `${receiver.url}/no`);
  await seen.go("/");
  await page.getByRole("heading", { name: "Hello, Ada" }).waitFor();
  const keys = onlyKeys(page);
  await keys.press("Control+k");
  await keys.write("418");
  await page.getByRole("option", { name: /418.*Failed run · Tells/ }).waitFor();
  await keys.press("Enter");
  await page.waitForURL(/\/automation-runs\//);
  console.log(`failed run by its error: ${keys.count} keys`);

  const before = keys.count;
  await keys.enter(page.getByRole("link", { name: "Skip to main content" }));
  await keys.enter(page.getByRole("link", { name: "Edit step tell" }));
  const url = page.getByRole("textbox", { name: "URL" });
  await canvasOf(page).waitFor();
  await keys.press("Enter"); // To the open step.
  await page.locator("[data-step=tell]:focus").waitFor();
  await keys.press("Enter"); // And into its form.
  await keys.fill(url, `${receiver.url}/yes`);
  await leavePanel(keys);
  await keys.press("r");
  const dialog = page.getByRole("dialog", { name: "Run to tell" });
  await keys.enter(dialog.getByRole("button", { name: "Run", exact: true }));
  await page.getByRole("button", { name: /^tell.*completed/ }).waitFor();
  expect(receiver.got.map(({ path }) => path)).toEqual(["/no", "/yes"]);
  console.log(`mended and run again: ${keys.count - before} keys`);
  await keys.enter(page.getByRole("button", { name: "Publish" }), "Shift+Tab");
  await page.getByText("Published", { exact: true }).waitFor();

  await keys.tabTo(page.locator("[data-step=tell]"));
  await keys.press("v");
  await keys.enter(page.getByRole("dialog").getByRole("button", { name: "Restore version 1" }));
  await configHas(weir.owner, flowId, `${receiver.url}/no`);
  expect([...keys.unseen]).toEqual([]);
  expect(await troubles()).toEqual([]);
}, 120_000);

test("by keyboard, two users edit one automation at once, and nothing is lost", async () => {
  const { page, weir, troubles } = seen;
  const step = (key: string, ...dependsOn: string[]) => ({
    key,
    name: key.toUpperCase(),
    kind: "conditional_branch",
    definition: branch(),
    ...(dependsOn.length > 0 ? { dependsOn } : {}),
  });
  const flow = await makeAutomation(weir.owner, {
    steps: [step("a"), step("b", "a"), step("c", "b")],
  });
  const draft = async () => (await weir.owner("GET", `${AUTOMATIONS}/${flow.id}/draft`)).body.config?.steps;
  const draftHas = (...names: string[]) =>
    eventually(
      async () => (await draft())?.map(({ name }: { name: string }) => name).join() === names.join(),
    );
  await using other = await openAs(weir.origin);
  const address = `/automations/${flow.id}/edit`;
  await seen.go(address);
  await other.page.goto(weir.origin + address);
  const people = [onlyKeys(page), onlyKeys(other.page)] as const;
  await canvasOf(page).waitFor();
  await canvasOf(other.page).waitFor();
  const rename = async (who: 0 | 1, steps: number, name: string) => {
    const at = [page, other.page][who] ?? page;
    await at.locator("[data-step=a]").waitFor();
    await people[who].press("Home", ...Array.from({ length: steps }, () => "ArrowDown"), "F2");
    await at.getByRole("textbox", { name: "Step name" }).waitFor();
    await people[who].fill(at.getByRole("textbox", { name: "Step name" }), name);
    await people[who].press("Control+s");
  };
  await rename(1, 1, "Theirs");
  await draftHas("Theirs", "B", "C");
  await rename(0, 3, "Mine");
  await draftHas("Theirs", "B", "Mine");
  await page.getByText("Someone else changed 1 step").waitFor();

  await weir.owner("PATCH", `${AUTOMATIONS}/${flow.id}/draft`, {
    config: {
      steps: [{ ...step("a"), name: "Theirs" }, step("b", "a"), { ...step("c", "b"), name: "Third" }],
    },
  });
  await people[0].write("Fourth");
  await people[0].press("Control+s");
  const question = page.getByRole("dialog", {
    name: "Someone else changed this too",
  });
  await question.waitFor();
  await people[0].tabTo(question.getByRole("radio", { name: "Your change" }));
  await people[0].press("ArrowRight");
  expect(await question.getByRole("radio", { name: "Their change" }).isChecked()).toBe(true);
  await people[0].press("ArrowLeft");
  await people[0].enter(question.getByRole("button", { name: "Apply" }));
  await draftHas("Theirs", "B", "Fourth");

  await leavePanel(people[0]);
  await people[0].press("Delete");
  await page.locator("[data-step=b]:focus").waitFor();
  await people[0].press("Control+s");
  await draftHas("Theirs", "B");
  await people[0].press("Control+z", "Control+s");
  await draftHas("Theirs", "B", "Fourth");
  expect([...people[0].unseen, ...people[1].unseen]).toEqual([]);
  expect([...(await troubles()), ...other.faults]).toEqual([]);
}, 120_000);
