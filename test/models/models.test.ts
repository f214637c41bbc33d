import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import type { AppError } from "../../src/base/errors.ts";
import { readConfig } from "../../src/config.ts";
import { describeConfig } from "../../src/config-shown.ts";
import type { ModelEvent, ModelRequest } from "../../src/models/contract.ts";
import { type ModelSettings, openModels } from "../../src/models/registry.ts";
import { calls, type Script, says, startModel } from "../peers/model.ts";
import { deepTest } from "../support/scale.ts";

const HELLO: ModelRequest = { system: "Be brief.", messages: [{ role: "user", content: "Hello" }] };
const KEY = "the-key-of-the-model";

type Protocol = "openai-compatible" | "anthropic";
const BOTH: Protocol[] = ["openai-compatible", "anthropic"];

function settingsFor(protocol: Protocol, origin: string, more: Partial<ModelSettings> = {}): ModelSettings {
  const none = { baseUrl: null, apiKey: null, model: null, anthropicUrl: null, anthropicKey: null };
  const own =
    protocol === "anthropic"
      ? { ...none, anthropicUrl: origin, anthropicKey: KEY, model: "peer-1" }
      : { ...none, baseUrl: `${origin}/v1`, apiKey: KEY, model: "peer-1" };
  const clock = { ...systemClock, sleep: async () => undefined };
  return { ...own, silenceMs: 5_000, egress: { allow: [], self: () => null }, clock, ...more };
}

const never = new AbortController().signal;

async function all(
  protocol: Protocol,
  origin: string,
  { request = HELLO, ...more }: Partial<ModelSettings> & { request?: ModelRequest } = {},
  signal = never,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of openModels(settingsFor(protocol, origin, more)).stream(request, signal))
    events.push(event);
  return events;
}

