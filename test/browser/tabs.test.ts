import { expect, test } from "bun:test";
import { PASSWORD } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { signIn } from "../support/hands.ts";
import type { Seen } from "../support/seen.ts";
import { seenByAll } from "../support/seen-by-all.ts";
import { ACTIONS, created, makeAction } from "../support/work.ts";

const seen = await seenByAll({ engine: false });

const switcher = (page: Seen["page"], name: string) => page.locator("aside").getByText(name, { exact: true });

/** Someone else, who has accepted an invitation. */
async function invited(email: string, roleSlug: string) {
  const { owner, anonymous } = seen.weir;
  const { body } = await owner("POST", "/api/v1/organizations/invitations", { email, roleSlug });
  const token = new URL(body.inviteUrl).searchParams.get("token");
  created(await anonymous("POST", "/api/v1/auth/invitations/accept", { token, password: PASSWORD }));
}

/** Switches to another organization in another tab. */
async function switchElsewhere(to: string) {
  const other = await seen.context.newPage();
  await other.goto(`${seen.weir.origin}/`);
  await other.getByRole("button", { name: /^(Acme|Beta)$/ }).click();
  await other.getByRole("menuitem", { name: to }).click();
  await switcher(other, to).waitFor();
  await other.close();
}

test("a tab stays in the organization that it shows while another tab switches", async () => {
  const { page, weir, heading } = seen;
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Beta" }));
  await page.reload();
  await switcher(page, "Acme").waitFor();
  await switchElsewhere("Beta");

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

test("a link that is opened in a new tab shows the organization of its page", async () => {
  const { page, context, weir } = seen;
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Delta" }));
  await seen.go("/");
  await switcher(page, "Acme").waitFor();
  await switchElsewhere("Delta");
  const link = page.getByRole("link", { name: "Actions", exact: true });
  const opened = await context.newPage();
  await opened.goto(`${weir.origin}${await link.getAttribute("href")}`);
  await switcher(opened, "Acme").waitFor();
  expect([new URL(opened.url()).pathname, new URL(opened.url()).search]).toEqual(["/actions", ""]);
  await opened.close();
  await link.click();
  await page.waitForURL((url) => url.pathname === "/actions" && url.search === "");
});

test("a link to another organization that can't be opened yet says so instead of showing the current one", async () => {
  const { page, weir, go } = seen;
  const { id } = created(await weir.owner("POST", "/api/v1/organizations", { name: "Zeta" }));
  await go("/");
  await switcher(page, "Acme").waitFor();
  const memberships = "**/users/me/memberships";
  await page.route(memberships, (route) => route.fulfill({ status: 503, json: { detail: "Busy." } }));
  await go(`/actions?organization=${id}`);
  await page.getByText("Busy.").waitFor();
  expect(await switcher(page, "Acme").count()).toBe(0);
  await page.unroute(memberships);
  await page.getByRole("button", { name: "Try again" }).click();
  await switcher(page, "Zeta").waitFor();
  await go(`/?organization=${weir.ids.organizationId}`);
  await switcher(page, "Acme").waitFor();
});

test("going back and forward shows each page in the organization that it was opened in", async () => {
  const { page, weir, heading, go } = seen;
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Iota" }));
  const { id } = await makeAction(weir.owner, { name: "Only in Acme" });
  await go(`/actions/${id}`);
  await heading("Only in Acme");
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await page.getByRole("button", { name: "Acme", exact: true }).click();
  await page.getByRole("menuitem", { name: "Iota" }).click();
  await switcher(page, "Iota").waitFor();
  await page.getByRole("link", { name: "Bundles", exact: true }).click();
  await page.evaluate(() => history.go(-3));
  await heading("Only in Acme");
  await switcher(page, "Acme").waitFor();
  await page.evaluate(() => history.go(3));
  await switcher(page, "Iota").waitFor();
  expect(new URL(page.url()).pathname).toBe("/bundles");
  await go(`/?organization=${weir.ids.organizationId}`);
  await switcher(page, "Acme").waitFor();
});

/** Signs someone in in another tab of the same browser. */
async function signInElsewhere(email: string) {
  const other = await seen.context.newPage();
  await signIn(other, seen.weir.origin, email);
  await other.close();
}

/** As if the user came back to the tab. Closing the other one may have given it the focus, so that it is reloading. */
async function comeBack() {
  await seen.page.waitForFunction(() => window.dispatchEvent(new Event("focus")));
}

const sqlField = () => seen.page.getByRole("textbox", { name: "SQL" });
const stored = () => seen.page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));

