import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync, renameSync } from "node:fs";
import { eq } from "drizzle-orm";
import { organizations } from "../../src/resources/organizations/table.ts";
import { PASSWORD } from "../support/app.ts";
import { openAs } from "../support/hands.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { created } from "../support/work.ts";

const INSTALLATION = "/api/v1/installation";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

deepTest("an operator sets quotas in readable units, which are exact to the byte", async () => {
  const { page, go, heading, troubles, weir } = seen;
  const { organization } = await neighbour(weir);
  const at = `${INSTALLATION}/organizations/${organization.id}`;
  await weir.owner("PATCH", at, { quotas: { storageBytes: 10_737_418_240 } });
  await go("/");
  await page.getByRole("link", { name: "Installation" }).click();
  await heading("Installation");
  await page.getByLabel("Name or slug").fill(organization.slug);
  const row = page.getByRole("table", { name: "Organizations" }).getByRole("row");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  expect(await troubles()).toEqual([]);
  await row.getByRole("link", { name: "Neighbour" }).click();
  await heading("Neighbour");
  expect(await page.getByLabel("Storage").inputValue()).toBe("10");
  await page.getByLabel("Storage").fill("two");
  await page.getByText("Enter a number.").waitFor();
  await page.getByLabel("Storage").fill("2.5");
  await page.getByText("2,684,354,560 bytes.").waitFor();
  await page.getByLabel("Concurrent runs").fill("4");
  await page.getByLabel("Allowed addresses").fill("10.1.0.0/16\n10.0.0.0/99");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^10\.0\.0\.0\/99: /).waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Allowed addresses").fill("10.1.0.0/16");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Limits saved").waitFor();
  expect((await weir.owner("GET", at)).body).toMatchObject({
    quotas: { storageBytes: 2_684_354_560, concurrentRuns: 4, queuedRuns: null },
    egressAllow: ["10.1.0.0/16"],
  });
  await page.getByLabel("Storage").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Unsaved changes").waitFor({ state: "detached" });
  const { quotas } = (await weir.owner("GET", at)).body;
  expect(quotas).toMatchObject({ storageBytes: null, concurrentRuns: 4 });
});

deepTest("a removed organization shows on which day it is erased, and is restored there", async () => {
  const { page, go, troubles, weir } = seen;
  const { id } = created(await weir.owner("POST", "/api/v1/organizations", { name: "Gone" }));
  const inside = { "x-organization-id": id };
  await weir.owner("DELETE", "/api/v1/organizations/current", { confirm: "Gone" }, inside);
  await go("/installation");
  await page.getByLabel("Status").selectOption("true");
  const [row] = await weir.app.store.db.select().from(organizations).where(eq(organizations.id, id));
  const end = new Date(Date.parse(row?.removedAt ?? "") + 7 * 24 * 60 * 60 * 1000);
  const day = await page.evaluate(
    (at) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(new Date(at)),
    end.toISOString(),
  );
  await page.getByText(`Will be erased on ${day}`).waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Restore Gone" }).click();
  await page.getByText("No organizations match these filters").waitFor();
  expect((await weir.owner("GET", `${INSTALLATION}/organizations/${id}`)).body.removedAt).toBeNull();
  expect((await weir.owner("GET", "/api/v1/organizations/current", undefined, inside)).body.name).toBe(
    "Gone",
  );
});

deepTest("other users see that the page isn't for them, until an operator makes them one", async () => {
  const { page, go, troubles, weir } = seen;
  const email = "grace@example.com";
  const { inviteUrl } = created(await weir.owner("POST", "/api/v1/organizations/invitations", { email }));
  const token = new URL(inviteUrl).searchParams.get("token");
  const names = { firstName: "Grace", lastName: "Hopper" };
  await weir.anonymous("POST", "/api/v1/auth/invitations/accept", { token, password: PASSWORD, ...names });
  await using hers = await openAs(weir.origin, { email });
  expect(await hers.page.getByRole("link", { name: "Installation" }).count()).toBe(0);
  const { organizationId } = weir.ids;
  for (const path of ["/installation", `/installation/organizations/${organizationId}`]) {
    await hers.page.goto(weir.origin + path);
    await hers.page.getByText("Only operators can view this page").waitFor();
  }
  await go("/installation?tab=users");
  await page.getByLabel("Name or email").fill("hopper");
  await page.getByRole("button", { name: "Make Grace Hopper an operator" }).click();
  expect(await troubles()).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Make operator" }).click();
  await page.getByRole("row", { name: /grace@example\.com Operator/ }).waitFor();
  await hers.page.goto(`${weir.origin}/installation?tab=users`);
  await hers.page.getByRole("link", { name: "Installation" }).first().waitFor();
  await hers.page.getByRole("button", { name: "Remove Grace Hopper as operator" }).click();
  await hers.page.getByRole("button", { name: "Remove operator" }).click();
  await hers.page.getByText("Only operators can view this page").waitFor();
  expect(hers.faults).toEqual([]);
});

deepTest("a user's data is exported without organizations' data", async () => {
  const { page, go, weir } = seen;
  const { user } = await join(weir, "viewer");
  await go("/installation?tab=users");
  await page.getByLabel("Name or email").fill(user.email);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: `Export data of ${user.firstName}` }).click(),
  ]);
  expect(file.suggestedFilename()).toBe(`${user.email}.json`);
  const data = JSON.parse(readFileSync(await file.path(), "utf8"));
  expect(data).toMatchObject({ user: { id: user.id }, memberships: [{ role: "viewer" }] });
  expect(data).not.toHaveProperty("chats");
});

deepTest("a user is erased by typing their address, and disappears from the list", async () => {
  const { page, go, troubles, weir } = seen;
  const { user, call } = await join(weir, "viewer");
  await go("/installation?tab=users");
  await page.getByLabel("Name or email").fill(user.email);
  await page.getByRole("button", { name: `Erase ${user.firstName}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("User's email address").fill("somebody@example.com");
  await dialog.getByRole("button", { name: "Erase user" }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  expect(await troubles()).toEqual([]);
  await dialog.getByLabel("User's email address").fill(user.email);
  await dialog.getByRole("button", { name: "Erase user" }).click();
  await page.getByText("No users match these filters").waitFor();
  expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
});

test("health shows what was checked, and which check fails", async () => {
  const { page, go, troubles, weir } = seen;
  await go("/installation?tab=health");
  await page.getByText("All checks passed").waitFor();
  const checks = page.getByRole("list", { name: "Health checks" }).getByRole("listitem");
  expect(await checks.count()).toBe(4);
  await checks
    .filter({ hasText: "Database" })
    .getByText(/written in \d+ ms/)
    .waitFor();
  expect(await troubles()).toEqual([]);
  renameSync(weir.dataFolder, `${weir.dataFolder}-away`);
  try {
    weir.clock.turn(2_001); // Results are cached for two seconds.
    await page.getByRole("button", { name: "Check again" }).click();
    await page.getByText("Some checks failed").waitFor();
    await checks.filter({ hasText: "Disk" }).getByText("Failed", { exact: true }).waitFor();
  } finally {
    renameSync(`${weir.dataFolder}-away`, weir.dataFolder);
  }
});

deepTest("the page is readable in dark mode and on a phone", async () => {
  const { organizationId } = seen.weir.ids;
  expect(
    await seen.alsoDarkAndNarrow(
      "/installation",
      "/installation?tab=users",
      "/installation?tab=health",
      `/installation/organizations/${organizationId}`,
    ),
  ).toEqual([]);
});
