import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { isExpired } from "../api/pages.ts";
import { callApi, jsonOf, textOf, type Verdict } from "../api/send.ts";
import { type Draw, hold, retryAfterMs, setTokens } from "../api/throttle.ts";
import { type Purpose, refusal, SYSTEM } from "./failure.ts";
import type { Tier } from "./resources.ts";
import { addressOf, type KlaviyoLink, revisionOf } from "./shape.ts";

/** Pause after a 429 without `Retry-After`: the longer window is one minute. */
const THROTTLED_MS = 10_000;

export interface KlaviyoRequest {
  /** Relative to `/api/`; each endpoint has its own limits. */
  path: string;
  parameters: readonly [string, string][];
  tier: Tier;
  purpose: Purpose;
  isHurried?: boolean;
}

/**
 * Gets one JSON:API document, within the endpoint's two rate limits (per second and per minute), with retries of
 * temporary failures. Throws the error from `refusal` for any response other than 2xx.
 */
export function getDocument(link: KlaviyoLink, request: KlaviyoRequest): Promise<JsonObject> {
  const { path, parameters, tier, isHurried = false } = request;
  const burst: Draw = {
    name: `klaviyo ${path} second`,
    capacity: tier.burstPerSecond,
    perSecond: tier.burstPerSecond,
  };
  const steady: Draw = {
    name: `klaviyo ${path} minute`,
    capacity: tier.steadyPerMinute,
    perSecond: tier.steadyPerMinute / 60,
  };
  return callApi(link, {
    system: SYSTEM,
    isHurried,
    draws: () => [burst, steady],
    send: () =>
      link.egress.fetch(addressOf(link.config, path, parameters), {
        headers: {
          accept: "application/vnd.api+json",
          authorization: `Klaviyo-API-Key ${link.credentials.apiKey}`,
          revision: revisionOf(link.config),
        },
        signal: link.signal,
        maxRedirects: 0,
      }),
    read: (response) => readReply(link, request, steady, response),
  });
}

async function readReply(
  link: KlaviyoLink,
  { purpose }: KlaviyoRequest,
  steady: Draw,
  response: EgressResponse,
): Promise<Verdict<JsonObject>> {
  const { status, headers } = response;
  const text = await textOf(SYSTEM, response);
  tellDeprecation(link, headers);
  if (status === 429) return { kind: "throttled", waitMs: retryAfterMs(headers, link) ?? THROTTLED_MS };
  noteLimits(link, steady, headers);
  const body = await jsonOf(text);
  if (status < 200 || status >= 300) {
    const error = refusal(link.config, purpose, status, body);
    return { kind: isExpired(error) ? "refused" : "failed", error };
  }
  if (isObject(body)) return { kind: "value", value: body };
  return {
    kind: "failed",
    error: new AppError(
      "upstream",
      "This is not Klaviyo's API, or the response is incomplete. Check baseUrl.",
      {
        retryable: true,
        cause: { text: text.slice(0, 500) },
      },
    ),
  };
}

/** The headers describe the window of one minute, which all users of the account's keys share. */
function noteLimits(link: KlaviyoLink, steady: Draw, headers: Headers): void {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    Number.parseInt(headers.get(`ratelimit-${name}`) ?? "", 10),
  );
  if (remaining === undefined || Number.isNaN(remaining)) return;
  const capacity = limit !== undefined && limit > 0 ? limit : steady.capacity;
  setTokens(link, steady.name, { capacity, perSecond: capacity / 60 }, remaining);
  if (remaining === 0 && reset !== undefined && reset > 0) hold(link, [steady], reset * 1000);
}

function tellDeprecation(link: KlaviyoLink, headers: Headers): void {
  for (const [name, value] of headers) {
    if (!/deprecat|^sunset$/.test(name)) continue;
    link.warn?.(
      `Klaviyo will end revision ${revisionOf(link.config)} of its API (${name}: ${value.slice(0, 200)}). Set a newer revision.`,
    );
  }
}
