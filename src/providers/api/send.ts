import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { charsetIn } from "../../base/http-message.ts";
import { SHORT_CHARACTERS } from "../../base/json.ts";
import { parseExact } from "../../base/json-numbers.ts";
import { JsonRefused, type JsonRules, parseLong } from "../../base/json-parse.ts";
import { type RepeatedKey, repeatedKeys } from "../../base/repeated-keys.ts";
import { type Draw, draw, hold, pause, throttled, type Waiter } from "./throttle.ts";

/** Meaning of a response. */
export type Verdict<T> =
  | { kind: "value"; value: T }
  /** Pause before the request is repeated. It doesn't count as an attempt. */
  | { kind: "throttled"; waitMs: number }
  /** Retried if the error is retryable. */
  | { kind: "failed"; error: AppError }
  /** Not retried here, whatever the error says about later runs: the same request would fail again. */
  | { kind: "refused"; error: AppError };

export interface ApiCall<T> {
  /** Name of the system, at the beginning of a sentence. */
  system: string;
  /** Evaluated before each attempt, since the known cost may change. */
  draws(): readonly Draw[];
  send(): Promise<EgressResponse>;
  read(response: EgressResponse): Promise<Verdict<T>>;
  /** True if a user waits for it: few attempts, short pauses. */
  isHurried: boolean;
}

/** Consecutive failures. */
const MAX_TRIES = 5;
const HURRIED_TRIES = 2;
/** The first pause after a failure; it doubles each time. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 300_000;
/** Longest wait that holds a worker. Beyond it, the run is retried later. */
const PATIENCE_MS = 900_000;
const HURRIED_PATIENCE_MS = 2_000;

/** A page of 250 orders with all related objects is about 3 MiB. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/**
 * Calls an API: waits for its rate limits and retries temporary failures. Throws the error returned by `read`,
 * `upstream` (retryable) if a rate limit takes too long, and the signal's reason if it is aborted.
 */
export async function callApi<T>(link: Waiter, call: ApiCall<T>): Promise<T> {
  const patienceMs = call.isHurried ? HURRIED_PATIENCE_MS : PATIENCE_MS;
  const maxTries = call.isHurried ? HURRIED_TRIES : MAX_TRIES;
  for (let failures = 0; ; ) {
    const draws = call.draws();
    await draw(link, call.system, draws, patienceMs);
    const verdict = await ask(link, call);
    if (verdict.kind === "value") return verdict.value;
    if (verdict.kind === "throttled") {
      if (verdict.waitMs > patienceMs) throw throttled(call.system, verdict.waitMs);
      hold(link, draws, verdict.waitMs);
      if (!call.isHurried) failures = 0; // the system responds again
      continue;
    }
    const { error } = verdict;
    failures++;
    if (verdict.kind === "refused" || !error.retryable || failures >= maxTries) throw error;
    const waitMs = error.retryAfterSeconds === null ? backoff(failures) : error.retryAfterSeconds * 1000;
    if (waitMs > patienceMs) throw error;
    await pause(link, waitMs);
  }
}

async function ask<T>(link: Waiter, call: ApiCall<T>): Promise<Verdict<T>> {
  try {
    return await call.read(await call.send());
  } catch (error) {
    if (error instanceof AppError && !link.signal.aborted) return { kind: "failed", error };
    throw error;
  }
}

/** Adds up to a fifth of jitter, so that requests that failed together aren't repeated together. */
const backoff = (failures: number): number =>
  Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) * (0.8 + Math.random() * 0.4);

/** End of the sentence about a response that isn't text. */
export const NO_TEXT = "bytes that are no UTF-8; its Content-Type has to say what they are.";

/**
 * The text of a response. Throws `upstream` if it is too large, or if a successful one isn't valid text: decoded with
 * replacement characters, two different keys could become one.
 */
export async function textOf(system: string, response: EgressResponse): Promise<string> {
  const bytes = await bytesOf(system, response);
  const text = decoded(bytes, charsetIn(bytes, response.headers.get("content-type") ?? ""));
  if (text !== null) return text;
  if (response.status >= 200 && response.status < 300)
    throw new AppError("upstream", `${system} answered with ${NO_TEXT}`);
  return new TextDecoder().decode(bytes); // its status says enough
}

/** Null for bytes that are invalid in the charset. */
export function decoded(bytes: Uint8Array, charset: Bun.Encoding): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null; // the caller reports it if there is no better error
  }
}

/** As `textOf`, without decoding. */
export async function bytesOf(system: string, response: EgressResponse): Promise<Uint8Array> {
  const { bytes, truncated } = await response.bytes(MAX_REPLY_BYTES);
  if (truncated) {
    throw new AppError(
      "upstream",
      `${system} sent a page of more than ${MAX_REPLY_BYTES} bytes; lower batchSize.`,
    );
  }
  return bytes;
}

/** Limits that the caller sets. */
const ANY = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxObjects: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxKeys: null,
};

/**
 * JSON of a response, with numbers as in `parseExact`; undefined if it isn't JSON, such as a gateway's error page. A
 * long text is parsed without blocking. Calls `onRepeated` for duplicate keys of an object. Throws `JsonRefused` if it
 * exceeds `bounds`.
 */
export async function jsonOf(
  text: string,
  bounds: Partial<JsonRules> = {},
  onRepeated: ((key: RepeatedKey) => void) | null = null,
): Promise<unknown> {
  const parse = (piece: string) => {
    const value = parseExact(piece);
    if (onRepeated) for (const key of repeatedKeys(piece, value)) onRepeated(key);
    return value;
  };
  try {
    return text.length > SHORT_CHARACTERS
      ? await parseLong(text, { ...ANY, ...bounds }, parse, onRepeated)
      : parse(text);
  } catch (error) {
    if (error instanceof JsonRefused && error.rule !== "grammar") throw error;
    return undefined; // the status says enough
  }
}
