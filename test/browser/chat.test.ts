import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { calls, type Move, says, startModel } from "../peers/model.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { makeThread, THREADS } from "../support/chat.ts";
import { openAs, startLine } from "../support/hands.ts";
import { loadTable } from "../support/lake.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { makeAction, until } from "../support/work.ts";

let model: Awaited<ReturnType<typeof startModel>>;
let receiver: ReturnType<typeof startReceiver>;
let seen: Seen;
beforeAll(async () => {
  model = await startModel([]);
  receiver = startReceiver();
  seen = await openSeen({ env: model.env });
});
afterAll(async () => {
  await seen[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Opens a thread with a new agent in the page. */
async function openThread(tools: string[] = []) {
  const { thread, at, spec } = await makeThread({ app: seen.weir }, tools);
  await seen.go(`/chat/${thread.id}`);
  await seen.heading("New chat");
  return { id: thread.id, at, spec };
}

async function askIt(text: string) {
  await seen.page.getByLabel("Message", { exact: true }).fill(text);
  await seen.page.keyboard.press("Enter");
}

const messagesOf = async (at: string) => (await seen.weir.owner("GET", `${at}/messages`)).body.items;
const answers = () => seen.page.getByRole("article", { name: "Answer" });

/** An answer that pauses after its first words until `go` is called. */
function stalls(first: string, rest: string) {
  const gate = Promise.withResolvers<void>();
  const moves: Move[] = [{ text: first }, { hold: gate.promise }, { text: rest }];
  return { script: { moves, usage: { input: 1, output: 1 } }, go: gate.resolve };
}

describe("an answer", () => {
  deepTest("grows as it arrives, with tool calls and their rows in place, and can be copied", async () => {
    const { page, weir, troubles } = seen;
    const ctx = contextFor(weir.app, {
      organizationId: weir.ids.organizationId,
      role: "owner",
      actor: { type: "user", id: weir.ids.userId },
      correlationId: "made-for-a-test",
    });
    const select = "SELECT * FROM (VALUES ('Bern', 12), ('Zürich', 30)) t(city, total)";
    await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select });
    const last = stalls("Most are from **Zür", "ich**.\n\n| city | total |\n|---|--:|\n| Zürich | 30 |\n");
    model.play([calls("query", { sql: "SELECT city, total FROM raw.shop__orders" }), last.script]);
    const { at } = await openThread(["query"]);
    await askIt("Where are the orders from?");
    await page.getByRole("region", { name: "Result rows" }).getByText("Bern").waitFor();
    await page.getByText("Most are from **Zür").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByRole("img", { name: /Y axis: .*total/ }).waitFor();
    expect(await troubles()).toEqual([]);
    last.go();
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    expect(await answers().locator("strong").textContent()).toBe("Zürich");
    await page.getByRole("region", { name: "Table" }).getByText("30").waitFor();
    await seen.heading("Where are the orders from?");
    await page.getByRole("button", { name: "Copy answer" }).waitFor();
    expect((await messagesOf(at)).map(({ role }: { role: string }) => role)).toEqual(["user", "assistant"]);
    expect(await troubles()).toEqual([]);
  });

  deepTest(
    "of a hostile model is text: nothing is fetched, nothing runs, and links only lead to the web and show where",
    async () => {
      const { page, troubles } = seen;
      const hostile = [
        `${MARKUP} <script>window.wasRun=1</script> <iframe src="https://evil.example/frame"></iframe>`,
        "![pixel](https://evil.example/pixel.png?secret=1) ![data](data:image/png;base64,AAAA)",
        "[run](javascript:window.wasRun=1) [data](data:text/html,x) [coded](&#106;avascript:window.wasRun=1) [file](file:///etc/passwd)",
        "[your bank](https://evil.example/login) [https://bank.example/evil.example](https://evil.example/x) <https://evil.example/auto> [relative](/api/v1/auth/logout)",
        "[ref][a]\n\n[a]: https://evil.example/ref\n\n> > > deep\n\n<style>body{display:none}</style>",
        ">".repeat(30_000),
      ];
      for (const text of hostile.slice(0, 5)) {
        model.play([says(text)]);
        await openThread();
        await askIt("Go on");
        await page.getByRole("button", { name: "Regenerate" }).waitFor();
        const drawn = await page.evaluate(() => ({
          wasRun: "wasRun" in window,
          foreign: [
            ...document.querySelectorAll("main :is(img, iframe, script, style, object, embed, video)"),
          ].length,
          links: [...document.querySelectorAll<HTMLAnchorElement>("article a")].map((link) => ({
            href: link.href,
            text: link.textContent ?? "",
            rel: link.rel,
          })),
        }));
        expect({ wasRun: drawn.wasRun, foreign: drawn.foreign }).toEqual({ wasRun: false, foreign: 0 });
        for (const { href, text: words, rel } of drawn.links) {
          expect(href).toMatch(/^https:\/\/evil\.example\//);
          expect(words).toMatch(/\(evil\.example\)$|^https:\/\/evil\.example\//);
          expect(rel).toContain("noopener");
        }
      }
      model.play([says(hostile[5] ?? "")]);
      await openThread();
      await askIt("Go on");
      await page.getByRole("button", { name: "Regenerate" }).waitFor();
      expect(await troubles()).toEqual([]);
    },
    120_000,
  );

  test("continues after a reload in the middle, without duplicates", async () => {
    const { page, troubles } = seen;
    const slow = stalls("First half", " and second half.");
    model.play([slow.script]);
    const { at } = await openThread();
    await askIt("Tell me all");
    await page.getByText("First half").waitFor();
    await page.reload();
    await page.getByText("First half").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    slow.go();
    await page.getByText("First half and second half.").waitFor();
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    expect(await answers().count()).toBe(1);
    expect((await messagesOf(at))[1].content).toBe("First half and second half.");
    expect(await troubles()).toEqual([]);
  });

  test("of a model that stalls is stopped, and keeps what was seen", async () => {
    const { page } = seen;
    const stuck = stalls("As far as", " never");
    model.play([stuck.script]);
    const { at } = await openThread();
    await askIt("How far?");
    await page.getByText("As far as").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
    await model.heard[0]?.gone;
    expect((await messagesOf(at))[1]).toMatchObject({ content: "As far as", cancelled: true });
    stuck.go();
  });

  deepTest("that failed says why, even after a reload, and can be regenerated", async () => {
    const { page } = seen;
    model.play([{ moves: [{ text: "Well" }, { error: { type: "overloaded", message: "Too much" } }] }]);
    const { at } = await openThread();
    await askIt("Are you there?");
    const alert = page.locator("main").getByRole("alert");
    await alert.waitFor();
    const why = await alert.locator("p").first().textContent();
    await page.reload();
    await alert.getByText(why ?? "").waitFor();
    model.play([says("Now I am.")]);
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Now I am.").waitFor();
    await page.getByRole("button", { name: "Regenerate" }).click();
    await until(seen.weir.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "failed");
    expect((await messagesOf(at)).length).toBe(2);
  });
});

describe("a call that needs approval", () => {
  deepTest(
    "is shown with its exact arguments, made once it is approved, and not made if it is rejected",
    async () => {
      const { page, weir, troubles } = seen;
      const definition = { url: `${receiver.url}/refund/{{input.order}}`, method: "POST" };
      await makeAction(weir.owner, { slug: "refund", kind: "http_request", definition });
      model.play([calls("action_refund", { order: "A-17" }), says("Refunded."), says("Unused")]);
      const { at } = await openThread(["action:refund"]);
      await askIt("Refund A-17");
      const asked = page.getByRole("region", { name: "Arguments to approve" });
      await asked.getByText('"order": "A-17"').waitFor();
      expect(receiver.got).toEqual([]);
      expect(await troubles()).toEqual([]);
      await page.reload();
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByText("Refunded.").waitFor();
      expect(receiver.got.map(({ path }) => path)).toEqual(["/refund/A-17"]);

      await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
      model.play([calls("action_refund", { order: "B-18" }), says("Then not.")]);
      await askIt("And B-18");
      const sent = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      await page.route("**/reject", async (route) => {
        sent.resolve();
        await held.promise;
        await route.continue();
      });
      const reason = page.getByLabel("Reason for rejection (optional)");
      await reason.fill("Too late");
      await reason.press("Enter");
      await sent.promise;
      await page.keyboard.type(", or not");
      expect(await reason.inputValue()).toBe("Too late");
      held.resolve();
      await page.getByText("Then not.").waitFor();
      await page.getByText("Too late").waitFor();
      await page.getByText("Rejected", { exact: true }).first().waitFor();
      expect(receiver.got.length).toBe(1);

      await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
      model.play([calls("action_refund", { order: "C-19\u202e71-A" }), says("Never.")]);
      await askIt("And C-19");
      await asked.getByText('"C-19\\u202e71-A"').waitFor(); // The character that reverses the text is visible.
      await page.getByRole("button", { name: "Stop" }).click();
      await until(weir.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "cancelled");
      await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
      expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
      expect(receiver.got.length).toBe(1);
      expect(await troubles()).toEqual([]);
    },
    120_000,
  );
});

deepTest(
  "a second message during an answer from elsewhere is rejected and kept, and that answer is shown",
  async () => {
    const { page, weir } = seen;
    const slow = stalls("Asked elsewhere", ", answered here.");
    model.play([slow.script]);
    await page.route("**/api/v1/events/stream", (route) => route.abort());
    const { at } = await openThread();
    const other = fetch(`${weir.origin}${at}/turns/stream`, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ content: "From elsewhere" }),
    });
    await until(weir.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "streaming");
    await askIt("From here");
    await page.getByText("From elsewhere").first().waitFor();
    await page.getByText("Asked elsewhere").waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("From here");
    slow.go();
    await page.getByText("A turn is already in progress").waitFor();
    await page.getByText("Asked elsewhere, answered here.").waitFor();
    await (await other).text();
    await page.unroute("**/api/v1/events/stream");
  },
);

