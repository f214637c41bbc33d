import { expect, test } from "bun:test";
import { pressTogether } from "../support/hands.ts";
import { openSeen } from "../support/seen.ts";
import { makeAction } from "../support/work.ts";

test("leaving an unsaved form asks first, by a link, a key and Back; what was typed stays", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, heading, troubles } = seen;
  await makeAction(seen.weir.owner);
  await go("/actions");
  await page.getByRole("link", { name: "Branch" }).click();
  await heading("Branch");
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  const question = page.getByRole("dialog", { name: "Leave without saving?" });
  await name.fill("Another name");

  await page.getByRole("link", { name: "Datasets" }).click();
  await question.waitFor();
  expect(await troubles()).toEqual([]);
  await question.getByRole("button", { name: "Keep editing" }).click();
  expect(await name.inputValue()).toBe("Another name");

  await page.goBack();
  await question.waitFor();
  await page.keyboard.press("Escape");
  expect(await name.inputValue()).toBe("Another name");
  expect(new URL(page.url()).pathname).toMatch(/^\/actions\/./);

  await page.locator("h1").click();
  await pressTogether(page, "g", "d");
  await question.getByRole("button", { name: "Keep editing" }).click();

  await page.goBack();
  await question.getByRole("button", { name: "Discard changes" }).click();
  await page.waitForURL(/\/actions$/);
  await heading("Actions");

  // A page without unsaved changes can be left, as can a form whose resource was created.
  await page.getByRole("link", { name: "Branch" }).click();
  await name.fill("A third name");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Action saved", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Connections" }).click();
  await heading("Connections");
  await page.getByRole("link", { name: "New connection" }).first().click();
  await page.getByRole("button", { name: /Local files/ }).click();
  await name.fill("Shop");
  await page.getByRole("link", { name: "Datasets" }).click();
  await question.getByRole("button", { name: "Keep editing" }).click();
  await page.getByRole("button", { name: "Create and verify" }).click();
  await heading("Shop");
  await page.getByRole("link", { name: "Datasets" }).click();
  await heading("Datasets");
  expect(await troubles()).toEqual([]);
}, 120_000);
