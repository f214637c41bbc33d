import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { applyChunk, type UiChunk, type UiMessage } from "../../src/models/chunks.ts";
import { difference, type SentLengths } from "../../src/resources/chat/follow.ts";
import { type Move, says, startModel } from "../peers/model.ts";
import { client, startApp } from "../support/app.ts";
import {
  ask,
  type Chat,
  makeThread,
  open,
  readStream,
  startChat,
  stored,
  understand,
} from "../support/chat.ts";
import { startInstallation } from "../support/process.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import { makeAction, until } from "../support/work.ts";

let chat: Chat;
beforeAll(async () => {
  chat = await startChat([], { engine: false });
});
afterAll(() => chat[Symbol.asyncDispose]());

/** Reads this many events of a stream, and disconnects. */
async function readSome(reply: Response, events: number): Promise<string> {
  const reader = reply.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (text.split("\n\n").length <= events) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}

describe("a client that disconnects", () => {
  test("doesn't end the turn", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play([{ moves: [{ text: "a" }, { hold: rest.promise }, { text: "b" }] }]);
    const { at } = await makeThread(chat);
    await readSome(await open(chat, at, { content: "Hello?" }), 3);
    rest.resolve();
    await until(chat.app.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    expect((await stored(chat, at)).reply.content).toBe("ab");
  });

  test("finds nothing to resume if no turn is in progress", async () => {
    chat.play([says("Ok.")]);
    const { at } = await makeThread(chat);
    expect((await open(chat, at)).status).toBe(204);
    await ask(chat, at);
    const reply = await open(chat, at);
    expect([reply.status, await reply.text()]).toEqual([204, ""]);
  });

  test("and several that connect all see the same from the start", async () => {
    const rest = Promise.withResolvers<void>();
    chat.play([{ moves: [{ text: "a" }, { text: "b" }, { hold: rest.promise }, { text: "c" }] }]);
    const { at } = await makeThread(chat);
    const first = await open(chat, at, { content: "Hello?" });
    const others = await Promise.all(Array.from({ length: 10 }, () => open(chat, at)));
    rest.resolve();
    const streams = await Promise.all([first, ...others].map(readStream));
    const { reply } = await stored(chat, at);
    for (const { message } of streams) expect(message as unknown).toEqual(reply.rawData);
  });

  const move = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }).map((text): Move => ({ text })),
    fc.string({ minLength: 1, maxLength: 8 }).map((reasoning): Move => ({ reasoning })),
    fc.constant<Move>({ pause: 1 }),
  );
  const call = fc.oneof(
    fc.constant<Move>({ call: "datasets", arguments: {} }),
    fc.constant<Move>({ call: "datasets", arguments: { q: "x" } }),
    fc.constant<Move>({ call: "never_was", arguments: { a: 1 } }),
    fc.string({ maxLength: 10 }).map((text): Move => ({ call: "datasets", arguments: text })),
  );
  const turn = fc.record({
    steps: fc.array(
      fc.record({
        moves: fc.array(move, { maxLength: 8 }),
        calls: fc.array(call, { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 3 },
    ),
    last: fc.array(move, { minLength: 1, maxLength: 12 }),
    cuts: fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }),
    end: fc.constantFrom<Move[]>([], [], [{ error: { type: "x", message: "boom" } }]),
  });

  test("at any point, and returns, ends up with the same message", async () => {
    const most = scaled(8, 75);
    let times = 0;
    await fc.assert(
      fc.asyncProperty(turn, async ({ steps, last, cuts, end }) => {
        times++;
        const rest = Promise.withResolvers<void>();
        chat.play([
          ...steps.map(({ moves, calls }) => ({ moves: [...moves, ...calls] })),
          { moves: [...last, { hold: rest.promise }, ...end] },
        ]);
        const { at } = await makeThread(chat, ["datasets"]);
        let reply = await open(chat, at, { content: "Hello?" });
        for (const cut of cuts) {
          const begun = await Promise.race([readSome(reply, cut), Bun.sleep(40).then(() => null)]);
          if (begun === null) await reply.body?.cancel().catch(() => undefined); // The reader has it.
          reply = await open(chat, at);
          expect(reply.status).toBe(200);
        }
        rest.resolve();
        const streamed = await readStream(reply);
        const after = await stored(chat, at, streamed);
        expect(after.thread.lastTurnStatus).toBe(end.length === 0 ? "completed" : "failed");
      }),
      { numRuns: most, seed: 20_26 },
    );
    expect(times).toBeGreaterThanOrEqual(most);
  }, 120_000);
});

