import { expect, test } from "bun:test";
import { countClicks } from "../support/clicks.ts";
import { configHas, makeTelling, runToApproval, startShop } from "../support/journeys.ts";
import { eventually } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { openSeen } from "../support/seen.ts";

test("a first automation over PostgreSQL with a branch, an approval and a request takes at most 40 clicks", async () => {
  await using seen = await openSeen();
  const { page, weir, troubles } = seen;
  await using shop = await startShop(weir.owner);
  const { receiver } = shop;
  await seen.go("/");
  const hand = countClicks(page);
  const panel = page.getByRole("region", { name: /^Step / });
  const add = async (after: string, kind: RegExp, isByBranch = false) => {
    await hand.click(
      isByBranch
        ? page.getByRole("button", { name: `Add a step after ${after}` })
        : page.getByRole("button", { name: `Add a step after ${after}`, exact: true }),
    );
    await hand.click(page.getByRole("option", { name: kind }).first());
    await panel.getByRole("textbox", { name: "Step name" }).waitFor();
  };
  await hand.click(page.getByRole("link", { name: "Automations" }).first());
  await hand.click(page.getByRole("link", { name: "Create automation" }).first());
  await hand.write(page.getByRole("textbox", { name: "Name", exact: true }), "Orders");
  await hand.choose(page.getByLabel("Trigger", { exact: true }), "webhook");
  await hand.write(page.getByRole("textbox", { name: "Path" }), "orders");
  await hand.click(page.getByRole("button", { name: "Create automation" }));
  const secret = (await page.getByRole("dialog").locator("code").textContent()) ?? "";
  await hand.click(page.getByRole("button", { name: "Done" }));

  await hand.click(page.getByRole("button", { name: "Add the first step" }));
  await hand.click(page.getByRole("option", { name: /^Extract/ }).first());
  await hand.choose(page.getByLabel("Connection"), { label: "Shop (postgres)" });
  await hand.check(page.getByRole("checkbox", { name: "public.orders" }));
  await hand.write(panel.getByRole("combobox", { name: /^Dataset/ }), "shop");
  await page.keyboard.press("Tab");

  await add("extract", /^SQL transform/);
  await hand.write(
    panel.getByRole("textbox", { name: "SQL" }),
    "SELECT sum(total) AS total FROM raw.shop__orders",
  );

  await add("sql_transform", /^Branch/);
  await hand.click(panel.getByRole("button", { name: "Add", exact: true }).first());
  await hand.write(panel.getByRole("textbox", { name: /^Key/ }).last(), "big");
  await hand.write(
    panel.getByRole("textbox", { name: /^When/ }).last(),
    "steps.sql_transform.result.items[0].total > 100",
  );

  await add("branch, branch big", /^Approval/, true);
  await hand.write(panel.getByRole("textbox", { name: "Title" }), "Send it?");

  await add("approval", /^HTTP request/);
  await hand.write(panel.getByRole("textbox", { name: "URL" }), `${receiver.url}/total`);
  await hand.choose(panel.getByLabel("Method"), "POST");
  expect(await troubles()).toEqual([]);
  await hand.click(page.getByRole("button", { name: "Publish" }));
  await page.getByText("Published", { exact: true }).waitFor();
  console.log(`first automation: ${hand.count} clicks`);
  expect(hand.count).toBeLessThanOrEqual(40);

  expect(secret.length).toBeGreaterThan(10);
  await runToApproval(weir.owner, { day: 1 });
  await seen.go("/approvals");
  await page.getByRole("button", { name: "Approve" }).first().click();
  await eventually(() => receiver.got.length === 1);
  expect(receiver.got[0]?.path).toBe("/total");
}, 240_000);

test("an error is found by text in 2 clicks, fixed and rerun in 3, and a version restored in 3", async () => {
  await using receiver = startReceiver(() => new Response("no", { status: 418 }));
  await using seen = await openSeen();
  const { page, weir } = seen;
  const flowId = await makeTelling(weir.owner, `${receiver.url}/no`);

  await seen.go("/");
  const finding = countClicks(page);
  await finding.click(page.getByRole("button", { name: /^Search/ }).first());
  await page.keyboard.type("418");
  await finding.click(page.getByRole("option", { name: /418.*Failed run · Tells/ }));
  await page.waitForURL(/\/automation-runs\//);
  console.log(`failed run by its error: ${finding.count} clicks`);
  expect(finding.count).toBeLessThanOrEqual(2);

  await seen.go(`/automations/${flowId}/edit?step=tell`);
  await using good = startReceiver(() => Response.json({ ok: true }));
  const mending = countClicks(page);
  await mending.write(page.getByRole("textbox", { name: "URL" }), good.url);
  await mending.click(page.getByRole("button", { name: "Run to here" }));
  await mending.click(page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }));
  await page.getByRole("button", { name: /^tell.*completed/ }).waitFor();
  expect(good.got.length).toBe(1);
  expect(mending.count).toBeLessThanOrEqual(3);

  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Published", { exact: true }).waitFor();
  const restoring = countClicks(page);
  await restoring.click(page.getByRole("button", { name: "Versions" }));
  await restoring.click(page.getByRole("dialog").getByRole("button", { name: "Restore version 1" }));
  await configHas(weir.owner, flowId, `${receiver.url}/no`);
  expect(restoring.count).toBeLessThanOrEqual(3);
}, 240_000);
