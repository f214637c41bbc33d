import type { EgressResponse } from "../base/egress.ts";
import { AppError, type ErrorCode } from "../base/errors.ts";
import { hideSecrets } from "../base/hide.ts";
import { isObject, type Json } from "../base/json.ts";
import { maskSecrets } from "../base/mask.ts";
import type { FinishReason } from "./contract.ts";

/** Number of bytes read of an error body, and maximum length of its message. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_TOLD_CHARACTERS = 500;
/** Longer pauses requested by an endpoint aren't waited for. */
const MAX_RETRY_AFTER_SECONDS = 3600;

/** The endpoint that failed, as far as an error may mention it. */
export interface ModelEndpoint {
  /** The endpoint's host. */
  host: string;
  model: string;
  /** Values to mask in errors, because an endpoint may echo them. */
  secrets: readonly string[];
}

const CONTEXT =
  /context.{0,20}(length|window|size)|maximum context|too many tokens|prompt is too long|input.{0,20}too long|exceed.{0,30}(context|token limit)|reduce the length/i;
const NO_MODEL =
  /model.{0,60}(not found|not exist|unknown|not available|does not|invalid|not supported|no such)|(unknown|invalid|no such) model|model_not_found|try pulling/i;
const OVERLOADED = /overloaded|capacity|temporarily unavailable|server is busy|loading model/i;

/** The error for a response of 400 or more; reads its body. */
export async function failureOf(response: EgressResponse, endpoint: ModelEndpoint): Promise<AppError> {
  const { bytes } = await response.bytes(MAX_BODY_BYTES);
  const text = new TextDecoder().decode(bytes);
  const message = saidIn(text);
  const retryAfterSeconds = retryAfterOf(response.headers.get("retry-after"));
  return describe(response.status, message, endpoint, retryAfterSeconds);
}

/** The error that an endpoint reports within its stream. */
export const failureInStream = (type: string, message: string, endpoint: ModelEndpoint): AppError =>
  describe(
    /rate.?limit/i.test(type) ? 429 : /overload/i.test(type) ? 529 : 500,
    `${type} ${message}`,
    endpoint,
  );

function describe(
  status: number,
  text: string,
  endpoint: ModelEndpoint,
  retryAfterSeconds?: number,
): AppError {
  const { host, model } = endpoint;
  const details = { status, said: safeText(text, endpoint) };
  const make = (code: ErrorCode, message: string, retryable = false) =>
    new AppError(code, message, {
      retryable,
      details,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  const tail = details.said === "" ? "." : `: ${details.said}`;
  if (status === 401 || status === 403)
    return make(
      "llm_unauthorized",
      `The model's endpoint ${host} rejected the key (${status}). Check WEIR_LLM_API_KEY or ANTHROPIC_API_KEY.`,
    );
  if (status === 413 || (status < 500 && CONTEXT.test(text)))
    return make(
      "llm_context_too_long",
      `The conversation is longer than ${model} can take. Start a new one, or ask for less at once.`,
    );
  if (status === 404 || (status < 500 && NO_MODEL.test(text)))
    return make("llm_model_unknown", `The endpoint ${host} has no model ${model}${tail}`);
  if (status === 429) {
    const wait = retryAfterSeconds === undefined ? "a little later" : `in ${retryAfterSeconds} s`;
    return make(
      "llm_rate_limited",
      `The model's endpoint ${host} has reached its rate limit. Try again ${wait}.`,
      true,
    );
  }
  if (status === 503 || status === 529 || OVERLOADED.test(text))
    return make(
      "llm_overloaded",
      `The model's endpoint ${host} is overloaded (${status}). Try again later.`,
      true,
    );
  if (status >= 500 || status === 408)
    return make("upstream", `The model's endpoint ${host} failed (${status})${tail}`, true);
  return make("llm_refused", `The model's endpoint ${host} refused the request (${status})${tail}`);
}

/** The message in an error body, from any of the usual fields. */
function saidIn(text: string): string {
  let body: Json;
  try {
    body = JSON.parse(text);
  } catch {
    return text.startsWith("<") ? "" : text; // a proxy's HTML page isn't useful
  }
  const error = isObject(body) ? (body.error ?? body) : body;
  if (typeof error === "string") return error;
  if (!isObject(error)) return "";
  const parts = [error.code, error.type, error.message ?? error.detail];
  return parts.filter((part) => typeof part === "string").join(" ");
}

/** Makes an endpoint's message fit for users: without the key, and short. */
const safeText = (text: string, { secrets }: ModelEndpoint): string =>
  String(maskSecrets(hideSecrets(text.trim(), secrets)))
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .slice(0, MAX_TOLD_CHARACTERS);

/** Seconds; HTTP dates are ignored, because no model endpoint sends one. */
function retryAfterOf(header: string | null): number | undefined {
  if (header === null || !/^\d+(\.\d+)?$/.test(header.trim())) return undefined;
  return Math.min(MAX_RETRY_AFTER_SECONDS, Math.ceil(Number(header)));
}

/** Why a reply isn't whole; null if it is. */
export function cutOff(reason: FinishReason): AppError | null {
  if (reason === "length")
    return new AppError(
      "output_invalid",
      "The model's answer was cut off: it reached the maximum length. Ask for a shorter answer.",
    );
  if (reason === "content-filter")
    return new AppError("llm_refused", "The model's provider blocked the answer, in whole or in part.");
  return null;
}
