import type { Egress, EgressResponse } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { argumentsIn, openCalls } from "./calls.ts";
import type { FinishReason, ModelAdapter, ModelEvent, ModelMessage, ModelRequest } from "./contract.ts";
import { failureInStream, failureOf, type ModelEndpoint } from "./failure.ts";
import { isCut, MAX_REPLY_CHARACTERS } from "./limits.ts";
import { roomOf } from "./room.ts";
import { eventsOf } from "./sse.ts";

/** Status codes of endpoints that don't support a response schema; the request is repeated without it. */
const SHAPELESS = new Set([400, 422]);

interface Options {
  egress: Egress;
  /** Without a trailing slash, such as `http://localhost:11434/v1`. */
  baseUrl: string;
  apiKey: string | null;
  model: string;
}

/** An endpoint with the chat-completions protocol: Ollama, vLLM, llama.cpp, most hosted ones. */
export function openAiCompatible({ egress, baseUrl, apiKey, model: usual }: Options): ModelAdapter {
  return {
    provider: "openai-compatible",
    model: usual,
    async *stream(request, signal) {
      const model = request.model ?? usual;
      const endpoint: ModelEndpoint = {
        host: new URL(baseUrl).host,
        model,
        secrets: apiKey === null ? [] : [apiKey],
      };
      const ask = (modelRequest: ModelRequest) =>
        egress.fetch(`${baseUrl}/chat/completions`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "text/event-stream",
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          body: JSON.stringify(bodyOf(modelRequest, model)),
          signal,
          timeoutMs: 0,
          maxRedirects: 0,
        });
      let response = await ask(request);
      if (SHAPELESS.has(response.status) && request.outputSchema != null) {
        await response.body.cancel();
        response = await ask({ ...request, outputSchema: null });
      }
      if (response.status >= 300) throw await failureOf(response, endpoint);
      const isWhole = /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
      yield* isWhole ? readWhole(response, endpoint) : read(response.body, endpoint);
    },
    roomOf(model, signal) {
      const headers: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
      return roomOf({ egress, url: `${baseUrl}/models`, headers, model, signal });
    },
  };
}

function bodyOf(request: ModelRequest, model: string): JsonObject {
  const { system, messages, tools = [], temperature, maxOutputTokens, outputSchema } = request;
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages.map(messageOf)],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: "function",
            function: { name, description, parameters: inputSchema },
          })),
        }),
    ...(temperature == null ? {} : { temperature }),
    ...(maxOutputTokens == null ? {} : { max_tokens: maxOutputTokens }),
    ...(outputSchema == null
      ? {}
      : {
          response_format: { type: "json_schema", json_schema: { name: "output", schema: outputSchema } },
        }),
  };
}

function messageOf(message: ModelMessage): JsonObject {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.content };
    case "assistant":
      return {
        role: "assistant",
        content: message.content === "" && message.calls.length > 0 ? null : message.content,
        ...(message.calls.length === 0
          ? {}
          : {
              tool_calls: message.calls.map(({ id, name, arguments: text }) => ({
                id,
                type: "function",
                // Servers parse the arguments of earlier calls: Ollama and vLLM refuse any that aren't an object.
                function: { name, arguments: argumentsIn(text) === null ? "{}" : text },
              })),
            }),
      };
  }
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  max_tokens: "length",
  model_length: "length", // Mistral
  content_filter: "content-filter",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  error: "error", // OpenRouter, Mistral
  abort: "error", // vLLM
  insufficient_system_resource: "error", // DeepSeek
};

async function* read(body: ReadableStream<Uint8Array>, endpoint: ModelEndpoint): AsyncGenerator<ModelEvent> {
  const calls = openCalls();
  let reason: FinishReason | null = null;
  let isDone = false;
  let isRefused = false;
  let usage = { inputTokens: 0, outputTokens: 0 };
  for await (const { data } of eventsOf(body)) {
    if (data === "[DONE]") {
      isDone = true;
      break;
    }
    const chunk = parse(data, endpoint);
    if (isObject(chunk.error) || typeof chunk.error === "string") throw toldIn(chunk.error, endpoint);
    if (isObject(chunk.usage)) {
      usage = {
        inputTokens: count(chunk.usage.prompt_tokens),
        outputTokens: count(chunk.usage.completion_tokens),
      };
    }
    const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
    if (!isObject(choice)) continue;
    const delta = isObject(choice.delta) ? choice.delta : {};
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (typeof thought === "string" && thought !== "") yield { type: "reasoning", delta: thought };
    if (typeof delta.content === "string" && delta.content !== "")
      yield { type: "text", delta: delta.content };
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      isRefused = true;
      yield { type: "text", delta: delta.refusal };
    }
    for (const [position, call] of (Array.isArray(delta.tool_calls) ? delta.tool_calls : []).entries()) {
      if (!isObject(call)) continue;
      const callFunction = isObject(call.function) ? call.function : {};
      yield* calls.take({
        key: String(call.index ?? position),
        id: typeof call.id === "string" ? call.id : "",
        name: typeof callFunction.name === "string" ? callFunction.name : "",
        // some servers send the arguments as an object
        delta:
          typeof callFunction.arguments === "string"
            ? callFunction.arguments
            : stated(callFunction.arguments),
      });
    }
    if (typeof choice.finish_reason === "string") reason = REASONS[choice.finish_reason] ?? "other";
  }
  if (reason === "error" || (reason === null && !isDone))
    throw new AppError("llm_stream_cut", `The model's endpoint ${endpoint.host} ended its reply early.`, {
      retryable: true,
    });
  if (isRefused) reason = "content-filter";
  const whole = calls.all();
  for (const call of whole) yield { type: "call", call };
  yield {
    type: "finish",
    reason: whole.length > 0 && !isCut(reason) ? "tool-calls" : (reason ?? "stop"),
    usage,
    model: endpoint.model,
  };
}

/** Some servers don't stream: their single object is read as a stream of one piece. */
async function* readWhole(response: EgressResponse, endpoint: ModelEndpoint): AsyncGenerator<ModelEvent> {
  const { bytes, truncated } = await response.bytes(MAX_REPLY_CHARACTERS);
  if (truncated) throw new AppError("response_too_large", "The model's reply is too large.");
  const reply = parse(new TextDecoder().decode(bytes), endpoint);
  const choices = (Array.isArray(reply.choices) ? reply.choices : []).map((choice) =>
    isObject(choice) ? { ...choice, delta: choice.message ?? {} } : choice,
  );
  const events = `data: ${JSON.stringify({ ...reply, choices })}\n\ndata: [DONE]\n\n`;
  yield* read(new Blob([events]).stream() as ReadableStream<Uint8Array>, endpoint);
}

const stated = (value: Json | undefined): string => (isObject(value) ? JSON.stringify(value) : "");
const count = (value: Json | undefined): number => (typeof value === "number" && value > 0 ? value : 0);

function parse(data: string, { host }: ModelEndpoint): JsonObject {
  try {
    const chunk: unknown = parseLossless(data);
    if (isObject(chunk)) return chunk;
  } catch (cause) {
    throw new AppError("upstream", `The model's endpoint ${host} sent an event that is not JSON.`, { cause });
  }
  return {};
}

function toldIn(error: JsonObject | string, endpoint: ModelEndpoint): AppError {
  if (typeof error === "string") return failureInStream("", error, endpoint);
  const type = [error.type, error.code].filter((part) => typeof part === "string").join(" ");
  return failureInStream(type, typeof error.message === "string" ? error.message : "", endpoint);
}
