import { expect, test } from "bun:test";
import { contextFor, write } from "../../src/context.ts";
import { record } from "../../src/resources/events/service.ts";
import { openSeen } from "../support/seen.ts";
import { branch, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

test("events are shown as sentences with the names of their resources, and a run's events as one line", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const action = await makeAction(weir.owner, { name: "Load orders" });
  const run = await runToEnd(weir.owner, action.id);
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "weir" },
    correlationId: "made-for-a-test",
  });
  await write(ctx, async (tx) => {
    for (const phase of ["read", "sort", "write"])
      await record(
        tx,
        "action.progress",
        { type: "action", id: action.id },
        { runId: run.id, actionId: action.id, phase, message: `It is at ${phase}` },
      );
  });
  await go("/events");
  const line = (name: RegExp) => page.getByRole("button", { name });
  await line(/Action created Load orders/).waitFor();
  await line(/Completed Run completed Load orders/).waitFor();
  await line(/Signed in/)
    .first()
    .waitFor();
  expect(await page.getByRole("img", { name: "Queued" }).count()).toBe(0);

  await line(/Run progressed Load orders · It is at write/).waitFor();
  expect(await line(/Run progressed/).count()).toBe(1);
  await page.getByRole("button", { name: "2 earlier" }).click();
  await line(/Run progressed Load orders · It is at read/).waitFor();
  expect(await troubles()).toEqual([]);
  await line(/Action created/).click();
  await page.getByRole("dialog", { name: "Action created" }).getByText("action.created").waitFor();
  expect(await troubles()).toEqual([]);
  expect(await seen.alsoDarkAndNarrow("/events")).toEqual([]);
}, 120_000);

test("events are filtered by text, resource and time, which the URL keeps", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, troubles, weir } = seen;
  const action = await makeAction(weir.owner, { name: "Load orders" });
  await makeAction(weir.owner, { name: "Send report" });
  await makeAutomation(
    weir.owner,
    { action: { kind: "conditional_branch", definition: branch() } },
    { name: "Load nightly" },
  );
  const line = (name: RegExp) => page.getByRole("button", { name });
  await go("/events");
  await line(/Action created Send report/).waitFor();
  await page.getByRole("searchbox", { name: "Name, email, ID or error" }).fill("LOAD");
  await line(/Action created Send report/).waitFor({ state: "detached" });
  await line(/Automation created Load nightly/).waitFor();
  await page.getByLabel("Resource").selectOption("Action");
  await line(/Automation created/).waitFor({ state: "detached" });
  await line(/Action created Load orders/).waitFor();
  expect(new URL(page.url()).search).toBe("?q=LOAD&entityType=action");

  await page.getByLabel("Time").selectOption("Last hour");
  await line(/Action created Load orders/).waitFor();
  await page.getByLabel("Time").selectOption("Custom period");
  await page.getByLabel("To", { exact: true }).fill("2020-01-31T08:15");
  await page.getByText("No events match these filters").waitFor();
  await page.reload();
  await page.getByText("No events match these filters").waitFor();
  expect(await page.getByLabel("To", { exact: true }).inputValue()).toBe("2020-01-31T08:15");
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Clear filters" }).first().click();

  await line(/Action created Load orders/).click();
  await page.getByRole("dialog").getByRole("link", { name: "View its events" }).click();
  await line(/Action created Send report/).waitFor({ state: "detached" });
  await line(/Action created Load orders/).waitFor();
  expect(new URL(page.url()).search).toBe(`?entityType=action&entityId=${action.id}`);
  await weir.owner("PATCH", `/api/v1/actions/${action.id}`, { name: "Load all orders" });
  await line(/Action updated/).waitFor();
  expect(await troubles()).toEqual([]);
}, 120_000);
