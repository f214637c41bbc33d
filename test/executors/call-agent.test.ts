import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { calls, type Heard, says } from "../peers/model.ts";
import { startApp } from "../support/app.ts";
import { type Chat, SPECS, startChat } from "../support/chat.ts";
import { deepTest } from "../support/scale.ts";
import { created, faultsOf, makeAction, RUNS, runEnd, runToEnd } from "../support/work.ts";

let chat: Chat;
beforeAll(async () => {
  chat = await startChat([]);
});
afterAll(() => chat[Symbol.asyncDispose]());

let count = 0;
const makeAgent = async (more = "", call = chat.app.owner): Promise<{ id: string; slug: string }> =>
  created(
    await call("POST", SPECS, { markdown: `---\nname: Agent ${++count}\n${more}\n---\nYou sort orders.\n` }),
  );

const run = async (definition: object, call = chat.app.owner) => {
  const action = await makeAction(call, { kind: "call_agent", name: `Call ${++count}`, definition });
  return runToEnd(call, action.id);
};

const SCHEMA = {
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
};

describe("call_agent", () => {
  test("returns the agent's answer, its calls, its steps and its usage", async () => {
    chat.play([calls("datasets", {}), says("No tables.")]);
    const { slug } = await makeAgent("tools: [datasets]\ntemperature: 0.1\nmodel: other-1");
    expect(await run({ agent: slug, prompt: "What is there?" })).toMatchObject({
      status: "completed",
      result: {
        text: "No tables.",
        output: null,
        steps: 2,
        toolCalls: [{ id: expect.any(String), name: "datasets", input: {}, isError: false }],
        usage: { inputTokens: 30, outputTokens: 15 },
      },
    });
    expect(chat.heard[0]?.body).toMatchObject({ model: "other-1", temperature: 0.1 });
    expect(chat.heard[0]?.body.messages).toEqual([
      { role: "system", content: expect.stringContaining("You sort orders.") },
      { role: "user", content: "What is there?" },
    ]);
  });

  test("finds the agent by ID too, and fills in templates in the prompt", async () => {
    chat.play([says("Ok.")]);
    const { id } = await makeAgent();
    const result = await run({ agent: id, prompt: "Run {{run.id}}" });
    expect(chat.heard[0]?.body.messages.at(-1).content).toBe(`Run ${result.id}`);
  });

  test.each([
    ["as it is", '{"n": 7}'],
    ["in a fence", 'Here it is:\n```json\n{"n": 7}\n```\nDone.'],
  ])("returns an answer that matches its schema, %s", async (_, text) => {
    chat.play([says(text)]);
    const { slug } = await makeAgent();
    const { result } = await run({ agent: slug, prompt: "How many?", outputSchema: SCHEMA });
    expect(result).toMatchObject({ output: { n: 7 }, steps: 1 });
    expect(chat.heard[0]?.body.response_format.json_schema.schema).toEqual(SCHEMA);
    expect(chat.heard[0]?.body.messages[0].content).toContain(JSON.stringify(SCHEMA));
  });

  test("keeps the digits of long numbers, in calls and in the answer", async () => {
    const sql = "SELECT 1";
    chat.play([
      calls("query", `{"sql": "${sql}", "parameters": {"id": 9007199254740993}}`),
      says('{"id": 9007199254740993, "far": 1e400, "n": 1.5}'),
    ]);
    const { slug } = await makeAgent("tools: [query]");
    const { result } = await run({ agent: slug, prompt: "Which order?", outputSchema: { type: "object" } });
    expect([result.toolCalls[0].input, result.output]).toEqual([
      { sql, parameters: { id: "9007199254740993" } },
      { id: "9007199254740993", far: "1e400", n: 1.5 },
    ]);
  });

  test("lets a mismatching one be corrected once", async () => {
    chat.play([says('{"n": "seven"}'), says('{"n": 7}')]);
    const { slug } = await makeAgent();
    const { result } = await run({ agent: slug, prompt: "How many?", outputSchema: SCHEMA });
    expect(result).toMatchObject({ text: '{"n": 7}', output: { n: 7 }, steps: 2 });
    expect(chat.heard[1]?.body.messages.at(-1).content).toMatch(/^That does not fit: answer\.n: /);
  });

  test("fails if it still doesn't match, and says where", async () => {
    chat.play(() => says("seven"));
    const { slug } = await makeAgent();
    const { status, error } = await run({ agent: slug, prompt: "How many?", outputSchema: SCHEMA });
    expect([status, error.code, error.message]).toEqual([
      "failed",
      "output_invalid",
      "The agent's answer doesn't match outputSchema: it is not JSON",
    ]);
    expect(chat.heard).toHaveLength(2);
  });

  test("fails if the correction is a tool call, without asking the model again", async () => {
    chat.play((_, turn) =>
      turn < 10 ? (turn === 0 ? says("seven") : calls("datasets", {})) : says('{"n": 7}'),
    );
    const { slug } = await makeAgent("tools: [datasets]");
    const { status, error } = await run({ agent: slug, prompt: "How many?", outputSchema: SCHEMA });
    expect([status, error?.code, error?.message, chat.heard.length]).toEqual([
      "failed",
      "output_invalid",
      "The agent's answer doesn't match outputSchema: it calls a tool",
      2,
    ]);
  });

  test.each([
    ["length", "output_invalid", "The model's answer was cut off"],
    ["content_filter", "llm_refused", "The model's provider blocked the answer"],
  ])("fails if the answer ended with the reason %s", async (reason, code, message) => {
    chat.play(() => ({ moves: [{ text: "The half of it" }], reason }));
    const { slug } = await makeAgent();
    for (const more of [{}, { outputSchema: SCHEMA }]) {
      const { status, error } = await run({ agent: slug, prompt: "x", ...more });
      expect([status, error?.code, error?.retryable]).toEqual(["failed", code, false]);
      expect(error.message).toContain(message);
    }
    expect(chat.heard).toHaveLength(2);
  });

  test("warns of calls that were refused or failed, since the answer may not say so", async () => {
    const slug = `delete-${++count}`;
    await makeAction(chat.app.owner, {
      slug,
      kind: "http_request",
      definition: { method: "DELETE", url: "http://127.0.0.1:9/it" },
    });
    const tool = `action_${slug}`;
    chat.play([calls(tool, {}), calls("query", { sql: "SELECT nothing" }), says("I deleted it.")]);
    const agent = await makeAgent(`tools: ['action:${slug}', query]`);
    const { status, result } = await run({ agent: agent.slug, prompt: "Delete it" });
    expect([status, result.text, result.warnings]).toEqual([
      "completed",
      "I deleted it.",
      [
        `A call of ${tool} has no result: This tool requires approval, which isn't possible in a run.`,
        expect.stringContaining("A call of query has no result: "),
      ],
    ]);
  });

  test("ends after its steps: the definition's, otherwise the agent's", async () => {
    chat.play(() => calls("datasets", {}));
    const { slug } = await makeAgent("tools: [datasets]\nmaxSteps: 3");
    const own = await run({ agent: slug, prompt: "x" });
    expect([own.error.code, chat.heard.length]).toEqual(["too_many_steps", 3]);
    chat.play(() => calls("datasets", {}));
    const given = await run({ agent: slug, prompt: "x", maxSteps: 2 });
    expect([given.error.message, chat.heard.length]).toEqual([
      "The agent used its 2 steps and found no answer.",
      2,
    ]);
  });

  test("is cancelled, and the model with it", async () => {
    chat.play([{ moves: [{ text: "Half" }, { hold: new Promise(() => undefined) }] }]);
    const { slug } = await makeAgent();
    const action = await makeAction(chat.app.owner, {
      kind: "call_agent",
      definition: { agent: slug, prompt: "x" },
    });
    const { id } = created(await chat.app.owner("POST", `/api/v1/actions/${action.id}/run`));
    while (chat.heard.length === 0) await Bun.sleep(10);
    await chat.app.owner("POST", `/api/v1/action-runs/${id}/cancel`);
    expect((await runEnd(chat.app.owner, id)).status).toBe("cancelled");
    await chat.heard[0]?.gone;
  });

  /** Requests of one attempt at a run, if the endpoint rejects them. */
  const TRIES = 3;

  test("retries temporary failures of the model's endpoint, as the action says", async () => {
    chat.play((_, turn) => (turn < TRIES ? { status: 529 } : says("Ok.")));
    const { slug } = await makeAgent();
    const definition = { agent: slug, prompt: "x", retry: { maxAttempts: 2, backoffSeconds: [0] } };
    expect(await run(definition)).toMatchObject({
      status: "completed",
      retryCount: 1,
      result: { text: "Ok." },
    });
  });

  test("fails for an unknown agent, or another organization's", async () => {
    const { status, error } = await run({ agent: "never-was", prompt: "x" });
    expect([status, error.code]).toEqual(["failed", "definition_invalid"]);
    expect(error.message).toContain("Agent never-was not found");
  });

  test.each([
    [{ prompt: "x" }, "body.definition.agent missing"],
    [{ agent: "a" }, "body.definition.prompt missing"],
    [{ agent: "a", prompt: "x", maxSteps: 0 }, "body.definition.maxSteps greater_than_equal"],
    [{ agent: "a", prompt: "x", maxSteps: 101 }, "body.definition.maxSteps less_than_equal"],
    [
      { agent: "a", prompt: "x", outputSchema: { type: "nothing" } },
      "body.definition.outputSchema.type value_error",
    ],
    [{ agent: "a", prompt: "x", tools: [] }, "body.definition.tools extra_forbidden"],
  ])("rejects %j when it is saved", async (definition, fault) => {
    expect(
      faultsOf(
        await chat.app.owner("POST", "/api/v1/actions", { kind: "call_agent", name: "x", definition }),
      ),
    ).toEqual([fault]);
  });

  test("says clearly that no model is configured", async () => {
    await using app = await startApp();
    const { slug } = await makeAgent("", app.owner);
    const { status, error } = await run({ agent: slug, prompt: "x" }, app.owner);
    expect([status, error.code, error.retryable]).toEqual(["failed", "llm_not_configured", false]);
  });

  test("that calls an action that calls an agent comes to an end", async () => {
    const slug = `loop-${++count}`;
    const agent = await makeAgent(`tools: ['action:${slug}']`);
    await makeAction(chat.app.owner, {
      slug,
      kind: "call_agent",
      definition: { agent: agent.slug, prompt: "again", timeoutSeconds: 20 },
    });
    let asked = 0;
    chat.play(({ body }) => {
      const isFirst = body.messages.at(-1).role === "user";
      return isFirst && ++asked <= 5 ? calls(`action_${slug}`, {}) : says("Enough.");
    });
    const result = await run({ agent: agent.slug, prompt: "x" });
    expect([result.status, result.result.text]).toEqual(["completed", "Enough."]);
    const { body } = await chat.app.owner("GET", `/api/v1/action-runs?trigger_method=agent&kinds=call_agent`);
    expect(body.total).toBe(5);
  });

  test("takes no slot while it waits for what its tools have started", async () => {
    await using narrow = await startChat([], { env: { WEIR_CONCURRENCY: "1" } });
    const { owner } = narrow.app;
    const asked = await makeAgent("", owner);
    const slug = `asked-${++count}`;
    await makeAction(owner, { slug, kind: "call_agent", definition: { agent: asked.slug, prompt: "x" } });
    const asking = await makeAgent(`tools: ['action:${slug}']`, owner);
    narrow.play(({ body }) =>
      body.tools && body.messages.at(-1).role === "user" ? calls(`action_${slug}`, {}) : says("Done."),
    );
    const { result } = await run({ agent: asking.slug, prompt: "x" }, owner);
    expect(result).toMatchObject({ text: "Done.", toolCalls: [{ name: `action_${slug}`, isError: false }] });
    expect(narrow.heard.at(-1)?.body.messages.at(-1).content).toContain('"completed"');
  }, 120_000);
});