deepTest(
  "after a connection loss within an answer, nothing is missing or duplicated",
  async () => {
    await using own = await startModel([]);
    await using weir = await startApp({ env: own.env });
    await using line = await startLine(Number(new URL(weir.origin).port));
    await using ada = await openAs(line.origin);
    const { page } = ada;
    const slow = stalls("Before the cut", " and after it.");
    own.play([slow.script]);
    const { thread } = await makeThread({ app: weir });
    await page.goto(`${line.origin}/chat/${thread.id}`);
    await page.getByLabel("Message", { exact: true }).fill("Go");
    await page.keyboard.press("Enter");
    await page.getByText("Before the cut").waitFor();
    line.cut();
    await page.getByText("Connection lost").waitFor();
    slow.go();
    line.mend();
    await page.getByText("Before the cut and after it.").waitFor();
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    expect(await page.getByRole("article", { name: "Answer" }).count()).toBe(1);
  },
  120_000,
);

deepTest(
  "without a model, the page names the settings, and keeps the message",
  async () => {
    await using bare = await openSeen();
    const { page, go, weir, troubles } = bare;
    await go("/chat");
    await page.getByText("No agents yet").waitFor();
    await page.getByText(/No language model is configured.*WEIR_LLM_BASE_URL/).waitFor();
    await go("/agents");
    await page.getByText("No language model is configured").waitFor();
    const { thread } = await makeThread({ app: weir });
    await go(`/chat/${thread.id}`);
    await page.getByLabel("Message", { exact: true }).fill("Anybody there?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByText(/No language model is configured: set WEIR_LLM_BASE_URL/).waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("Anybody there?");
    expect((await weir.owner("GET", `${THREADS}/${thread.id}/messages`)).body.items).toEqual([]);
    expect(await troubles()).toEqual([]);
  },
  120_000,
);

deepTest("an unsent message stays with its chat, until its user signs out", async () => {
  const { page, go } = seen;
  const other = await openThread();
  const { id } = await openThread();
  const box = page.getByLabel("Message", { exact: true });
  await box.fill("Half of what I wanted");
  await page.getByRole("link", { name: "Datasets" }).click();
  await page.goBack();
  await seen.heading("New chat");
  expect(await box.inputValue()).toBe("Half of what I wanted");
  await go(`/chat/${other.id}`);
  expect(await box.inputValue()).toBe("");
  await go(`/chat/${id}`);
  expect(await box.inputValue()).toBe("Half of what I wanted");
  model.play([says("Done")]);
  await box.press("Enter");
  await page.getByRole("button", { name: "Regenerate" }).waitFor();
  await box.fill("Private");
  await page.getByRole("button", { name: /Ada Lovelace/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("Email").fill("ada@example.com");
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main navigation" }).waitFor();
});

deepTest("an expired session loses no message, and no half-described API", async () => {
  const { page, go, weir } = seen;
  await openThread();
  const forms = [
    ["Message", "Ask"],
    ["Content", "Read endpoints"],
  ] as const;
  for (const [field, send] of forms) {
    if (field === "Content") await go("/catalog/new?from=text");
    const box = page.getByRole("textbox", { name: field, exact: true });
    await box.fill("Half of what I wanted");
    await weir.owner("DELETE", "/api/v1/sessions?exclude_current=false");
    // A request by the page itself may have shown the dialog already, over the button.
    await page.getByRole("button", { name: send, exact: true, includeHidden: true }).dispatchEvent("click");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await box.inputValue()).toBe("Half of what I wanted");
  }
});

deepTest("chats are started with an agent, renamed, and deleted one by one and in bulk", async () => {
  const { page, go, heading, weir, troubles } = seen;
  await weir.owner("POST", `${THREADS}/bulk-delete`, { all: true });
  const { spec, id } = await openThread();
  await page.getByRole("button", { name: "Rename chat" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill(MARKUP);
  await dialog.getByRole("button", { name: "Rename" }).click();
  await heading(MARKUP);
  await go("/chat");
  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByRole("menuitem", { name: spec.name }).click();
  await heading("New chat");
  await page.getByRole("button", { name: "Delete chat" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await heading("Chat");
  await page.getByRole("link", { name: MARKUP }).waitFor();
  await makeThread({ app: weir });
  await page.reload();
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Select New chat").check();
  await page.getByLabel(`Select ${MARKUP}`).check();
  await page.getByRole("button", { name: "Delete 2 selected" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No chats yet").waitFor();
  expect((await weir.owner("GET", `${THREADS}/${id}`)).status).toBe(404);
  expect(await troubles()).toEqual([]);
});

deepTest("chats are readable in dark mode and on a phone", async () => {
  const { page, alsoDarkAndNarrow } = seen;
  const text = `# Title\n\n${"W".repeat(300)}\n\n| ${"a | ".repeat(20)}\n|${"---|".repeat(20)}\n| ${"1 | ".repeat(20)}\n\n\`\`\`\n${"x".repeat(400)}\n\`\`\``;
  model.play([calls("unknown", { long: "W".repeat(500) }), says(text)]);
  const { id } = await openThread(["query"]);
  await askIt("W".repeat(200));
  await page.getByRole("button", { name: "Regenerate" }).waitFor();
  expect(await alsoDarkAndNarrow("/chat", `/chat/${id}`)).toEqual([]);
});
