import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { doubleOf } from "../../base/json-numbers.ts";
import { expiredCursor, isExpired } from "../api/pages.ts";
import { callApi, jsonOf, textOf, type Verdict } from "../api/send.ts";
import { retryAfterMs, setTokens } from "../api/throttle.ts";
import { type GraphError, graphErrors, isDenied, queryFailure, statusFailure } from "./failure.ts";
import { endOf, endpointOf, type ShopifyLink, shopOf, versionOf } from "./shape.ts";
import { isRenewable, shopToken } from "./token.ts";

export const SYSTEM = "Shopify";

/** Default cost limits, until the first response reports the shop's own. */
const QUOTA = { capacity: 1_000, perSecond: 50 };
/** Assumed cost of a query before its first response. */
const FIRST_COST = 20;
/** Pause after a 429 without `Retry-After`. */
const THROTTLED_MS = 2_000;
const BUCKET = "shopify points";

/** Result of a query. */
export interface QueryReply {
  data: JsonObject;
  /** Fields that the token may not read; they are missing from the data. */
  denied: GraphError[];
}

/** Queries of one extract, with their known costs. */
export interface ShopifySession {
  link: ShopifyLink;
  isHurried: boolean;
  cost: number;
}

export const openSession = (link: ShopifyLink, options: { isHurried?: boolean } = {}): ShopifySession => ({
  link,
  isHurried: options.isHurried ?? false,
  cost: FIRST_COST,
});

/**
 * Sends one query, within the shop's cost limit, and retries temporary failures. Errors are returned if the response
 * has data and they only deny fields. Throws `upstream` with `details.reason` "query_too_costly" or "unknown_field" if
 * the query has to be changed, and `expiredCursor`.
 */
export function query(
  session: ShopifySession,
  text: string,
  variables: JsonObject = {},
): Promise<QueryReply> {
  const { link } = session;
  let used = "";
  let refused: string | undefined;
  tellEnd(session);
  return callApi(link, {
    system: SYSTEM,
    isHurried: session.isHurried,
    draws: () => [{ name: BUCKET, ...QUOTA, cost: session.cost }],
    async send() {
      used = await shopToken(link, refused === undefined ? {} : { refused });
      return link.egress.fetch(endpointOf(link.config), {
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          "x-shopify-access-token": used,
        },
        body: JSON.stringify({ query: text, variables }),
        signal: link.signal,
        credentialHeaders: ["x-shopify-access-token"],
        maxRedirects: 0, // a shop that moved, or another host: never send the token elsewhere
      });
    },
    async read(response) {
      if (response.status !== 401 || refused !== undefined || !isRenewable(link))
        return readReply(session, response);
      await response.body.cancel();
      refused = used; // the stored token has expired
      return { kind: "throttled", waitMs: 0 };
    },
  });
}

/** How long before its end of support a version is reported. */
const END_MS = 60 * 86_400_000;

function tellEnd({ link }: ShopifySession): void {
  const version = versionOf(link.config);
  const end = endOf(version);
  if (end === null || end - link.clock.now().getTime() > END_MS) return;
  const day = new Date(end).toISOString().slice(0, 10);
  link.warn?.(`Shopify ends version ${version} of its API about ${day}. Set a later apiVersion.`);
}

async function readReply(session: ShopifySession, response: EgressResponse): Promise<Verdict<QueryReply>> {
  const { link } = session;
  const text = await textOf(SYSTEM, response);
  tellVersion(link, response.headers);
  if (response.status === 429) {
    return { kind: "throttled", waitMs: retryAfterMs(response.headers, link) ?? THROTTLED_MS };
  }
  if (response.status !== 200) {
    const error = statusFailure(link.config, response.status, text);
    if (error) return { kind: "failed", error };
  }
  const body = await jsonOf(text);
  if (!isObject(body)) return { kind: "failed", error: noJson(link, text) };
  const waitMs = noteCost(session, body);
  const errors = graphErrors(body);
  if (errors.some(({ code, message }) => code === "THROTTLED" || (code === "" && message === "Throttled"))) {
    return { kind: "throttled", waitMs };
  }
  const other = errors.find((error) => !isDenied(error));
  if (other) return verdictOn(failureOf(errors, other));
  tellSearch(link, body);
  const data = isObject(body.data) ? body.data : null;
  if (data === null && errors.length === 0) return { kind: "failed", error: noJson(link, text) };
  return { kind: "value", value: { data: data ?? {}, denied: errors } };
}

