import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject, SHORT_CHARACTERS } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { JsonRefused, type JsonRules, parseLong } from "../base/json-parse.ts";
import { LongJson } from "../base/long-json.ts";
import { isTooDeep, MAX_DEPTH } from "../catalog/document.ts";
import { withoutUnseen } from "../catalog/tools.ts";
import { MAX_RESULT_BYTES } from "./limits.ts";

/** Error codes of protocol revision 2026-07-28. */
export const HEADER_MISMATCH = -32_020;
export const MISSING_CAPABILITY = -32_021;
export const UNSUPPORTED_VERSION = -32_022;
export const METHOD_NOT_FOUND = -32_601;

export interface RpcError {
  code: number;
  message: string;
  data: Json;
}

/** A request from the server: its method, its message to the person and the form to fill in, if any. */
export interface ServerRequest {
  method: string;
  message: string | null;
  form: JsonObject | null;
}

/** A JSON-RPC message. */
export type RpcMessage =
  | { kind: "result"; id: string | number; result: JsonObject }
  | { kind: "error"; id: string | number | null; error: RpcError }
  | ({ kind: "request"; id: string | number } & ServerRequest)
  | { kind: "notification"; method: string };

/**
 * Parses a text: one message, or a batch as in revision 2025-03-26. Empty if it isn't JSON-RPC. With `isCall`, parts of
 * a result that are far over the limit are `LongJson`.
 */
export async function readMessages(text: string, isCall = false): Promise<RpcMessage[]> {
  let value: Json;
  try {
    value = await valueIn(text, isCall ? CALL_RULES : RULES);
  } catch {
    return []; // an HTML page, a truncated message, or one nested too deep
  }
  return [value].flat().flatMap((each) => readMessage(each as Json) ?? []);
}

/** Throws if it isn't JSON or is nested too deep. */
function valueIn(text: string, rules: JsonRules): Json | Promise<Json> {
  if (text.length > SHORT_CHARACTERS) return parseLong(text, rules);
  if (isTooDeep(text)) throw new JsonRefused("depth");
  return parseLossless(text);
}

const RULES: JsonRules = {
  maxDepth: MAX_DEPTH,
  maxObjects: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxKeys: null,
};

/** Depth 3, since a message contains a result with the parts. A result that is too long is truncated anyway. */
const CALL_RULES: JsonRules = {
  ...RULES,
  asText: {
    depth: 3,
    characters: 2 * MAX_RESULT_BYTES,
    values: 50_000,
    make: (text) => new LongJson(text) as unknown as Json,
  },
};

function readMessage(value: Json): RpcMessage | null {
  if (!isObject(value) || value.jsonrpc !== "2.0") return null;
  const id = typeof value.id === "string" || typeof value.id === "number" ? value.id : null;
  if (isObject(value.error)) {
    const { code, message, data } = value.error;
    const text = typeof message === "string" ? withoutUnseen(message.slice(0, 4_000)).slice(0, 1_000) : "";
    const error = { code: typeof code === "number" ? code : 0, message: text, data: data ?? null };
    return { kind: "error", id, error };
  }
  if (id !== null && value.result !== undefined)
    return { kind: "result", id, result: isObject(value.result) ? value.result : {} };
  if (typeof value.method !== "string") return null;
  return id === null
    ? { kind: "notification", method: value.method }
    : { kind: "request", id, ...serverRequest(value) };
}

/** Reads what is needed of a request. Its message is only shown to people. */
export function serverRequest({ method, params }: JsonObject): ServerRequest {
  const message = isObject(params) ? params.message : null;
  const text =
    typeof message === "string" ? withoutUnseen(message.slice(0, 4_000)).replace(/\s+/g, " ").trim() : "";
  const { mode = "form", requestedSchema = null } = isObject(params) ? params : {};
  return {
    method: typeof method === "string" ? withoutUnseen(method).slice(0, 100) : "",
    message: text === "" ? null : text.slice(0, 300),
    form: mode === "form" && isObject(requestedSchema) ? requestedSchema : null,
  };
}

/** The error for a JSON-RPC error. Its message is the server's own text. */
export const rpcFailure = (host: string, method: string, { code, message }: RpcError) =>
  new AppError("upstream", `${host} refused ${method} (${code}): ${message || "no reason given"}`, {
    details: { rpcCode: code },
  });

/** The error for an HTTP status. `challenge` is kept for callers that need to authorize. */
export const statusFailure = (host: string, status: number, challenge: string | null) =>
  new AppError(
    "upstream",
    status === 401 || status === 403
      ? `${host} requires authorization (${status}). Select a connection with credentials for this API.`
      : `${host} returned ${status}, which isn't an MCP response.`,
    {
      retryable: status >= 500 || status === 429,
      details: { status, ...(challenge === null ? {} : { challenge: challenge.slice(0, 2_000) }) },
    },
  );
