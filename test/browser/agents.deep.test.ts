import { afterAll, beforeAll, expect, test } from "bun:test";
import { PASSWORD } from "../support/app.ts";
import { httpApi } from "../support/catalog.ts";
import { SPECS, THREADS } from "../support/chat.ts";
import { openAs } from "../support/hands.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { makeAction } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ engine: false });
});
afterAll(() => seen?.[Symbol.asyncDispose]());

const BAD = "---\nname: Helper\ntemperature: 9\ntools:\n  - query\n  - nothing:x\n---\nYou help.\n";

test("the first agent is written from the empty list: faults are reported by line, and then it is created", async () => {
  const { page, go, heading, write, troubles, weir } = seen;
  await go("/agents");
  await page.getByText("No agents yet").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("link", { name: "Create agent" }).click();
  await page.getByText("Answers questions from").waitFor();
  await write("Agent", BAD);
  await page.getByRole("button", { name: "Create agent" }).click();
  const told = page.getByRole("alert");
  await told.getByText("Line 3").waitFor();
  await told.getByText("Line 6").waitFor();
  await told.getByText(/Unknown tool "nothing:x"/).waitFor();
  expect(await page.locator("[data-editor] .cm-bad-line").allTextContents()).toEqual([
    "temperature: 9",
    "  - nothing:x",
  ]);
  expect(await troubles()).toEqual([]);
  await write("Agent", "---\nname: [unclosed\n---\nYou help.\n");
  await page.getByRole("button", { name: "Create agent" }).click();
  await told.getByText(/Line \d/).waitFor();
  await told.getByText(/Invalid YAML/).waitFor();
  await write("Agent", BAD.replace("9", "0.5").replace("  - nothing:x\n", ""));
  await page.getByRole("button", { name: "Create agent" }).click();
  await heading("Helper");
  const { body } = await weir.owner("GET", SPECS);
  expect(body.specs[0]).toMatchObject({
    name: "Helper",
    frontmatter: { temperature: 0.5, tools: ["query"] },
  });
});

test("tools are selected or completed while typing, and the text stays as written", async () => {
  const { page, go, write, troubles, weir } = seen;
  await makeAction(weir.owner, { name: "Pay back", slug: "pay-back" });
  const [{ id }] = (await weir.owner("GET", SPECS)).body.specs;
  await go(`/agents/${id}`);
  await page.getByLabel("Add tool").selectOption("action:pay-back");
  await page.getByText("action:pay-back added").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Agent saved", { exact: true }).waitFor();
  const text = (await weir.owner("GET", `${SPECS}/${id}`)).body.markdown;
  expect(text).toBe(BAD.replace("9", "0.5").replace("nothing:x", "action:pay-back"));

  await write("Agent", "---\nname: Helper\ntools:\n  - que\n---\nx");
  await page.getByRole("textbox", { name: "Agent", exact: true }).press("Control+Home");
  for (let line = 0; line < 3; line++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await page.keyboard.type("r");
  await page.locator(".cm-tooltip-autocomplete").getByText("query", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("action:pay");
  await page.locator(".cm-tooltip-autocomplete").getByText("action:pay-back", { exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByText("Reference").click();
  await page.getByText("automation:SLUG").waitFor();
  expect(await troubles()).toEqual([]);
});

test("all tools are offered, however many there are", async () => {
  const { page, go, weir } = seen;
  for (let at = 0; at < 101; at++) await makeAction(weir.owner, { name: `Offered ${at}` });
  await go("/agents/new");
  const offered = page.getByLabel("Add tool").locator("option", { hasText: "action:offered-" });
  await offered.nth(100).waitFor({ state: "attached" });
  expect(await offered.count()).toBe(101);
});

test("an agent can be chatted with, and deleting it says what depends on it", async () => {
  const { page, go, heading, troubles, weir } = seen;
  const [{ id }] = (await weir.owner("GET", SPECS)).body.specs;
  await makeAction(weir.owner, {
    kind: "call_agent",
    name: "Ask the helper",
    definition: { agent: id, prompt: "Hello" },
  });
  await go(`/agents/${id}`);
  await page.getByRole("button", { name: "New chat" }).click();
  await heading("New chat");
  await page.getByRole("link", { name: "Helper" }).click();
  await heading("Helper");
  await page.getByRole("button", { name: "Delete agent" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("1 of your chats uses this agent.").waitFor();
  await dialog.getByText("Ask the helper").waitFor();
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No agents yet").waitFor();

  const { body: made } = await weir.owner("POST", SPECS, {
    markdown: `---\nname: ${JSON.stringify(MARKUP)}\ndescription: ${JSON.stringify(MARKUP)}\n---\n${MARKUP}\n`,
  });
  const [thread] = (await weir.owner("GET", THREADS)).body.items;
  await go(`/chat/${thread.id}`);
  await page.getByText("This chat's agent was deleted.").waitFor();
  await page.getByLabel("Choose another agent").selectOption(made.id);
  await page.getByRole("link", { name: MARKUP }).click();
  await heading(MARKUP);
  expect(await troubles()).toEqual([]);
});

test("agents are found by search, and readable in dark mode and on a phone", async () => {
  const { page, go, heading, weir, alsoDarkAndNarrow } = seen;
  const [{ id }] = (await weir.owner("GET", SPECS)).body.specs;
  await go("/");
  await heading("Hello, Ada");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("<img");
  await page.getByRole("option").filter({ hasText: "Agent ·" }).click();
  await heading(MARKUP);
  expect(await alsoDarkAndNarrow("/agents", "/agents/new", `/agents/${id}`)).toEqual([]);
});

test("viewers see agents and APIs, and a notice where they can't ask questions", async () => {
  const { weir } = seen;
  const [{ id }] = (await weir.owner("GET", SPECS)).body.specs;
  const { body: api } = await weir.owner("POST", "/api/v1/api-catalog/http", httpApi("Shop"));
  const email = "vera@example.com";
  const { body } = await weir.owner("POST", "/api/v1/organizations/invitations", {
    email,
    roleSlug: "viewer",
  });
  const address = new URL(body.inviteUrl);
  const token = address.searchParams.get("token") ?? address.hash.replace(/^#(token=)?/, "");
  const accepted = { token, password: PASSWORD, firstName: "Vera" };
  expect((await weir.anonymous("POST", "/api/v1/auth/invitations/accept", accepted)).status).toBeLessThan(
    300,
  );
  await using vera = await openAs(weir.origin, { email });
  const { page, faults } = vera;
  const open = (path: string) => page.goto(weir.origin + path);
  await open(`/agents/${id}`);
  await page.locator("pre").getByText("name:").waitFor();
  await open("/agents/new");
  await page.getByText("You need the member role to create agents").waitFor();
  await open("/catalog/new");
  await page.getByText("You need the member role to add APIs").waitFor();
  await open(`/catalog/${api.id}`);
  await page.getByRole("button", { name: /^list_orders/ }).click();
  expect(await page.getByRole("checkbox", { name: /^Enabled/ }).isDisabled()).toBe(true);
  expect(await page.getByText("Test", { exact: true }).count()).toBe(0);
  await open("/chat");
  await page.getByText("No chats yet").waitFor();
  for (const name of [/^Ask/, "New chat", /^Delete/, /^New chat/, "Save", "Disable"])
    expect([name, await page.getByRole("button", { name }).count()]).toEqual([name, 0]);
  expect(faults).toEqual([]);
}, 120_000);
