import type * as Client from "openid-client";
import { AppError } from "./errors.ts";

/** Codes of the library for answers that could be read and are not to be trusted. */
const DISTRUSTED = new Set([
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_INVALID_RESPONSE",
]);

/** What went wrong with the provider `name`; the causes hold no tokens, and nothing of the provider's own prose. */
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

/** The message goes to anybody; what is wrong is for the operator, in the log. */
const unusable = (name: string, code: "upstream" | "timeout", reason: string, retryable: boolean) =>
  new AppError(code, `Single sign-on with ${name} is currently unavailable. Try again later.`, {
    retryable,
    cause: new Error(reason),
  });

const distrusted = (name: string, reason: string) =>
  new AppError("unauthenticated", `The response of ${name} doesn't match this sign-in. Start it again.`, {
    cause: new Error(reason),
  });

/** The error of ours that the library has wrapped; null where there is none. */
export function appErrorIn(error: unknown): AppError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof AppError) return at;
  return null;
}

function innermost(error: unknown): string {
  let message = "";
  for (let at = error; at instanceof Error; at = at.cause) message = at.message;
  return message.slice(0, 200);
}

/** Error codes of OAuth are short words; anything else is not shown. */
export const safeCode = (error: string) => (/^[a-z_]{1,60}$/.test(error) ? error : "an error");
