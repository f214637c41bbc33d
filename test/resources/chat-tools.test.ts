import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { JsonObject } from "../../src/base/json.ts";
import { contextFor } from "../../src/context.ts";
import type { ActionKind } from "../../src/executors/contract.ts";
import { executors } from "../../src/executors/registry.ts";
import { decisions } from "../../src/resources/decisions/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { calls, type Heard, says } from "../peers/model.ts";
import { addHttp, endpoint, httpApi } from "../support/catalog.ts";
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
import { connect, localFiles } from "../support/connections.ts";
import { loadTable } from "../support/lake.ts";
import { join } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, branch, makeAction, makeAutomation, RUNS, until } from "../support/work.ts";

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

const owner: Chat["app"]["owner"] = (...asked) => chat.app.owner(...asked);
let count = 0;
const fresh = (name: string) => `${name}-${++count}`;

/** The tools offered to the model, and the result of the last call that it received. */
const offered = ({ body }: Heard) =>
  (body.tools ?? []).map(({ function: one }: { function: { name: string } }) => one.name);
const heardOf = () => {
  const last = chat.heard.at(-1)?.body.messages.findLast(({ role }: { role: string }) => role === "tool");
  return String(last?.content);
};
const outputOf = (reply: {
  rawData: { parts: { type: string; state: string; output?: unknown; errorText?: string }[] };
}) => reply.rawData.parts.findLast(({ type }) => type === "dynamic-tool");

const runsOfAgent = async (specId: string) =>
  (await owner("GET", `${RUNS}?trigger_method=agent&limit=100`)).body.runs.filter(
    ({ triggerSourceId }: { triggerSourceId: string }) => triggerSourceId === specId,
  );