/** Writes SQL on the page that is open, and waits until the tab has stored it. */
async function writeSql(text: string) {
  await seen.write("SQL", text);
  await seen.page.waitForFunction((wanted) => JSON.stringify({ ...sessionStorage }).includes(wanted), text);
}

test("a tab shows who has signed in in another, and a new role", async () => {
  const { page, weir, go } = seen;
  const email = "vera@example.com";
  await invited(email, "viewer");
  await go("/team");
  await page.getByRole("button", { name: "Invite member" }).waitFor();
  await signInElsewhere(email);
  await comeBack();
  await page.getByRole("button", { name: `${email} Viewer` }).waitFor();

  await seen.live();
  const { body } = await weir.owner("GET", "/api/v1/organizations/team");
  const { membershipId } = body.members.find((each: { email: string }) => each.email === email);
  const role = `/api/v1/organizations/team/members/${membershipId}/role`;
  expect((await weir.owner("PATCH", role, { roleSlug: "admin" })).status).toBe(200);
  await page.getByRole("button", { name: `${email} Admin` }).waitFor();
});

test("a tab changes nothing as someone else who has signed in in another, and shows who it is", async () => {
  const { page, weir, go } = seen;
  await signIn(page, weir.origin);
  const { id } = await makeAction(weir.owner, { name: "Of Ada" });
  const email = "bea@example.com";
  await invited(email, "admin");
  await go(`/actions/${id}`);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("By Bea");
  await signInElsewhere(email);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: `${email} Admin` }).waitFor();
  expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("Of Ada");
  expect((await weir.owner("GET", `${ACTIONS}/${id}`)).body.name).toBe("Of Ada");
});

test("SQL that was typed stays for its user after the session has ended, and nobody else sees it", async () => {
  const { page, context, weir, go } = seen;
  const email = "cleo@example.com";
  await invited(email, "member");
  await signIn(page, weir.origin);
  await go("/sql");
  await writeSql("SELECT 'of Ada alone'");
  await context.clearCookies();
  await page.reload();
  await page.getByLabel("Email").waitFor();
  await signIn(page, weir.origin);
  await go("/sql");
  await sqlField().getByText("of Ada alone").waitFor();

  await context.clearCookies();
  await page.reload();
  await page.getByLabel("Email").waitFor();
  await signIn(page, weir.origin, email);
  await go("/sql");
  await sqlField().getByText("SELECT 1 AS one").waitFor();
  expect(await stored()).not.toContain("of Ada alone");
});

