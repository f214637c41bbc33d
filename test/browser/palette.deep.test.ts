import { expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { PASSWORD } from "../support/app.ts";
import { openAs } from "../support/hands.ts";
import { loadTable } from "../support/lake.ts";
import { openSeen } from "../support/seen.ts";
import { created, flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

test("the search finds tables, users, IDs by their end, and commands", async () => {
  await using seen = await openSeen();
  const { page, go, heading, troubles, weir } = seen;
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "made-for-a-test",
  });
  await loadTable(ctx, { layer: "raw", dataset: "shop", table: "parcels", select: "SELECT 1 AS n" });
  const action = await makeAction(weir.owner);
  const run = await runToEnd(weir.owner, action.id);
  const steps = [{ key: "a", actionId: action.id }];
  const flow = await makeAutomation(weir.owner, { steps });
  const flowRun = await flowToEnd(weir.owner, flow.id);

  /** Enters `text`, and selects the suggestion. */
  const take = async (text: string, name: RegExp) => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(text);
    await page.getByRole("option", { name }).waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("option", { name }).click();
  };
  await go("/");
  await heading("Hello, Ada");
  await take("parce", /^parcels Table · raw\.shop/);
  await page.getByRole("region", { name: "Rows of parcels" }).waitFor();
  await take("lovelace", /^Ada Lovelace/);
  await heading("Team");
  await take(run.id.slice(-12), /^Run of/);
  await page.waitForURL(`${weir.origin}/runs/${run.id}`);
  await take(flowRun.id.slice(-6), /^Automation run/);
  await page.waitForURL(`${weir.origin}/automation-runs/${flowRun.id}`);
  await take("invite", /^Invite member/);
  await page.getByRole("dialog", { name: "Invite member" }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(new URL(page.url()).search).toBe("");
  await take("api key", /^New API key/);
  await page.getByRole("dialog", { name: "New API key" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("No API keys yet").waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.keyboard.press("Control+k");
  expect(await troubles()).toEqual([]);

  const email = "vera@example.com";
  const invited = await weir.owner("POST", "/api/v1/organizations/invitations", {
    email,
    roleSlug: "viewer",
  });
  const token = new URL(invited.body.inviteUrl).searchParams.get("token");
  created(await weir.anonymous("POST", "/api/v1/auth/invitations/accept", { token, password: PASSWORD }));
  await using viewer = await openAs(weir.origin, { email });
  await viewer.page.getByRole("heading", { level: 1 }).waitFor();
  await viewer.page.keyboard.press("Control+k");
  await viewer.page.keyboard.type("invite");
  await viewer.page.getByText("No results").waitFor();
}, 120_000);
