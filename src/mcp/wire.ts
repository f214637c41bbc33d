import type { Egress, EgressResponse } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { withCredentials } from "../base/http-message.ts";
import type { JsonObject } from "../base/json.ts";
import type { SseEvent } from "../base/sse.ts";
import type { Authority, Transport } from "../catalog/contract.ts";
import { version } from "../version.ts";
import type { Patience } from "./limits.ts";
import { MAX_ERROR_BYTES, MAX_WIRE_BYTES } from "./limits.ts";
import type { Question } from "./questions.ts";
import { type RpcError, type RpcMessage, readMessages } from "./rpc.ts";
import { eventsOf, tooLarge } from "./sse.ts";
import type { Watch } from "./watch.ts";

/** An MCP server and how to reach it. */
export interface McpServer {
  url: string;
  transport: Transport;
  egress: Egress;
  /** Supplies the credentials before each request. Null for none. */
  authority: Authority | null;
  signal: AbortSignal;
  /** Returns a person's answer to a form of the server. If absent, Weir doesn't offer to fill in forms. */
  answer?: ((question: Question) => JsonObject | "unanswered" | "declined") | undefined;
}

/** A protocol connection with one server. */
export interface McpWire {
  readonly era: "modern" | "legacy" | "sse";
  /** Requests to the person or a model that were declined during calls, as sentences. */
  readonly declined: string[];
  /** Returns the result of one request. `headers` are sent if the protocol has a place for them. */
  request(
    method: string,
    params: JsonObject,
    patience: Patience,
    headers?: Record<string, string>,
  ): Promise<JsonObject>;
  /** Ends the session, if any. Never throws. */
  close(): Promise<void>;
}

export const CLIENT = { name: "weir", version };

export const hostOf = (server: McpServer) => new URL(server.url).host;

/** The response to one POST. */
export interface Answer {
  status: number;
  headers: Headers;
  message: Extract<RpcMessage, { kind: "result" | "error" }> | null;
  /** Where and when to resume a stream that ended before its answer. */
  resume: { id: string; retryMs: number } | null;
}

interface Post {
  url: string;
  body: JsonObject;
  headers: Record<string, string>;
  watch: Watch;
  /** Called for requests from the server. */
  onRequest?: (message: Extract<RpcMessage, { kind: "request" }>) => void;
}

interface Sent {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** One retry for an expired token, one for a token with too few scopes. */
const MAX_TRIES = 3;

/**
 * Sends one request with the caller's credentials. Redirects go through the same egress policy.
 * The server's authority is notified of a rejection, and can have the request sent again.
 */
export async function send(server: McpServer, url: string, request: Sent): Promise<EgressResponse> {
  const { authority } = server;
  for (let tries = 1; ; tries++) {
    const response = await sendOnce(server, url, request);
    const { status, headers } = response;
    if (authority === null || (status !== 401 && status !== 403) || tries >= MAX_TRIES) return response;
    let isWorthIt = true;
    try {
      isWorthIt = await authority.refused({ status, challenge: headers.get("www-authenticate") });
    } finally {
      if (isWorthIt) await response.body.cancel();
    }
    if (!isWorthIt) return response;
  }
}

async function sendOnce(server: McpServer, url: string, request: Sent): Promise<EgressResponse> {
  const grant = await server.authority?.authorize();
  const target = withCredentials(url, grant ?? { query: {} });
  return server.egress.fetch(target.href, {
    method: request.method,
    headers: { ...request.headers, ...grant?.headers, "user-agent": "Weir" },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal: request.signal,
    timeoutMs: 0, // the watch has its own limits
    credentialHeaders: [...Object.keys(grant?.headers ?? {}), "mcp-session-id"],
  });
}

/** Posts one message and reads until its answer, from JSON or a stream. */
export async function post(
  server: McpServer,
  { url, body, headers, watch, onRequest }: Post,
): Promise<Answer> {
  const response = await send(server, url, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
    signal: watch.signal,
  });
  watch.heard();
  const { status } = response;
  const type = response.headers.get("content-type") ?? "";
  const isGood = status >= 200 && status < 300;
  if (isGood && /^text\/event-stream\b/i.test(type)) {
    return { status, headers: response.headers, ...(await answerIn(response.body, body, watch, onRequest)) };
  }
  const { bytes, truncated } = await response.bytes(isGood ? MAX_WIRE_BYTES : MAX_ERROR_BYTES);
  if (truncated && isGood) throw tooLarge();
  const found = (await readMessages(new TextDecoder().decode(bytes), isCall(body))).find(
    (each) => each.kind === "error" || (each.kind === "result" && each.id === body.id),
  );
  return { status, headers: response.headers, message: (found as Answer["message"]) ?? null, resume: null };
}

/** Resumes a stream that ended before the answer to `body` (2025-11-25). Null if the server can't. */
export async function resume(
  server: McpServer,
  { url, body, headers, watch, onRequest }: Post,
  { id, retryMs }: NonNullable<Answer["resume"]>,
): Promise<Answer | null> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, retryMs); // a real timer, since the network takes real time
    watch.signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
  });
  const response = await send(server, url, {
    method: "GET",
    headers: { accept: "text/event-stream", ...headers, "last-event-id": id },
    signal: watch.signal,
  });
  watch.heard();
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  if (response.status === 200 && isStream) {
    const answer = await answerIn(response.body, body, watch, onRequest);
    return { status: 200, headers: response.headers, ...answer };
  }
  await response.body.cancel();
  return null;
}

/** Delay before resuming a stream that doesn't specify one, and the maximum. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

const isCall = ({ method }: JsonObject): boolean => method === "tools/call";

async function answerIn(
  stream: ReadableStream<Uint8Array>,
  body: JsonObject,
  watch: Watch,
  onRequest: Post["onRequest"],
): Promise<Pick<Answer, "message" | "resume">> {
  let last: SseEvent | null = null;
  for await (const event of eventsOf(stream, watch.heard, MAX_WIRE_BYTES)) {
    const { data } = event;
    last = event;
    for (const message of await readMessages(data, isCall(body))) {
      if (message.kind === "request") onRequest?.(message);
      else if (
        message.kind !== "notification" &&
        (message.id === body.id || (message.kind === "error" && message.id === null))
      )
        return { message, resume: null };
    }
  }
  if (last === null || last.id === null) return { message: null, resume: null };
  return {
    message: null,
    resume: { id: last.id, retryMs: Math.min(last.retryMs ?? RETRY_MS, MAX_RETRY_MS) },
  };
}

export const noAnswer = (server: McpServer, method: string) =>
  new AppError("upstream", `${hostOf(server)} closed the connection before it answered ${method}.`, {
    retryable: true,
  });

/** Thrown if a server speaks another revision than the one tried. */
export class OtherEra extends Error {
  readonly supported: readonly string[];
  constructor(supported: readonly string[] = []) {
    super("The server uses another revision of the protocol.");
    this.supported = supported;
  }
}

export const supportedIn = ({ data }: RpcError): string[] => {
  const supported = typeof data === "object" && data !== null && !Array.isArray(data) ? data.supported : null;
  return Array.isArray(supported) ? supported.filter((each) => typeof each === "string") : [];
};
