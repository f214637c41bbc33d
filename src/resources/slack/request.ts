import { AppError, invalid } from "../../base/errors.ts";
import { isObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { App } from "../../context.ts";
import { PRESETS } from "../../crypto/presets.ts";

/** Content of a request from Slack: a form's fields, or an object. */
export type Fields = Readonly<Record<string, string>>;

/**
 * Throws `unauthenticated` for a request that Slack didn't sign within the last five minutes.
 * Without a secret, that is every request (https://docs.slack.dev/authentication/verifying-requests-from-slack).
 */
export function checkSlack(app: App, headers: Headers, body: Uint8Array): void {
  const secret = app.slack.signingSecret;
  if (secret === null) {
    throw new AppError(
      "unauthenticated",
      "Slack isn't configured. Set WEIR_SLACK_SIGNING_SECRET, and restart the server.",
    );
  }
  const now = Math.floor(app.clock.now().getTime() / 1000);
  const fault = PRESETS.slack.fault({ headers, body, secret, now });
  if (fault !== null) throw new AppError("unauthenticated", fault);
}

export const formOf = (body: Uint8Array): Fields =>
  Object.fromEntries(new URLSearchParams(new TextDecoder().decode(body)));

/** Throws `invalid` if the text isn't a JSON object. */
export function objectOf(text: string): JsonObject {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw invalid(["body"], "Input should be an object", "type_error");
}
