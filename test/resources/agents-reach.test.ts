import { afterAll, beforeAll, expect, test } from "bun:test";
import { toolSources } from "../../src/resources/agents/tools/registry.ts";
import { json, startApi } from "../peers/api.ts";
import { calls, says } from "../peers/model.ts";
import { addHttp, endpoint, httpApi } from "../support/catalog.ts";
import { type Chat, makeThread, open, readStream, startChat } from "../support/chat.ts";
import { connect, localFiles } from "../support/connections.ts";
import { branch, makeAction, makeAutomation } from "../support/work.ts";

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

test("every tool says who hears what it is called with, and most are heard outside", () => {
  const declared = Object.entries(toolSources).map(([kind, { audience }]) => [kind, audience]);
  expect(Object.fromEntries(declared)).toEqual({
    ...AUDIENCES,
    api: "outside",
    action: "outside",
    automation: "outside",
    web_search: "outside",
  });
});

/** Whether a call of `tool` asks a person first, when the agent has read data and when it has not. */
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

test("an agent that has read data asks before a GET of the catalog, a search, or a run that reaches out", async () => {
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

test("what a call of the catalog brought is data too: the next call asks", async () => {
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

test("what stays inside never asks: SQL, an action that only computes, names in a connected system", async () => {
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