describe("a conversation that is longer than the model's context", () => {
  const WITH = { env: { WEIR_MODEL_CONTEXT: "3000" } };
  const tokensIn = ({ body }: Heard) =>
    Math.ceil(JSON.stringify([body.messages, body.tools ?? []]).length / 4);
  const agent = `---\nname: Reader\ntools: [query]\n---\nYou read.\n`;
  const query = (letter: string) => calls("query", { sql: `SELECT repeat('${letter}', 12000) AS long` });
  const callIn = async (long: Chat, prompt: string) => {
    const { slug } = created(await long.app.owner("POST", SPECS, { markdown: agent }));
    const action = await makeAction(long.app.owner, {
      kind: "call_agent",
      definition: { agent: slug, prompt },
    });
    return runToEnd(long.app.owner, action.id);
  };

  deepTest("is shortened like a thread, and the run says so", async () => {
    const steps = [..."abcdefgh"].map(query);
    await using long = await startChat([...steps, says("Read.")], WITH);
    const run = await callIn(long, "Read all");
    expect(run).toMatchObject({ status: "completed", result: { text: "Read.", steps: 9 } });
    for (const heard of long.heard) expect(tokensIn(heard)).toBeLessThan(3_000);
    expect(long.heard.at(-1)?.body.messages[1].content).toBe("Read all");
    expect(run.result.warnings).toEqual(
      expect.arrayContaining([
        "Long tool results were shortened for the model, whose limit is 3,000 tokens.",
      ]),
    );
    const { items } = (await long.app.owner("GET", `${RUNS}/${run.id}/logs`)).body;
    const warned = items.filter(({ level }: { level: string }) => level === "warn");
    expect(warned.map(({ message }: { message: string }) => message)).toEqual(run.result.warnings);
  });

  test("fails only if the prompt alone doesn't fit", async () => {
    await using long = await startChat([says("Never asked.")], WITH);
    const run = await callIn(long, "tea ".repeat(4_000));
    expect(run).toMatchObject({ status: "failed", error: { code: "llm_context_too_long" } });
    expect(long.heard).toHaveLength(0);
  });
});
