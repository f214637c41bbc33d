import type { Egress, EgressResponse } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { Transport } from "../catalog/contract.ts";
import type { Grant } from "../providers/contract.ts";
import { version } from "../version.ts";
import type { Patience } from "./limits.ts";
import { MAX_ERROR_BYTES, MAX_WIRE_BYTES } from "./limits.ts";
import { type RpcError, type RpcMessage, readMessages } from "./rpc.ts";
import { readEvents, tooLarge } from "./sse.ts";
import type { Watch } from "./watch.ts";

/** An MCP server, and what to reach it with. */
export interface McpPlace {
  url: string;
  transport: Transport;
  egress: Egress;
  /** What carries the credentials; null for none. Asked before each request. */
  authorize: (() => Promise<Grant>) | null;
  signal: AbortSignal;
}

/** A way of speaking with one server. */
export interface McpWire {
  readonly era: "modern" | "legacy" | "sse";
  /** The result of one request. `headers` go with it where the protocol has a place for them. */
  request(
    method: string,
    params: JsonObject,
    patience: Patience,
    headers?: Record<string, string>,
  ): Promise<JsonObject>;
  /** Ends the session where there is one. Does not throw. */
  close(): Promise<void>;
}

export const CLIENT = { name: "weir", version };

export const hostOf = (place: McpPlace) => new URL(place.url).host;

/** What came back of one POST. */
export interface Answer {
  status: number;
  headers: Headers;
  message: Extract<RpcMessage, { kind: "result" | "error" }> | null;
}

interface Post {
  url: string;
  body: JsonObject;
  headers: Record<string, string>;
  watch: Watch;
  /** What the server asks of us meanwhile. */
  asked?: (message: Extract<RpcMessage, { kind: "request" }>) => void;
}

/** Sends one request as the caller's, with its credentials; redirects go through the same gate. */
export async function send(
  place: McpPlace,
  url: string,
  request: { method: string; headers: Record<string, string>; body?: string; signal: AbortSignal },
): Promise<EgressResponse> {
  const grant = await place.authorize?.();
  const target = new URL(url);
  for (const [name, value] of Object.entries(grant?.query ?? {})) target.searchParams.set(name, value);
  return place.egress.fetch(target.href, {
    method: request.method,
    headers: { ...request.headers, ...grant?.headers, "user-agent": "Weir" },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal: request.signal,
    timeoutMs: 0, // the watch has its own limits
    credentialHeaders: [...Object.keys(grant?.headers ?? {}), "mcp-session-id"],
  });
}

/** Posts one message and reads until it is answered, from JSON or from a stream. */
export async function post(place: McpPlace, { url, body, headers, watch, asked }: Post): Promise<Answer> {
  const response = await send(place, url, {
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
    const message = await answerIn(response.body, body.id as number, watch, asked);
    return { status, headers: response.headers, message };
  }
  const { bytes, truncated } = await response.bytes(isGood ? MAX_WIRE_BYTES : MAX_ERROR_BYTES);
  if (truncated && isGood) throw tooLarge();
  const found = readMessages(new TextDecoder().decode(bytes)).find(
    (each) => each.kind === "error" || (each.kind === "result" && each.id === body.id),
  );
  return { status, headers: response.headers, message: (found as Answer["message"]) ?? null };
}

async function answerIn(
  stream: ReadableStream<Uint8Array>,
  id: number,
  watch: Watch,
  asked: Post["asked"],
): Promise<Answer["message"]> {
  for await (const { data } of readEvents(stream, watch.heard, MAX_WIRE_BYTES)) {
    for (const message of readMessages(data)) {
      if (message.kind === "request") asked?.(message);
      else if (
        message.kind !== "notification" &&
        (message.id === id || (message.kind === "error" && message.id === null))
      )
        return message;
    }
  }
  return null;
}

export const noAnswer = (place: McpPlace, method: string) =>
  new AppError("upstream", `${hostOf(place)} closed the connection before it had answered ${method}.`, {
    retryable: true,
  });

/** Thrown where a server speaks another revision than was tried. */
export class OtherEra extends Error {
  readonly supported: readonly string[];
  constructor(supported: readonly string[] = []) {
    super("The server speaks another revision.");
    this.supported = supported;
  }
}

export const supportedIn = ({ data }: RpcError): string[] => {
  const supported = typeof data === "object" && data !== null && !Array.isArray(data) ? data.supported : null;
  return Array.isArray(supported) ? supported.filter((each) => typeof each === "string") : [];
};
