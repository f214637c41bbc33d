import type * as Library from "openid-client";
import { AppError } from "../base/errors.ts";
import { appErrorIn, safeCode } from "../base/openid-failure.ts";

/** Converts an error of an authorization server. Contains neither tokens nor the server's own text. */
export function explainOAuth(library: typeof Library, error: unknown, host: string): AppError {
  const own = appErrorIn(error);
  if (own) return own;
  if (error instanceof library.AuthorizationResponseError)
    return new AppError("forbidden", `${host} denied the sign-in (${safeCode(error.error)}).`);
  if (error instanceof library.ResponseBodyError) {
    const isSpent = error.error === "invalid_grant";
    const message = isSpent
      ? `${host} no longer accepts the response of this sign-in (invalid_grant). Start it again.`
      : `${host} issued no token (${error.status} ${safeCode(error.error)}).`;
    const details = { oauthError: safeCode(error.error) };
    return new AppError(isSpent ? "unauthenticated" : "upstream", message, {
      retryable: error.status >= 500 || error.status === 429,
      details,
    });
  }
  if (error instanceof library.WWWAuthenticateChallengeError)
    return new AppError(
      "upstream",
      `${host} doesn't recognize Weir's client registration (${error.status}).`,
      {
        details: { oauthError: "invalid_client" },
      },
    );
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "OAUTH_INVALID_RESPONSE" || code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED")
    return new AppError(
      "unauthenticated",
      `The response doesn't match this sign-in with ${host}. Start it again.`,
      {
        cause: new Error(code),
      },
    );
  return new AppError("upstream", `${host} issued no usable token${code === "" ? "" : ` (${code})`}.`, {
    cause: new Error(code),
  });
}