test("a client that polls the stored state has the same message", async () => {
  const script = [
    {
      moves: [
        { text: "I " },
        { call: "datasets", arguments: {} },
        { text: "look." },
        { reasoning: "Hm" },
        { call: "never_was", arguments: {} },
      ],
    },
    { moves: [{ text: "Now " }, { text: "I know." }] },
  ];
  chat.play(script);
  const { at } = await makeThread(chat, ["datasets"]);
  const { chunks, message } = await ask(chat, at);
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: chunks.length, maxLength: chunks.length }), (looks) => {
      const grown: UiMessage = { id: "", role: "assistant", metadata: {}, parts: [] };
      const rebuilt: UiMessage = { id: "", role: "assistant", metadata: {}, parts: [] };
      const told: SentLengths = new Map();
      for (const [n, chunk] of chunks.entries()) {
        applyChunk(grown, chunk as UiChunk);
        const isLast = n === chunks.length - 1;
        if ((looks[n] && grown.parts.length > 0) || isLast)
          for (const fresh of difference(told, structuredClone(grown))) applyChunk(rebuilt, fresh);
      }
      expect(rebuilt.parts).toEqual(message.parts as UiMessage["parts"]);
    }),
    { numRuns: 200, seed: 7 },
  );
});

describe("a killed server", () => {
  test("leaves the turn visibly failed with what had arrived, and a waiting question continues", async () => {
    await using peer = await startModel([
      { moves: [{ text: "Half an answer" }, { hold: new Promise(() => undefined) }] },
    ]);
    await using place = await startInstallation(peer.env);
    let server = await place.serve();
    const at1 = await (async () => {
      const { at } = await makeThread({ app: server }, ["query"]);
      const app = { app: { origin: server.origin, token: place.token } };
      const reply = await open(app, at, { content: "Hello?" });
      await until(server.owner, `${at}/messages`, ({ items }) => items.at(-1)?.content === "Half an answer");
      reply.body?.cancel().catch(() => undefined); // It breaks with the server.
      return at;
    })();
    peer.play([{ moves: [{ call: "action_sync", arguments: {} }] }, says("It went on.")]);
    await makeAction(server.owner, {
      slug: "sync",
      kind: "http_request",
      definition: { method: "POST", url: `${peer.origin}/nowhere` },
    });
    const { at: at2 } = await makeThread({ app: server }, ["action:sync"]);
    const asked = await server.owner("POST", `${at2}/turns/stream`, { content: "Sync it" });
    const { chunks } = await understand(asked.text);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    await server.end("SIGKILL");

    server = await place.serve();
    const { body: thread } = await server.owner("GET", at1);
    expect(thread.lastTurnStatus).toBe("failed");
    const { body: list } = await server.owner("GET", `${at1}/messages`);
    expect(list.items.at(-1)).toMatchObject({
      content: "Half an answer",
      cancelled: false,
      rawData: { parts: [{ type: "step-start" }, { type: "text", state: "done" }] },
    });
    expect((await server.owner("GET", `${at1}/turns/stream`)).status).toBe(204);
    expect((await server.owner("GET", at2)).body.lastTurnStatus).toBe("waiting");
    await server.owner("POST", `/api/v1/approvals/${approvalId}/reject`);
    await until(server.owner, at2, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    const { body: after } = await server.owner("GET", `${at2}/messages`);
    expect(after.items.at(-1).content).toBe("It went on.");
    peer.play([says("Again.")]);
    expect((await server.owner("POST", `${at1}/turns/stream`, { content: "Once more" })).status).toBe(200);
  }, 120_000);

  test("says of approved calls which may have been done, and which were not", async () => {
    const held = Promise.withResolvers<void>();
    const heard: { body: string; key: string | null }[] = [];
    const payments = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        heard.push({ body: await request.text(), key: request.headers.get("idempotency-key") });
        await held.promise;
        return Response.json({});
      },
    });
    await using peer = await startModel([
      {
        moves: [1, 2].map((n) => ({ call: "action_pay", id: `call_${n}`, arguments: { n } })),
      },
    ]);
    await using place = await startInstallation(peer.env);
    let server = await place.serve();
    await makeAction(server.owner, {
      slug: "pay",
      kind: "http_request",
      definition: { method: "POST", url: payments.url.href, body: { n: "{{input.n}}" } },
    });
    const { at } = await makeThread({ app: server }, ["action:pay"]);
    const started = await server.owner("POST", `${at}/turns/stream`, { content: "Pay both" });
    const { chunks } = await understand(started.text);
    for (const chunk of chunks)
      if (chunk.type === "tool-approval-request")
        await server.owner("POST", `/api/v1/approvals/${chunk.approvalId}/approve`, {});
    while (heard.length === 0) await Bun.sleep(10);
    await server.end("SIGKILL");

    server = await place.serve();
    await until(server.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "failed");
    const runs = await server.owner("GET", "/api/v1/action-runs?trigger_method=agent&kinds=http_request");
    const [run] = runs.body.runs;
    const { body } = await server.owner("GET", `${at}/messages`);
    const parts = body.items
      .at(-1)
      .rawData.parts.filter(({ type }: { type: string }) => type === "dynamic-tool");
    expect(
      parts.map(({ input, errorText }: { input: object; errorText: string }) => [input, errorText]),
    ).toEqual([
      [{ n: 1 }, `It may have been done. See run ${run.id}. The turn ended before the call did.`],
      [{ n: 2 }, "Not called. The turn ended before the call did."],
    ]);
    const { items } = (await server.owner("GET", "/api/v1/events?limit=100")).body;
    const failed = items.find(({ type }: { type: string }) => type === "chat_turn.failed");
    expect(failed.data.error.message).toBe(
      "The server stopped while the agent was answering. See what became of its calls before you ask again.",
    );
    held.resolve();
    await until(server.owner, `/api/v1/action-runs/${run.id}`, ({ status }) => status === "completed");
    expect(new Set(heard.map(({ body, key }) => `${body} ${key}`)).size).toBe(1); // The same, so that a receiver can tell.
    await payments.stop(true);
  }, 120_000);

  test("or one that is stopped gracefully ends its turns as failed, and its streams according to the protocol", async () => {
    await using peer = await startModel([
      { moves: [{ text: "Half" }, { hold: new Promise(() => undefined) }] },
    ]);
    await using place = await startInstallation({ ...peer.env, WEIR_SHUTDOWN_GRACE: "0" });
    const server = await place.serve();
    const { at } = await makeThread({ app: server });
    const reply = await open({ app: { origin: server.origin, token: place.token } }, at, {
      content: "Hello?",
    });
    await until(server.owner, `${at}/messages`, ({ items }) => items.at(-1)?.content === "Half");
    const reading = reply.text().catch(() => ""); // It may be cut.
    await server.end("SIGTERM");
    await reading;
    const again = await place.serve();
    const call = client(again.origin, { authorization: `Bearer ${place.token}` });
    expect((await call("GET", at)).body.lastTurnStatus).toBe("failed");
  }, 120_000);
});

