import { expect, test } from "bun:test";
import { openSeen } from "../support/seen.ts";
import { flowToEnd, makeAction, makeAutomation } from "../support/work.ts";

test("a script is written in an editor that suggests Weir's functions and its input, is overwritten, and runs", async () => {
  await using seen = await openSeen();
  const { page, go, write, troubles, weir } = seen;
  await go("/actions/new?kind=run_script");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Sum up");
  await write("Source", "export default (input: { n: number }[], weir) => ");
  await page.getByRole("textbox", { name: "Source", exact: true }).press("Control+End");
  await page.keyboard.type("weir.");
  await page.locator(".cm-tooltip-autocomplete").getByText("weir.sql", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await write("Source", "export default () => [\n  1,\n];\n");
  await write("Source", "export default (input: { n: number }[]) => input.length");
  await page.locator("[data-editor=typescript]").waitFor();
  await page.getByRole("button", { name: "Create action" }).click();
  await page.getByRole("heading", { name: "Sum up", level: 1 }).waitFor();
  expect(await troubles()).toEqual([]);

  const action = await makeAction(weir.owner, {
    kind: "run_script",
    name: "Later",
    definition: { source: "export default (input) => input", input: "{{input.orders}}" },
  });
  const flow = await makeAutomation(weir.owner, { steps: [{ key: "sum", actionId: action.id }] });
  await flowToEnd(weir.owner, flow.id, { input: { orders: [{ total: 3 }] } });
  await go(`/actions/${action.id}`);
  await write("Source", "export default (input) => ");
  await page.getByRole("textbox", { name: "Source", exact: true }).press("Control+End");
  await page.keyboard.type("input");
  await page.locator(".cm-tooltip-autocomplete").getByText("input[0].total", { exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
}, 120_000);
