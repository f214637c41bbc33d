import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { slot } from "../../base/memory.ts";
import { accessToken } from "../api/access-token.ts";
import { postForToken } from "../api/oauth-token.ts";
import { callApi, jsonOf, textOf, type Verdict } from "../api/send.ts";
import { retryAfterMs, setQuota } from "../api/throttle.ts";
import { faultOf, refusal } from "./failure.ts";
import { baseOf, NEEDED, type SellerLink, tokenUrlOf } from "./shape.ts";

export const SYSTEM = "Amazon's Selling Partner API";

/** What Amazon's usage plans allow by default, per operation of a seller. Response headers can allow more. */
const PLANS = {
  getMarketplaceParticipations: { perSecond: 0.016, capacity: 15 },
  searchOrders: { perSecond: 0.0056, capacity: 20 },
  getOrders: { perSecond: 0.0167, capacity: 20 },
  getOrderItems: { perSecond: 0.5, capacity: 30 },
  getInventorySummaries: { perSecond: 2, capacity: 2 },
  createReport: { perSecond: 0.0167, capacity: 15 },
  getReport: { perSecond: 2, capacity: 15 },
  getReports: { perSecond: 0.0222, capacity: 10 },
  getReportDocument: { perSecond: 0.0167, capacity: 15 },
} as const;

/** Rates from response headers, by connection and operation. */
const RATES = slot(() => new Map<string, number>());
const MAX_RATES = 10_000;

export interface SellerRequest {
  operation: keyof typeof PLANS;
  method?: "GET" | "POST";
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: JsonObject;
  /** True if a user waits for it. */
  isHurried?: boolean;
}

const WRONG_CLIENT =
  "Amazon rejected clientId and clientSecret. Store the correct ones, then verify the connection.";
const FAULTS = {
  invalid_grant:
    "Amazon rejected the refresh token: it has expired or the seller revoked the app's access. Authorize the app again and store its refresh token, then verify the connection.",
  invalid_client: WRONG_CLIENT,
  unauthorized_client: WRONG_CLIENT,
};

/** A token for the seller's data; see `accessToken`. Throws `definition_invalid` if the credentials can't get one. */
export async function sellerToken(
  link: SellerLink,
  options: { refused?: string; isFresh?: boolean } = {},
): Promise<string> {
  if (link.signIn) return link.signIn.token({ refused: options.refused });
  const { clientId, clientSecret, refreshToken } = link.credentials;
  if (!refreshToken) throw new AppError("definition_invalid", `Amazon Seller also requires ${NEEDED}.`);
  const form = {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    client_id: clientId,
    client_secret: clientSecret,
  };
  return accessToken(
    link,
    () => postForToken(link, { url: tokenUrlOf(link.config), form, faults: FAULTS }),
    options,
  );
}

/**
 * The JSON of one call. Waits for the operation's quota, retries as `callApi` does, and once with a new token if the
 * stored one is rejected. Throws what `refusal` returns.
 */
export async function callSeller(link: SellerLink, request: SellerRequest): Promise<JsonObject> {
  const { operation, method = "GET", path, query, body } = request;
  const search = query ? `?${new URLSearchParams(query)}` : "";
  const { capacity } = PLANS[operation];
  const rateKey = `${link.connectionId} ${operation}`;
  const rates = link.memory.of(RATES);
  const rate = () => rates.get(rateKey) ?? PLANS[operation].perSecond;
  let refused: string | undefined;
  let used = "";
  const read = async (response: EgressResponse): Promise<Verdict<JsonObject>> => {
    if (learn(rates, rateKey, response.headers)) setQuota(link, operation, { capacity, perSecond: rate() });
    if (response.status >= 200 && response.status < 300)
      return { kind: "value", value: await objectOf(response) };
    const fault = await faultOf(response);
    if (fault.isTokenFault && refused === undefined) {
      refused = used;
      return { kind: "throttled", waitMs: 0 };
    }
    if (fault.status === 429 || fault.code === "QuotaExceeded") {
      return { kind: "throttled", waitMs: retryAfterMs(response.headers, link) ?? Math.ceil(1000 / rate()) };
    }
    return { kind: "failed", error: refusal(operation, fault) };
  };
  return callApi(link, {
    system: SYSTEM,
    isHurried: request.isHurried ?? false,
    draws: () => [{ name: operation, capacity, perSecond: rate() }],
    async send() {
      used = await sellerToken(link, refused === undefined ? {} : { refused });
      return link.egress.fetch(`${baseOf(link.config)}${path}${search}`, {
        method,
        headers: {
          accept: "application/json",
          "user-agent": "Weir (Language=TypeScript)",
          "x-amz-access-token": used,
          ...(body ? { "content-type": "application/json" } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: link.signal,
      });
    },
    read,
  });
}

/** Whether the response has a new rate. */
function learn(rates: Map<string, number>, key: string, headers: Headers): boolean {
  const rate = Number(headers.get("x-amzn-ratelimit-limit") ?? Number.NaN);
  if (!(rate > 0) || rates.get(key) === rate) return false;
  if (rates.size >= MAX_RATES) rates.clear();
  rates.set(key, rate);
  return true;
}

async function objectOf(response: EgressResponse): Promise<JsonObject> {
  const value = await jsonOf(await textOf(SYSTEM, response));
  if (isObject(value)) return value as JsonObject;
  throw new AppError("upstream", `${SYSTEM} returned an invalid response. Check baseUrl.`);
}