deepTest(
  "two hundred concurrent turns all end",
  async () => {
    chat.play(({ body }) => ({
      moves: [{ text: "You said " }, { pause: 5 }, { text: body.messages.at(-1).content }],
    }));
    const threads = await Promise.all(Array.from({ length: 200 }, () => makeThread(chat)));
    const replies = await Promise.all(
      threads.map(async ({ at }, n) => readStream(await open(chat, at, { content: `number ${n}` }))),
    );
    for (const [n, { message }] of replies.entries())
      expect(message.parts).toContainEqual({ type: "text", text: `You said number ${n}`, state: "done" });
  },
  120_000,
);

describe("two processes that share a store", () => {
  deepTest(
    "follow each other's turns, and cancel them",
    async () => {
      const rest = Promise.withResolvers<void>();
      await using peer = await startModel([
        { moves: [{ text: "Half " }, { hold: rest.promise }, { text: "and half" }] },
        { moves: [{ text: "Begun" }, { hold: new Promise(() => undefined) }] },
      ]);
      await using server = await startSqld();
      const env = {
        ...peer.env,
        WEIR_DATABASE_URL: server.url,
        WEIR_SECRET_KEY: Buffer.from("a-master-key-that-both-have-32-b").toString("base64"),
      };
      await using one = await startApp({ env });
      await using two = await startApp({ env, owner: false });
      const there = {
        app: {
          ...two,
          token: one.token,
          owner: client(two.origin, { authorization: `Bearer ${one.token}` }),
        },
      };
      const { at } = await makeThread({ app: one });
      const first = await open({ app: one }, at, { content: "Hello?" });
      await until(one.owner, `${at}/messages`, ({ items }) => items.at(-1)?.content === "Half ");
      const second = await there.app.owner("POST", `${at}/turns/stream`, { content: "Me too" });
      expect(second.status).toBe(409);
      const followed = await open(there, at);
      rest.resolve();
      const [here, elsewhere] = await Promise.all([first, followed].map(readStream));
      expect(elsewhere?.message.parts).toEqual(here?.message.parts as never);
      expect(elsewhere?.message.id).toBe(here?.message.id as string);

      const again = await open({ app: one }, at, { content: "And now?" });
      await until(one.owner, `${at}/messages`, ({ items }) => items.at(-1)?.content === "Begun");
      expect((await there.app.owner("POST", `${at}/turns/cancel`)).status).toBe(204);
      expect((await readStream(again)).types.at(-1)).toBe("abort");
      expect((await one.owner("GET", at)).body.lastTurnStatus).toBe("cancelled");
    },
    120_000,
  );
});