const verdictOn = (error: AppError): Verdict<never> => ({
  kind: isExpired(error) ? "refused" : "failed",
  error,
});

function failureOf(errors: readonly GraphError[], error: GraphError): AppError {
  const { code, message, extensions } = error;
  const cause = { errors };
  if (code === "MAX_COST_EXCEEDED" || /exceeds the single query max cost/i.test(message)) {
    return new AppError("upstream", "Shopify rejected a query as too expensive even for one object.", {
      details: { reason: "query_too_costly", excess: excessOf(extensions) },
      cause,
    });
  }
  const { typeName, fieldName } = extensions;
  if (code === "undefinedField" && typeof typeName === "string" && typeof fieldName === "string") {
    return new AppError("upstream", `This version of Shopify's API has no ${typeName}.${fieldName}.`, {
      details: { reason: "unknown_field", field: `${typeName}.${fieldName}` },
      cause,
    });
  }
  if (/\bcursor\b/i.test(message)) return expiredCursor(SYSTEM);
  return queryFailure(errors);
}

/** Factor by which a query exceeds Shopify's maximum cost; 2 if unknown. */
function excessOf({ cost, maxCost }: JsonObject): number {
  const [total, most] = [positive(cost), positive(maxCost)];
  return total !== null && most !== null && total > most ? total / most : 2;
}

/** Stores the cost limit reported in the response. Returns the milliseconds until a refused query can be sent. */
function noteCost(session: ShopifySession, body: JsonObject): number {
  const cost = isObject(body.extensions) ? body.extensions.cost : null;
  if (!isObject(cost)) return THROTTLED_MS;
  const requested = positive(cost.requestedQueryCost);
  if (requested !== null) session.cost = requested;
  if (!isObject(cost.throttleStatus)) return THROTTLED_MS;
  const { maximumAvailable, currentlyAvailable, restoreRate } = cost.throttleStatus;
  const capacity = positive(maximumAvailable);
  const perSecond = positive(restoreRate);
  const available = doubleOf(currentlyAvailable);
  if (capacity === null || perSecond === null || available === null) return THROTTLED_MS;
  setTokens(session.link, BUCKET, { capacity, perSecond }, available);
  return Math.max(100, (((requested ?? 0) - available) / perSecond) * 1000);
}

function positive(value: Json | undefined): number | null {
  const number = doubleOf(value);
  return number !== null && number > 0 && Number.isFinite(number) ? number : null;
}

function tellVersion(link: ShopifyLink, headers: Headers): void {
  const version = headers.get("x-shopify-api-version");
  if (version !== null && version !== versionOf(link.config)) {
    link.warn?.(
      `Shopify responded with API version ${version}, because it no longer supports ${versionOf(link.config)}. Set apiVersion.`,
    );
  }
  const reason = headers.get("x-shopify-api-deprecated-reason");
  if (reason !== null) {
    link.warn?.(
      `Shopify calls what Weir asks of version ${versionOf(link.config)} deprecated: ${reason.slice(0, 300)}`,
    );
  }
}

/** Shopify ignores a search that it can't parse and returns everything, which is slow and not reported as an error. */
function tellSearch(link: ShopifyLink, body: JsonObject): void {
  const searches = isObject(body.extensions) ? body.extensions.search : null;
  for (const search of Array.isArray(searches) ? searches.filter(isObject) : []) {
    if (!Array.isArray(search.warnings) || search.warnings.length === 0) continue;
    link.warn?.(
      `Shopify passed over a part of the search ${JSON.stringify(search.query ?? "").slice(0, 200)}.`,
    );
  }
}

/** A response that isn't JSON comes from a proxy or from a server other than Shopify. */
const noJson = (link: ShopifyLink, text: string): AppError =>
  new AppError(
    "upstream",
    `The server of ${shopOf(link.config)} isn't Shopify's API, or its response was cut off. Check shopDomain and baseUrl.`,
    { retryable: true, cause: { text: text.slice(0, 500) } },
  );
