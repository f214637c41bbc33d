import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { expiredCursor } from "../api/pages.ts";
import { type KlaviyoConfig, revisionOf } from "./shape.ts";

export const SYSTEM = "Klaviyo";

/** First error of a response, with empty texts for missing ones. */
interface Fault {
  code: string;
  detail: string;
  /** The parameter or header that is wrong. */
  field: string;
}

function faultOf(body: unknown): Fault {
  const errors = isObject(body) && Array.isArray(body.errors) ? body.errors.filter(isObject) : [];
  const [first] = errors;
  const source = isObject(first?.source) ? first.source : {};
  const field = source.parameter ?? source.header ?? source.pointer ?? "";
  return {
    code: typeof first?.code === "string" ? first.code : "",
    detail: `${first?.title ?? ""} ${first?.detail ?? ""}`.trim(),
    field: typeof field === "string" ? field : "",
  };
}

/** What a request was for, and the scope that it needs. */
export interface Purpose {
  what: string;
  scope: string;
}

const KEY_WORDS = /api[ _-]?key|authenticat|credential/i;

/**
 * The error for a status other than 2xx, in a sentence that says what to change. Klaviyo answers a bad key with 400,
 * 401 or 403, so the message decides. `details.parameter` names the invalid part of the request.
 */
export function refusal(config: KlaviyoConfig, purpose: Purpose, status: number, body: unknown): AppError {
  const { code, detail, field: place } = faultOf(body);
  const cause = { status, code, detail, place };
  const make = (message: string, details: Record<string, unknown> = {}) =>
    new AppError("upstream", message, { cause, details: { ...details, status } });
  if (status >= 500 || status === 408) {
    return new AppError("upstream", `Klaviyo is busy or failing: it returned ${status}.`, {
      retryable: true,
      cause,
    });
  }
  const scope = /\b([a-z][a-z-]*:(?:read|write))\b/.exec(detail)?.[1];
  const isPermission =
    status === 403 && (scope !== undefined || /permission|scope/i.test(`${code} ${detail}`));
  if (isPermission) {
    const missing = scope ?? purpose.scope;
    return make(`This apiKey can't read ${purpose.what}: missing scope ${missing}.`, {
      missingScope: missing,
    });
  }
  const isKey = status === 401 || status === 403 || (KEY_WORDS.test(`${code} ${detail}`) && place === "");
  if (isKey && status < 404)
    return make(`Klaviyo: apiKey rejected (${status}). Use a private API key.`, {
      setting: "credentials.apiKey",
    });
  if (/page\[cursor\]/.test(place) || /page[_ ]?cursor|\bcursor\b/i.test(detail))
    return expiredCursor(SYSTEM);
  if (/revision/i.test(`${place} ${detail}`) || status === 410) {
    return make(`Klaviyo doesn't support revision ${revisionOf(config)} (${status}). Set another.`);
  }
  if (status >= 300 && status < 400) {
    return make(`Klaviyo returned a redirect (${status}), which isn't followed. Check baseUrl.`);
  }
  if (status === 404) {
    return make(`Nothing found at this address for ${purpose.what} (404). Check baseUrl and revision.`);
  }
  const reason = detail === "" ? "" : `: ${detail.slice(0, 300)}`;
  return make(`Klaviyo refused to return ${purpose.what} (${status})${reason}`, { parameter: place });
}
