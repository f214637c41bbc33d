import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";
import { DescribedService, startDescribed } from "../peers/described-api.ts";
import { driveUser, FOLDER, startDrive } from "../peers/google-drive.ts";
import { OAUTH_CLIENT, startOAuthApi } from "../peers/oauth-api.ts";
import { ok, TEMPLATES } from "../support/bundles.ts";
import { addSigned } from "../support/connection-sign-ins.ts";
import { openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
/** Returns the page's errors, except that the browser left for the sign-in, which is what is tested here. */
const troubles = (of = seen) => of.troubles().then(withoutSignIns);
const withoutSignIns = (all: string[]) => all.filter((each) => !/^http:.*\/authorize[/?]/.test(each));

/** Counts the clicks. */
function clicker() {
  const clicks = { count: 0 };
  const click = (what: { click(): Promise<void> }) => {
    clicks.count++;
    return what.click();
  };
  return { clicks, click };
}

beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen?.[Symbol.asyncDispose]());

test("an empty organization loads a list of a template's service after a sign-in, with six clicks from home", async () => {
  await using fresh = await openSeen();
  const { page, heading, weir } = fresh;
  await using peer = await startDescribed();
  const { definition } = ok(await weir.owner("GET", `${TEMPLATES}/slug/gitlab-sign-in`));
  const baseUrl = `${peer.origin}/gitlab`;
  const credentials = { clientId: "weir-app", clientSecret: "a-secret-of-the-app" };
  const service = new DescribedService(definition as HttpTemplate, { baseUrl }, credentials);
  service.asksPerson = true;
  peer.services.set("gitlab", service);
  service.grow(8);
  const replies: Promise<string>[] = [];
  page.on("response", (response) => {
    if (/json/.test(response.headers()["content-type"] ?? "")) replies.push(response.text().catch(() => ""));
  });

  const { click, clicks } = clicker();
  await click(page.getByRole("link", { name: "Create connection" }));
  await click(page.getByRole("button", { name: /^GitLab \(sign-in\)/ }));
  await page.getByText("/api/v1/connections/oauth/callback").waitFor();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Our GitLab");
  await page.getByLabel("Application ID").fill(credentials.clientId);
  await page.getByLabel(/^Secret/).fill(credentials.clientSecret);
  await page.locator("summary").click(); // Only for the peer's address.
  await page.getByLabel("Base URL").fill(baseUrl);
  expect(await troubles(fresh)).toEqual([]);
  await click(page.getByRole("button", { name: "Create and sign in" }));
  await click(page.getByRole("link", { name: "Allow" }));
  await heading("Our GitLab");
  await page.locator("h1 + span", { hasText: "Active" }).waitFor();
  await click(page.getByRole("link", { name: "Load issues" }));
  await page.getByRole("textbox", { name: "Name", exact: true }).first().waitFor();
  await click(page.getByRole("button", { name: "Create and run" }));
  await page.waitForURL(/\/runs\//);
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  expect(clicks.count).toBe(6);
  expect(await troubles(fresh)).toEqual([]);
  const { body: run } = await weir.owner("GET", `/api/v1/action-runs/${page.url().split("/").at(-1)}`);
  expect(run.result.tables).toMatchObject([{ table: "issues", rows: 8 }]);
  const shown = (await Promise.all(replies)).join("\n") + (await page.content());
  expect(shown).toContain("Our GitLab");
  expect(service.issued.length).toBeGreaterThan(0);
  for (const token of service.issued) expect(shown).not.toContain(token);
}, 120_000);

test("files of Drive are loaded after a sign-in with six clicks, without showing a token", async () => {
  await using drive = await startDrive();
  drive.put({ id: "reports", name: "Reports", mimeType: FOLDER, parents: ["my-drive"] });
  drive.put({
    ...{ id: "sales", name: "sales.csv", mimeType: "text/csv", parents: ["reports"] },
    content: "id,total\n1,2.5\n2,7\n",
  });
  const { page, go, heading } = seen;
  const { click, clicks } = clicker();
  await go("/connections/new");
  await click(page.getByRole("button", { name: /^Google Drive/ }));
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Team drive");
  await page.getByText("/api/v1/connections/oauth/callback").waitFor();
  await page.getByLabel("Client id").fill(driveUser.clientId);
  await page.getByLabel("Client secret").fill(driveUser.clientSecret);
  await page.locator("summary").click(); // Only for the peer's address.
  await page.getByLabel("Base URL").fill(drive.baseUrl);
  expect(await troubles()).toEqual([]);
  await click(page.getByRole("button", { name: "Create and sign in" }));
  await click(page.getByRole("link", { name: "Allow" }));
  await heading("Team drive");
  await page.locator("h1 + span", { hasText: "Active" }).waitFor();
  await click(page.getByRole("button", { name: "Reports" }));
  await click(page.getByRole("link", { name: "Load Reports/sales.csv" }));
  await page.getByRole("textbox", { name: "Name", exact: true }).first().waitFor();
  await click(page.getByRole("button", { name: "Create and run" }));
  await page.waitForURL(/\/runs\//);
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  expect(clicks.count).toBe(6);
  expect(await troubles()).toEqual([]);
  const { body: run } = await seen.weir.owner("GET", `/api/v1/action-runs/${page.url().split("/").at(-1)}`);
  expect(run.result.tables).toMatchObject([{ table: "sales", rows: 2 }]);
}, 120_000);

test("a connection says that a user has to sign in again, and leads there", async () => {
  await using peer = await startOAuthApi({ grants: "items:read" });
  const { id, name } = await addSigned(seen.weir, peer);
  const { page, go } = seen;
  await go(`/connections/${id}`);
  await page.getByText("Sign in to use this connection.").waitFor();
  await page.getByRole("status").getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The sign-in is missing scopes: items:write.").waitFor();
  await page.locator("h1 + span", { hasText: "Active" }).waitFor();
  await page.locator("main").getByRole("link", { name: "Settings" }).click();
  await page.getByText("Signed in", { exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
  peer.revoke();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("status").getByText("Sign in again").first().waitFor();
  await page.getByRole("status").getByRole("button", { name: "Sign in again" }).click();
  await page.locator("h1 + span", { hasText: "Active" }).waitFor();
  await page.locator("main").getByRole("link", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page
    .getByRole("dialog", { name: `Sign out of ${name}?` })
    .getByRole("button", { name: "Sign out" })
    .click();
  await page.getByText("Needs sign-in").waitFor();
  expect(await page.content()).not.toContain(OAUTH_CLIENT.clientSecret);
}, 120_000);
