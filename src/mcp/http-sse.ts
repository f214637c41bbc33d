import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { agreedVersion, initializeParams, MAX_REPLIES, replyTo } from "./legacy.ts";
import { LIST_PATIENCE, MAX_ERROR_BYTES, type Patience } from "./limits.ts";
import { type Question, Unanswered } from "./questions.ts";
import { type RpcMessage, readMessages, rpcFailure, statusFailure } from "./rpc.ts";
import { eventsOf } from "./sse.ts";
import { watchOver } from "./watch.ts";
import { hostOf, type McpServer, type McpWire, noAnswer, send } from "./wire.ts";

type Settled = Extract<RpcMessage, { kind: "result" | "error" }>;

/** HTTP+SSE of 2024-11-05: a stream from the server, and a URL for posting requests. */
export async function sseWire(server: McpServer): Promise<McpWire> {
  const host = hostOf(server);
  const life = new AbortController();
  const leave = () => life.abort(server.signal.reason);
  if (server.signal.aborted) leave();
  server.signal.addEventListener("abort", leave, { once: true });
  const declined: string[] = [];
  const pending = new Map<number, (message: Settled | Error) => void>();
  const listeners = new Set<() => void>();
  const opened = Promise.withResolvers<string>();
  opened.promise.catch(waitedForBelow);
  let lastId = 0;
  let replies = 0;
  let question: Question | null = null;

  const fail = (error: Error) => {
    opened.reject(error);
    for (const settle of pending.values()) settle(error);
    pending.clear();
  };

  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const heard = () => {
      for (const listener of listeners) listener();
    };
    for await (const { event, data } of eventsOf(stream, heard)) {
      if (event === "endpoint") opened.resolve(data);
      else
        for (const message of await readMessages(data)) {
          if (message.kind === "request") {
            if (++replies > MAX_REPLIES) continue;
            const reply = replyTo(server, message, declined, (one) => (question ??= one));
            void tell(reply).catch(waitedForBelow);
          } else if (message.kind !== "notification" && typeof message.id === "number") {
            pending.get(message.id)?.(message);
            pending.delete(message.id);
          }
        }
    }
    fail(noAnswer(server, "the stream"));
  };

  let endpoint = "";
  const tell = async (body: JsonObject) => {
    const response = await send(server, endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(body),
      signal: life.signal,
    });
    const { status } = response;
    await response.bytes(MAX_ERROR_BYTES);
    if (status >= 300) throw statusFailure(host, status, response.headers.get("www-authenticate"));
  };

  const ask = async (method: string, params: JsonObject, patience: Patience): Promise<JsonObject> => {
    const id = ++lastId;
    const watch = watchOver(life.signal, patience, host);
    listeners.add(watch.heard);
    try {
      const answer = new Promise<Settled | Error>((resolve) => {
        pending.set(id, resolve);
        watch.signal.addEventListener("abort", () => resolve(watch.signal.reason), { once: true });
      });
      await tell({ jsonrpc: "2.0", id, method, params });
      const message = await answer;
      if (message instanceof Error) throw message;
      if (question !== null) throw new Unanswered(question);
      if (message.kind === "error") throw rpcFailure(host, method, message.error);
      return message.result;
    } finally {
      pending.delete(id);
      listeners.delete(watch.heard);
      watch.close();
    }
  };

  const close = async () => {
    server.signal.removeEventListener("abort", leave);
    life.abort(new AppError("cancelled", "The exchange is over."));
  };

  try {
    endpoint = await open(server, life, listen, opened.promise, fail);
    const result = await ask("initialize", initializeParams(server), LIST_PATIENCE);
    agreedVersion(host, result);
    await tell({ jsonrpc: "2.0", method: "notifications/initialized" });
  } catch (error) {
    await close();
    throw error;
  }
  return { era: "sse", declined, request: ask, close };
}

/** Reads the URL for requests, which the stream starts with. It must be on the same server. */
async function open(
  server: McpServer,
  life: AbortController,
  listen: (stream: ReadableStream<Uint8Array>) => Promise<void>,
  opened: Promise<string>,
  fail: (error: Error) => void,
): Promise<string> {
  const host = hostOf(server);
  const watch = watchOver(life.signal, LIST_PATIENCE, host);
  const late = new Promise<never>((_, reject) => {
    watch.signal.addEventListener("abort", () => reject(watch.signal.reason), { once: true });
  });
  late.catch(waitedForBelow);
  try {
    const request = { method: "GET", headers: { accept: "text/event-stream" }, signal: life.signal };
    const response = await Promise.race([send(server, server.url, request), late]);
    const type = response.headers.get("content-type") ?? "";
    if (response.status !== 200 || !/^text\/event-stream\b/i.test(type)) {
      await response.body.cancel();
      throw statusFailure(host, response.status, response.headers.get("www-authenticate"));
    }
    listen(response.body).catch((error) => fail(life.signal.aborted ? life.signal.reason : error));
    const endpoint = await Promise.race([opened, late]);
    const url = URL.parse(endpoint, server.url);
    if (url && url.origin === new URL(server.url).origin) return url.href;
    throw new AppError("upstream", `${host} returned a request URL on another server, which isn't allowed.`);
  } finally {
    watch.close();
  }
}

/** Awaited elsewhere, where errors are handled. Keeps the rejection from counting as unhandled. */
const waitedForBelow = () => undefined;
