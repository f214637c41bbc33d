import type { CustomFetch } from "openid-client";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** Nonstandard error codes, mapped to those of RFC 6749, section 5.2. */
const CODES: Readonly<Record<string, string>> = {
  bad_verification_code: "invalid_grant",
  bad_refresh_token: "invalid_grant",
  incorrect_client_credentials: "invalid_client",
  invalid_code: "invalid_grant",
  code_already_used: "invalid_grant",
  invalid_refresh_token: "invalid_grant",
  token_revoked: "invalid_grant",
  bad_client_secret: "invalid_client",
  invalid_client_id: "invalid_client",
};

/** Token types that are sent in a header like a bearer token. */
const BEARERS = ["bearer", "bot", "user"];

/**
 * Converts token responses to the form of RFC 6749: errors with status 200 or under other names,
 * a missing `token_type`,
 * seconds as text, scopes separated by commas, a form instead of JSON. Removes the ID token, which isn't used.
 */
export function inStandardTerms(send: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await send(url, options);
    if (response.status >= 500) {
      const message = `${new URL(url).host} issued no token: it returned ${response.status}.`;
      throw new AppError("upstream", message, { retryable: true });
    }
    const body = readReply(response.headers.get("content-type") ?? "", await response.text());
    // an HTML page comes from a proxy or from a failing server
    const { status, reply } = standard(response.status, body ?? { error: "unknown_error" });
    const headers = new Headers(response.headers);
    headers.set("content-type", "application/json");
    headers.delete("content-length");
    headers.delete("content-encoding");
    // the library prefers a challenge to the error code in the body
    if (typeof reply.error === "string") headers.delete("www-authenticate");
    return Response.json(reply, { status, headers });
  };
}

function readReply(type: string, text: string): JsonObject | null {
  if (/x-www-form-urlencoded/i.test(type)) return Object.fromEntries(new URLSearchParams(text));
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null; // not JSON, but an HTML page
  }
}

function standard(status: number, body: JsonObject): { status: number; reply: JsonObject } {
  const error = errorIn(status, body);
  if (error !== null) return { status: Math.max(status, 400), reply: { error } };
  const own =
    typeof body.access_token === "string" ? body : isObject(body.authed_user) ? body.authed_user : body;
  const { access_token, refresh_token, token_type: type, expires_in: seconds, scope } = own;
  const isBearer = typeof type !== "string" || type === "" || BEARERS.includes(type.toLowerCase());
  const lifetime = Number(seconds ?? Number.NaN);
  const reply: JsonObject = {
    ...(access_token === undefined ? {} : { access_token }),
    token_type: isBearer ? "bearer" : type,
    ...(typeof refresh_token === "string" && refresh_token !== "" ? { refresh_token } : {}),
    ...(lifetime > 0 && Number.isFinite(lifetime) ? { expires_in: Math.floor(lifetime) } : {}),
  };
  const scopes = Array.isArray(scope) ? scope.join(" ") : typeof scope === "string" ? scope : "";
  if (scopes.trim() !== "") reply.scope = scopes.replace(/[\s,]+/g, " ").trim();
  return { status: status === 201 ? 200 : status, reply };
}

/** The error code of a response that is a refusal; null for others. */
function errorIn(
  status: number,
  { ok, error, status: named, access_token: token }: JsonObject,
): string | null {
  const isRefusal = status >= 400 || ok === false || (error !== undefined && typeof token !== "string");
  if (!isRefusal) return null;
  const code = [error, isObject(error) ? error.type : null, named].find((each) => typeof each === "string");
  const word = String(code ?? "").toLowerCase();
  const known = CODES[word] ?? word;
  return /^[a-z_]{1,60}$/.test(known) ? known : "unknown_error";
}
