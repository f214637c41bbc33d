import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { hideSecrets, mayHold, unmasked } from "../../base/hide.ts";
import { bodyOf, charsetIn, headersOf, isTooDeep, withCredentials } from "../../base/http-message.ts";
import { isObject, type Json, SHORT_CHARACTERS } from "../../base/json.ts";
import { exactJson } from "../../base/json-numbers.ts";
import { JsonRefused } from "../../base/json-parse.ts";
import type { OddValues } from "../../base/odd-values.ts";
import { KEY_REPEATED, type RepeatedKey } from "../../base/repeated-keys.ts";
import { cutList } from "../api/json-list.ts";
import { bytesOf, callApi, decoded, jsonOf, NO_TEXT, type Verdict } from "../api/send.ts";
import { type Draw, hold, paceOf, perMinute, retryAfterMs } from "../api/throttle.ts";
import type { Grant, HttpAccess, JsonList, Link } from "../contract.ts";
import type { Endpoint } from "./endpoint.ts";
import { linked, type PageRequest } from "./pages.ts";

/** Pause after a 429 without `Retry-After`. */
const THROTTLED_MS = 10_000;
/** Longest pause taken from the rate limit headers of a successful response; longer ones only after a refusal. */
const MAX_NOTED_MS = 900_000;
const MAX_REDIRECTS = 3;
const MAX_SAID = 300;
/** No real response is nested deeper, and traversing one would overflow the stack. */
const MAX_LEVELS = 1_000;
/** Maximum number of lists and objects in a page: each takes far more memory than its two brackets. */
const MAX_OBJECTS = 2_000_000;

/** Request state of one resource. */
export interface Asking {
  access: HttpAccess;
  link: Link;
  endpoint: Endpoint;
  /** Its path, relative to the base URL. */
  spec: string;
  /** Host and port, to start messages with. */
  system: string;
  /** Tokens granted so far, which are masked. */
  secrets: string[];
  /** Values of repeated keys that were overwritten. */
  odd: OddValues;
}

/** Request of one page. */
export interface AskOptions {
  pageRequest: PageRequest;
  /** Status codes that aren't errors. */
  ends: readonly number[];
  /** Path of the rows, if their text is enough. */
  listAt: readonly string[] | null;
}

export interface Reply {
  status: number;
  headers: Headers;
  /** Of the last redirect. */
  url: string;
  /** Integers beyond 2^53 are `bigint`. Null if there is no content. */
  body: Json;
  /** The body as text. */
  text(): string;
  /** Returns a string of the body with the credentials in it. Null if none reads like this without them. */
  unmask(found: string): string | null;
  /** The rows, unparsed; their list in `body` is empty then. Null if the rows are in the body. */
  list: JsonList | null;
}

/**
 * Requests one page, within the API's rate limits, and retries temporary failures. Follows redirects only on the same
 * server and replaces a rejected token once. Throws `upstream`; the server's text in it may contain `secrets`.
 */
export function ask(asking: Asking, options: AskOptions): Promise<Reply> {
  const { link, system, endpoint, spec } = asking;
  const draws: Draw[] = [
    { name: "http", capacity: 1_000, perSecond: 1_000 },
    ...paceOf(asking.access),
    ...perMinute(`http ${spec}`, endpoint.requestsPerMinute),
  ];
  return callApi(link, {
    system,
    isHurried: false,
    draws: () => draws,
    send: () => send(asking, options.pageRequest),
    read: (response) => read(asking, response, draws, options),
  });
}

async function send(asking: Asking, pageRequest: PageRequest): Promise<EgressResponse> {
  const authorize = async (isFresh: boolean) => {
    const grant = await asking.access.authorize(asking.link, { isFresh });
    for (const secret of grant.secrets) if (!asking.secrets.includes(secret)) asking.secrets.push(secret);
    return grant;
  };
  const grant = await authorize(false);
  const response = await follow(asking, pageRequest, grant);
  if (response.status !== 401 || !grant.isRenewable) return response;
  await response.body.cancel();
  return follow(asking, pageRequest, await authorize(true)); // the stored token has expired
}

