import { expect, test } from "bun:test";
import { openSeen } from "../support/seen.ts";
import { branch, flowToEnd, makeAutomation } from "../support/work.ts";

test("a completed automation run warns of the items that failed, and its step names them", async () => {
  await using seen = await openSeen();
  const { page, go, troubles, weir } = seen;
  const steps = [
    {
      key: "each",
      forEach: "{{input}}",
      onError: "continue",
      kind: "conditional_branch",
      definition: branch("a", "item > 1"),
    },
  ];
  const flow = await makeAutomation(weir.owner, { steps });
  const run = await flowToEnd(weir.owner, flow.id, { input: [2, 1] });
  await go(`/automation-runs/${run.id}`);
  await page.getByRole("status").getByText("1 of 2 items failed. Item 1:").waitFor();
  await page.getByRole("button", { name: /each/ }).first().click();
  await page.getByText("Failed items").waitFor();
  await page.getByRole("listitem").filter({ hasText: "Item 1:" }).last().waitFor();
  expect(await troubles()).toEqual([]);
  expect(await seen.alsoDarkAndNarrow(`/automation-runs/${run.id}`)).toEqual([]);
}, 120_000);