describe("the tools of an agent", () => {
  test("list the organization's tables by their SQL names, and query them", async () => {
    const ctx = contextFor(chat.app.app, {
      organizationId: chat.app.ids.organizationId,
      role: "owner",
      actor: { type: "user", id: chat.app.ids.userId },
      correlationId: "made-for-a-test",
    });
    await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select: "SELECT 7 AS total" });
    chat.play([
      calls("datasets", {}),
      calls("query", { sql: "SELECT total FROM raw.shop__orders" }),
      says("Seven."),
    ]);
    const { at } = await makeThread(chat, ["query", "datasets"]);
    const { reply } = await ask(chat, at);
    const [tables, rows] = reply.rawData.parts.filter(
      ({ type }: { type: string }) => type === "dynamic-tool",
    );
    expect(tables.output.tables).toContainEqual(
      expect.objectContaining({
        table: "raw.shop__orders",
        rows: 1,
        columns: expect.arrayContaining([expect.stringMatching(/^total /)]),
      }),
    );
    expect(rows.output.rows).toEqual([{ total: 7 }]);
  });

  test("return DuckDB's own error to the model, which can correct its query", async () => {
    chat.play([calls("query", { sql: "SELEC 1" }), calls("query", { sql: "SELECT 1 AS one" }), says("One.")]);
    const { at } = await makeThread(chat, ["query"]);
    const { types, reply } = await ask(chat, at);
    expect(types).toContain("tool-output-error");
    expect(
      reply.rawData.parts.find(({ state }: { state: string }) => state === "output-error").errorText,
    ).toContain("syntax error");
    expect(reply.content).toBe("One.");
  });

  test("run an action as defined, with the agent's input, as a separate run", async () => {
    const slug = fresh("sum");
    const action = await makeAction(chat.app.owner, {
      slug,
      kind: "duckdb_transform",
      definition: { sql: "SELECT {{input.a}} + {{input.b ?? 1}} AS sum" },
    });
    chat.play([calls(`action_${slug}`, { a: 41 }), says("42.")]);
    const { at, spec } = await makeThread(chat, [`action:${slug}`]);
    const { reply } = await ask(chat, at);
    expect(chat.heard[0]?.body.tools[0].function).toMatchObject({
      name: `action_${slug}`,
      parameters: { properties: { a: {}, b: {} }, required: ["a"], additionalProperties: false },
    });
    const output = outputOf(reply)?.output as { runId: string; status: string };
    expect(output).toMatchObject({ status: "completed", result: { rows: 1 } });
    const { body: run } = await owner("GET", `${RUNS}/${output.runId}`);
    expect(run).toMatchObject({
      actionId: action.id,
      triggerMethod: "agent",
      triggerSourceType: "agent",
      triggerSourceId: spec.id,
    });
    const { body: trail } = await owner(
      "GET",
      `/api/v1/events?entityId=${at.slice(-36)}&type=chat_turn.tool_called`,
    );
    expect(trail.items[0]).toMatchObject({
      type: "chat_turn.tool_called",
      data: { tool: `action_${slug}`, isError: false },
    });
    expect(trail.items[0].actor).toMatchObject({ type: "user", id: chat.app.ids.userId });
  });

  test.each(["length", "content_filter"])(
    "aren't called if a reply ends with %s before their arguments",
    async (reason) => {
      const slug = fresh("cut");
      await makeAction(chat.app.owner, { slug });
      const cut = { moves: [{ call: `action_${slug}`, arguments: "" }], reason };
      chat.play([cut, says("It was cut off.")]);
      const { spec, at } = await makeThread(chat, [`action:${slug}`]);
      expect(outputOf((await ask(chat, at)).reply)).toMatchObject({
        state: "output-error",
        errorText: expect.stringContaining("cut off"),
      });
      expect(heardOf()).toContain("cut off");
      expect(await runsOfAgent(spec.id)).toEqual([]);
    },
  );

  test("report why a run failed", async () => {
    const slug = fresh("fails");
    await makeAction(chat.app.owner, { slug, definition: branch("a", "false") });
    chat.play([calls(`action_${slug}`, {}), says("It failed.")]);
    const { at } = await makeThread(chat, [`action:${slug}`]);
    expect(outputOf((await ask(chat, at)).reply)).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(/^It failed \(runId [0-9a-f-]+\): /),
    });
  });

  test("run an automation that changes nothing immediately, with its input", async () => {
    const slug = fresh("flow");
    await makeAutomation(
      chat.app.owner,
      {
        action: {
          kind: "conditional_branch",
          definition: { branches: [{ key: "big", when: "input.n > 5" }], else: "small" },
        },
      },
      { name: slug },
    );
    chat.play([calls(`automation_${slug}`, { input: { n: 7 } }), says("Done.")]);
    const { at } = await makeThread(chat, [`automation:${slug}`]);
    const { reply } = await ask(chat, at);
    const output = outputOf(reply)?.output as { automationRunId: string };
    expect(output).toMatchObject({ status: "completed" });
    const { body: run } = await owner("GET", `/api/v1/automation-runs/${output.automationRunId}`);
    expect(run).toMatchObject({ triggerMethod: "agent", triggerSourceType: "agent", input: { n: 7 } });
  });

  test("list what a connection contains, and nothing of its credentials", async () => {
    const slug = fresh("files");
    const connection = await connect(chat.app.owner, { ...localFiles(slug), slug });
    await owner("PUT", `/api/v1/connections/${connection.id}/files?path=/orders.csv`, "a,b\n1,2\n", {
      "content-type": "application/octet-stream",
    });
    chat.play([calls(`connection_${slug}_files`, { path: "/" }), says("One file.")]);
    const { at } = await makeThread(chat, [`connection:${slug}`]);
    const { reply } = await ask(chat, at);
    expect(outputOf(reply)?.output).toMatchObject({ items: [{ name: "orders.csv", kind: "file" }] });
    expect(offered(chat.heard[0]!)).toEqual([`connection_${slug}_files`]);
  });

  test("call an API of the catalog: reads immediately, what an admin protects after approval, with exactly that", async () => {
    const name = fresh("Shop API");
    const made = await owner("POST", "/api/v1/api-catalog/http", {
      name,
      description: "The shop",
      baseUrl: `${receiver.url}/${name.replaceAll(" ", "-")}`,
      endpoints: [
        { name: "listOrders", method: "GET", path: "/orders" },
        { name: "refund", method: "POST", path: "/refunds", bodyTemplate: { order: "{{input.order}}" } },
      ],
    });
    expect(made.status).toBe(201);
    const flagged = await owner("PATCH", `/api/v1/api-catalog/${made.body.id}`, {
      endpoints: [{ name: "listOrders" }, { name: "refund", approvalRequired: true }],
    });
    expect([flagged.status, flagged.body.endpoints?.length]).toEqual([200, 2]);
    const { at } = await makeThread(chat, [`api:${name}`]);
    chat.play([says("Hm.")]);
    await ask(chat, at);
    const [list, refund] = offered(chat.heard[0]!);
    chat.play([calls(list, {}), calls(refund, { order: 7 }), says("Refunded.")]);
    const { chunks, reply } = await ask(chat, at);
    expect(
      reply.rawData.parts.find(({ state }: { state: string }) => state === "output-available").output,
    ).toMatchObject({
      status: "completed",
      result: { status: 200, body: { ok: true } },
    });
    const paths = () =>
      receiver.got
        .filter(({ path }) => path.includes(name.replaceAll(" ", "-")))
        .map(({ method, text }) => `${method} ${text}`);
    expect(paths()).toEqual(["GET "]);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    await owner("POST", `/api/v1/approvals/${approvalId}/approve`);
    await until(chat.app.owner, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    expect(paths()).toEqual(["GET ", 'POST {"order":7}']);
    expect(outputOf((await stored(chat, at)).reply)).toMatchObject({
      state: "output-available",
      output: { status: 200 },
    });
  });

  test("of the catalog without an inputSchema have the arguments that their path and templates use", async () => {
    const name = fresh("Cat API");
    await addHttp(
      owner,
      httpApi(name, {
        baseUrl: `${receiver.url}/${name.replaceAll(" ", "-")}`,
        endpoints: [
          endpoint("cat", { path: "/cat/{id}/toys/{toy}", queryTemplate: { size: "{{input.size}}" } }),
          endpoint("all", { method: "POST", path: "/cats", bodyTemplate: "{{input}}" }),
          endpoint("plain", { path: "/cats" }),
        ],
      }),
    );
    const { at } = await makeThread(chat, [`api:${name}`]);
    chat.play([says("Hm.")]);
    await ask(chat, at);
    const { tools } = chat.heard[0]!.body;
    const schemas = tools.map((tool: { function: { parameters: object } }) => tool.function.parameters);
    expect(schemas).toEqual([
      {
        type: "object",
        properties: { id: { type: "string" }, toy: { type: "string" }, size: {} },
        required: ["id", "toy"],
      },
      { type: "object", properties: {} },
      { type: "object", properties: {} },
    ]);
    const [cat] = offered(chat.heard[0]!);
    chat.play([calls(cat, { size: 2 }), says("Hm.")]);
    expect((await ask(chat, at)).reply.rawData.parts).toContainEqual(
      expect.objectContaining({ errorText: expect.stringContaining("id: Field required; toy: Field") }),
    );
    chat.play([calls(cat, { id: "a/b", toy: "ball", size: 2 }), says("Done.")]);
    const { reply } = await ask(chat, (await makeThread(chat, [`api:${name}`])).at);
    expect(outputOf(reply)).toMatchObject({ output: { result: { status: 200 } } });
    expect(receiver.got.map(({ path }) => path).filter((path) => path.includes("/cat/"))).toEqual([
      `/${name.replaceAll(" ", "-")}/cat/a%2Fb/toys/ball?size=2`,
    ]);
  });

  test("read a page whose URL the user gave, as a run; any other URL needs approval", async () => {
    const url = `${receiver.url}/${fresh("page")}`;
    chat.play([calls("fetch_page", { url }), calls("fetch_page", { url: `${url}?q=secret` }), says("x")]);
    const { at, spec } = await makeThread(chat, ["fetch_page"]);
    const { reply, thread } = await ask(chat, at, { content: `Read ${url}, please` });
    expect(thread.lastTurnStatus).toBe("waiting");
    const states = reply.rawData.parts.flatMap(({ type, state }: { type: string; state: string }) =>
      type === "dynamic-tool" ? [state] : [],
    );
    expect(states).toEqual(["output-available", "approval-requested"]);
    expect(receiver.got.filter(({ path }) => path.includes("secret"))).toEqual([]);
    const runs = await runsOfAgent(spec.id);
    expect(
      runs.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`).sort(),
    ).toEqual(["approval_gate waiting", "fetch_page completed"]);
    await owner("POST", `${at}/turns/cancel`);
  });

  test("that can't be used are omitted, with the reason shown to model and user", async () => {
    const slug = fresh("off");
    const action = await makeAction(chat.app.owner, { slug });
    await owner("PATCH", `${ACTIONS}/${action.id}`, { status: "disabled" });
    chat.play([says("I can't.")]);
    const { at } = await makeThread(chat, [
      "query",
      `action:${slug}`,
      "action:never-was",
      "connection:never-was",
      "automation:never-was",
      "api:never was",
    ]);
    const { reply } = await ask(chat, at);
    expect(offered(chat.heard[0]!)).toEqual(["query"]);
    expect(reply.rawData.metadata.warnings).toEqual([
      `The tool action:${slug} is unavailable: the action ${slug} is disabled.`,
      "The tool action:never-was is unavailable: action never-was not found.",
      "The tool connection:never-was is unavailable: connection never-was not found.",
      "The tool automation:never-was is unavailable: automation never-was not found.",
      "The tool api:never was is unavailable: never was isn't in the API catalog, or has nothing that can be called.",
    ]);
    for (const warning of reply.rawData.metadata.warnings)
      expect(chat.heard[0]?.body.messages[0].content).toContain(warning);
  });

  test("are cancelled with the turn, as is the run that one waits for", async () => {
    const slug = fresh("asks");
    await makeAction(chat.app.owner, { slug, kind: "approval_gate", definition: { title: "Ship it?" } });
    chat.play([calls(`action_${slug}`, {})]);
    const { at, spec } = await makeThread(chat, [`action:${slug}`]);
    const reply = await open(chat, at, { content: "Hello?" });
    let runs: { id: string; status: string }[] = [];
    while (runs[0]?.status !== "waiting") {
      runs = await runsOfAgent(spec.id);
      await Bun.sleep(20);
    }
    await owner("POST", `${at}/turns/cancel`);
    await readStream(reply);
    const ended = await until(chat.app.owner, `${RUNS}/${runs[0]?.id}`, ({ status }) => status !== "waiting");
    expect([ended.status, (await stored(chat, at)).thread.lastTurnStatus]).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });
});

describe("a tool that writes", () => {
  /** An action that sends its input, and what arrived. */
  async function sender() {
    const slug = fresh("send");
    const definition = {
      method: "POST",
      url: `${receiver.url}/${slug}`,
      body: { amount: "{{input.amount}}" },
    };
    const action = await makeAction(chat.app.owner, { slug, kind: "http_request", definition });
    const got = () =>
      receiver.got.filter(({ path }) => path.startsWith(`/${slug}`)).map(({ text }) => JSON.parse(text));
    return { got, slug, action, tool: `action_${slug}` };
  }

  const decide = (id: string, decisionValue: string, more: object = {}, call = chat.app.owner) =>
    call("POST", `/api/v1/decisions/${id}/decide`, { decisionValue, ...more });

  const over = (at: string, status = "completed") =>
    until(chat.app.owner, at, ({ lastTurnStatus }) => lastTurnStatus === status);

  test("waits for the user, shows the exact arguments, and continues automatically with exactly those, once", async () => {
    const { got, slug, tool } = await sender();
    chat.play([calls(tool, { amount: 12 }), says("Paid.")]);
    const { at, spec } = await makeThread(chat, [`action:${slug}`]);
    const first = await ask(chat, at, { content: "Pay 12" });
    expect(first.types.slice(-4)).toEqual([
      "tool-input-available",
      "finish-step",
      "tool-approval-request",
      "finish",
    ]);
    expect(first.chunks.at(-1)).toMatchObject({ finishReason: "tool-calls" });
    expect(first.thread.lastTurnStatus).toBe("waiting");
    expect((await open(chat, at)).status).toBe(204);
    const second = await owner("POST", `${at}/turns/stream`, { content: "And?" });
    expect([second.status, second.body.detail]).toEqual([
      409,
      expect.stringContaining("is waiting for an approval"),
    ]);

    const asked = first.chunks.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const { body: decision } = await owner("GET", `/api/v1/decisions/${asked.approvalId}`);
    expect(decision).toMatchObject({
      status: "pending",
      subjectType: "action_run",
      assignedTo: chat.app.ids.userId,
      requestedBy: chat.app.ids.userId,
      title: `${spec.name} wants to call ${tool}`,
      context: {
        agent: spec.name,
        tool,
        arguments: { amount: 12 },
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(got()).toEqual([]);
    expect((await decide(asked.approvalId, "approved")).status).toBe(200);
    expect((await decide(asked.approvalId, "approved")).status).toBe(200);
    await over(at);
    expect(got()).toEqual([{ amount: 12 }]);
    const { reply, messages } = await stored(chat, at);
    expect(messages).toHaveLength(2);
    expect(reply.content).toBe("Paid.");
    expect(outputOf(reply)).toMatchObject({
      state: "output-available",
      approval: { id: asked.approvalId, approved: true },
      output: { status: "completed" },
    });
    expect(chat.heard).toHaveLength(2);
  });

  test("that was rejected isn't called, and the agent is notified", async () => {
    const { got, slug, tool } = await sender();
    chat.play([calls(tool, { amount: 1 }), says("Then not.")]);
    const { at } = await makeThread(chat, [`action:${slug}`]);
    const { chunks } = await ask(chat, at);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    await decide(approvalId, "rejected", { rejectionReason: "Too much" });
    await over(at);
    const { reply } = await stored(chat, at);
    expect(outputOf(reply)).toMatchObject({
      state: "output-denied",
      approval: { approved: false, reason: "Too much" },
    });
    expect(heardOf()).toContain("A person did not allow this call");
    expect(heardOf()).toContain("Too much");
    expect(got()).toEqual([]);
  });

  test("continues in a stream that begins at the start of the turn", async () => {
    const { slug, tool } = await sender();
    const rest = Promise.withResolvers<void>();
    chat.play([
      calls(tool, { amount: 5 }),
      { moves: [{ text: "Pai" }, { hold: rest.promise }, { text: "d." }] },
    ]);
    const { at } = await makeThread(chat, [`action:${slug}`]);
    const { chunks } = await ask(chat, at);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    await decide(approvalId, "approved");
    await until(chat.app.owner, `${at}/messages`, ({ items }) => items.at(-1).content === "Pai");
    const resumed = await open(chat, at);
    rest.resolve();
    const streamed = await readStream(resumed);
    expect(streamed.types.slice(0, 5)).toEqual([
      "start",
      "start-step",
      "tool-input-start",
      "tool-input-available",
      "tool-approval-request",
    ]);
    const { reply } = await stored(chat, at, streamed);
    expect(reply.content).toBe("Paid.");
  });

  test("asks for each of several calls, and continues when all are decided; the others ran in the meantime", async () => {
    const { got, slug, tool } = await sender();
    chat.play([
      {
        moves: [
          { call: tool, arguments: { amount: 1 } },
          { call: "query", arguments: { sql: "SELECT 1 AS one" } },
          { call: tool, arguments: { amount: 2 } },
        ],
      },
      says("Half of it."),
    ]);
    const { at } = await makeThread(chat, [`action:${slug}`, "query"]);
    const { chunks, types } = await ask(chat, at);
    expect(types).toContain("tool-output-available");
    const ids = chunks.flatMap((chunk) => (chunk.type === "tool-approval-request" ? [chunk.approvalId] : []));
    expect(ids).toHaveLength(2);
    await decide(ids[0]!, "approved");
    await Bun.sleep(600);
    expect((await owner("GET", at)).body.lastTurnStatus).toBe("waiting");
    expect(got()).toEqual([]);
    await decide(ids[1]!, "rejected");
    await over(at);
    expect(got()).toEqual([{ amount: 1 }]);
    const heard = chat.heard[1]?.body.messages.filter(({ role }: { role: string }) => role === "tool");
    expect(heard.map(({ content }: { content: string }) => content.includes("did not allow"))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test("isn't called if the arguments or the tool differ from what was approved", async () => {
    for (const forge of ["arguments", "shown", "tool"] as const) {
      const { got, slug, tool, action } = await sender();
      chat.play([calls(tool, { amount: 1 }), says("It was changed.")]);
      const { at } = await makeThread(chat, [`action:${slug}`]);
      const { chunks } = await ask(chat, at);
      const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
        approvalId: string;
      };
      const { store } = chat.app.app;
      const [decision] = await store.db.select().from(decisions).where(eq(decisions.id, approvalId));
      if (forge === "arguments") {
        const { chatTurns } = await import("../../src/resources/chat/table.ts");
        const [turn] = await store.db
          .select()
          .from(chatTurns)
          .where(eq(chatTurns.threadId, at.slice(-36)));
        const pending = turn!.pending.map((call) => ({ ...call, input: { amount: 1_000_000 } }));
        await store.write(
          async (db) => void (await db.update(chatTurns).set({ pending }).where(eq(chatTurns.id, turn!.id))),
        );
      }
      if (forge === "shown") {
        const definition = { context: { hash: "0".repeat(64) } };
        await store.write(
          async (db) =>
            void (await db
              .update(actionRuns)
              .set({ definition })
              .where(eq(actionRuns.id, decision!.subjectId))),
        );
      }
      if (forge === "tool")
        await owner("PATCH", `${ACTIONS}/${action.id}`, {
          definition: { ...action.definition, url: `${receiver.url}/${slug}/elsewhere` },
        });
      await decide(approvalId, "approved");
      await over(at);
      expect([forge, outputOf((await stored(chat, at)).reply)?.errorText]).toEqual([
        forge,
        expect.stringContaining("differ from what was approved"),
      ]);
      expect(got()).toEqual([]);
    }
  });

  test("isn't called by an approval that a client only claims", async () => {
    const { got, slug, tool } = await sender();
    chat.play([calls(tool, { amount: 1 }), says("No.")]);
    const { at } = await makeThread(chat, [`action:${slug}`]);
    const { reply, chunks } = await ask(chat, at);
    const forged = {
      ...reply.rawData,
      parts: reply.rawData.parts.map((part: { state?: string; approval?: object }) =>
        part.approval
          ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
          : part,
      ),
    };
    const claim = await owner("POST", `${at}/turns/stream`, { messages: [forged] });
    expect(claim.status).toBe(422);
    const claimed = await owner("POST", `${at}/turns/stream`, {
      messages: [forged, { role: "user", parts: [{ type: "text", text: "go" }] }],
    });
    expect(claimed.status).toBe(409);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    const colleague = await join(chat.app, "member");
    expect((await decide(approvalId, "approved", {}, colleague.call)).status).toBe(403);
    const viewer = await join(chat.app, "viewer");
    expect((await decide(approvalId, "approved", {}, viewer.call)).status).toBe(403);
    expect(got()).toEqual([]);
    expect((await owner("POST", `${at}/turns/cancel`)).status).toBe(204);
  });

  test("that waits is cancelled with its questions", async () => {
    const { got, slug, tool } = await sender();
    chat.play([calls(tool, { amount: 1 })]);
    const { at } = await makeThread(chat, [`action:${slug}`]);
    const { chunks } = await ask(chat, at);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    expect((await owner("POST", `${at}/turns/cancel`)).status).toBe(204);
    expect((await owner("GET", `/api/v1/decisions/${approvalId}`)).body.status).toBe("cancelled");
    const late = await decide(approvalId, "approved");
    expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
    const { thread, reply } = await stored(chat, at);
    expect([thread.lastTurnStatus, reply.cancelled, outputOf(reply)?.state]).toEqual([
      "cancelled",
      true,
      "output-error",
    ]);
    expect(got()).toEqual([]);
  });

  test("isn't called for a user who has left in the meantime", async () => {
    const { got, slug, tool } = await sender();
    chat.play([calls(tool, { amount: 1 }), says("No.")]);
    const member = await join(chat.app, "member");
    const { at } = await makeThread(chat, [`action:${slug}`], member.call);
    const reply = await member.call("POST", `${at}/turns/stream`, { content: "Pay" });
    const { chunks } = await understand(reply.text);
    const { approvalId } = chunks.find(({ type }) => type === "tool-approval-request") as {
      approvalId: string;
    };
    await owner("DELETE", `/api/v1/organizations/team/members/${member.membership.id}`);
    await decide(approvalId, "approved");
    const { chatThreads } = await import("../../src/resources/chat/table.ts");
    for (let status = "waiting"; status !== "failed"; await Bun.sleep(20)) {
      const [row] = await chat.app.app.store.db
        .select()
        .from(chatThreads)
        .where(eq(chatThreads.id, at.slice(-36)));
      status = row!.lastTurnStatus;
    }
    expect(got()).toEqual([]);
  });
});

test("what runs immediately and what needs approval", async () => {
  const hasEffects = (kind: ActionKind, definition: JsonObject) =>
    executors[kind].hasEffects?.(definition) ?? true;
  const url = "https://api.example.com/orders";
  const cases: [Parameters<typeof hasEffects>[0], Parameters<typeof hasEffects>[1], boolean][] = [
    ["http_request", { url }, false],
    ["http_request", { url: `${url}?q={{input.q}}`, method: "get" }, false],
    ["http_request", { url: "/orders/{{input.id}}" }, false],
    ["http_request", { url: "//evil.example" }, true],
    ["http_request", { url: "{{input.url}}" }, true],
    ["http_request", { url: "https://{{input.host}}/x" }, true],
    ["http_request", { url: "https://api.example.com.{{input.host}}/x" }, true],
    ["http_request", { url, method: "POST" }, true],
    ["http_request", { url, method: "{{input.method}}" }, true],
    ["http_request", { url, body: "x" }, true],
    ["duckdb_transform", { sql: "SELECT 1" }, false],
    ["duckdb_transform", { sql: "SELECT 1", output: { layer: "marts", dataset: "x" } }, true],
    ["dlt_extract", {}, true],
    ["file_sync", {}, true],
    ["call_automation", {}, true],
    ["conditional_branch", {}, false],
    ["fetch_page", { url }, false],
    ["fetch_page", { url: "{{input.url}}" }, true],
  ];
  for (const [kind, definition, expected] of cases)
    expect([kind, definition, hasEffects(kind, definition)]).toEqual([kind, definition, expected]);
});

test("an automation with a step that writes needs approval", async () => {
  const slug = fresh("writes");
  const config = {
    steps: [
      { key: "a", kind: "conditional_branch", definition: branch() },
      { key: "b", kind: "http_request", definition: { method: "DELETE", url: "http://127.0.0.1:1/" } },
    ],
  };
  await makeAutomation(chat.app.owner, config, { name: slug });
  chat.play([calls(`automation_${slug}`, {}), says("x")]);
  const { at } = await makeThread(chat, [`automation:${slug}`]);
  expect((await ask(chat, at)).thread.lastTurnStatus).toBe("waiting");
  const { body } = await owner("GET", "/api/v1/automations?q=writes");
  expect(body.automations[0].latestRun).toBeNull();
});
