import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { argumentsIn, openCalls } from "./calls.ts";
import type { FinishReason, ModelAdapter, ModelEvent, ModelMessage, ModelRequest } from "./contract.ts";
import { failureInStream, failureOf, type ModelEndpoint } from "./failure.ts";
import { isCut } from "./limits.ts";
import { roomOf } from "./room.ts";
import { eventsOf } from "./sse.ts";

/** Source: https://docs.anthropic.com/en/api/messages-streaming. */
const VERSION = "2023-06-01";
/** The protocol requires a limit. */
const MAX_OUTPUT_TOKENS = 8192;
/** Context length that all of its models have at least. */
const LEAST_ROOM = 200_000;
/** The tool that returns an answer of a given shape. */
const OUTPUT_TOOL = "answer";

interface Options {
  egress: Egress;
  /** Without a trailing slash and without `/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
}

/** Anthropic's Messages API and compatible ones. */
export function anthropic({ egress, baseUrl, apiKey, model: usual }: Options): ModelAdapter {
  return {
    provider: "anthropic",
    model: usual,
    async *stream(request, signal) {
      const model = request.model ?? usual;
      const endpoint: ModelEndpoint = { host: new URL(baseUrl).host, model, secrets: [apiKey] };
      const response = await egress.fetch(`${baseUrl}/v1/messages`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          "x-api-key": apiKey,
          "anthropic-version": VERSION,
        },
        body: JSON.stringify(bodyOf(request, model)),
        signal,
        timeoutMs: 0,
        maxRedirects: 0,
      });
      if (response.status >= 300) throw await failureOf(response, endpoint);
      yield* read(response.body, endpoint, isShaped(request));
    },
    async roomOf(model, signal) {
      const headers = { "x-api-key": apiKey, "anthropic-version": VERSION };
      const url = `${baseUrl}/v1/models/${encodeURIComponent(model)}`;
      return (await roomOf({ egress, url, headers, model, signal })) ?? LEAST_ROOM;
    },
  };
}

/** With other tools, the agent's prompt describes the shape; without, the answer is requested as a call. */
const isShaped = ({ outputSchema, tools = [] }: ModelRequest): boolean =>
  outputSchema?.type === "object" && tools.length === 0;

function bodyOf(request: ModelRequest, model: string): JsonObject {
  const { system, messages, tools = [], temperature, maxOutputTokens, outputSchema } = request;
  const shaped = isShaped(request)
    ? [{ name: OUTPUT_TOOL, description: "Gives the answer.", inputSchema: outputSchema ?? {} }]
    : [];
  const all = [...tools, ...shaped];
  return {
    model,
    stream: true,
    max_tokens: maxOutputTokens ?? MAX_OUTPUT_TOKENS,
    ...(system === "" ? {} : { system }),
    messages: joined(messages),
    ...(all.length === 0
      ? {}
      : {
          tools: all.map(({ name, description, inputSchema }) => ({
            name,
            description,
            input_schema: inputSchema,
          })),
        }),
    ...(shaped.length === 0 ? {} : { tool_choice: { type: "tool", name: OUTPUT_TOOL } }),
    ...(temperature == null ? {} : { temperature: Math.min(1, temperature) }),
  };
}

/** Merges consecutive messages of one role; tool results have the user's role. */
function joined(messages: readonly ModelMessage[]): JsonObject[] {
  const out: { role: string; content: JsonObject[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message);
    const last = out.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) out.push({ role, content });
  }
  return out;
}

function blocksOf(message: ModelMessage): JsonObject[] {
  switch (message.role) {
    case "user":
      return [{ type: "text", text: message.content }];
    case "tool":
      return [
        {
          type: "tool_result",
          tool_use_id: message.callId,
          content: message.content,
          ...(message.isError ? { is_error: true } : {}),
        },
      ];
    case "assistant":
      return [
        ...(message.content === "" ? [] : [{ type: "text", text: message.content }]),
        ...message.calls.map(({ id, name, arguments: text }) => ({
          type: "tool_use",
          id,
          name,
          input: argumentsIn(text) ?? {}, // the result of the call has the error
        })),
      ];
  }
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool-calls",
  refusal: "content-filter",
};