async function follow(asking: Asking, pageRequest: PageRequest, grant: Grant): Promise<EgressResponse> {
  const { method = "GET", headers, bodyType } = asking.endpoint;
  const { link, system } = asking;
  const body = pageRequest.body === null ? null : bodyOf(pageRequest.body, bodyType ?? "json");
  const sent = {
    accept: "application/json",
    ...(body ? { "content-type": body.contentType } : {}),
    ...headersOf(headers ?? {}),
    ...headersOf(grant.headers),
  };
  let { url } = pageRequest;
  for (let hops = 0; ; hops++) {
    const target = withCredentials(url, grant);
    const response = await link.egress.fetch(target.href, {
      method,
      headers: sent,
      ...(body ? { body: body.text } : {}),
      signal: link.signal,
      maxRedirects: 0,
      credentialHeaders: Object.keys(grant.headers),
    });
    const location = [301, 302, 303, 307, 308].includes(response.status)
      ? response.headers.get("location")
      : null;
    if (location === null) return response;
    await response.body.cancel();
    const keepsMethod = method === "GET" || response.status >= 307;
    if (hops >= MAX_REDIRECTS || !keepsMethod) {
      const what = keepsMethod ? "redirects again and again" : `redirects a ${method} request`;
      throw new AppError("upstream", `${system} ${what} (${response.status}); check the path.`);
    }
    url = linked(location, pageRequest, { url: target.href }, true);
  }
}

async function read(
  asking: Asking,
  response: EgressResponse,
  draws: readonly Draw[],
  { ends, listAt }: AskOptions,
): Promise<Verdict<Reply>> {
  const { system, link } = asking;
  const { status, headers, url } = response;
  const bytes = await bytesOf(system, response);
  const charset = charsetIn(bytes, headers.get("content-type") ?? "");
  // Rows that may contain the request's credentials are parsed, so that they can be masked.
  const isRaw = status === 200 && charset === "utf-8" && listAt && !mayHold(bytes, asking.secrets);
  const cut = isRaw ? await cutList(bytes, listAt) : null;
  const text = cut ? cut.around : decoded(bytes, charset);
  const list = cut?.list ?? null;
  const isThrottled = status === 429 || (status === 403 && (isSpent(headers) || headers.has("retry-after")));
  if (isThrottled) {
    const waitMs = retryAfterMs(headers, link) ?? resetMs(headers, link) ?? THROTTLED_MS;
    return { kind: "throttled", waitMs };
  }
  const empty = { status, headers, url, body: null, text: () => "", unmask: (found: string) => found, list };
  if (ends.includes(status)) return { kind: "value", value: empty };
  const { echoed, excess } = text === null ? NOTHING : await boundedJson(text, status < 300 ? asking : null);
  // Long ones are masked only if their bytes may contain the credentials, which shows only in UTF-8.
  const isLong = bytes.length > SHORT_CHARACTERS && charset === "utf-8";
  const shows = echoed !== undefined && (!isLong || mayHold(bytes, asking.secrets));
  const body = shows ? hideSecrets(echoed, asking.secrets) : echoed;
  if (status < 200 || status >= 300) return failed(asking, status, headers, body);
  if (text === null || excess) {
    const what = excess ?? NO_TEXT;
    return {
      kind: "refused",
      error: new AppError("upstream", `${system} answered ${asking.spec} with ${what}`),
    };
  }
  const waitMs = isSpent(headers) ? resetMs(headers, link) : null;
  if (waitMs !== null && waitMs <= MAX_NOTED_MS) hold(link, draws, waitMs);
  if (text.trim() === "" && status === 204) return { kind: "value", value: empty };
  if (body !== undefined && echoed !== undefined) {
    const unmask = (found: string) => unmasked(found, () => echoed, asking.secrets);
    const safeText = shows ? () => exactJson(body) : () => text;
    return { kind: "value", value: { ...empty, body, text: safeText, unmask } };
  }
  return { kind: "failed", error: noJson(asking, text, headers) };
}

const repeatedOf =
  ({ endpoint: { dataPath }, odd, secrets }: Asking) =>
  ({ path, lost }: RepeatedKey): void => {
    const isInRow = dataPath !== undefined && path.startsWith(`${dataPath}.`);
    odd.add(isInRow ? path.slice(dataPath.length + 1) : path, KEY_REPEATED, hideSecrets(lost, secrets));
  };

interface BoundedJson {
  /** Undefined if it isn't JSON. */
  echoed: Json | undefined;
  /** Which limit the text exceeds; null if none. */
  excess: string | null;
}