test("SQL that was typed is kept while someone else has signed in in another tab, which the tab says", async () => {
  const { page, weir, go } = seen;
  const email = "dora@example.com";
  await invited(email, "admin");
  await invited("eve@example.com", "admin");
  await signIn(page, weir.origin);
  const { id } = await makeAction(weir.owner, { name: "Half" });
  await go("/sql");
  await writeSql("SELECT 'half of Ada'");
  await page.getByRole("link", { name: "Actions", exact: true }).click();
  await page.getByRole("link", { name: "Half" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Half a name");
  await signInElsewhere(email);
  await comeBack();
  await page.getByRole("button", { name: `${email} Admin` }).waitFor();
  await page
    .getByText(
      /^Someone else has signed in in this browser\. Drafts in this tab are kept .* Changes that weren't saved in forms are lost\.$/,
    )
    .waitFor();
  await go("/sql");
  await sqlField().getByText("SELECT 1 AS one").waitFor();
  await signInElsewhere("eve@example.com");
  await comeBack();
  await page.getByRole("button", { name: "eve@example.com Admin" }).waitFor();
  await signInElsewhere("ada@example.com");
  await comeBack();
  await page.getByRole("button", { name: /^Ada Lovelace/ }).waitFor();
  await go("/sql");
  await sqlField().getByText("half of Ada").waitFor();
  expect((await weir.owner("GET", `${ACTIONS}/${id}`)).body.name).toBe("Half");
});

test("signing out in another tab deletes and hides what was typed, until its author signs in again", async () => {
  const { page, context, weir, go } = seen;
  await signIn(page, weir.origin);
  await go("/sql");
  await writeSql("SELECT 'left by Ada'");
  await page.getByRole("link", { name: "Actions", exact: true }).click();
  await page.getByRole("link", { name: "Half" }).click();
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("Half a name");
  const other = await context.newPage();
  await other.goto(`${weir.origin}/`);
  const signOut = async () => {
    await other.getByRole("button", { name: /^Ada Lovelace/ }).click();
    await other.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await other.route("**/auth/logout", (route) => route.fulfill({ status: 503, json: { detail: "Busy." } }));
  await signOut();
  await other.getByText("Busy.").waitFor();
  await other.unroute("**/auth/logout");
  await signOut();
  await page.getByText("Your session has ended").waitFor();
  await other.close();
  expect(await stored()).not.toContain("left by Ada");
  expect(await name.isVisible()).toBe(false);
  await page.getByRole("link", { name: "Sign in as someone else" }).waitFor();
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await name.waitFor();
  expect(await name.inputValue()).toBe("Half a name");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Half");
});

test("SQL that was typed stays in its organization", async () => {
  const { page, weir, go } = seen;
  await signIn(page, weir.origin);
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Gamma" }));
  await go("/sql");
  const move = async (from: string, to: string) => {
    await page.getByRole("button", { name: from, exact: true }).click();
    await page.getByRole("menuitem", { name: to }).click();
    await switcher(page, to).waitFor();
    await go("/sql");
  };
  await writeSql("SELECT 'of Acme alone'");
  await move("Acme", "Gamma");
  await sqlField().getByText("SELECT 1 AS one").waitFor();
  await move("Gamma", "Acme");
  await sqlField().getByText("of Acme alone").waitFor();
});

test("SQL can be typed and run while the browser's storage is full", async () => {
  const { page, weir, go } = seen;
  await signIn(page, weir.origin);
  await go("/sql");
  await writeSql("SELECT 'before'");
  await page.evaluate(() => {
    for (const storage of [sessionStorage, localStorage])
      for (let length = 1_000_000; length >= 1; length = Math.floor(length / 2))
        for (let at = 0; ; at++)
          try {
            storage.setItem(`fill-${length}-${at}`, "x".repeat(length));
          } catch {
            break;
          }
  });
  await seen.write("SQL", "SELECT 'longer than before'");
  const notice = page.getByText("The browser's storage is full or blocked.");
  await notice.waitFor();
  await seen.write("SQL", "SELECT 'longest of the three statements'");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 row", { exact: true }).waitFor();
  expect(await notice.count()).toBe(1);
  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("link", { name: "SQL", exact: true }).click();
  await sqlField().getByText("longest of the three").waitFor();
  await page.getByRole("button", { name: "History" }).click();
  await page
    .locator("button:not([aria-current])[title=\"SELECT 'longest of the three statements'\"]")
    .waitFor();
  await page.evaluate(() => {
    sessionStorage.clear();
    localStorage.clear();
  });
});

test("the page can be used while the browser's storage is blocked, and says so", async () => {
  const { weir } = seen;
  created(await weir.owner("POST", "/api/v1/organizations", { name: "Epsilon" }));
  const browser = await openBrowser();
  const { page, context, faults } = await browser.open(weir.origin, { locale: "de-CH" });
  await context.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, name, {
        get() {
          throw new DOMException("Access is denied for this document.", "SecurityError");
        },
      });
  });
  await signIn(page, weir.origin);
  await page.getByText(/^Der Speicher des Browsers ist voll oder gesperrt/).waitFor();
  await page.goto(`${weir.origin}/sql`);
  await page.getByRole("textbox", { name: "SQL" }).click();
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 Zeile", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Acme", exact: true }).click();
  await page.getByRole("menuitem", { name: "Epsilon" }).click();
  await page.getByRole("button", { name: "Epsilon", exact: true }).waitFor();
  expect(faults).toEqual([]);
  await browser.close();
});

test("drafts that an earlier version stored for any user are deleted", async () => {
  const { page, go } = seen;
  await go("/");
  const old = ["weir.sql.tabs", "weir.draft.one", "weir.run-input.one"];
  await page.evaluate((keys) => {
    for (const key of keys) sessionStorage.setItem(key, "of Ada");
  }, old);
  await page.reload();
  await seen.live();
  expect(await stored()).not.toContain("of Ada");
});
