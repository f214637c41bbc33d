import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { retryAfterMs } from "../api/throttle.ts";
import type { DriveLink } from "./shape.ts";

/** Content of an error response. `reason` is Google's code. */
export interface DriveFault {
  status: number;
  reason: string;
  message: string;
  retryAfterMs: number | null;
}

const MAX_FAULT_BYTES = 65_536;

export async function faultOf(link: DriveLink, response: EgressResponse): Promise<DriveFault> {
  const { bytes } = await response.bytes(MAX_FAULT_BYTES);
  const wait = retryAfterMs(response.headers, link);
  return { status: response.status, ...wordsOf(bytes), retryAfterMs: wait };
}

function wordsOf(bytes: Uint8Array): { reason: string; message: string } {
  const text = new TextDecoder().decode(bytes);
  try {
    const reply: unknown = JSON.parse(text);
    const error = isObject(reply) && isObject(reply.error) ? reply.error : {};
    const [first] = Array.isArray(error.errors) ? error.errors : [];
    const details = Array.isArray(error.details) ? error.details : [];
    const named = details.find((detail) => isObject(detail) && typeof detail.reason === "string");
    const reason = isObject(first) ? first.reason : isObject(named) ? named.reason : error.status;
    return {
      reason: typeof reason === "string" ? reason : "",
      message: typeof error.message === "string" ? error.message.slice(0, 300) : "",
    };
  } catch {
    return { reason: "", message: text.slice(0, 300) }; // a gateway's page
  }
}

const THROTTLED = /^(user)?rateLimitExceeded$|^RATE_LIMIT_EXCEEDED$|^RESOURCE_EXHAUSTED$/i;

/** True if the quota is exhausted for now, which Drive reports with 403 as well as 429. */
export const isThrottled = ({ status, reason }: DriveFault): boolean =>
  status === 429 || (status === 403 && THROTTLED.test(reason));

/** The error for a response other than 2xx, in a sentence that says what to change; `what` names the file or folder. */
export function refusal(fault: DriveFault, what: string): AppError {
  const { status, reason, message } = fault;
  const wait = fault.retryAfterMs;
  const make = (text: string, retryable = false) =>
    new AppError("upstream", text, {
      retryable,
      cause: fault,
      ...(retryable && wait !== null ? { retryAfterSeconds: wait / 1000 } : {}),
    });
  if (isThrottled(fault)) return make("Google Drive's rate limit is reached.", true);
  if (status >= 500) return make(`Google Drive is busy or failing (${status}).`, true);
  switch (reason) {
    case "insufficientPermissions":
    case "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
      return make(
        "These credentials lack a scope: reading requires https://www.googleapis.com/auth/drive.readonly, writing https://www.googleapis.com/auth/drive. Sign in again, and grant it.",
      );
    case "accessNotConfigured":
    case "SERVICE_DISABLED":
      return make("The Drive API is not enabled in the Google Cloud project of these credentials.");
    case "dailyLimitExceeded":
    case "quotaExceeded":
    case "downloadQuotaExceeded":
      return make("Google Drive's daily quota is used up.", true);
    case "exportSizeLimitExceeded":
      return new AppError("upstream", `${what} is larger than the 10 MB that Google exports.`, {
        cause: fault,
        details: { rule: TOO_LARGE },
      });
    case "cannotDownloadFile":
    case "fileNotDownloadable":
      return make(`Google Drive doesn't allow these credentials to download ${what}.`);
    case "cannotDownloadAbusiveFile":
      return make(`Google blocks the download of ${what} because of malware or abuse.`);
    case "domainPolicy":
      return make("The administrator of this Google domain doesn't allow apps to use Drive.");
  }
  if (status === 404) return noSuchItem(what);
  if (status === 401) return make("Google Drive rejected the access token.");
  if (status === 403) return make(`These credentials can't read ${what}${message ? `: ${message}` : "."}`);
  return make(`Google Drive answered ${status}${reason ? ` (${reason})` : ""}.`);
}

const TOO_LARGE = "export_too_large";

/** Whether it is the error by which `refusal` reports a document too large for Google to export. */
export const isTooLarge = (error: unknown): error is AppError =>
  error instanceof AppError && error.details?.rule === TOO_LARGE;

export const noSuchItem = (what: string): AppError =>
  new AppError("not_found", `File or folder ${what} not found.`);
