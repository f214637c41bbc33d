import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { charsetOf } from "../../base/http-message.ts";
import { SHORT_CHARACTERS } from "../../base/json.ts";
import { parseExact } from "../../base/json-numbers.ts";
import { JsonRefused, type JsonRules, parseLong } from "../../base/json-parse.ts";
import { type RepeatedKey, repeatedKeys } from "../../base/repeated-keys.ts";
import { type Draw, draw, hold, pause, throttled, type Waiter } from "./throttle.ts";

/** What one reply means. */
export type Verdict<T> =
  | { kind: "value"; value: T }
  /** The request may be sent again after so long; it never counts as a try. */
  | { kind: "throttled"; waitMs: number }
  /** Tried again where the error is retryable. */
  | { kind: "failed"; error: AppError }
  /** Not tried again here, whatever the error says of a later run: the same request would be refused the same way. */
  | { kind: "refused"; error: AppError };

export interface ApiCall<T> {
  /** The system's name, as it stands at the beginning of a sentence. */
  system: string;
  /** Asked anew before each try, as what is known of the cost may change. */
  draws(): readonly Draw[];
  send(): Promise<EgressResponse>;
  read(response: EgressResponse): Promise<Verdict<T>>;
  /** True while a person waits: few tries, short waits. */
  isHurried: boolean;
}

/** Failures in a row. */
const MAX_TRIES = 5;
const HURRIED_TRIES = 2;
/** The first wait after a failure; each next one is twice as long. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 300_000;
/** Longer than this a worker is not held; the run is tried again later instead. */
const PATIENCE_MS = 900_000;
const HURRIED_PATIENCE_MS = 2_000;

/** A page of 250 orders with all that hangs from them is about 3 MiB. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/**
 * Makes one call of an API: waits for its rate limits, tries again when it fails in passing. Throws what `read` gives
 * as the error, `upstream` (retryable) for limits that last too long, and the signal's reason when it aborts.
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
      if (!call.isHurried) failures = 0; // it answers: what failed before is over
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

/** With a fifth more or less by chance, so that those that failed together do not come back together. */
const backoff = (failures: number): number =>
  Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) * (0.8 + Math.random() * 0.4);

/** How a sentence ends that tells of a reply whose bytes are no text. */
export const NO_TEXT = "bytes that are no UTF-8; its Content-Type has to say what they are.";

/**
 * The text of a reply. Throws `upstream` for one that is beyond all measure, and for a good one whose bytes are no text:
 * read all the same, two keys that differ could become one.
 */
export async function textOf(system: string, response: EgressResponse): Promise<string> {
  const bytes = await bytesOf(system, response);
  const text = decoded(bytes, charsetOf(response.headers.get("content-type") ?? ""));
  if (text !== null) return text;
  if (response.status >= 200 && response.status < 300)
    throw new AppError("upstream", `${system} answered with ${NO_TEXT}`);
  return new TextDecoder().decode(bytes); // its status tells what there is to tell
}

/** Null for bytes that are not of the charset. */
export function decoded(bytes: Uint8Array, charset: Bun.Encoding): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return null; // told by those who ask, where nothing else tells more
  }
}

/** As `textOf`, not decoded. */
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

/** What is left to those who call, who have bounds of their own. */
const ANY = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxObjects: Number.POSITIVE_INFINITY,
  maxValues: Number.POSITIVE_INFINITY,
  maxKeys: null,
};

/**
 * JSON of a reply, with numbers as `parseExact` has them; undefined where it is none, such as the page of a gateway. A
 * long one is parsed in turns. `onRepeated` is called for keys that an object has more than once. Throws `JsonRefused`
 * where it has more than `bounds` allows.
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
    return undefined; // the status tells what there is to tell
  }
}
