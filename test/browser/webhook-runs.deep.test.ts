import { expect, test } from "bun:test";
import { makeHook, send } from "../support/hook.ts";
import { openSeen } from "../support/seen.ts";
import { RUNS, until } from "../support/work.ts";

test("a failed run says whose it is, and an automation's run what its webhook sent", async () => {
  await using seen = await openSeen();
  const { page, go, heading, troubles, weir } = seen;
  const definition = { branches: [{ key: "big", when: "payload.total > 100" }] };
  const steps = [{ key: "route", kind: "conditional_branch", definition }];
  await makeHook(weir, { steps, retries: { enabled: false }, debug: true });
  const told = await send(weir, '{"note": "no total here"}');
  expect([told.status, told.body.code]).toEqual([500, "condition_error"]);
  await until(weir.owner, RUNS, ({ runs }) => runs[0]?.status === "failed");

  await go("/runs?tab=actions");
  const row = page.getByRole("table", { name: "Runs" }).getByRole("row").nth(1);
  await row.getByText(/^Hook · .*total/).waitFor();
  await row.getByRole("link").first().click();
  await heading("route");
  await page.getByRole("link", { name: "Hook", exact: true }).first().click();
  await page.waitForURL(/\/automation-runs\//);
  await page.getByRole("list", { name: "Timeline" }).getByText("route", { exact: true }).waitFor();
  const hook = page
    .locator("section", { has: page.getByRole("heading", { name: "Webhook", exact: true }) })
    .last();
  await hook.getByText("no total here").waitFor();
  expect(await troubles()).toEqual([]);
  await hook.getByRole("link", { name: "Open delivery" }).click();
  await page.waitForURL(/\/deliveries\//);
}, 120_000);

test("a webhook's lost secret is replaced, and the tester signs with it", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const steps = [
    { key: "a", kind: "conditional_branch", definition: { branches: [{ key: "yes", when: "true" }] } },
  ];
  const { id } = await makeHook(weir, { steps });
  await go(`/automations/${id}?tab=webhook`);
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("Requests signed with the current secret will be rejected").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  const secret = await page
    .getByRole("dialog", { name: "Save your signing secret" })
    .locator("code")
    .textContent();
  expect(secret).toMatch(/^whsec_.{44}$/);
  await page.getByRole("button", { name: "Done" }).click();
  expect(await page.getByLabel("Secret").inputValue()).toBe(secret ?? "");
  await page.getByRole("button", { name: "Sign and send" }).click();
  await page.getByRole("table", { name: "Deliveries" }).getByText("Processed").waitFor();
  expect((await send(weir, "{}")).status).toBe(401);
  expect(await seen.alsoDarkAndNarrow(`/automations/${id}?tab=webhook`)).toEqual([]);
}, 120_000);
