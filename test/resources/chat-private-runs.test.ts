import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calls, says } from "../peers/model.ts";
import { client, startApp } from "../support/app.ts";
import { ask, type Chat, makeThread, startChat } from "../support/chat.ts";
import { join as joinAs } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, makeAction, makeAutomation, RUNS, runToEnd, until } from "../support/work.ts";

const ARTIFACTS = "/api/v1/artifacts";
const AUTOMATION_RUNS = "/api/v1/automation-runs";
/** What the user says in the chat, and nobody else may read. */
const SECRET = "salary-of-nadia";
const WHY = "Started from a private chat.";

let chat: Chat;
let talker: Awaited<ReturnType<typeof joinAs>>;
let others: Awaited<ReturnType<typeof joinAs>>[];
beforeAll(async () => {
  chat = await startChat([]);
  talker = await joinAs(chat.app, "member");
  others = [
    await joinAs(chat.app, "viewer"),
    await joinAs(chat.app, "member"),
    await joinAs(chat.app, "admin"),
  ];
});
afterAll(() => chat[Symbol.asyncDispose]());

const asTalker = () => ({ ...chat.app, owner: talker.call, token: talker.token });

/** An agent of the user calls the tool. Returns the tool's result. */
async function chatThatCalls(tool: string, called: string, input: object) {
  chat.play([calls(called, input), says("Done.")]);
  const { at } = await makeThread({ app: asTalker() }, [tool], talker.call);
  const { reply } = await ask({ app: asTalker() }, at);
  return reply.rawData.parts.findLast(({ type }: { type: string }) => type === "dynamic-tool");
}

const sql = (name: string) => ({
  slug: name,
  kind: "duckdb_transform",
  definition: { sql: "SELECT {{input.who}} AS who, repeat('x', 400000) AS long" },
});

