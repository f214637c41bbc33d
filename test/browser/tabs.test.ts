import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openSeen, type Seen } from "../support/seen.ts";
import { ACTIONS, created } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

const switcher = (page: Seen["page"], name: string) => page.locator("aside").getByText(name, { exact: true });

test("a tab stays in the organization that it shows while another tab switches", async () => {
  const { page, weir, heading } = seen;
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Beta" }));
  await page.reload();
  await switcher(page, "Acme").waitFor();
  const other = await seen.context.newPage();
  await other.goto(`${weir.origin}/`);
  await other.getByRole("button", { name: "Acme" }).click();
  await other.getByRole("menuitem", { name: "Beta" }).click();
  await switcher(other, "Beta").waitFor();
  await other.close();

  await page.getByRole("link", { name: "Actions", exact: true }).click();
  await page.getByRole("link", { name: "New action" }).first().click();
  await page.getByRole("button", { name: /^Branch/ }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Of Acme");
  await page.getByRole("button", { name: "Create action" }).click();
  await heading("Of Acme");
  await switcher(page, "Acme").waitFor();
  const inHeader = { "x-organization-id": weir.ids.organizationId };
  const { body } = await weir.owner("GET", ACTIONS, undefined, inHeader);
  expect(body.actions.map(({ name }: { name: string }) => name)).toEqual(["Of Acme"]);
  await page.reload();
  await heading("Of Acme");
});
