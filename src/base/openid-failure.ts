import type * as Client from "openid-client";
import { AppError } from "./errors.ts";

/** Error codes of the library for responses that must not be trusted. */
const DISTRUSTED = new Set([
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_INVALID_RESPONSE",
]);

/**
 * Returns the error for a failure of the provider `name`. The causes contain no tokens and no text from the provider.
 */
export function explainOpenId(client: typeof Client, error: unknown, name: string): AppError {
  const own = appErrorIn(error);
  if (own?.code === "unauthenticated") return own;
  if (own) return unusable(name, own.code === "timeout" ? "timeout" : "upstream", own.message, own.retryable);
  if (error instanceof client.AuthorizationResponseError) {
    return new AppError("forbidden", `${name} denied the sign-in (${safeCode(error.error)}).`);
  }
  if (error instanceof client.ResponseBodyError) {
    if (error.error === "invalid_grant") return distrusted(name, "invalid_grant");
    return unusable(
      name,
      "upstream",
      `it answered ${error.status} ${safeCode(error.error)}`,
      error.status >= 500,
    );
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    return unusable(name, "upstream", `it returned ${error.status}. Check the client ID and secret`, false);
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = `${code} ${innermost(error)}`.trim();
  return DISTRUSTED.has(code) ? distrusted(name, reason) : unusable(name, "upstream", reason, true);
}

/** Anyone can see the message. Details are for the operator, in the log. */
const unusable = (name: string, code: "upstream" | "timeout", reason: string, retryable: boolean) =>
  new AppError(code, `Single sign-on with ${name} is currently unavailable. Try again later.`, {
    retryable,
    cause: new Error(reason),
  });

const distrusted = (name: string, reason: string) =>
  new AppError("unauthenticated", `The response of ${name} doesn't match this sign-in. Start it again.`, {
    cause: new Error(reason),
  });

/** Returns Weir's own error that the library has wrapped. Null if there is none. */
export function appErrorIn(error: unknown): AppError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof AppError) return at;
  return null;
}

function innermost(error: unknown): string {
  let message = "";
  for (let at = error; at instanceof Error; at = at.cause) message = at.message;
  return message.slice(0, 200);
}

/** OAuth error codes are short words. Anything else isn't shown. */
export const safeCode = (error: string) => (/^[a-z_]{1,60}$/.test(error) ? error : "an error");