const NOTHING: BoundedJson = { echoed: undefined, excess: null };

/** Parses JSON within the limits and counts duplicate keys for `asking`. */
async function boundedJson(text: string, asking: Asking | null): Promise<BoundedJson> {
  const tooDeep = `more than ${MAX_LEVELS} levels of lists and objects.`;
  if (text.length <= SHORT_CHARACTERS && isTooDeep(text, MAX_LEVELS))
    return { echoed: undefined, excess: tooDeep };
  try {
    const bounds = { maxDepth: MAX_LEVELS, maxObjects: MAX_OBJECTS };
    return {
      echoed: (await jsonOf(text, bounds, asking && repeatedOf(asking))) as Json | undefined,
      excess: null,
    };
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    const many = `a page of more than ${MAX_OBJECTS} lists and objects; lower batchSize.`;
    return { echoed: undefined, excess: error.rule === "depth" ? tooDeep : many };
  }
}

function noJson({ system, spec, secrets }: Asking, text: string, headers: Headers): AppError {
  const isCut = /^\s*[[{]/.test(text);
  const type = headers.get("content-type")?.split(";")[0]?.trim() ?? "";
  const came = text.trim() === "" ? "nothing" : type === "" || /json/i.test(type) ? "a text" : type;
  const message = isCut
    ? `${system} sent JSON for ${spec} that breaks off or can't be read.`
    : `${system} answered ${spec} with ${came}, which is no JSON; check the path and baseUrl.`;
  return new AppError("upstream", message, {
    retryable: isCut,
    cause: { text: hideSecrets(text, secrets).slice(0, 500) },
  });
}

function failed(asking: Asking, status: number, headers: Headers, body: unknown): Verdict<Reply> {
  const { system, spec, link, endpoint } = asking;
  const errorText = errorTextIn(body, asking.secrets);
  const reason = errorText === "" ? "." : `: ${errorText}`;
  const cause = { status };
  if (status >= 500 || status === 408 || status === 425) {
    const waitMs = retryAfterMs(headers, link);
    const error = new AppError("upstream", `${system} is busy or failing: it returned ${status}${reason}`, {
      retryable: true,
      cause,
      ...(waitMs === null ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1000) }),
    });
    return { kind: "failed", error };
  }
  const { method = "GET" } = endpoint;
  const means: Record<number, string> = {
    401: `${system} rejected the credentials (401)`,
    403: `${system} doesn't let these credentials read ${spec} (403)`,
    404: `${system} has nothing at ${spec} (404); check the path and baseUrl`,
  };
  const message = `${means[status] ?? `${system} answered ${method} ${spec} with ${status}`}${reason}`;
  const details = { status, ...(status === 403 ? { missingScope: `${method} ${spec}` } : {}) };
  return { kind: "refused", error: new AppError("upstream", message, { cause, details }) };
}

/** The message of an API's error, from the usual fields; secrets are removed completely, never cut. */
export function errorTextIn(body: unknown, secrets: readonly string[]): string {
  if (typeof body === "string") return clipped(hideSecrets(body, secrets));
  if (Array.isArray(body)) return errorTextIn(body[0], secrets);
  if (!isObject(body)) return "";
  for (const name of ["message", "detail", "error_description", "title", "error", "errors"]) {
    const text = Object.hasOwn(body, name) ? errorTextIn(body[name], secrets) : "";
    if (text !== "") return text;
  }
  return "";
}

const clipped = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_SAID ? `${line.slice(0, MAX_SAID)}…` : line;
};

const numberIn = (headers: Headers, name: string): number | null => {
  for (const prefix of ["ratelimit-", "x-ratelimit-", "x-rate-limit-"]) {
    const text = headers.get(prefix + name)?.trim() ?? "";
    if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  }
  return null;
};

/** True if a response's headers say that no requests are left. */
const isSpent = (headers: Headers): boolean => numberIn(headers, "remaining") === 0;

/** Milliseconds until the limit resets, which headers give in seconds or as a Unix time. */
function resetMs(headers: Headers, link: Pick<Link, "clock">): number | null {
  const reset = numberIn(headers, "reset");
  if (reset === null) return null;
  const now = link.clock.now().getTime();
  const ms = reset > 1e12 ? reset - now : reset > 1e9 ? reset * 1000 - now : reset * 1000;
  return Math.max(1_000, ms);
}
