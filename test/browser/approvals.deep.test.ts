import { afterAll, beforeAll, expect, test } from "bun:test";
import { pressTogether } from "../support/hands.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, created, makeAutomation, until } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen?.[Symbol.asyncDispose]());

const APPROVALS = "/api/v1/approvals";

async function ask({ weir }: Seen, ...titles: string[]) {
  const config = {
    steps: [
      { key: "ask", kind: "approval_gate", definition: { title: "{{input.title}}" } },
      { key: "ship", kind: "conditional_branch", definition: branch(), dependsOn: ["ask"] },
    ],
  };
  const flow = await makeAutomation(weir.owner, config, { name: "Shipping" });
  const { total } = (await weir.owner("GET", APPROVALS)).body;
  for (const [at, title] of titles.entries()) {
    created(await weir.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { title } }));
    await until(weir.owner, APPROVALS, (body) => body.total === total + at + 1);
  }
}

const decisions = async ({ weir }: Seen) =>
  (await weir.owner("GET", "/api/v1/decisions?status=decided")).body.decisions.map(
    (decision: { title: string; decisionValue: string; rejectionReason: string | null }) =>
      [decision.title, decision.decisionValue, decision.rejectionReason].join(" "),
  );

test("approvals are decided with keys, one after the other, each with its context", async () => {
  const { page, go, troubles } = seen;
  await ask(seen, "First", "Second", "Third");
  await go("/approvals");
  const list = page.getByRole("list", { name: "Pending approvals" });
  const at = (title: string) => page.getByRole("heading", { name: title, exact: true }).waitFor();
  await at("Third");
  await page.getByText("Runs ship").waitFor();
  await page.getByText("The run fails").waitFor();
  await page.getByText("Any member").waitFor();
  await page.getByText(/^API, Ada/).waitFor();
  expect(await troubles()).toEqual([]);
  await page.keyboard.press("j");
  await at("Second");
  await page.keyboard.press("j");
  await at("First");
  await page.keyboard.press("k");
  await at("Second");
  await page.keyboard.press("a");
  await page.getByText("Approved: Second").waitFor();
  await at("First");
  await pressTogether(page, "g", "a");
  await seen.heading("Actions");
  await page.goBack();
  await at("Third");
  await page.keyboard.press("r");
  await page.keyboard.type("Too large");
  await page.keyboard.press("Enter");
  await page.getByText("Rejected: Third").waitFor();
  await at("First");
  expect(await list.getByRole("listitem").count()).toBe(1);
  expect(await decisions(seen)).toEqual(["Third rejected Too large", "Second approved "]);
  expect(await seen.alsoDarkAndNarrow("/approvals")).toEqual([]);
});

test("several are rejected with one reason, and a colleague's link opens a single one", async () => {
  const { page, go, heading, troubles, weir } = seen;
  await ask(seen, "Fourth", "Fifth");
  await go("/approvals");
  await page.getByRole("checkbox", { name: "Select Fourth" }).check();
  await page.getByRole("checkbox", { name: "Select Fifth" }).check();
  await page.getByRole("button", { name: "Reject 2" }).click();
  const dialog = page.getByRole("dialog", { name: "Reject 2 requests?" });
  await dialog.getByText("Fifth (Shipping)").waitFor();
  await dialog.getByLabel("Reason for all of them").fill("Not this week");
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Reject 2 requests" }).click();
  await page.getByText("2 approvals rejected").waitFor();
  const [fifth, fourth] = (await decisions(seen)).sort();
  expect([fifth, fourth]).toEqual(["Fifth rejected Not this week", "Fourth rejected Not this week"]);

  const { items } = (await weir.owner("GET", APPROVALS)).body;
  await page.getByRole("link", { name: "Open", exact: true }).click();
  await page.waitForURL(`${weir.origin}/approvals/${items[0].id}`);
  await heading("Approval");
  await page.getByText("Runs ship").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("h1 + span", { hasText: "Approved" }).waitFor();
  expect(await troubles()).toEqual([]);
});

test("nothing can be typed into an answer while it is sent", async () => {
  const { page, go, weir } = seen;
  const definition = {
    title: "Filled",
    decisionType: "form_input",
    formSchema: { type: "object", properties: { note: { type: "string", title: "Note" } } },
  };
  const { id } = await makeAutomation(weir.owner, {
    steps: [{ key: "ask", kind: "approval_gate", definition }],
  });
  created(await weir.owner("POST", `${AUTOMATIONS}/${id}/run`, {}));
  await until(weir.owner, APPROVALS, ({ items }) =>
    items.some(({ title }: { title: string }) => title === "Filled"),
  );
  const answer = Promise.withResolvers<void>();
  await page.route("**/approve", async (route) => {
    await answer.promise;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await go("/approvals");
  await page.getByRole("button", { name: /Filled/ }).click();
  const note = page.getByRole("textbox", { name: "Note" });
  await note.fill("As sent");
  await page.keyboard.press("Enter");
  await page.locator("button[aria-busy]").waitFor();
  await page.keyboard.type("ja, later");
  answer.resolve();
  await page.getByText("Too busy.").waitFor();
  expect(await note.inputValue()).toBe("As sent");
  await page.keyboard.type(", once");
  expect(await note.inputValue()).toBe("As sent, once");
  await page.unroute("**/approve");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Approved: Filled").waitFor();
});
