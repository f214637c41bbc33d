import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { ELICIT, noteDecline, SAMPLE } from "./declined.ts";
import { LIST_PATIENCE, type Patience } from "./limits.ts";
import { capabilitiesOf, elicited, type Question, Unanswered } from "./questions.ts";
import { type RpcMessage, readMessages, rpcFailure, statusFailure } from "./rpc.ts";
import { eventsOf } from "./sse.ts";
import { watchOver } from "./watch.ts";
import {
  type Answer,
  CLIENT,
  hostOf,
  type McpServer,
  type McpWire,
  noAnswer,
  OtherEra,
  post,
  resume,
  send,
} from "./wire.ts";

const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Maximum number of times that a stream is resumed when it ends before its answer. */
const MAX_RESUMES = 20;

/** Maximum number of server requests that are answered, since each answer is a request. */
export const MAX_REPLIES = 100;

export const initializeParams = (server: McpServer): JsonObject => ({
  protocolVersion: LEGACY_VERSIONS[0],
  capabilities: capabilitiesOf(server),
  clientInfo: CLIENT,
});

/** Returns the version that both sides support. Throws `upstream` if there is none. */
export function agreedVersion(host: string, { protocolVersion }: JsonObject): string {
  if (LEGACY_VERSIONS.some((each) => each === protocolVersion)) return String(protocolVersion);
  throw new AppError("upstream", `${host} uses an unsupported version of MCP.`);
}

type ServerMessage = Extract<RpcMessage, { kind: "request" }>;

/** Returns the answer to a server's request: pings are answered, and forms if a person fills them in. */
export function replyTo(
  server: McpServer,
  { id, ...request }: ServerMessage,
  declined: string[],
  unanswered: (question: Question) => void,
): JsonObject {
  const { method } = request;
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
  if (method === ELICIT)
    return { jsonrpc: "2.0", id, result: elicited(server, request, declined, unanswered) };
  noteDecline(declined, hostOf(server), request);
  const isSampling = method === SAMPLE; // the code for a rejection in revision 2025-11-25
  const error = isSampling
    ? { code: -1, message: "User rejected sampling request" }
    : { code: -32_601, message: "Method not found" };
  return { jsonrpc: "2.0", id, error };
}

/**
 * Streamable HTTP of 2025-03-26 to 2025-11-25: a session that starts with `initialize`.
 * Throws `OtherEra` if the server doesn't support it.
 */
export async function legacyWire(server: McpServer): Promise<McpWire> {
  const host = hostOf(server);
  const declined: string[] = [];
  let lastId = 0;
  let session: { id: string | null; version: string } | null = null;

  const headersOf = (): Record<string, string> => ({
    ...(session ? { "mcp-protocol-version": session.version } : {}),
    ...(session?.id ? { "mcp-session-id": session.id } : {}),
  });

  let question: Question | null = null;
  let replies = 0;
  const onRequest = (message: ServerMessage) => {
    if (++replies > MAX_REPLIES) return;
    const own = watchOver(server.signal, LIST_PATIENCE, host);
    const body = replyTo(server, message, declined, (one) => (question ??= one));
    const reply = { url: server.url, body, headers: headersOf(), watch: own };
    post(server, reply).catch(notHeard).finally(own.close);
  };

  const exchange = async (body: JsonObject, patience: Patience): Promise<Answer> => {
    const watch = watchOver(server.signal, patience, host);
    replies = 0;
    try {
      const request = { url: server.url, body, headers: headersOf(), watch, onRequest };
      let answer = await post(server, request);
      for (let tries = 0; answer.resume !== null && tries < MAX_RESUMES; tries++) {
        const next = await resume(server, request, answer.resume);
        if (next === null) break;
        answer = next;
      }
      if (question !== null) throw new Unanswered(question);
      return answer;
    } catch (error) {
      throw watch.signal.aborted ? watch.signal.reason : error;
    } finally {
      watch.close();
    }
  };

  const initialize = async () => {
    session = null;
    const body = { jsonrpc: "2.0", id: ++lastId, method: "initialize", params: initializeParams(server) };
    const { status, headers, message } = await exchange(body, LIST_PATIENCE);
    if (message?.kind === "result") {
      session = { id: headers.get("mcp-session-id"), version: agreedVersion(host, message.result) };
      await exchange({ jsonrpc: "2.0", method: "notifications/initialized" }, LIST_PATIENCE);
      return;
    }
    if (status === 400 || status === 404 || status === 405) throw new OtherEra();
    if (message?.kind === "error") throw rpcFailure(host, "initialize", message.error);
    if (status >= 300) throw statusFailure(host, status, headers.get("www-authenticate"));
    throw noAnswer(server, "initialize");
  };

  const ask = (method: string, params: JsonObject, patience: Patience) =>
    exchange({ jsonrpc: "2.0", id: ++lastId, method, params }, patience);

  await initialize();
  const life = new AbortController();
  let isListening = server.answer === undefined;
  return {
    era: "legacy",
    declined,
    async request(method, params, patience) {
      if (method === "tools/call" && !isListening) {
        isListening = true;
        const signal = AbortSignal.any([life.signal, server.signal]);
        void listen(server, headersOf(), onRequest, signal).catch(notHeard);
      }
      let answer = await ask(method, params, patience);
      if (answer.status === 404 && session?.id) {
        await initialize(); // the server no longer knows the session
        answer = await ask(method, params, patience);
      }
      const { status, message } = answer;
      if (message?.kind === "result") return isObject(message.result) ? message.result : {};
      if (message?.kind === "error") throw rpcFailure(host, method, message.error);
      if (status >= 300) throw statusFailure(host, status, answer.headers.get("www-authenticate"));
      throw noAnswer(server, method);
    },
    async close() {
      life.abort();
      if (!session?.id) return;
      const signal = AbortSignal.timeout(2_000);
      try {
        const response = await send(server, server.url, { method: "DELETE", headers: headersOf(), signal });
        await response.body.cancel();
      } catch (error) {
        notHeard(error);
      }
    },
  };
}

/** Receives server requests that aren't part of a response, if the server has a stream for them. */
async function listen(
  server: McpServer,
  headers: Record<string, string>,
  onRequest: (message: ServerMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(server, server.url, {
    method: "GET",
    headers: { accept: "text/event-stream", ...headers },
    signal,
  });
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  if (response.status !== 200 || !isStream) return response.body.cancel();
  for await (const { data } of eventsOf(response.body, () => undefined))
    for (const message of await readMessages(data)) if (message.kind === "request") onRequest(message);
}

/** The stream is optional and the session ends without it. Callers get errors from their own requests. */
const notHeard = (_: unknown) => undefined;