async function* read(
  body: ReadableStream<Uint8Array>,
  endpoint: ModelEndpoint,
  shaped: boolean,
): AsyncGenerator<ModelEvent> {
  const calls = openCalls();
  let reason: FinishReason | null = null;
  let isDone = false;
  let answer = null as JsonObject | null;
  const usage = { inputTokens: 0, outputTokens: 0 };
  const note = (counts: Json | undefined) => {
    if (!isObject(counts)) return;
    const parts = [counts.input_tokens, counts.cache_creation_input_tokens, counts.cache_read_input_tokens];
    const input = parts.reduce<number>((sum, part) => sum + (typeof part === "number" ? part : 0), 0);
    if (input > 0) usage.inputTokens = input;
    if (typeof counts.output_tokens === "number") usage.outputTokens = counts.output_tokens;
  };
  for await (const { data } of eventsOf(body)) {
    const event = parse(data, endpoint);
    const key = String(event.index ?? 0);
    switch (event.type) {
      case "message_start":
        note(isObject(event.message) ? event.message.usage : null);
        break;
      case "content_block_start": {
        const block = isObject(event.content_block) ? event.content_block : {};
        if (block.type !== "tool_use") break;
        // some servers send the input at once, without deltas
        const whole = isObject(block.input) && Object.keys(block.input).length > 0 ? block.input : null;
        if (shaped) answer = whole;
        else
          yield* calls.take({
            key,
            id: String(block.id ?? ""),
            name: String(block.name ?? ""),
            delta: "",
            whole: whole === null ? "" : JSON.stringify(whole),
          });
        break;
      }
      case "content_block_delta": {
        const delta = isObject(event.delta) ? event.delta : {};
        if (typeof delta.text === "string" && delta.text !== "") yield { type: "text", delta: delta.text };
        if (typeof delta.thinking === "string" && delta.thinking !== "")
          yield { type: "reasoning", delta: delta.thinking };
        if (typeof delta.partial_json !== "string" || delta.partial_json === "") break;
        if (shaped) {
          answer = null;
          yield { type: "text", delta: delta.partial_json };
        } else yield* calls.take({ key, id: "", name: "", delta: delta.partial_json });
        break;
      }
      case "message_delta": {
        note(event.usage);
        const why = isObject(event.delta) ? event.delta.stop_reason : null;
        if (typeof why === "string") reason = REASONS[why] ?? "other";
        break;
      }
      case "message_stop":
        isDone = true;
        break;
      case "error": {
        const error = isObject(event.error) ? event.error : {};
        throw failureInStream(String(error.type ?? ""), String(error.message ?? ""), endpoint);
      }
    }
    if (isDone) break;
  }
  if (!isDone)
    throw new AppError("llm_stream_cut", `The model's endpoint ${endpoint.host} ended its reply early.`, {
      retryable: true,
    });
  if (answer) yield { type: "text", delta: JSON.stringify(answer) };
  const none = isCut(reason) ? "" : "{}";
  const whole = calls.all().map((call) => ({ ...call, arguments: call.arguments || none }));
  for (const call of whole) yield { type: "call", call };
  const isAnswer = shaped && reason === "tool-calls";
  yield { type: "finish", reason: isAnswer ? "stop" : (reason ?? "stop"), usage, model: endpoint.model };
}

function parse(data: string, { host }: ModelEndpoint): JsonObject {
  try {
    const event: unknown = parseLossless(data);
    if (isObject(event)) return event;
  } catch (cause) {
    throw new AppError("upstream", `The model's endpoint ${host} sent an event that is not JSON.`, { cause });
  }
  return {};
}
