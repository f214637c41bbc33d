import { afterAll, beforeAll, expect, test } from "bun:test";
import { CONNECTIONS } from "../support/connections.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
let postgres: TestPostgres;
beforeAll(async () => {
  [seen, postgres] = await Promise.all([openSeen(), startPostgres()]);
});
afterAll(() => Promise.all([seen[Symbol.asyncDispose](), postgres[Symbol.asyncDispose]()]));

const total = async () => (await seen.weir.owner("GET", CONNECTIONS)).body.total;

test("a connection is tested from its form before it is saved, and before a change is", async () => {
  const { page, go, troubles, weir } = seen;
  await go("/connections/new?provider=postgres");
  const test = page.getByRole("button", { name: "Test", exact: true });
  await test.click();
  await page.getByRole("alert").getByText("Check the fields above.").waitFor();
  await page.getByLabel("Host").and(page.locator("[aria-invalid=true]")).waitFor();

  await page.getByLabel("Host").fill(postgres.host);
  await page.getByLabel("Port").fill(String(postgres.port));
  await page.getByLabel("Database", { exact: false }).first().fill(postgres.database);
  await page.getByLabel("User").first().fill(postgres.user);
  await page.getByLabel("Password").first().fill("not-the-password");
  await test.click();
  await page.getByRole("alert").getByText("rejected the password").waitFor();
  await page.getByLabel("Password").first().and(page.locator("[aria-invalid=true]")).waitFor();
  expect(await troubles()).toEqual([]);

  await page.getByLabel("Password").first().fill(postgres.password);
  expect(await page.getByRole("alert").count()).toBe(0);
  await test.click();
  await page.getByRole("status").getByText("The test succeeded.").waitFor();
  expect(await total()).toBe(0);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Shop");
  await page.getByRole("button", { name: "Create and verify" }).click();
  await page.locator("h1 + span", { hasText: "Active" }).waitFor();
  const { body: before } = await weir.owner("GET", `${CONNECTIONS}/${page.url().split("/").at(-1)}`);

  await page.locator("main").getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Database", { exact: false }).first().fill("nope");
  await test.click();
  await page.getByRole("alert").getByText('no database "nope"').first().waitFor();
  await page.getByLabel("Database", { exact: false }).first().fill(postgres.database);
  await page.getByLabel("Host").fill("other.invalid");
  await test.click();
  await page.getByRole("alert").getByText("Enter them again").waitFor();
  expect(await troubles()).toEqual([]);
  expect((await weir.owner("GET", `${CONNECTIONS}/${before.id}`)).body).toEqual(before);
}, 120_000);
