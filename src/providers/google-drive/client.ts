import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { callApi, jsonOf, textOf, type Verdict } from "../api/send.ts";
import { QUIET_MS } from "../files/streams.ts";
import { faultOf, isThrottled, refusal } from "./failure.ts";
import { baseOf, type DriveLink } from "./shape.ts";
import { driveToken } from "./token.ts";

const SYSTEM = "Google Drive";

/** A user has 12,000 requests per minute. A third of them is left for the user's other programs. */
const QUOTA = { name: "drive", capacity: 200, perSecond: 130 };

/** Drive sends no `Retry-After` and asks for pauses that double up to about a minute. */
const FIRST_WAIT_MS = 1_000;
const MAX_THROTTLES = 7;

export interface DriveRequest {
  /** Relative to `/drive/v3`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** GET by default. */
  method?: "POST" | "PATCH";
  /** For requests that change something. */
  body?: JsonObject;
  /** File or folder, for messages. */
  what: string;
  /** True if a user waits for it. */
  isHurried: boolean;
}

/** The response to one request below `/drive/v3`, as in `askDrive`; transfers of file contents have no time limit. */
export function getDrive(link: DriveLink, request: DriveRequest): Promise<EgressResponse> {
  const query = new URLSearchParams({ ...request.query, supportsAllDrives: "true" });
  const { what, isHurried, method = "GET", body } = request;
  return askDrive(link, {
    ...{ url: `${baseOf(link.config)}/drive/v3${request.path}?${query}`, method, what, isHurried },
    headers: { accept: "*/*", ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    isLong: isMedia(request),
  });
}

/** One request to any Google API. */
export interface DriveCall {
  url: string;
  method: "GET" | "POST" | "PATCH" | "PUT";
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array<ArrayBuffer>;
  what: string;
  isHurried: boolean;
  /** True if the transfer has no time limit while bytes keep arriving. */
  isLong?: boolean;
  /** Status that is accepted in addition to 2xx. */
  accepts?: number;
}

/**
 * The response if it is 2xx. Waits and retries as `callApi` does, and once with a new token if the stored one is
 * rejected. Throws the error from `refusal`.
 */
export async function askDrive(link: DriveLink, call: DriveCall): Promise<EgressResponse> {
  let refused: string | undefined;
  let used = "";
  let throttles = 0;
  const read = async (response: EgressResponse): Promise<Verdict<EgressResponse>> => {
    const { status } = response;
    if ((status >= 200 && status < 300) || status === call.accepts) return { kind: "value", value: response };
    const fault = await faultOf(link, response);
    if (response.status === 401 && refused === undefined) {
      refused = used;
      return { kind: "throttled", waitMs: 0 };
    }
    if (isThrottled(fault) && throttles < MAX_THROTTLES) {
      const waitMs = FIRST_WAIT_MS * 2 ** throttles++ * (0.8 + Math.random() * 0.4);
      return { kind: "throttled", waitMs: fault.retryAfterMs ?? waitMs };
    }
    return { kind: "failed", error: refusal(fault, call.what) };
  };
  return callApi(link, {
    system: SYSTEM,
    isHurried: call.isHurried,
    draws: () => [QUOTA],
    async send() {
      used = await driveToken(link, refused === undefined ? {} : { refused });
      return link.egress.fetch(call.url, {
        method: call.method,
        headers: { ...call.headers, authorization: `Bearer ${used}` },
        ...(call.body === undefined ? {} : { body: call.body }),
        signal: link.signal,
        ...(call.accepts === undefined ? {} : { maxRedirects: 0 }), // Google uses 308 to request the next part
        ...(call.isLong ? { timeoutMs: 0, idleMs: QUIET_MS } : {}),
      });
    },
    read,
  });
}

const isMedia = ({ path, query }: DriveRequest): boolean =>
  query?.alt === "media" || path.endsWith("/export");

/** A Drive response as a JSON object. */
export async function readDrive(link: DriveLink, request: DriveRequest): Promise<JsonObject> {
  const value = await jsonOf(await textOf(SYSTEM, await getDrive(link, request)));
  if (isObject(value)) return value as JsonObject;
  throw new AppError("upstream", "Google Drive returned an invalid response. Check baseUrl.");
}
