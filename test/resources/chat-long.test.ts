import { describe, expect, test } from "bun:test";
import { calls, type Heard, says } from "../peers/model.ts";
import { ask, makeThread, startChat } from "../support/chat.ts";

const CONTEXT = 3_000;
const WITH = { env: { WEIR_MODEL_CONTEXT: String(CONTEXT) } };

/** A lower bound of what a model would count. */
const tokensIn = ({ body }: Heard) => Math.ceil(JSON.stringify([body.messages, body.tools ?? []]).length / 4);
const isSummary = ({ body }: Heard) => body.messages[0].content.startsWith("Summarize the beginning");
const lastOf = ({ body }: Heard): string => body.messages.at(-1).content;

/** About 200 tokens. */
const long = (word: string) => `${word} ${"tea is good. ".repeat(60)}`;

/** Replies as requested, and summarizes what it is given for that. */
const script = (heard: Heard) =>
  isSummary(heard)
    ? says("They talked of tea; the code is 4711.")
    : says(`Yes: ${lastOf(heard).slice(0, 20)}`);

describe("a thread that is longer than the model's context", () => {
  test("is summarized from its beginning, once for many turns, and says so", async () => {
    await using chat = await startChat(script, WITH);
    const { at } = await makeThread(chat);
    const told: unknown[] = [];
    for (let turn = 0; turn < 14; turn++) {
      const reply = await ask(chat, at, { content: long(`Question ${turn}`) });
      expect(reply.message.metadata).not.toHaveProperty("error");
      told.push((reply.message.metadata as { warnings?: string[] }).warnings ?? []);
    }
    expect((await chat.app.owner("GET", at)).body.lastTurnStatus).toBe("completed");
    for (const heard of chat.heard) expect(tokensIn(heard)).toBeLessThan(CONTEXT);
    const summaries = chat.heard.filter(isSummary);
    expect(summaries.length).toBeGreaterThan(0);
    expect(summaries.length).toBeLessThan(7);
    expect(lastOf(summaries[0] as Heard)).toContain("User: Question 0");
    const last = chat.heard.at(-1)?.body.messages;
    expect(last[1].content).toContain("the code is 4711");
    expect(last.at(-1).content).toStartWith("Question 13");
    expect(told[0]).toEqual([]);
    expect(told.at(-1)).toEqual([
      "Earlier messages were summarized for the model, whose limit is 3,000 tokens.",
    ]);
    const { items } = (await chat.app.owner("GET", `${at}/messages`)).body;
    expect(items.at(-1).rawData.metadata.warnings).toEqual(told.at(-1));
  });

  test("has its long results shortened first", async () => {
    await using chat = await startChat(
      [calls("query", { sql: "SELECT repeat('x', 12000) AS long" }), says("Long."), says("Still here.")],
      WITH,
    );
    const { at } = await makeThread(chat, ["query"]);
    await ask(chat, at, { content: "How long?" });
    const next = await ask(chat, at, { content: "And now?" });
    expect(chat.heard.filter(isSummary)).toEqual([]);
    const result = chat.heard[2]?.body.messages.find(({ role }: { role: string }) => role === "tool");
    expect(result.content).toMatch(/^<tool_output tool="query">[\s\S]*\(shortened from \d+ characters\)/);
    expect(next.message.metadata).toMatchObject({
      warnings: ["Long tool results were shortened for the model, whose limit is 3,000 tokens."],
    });
  });

  test("fails only if the question alone doesn't fit", async () => {
    await using chat = await startChat(script, WITH);
    const { at } = await makeThread(chat);
    await ask(chat, at, { content: "Short" });
    const { chunks } = await ask(chat, at, { content: "tea ".repeat(4_000) });
    expect(JSON.stringify(chunks)).toContain("The question is longer than the model's limit of 3,000 tokens");
    expect(chat.heard).toHaveLength(1);
    expect((await ask(chat, at, { content: "Short again" })).message.metadata).not.toHaveProperty("error");
  });
});

test.each([
  [[{ id: "peer-1", max_model_len: 100_000 }], false],
  [[{ id: "peer-1" }, { id: "other", max_model_len: 100_000 }], true],
])(
  "without a setting, the endpoint is asked, otherwise 8,192 tokens are assumed: %j",
  async (models, isSummed) => {
    await using chat = await startChat(script, {}, models);
    const { at } = await makeThread(chat);
    for (let turn = 0; turn < 3; turn++)
      await ask(chat, at, { content: long(`Question ${turn}`).repeat(10) });
    expect(chat.heard.some(isSummary)).toBe(isSummed);
  },
);
