import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { callApi, jsonOf, textOf, type Verdict } from "../api/send.ts";
import { QUIET_MS } from "../files/streams.ts";
import { faultOf, isThrottled, refusal } from "./failure.ts";
import { baseOf, type DriveLink } from "./shape.ts";
import { driveToken } from "./token.ts";

const SYSTEM = "Google Drive";

/** 12,000 requests a minute are a user's; a third stays for what else the user does. */
const QUOTA = { name: "drive", capacity: 200, perSecond: 130 };

/** Drive names no time to wait, and asks for waits that double up to about a minute. */
const FIRST_WAIT_MS = 1_000;
const MAX_THROTTLES = 7;

export interface DriveRequest {
  /** Below `/drive/v3`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** The file or folder that it is about, for a person. */
  what: string;
  /** True while a person waits. */
  isHurried: boolean;
}

/**
 * The reply of one GET, when it is 2xx; a file's bytes have no limit of time. Waits and tries again as `callApi` has
 * it, and once with a new token where the kept one is refused. Throws what `refusal` says.
 */
export async function getDrive(link: DriveLink, request: DriveRequest): Promise<EgressResponse> {
  const query = new URLSearchParams({ ...request.query, supportsAllDrives: "true" });
  const url = `${baseOf(link.config)}/drive/v3${request.path}?${query}`;
  let refused: string | undefined;
  let used = "";
  let throttles = 0;
  const read = async (response: EgressResponse): Promise<Verdict<EgressResponse>> => {
    if (response.status >= 200 && response.status < 300) return { kind: "value", value: response };
    const fault = await faultOf(link, response);
    if (response.status === 401 && refused === undefined) {
      refused = used;
      return { kind: "throttled", waitMs: 0 };
    }
    if (isThrottled(fault) && throttles < MAX_THROTTLES) {
      const waitMs = FIRST_WAIT_MS * 2 ** throttles++ * (0.8 + Math.random() * 0.4);
      return { kind: "throttled", waitMs: fault.retryAfterMs ?? waitMs };
    }
    return { kind: "failed", error: refusal(fault, request.what) };
  };
  return callApi(link, {
    system: SYSTEM,
    isHurried: request.isHurried,
    draws: () => [QUOTA],
    async send() {
      used = await driveToken(link, refused === undefined ? {} : { refused });
      return link.egress.fetch(url, {
        headers: { authorization: `Bearer ${used}`, accept: "*/*" },
        signal: link.signal,
        ...(isMedia(request) ? { timeoutMs: 0, idleMs: QUIET_MS } : {}),
      });
    },
    read,
  });
}

const isMedia = ({ path, query }: DriveRequest): boolean =>
  query?.alt === "media" || path.endsWith("/export");

/** A reply of Drive as a JSON object. */
export async function readDrive(link: DriveLink, request: DriveRequest): Promise<JsonObject> {
  const value = await jsonOf(await textOf(SYSTEM, await getDrive(link, request)));
  if (isObject(value)) return value as JsonObject;
  throw new AppError("upstream", "Google Drive's answer can't be read: is baseUrl right?");
}
