import { afterAll, beforeAll, expect, test } from "bun:test";
import { startEverything } from "../peers/mcp-everything.ts";
import { ECHO, startModern } from "../peers/mcp-modern.ts";
import { startApp } from "../support/app.ts";
import { addMcp, CATALOG, mcpApi } from "../support/catalog.ts";
import { ACTIONS, created, makeAction, RUNS, until } from "../support/work.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let everything: Awaited<ReturnType<typeof startEverything>>;
beforeAll(async () => {
  [weir, everything] = await Promise.all([startApp(), startEverything("streamableHttp")]);
}, 120_000);
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  await everything.stop();
});

/** Returns a run that calls a tool, once it waits for an answer, with the question. */
async function askedBy(url: string, tool: string) {
  const { owner } = weir;
  const found = (await owner("POST", `${CATALOG}/discover`, { sourceType: "mcp", mcpUrl: url })).body;
  const entry = await addMcp(owner, mcpApi(`Tools of ${url} for ${tool}`, { url, tools: found.tools }));
  const definition = { api: { apiId: entry.id, tool, arguments: {} } };
  const action = await makeAction(owner, { kind: "http_request", name: "Call", definition });
  const run = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
  await until(owner, `${RUNS}/${run.id}`, ({ status, error }) => {
    if (status === "failed") throw new Error(error.message);
    return status === "waiting";
  });
  const { decisions } = (await owner("GET", "/api/v1/decisions/pending")).body;
  return { run, question: decisions.find(({ subjectId }: { subjectId: string }) => subjectId === run.id) };
}

const ended = (id: string) =>
  until(weir.owner, `${RUNS}/${id}`, ({ status }) => status === "completed" || status === "failed");
const decide = (id: string, answer: object) => weir.owner("POST", `/api/v1/decisions/${id}/decide`, answer);

test("a tool that asks for input in a session gets what a user enters, with the form's defaults", async () => {
  const { run, question } = await askedBy(everything.url, "trigger-elicitation-request");
  expect(question).toMatchObject({
    decisionType: "form_input",
    title: expect.stringContaining("trigger-elicitation-request"),
    description: "Please provide inputs for the following fields:",
    formSchema: { type: "object", properties: { name: { type: "string" } } },
  });
  const wrong = await decide(question.id, { decisionValue: "approved", formResponse: { name: 5 } });
  expect(wrong.status).toBe(422);
  const formResponse = { name: "Ada Lovelace" };
  expect((await decide(question.id, { decisionValue: "approved", formResponse })).status).toBe(200);
  const { status, result } = await ended(run.id);
  expect(status).toBe("completed");
  const text = JSON.stringify(result.body);
  expect(text).toContain("Ada Lovelace");
  expect(text).toContain("It was a dark and stormy night."); // A default of the server.
});

test("a tool of 2026-07-28 is called again with the answer, and its run fails if a user rejects it", async () => {
  const peer = startModern({
    tools: [{ ...ECHO, inputSchema: { type: "object" } }],
    asks: {
      inputRequests: {
        region: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Which region?",
            requestedSchema: {
              type: "object",
              properties: { region: { type: "string" } },
              required: ["region"],
            },
          },
        },
      },
      requestState: "opaque",
    },
  });
  try {
    const { run, question } = await askedBy(peer.url, "echo");
    expect(question.description).toBe("Which region?");
    await decide(question.id, { decisionValue: "approved", formResponse: { region: "north" } });
    expect((await ended(run.id)).status).toBe("completed");
    expect(peer.heard.at(-1)?.params).toMatchObject({
      inputResponses: { region: { action: "accept", content: { region: "north" } } },
      requestState: "opaque",
      _meta: { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } },
    });
    const again = created(await weir.owner("POST", `${ACTIONS}/${run.actionId}/run`));
    await until(weir.owner, `${RUNS}/${again.id}`, ({ status }) => status === "waiting");
    const { decisions } = (await weir.owner("GET", "/api/v1/decisions/pending")).body;
    await decide(decisions.find(({ subjectId }: { subjectId: string }) => subjectId === again.id).id, {
      decisionValue: "rejected",
    });
    expect((await ended(again.id)).error.code).toBe("rejected");
  } finally {
    await peer.stop();
  }
});
