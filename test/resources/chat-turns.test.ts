import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { calls, type Script, says, startModel } from "../peers/model.ts";
import { startApp } from "../support/app.ts";
import { ask, type Chat, HEADERS, makeThread, open, readStream, startChat, stored } from "../support/chat.ts";
import { pause } from "../support/pause.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { faultsOf } from "../support/work.ts";

let chat: Chat;
beforeAll(async () => {
  chat = await startChat([], { engine: false }, [{ id: "peer-1", context_length: 128_000 }]);
});
afterAll(() => chat[Symbol.asyncDispose]());

/** Waits until the stored reply contains `text`, in its words or anywhere. */
async function untilSaid(chat: Chat, at: string, text: string, anywhere = false) {
  for (const start = performance.now(); performance.now() - start < 60_000; await pause(start)) {
    const { reply } = await stored(chat, at);
    if ((anywhere ? JSON.stringify(reply) : reply.content).includes(text)) return;
  }
  throw new Error(`It never said ${text}.`);
}

describe("a turn", () => {
  test("streams the answer in the AI SDK's format, and stores what the client builds from it", async () => {
    chat.play([
      {
        moves: [{ reasoning: "Let me think" }, { text: "Hel" }, { text: "lo" }],
        usage: { input: 10, output: 5 },
      },
    ]);
    const { at, thread } = await makeThread(chat);
    const { types, chunks, reply, messages, thread: after } = await ask(chat, at, { content: "Hi there" });
    expect(types).toEqual([
      "start",
      "start-step",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect(chunks[0]).toEqual({
      type: "start",
      messageId: reply.id,
      messageMetadata: { turnId: reply.turnId, threadId: thread.id, createdAt: reply.createdAt },
    });
    expect(chunks.at(-1)).toEqual({
      type: "finish",
      finishReason: "stop",
      messageMetadata: { usage: { inputTokens: 10, outputTokens: 5 }, durationSeconds: expect.any(Number) },
    });
    expect(messages).toEqual([
      {
        id: expect.any(String),
        threadId: thread.id,
        turnId: reply.turnId,
        role: "user",
        content: "Hi there",
        format: "text",
        rawData: {
          id: messages[0].id,
          role: "user",
          metadata: { turnId: reply.turnId, createdAt: expect.any(String) },
          parts: [{ type: "text", text: "Hi there", state: "done" }],
        },
        cancelled: false,
        durationSeconds: null,
        createdBy: chat.app.ids.userId,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
      {
        id: reply.id,
        threadId: thread.id,
        turnId: reply.turnId,
        role: "assistant",
        content: "Hello",
        format: "markdown",
        rawData: expect.objectContaining({ id: reply.id, role: "assistant" }),
        cancelled: false,
        durationSeconds: expect.any(Number),
        createdBy: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    expect(after).toMatchObject({ lastTurnStatus: "completed", title: "Hi there" });
    expect(chat.heard[0]?.body.messages).toEqual([
      { role: "system", content: expect.stringContaining("You answer in one sentence.") },
      { role: "user", content: "Hi there" },
    ]);
  });

  test("calls tools, reports their results, and continues with them", async () => {
    chat.play([
      { moves: [{ text: "I look." }, { call: "query", arguments: { sql: "SELECT 42 AS n" } }] },
      says("It is 42."),
    ]);
    const { at } = await makeThread(chat, ["query"]);
    const { types, reply, chunks } = await ask(chat, at);
    expect(types).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-input-available",
      "tool-output-available",
      "finish-step",
      "start-step",
      "text-start",
      "text-delta",
      "text-delta",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect(chunks.find(({ type }) => type === "tool-output-available")).toMatchObject({
      dynamic: true,
      output: { rows: [{ n: 42 }], rowCount: 1, truncated: false },
    });
    expect(reply.content).toBe("I look.It is 42.");
    const [, , , result] = chat.heard[1]?.body.messages ?? [];
    expect(chat.heard[1]?.body.messages[2]).toMatchObject({
      role: "assistant",
      content: "I look.",
      tool_calls: [{ function: { name: "query", arguments: '{"sql":"SELECT 42 AS n"}' } }],
    });
    expect(result.content).toMatch(/^<tool_output tool="query">\n[\s\S]*"n":42[\s\S]*\n<\/tool_output>$/);
  });

  test("ends both of two calls with the same ID", async () => {
    const call = { call: "datasets", arguments: {}, id: "same" };
    chat.play([{ moves: [call, call] }, says("No tables.")]);
    const { at } = await makeThread(chat, ["datasets"]);
    const { message } = await ask(chat, at);
    const parts = message.parts.filter(({ type }) => type === "dynamic-tool");
    expect(parts.map((part) => "state" in part && part.state)).toEqual([
      "output-available",
      "output-available",
    ]);
  });

  test("remembers earlier messages and calls, with the results marked as data", async () => {
    chat.play([calls("query", { sql: "SELECT 1 AS one" }), says("One."), says("Again one.")]);
    const { at } = await makeThread(chat, ["query"]);
    await ask(chat, at, { content: "How many?" });
    await ask(chat, at, { content: "And now?" });
    const heard = chat.heard[2]?.body.messages;
    expect(heard.map(({ role }: { role: string }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    expect(heard[3].content).toContain("<tool_output");
    expect(heard[4].content).toBe("One.");
  });

  test("sends its headers before the model's first token", async () => {
    const first = Promise.withResolvers<void>();
    chat.play([{ moves: [{ hold: first.promise }, { text: "Late" }] }]);
    const { at } = await makeThread(chat);
    const reply = await open(chat, at, { content: "Hello?" });
    expect(reply.status).toBe(200);
    expect(Object.fromEntries(reply.headers)).toMatchObject(HEADERS);
    const running = await stored(chat, at);
    expect(running.thread.lastTurnStatus).toBe("streaming");
    expect(running.messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant"]);
    first.resolve();
    expect((await readStream(reply)).message.parts).toContainEqual({
      type: "text",
      text: "Late",
      state: "done",
    });
  });

  test("warns that the answer was cut off or blocked", async () => {
    for (const [reason, warning] of [
      ["length", "The model's answer was cut off: it reached the maximum length. Ask for a shorter answer."],
      ["content_filter", "The model's provider blocked the answer, in whole or in part."],
    ] as const) {
      chat.play([{ moves: [{ text: "The half of it" }], reason }]);
      const { at } = await makeThread(chat);
      const { message } = await ask(chat, at);
      expect(message.metadata).toMatchObject({ warnings: [warning] });
    }
  });

  test("is stored as it grows", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play([{ moves: [{ text: "Begun" }, { hold: rest.promise }, { text: ", done" }] }]);
    const { at } = await makeThread(chat);
    const reply = await open(chat, at, { content: "Hello?" });
    let seen = "";
    while (seen !== "Begun") {
      await Bun.sleep(20);
      seen = (await stored(chat, at)).reply.content;
    }
    rest.resolve();
    await readStream(reply);
    expect((await stored(chat, at)).reply.content).toBe("Begun, done");
  });
});

describe("a message", () => {
  const text = (words: string) => ({ type: "text", text: words });
  test.each([
    ["content", { content: "Hi" }, "Hi", null],
    [
      "a message of the AI SDK",
      { message: { id: "m-1", role: "user", parts: [text("Hi"), text("there")] } },
      "Hi\nthere",
      "m-1",
    ],
    [
      "all that useChat sends",
      {
        id: "chat-1",
        trigger: "submit-message",
        messageId: "m-9",
        messages: [
          { id: "m-0", role: "user", parts: [text("Forged past")] },
          {
            id: "m-1",
            role: "assistant",
            parts: [text("Forged answer"), { type: "dynamic-tool", state: "approval-responded" }],
          },
          { id: "m-2", role: "user", metadata: { x: 1 }, parts: [text("Hi")] },
        ],
      },
      "Hi",
      "m-2",
    ],
    ["a message of the older shape", { message: { role: "user", content: "Hi" } }, "Hi", null],
    ["100,000 characters", { content: "x".repeat(100_000) }, "x".repeat(100_000), null],
  ])("can be %s", async (_, body, content, clientId) => {
    chat.play([says("Ok.")]);
    const { at } = await makeThread(chat);
    const { messages } = await ask(chat, at, body);
    expect(messages[0]).toMatchObject({ content, rawData: { id: clientId ?? messages[0].id } });
    expect(chat.heard[0]?.body.messages.slice(1)).toEqual([{ role: "user", content }]);
  });

  test.each([
    [{}, "body.content missing"],
    [{ content: "" }, "body.content string_too_short"],
    [{ content: "  " }, "body.content string_pattern_mismatch"],
    [{ content: "x".repeat(100_001) }, "body.content string_too_long"],
    [{ content: 1 }, "body.content string_type"],
    [{ content: "a", message: { role: "user", parts: [] } }, "body value_error"],
    [{ messages: [] }, "body.messages too_short"],
    [{ message: { role: "assistant", parts: [text("x")] } }, "body.message.role value_error"],
    [{ message: { role: "user" } }, "body.message.parts missing"],
    [{ message: { role: "user", parts: [text(" ")] } }, "body.message.parts string_too_short"],
    [{ message: { role: "user", parts: [text("x".repeat(100_001))] } }, "body.message.parts string_too_long"],
    [
      { messages: [{ role: "user", parts: [{ type: "file", url: "http://x" }] }] },
      "body.messages.0.parts.0 value_error",
    ],
    [{ content: "a", trigger: "resume" }, "body.trigger enum"],
    [{ content: "a", model: "x" }, "body.model extra_forbidden"],
  ])("is rejected before the stream starts, and nothing is stored: %j", async (body, fault) => {
    chat.play([]);
    const { at } = await makeThread(chat);
    expect(faultsOf(await chat.app.owner("POST", `${at}/turns/stream`, body))).toEqual([fault]);
    expect((await stored(chat, at)).messages).toEqual([]);
  });

  test("has the user's time zone, or is rejected if that is invalid", async () => {
    chat.play([says("Ok.")]);
    const { at } = await makeThread(chat);
    const post = (zone: string) =>
      chat.app.owner("POST", `${at}/turns/stream`, { content: "x" }, { "x-user-timezone": zone });
    for (const zone of ["Mars/Olympus", "x".repeat(200), "Europe/Zurich; DROP"])
      expect(faultsOf(await post(zone))).toEqual(["header.x-user-timezone timezone"]);
    expect((await post("Europe/Zurich")).status).toBe(200);
    expect(chat.heard[0]?.body.messages[0].content).toContain("(Europe/Zurich)");
  });

  test("gives the thread its title, unless it has one", async () => {
    chat.play(() => says("Ok."));
    const { at } = await makeThread(chat);
    const long = `${"word ".repeat(30)}\nsecond line`;
    const { thread } = await ask(chat, at, { content: long });
    expect(thread.title).toBe(`${"word ".repeat(15).trim()}…`);
    expect(thread.title.length).toBeLessThanOrEqual(80);
    await chat.app.owner("PATCH", at, { title: "Mine" });
    expect((await ask(chat, at)).thread.title).toBe("Mine");
  });
});

describe("without a configured model", () => {
  test("a turn is rejected before anything is stored, with the settings", async () => {
    await using app = await startApp({ engine: false });
    const { at } = await makeThread({ app });
    const { status, body } = await app.owner("POST", `${at}/turns/stream`, { content: "Hello?" });
    expect([status, body.code]).toEqual([503, "llm_not_configured"]);
    expect(body.detail).toContain("WEIR_LLM_BASE_URL");
    expect((await stored({ app }, at)).messages).toEqual([]);
  });
});

describe("the AI SDK's own transport", () => {
  const part = (text: string) => [{ type: "text" as const, text }];

  test("sends, regenerates and resumes, with just two URLs", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play([says("One."), { moves: [{ text: "Two" }, { hold: rest.promise }, { text: "." }] }]);
    const { at } = await makeThread(chat);
    const api = `${chat.app.origin}${at}/turns/stream`;
    const headers = { authorization: `Bearer ${chat.app.token}` };
    const transport = new DefaultChatTransport({
      api,
      headers,
      prepareReconnectToStreamRequest: () => ({ api, headers }),
    });
    const messages: UIMessage[] = [{ id: "mine-1", role: "user", parts: part("Hi") }];
    const asked = { chatId: "any", messages, abortSignal: undefined };
    const read = async (stream: ReadableStream<UIMessageChunk>) => {
      let last: UIMessage | undefined;
      for await (const state of readUIMessageStream({ stream })) last = state;
      return last;
    };
    const first = await read(
      await transport.sendMessages({ ...asked, trigger: "submit-message", messageId: undefined }),
    );
    expect(first?.parts).toContainEqual({ type: "text", text: "One.", state: "done" });
    expect(await transport.reconnectToStream({ chatId: "any" })).toBeNull();
    const again = await transport.sendMessages({
      ...asked,
      trigger: "regenerate-message",
      messageId: first?.id,
    });
    const resumed = await transport.reconnectToStream({ chatId: "any" });
    rest.resolve();
    const [one, two] = await Promise.all([read(again), read(resumed!)]);
    expect(one).toEqual(two as UIMessage);
    expect((await stored(chat, at)).messages.map(({ content }: { content: string }) => content)).toEqual([
      "Hi",
      "Two.",
    ]);
  });

  test("edits a message, replacing it and everything after it", async () => {
    chat.play((_, turn) => says(`Answer ${turn + 1}.`));
    const { at } = await makeThread(chat);
    const send = (id: string, text: string, more: object) =>
      ask(chat, at, {
        messages: [{ id, role: "user", parts: part(text) }],
        trigger: "submit-message",
        ...more,
      });
    await send("mine-1", "One?", {});
    await send("mine-2", "Two?", { messageId: "mine-2" });
    await send("mine-3", "Three?", {});
    const { messages } = await send("mine-2", "Other?", { messageId: "mine-2" });
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      "One?",
      "Answer 1.",
      "Other?",
      "Answer 4.",
    ]);
    expect(JSON.stringify(chat.heard.at(-1)?.body.messages)).not.toMatch(/Two\?|Three\?|Answer [23]/);
  });
});

describe("Anthropic's protocol", () => {
  test("works with just the key, through tools and back", async () => {
    await using peer = await startModel([
      { moves: [{ reasoning: "Hm" }, { text: "I look." }, { call: "datasets", arguments: {} }] },
      says("Nothing there."),
    ]);
    await using app = await startApp({ engine: false, env: peer.anthropicEnv });
    const { at } = await makeThread({ app }, ["datasets"]);
    const { reply, thread } = await ask({ app }, at);
    expect([thread.lastTurnStatus, reply.content]).toEqual(["completed", "I look.Nothing there."]);
    expect(peer.heard[1]?.body.messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });
});

describe("a model that fails", () => {
  test.each([
    ["a wrong key", { status: 401 }, "rejected the key"],
    [
      "an unknown model",
      { status: 404, body: { error: { message: "no such model" } } },
      "has no model peer-1",
    ],
    [
      "too long a conversation",
      { status: 400, body: { error: { message: "maximum context length" } } },
      "longer than peer-1 can take",
    ],
    [
      "an error in its stream",
      { moves: [{ text: "Half" }, { error: { type: "server_error", message: "boom" } }] },
      "boom",
    ],
    [
      "a cut",
      { moves: [{ text: "Half" }, { call: "query", arguments: "{" }, { pause: 30 }, { cut: true }] },
      "ended its reply early",
    ],
  ] as const)("by %s is reported in the stream, and the turn has failed", async (_, script, told) => {
    chat.play(() => script as Script);
    const { at } = await makeThread(chat, ["query"]);
    const { types, chunks, reply, thread } = await ask(chat, at);
    expect(types.slice(-2)).toEqual(["error", "finish"]);
    expect(chunks.at(-2)).toMatchObject({ errorText: expect.stringMatching(told) });
    expect(chunks.at(-1)).toMatchObject({ finishReason: "error" });
    expect([thread.lastTurnStatus, reply.cancelled]).toEqual(["failed", false]);
    const open = reply.rawData.parts.filter(({ state }: { state?: string }) =>
      /streaming|available$/.test(state ?? ""),
    );
    expect(open).toEqual([]);
    expect(JSON.stringify(reply)).not.toContain("the-key-of-the-model");
    const { body: trail } = await chat.app.owner("GET", `/api/v1/events?entityId=${at.slice(-36)}`);
    expect(trail.items[0]).toMatchObject({ type: "chat_turn.failed", data: { turnId: reply.turnId } });
  });

  test("doesn't affect the next turn", async () => {
    chat.play([{ status: 401 }, says("Back.")]);
    const { at } = await makeThread(chat);
    await ask(chat, at);
    expect((await ask(chat, at)).thread.lastTurnStatus).toBe("completed");
  });
});

describe("two turns at once", () => {
  test("don't continue one thread, but do continue two", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play(() => ({ moves: [{ text: "a" }, { hold: rest.promise }] }));
    const [one, two] = [await makeThread(chat), await makeThread(chat)];
    const first = await open(chat, one.at, { content: "1" });
    const second = await chat.app.owner("POST", `${one.at}/turns/stream`, { content: "2" });
    expect([second.status, second.body.code]).toEqual([409, "conflict"]);
    const other = await open(chat, two.at, { content: "3" });
    rest.resolve();
    await Promise.all([readStream(first), readStream(other)]);
    expect((await stored(chat, one.at)).messages).toHaveLength(2);
  });

  test("of twenty at the same time, one is accepted", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play([{ moves: [{ hold: rest.promise }, { text: "Ok." }] }]);
    const { at } = await makeThread(chat);
    const replies = await Promise.all(Array.from({ length: 20 }, () => open(chat, at, { content: "x" })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    rest.resolve();
    await Promise.all(replies.map((reply) => reply.text()));
    expect((await stored(chat, at)).messages).toHaveLength(2);
  });
});

describe("cancel", () => {
  const slow = (hold: Promise<unknown>): Script => ({
    moves: [{ text: "Half an " }, { text: "answer" }, { hold }],
  });

  test("ends model and stream, and keeps what arrived", async () => {
    chat.play([slow(new Promise(() => undefined)), says("Next.")]);
    const { at } = await makeThread(chat);
    const reply = await open(chat, at, { content: "Hello?" });
    await untilSaid(chat, at, "answer");
    const cancelled = await chat.app.owner("POST", `${at}/turns/cancel`);
    expect([cancelled.status, cancelled.text]).toEqual([204, ""]);
    await chat.heard[0]?.gone;
    const streamed = await readStream(reply);
    expect(streamed.types.slice(-2)).toEqual(["text-end", "abort"]);
    expect(streamed.chunks.at(-1)).toEqual({ type: "abort", reason: "cancelled" });
    const after = await stored(chat, at, streamed);
    expect(after.reply).toMatchObject({ content: "Half an answer", cancelled: true });
    expect(after.thread.lastTurnStatus).toBe("cancelled");
    expect((await open(chat, at)).status).toBe(204);
    expect((await ask(chat, at)).reply.content).toBe("Next.");
    expect(chat.heard[1]?.body.messages.at(-2)).toMatchObject({
      role: "assistant",
      content: "Half an answer",
    });
  });

  test.each([
    ["Half", "Half"],
    ["", ""],
    ["Half an answer", "Half an answer"],
    ["What I saw", "What I saw"],
  ])("keeps the part %j that the user saw", async (partialText, content) => {
    chat.play([slow(new Promise(() => undefined))]);
    const { at } = await makeThread(chat);
    const reply = await open(chat, at, { content: "Hello?" });
    await untilSaid(chat, at, "answer");
    await chat.app.owner("POST", `${at}/turns/cancel`, { partialText });
    await reply.text();
    expect((await stored(chat, at)).reply).toMatchObject({ content, cancelled: true });
  });

  test("ends a running tool", async () => {
    const sql = "SELECT count(*) FROM range(100000000000) a, range(1000) b";
    chat.play([calls("query", { sql })]);
    const { at } = await makeThread(chat, ["query"]);
    const reply = await open(chat, at, { content: "Hello?" });
    await untilSaid(chat, at, "input-available", true);
    expect((await chat.app.owner("POST", `${at}/turns/cancel`)).status).toBe(204);
    const streamed = await readStream(reply);
    expect(streamed.types.slice(-2)).toEqual(["tool-output-error", "abort"]);
    const { thread } = await stored(chat, at, streamed);
    expect(thread.lastTurnStatus).toBe("cancelled");
  });

  test("without a turn does nothing, and accepts no other fields", async () => {
    chat.play([]);
    const { at } = await makeThread(chat);
    for (const body of [undefined, {}, { partialText: null }, { partialText: "x" }])
      expect((await chat.app.owner("POST", `${at}/turns/cancel`, body)).status).toBe(204);
    expect((await stored(chat, at)).thread.lastTurnStatus).toBe("pending");
    expect(faultsOf(await chat.app.owner("POST", `${at}/turns/cancel`, { partial: "x" }))).toEqual([
      "body.partial extra_forbidden",
    ]);
  });

  test("happens when the thread is deleted", async () => {
    chat.play([slow(new Promise(() => undefined))]);
    const { at } = await makeThread(chat);
    const reply = await open(chat, at, { content: "Hello?" });
    await untilSaid(chat, at, "answer");
    expect((await chat.app.owner("DELETE", at)).status).toBe(204);
    await chat.heard[0]?.gone;
    expect(await reply.text()).toEndWith("data: [DONE]\n\n");
    expect((await chat.app.owner("GET", at)).status).toBe(404);
  });
});

describe("regenerate", () => {
  test("replaces the last reply", async () => {
    chat.play([says("First."), says("Second.")]);
    const { at } = await makeThread(chat);
    const first = await ask(chat, at, { content: "Hi" });
    const again = await ask(chat, at, {
      trigger: "regenerate-message",
      messages: [{ id: "x", role: "user", parts: [] }],
    });
    expect(again.messages.map(({ content }: { content: string }) => content)).toEqual(["Hi", "Second."]);
    expect(again.reply.id).not.toBe(first.reply.id);
    expect(chat.heard[1]?.body.messages).toEqual(chat.heard[0]?.body.messages);
  });

  test("replaces an earlier one and everything after it, by its ID or that of its question", async () => {
    chat.play(() => says("Ok."));
    const { at } = await makeThread(chat);
    const first = await ask(chat, at, {
      message: { id: "client-1", role: "user", parts: [{ type: "text", text: "1" }] },
    });
    await ask(chat, at, { content: "2" });
    const byReply = await ask(chat, at, { trigger: "regenerate-message", messageId: first.reply.id });
    expect(byReply.messages.map(({ content }: { content: string }) => content)).toEqual(["1", "Ok."]);
    await ask(chat, at, { content: "3" });
    const byQuestion = await ask(chat, at, { trigger: "regenerate-message", messageId: "client-1" });
    expect(byQuestion.messages.map(({ content }: { content: string }) => content)).toEqual(["1", "Ok."]);
  });

  test("needs a message, in this thread", async () => {
    chat.play(() => says("Ok."));
    const { at } = await makeThread(chat);
    const empty = await chat.app.owner("POST", `${at}/turns/stream`, { trigger: "regenerate-message" });
    expect([empty.status, empty.body.code]).toEqual([409, "invalid_state"]);
    await ask(chat, at);
    const foreign = await ask(chat, (await makeThread(chat)).at);
    const answer = await chat.app.owner("POST", `${at}/turns/stream`, {
      trigger: "regenerate-message",
      messageId: foreign.reply.id,
    });
    expect(faultsOf(answer)).toEqual(["body.messageId not_found"]);
    expect((await stored(chat, at)).messages).toHaveLength(2);
  });
});

describe("the budget of an organization", () => {
  test("ends its turns for the day, and not those of the next", async () => {
    const env = { WEIR_LLM_TOKENS_PER_DAY: "30" };
    await using chat = await startChat(() => says("Ok.", { input: 20, output: 10 }), { engine: false, env });
    const { at } = await makeThread(chat);
    await ask(chat, at);
    const refused = await chat.app.owner("POST", `${at}/turns/stream`, { content: "More" });
    expect([refused.status, refused.body.code]).toEqual([429, "llm_budget_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const other = await neighbour(chat.app);
    const theirs = await makeThread(chat, [], other.call);
    expect((await other.call("POST", `${theirs.at}/turns/stream`, { content: "x" })).status).toBe(200);
    chat.app.clock.turn(24 * 60 * 60 * 1000);
    expect((await ask(chat, at, { content: "Tomorrow" })).reply.content).toBe("Ok.");
  });
});

describe("the limits of one turn", () => {
  const ended = (chunks: { type: string }[], sentence: string) =>
    expect(chunks.slice(-2)).toMatchObject([
      { type: "error", errorText: sentence },
      { type: "finish", finishReason: "error" },
    ]);

  deepTest("end one that takes too long, within a reply or a tool, and the message says so", async () => {
    const env = { WEIR_LLM_TURN_TIMEOUT: "3" };
    await using chat = await startChat([], { env });
    const never = Promise.withResolvers<void>().promise;
    const sentence = "The turn reached its time limit of 3 seconds.";
    chat.play([{ moves: [{ text: "Well" }, { hold: never }] }]);
    const { at } = await makeThread(chat);
    const { chunks, reply, thread } = await ask(chat, at);
    ended(chunks, sentence);
    expect([reply.content, thread.lastTurnStatus]).toEqual([`Well\n\n${sentence}`, "failed"]);
    const hung = startReceiver(() => never as never);
    chat.play([calls("fetch_page", { url: hung.url }), says("x")]);
    const second = await makeThread(chat, ["fetch_page"]);
    const other = await ask(chat, second.at, { content: `Read ${hung.url}` });
    expect(other.reply.content).toBe(sentence);
    ended(other.chunks, sentence);
    await hung[Symbol.asyncDispose]();
    const trail = (await chat.app.owner("GET", `/api/v1/events?entityId=${second.thread.id}`)).body.items;
    expect(trail[0]).toMatchObject({
      type: "chat_turn.failed",
      data: { error: { code: "timeout", message: sentence }, usage: { inputTokens: 20, outputTokens: 10 } },
    });
    expect(Object.keys(trail[0].data.usage)).toEqual(["inputTokens", "outputTokens"]);
  });

  test("end one that uses too many tokens, even if the endpoint counts none; the next turn has its own", async () => {
    const env = { WEIR_LLM_TOKENS_PER_TURN: "60" };
    await using chat = await startChat(() => calls("datasets", {}), { env });
    const { at } = await makeThread(chat, ["datasets"]);
    const { chunks, reply } = await ask(chat, at);
    const sentence = "The turn used 60 tokens without an answer. The limit per turn is 60.";
    expect(chat.heard).toHaveLength(2);
    ended(chunks, sentence);
    expect(reply.content).toBe(sentence);
    chat.play(() => ({ moves: [{ call: "datasets", arguments: {} }] }));
    const uncounted = await ask(chat, at);
    expect(chat.heard).toHaveLength(1);
    expect(uncounted.reply.content).toMatch(/^The turn used \d+ tokens/);
    chat.play([says("Fine.")]);
    expect((await ask(chat, at)).reply.content).toBe("Fine.");
  });

  test("end one that makes too many calls", async () => {
    const many = Array.from({ length: 40 }, (_, n) => ({ call: "nothing", arguments: {}, id: `c${n}` }));
    await using chat = await startChat(() => ({ moves: many }));
    const { at } = await makeThread(chat, "maxSteps: 100");
    const { chunks, reply } = await ask(chat, at);
    const sentence = "The agent made 200 calls without an answer. The limit per turn is 200.";
    expect(chat.heard).toHaveLength(5);
    ended(chunks, sentence);
    expect(reply.content).toBe(sentence);
  });
});