const textOf = (events: ModelEvent[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

async function failure(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    return error as AppError;
  }
  throw new Error("It did not fail.");
}

describe.each(BOTH)("a model with the protocol %s", (protocol) => {
  test("returns its text as it arrives, its reasoning, how it ended and its usage", async () => {
    const script: Script = {
      moves: [{ reasoning: "Hm" }, { text: "Good " }, { text: "day" }],
      usage: { input: 12, output: 7 },
    };
    await using peer = await startModel([script]);
    expect(await all(protocol, peer.origin)).toEqual([
      { type: "reasoning", delta: "Hm" },
      { type: "text", delta: "Good " },
      { type: "text", delta: "day" },
      { type: "finish", reason: "stop", usage: { inputTokens: 12, outputTokens: 7 }, model: "peer-1" },
    ]);
  });

  test("returns calls in pieces and then complete, several in one reply", async () => {
    const script: Script = {
      moves: [
        { text: "I look." },
        { call: "query", arguments: { sql: "SELECT 1" }, id: "a" },
        { call: "datasets", arguments: {}, id: "b" },
      ],
    };
    await using peer = await startModel([script]);
    const events = await all(protocol, peer.origin);
    const whole = events.flatMap((event) => (event.type === "call" ? [event.call] : []));
    expect(whole).toEqual([
      { id: "a", name: "query", arguments: '{"sql":"SELECT 1"}' },
      { id: "b", name: "datasets", arguments: "{}" },
    ]);
    const pieces = events.flatMap((event) =>
      event.type === "call-delta" && event.id === "a" ? [event.delta] : [],
    );
    expect(pieces.join("")).toBe('{"sql":"SELECT 1"}');
    expect(pieces.length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" });
  });

  test("gets prompt, history, tools and settings as its protocol has them", async () => {
    await using peer = await startModel([says("ok")]);
    const request: ModelRequest = {
      ...HELLO,
      temperature: 0.5,
      maxOutputTokens: 99,
      model: "another",
      messages: [
        { role: "user", content: "How many?" },
        { role: "assistant", content: "", calls: [{ id: "a", name: "query", arguments: '{"sql":"x"}' }] },
        { role: "tool", callId: "a", name: "query", content: "42", isError: false },
      ],
      tools: [{ name: "query", description: "Runs SQL", inputSchema: { type: "object" } }],
    };
    await all(protocol, peer.origin, { request });
    const [{ path, body, headers } = { path: "", body: {}, headers: {} as Record<string, string> }] =
      peer.heard;
    expect(body).toMatchObject({ model: "another", stream: true, temperature: 0.5, max_tokens: 99 });
    if (protocol === "anthropic") {
      expect([path, headers["x-api-key"], headers["anthropic-version"]]).toEqual([
        "/v1/messages",
        KEY,
        "2023-06-01",
      ]);
      expect(body).toMatchObject({
        system: "Be brief.",
        messages: [
          { role: "user", content: [{ type: "text", text: "How many?" }] },
          { role: "assistant", content: [{ type: "tool_use", id: "a", name: "query", input: { sql: "x" } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "42" }] },
        ],
        tools: [{ name: "query", description: "Runs SQL", input_schema: { type: "object" } }],
      });
    } else {
      expect([path, headers.authorization]).toEqual(["/v1/chat/completions", `Bearer ${KEY}`]);
      expect(body).toMatchObject({
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "How many?" },
          { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function" }] },
          { role: "tool", tool_call_id: "a", content: "42" },
        ],
        tools: [{ type: "function", function: { name: "query", parameters: { type: "object" } } }],
        stream_options: { include_usage: true },
      });
    }
  });

  test.each(["", "{", "[1]", "null"])("is sent back no invalid arguments: %p", async (text) => {
    await using peer = await startModel([says("ok")]);
    const messages: ModelRequest["messages"] = [
      { role: "user", content: "How many?" },
      { role: "assistant", content: "", calls: [{ id: "a", name: "datasets", arguments: text }] },
      { role: "tool", callId: "a", name: "datasets", content: "none", isError: false },
    ];
    await all(protocol, peer.origin, { request: { ...HELLO, messages } });
    const call = peer.heard[0]?.body.messages.find(({ role }: { role: string }) => role === "assistant");
    if (protocol === "anthropic") expect(call.content[0].input).toEqual({});
    else expect(call.tool_calls[0].function).toEqual({ name: "datasets", arguments: "{}" });
  });

  const REFUSALS: [string, Script, string, boolean, number][] = [
    [
      "a wrong key",
      { status: 401, body: { error: { message: `Bad key ${KEY}` } } },
      "llm_unauthorized",
      false,
      1,
    ],
    [
      "an unknown model",
      { status: 404, body: { error: { message: "The model peer-1 does not exist" } } },
      "llm_model_unknown",
      false,
      1,
    ],
    [
      "a conversation that is too long",
      { status: 400, body: { error: { message: "This model's maximum context length is 8192 tokens" } } },
      "llm_context_too_long",
      false,
      1,
    ],
    ["too many requests", { status: 429, headers: { "retry-after": "7" } }, "llm_rate_limited", true, 3],
    ["an overloaded endpoint", { status: 529 }, "llm_overloaded", true, 3],
    ["a fault of the endpoint", { status: 500, body: "<html>" }, "upstream", true, 3],
    [
      "a request that it does not take",
      { status: 400, body: { error: { message: "No tools" } } },
      "llm_refused",
      false,
      1,
    ],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" } }, "llm_refused", false, 1],
  ];
  test.each(REFUSALS)("reports %s, without its key", async (_, script, code, retryable, tries) => {
    await using peer = await startModel(() => script);
    const error = await failure(all(protocol, peer.origin));
    expect([error.code, error.retryable, peer.heard.length]).toEqual([code as never, retryable, tries]);
    expect(JSON.stringify([error.message, error.details])).not.toContain(KEY);
    if (code === "llm_rate_limited") expect(error.retryAfterSeconds).toBe(7);
  });

  test("is retried before its first token, and then responds", async () => {
    await using peer = await startModel([
      { status: 503 },
      { status: 429, headers: { "retry-after": "1" } },
      says("Here"),
    ]);
    expect(textOf(await all(protocol, peer.origin))).toBe("Here");
    expect(peer.heard.length).toBe(3);
  });

  test("isn't waited for if it asks for a minute", async () => {
    await using peer = await startModel(() => ({ status: 429, headers: { "retry-after": "60" } }));
    expect((await failure(all(protocol, peer.origin))).code).toBe("llm_rate_limited");
    expect(peer.heard.length).toBe(1);
  });

  test.each([
    ["cuts its stream", { cut: true }, "llm_stream_cut|upstream"],
    [
      "tells an error in its stream",
      { error: { type: "overloaded_error", message: "Overloaded" } },
      "llm_overloaded",
    ],
    ["sends no JSON", { raw: "data: {nonsense\n\n" }, "upstream"],
  ] as const)("that %s after its first token isn't retried", async (_, move, codes) => {
    const seen: ModelEvent[] = [];
    const until = () => textOf(seen) !== "";
    await using peer = await startModel([{ moves: [{ text: "Half" }, { until }, move] }]);
    const reading = (async () => {
      const models = openModels(settingsFor(protocol, peer.origin));
      for await (const event of models.stream(HELLO, never)) seen.push(event);
    })();
    expect((await failure(reading)).code).toMatch(new RegExp(`^(${codes})$`));
    expect([textOf(seen), peer.heard.length]).toEqual(["Half", 1]);
  });

  test("that ends its reply without saying so has cut it", async () => {
    const half =
      protocol === "anthropic" ? 'event: message_start\ndata: {"type":"message_start"}\n\n' : ": hm\n\n";
    await using peer = await startModel(() => ({
      status: 200,
      body: half,
      headers: { "content-type": "text/event-stream" },
    }));
    expect((await failure(all(protocol, peer.origin))).code).toBe("llm_stream_cut");
    expect(peer.heard.length).toBe(3);
  });

  test("that sends nothing is given up, and its request ends", async () => {
    await using peer = await startModel([{ moves: [{ pause: 60_000 }] }]);
    const error = await failure(all(protocol, peer.origin, { silenceMs: 1_500 }));
    expect(error.code).toBe("timeout");
    await peer.heard[0]?.gone;
    expect(peer.heard.length).toBe(1);
  });

  deepTest("that goes silent between two tokens is given up", async () => {
    await using peer = await startModel([{ moves: [{ text: "Half" }, { pause: 60_000 }] }]);
    const error = await failure(all(protocol, peer.origin, { silenceMs: 1_500 }));
    expect(error.message).toContain("in the middle of its reply");
  });

  test("that never ends is given up, however steadily it writes", async () => {
    const moves = Array.from({ length: 200 }, () => [{ text: "x" }, { pause: 10 }]).flat();
    await using peer = await startModel([{ moves }]);
    const error = await failure(all(protocol, peer.origin, { totalMs: 150 }));
    expect(error.message).toContain("for one reply");
  });

  test("that floods is cut off", async () => {
    await using peer = await startModel([{ moves: [{ flood: 50_000 }] }]);
    expect((await failure(all(protocol, peer.origin))).code).toBe("response_too_large");
    await peer.heard[0]?.gone;
  });

  test("ends its reply when the reader leaves", async () => {
    await using peer = await startModel([{ moves: [{ text: "Half" }, { pause: 60_000 }] }]);
    const control = new AbortController();
    const reason = new Error("gone");
    const reading = (async () => {
      for await (const _ of openModels(settingsFor(protocol, peer.origin)).stream(HELLO, control.signal))
        control.abort(reason);
    })();
    expect((await failure(reading)) as unknown).toBe(reason);
    await peer.heard[0]?.gone;
  });
});

describe("the operator's model", () => {
  test("is reported as missing, with its settings", async () => {
    const none = { ...settingsFor("openai-compatible", "http://x"), baseUrl: null };
    const models = openModels(none);
    expect(models.configured).toBeNull();
    const error = await failure(models.stream(HELLO, never)[Symbol.asyncIterator]().next());
    expect(error.code).toBe("llm_not_configured");
    expect(error.message).toMatch(/WEIR_LLM_BASE_URL.*ANTHROPIC_API_KEY/);
  });

  test("can be at a private address, and allows no other", async () => {
    await using peer = await startModel([says("inside")]);
    expect(textOf(await all("openai-compatible", peer.origin))).toBe("inside");
    const other = openModels({
      ...settingsFor("openai-compatible", "http://127.0.0.1:1"),
      anthropicKey: KEY,
    });
    expect(other.configured).toEqual({ provider: "openai-compatible", model: "peer-1" });
    const blocked = { ...settingsFor("anthropic", peer.origin), anthropicUrl: null, anthropicKey: KEY };
    const egress = { allow: [], self: () => null, resolve: async () => ["127.0.0.1"] };
    const error = await failure(
      openModels({ ...blocked, egress })
        .stream(HELLO, never)
        [Symbol.asyncIterator]()
        .next(),
    );
    expect(error.code).toBe("egress_blocked");
  });

  test("asks for an answer of a given shape as its protocol does", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const request = { ...HELLO, outputSchema };
    await using plain = await startModel([says('{"n":1}')]);
    expect(textOf(await all("openai-compatible", plain.origin, { request }))).toBe('{"n":1}');
    expect(plain.heard[0]?.body.response_format.json_schema.schema).toEqual(outputSchema);
    await using shaped = await startModel([calls("answer", { n: 1 })]);
    const events = await all("anthropic", shaped.origin, { request });
    expect([textOf(events), events.at(-1)]).toEqual(['{"n":1}', expect.objectContaining({ reason: "stop" })]);
    expect(shaped.heard[0]?.body.tool_choice).toEqual({ type: "tool", name: "answer" });
  });

  test("is called without the shape if its endpoint doesn't support one", async () => {
    await using peer = await startModel([
      { status: 400, body: { error: "response_format is not known" } },
      says("{}"),
    ]);
    const request = { ...HELLO, outputSchema: { type: "object" } };
    expect(textOf(await all("openai-compatible", peer.origin, { request }))).toBe("{}");
    expect(peer.heard.map(({ body }) => "response_format" in body)).toEqual([true, false]);
  });

  test.each([
    ["openai-compatible", "model_length"],
    ["openai-compatible", "max_tokens"],
    ["anthropic", "model_context_window_exceeded"],
  ] as const)(
    "of %s that reached its context's length has a reply that is cut off: %s",
    async (protocol, reason) => {
      await using peer = await startModel([{ moves: [{ text: "Half" }], reason }]);
      expect((await all(protocol, peer.origin)).at(-1)).toMatchObject({ type: "finish", reason: "length" });
    },
  );

  test.each(["error", "abort", "insufficient_system_resource"])(
    "whose reply ends with %s has not replied",
    async (reason) => {
      await using peer = await startModel([{ moves: [{ text: "Half" }], reason }]);
      const error = await failure(all("openai-compatible", peer.origin));
      expect([error.code, error.retryable]).toEqual(["llm_stream_cut", true]);
    },
  );

  test("that refuses says so, streaming or not", async () => {
    const refusal = "I can't help with that.";
    const raw = `data: ${JSON.stringify({ choices: [{ delta: { refusal }, finish_reason: "stop" }] })}\n\n`;
    const body = { choices: [{ message: { content: null, refusal }, finish_reason: "stop" }] };
    await using peer = await startModel([{ moves: [{ raw }] }, { status: 200, body }]);
    for (let n = 0; n < 2; n++) {
      const events = await all("openai-compatible", peer.origin);
      expect(textOf(events)).toBe(refusal);
      expect(events.at(-1)).toMatchObject({ type: "finish", reason: "content-filter" });
    }
  });

  test("is understood if its endpoint doesn't stream", async () => {
    const call = { id: "a", type: "function", function: { name: "query", arguments: '{"sql":"x"}' } };
    const body = {
      choices: [
        { message: { role: "assistant", content: "Look:", tool_calls: [call] }, finish_reason: "tool_calls" },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    };
    await using peer = await startModel(() => ({ status: 200, body }));
    const events = await all("openai-compatible", peer.origin);
    expect(textOf(events)).toBe("Look:");
    expect(events.slice(-2)).toEqual([
      { type: "call", call: { id: "a", name: "query", arguments: '{"sql":"x"}' } },
      {
        type: "finish",
        reason: "tool-calls",
        usage: { inputTokens: 3, outputTokens: 2 },
        model: "peer-1",
      },
    ]);
  });

  test("keeps the digits of arguments that its endpoint sends as an object", async () => {
    const args = '{"id":9007199254740993,"price":1.10}';
    const raw = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":${args}}}]},"finish_reason":"tool_calls"}]}\n\n`;
    const whole = `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"one","arguments":${args}}}]},"finish_reason":"tool_calls"}]}`;
    await using peer = await startModel([{ moves: [{ raw }] }, { status: 200, body: whole }]);
    for (let n = 0; n < 2; n++) {
      const events = await all("openai-compatible", peer.origin);
      const [call] = events.flatMap((event) => (event.type === "call" ? [event.call] : []));
      expect(JSON.parse(call?.arguments ?? "")).toEqual({ id: "9007199254740993", price: 1.1 });
    }
  });

  test("accepts the input of a tool of Anthropic's protocol at once, without deltas", async () => {
    const event = (data: string) => `data: ${data}\n\n`;
    const block = `{"type":"tool_use","id":"a","name":"NAME","input":{"id":9007199254740993}}`;
    const raw = (name: string) =>
      [
        event(`{"type":"content_block_start","index":0,"content_block":${block.replace("NAME", name)}}`),
        event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
      ].join("");
    await using peer = await startModel(
      ["one", "answer"].map((name) => ({ moves: [{ raw: raw(name) }], reason: "tool_use" })),
    );
    const events = await all("anthropic", peer.origin);
    expect(events.find(({ type }) => type === "call")).toEqual({
      type: "call",
      call: { id: "a", name: "one", arguments: '{"id":"9007199254740993"}' },
    });
    const request = { ...HELLO, outputSchema: { type: "object" } };
    expect(textOf(await all("anthropic", peer.origin, { request }))).toBe('{"id":"9007199254740993"}');
  });

  test("accepts unusual streams of local servers: arguments as objects, one index for all calls, CRLF, comments", async () => {
    const chunk = (delta: object, finish: string | null = null) =>
      `: hm\r\ndata: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\r\n\r\n`;
    const raw = [
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: { x: 1 } } }] }),
      chunk({ tool_calls: [{ index: 0, id: "b", function: { name: "two", arguments: '{"y":2}' } }] }),
      chunk({}, "tool_calls"),
    ].join("");
    await using peer = await startModel([{ moves: [{ raw }] }]);
    const events = await all("openai-compatible", peer.origin);
    expect(events.flatMap((event) => (event.type === "call" ? [event.call] : []))).toEqual([
      { id: "a", name: "one", arguments: '{"x":1}' },
      { id: "b", name: "two", arguments: '{"y":2}' },
    ]);
  });
});

