import { afterAll, beforeAll, expect, test } from "bun:test";
import { toolSources } from "../../src/resources/agents/tools/registry.ts";
import { json, startApi } from "../peers/api.ts";
import { calls, says } from "../peers/model.ts";
import { addHttp, endpoint, httpApi } from "../support/catalog.ts";
import { type Chat, makeThread, open, readStream, SPECS, startChat, THREADS } from "../support/chat.ts";
import { connect, localFiles } from "../support/connections.ts";
import { DECISIONS } from "../support/decisions.ts";
import { join } from "../support/people.ts";
import { branch, created, makeAction, makeAutomation, until } from "../support/work.ts";

let chat: Chat;
let peer: ReturnType<typeof startApi>;
beforeAll(async () => {
  chat = await startChat([]);
  peer = startApi({ "*": json({ id: 7 }) });
});
afterAll(async () => {
  await peer.stop();
  await chat[Symbol.asyncDispose]();
});

const AUDIENCES = { query: "inside", datasets: "inside", connection: "inside", fetch_page: "address" };

test("every tool declares who receives its arguments, and most send them outside", () => {
  const declared = Object.entries(toolSources).map(([kind, { audience }]) => [kind, audience]);
  expect(Object.fromEntries(declared)).toEqual({
    ...AUDIENCES,
    api: "outside",
    action: "outside",
    automation: "outside",
    web_search: "outside",
  });
});

/** Returns whether a call of `tool` needs approval, if the agent has read data and if not. */
async function asksFor(spec: string, tool: string, input: object) {
  const asks = async (before: ReturnType<typeof calls>[]) => {
    chat.play([...before, calls(tool, input), says("Done.")]);
    const { at } = await makeThread(chat, ["query", spec]);
    const { types } = await readStream(await open(chat, at, { content: "Go" }));
    expect(types).toContain("tool-input-available");
    return types.includes("tool-approval-request");
  };
  return { fresh: await asks([]), withData: await asks([calls("query", { sql: "SELECT 1 AS one" })]) };
}

const HELD = { fresh: false, withData: true };
const FREE = { fresh: false, withData: false };

test("an agent that has read data needs approval for a GET of the catalog, a search, or a run that reaches out", async () => {
  const { owner } = chat.app;
  const entry = await addHttp(owner, httpApi("Orders", { baseUrl: peer.url, endpoints: [endpoint()] }));
  const ping = { kind: "http_request", definition: { url: `${peer.url}/ping`, method: "GET" } };
  const action = await makeAction(owner, { slug: "ping", name: "Ping", ...ping });
  const flow = await makeAutomation(owner, { action: { actionId: action.id } }, { slug: "flow" });
  expect(flow.slug).toBe("flow");
  expect(await asksFor("api:Orders", entry.endpoints[0].modelName, {})).toEqual(HELD);
  expect(await asksFor("action:ping", "action_ping", {})).toEqual(HELD);
  expect(await asksFor("automation:flow", "automation_flow", {})).toEqual(HELD);
  expect(await asksFor("web_search", "web_search", { query: "weather" })).toEqual(HELD);
});

test("the result of a catalog call is data too: the next call needs approval", async () => {
  const entry = await addHttp(
    chat.app.owner,
    httpApi("Again", { baseUrl: peer.url, endpoints: [endpoint()] }),
  );
  const { modelName } = entry.endpoints[0];
  peer.heard.splice(0);
  chat.play([calls(modelName, {}), calls(modelName, {}), says("Done.")]);
  const { at } = await makeThread(chat, ["api:Again"]);
  const { types } = await readStream(await open(chat, at, { content: "Go" }));
  expect(types).toContain("tool-approval-request");
  expect(peer.heard.length).toBe(1);
});

test("what stays inside never needs approval: SQL, an action that only computes, names in a connected system", async () => {
  const { owner } = chat.app;
  await makeAction(owner, { slug: "route", name: "Route", kind: "conditional_branch", definition: branch() });
  await makeAutomation(
    owner,
    { steps: [{ key: "a", kind: "conditional_branch", definition: branch() }] },
    { slug: "inside" },
  );
  const { slug } = await connect(owner, localFiles("Files"));
  expect(await asksFor("datasets", "datasets", {})).toEqual(FREE);
  expect(await asksFor("action:route", "action_route", {})).toEqual(FREE);
  expect(await asksFor("automation:inside", "automation_inside", {})).toEqual(FREE);
  expect(await asksFor(`connection:${slug}`, `connection_${slug}_files`, {})).toEqual(FREE);
});

const markdownWith = (name: string, tools: string[], prompt = "You answer.") =>
  `---\nname: ${name}\ntools: [${tools.map((tool) => `'${tool}'`).join(", ")}]\n---\n${prompt}\n`;

test("a thread whose agent someone else changed needs approval for each outside call; a new one doesn't", async () => {
  const { owner, origin } = chat.app;
  const entry = await addHttp(owner, httpApi("Late", { baseUrl: peer.url, endpoints: [endpoint()] }));
  const { modelName } = entry.endpoints[0];
  const bob = await join(chat.app, "member");
  const asksIn = async (at: string) => {
    chat.play([calls(modelName, {}), says("Done.")]);
    const { types } = await readStream(
      await open({ app: { origin, token: bob.token } }, at, { content: "Go" }),
    );
    return types.includes("tool-approval-request");
  };
  const { at, spec } = await makeThread(chat, ["query"], bob.call);
  const change = (call: typeof owner, prompt: string) =>
    call("PATCH", `${SPECS}/${spec.id}`, { markdown: markdownWith("Shared", ["query", "api:Late"], prompt) });
  expect((await change(bob.call, "His own.")).status).toBe(200);
  expect(await asksIn(at)).toBe(false);
  const own = created(await bob.call("POST", THREADS, { agentSpecId: spec.id }));
  expect((await change(owner, "Somebody else's.")).status).toBe(200);
  expect(await asksIn(`${THREADS}/${own.id}`)).toBe(true);
  const fresh = created(await bob.call("POST", THREADS, { agentSpecId: spec.id }));
  expect(await asksIn(`${THREADS}/${fresh.id}`)).toBe(false);
});

test("an approval is for the agent as it was: if it changes while the call waits, nothing is sent", async () => {
  const { owner } = chat.app;
  const entry = await addHttp(
    owner,
    httpApi("Bound", { baseUrl: peer.url, endpoints: [endpoint("pay", { method: "POST" })] }),
  );
  chat.play([calls(entry.endpoints[0].modelName, {}), says("Done.")]);
  const { at, spec } = await makeThread(chat, ["api:Bound"]);
  const { text } = await readStream(await open(chat, at, { content: "Pay" }));
  const [, id] = /"approvalId":"([^"]+)"/.exec(text) ?? [];
  peer.heard.splice(0);
  await owner("PATCH", `${SPECS}/${spec.id}`, { markdown: markdownWith("Bound", ["api:Bound", "query"]) });
  expect((await owner("POST", `${DECISIONS}/${id}/decide`, { decisionValue: "approved" })).status).toBe(200);
  await until(owner, at, ({ lastTurnStatus }) => lastTurnStatus === "completed");
  expect(peer.heard).toEqual([]);
  expect(JSON.stringify(await owner("GET", `${at}/messages`))).toContain("differ from what was approved");
});
