import { expect, test } from "bun:test";
import { APPROVALS, ask } from "../support/decisions.ts";
import { openSeen } from "../support/seen.ts";
import { AUTOMATIONS, branch, created, flowToEnd, makeAutomation, until } from "../support/work.ts";

test("an approval's link opens the one question, and later shows who decided it", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const { decision } = await ask(weir, {
    title: "Ship it?",
    description: "Ten boxes",
    context: { boxes: 10 },
  });
  await ask(weir, { title: "Another question" });
  const path = `/approvals/${decision.id}`;
  await go(path);
  await page.getByRole("heading", { name: "Ship it?" }).waitFor();
  await page.getByText("Ten boxes").waitFor();
  expect(await page.getByText("Another question").count()).toBe(0);
  expect(await troubles()).toEqual([]);
  expect(await seen.alsoDarkAndNarrow(path)).toEqual([]);
  await page.getByLabel("Reason for rejection (optional)").fill("Too early");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("Decided by").waitFor();
  await page.getByText("Too early").waitFor();
  await page.getByText("Ada Lovelace", { exact: true }).last().waitFor();
  expect(await troubles()).toEqual([]);
  expect((await weir.owner("GET", APPROVALS)).body.total).toBe(1);
}, 120_000);

test("an automation shows who was notified, and that nothing is emailed without a mail server", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const { id } = await makeAutomation(weir.owner, {
    action: { kind: "conditional_branch", definition: branch("a", "false") },
    alerts: { onFailure: true, notify: [{ email: "ops@example.com" }] },
  });
  await flowToEnd(weir.owner, id);
  await until(weir.owner, "/api/v1/notices", ({ items }) => items[0]?.status === "unsent");
  await go(`/automations/${id}?tab=notices`);
  await page.getByRole("status").getByText("No mail server is set").waitFor();
  await page.getByRole("cell", { name: /ops@example.com/ }).waitFor();
  await page.getByText("Not sent").waitFor();
  expect(await troubles()).toEqual([]);
  expect(await seen.alsoDarkAndNarrow(`/automations/${id}?tab=notices`)).toEqual([]);
  await go("/access?tab=notices");
  await page.getByText("Nothing is mailed.").waitFor();
  await page.getByLabel("Approvals").selectOption("assigned");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Notice settings saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", "/api/v1/users/me/notices")).body.approvals).toBe("assigned");
  expect(await troubles()).toEqual([]);
}, 120_000);

test("a link opens in its organization, only in that tab, if the user is a member", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const { decision } = await ask(weir, { title: "Ship it?" });
  const other = created(await weir.owner("POST", "/api/v1/organizations", { name: "Second" }));
  await page.evaluate((id) => {
    sessionStorage.setItem("weir.organization", id);
    localStorage.setItem("weir.organization", id);
  }, other.id);
  await go(`/approvals/${decision.id}?organization=${weir.ids.organizationId}`);
  await page.getByRole("heading", { name: "Ship it?" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
  expect(await page.evaluate(() => localStorage.getItem("weir.organization"))).toBe(other.id);
  await go(`/approvals?organization=${decision.id}`);
  await page.getByRole("heading", { name: "Ship it?" }).waitFor();
  expect(await troubles()).toEqual([]);
}, 120_000);

test("alerts are set in the automation itself", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const { id } = await makeAutomation(weir.owner, {
    action: { kind: "conditional_branch", definition: branch() },
    alerts: { onFailure: true, notify: [{ email: "ops@example.com" }] },
  });
  await go(`/automations/${id}?tab=edit`);
  await page.getByLabel("Late after").fill("90000");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Automation saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", `${AUTOMATIONS}/${id}`)).body.config.alerts).toEqual({
    onFailure: true,
    lateAfterSeconds: 90_000,
    notify: [{ email: "ops@example.com" }],
  });
  expect(await troubles()).toEqual([]);
}, 120_000);