describe("the settings", () => {
  const read = (env: Record<string, string>) => readConfig({}, env, {});
  const BASE = { WEIR_LLM_BASE_URL: "http://localhost:11434/v1/" };

  test("are read from the environment and from weir.toml, secrets apart", () => {
    const { config, secrets } = readConfig(
      {},
      { ...BASE, WEIR_LLM_MODEL: "qwen3", WEIR_LLM_API_KEY: KEY },
      { llm_timeout: "30", anthropic_api_key: "other" },
    );
    expect(config).toMatchObject({
      llmBaseUrl: "http://localhost:11434/v1",
      llmModel: "qwen3",
      llmTimeoutSeconds: 30,
      llmTokensPerDay: 0,
    });
    expect(secrets).toMatchObject({ llmApiKey: KEY, anthropicApiKey: "other" });
    const shown = JSON.stringify(describeConfig(config, secrets));
    expect(shown).not.toContain(KEY);
    expect(shown).toContain('["WEIR_LLM_API_KEY","***"]');
  });

  test.each([
    [{ WEIR_LLM_BASE_URL: "localhost:11434" }, "WEIR_LLM_BASE_URL"],
    [{ WEIR_LLM_API_KEY: KEY }, "WEIR_LLM_BASE_URL"],
    [{ ...BASE, WEIR_LLM_TIMEOUT: "0" }, "WEIR_LLM_TIMEOUT"],
    [{ ...BASE, WEIR_LLM_TOKENS_PER_DAY: "many" }, "WEIR_LLM_TOKENS_PER_DAY"],
    [{ ANTHROPIC_BASE_URL: "ftp://x" }, "ANTHROPIC_BASE_URL"],
  ])("stop the start if one is invalid: %j", (env, named) => {
    expect(() => read(env as Record<string, string>)).toThrow(named);
  });
});
