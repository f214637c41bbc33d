import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { eq } from "drizzle-orm";
import { codeAt, counterAt } from "../../src/crypto/totp.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { PASSWORD } from "../support/app.ts";
import { fromBase32, join, neighbour } from "../support/people.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { created } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

test("a user changes the password, and turns a second factor on and off", async () => {
  const { page, go, heading, troubles, weir } = seen;
  await go("/access?tab=sign-in");
  await heading("Access");
  await page.getByLabel("Current password").fill("not the one");
  await page.getByLabel("New password").fill("another horse battery staple");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Incorrect current password").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  await page.getByLabel("Current password").fill(PASSWORD);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Password changed").waitFor();

  await page.getByRole("button", { name: "Turn on" }).click();
  const dialog = page.getByRole("dialog", { name: "Turn on two-factor authentication" });
  await dialog.getByRole("img", { name: "QR code for your authenticator app" }).waitFor();
  const secret = fromBase32((await dialog.locator("code").textContent()) ?? "");
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("textbox", { name: "Code" }).fill("000000");
  await dialog.getByRole("button", { name: "Turn on" }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  await dialog
    .getByRole("textbox", { name: "Code" })
    .fill(codeAt(secret, counterAt(weir.clock.now().getTime())));
  await dialog.getByRole("button", { name: "Turn on" }).click();
  const codes = page.getByRole("dialog", { name: "Save your recovery codes" });
  expect(((await codes.locator("code").textContent()) ?? "").split("\n")).toHaveLength(10);
  await codes.getByRole("button", { name: "Done" }).click();
  await page.getByText("Recovery codes left: 10 of 10").waitFor();
  expect(await troubles()).toEqual([]);

  await page.getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("dialog").getByLabel("Password").fill("another horse battery staple");
  await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("button", { name: "Turn on" }).waitFor();
});

test("a user sets name, locale and time zone, and sees times and numbers accordingly", async () => {
  const { page, go, troubles } = seen;
  await go("/access?tab=profile");
  await page.getByLabel("Language of this page").selectOption("English"); // Otherwise, de-CH would make it German.
  await page.getByLabel("First name").fill("Augusta Ada");
  await page.getByLabel("Locale").fill("de-CH");
  await page.getByLabel("Time zone").fill("Asia/Nowhere");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Unknown timezone 'Asia/Nowhere'").waitFor();
  await page.getByLabel("Time zone").fill("Asia/Tokyo");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Profile saved").waitFor();
  await page.getByText(/^Now: \d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d (GMT\+9|JST)$/).waitFor();
  expect(await troubles()).toEqual([]);
});

test("after an hour, creating a token asks for the password, and continues from there", async () => {
  const { page, go, weir } = seen;
  await go("/access");
  await weir.app.store.write(async (db) => {
    await db
      .update(sessions)
      .set({ confirmedAt: new Date(weir.clock.now().getTime() - 7_200_000).toISOString() });
  });
  await page.getByRole("button", { name: "New access token" }).first().click();
  await page.getByLabel("Name").fill("CI");
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
  await dialog.getByLabel("Password or code").fill("another horse battery staple");
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Identity confirmed. Try again.").waitFor();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("dialog", { name: "Save your access token" }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();

  await go("/access?tab=everybody");
  await page.getByRole("button", { name: "Revoke CI" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("CI revoked").waitFor();
});

test("a user joins another organization only by accepting the invitation", async () => {
  const { page, go, troubles, weir } = seen;
  const other = await neighbour(weir);
  await weir.app.store.write(
    async (db) =>
      void (await db
        .update(users)
        .set({ addressProvenAt: weir.clock.now().toISOString() })
        .where(eq(users.id, weir.ids.userId))),
  );
  created(
    await other.call("POST", "/api/v1/organizations/invitations", {
      email: "ada@example.com",
      roleSlug: "viewer",
    }),
  );
  await go("/access?tab=invitations");
  const list = page.getByRole("list", { name: "Your invitations" });
  await list.getByText("Neighbour").first().waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Join Neighbour" }).click();
  await page.getByRole("heading", { name: /Hello/ }).waitFor();
  await go("/organization");
  await page.getByText("Neighbour").first().waitFor();
});

test("a user exports their data, and erases themselves by typing their address", async () => {
  const { page, go, heading, troubles, weir } = seen;
  const other = await join(weir, "owner");
  await weir.app.store.write(
    async (db) => void (await db.update(users).set({ isOperator: true }).where(eq(users.id, other.user.id))),
  );
  await go("/access?tab=data");
  await heading("Access");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const data = JSON.parse(readFileSync(await (await saved).path(), "utf8"));
  expect(data.user.email).toBe("ada@example.com");
  await page.getByRole("button", { name: "Erase account" }).click();
  await page.getByLabel("Your email address").fill("eve@example.com");
  await page.getByRole("dialog").getByRole("button", { name: "Erase account" }).click();
  await page.getByRole("dialog").locator("[aria-invalid=true]").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByRole("dialog").getByRole("button", { name: "Erase account" }).click();
  await page.waitForURL(/\/login$/);
  const { members } = (await other.call("GET", "/api/v1/organizations/team")).body;
  expect(members.map(({ email }: { email: string }) => email)).not.toContain("ada@example.com");
});
