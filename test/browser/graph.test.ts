import { expect, test } from "bun:test";
import { eventually } from "../support/outbound.ts";
import { openSeen } from "../support/seen.ts";
import { branch, makeAutomation } from "../support/work.ts";

/** Steps one after the other. */
const chain = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    key: `step_${at + 1}`,
    kind: "conditional_branch",
    definition: branch(),
    ...(at === 0 ? {} : { dependsOn: [`step_${at}`] }),
  }));

test("the graph of eight steps in a row is seen whole on a laptop; a longer one says where the rest is", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, troubles, weir } = seen;
  const eight = await makeAutomation(weir.owner, { steps: chain(8) });
  const many = await makeAutomation(weir.owner, { steps: chain(20) }, { name: "Many" });
  const last = (name: string) => page.getByRole("button", { name: new RegExp(`^${name} `) });
  const right = async (name: string) => {
    const { x = 0, width = 0 } = (await last(name).boundingBox()) ?? {};
    return x + width;
  };
  const hint = page.getByText(/^Scroll (right|left) to see more/);

  for (const path of [`/automations/${eight.id}`, `/automations/${eight.id}?tab=edit`]) {
    await go(path);
    await last("step_8").waitFor();
    await eventually(async () => (await right("step_8")) < 1280); // once it is drawn to the width it has
    await hint.waitFor({ state: "detached" });
    expect(await troubles()).toEqual([]);
  }
  await last("step_8").click();
  expect(await page.getByRole("textbox", { name: "Key", exact: true }).first().inputValue()).toBe("step_8");

  await go(`/automations/${many.id}`);
  await page.getByText("Scroll right to see more").waitFor();
  await eventually(async () => (await right("step_20")) > 1280);
  expect(await troubles()).toEqual([]);
  await last("step_20").focus();
  await page.getByText("Scroll left to see more").waitFor();
  expect(
    await seen.alsoDarkAndNarrow(`/automations/${eight.id}`, `/automations/${many.id}?tab=edit`),
  ).toEqual([]);
}, 120_000);
