import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { DECLINE, ELICIT, noteDecline, SAMPLE } from "./declined.ts";
import { LIST_PATIENCE, type Patience } from "./limits.ts";
import { type RpcMessage, rpcFailure, statusFailure } from "./rpc.ts";
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

/** A stream that goes on ending before its answer is taken up so often. */
const MAX_RESUMES = 20;

/** What a server asks meanwhile is answered so often: each answer is a request of ours. */
export const MAX_REPLIES = 100;

export const INITIALIZE = {
  protocolVersion: LEGACY_VERSIONS[0],
  capabilities: {},
  clientInfo: CLIENT,
};

/** The version that both sides speak; throws `upstream` where there is none. */
export function agreedVersion(host: string, { protocolVersion }: JsonObject): string {
  if (LEGACY_VERSIONS.some((each) => each === protocolVersion)) return String(protocolVersion);
  throw new AppError("upstream", `${host} speaks a version of MCP that Weir does not know.`);
}

/** What we say to a server that asks us something: we are there, and nobody answers its questions. */
export function replyTo(
  host: string,
  { id, ...request }: Extract<RpcMessage, { kind: "request" }>,
  declined: string[],
): JsonObject {
  const { method } = request;
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
  noteDecline(declined, host, request);
  if (method === ELICIT) return { jsonrpc: "2.0", id, result: DECLINE };
  const isSampling = method === SAMPLE; // the code that the revision of 2025-11-25 gives for a no
  const error = isSampling
    ? { code: -1, message: "User rejected sampling request" }
    : { code: -32_601, message: "Method not found" };
  return { jsonrpc: "2.0", id, error };
}

/**
 * Streamable HTTP of 2025-03-26 to 2025-11-25: a session that begins with `initialize`. Throws `OtherEra` where the
 * server does not know that either.
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

  const exchange = async (body: JsonObject, patience: Patience): Promise<Answer> => {
    const watch = watchOver(server.signal, patience, host);
    let replies = 0;
    const asked = (message: Extract<RpcMessage, { kind: "request" }>) => {
      if (++replies > MAX_REPLIES) return;
      const own = watchOver(server.signal, LIST_PATIENCE, host);
      const body = replyTo(host, message, declined);
      const reply = { url: server.url, body, headers: headersOf(), watch: own };
      post(server, reply).catch(notHeard).finally(own.close);
    };
    try {
      const request = { url: server.url, body, headers: headersOf(), watch, asked };
      let answer = await post(server, request);
      for (let tries = 0; answer.resume !== null && tries < MAX_RESUMES; tries++) {
        const next = await resume(server, request, answer.resume);
        if (next === null) break;
        answer = next;
      }
      return answer;
    } catch (error) {
      throw watch.signal.aborted ? watch.signal.reason : error;
    } finally {
      watch.close();
    }
  };

  const initialize = async () => {
    session = null;
    const body = { jsonrpc: "2.0", id: ++lastId, method: "initialize", params: { ...INITIALIZE } };
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
  return {
    era: "legacy",
    declined,
    async request(method, params, patience) {
      let answer = await ask(method, params, patience);
      if (answer.status === 404 && session?.id) {
        await initialize(); // the server has forgotten the session
        answer = await ask(method, params, patience);
      }
      const { status, message } = answer;
      if (message?.kind === "result") return isObject(message.result) ? message.result : {};
      if (message?.kind === "error") throw rpcFailure(host, method, message.error);
      if (status >= 300) throw statusFailure(host, status, answer.headers.get("www-authenticate"));
      throw noAnswer(server, method);
    },
    async close() {
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

/** The server may do without: it forgets sessions by itself, and whoever waits for it has heard of its end. */
const notHeard = (_: unknown) => undefined;
