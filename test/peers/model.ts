import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One action of a model in its reply. */
export type Move =
  | { text: string }
  | { reasoning: string }
  /** A call; `arguments` is sent unchanged, in pieces. */
  | { call: string; arguments: unknown; id?: string }
  /** Nothing for this many milliseconds. */
  | { pause: number }
  /** Nothing until the test resolves it. */
  | { hold: Promise<unknown> }
  /** Continues once this is true, for example when the text so far has been read. */
  | { until: () => boolean }
  /** The connection closes in the middle. */
  | { cut: true }
  /** An error within the stream. */
  | { error: { type: string; message: string } }
  /** Bytes, unchanged. */
  | { raw: string }
  /** Endless text, in pieces of this many characters, until the other side disconnects. */
  | { flood: number };

/** A complete reply: what the model does, or an error before it begins. */
export type Script =
  | { moves: readonly Move[]; usage?: { input: number; output: number }; reason?: string }
  | { status: number; body?: unknown; headers?: Record<string, string> };

/** A request as the peer received it. */
export interface Heard {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read requests of both protocols
  body: any;
  /** Resolves when the other side has disconnected, before or after the reply was complete. */
  gone: Promise<void>;
}

export const says = (text: string, usage = { input: 10, output: 5 }): Script => ({
  moves: [...text].reduce<Move[]>((moves, letter, at) => {
    if (at % 3 === 0) moves.push({ text: letter });
    else (moves.at(-1) as { text: string }).text += letter;
    return moves;
  }, []),
  usage,
});

export const calls = (name: string, input: unknown, id?: string): Script => ({
  moves: [{ call: name, arguments: input, ...(id === undefined ? {} : { id }) }],
  usage: { input: 20, output: 10 },
});

/** The replies in order, or a function of each request. */
export type ModelScript = readonly Script[] | ((heard: Heard, turn: number) => Script | Promise<Script>);

const nextOf = (script: ModelScript) =>
  typeof script === "function" ? script : (_: Heard, turn: number) => script[turn];

/**
 * A model at a real socket, with chat completions at `/v1` and Anthropic's Messages at its root, that follows its
 * script: each request takes the next reply, or what `script` returns for it. `models` is its list of models.
 */
export async function startModel(script: ModelScript, models: readonly object[] = []) {
  const heard: Heard[] = [];
  let next = nextOf(script);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === "GET") return void response.end(JSON.stringify({ data: models }));
    const gone = Promise.withResolvers<void>();
    response.on("close", () => gone.resolve());
    const one: Heard = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || "null"),
      gone: gone.promise,
    };
    heard.push(one);
    const given = (await next(one, heard.length - 1)) ?? {
      status: 500,
      body: { error: "The script is over." },
    };
    if ("status" in given) {
      response.writeHead(given.status, { "content-type": "application/json", ...given.headers });
      return void response.end(
        typeof given.body === "string" ? given.body : JSON.stringify(given.body ?? { error: {} }),
      );
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    await (one.path.endsWith("/messages") ? asMessages : asCompletions)(response, given);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    /** Settings for a server that uses this model. */
    env: {
      WEIR_LLM_BASE_URL: `${origin}/v1`,
      WEIR_LLM_MODEL: "peer-1",
      WEIR_LLM_API_KEY: "the-key-of-the-model",
    },
    anthropicEnv: { ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: "the-key-of-the-model" },
    heard,
    /** Replaces the script, and forgets the requests so far. */
    play(other: ModelScript) {
      next = nextOf(other);
      heard.length = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Reply = Extract<Script, { moves: readonly Move[] }>;
type Write = (data: object, event?: string) => void;

const writer =
  (response: ServerResponse): Write =>
  (data, event) => {
    if (!response.destroyed)
      response.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
  };

/** Splits a text, so that reading it requires joining. */
const pieces = (text: string): string[] => text.match(/[\s\S]{1,7}/g) ?? [];
const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns true if the action has ended the stream. */
async function common(response: ServerResponse, move: Move): Promise<boolean> {
  if ("pause" in move) await Bun.sleep(move.pause);
  if ("hold" in move) await move.hold;
  if ("raw" in move) response.write(move.raw);
  if ("until" in move) while (!move.until()) await Bun.sleep(5);
  if ("cut" in move) response.destroy();
  return response.destroyed;
}

async function flood(response: ServerResponse, write: () => void): Promise<void> {
  for (let n = 0; n < 100_000 && !response.destroyed; n++) {
    write();
    if (n % 8 === 0) await Bun.sleep(0);
  }
}

async function asCompletions(response: ServerResponse, { moves, usage, reason }: Reply): Promise<void> {
  const write = writer(response);
  const delta = (content: object, finish: string | null = null) =>
    write({
      id: "c",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: content, finish_reason: finish }],
    });
  delta({ role: "assistant", content: "" });
  let at = 0;
  for (const move of moves) {
    if (await common(response, move)) return;
    if ("text" in move) delta({ content: move.text });
    if ("reasoning" in move) delta({ reasoning_content: move.reasoning });
    if ("error" in move) write({ error: move.error });
    if ("flood" in move) await flood(response, () => delta({ content: "x".repeat(move.flood) }));
    if ("call" in move) {
      const index = at++;
      const id = move.id ?? `call_${index}`;
      delta({ tool_calls: [{ index, id, type: "function", function: { name: move.call, arguments: "" } }] });
      for (const piece of pieces(textOf(move.arguments)))
        delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  delta({}, reason ?? (at > 0 ? "tool_calls" : "stop"));
  if (usage) write({ choices: [], usage: { prompt_tokens: usage.input, completion_tokens: usage.output } });
  response.end("data: [DONE]\n\n");
}

async function asMessages(response: ServerResponse, { moves, usage, reason }: Reply): Promise<void> {
  const write = writer(response);
  const tell = (type: string, more: object) => write({ type, ...more }, type);
  tell("message_start", {
    message: { id: "m", usage: { input_tokens: usage?.input ?? 0, output_tokens: 1 } },
  });
  tell("ping", {});
  let index = -1;
  let open: string | null = null;
  let hasCalls = false;
  const block = (kind: string, content: object) => {
    if (open === kind && kind !== "tool_use") return;
    if (open !== null) tell("content_block_stop", { index });
    open = kind;
    tell("content_block_start", { index: ++index, content_block: { type: kind, ...content } });
  };
  const delta = (content: object) => tell("content_block_delta", { index, delta: content });
  for (const move of moves) {
    if (await common(response, move)) return;
    if ("text" in move) {
      block("text", { text: "" });
      delta({ type: "text_delta", text: move.text });
    }
    if ("reasoning" in move) {
      block("thinking", { thinking: "" });
      delta({ type: "thinking_delta", thinking: move.reasoning });
    }
    if ("error" in move) tell("error", { error: move.error });
    if ("flood" in move) {
      block("text", { text: "" });
      await flood(response, () => delta({ type: "text_delta", text: "x".repeat(move.flood) }));
    }
    if ("call" in move) {
      hasCalls = true;
      block("tool_use", { id: move.id ?? `toolu_${index + 1}`, name: move.call, input: {} });
      for (const piece of pieces(textOf(move.arguments)))
        delta({ type: "input_json_delta", partial_json: piece });
    }
  }
  if (open !== null) tell("content_block_stop", { index });
  tell("message_delta", {
    delta: { stop_reason: reason ?? (hasCalls ? "tool_use" : "end_turn") },
    usage: { output_tokens: usage?.output ?? 0 },
  });
  tell("message_stop", {});
  response.end();
}
