import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startModern } from "../peers/mcp-modern.ts";
import { calls, says } from "../peers/model.ts";
import { addHttp, addMcp, CATALOG, httpApi, mcpApi } from "../support/catalog.ts";
import { ask, type Chat, makeThread, open, startChat, stored } from "../support/chat.ts";
import { join } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { makeAction, RUNS, runToEnd, until } from "../support/work.ts";

let chat: Chat;
let receiver: ReturnType<typeof startReceiver>;
beforeAll(async () => {
  chat = await startChat([]);
  receiver = startReceiver();
});
afterAll(async () => {
  await chat[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

let count = 0;
const fresh = (name: string) => `${name} ${++count}`;
const owner: Chat["app"]["owner"] = (...asked) => chat.app.owner(...asked);
const eventsOf = async (threadId: string) =>
  (await owner("GET", `/api/v1/events?entityId=${threadId}&limit=100`)).body.items;

/** An API that sends an amount, and its name for models. */
async function payments(name = fresh("Payments")) {
  const endpoint = {
    name: "pay",
    method: "POST",
    path: "/pay",
    bodyTemplate: { amount: "{{input.amount}}" },
  };
  const entry = await addHttp(owner, httpApi(name, { baseUrl: receiver.url, endpoints: [endpoint] }));
  return { entry, tool: entry.endpoints[0].modelName as string, text: `api:${name}` };
}

/** A turn that requests approval for a call with `input`. */
async function asked(
  tool: string,
  text: string,
  input: object,
  app: Pick<Chat["app"], "owner" | "token" | "origin">,
) {
  chat.play([calls(tool, input), says("Done.")]);
  const { at, thread } = await makeThread(chat, [text], app.owner);
  const reply = await fetch(`${app.origin}${at}/turns/stream`, {
    method: "POST",
    headers: { authorization: `Bearer ${app.token}`, "content-type": "application/json" },
    body: JSON.stringify({ content: "Pay" }),
  });
  const [, id = ""] = /"approvalId":"([^"]+)"/.exec(await reply.text()) ?? [];
  return { at, thread, id };
}

test("an approval from a chat shows its arguments only to those who can decide it, wherever it is shown", async () => {
  const talker = await join(chat.app, "member");
  const [admin, member, viewer] = await Promise.all(
    (["admin", "member", "viewer"] as const).map(async (role) => (await join(chat.app, role)).call),
  );
  const { tool, text } = await payments();
  const app = { owner: talker.call, token: talker.token, origin: chat.app.origin };
  const { at, id } = await asked(tool, text, { amount: 731_731 }, app);
  const { body: own } = await talker.call("GET", `/api/v1/decisions/${id}`);
  expect(own.context).toMatchObject({ tool, arguments: { amount: 731_731 } });
  const places = [
    `/api/v1/decisions/${id}`,
    "/api/v1/decisions?limit=100",
    "/api/v1/decisions/pending",
    "/api/v1/approvals",
  ];
  for (const place of places) {
    for (const call of [talker.call, admin!]) expect((await call("GET", place)).text).toContain("731731");
    for (const call of [member!, viewer!]) {
      const { status, text } = await call("GET", place);
      expect([status, text.includes(id), text.includes("731731")]).toEqual([200, true, false]);
      expect(text).toContain("Started from a private chat.");
    }
  }
  for (const call of [talker.call, admin!, member!, viewer!])
    for (const place of [`${RUNS}/${own.subjectId}`, `${RUNS}?kinds=approval_gate&limit=100`]) {
      const { status, text } = await call("GET", place);
      const isOwn = call === talker.call;
      expect([status, text.includes("731731"), text.includes(own.context.hash)]).toEqual([200, false, isOwn]);
    }
  expect((await owner("GET", "/api/v1/events?limit=100")).text).not.toContain("731731");
  expect(
    (await talker.call("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "rejected" })).status,
  ).toBe(200);
  for (const call of [talker.call, admin!, member!]) {
    // If it were requested again, anyone could read it.
    const again = await call("POST", `${RUNS}/${own.subjectId}/retry`);
    expect([again.status, again.body.code]).toEqual(
      call === talker.call ? [409, "invalid_state"] : [403, "forbidden"],
    );
  }
  // The turn continues after the rejection. The model is free for the next test only when the turn has ended.
  await until(talker.call, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
});

test("an approval from an automation is the same for everyone", async () => {
  const viewer = (await join(chat.app, "viewer")).call;
  const definition = { title: "Pay?", context: { arguments: { amount: 5 }, hash: "x" } };
  const action = await makeAction(owner, { kind: "approval_gate", definition });
  const { body: run } = await owner("POST", `/api/v1/actions/${action.id}/run`);
  await until(owner, `${RUNS}/${run.id}`, ({ status }) => status === "waiting");
  const { body } = await viewer("GET", "/api/v1/decisions/pending");
  const [decision] = body.decisions.filter(({ subjectId }: { subjectId: string }) => subjectId === run.id);
  expect(decision.context).toEqual(definition.context);
});

describe("an approved call", () => {
  test("is in the audit log with its decision and the hash that the user saw, and its run with what it called", async () => {
    const { tool, text } = await payments();
    const { at, thread, id } = await asked(tool, text, { amount: 12 }, chat.app);
    const { context } = (await owner("GET", `/api/v1/decisions/${id}`)).body;
    await owner("POST", `/api/v1/approvals/${id}/approve`);
    await until(owner, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    expect((await stored(chat, at)).reply.content).toBe("Done.");
    const [called] = (await eventsOf(thread.id)).filter(
      ({ type }: { type: string }) => type === "chat_turn.tool_called",
    );
    expect(called.data).toMatchObject({ tool, isError: false, decisionId: id, approvedHash: context.hash });
    const { runs } = (await owner("GET", `${RUNS}?kinds=http_request&limit=100`)).body;
    const run = runs.find(
      ({ idempotencyKey }: { idempotencyKey: string }) => idempotencyKey === called.data.callId,
    );
    const { arguments: given, fingerprint } = run.definition.api;
    const { body: spec } = await owner("GET", `/api/v1/agents/specs/${thread.agentSpecId}`);
    const of = `${Bun.SHA256.hash(spec.markdown, "hex")} ${fingerprint}`; // The agent's version, and the call.
    const recomputed = Bun.SHA256.hash(
      JSON.stringify({ fingerprint: of, input: given, toolName: tool }),
      "hex",
    );
    expect([given, recomputed]).toEqual([{ amount: 12 }, context.hash]);
  });

  test("is compared with it at the moment of sending", async () => {
    const { entry } = await payments();
    const api = { apiId: entry.id, endpoint: "pay", arguments: { amount: 99 } };
    const action = await makeAction(owner, {
      kind: "http_request",
      definition: { api: { ...api, fingerprint: "0".repeat(64) } },
    });
    const run = await runToEnd(owner, action.id);
    expect([run.status, run.error.code]).toEqual(["failed", "invalid_state"]);
    expect(run.error.message).toStartWith("The request changed after it was approved");
    expect(receiver.got.filter(({ text }) => text.includes("99"))).toEqual([]);
  });

  test("isn't made if the action changes while the turn continues", async () => {
    const slug = `send-${++count}`;
    const url = `${receiver.url}/${slug}`;
    const action = await makeAction(owner, { slug, kind: "http_request", definition: { url } });
    const { at } = await makeThread(chat, [`action:${slug}`]);
    chat.play(async () => {
      const definition = { method: "POST", url, body: { leak: true } };
      if (chat.heard.length === 1) await owner("PATCH", `/api/v1/actions/${action.id}`, { definition });
      return chat.heard.length === 1 ? calls(`action_${slug}`, {}) : says("It has changed.");
    });
    const { reply } = await ask(chat, at);
    expect(reply.rawData.parts.find(({ type }: { type: string }) => type === "dynamic-tool")).toMatchObject({
      state: "output-error",
      errorText: `The action ${slug} changed after the agent received it. Ask again.`,
    });
    expect(receiver.got.filter(({ path }) => path === `/${slug}`)).toEqual([]);
  });
});

test("a tool of an MCP server that claims to be read-only needs approval, until an admin trusts it", async () => {
  const read = { name: "read", description: "Reads.", inputSchema: { type: "object" } };
  const server = startModern({ tools: [{ ...read, annotations: { readOnlyHint: true } }] });
  const name = fresh("Tools");
  const found = await owner("POST", `${CATALOG}/discover`, { sourceType: "mcp", mcpUrl: server.url });
  const entry = await addMcp(owner, mcpApi(name, { url: server.url, tools: found.body.tools }));
  const made = () => server.heard.filter(({ method }) => method === "tools/call").length;
  const tool = entry.tools[0].modelName;
  const turn = async () => {
    chat.play([calls(tool, {}), says("Read.")]);
    const { at } = await makeThread(chat, [`api:${name}`]);
    const { thread } = await ask(chat, at);
    if (thread.lastTurnStatus === "waiting") await owner("POST", `${at}/turns/cancel`);
    return [thread.lastTurnStatus, made()];
  };
  expect(await turn()).toEqual(["waiting", 0]);
  const trust = { tools: [{ upstreamName: "read", trusted: true }] };
  expect((await owner("PATCH", `${CATALOG}/${entry.id}`, trust)).body.tools[0].trusted).toBe(true);
  expect(await turn()).toEqual(["completed", 1]);
  const asking = { tools: [{ upstreamName: "read", approvalRequired: true }] };
  await owner("PATCH", `${CATALOG}/${entry.id}`, asking);
  expect(await turn()).toEqual(["waiting", 1]);
  await server.stop();
});

test.each(["removes them", "makes them a viewer"])(
  "a user's turn calls nothing and asks for nothing once an admin %s",
  async (change) => {
    const action = await makeAction(owner, { slug: `look-${++count}` });
    const { tool, text } = await payments();
    for (const [name, input] of [
      [`action_${action.slug}`, {}],
      [tool, { amount: 1 }],
    ] as const) {
      const { call, token, membership } = await join(chat.app, "member");
      const { at, thread } = await makeThread(chat, [`action:${action.slug}`, text], call);
      const place = `/api/v1/organizations/team/members/${membership.id}`;
      chat.play(async () => {
        if (change === "removes them") await owner("DELETE", place);
        else await owner("PATCH", `${place}/role`, { roleSlug: "viewer" });
        return calls(name, input);
      });
      const reply = await open({ app: { token, origin: chat.app.origin } }, at, { content: "Look" });
      await reply.text();
      const { items } = await until(owner, `/api/v1/events?entityId=${thread.id}`, (page) =>
        page.items.some(({ type }: { type: string }) => type === "chat_turn.failed"),
      );
      expect(items[0].data.error.code).toBe("forbidden");
      expect(items.map(({ type }: { type: string }) => type)).not.toContain("chat_turn.waiting");
      expect(chat.heard.length).toBe(1);
    }
    const { runs } = (await owner("GET", `${RUNS}?kinds=conditional_branch&limit=100`)).body;
    expect(runs).toEqual([]);
  },
);
