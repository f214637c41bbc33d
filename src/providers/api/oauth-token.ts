import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Link } from "../contract.ts";
import type { IssuedToken } from "./access-token.ts";

const MAX_TOKEN_BYTES = 64 * 1024;

/** Lifetime of a token whose response doesn't state one. */
const TOKEN_SECONDS = 300;

/** Codes (RFC 6749, section 5.2) that refuse the credentials; all others concern the request. */
const REFUSALS = ["invalid_grant", "invalid_client", "unauthorized_client"];

interface TokenRequest {
  url: string;
  form: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  /** How one system reports rejected credentials. */
  /** How one system reports rejected credentials, with its own error codes. */
  faults?: Readonly<Record<string, string>>;
}

/**
 * Posts a form to a token endpoint and returns the token with the scopes in the response (null for none). Throws
 * `upstream`: retryable if the endpoint is busy or broken, with `details.refusal` if it refuses the credentials.
 */
export async function postForToken<C, K>(
  link: Link<C, K>,
  { url, form, headers, faults = {} }: TokenRequest,
): Promise<IssuedToken & { scopes: string[] | null }> {
  const response = await link.egress.fetch(url, {
    method: "POST",
    headers: {
      accept: "application/json",
      "content-type": "application/x-www-form-urlencoded",
      ...headers,
    },
    body: new URLSearchParams(form).toString(),
    signal: link.signal,
    maxRedirects: 0,
  });
  const reply = jsonOf(await response.bytes(MAX_TOKEN_BYTES));
  const { access_token: token, token_type: type, expires_in: seconds, scope } = reply;
  const { host } = new URL(url);
  if (response.status !== 200 || typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
    throw failure(host, response.status, reply, faults);
  if (typeof type === "string" && type.toLowerCase() !== "bearer") {
    const message = `${host} gave a token of a type that Weir can't send; Bearer is what it takes.`;
    throw new AppError("upstream", message);
  }
  const lifetimeSeconds = Number(seconds ?? TOKEN_SECONDS);
  return {
    token,
    lifetimeSeconds: Number.isFinite(lifetimeSeconds) ? lifetimeSeconds : TOKEN_SECONDS,
    scopes: typeof scope === "string" && scope !== "" ? scope.split(" ") : null,
  };
}

/** True if a token endpoint rejected the credentials, so that no later attempt can succeed. */
export const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.details?.refusal !== undefined;

function failure(
  host: string,
  status: number,
  reply: JsonObject,
  faults: Readonly<Record<string, string>>,
): AppError {
  const code = typeof reply.error === "string" && /^[a-z_]{1,40}$/.test(reply.error) ? reply.error : "";
  const cause = { status, ...reply };
  const message = `${host} gave no token for these credentials: it answered ${status}${code && ` (${code})`}.`;
  if (status >= 500 || status === 429) return new AppError("upstream", message, { retryable: true, cause });
  const known =
    status >= 400 ? [...REFUSALS, ...Object.keys(faults)].find((each) => each === code) : undefined;
  if (known === undefined && status !== 401) return new AppError("upstream", message, { cause });
  const text = (known && faults[known]) ?? `${message} Store the correct ones, then verify the connection.`;
  return new AppError("upstream", text, { details: { refusal: known ?? String(status) }, cause });
}

function jsonOf({ bytes, truncated }: { bytes: Uint8Array; truncated: boolean }): JsonObject {
  if (truncated) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? (value as JsonObject) : {};
  } catch {
    return {}; // not JSON; the status says enough
  }
}
