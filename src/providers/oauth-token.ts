import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import type { IssuedToken } from "./access-token.ts";
import type { Link } from "./contract.ts";

const MAX_TOKEN_BYTES = 64 * 1024;

/** Of a token whose reply does not say how long it is good. */
const TOKEN_SECONDS = 300;

/** How the codes of RFC 6749, section 5.2, are told for one system. */
export interface TokenFaults {
  invalid_grant: string;
  invalid_client: string;
}

/**
 * Posts a form to a token endpoint and gives the token, with the scopes that the reply names (null for none). Throws
 * `upstream`: retryable where the endpoint is busy or broken, with the sentence of `faults` where it refuses.
 */
export async function postForToken<C, K>(
  link: Link<C, K>,
  url: string,
  form: Readonly<Record<string, string>>,
  faults: TokenFaults,
): Promise<IssuedToken & { scopes: string[] | null }> {
  const response = await link.egress.fetch(url, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
    signal: link.signal,
    maxRedirects: 0,
  });
  const reply = jsonOf(await response.bytes(MAX_TOKEN_BYTES));
  const { access_token: token, expires_in: seconds, scope } = reply;
  if (response.status === 200 && typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) {
    const lifetimeSeconds = Number(seconds ?? TOKEN_SECONDS);
    return {
      token,
      lifetimeSeconds: Number.isFinite(lifetimeSeconds) ? lifetimeSeconds : TOKEN_SECONDS,
      scopes: typeof scope === "string" && scope !== "" ? scope.split(" ") : null,
    };
  }
  throw refusal(new URL(url).host, response.status, reply, faults);
}

function refusal(host: string, status: number, reply: JsonObject, faults: TokenFaults): AppError {
  const code = typeof reply.error === "string" && /^[a-z_]{1,40}$/.test(reply.error) ? reply.error : "";
  const cause = { status, ...reply };
  if (status >= 500 || status === 429) {
    return new AppError("upstream", `${host} is busy or failing and gave no token (${status}).`, {
      retryable: true,
      cause,
    });
  }
  if (code === "invalid_grant") return new AppError("upstream", faults.invalid_grant, { cause });
  if (code === "invalid_client" || code === "unauthorized_client") {
    return new AppError("upstream", faults.invalid_client, { cause });
  }
  const told = code ? `${status}, ${code}` : `${status}`;
  return new AppError("upstream", `${host} gave no token for these credentials (${told}).`, { cause });
}

function jsonOf({ bytes, truncated }: { bytes: Uint8Array; truncated: boolean }): JsonObject {
  if (truncated) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? (value as JsonObject) : {};
  } catch {
    return {}; // a page instead of JSON: the status tells what there is to tell
  }
}
