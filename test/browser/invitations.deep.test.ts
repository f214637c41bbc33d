import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { organizations } from "../../src/resources/organizations/table.ts";
import { PASSWORD } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { startWithMail } from "../support/mail.ts";
import { neighbour } from "../support/people.ts";
import { MARKUP } from "../support/seen.ts";

test("a user with a forgotten password sets a new one, and answers each invitation by name", async () => {
  await using app = await startWithMail();
  const [good, bad] = [await neighbour(app), await neighbour(app)];
  const rename = (id: string, name: string) =>
    app.app.store.write(
      async (db) => void (await db.update(organizations).set({ name }).where(eq(organizations.id, id))),
    );
  await rename(good.organization.id, "Good");
  await rename(bad.organization.id, MARKUP);
  for (const { call } of [good, bad])
    await call("POST", "/api/v1/organizations/invitations", { email: "ada@example.com" });

  const browser = await openBrowser();
  try {
    const { page } = await browser.open(app.origin);
    await page.goto(`${app.origin}/login?return_to=/invitations`);
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("you will receive a link").waitFor();
    while (!app.peer.received.some(({ headers }) => headers.subject === "New password for Weir"))
      await Bun.sleep(10);
    await page.goto(app.peer.linkTo("ada@example.com").href);
    await page.getByLabel(/New password/).fill(`${PASSWORD} 2`);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Your password has been changed.").waitFor();

    await page.goto(`${app.origin}/invitations?return_to=/health`);
    await page.waitForURL(/\/login\?return_to=/);
    await page.fill("#password [name=email]", "ada@example.com");
    await page.fill("#password [name=password]", `${PASSWORD} 2`);
    await page.click("#password button");
    await page.getByText(`${good.user.firstName} (${good.user.email}) invites you to join Good`).waitFor();
    await page.getByRole("button", { name: `Decline invitation to ${MARKUP}` }).click();
    await page.getByText(MARKUP).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Accept invitation to Good" }).click();
    await page.getByText("No pending invitations").waitFor();
    await page.getByRole("link", { name: "Continue to Weir" }).click();
    await page.waitForURL(`${app.origin}/health`);
  } finally {
    await browser.close();
  }
  const team = async (call: typeof good.call) =>
    (await call("GET", "/api/v1/organizations/team")).body.members.length;
  expect([await team(good.call), await team(bad.call)]).toEqual([2, 1]);
}, 120_000);
