import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { calls, type Script, says } from "../peers/model.ts";
import { ask, type Chat, makeThread, startChat } from "../support/chat.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { makeAction, runToEnd } from "../support/work.ts";

/** A web in which a page lists a URL for each thing that it wants to know, and a search with prepared results. */
let chat: Chat;
let web: ReturnType<typeof startReceiver>;
let engine: ReturnType<typeof startReceiver>;
beforeAll(async () => {
  web = startReceiver(() => page(["a", "b"].map((bit) => `${web.url}/bit-${bit}`)));
  engine = startReceiver(() => {
    const hits = ["a", "b"].map((bit) => ({
      title: `${web.url}/title-${bit}`,
      url: `${web.url}/hit-${bit}`,
      content: `"url":"${web.url}/quoted-${bit}"`,
    }));
    return Response.json({ results: hits });
  });
  chat = await startChat([], { env: { WEIR_SEARCH_URL: engine.url } });
}, 120_000);
afterAll(async () => {
  await chat[Symbol.asyncDispose]();
  await web[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});
beforeEach(() => {
  web.got.length = 0;
});

const page = (links: string[]) =>
  new Response(`<html><body><p>${links.join(" ")}</p></body></html>`, {
    headers: { "content-type": "text/html" },
  });

const fetches = (path: string): Script => calls("fetch_page", { url: `${web.url}${path}` });
const search = calls("web_search", { query: "secret 42" });
const data = calls("query", { sql: "SELECT 42 AS secret" });
const TOOLS = ["query", "web_search", "fetch_page"];

/** Plays `scripts`. Returns what was fetched from the web, and whether the turn then waits for a user. */
async function play(scripts: Script[], content: string, tools = TOOLS) {
  chat.play([...scripts, says("Done.")]);
  const { at } = await makeThread(chat, tools);
  const { thread } = await ask(chat, at, { content });
  const waits = thread.lastTurnStatus === "waiting";
  if (waits) await chat.app.owner("POST", `${at}/turns/cancel`);
  return { waits, fetched: web.got.map(({ path }) => path) };
}

describe("a URL listed on a page", () => {
  test("isn't fetched without approval, whether or not the agent has read data", async () => {
    const asked = `Read ${web.url}/start`;
    for (const scripts of [
      [fetches("/start"), fetches("/bit-a")],
      [fetches("/start"), data, fetches("/bit-b")],
    ])
      expect((await play(scripts, asked)).waits).toBe(true);
    expect(web.got.map(({ path }) => path)).toEqual(["/start", "/start"]);
  });

  test("is rejected in a run, where nobody can approve", async () => {
    const { spec } = await makeThread(chat, TOOLS);
    chat.play([fetches("/start"), fetches("/bit-a"), says("No.")]);
    const definition = { agent: spec.id, prompt: `Read ${web.url}/start` };
    const run = await runToEnd(
      chat.app.owner,
      (await makeAction(chat.app.owner, { kind: "call_agent", definition })).id,
    );
    expect(run.result.toolCalls.map(({ isError }: { isError: boolean }) => isError)).toEqual([false, true]);
    expect(web.got.map(({ path }) => path)).toEqual(["/start"]);
  });
});

describe("a search result", () => {
  test("is fetched immediately until the agent has read data of the organization, and then no longer", async () => {
    expect(await play([search, fetches("/hit-a")], "Search")).toEqual({ waits: false, fetched: ["/hit-a"] });
    web.got.length = 0;
    expect(await play([data, search, fetches("/hit-b")], "Search")).toEqual({ waits: true, fetched: [] });
  });

  test("is known by its URL, not by its text", async () => {
    for (const path of ["/title-a", "/quoted-a"])
      expect(await play([search, fetches(path)], "Search")).toEqual({ waits: true, fetched: [] });
  });
});

describe("a URL that a user wrote", () => {
  test.each([
    ["as it is", (url: string) => `Read ${url}/x?y=1`, "/x?y=1"],
    ["at the end of a sentence", (url: string) => `Is it at (${url}/x)?`, "/x"],
    ["as a link", (url: string) => `See [it](${url}/x).`, "/x"],
    ["with a mark of a place in it", (url: string) => `See ${url}/x#part`, "/x#other"],
  ])("%s is fetched, even by an agent that has read data", async (_, say, path) => {
    const { waits, fetched } = await play([data, fetches(path)], say(web.url));
    expect([waits, fetched]).toEqual([false, [path.replace(/#.*/, "")]]);
  });

  test.each([
    ["its beginning", "/orders/1", "/orders"],
    ["more than it", "/orders", "/orders?secret=42"],
    ["another spelling", "/Orders", "/orders"],
  ])("doesn't cover %s", async (_, written, path) => {
    expect(await play([fetches(path)], `Read ${web.url}${written}`)).toEqual({ waits: true, fetched: [] });
  });

  test("doesn't count if a message lists more than twenty, as pasted text does", async () => {
    const list = (count: number) =>
      Array.from({ length: count }, (_, n) => `${web.url}/code-${n}`).join("\n");
    expect(await play([data, fetches("/code-19")], list(20))).toMatchObject({ waits: false });
    expect(await play([data, fetches("/code-19")], list(21))).toMatchObject({ waits: true });
  });

  deepTest("is fetched ten times in a turn, and then needs approval", async () => {
    const moves = Array.from({ length: 6 }, (_, n) => ({
      call: "fetch_page",
      arguments: { url: `${web.url}/x` },
      id: `c${n}`,
    }));
    const { waits, fetched } = await play([{ moves }, { moves }], `Read ${web.url}/x`);
    expect([waits, fetched.length]).toEqual([true, 10]);
  });
});