describe("an action that a private chat ran", () => {
  let run: string;
  let artifact: string;
  let actionId: string;
  beforeAll(async () => {
    const action = await makeAction(chat.app.owner, sql("look-up"));
    actionId = action.id;
    const part = await chatThatCalls("action:look-up", "action_look-up", { who: SECRET });
    run = part.output.runId;
    const made = await talker.call("POST", ARTIFACTS, {
      actionRunId: run,
      kind: "text",
      title: `About ${SECRET}`,
      content: SECRET,
    });
    expect(made.status).toBe(201);
    artifact = made.body.id;
  });

  test("shows the chat's user everything that it used", async () => {
    const { body } = await talker.call("GET", `${RUNS}/${run}`);
    expect(body).toMatchObject({ actionId, status: "completed", triggerMethod: "agent" });
    expect(JSON.stringify(body.definition)).toContain(SECRET);
    expect((await talker.call("GET", `${RUNS}/${run}/logs`)).status).toBe(200);
    expect((await talker.call("GET", `${ARTIFACTS}/${artifact}/content`)).text).toBe(SECRET);
    expect((await talker.call("GET", `${RUNS}?action_id=${actionId}`)).body.runs).toHaveLength(1);
  });

  test("shows others only its kind, times and status", async () => {
    const { body: whole } = await talker.call("GET", `${RUNS}/${run}`);
    for (const { call } of others) {
      const { body } = await call("GET", `${RUNS}/${run}`);
      expect(body).toEqual({
        ...whole,
        actionId: null,
        actionName: null,
        actionVersion: null,
        definition: { private: expect.stringContaining(WHY) },
        progress: null,
        result: null,
        error: null,
        idempotencyKey: null,
        triggerSourceId: null,
      });
      const { body: list } = await call("GET", `${RUNS}?limit=100`);
      expect(list.runs.find(({ id }: { id: string }) => id === run)).toEqual(body);
      expect(Object.keys(list.users)).not.toContain(talker.user.id);
      expect((await call("GET", `${RUNS}?action_id=${actionId}`)).body).toMatchObject({ runs: [], total: 0 });
      expect((await call("GET", `/api/v1/actions/${actionId}`)).text).not.toContain(run);
    }
  });

  test("leaves its kind in the lineage of what it read and wrote, but not which action it was", async () => {
    const output = { layer: "marts", dataset: "found" };
    const action = await makeAction(chat.app.owner, {
      slug: "keep",
      kind: "duckdb_transform",
      definition: { sql: "SELECT {{input.who}} AS who", output },
    });
    chat.play([calls("action_keep", { who: "somebody" }), says("Kept.")]);
    const { at } = await makeThread({ app: asTalker() }, ["action:keep"], talker.call);
    const { chunks } = await ask({ app: asTalker() }, at);
    const asked = chunks.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const yes = { decisionValue: "approved" };
    expect((await talker.call("POST", `/api/v1/decisions/${asked.approvalId}/decide`, yes)).status).toBe(200);
    await until(talker.call, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    for (const { call } of others) {
      const { status, body, text } = await call("GET", "/api/v1/datasets/marts/found/lineage");
      expect([status, text.includes(action.id)]).toEqual([200, false]);
      expect(body.writes).toMatchObject([
        { actionRunId: expect.any(String), actionId: null, kind: "duckdb_transform" },
      ]);
    }
  });

  test("gives others neither its log, nor its artifacts, nor a rerun", async () => {
    for (const { call } of others) {
      const stream = (await call("GET", `${RUNS}/${run}/stream`)).text;
      expect(stream).toContain("event: status");
      expect(stream).toContain("event: end");
      expect(stream).not.toContain("event: log");
      for (const at of [`${RUNS}/${run}/logs`, `${ARTIFACTS}/${artifact}/content`])
        expect((await call("GET", at)).body).toMatchObject({
          code: "forbidden",
          detail: expect.stringContaining(WHY),
        });
      expect((await call("GET", `${ARTIFACTS}/${artifact}`)).body).toMatchObject({
        title: null,
        kind: "text",
      });
      expect((await call("GET", `${ARTIFACTS}?q=${encodeURIComponent(SECRET)}`)).body).toMatchObject({
        artifacts: [],
        total: 0,
      });
      for (const at of [stream, (await call("GET", `${ARTIFACTS}?limit=100`)).text])
        expect(at).not.toContain(SECRET);
    }
    for (const { call } of others.slice(1)) {
      expect((await call("POST", `${RUNS}/${run}/retry`)).status).toBe(403);
      expect((await call("DELETE", `${ARTIFACTS}/${artifact}`)).status).toBe(403);
      const more = { actionRunId: run, kind: "text", content: "mine" };
      expect((await call("POST", ARTIFACTS, more)).status).toBe(403);
    }
    expect((await talker.call("GET", `${ARTIFACTS}/${artifact}/content`)).text).toBe(SECRET);
  });

  test("has artifacts that only runs of the user's private chats can read", async () => {
    await using receiver = startReceiver();
    const sending = (more: object) => ({
      kind: "http_request",
      definition: { method: "POST", url: receiver.url, ...more },
    });
    const files = { said: { file: { artifactId: artifact }, format: "csv" } };
    const reading = [
      sending({ body: { file: { artifactId: artifact } } }),
      sending({ batch: { items: { artifactId: artifact } } }),
      { kind: "duckdb_transform", definition: { sql: "SELECT * FROM said", files } },
    ];
    for (const { call } of [...others.slice(1), talker]) {
      for (const action of reading) {
        const { error } = await runToEnd(call, (await makeAction(call, action)).id);
        expect([action, error?.code, error?.retryable]).toEqual([action, "forbidden", false]);
      }
    }
    expect(receiver.got).toEqual([]);
    const body = { file: { artifactId: "{{input.id}}" } };
    await makeAction(chat.app.owner, { ...sending({ body }), slug: "send-file" });
    chat.play([calls("action_send-file", { id: artifact }), says("Sent.")]);
    const { at } = await makeThread({ app: asTalker() }, ["action:send-file"], talker.call);
    const { chunks } = await ask({ app: asTalker() }, at);
    const asked = chunks.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const yes = { decisionValue: "approved" };
    expect((await talker.call("POST", `/api/v1/decisions/${asked.approvalId}/decide`, yes)).status).toBe(200);
    await until(talker.call, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    expect(receiver.got.map(({ text }) => text)).toEqual([SECRET]);
  });

  test("is also private if the user runs it again", async () => {
    const broken = { ...sql("look-in-vain"), definition: { sql: "SELECT error({{input.who}})" } };
    const { id } = await makeAction(chat.app.owner, broken);
    await chatThatCalls("action:look-in-vain", "action_look-in-vain", { who: SECRET });
    const [failed] = (await talker.call("GET", `${RUNS}?action_id=${id}`)).body.runs;
    const again = await talker.call("POST", `${RUNS}/${failed.id}/retry`);
    expect(again.status).toBe(201);
    await until(talker.call, `${RUNS}/${again.body.id}`, ({ status }) => status === "failed");
    for (const { call } of others)
      expect((await call("GET", `${RUNS}/${again.body.id}`)).text).not.toContain(SECRET);
  });
});

describe("a question of a private chat's run", () => {
  test("is shown only to those who can decide it, until it is decided", async () => {
    const lead = others[2] ?? talker;
    await makeAutomation(
      chat.app.owner,
      {
        action: {
          kind: "approval_gate",
          definition: {
            title: "Pay {{input.who}}?",
            description: "For {{input.who}}",
            context: { who: "{{input.who}}" },
            assignedTo: lead.user.id,
          },
        },
      },
      { name: "pay-out" },
    );
    chat.play([calls("automation_pay-out", { input: { who: SECRET } }), says("Asked.")]);
    const { at } = await makeThread({ app: asTalker() }, ["automation:pay-out"], talker.call);
    const turn = ask({ app: asTalker() }, at);
    const pending = (body: { decisions: { assignedTo: string }[] }) =>
      body.decisions.some(({ assignedTo }) => assignedTo === lead.user.id);
    const { decisions } = await until(lead.call, "/api/v1/decisions/pending", pending);
    const { id } = decisions.find(({ assignedTo }: { assignedTo: string }) => assignedTo === lead.user.id);
    const gate = `/api/v1/decisions/${id}`;
    expect((await lead.call("GET", gate)).body).toMatchObject({
      title: `Pay ${SECRET}?`,
      context: { who: SECRET },
    });
    const strangers = others.filter((other) => other !== lead);
    const expectSilence = async () => {
      for (const { call } of strangers) {
        const { body } = await call("GET", gate);
        expect(body).toMatchObject({ description: null, context: { private: expect.stringContaining(WHY) } });
        for (const place of [gate, "/api/v1/decisions", "/api/v1/approvals", "/api/v1/events?limit=200"])
          expect([place, (await call("GET", place)).text.includes(SECRET)]).toEqual([place, false]);
      }
    };
    await expectSilence();
    const no = { decisionValue: "rejected", rejectionReason: `Not for ${SECRET}` };
    expect((await chat.app.owner("POST", `${gate}/decide`, no)).status).toBe(200);
    await expectSilence();
    for (const { call } of others)
      for (const place of [gate, "/api/v1/approvals?status=decided", "/api/v1/events?limit=200"])
        expect([place, (await call("GET", place)).text.includes(SECRET)]).toEqual([place, false]);
    await turn;
    expect((await talker.call("GET", gate)).body.rejectionReason).toBe(no.rejectionReason);
  });
});

describe("an automation that a private chat ran", () => {
  test("shows others neither its input, nor its steps, nor what they call, nor why it failed", async () => {
    const inner = await makeAutomation(
      chat.app.owner,
      { action: { kind: "duckdb_transform", definition: { sql: "SELECT {{input.who}} AS who" } } },
      { name: "inner-look" },
    );
    const outer = await makeAutomation(
      chat.app.owner,
      {
        steps: [
          {
            key: "each",
            forEach: "{{input.list}}",
            kind: "duckdb_transform",
            definition: { sql: "SELECT {{item}} AS who" },
          },
          {
            key: "call",
            dependsOn: ["each"],
            kind: "call_automation",
            definition: { automationId: inner.id, input: { who: "{{input.who}}" }, wait: true },
          },
          {
            key: "fail",
            dependsOn: ["call"],
            kind: "duckdb_transform",
            definition: { sql: "SELECT error({{input.who}})" },
          },
        ],
      },
      { name: "outer-look" },
    );
    chat.play([
      calls("automation_outer-look", { input: { who: SECRET, list: [SECRET, SECRET] } }),
      says("Failed."),
    ]);
    const { at } = await makeThread({ app: asTalker() }, ["automation:outer-look"], talker.call);
    const { chunks } = await ask({ app: asTalker() }, at);
    const asked = chunks.find(({ type }) => type === "tool-approval-request") as { approvalId: string };
    const yes = { decisionValue: "approved" };
    expect((await talker.call("POST", `/api/v1/decisions/${asked.approvalId}/decide`, yes)).status).toBe(200);
    await until(talker.call, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
    const { body: own } = await talker.call("GET", `${AUTOMATIONS}/${outer.id}/runs`);
    const run = own.runs[0];
    expect(run).toMatchObject({ status: "failed", input: { who: SECRET } });
    expect(JSON.stringify(run.error)).toContain(SECRET);
    const places = [
      `${AUTOMATION_RUNS}/${run.id}`,
      `${AUTOMATIONS}/${outer.id}/runs`,
      `${AUTOMATIONS}/${inner.id}/runs`,
      `${RUNS}?limit=100`,
      "/api/v1/events?limit=100",
    ];
    for (const { call } of others) {
      for (const place of places) {
        const { status, text } = await call("GET", place);
        expect([place, status, text.includes(SECRET)]).toEqual([place, 200, false]);
      }
      expect((await call("GET", `${AUTOMATION_RUNS}/${run.id}`)).body).toMatchObject({
        automationId: outer.id,
        status: "failed",
        startedAt: run.startedAt,
        steps: [],
        error: null,
        input: { private: expect.stringContaining(WHY) },
      });
      expect((await call("GET", `${RUNS}?automation_run_id=${run.id}`)).body.runs).toEqual([]);
    }
    const steps = await talker.call("GET", `${RUNS}?automation_run_id=${run.id}`);
    expect(steps.body.runs).toHaveLength(4);
    const member = others[1]?.call;
    expect((await member?.("POST", `${AUTOMATION_RUNS}/${run.id}/retry`))?.status).toBe(403);
  });

  test("doesn't affect the same automation's other runs", async () => {
    const flow = await makeAutomation(
      chat.app.owner,
      { action: { kind: "duckdb_transform", definition: { sql: "SELECT 1 AS one" } } },
      { name: "open-flow" },
    );
    const started = await chat.app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { open: true } });
    for (const { call } of others)
      expect((await call("GET", `${AUTOMATION_RUNS}/${started.body.id}`)).body.input).toEqual({ open: true });
  });
});

deepTest("what chats ran before runs could be private becomes private with the next start", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "weir-private-"));
  const script = [calls("action_look-up", { who: SECRET }), says("Done.")];
  let other: Awaited<ReturnType<typeof joinAs>>;
  {
    await using before = await startChat(script, { dataFolder });
    other = await joinAs(before.app, "admin");
    await makeAction(before.app.owner, sql("look-up"));
    await ask(before, (await makeThread(before, ["action:look-up"])).at);
    expect((await other.call("GET", RUNS)).body.runs).toMatchObject([{ actionId: null }]);
  }
  {
    using db = new Database(join(dataFolder, "weir.db"));
    for (const index of ["automation_runs_private", "automation_runs_by_error"])
      db.run(`DROP INDEX ${index}`);
    for (const table of ["action_runs", "automation_runs", "artifacts"])
      db.run(`ALTER TABLE ${table} DROP COLUMN private_to`);
    db.run("DELETE FROM migrations WHERE name = '0040_private_runs'");
  }
  await using after = await startApp({ dataFolder, owner: false });
  const { body } = await client(after.origin, { authorization: `Bearer ${other.token}` })("GET", RUNS);
  expect(body.runs).toMatchObject([{ actionId: null, definition: { private: expect.any(String) } }]);
  rmSync(dataFolder, { recursive: true });
});
