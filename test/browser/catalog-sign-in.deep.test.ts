import { afterAll, beforeAll, expect, test } from "bun:test";
import { startGuarded } from "../peers/mcp-guarded.ts";
import { CATALOG } from "../support/catalog.ts";
import { openSeen, type Seen } from "../support/seen.ts";

let seen: Seen;
let peer: Awaited<ReturnType<typeof startGuarded>>;
beforeAll(async () => {
  peer = await startGuarded({ lifetimeSeconds: 86_400 });
  seen = await openSeen({ engine: false });
});
afterAll(async () => {
  await seen?.[Symbol.asyncDispose]();
  await peer?.[Symbol.asyncDispose]();
});

/** Approves on the OAuth server's pages, as grace. */
async function letIn() {
  const { page } = seen;
  await page.getByPlaceholder("Enter any login").fill("grace");
  await page.getByPlaceholder("and password").fill("x");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a server that requires a sign-in is signed in to while it is added to the catalog", async () => {
  const { page, go, heading, troubles } = seen;
  await go("/catalog/new?from=server");
  await page.getByLabel("URL").fill(peer.url);
  await page.getByRole("button", { name: "Discover tools" }).click();
  await page.getByText("requires a sign-in to list its tools").waitFor();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("use the account that signs in").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: `Continue to ${new URL(peer.issuer).host}?` }).waitFor();
  await page.getByText("a different host from the MCP server").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  await letIn();
  await heading("New API");
  await page.getByRole("button", { name: "Discover tools" }).click();
  await page.getByText("2 of 2").waitFor();
  await page.getByLabel("Name").fill("Guarded");
  await page.getByLabel("Description").fill("Behind a sign-in.");
  await page.getByRole("button", { name: "Add API with 2 tools" }).click();
  await heading("Guarded");
}, 120_000);

test("an entry shows its sign-in, can be signed out of, and asks for it again", async () => {
  const { page, go, weir } = seen;
  const { items } = (await weir.owner("GET", CATALOG)).body;
  const [{ id }] = items;
  await go(`/catalog/${id}?tab=settings`);
  await page.getByText("Signed in", { exact: true }).waitFor();
  await page.getByText(peer.issuer).first().waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Tools can't be called until").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Not required").waitFor();
  await weir.owner("POST", `${CATALOG}/${id}/refresh`);
  await page.getByText("The server requires a sign-in.").waitFor();
  await page.getByRole("status").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Guarded", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Refresh tools" }).click();
  await page.getByText("Tools are up to date").waitFor();
  expect(await page.getByText("The server requires a sign-in.").count()).toBe(0);
}, 120_000);
