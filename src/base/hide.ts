import { AppError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";

const HIDDEN = "***";
/** Shorter ones would stand in every other word. */
const LEAST_CHARACTERS = 4;

/** Longest first, so that no rest of a longer one is left. */
const worthHiding = (secrets: readonly string[]) =>
  [...new Set(secrets)]
    .filter((secret) => secret.length >= LEAST_CHARACTERS)
    .sort((one, other) => other.length - one.length);

/** A copy of `value` without these texts, keys included. */
export function hideSecrets<T extends Json>(value: T, secrets: readonly string[]): T {
  const hidden = worthHiding(secrets);
  return (hidden.length === 0 ? value : hide(value, hidden)) as T;
}

function hide(value: Json, secrets: readonly string[]): Json {
  if (typeof value === "string") return hideIn(value, secrets);
  if (Array.isArray(value)) return value.map((item) => hide(item, secrets));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [hideIn(key, secrets), hide(item, secrets)]);
  return Object.fromEntries(entries);
}

const hideIn = (text: string, secrets: readonly string[]) =>
  secrets.reduce((told, secret) => told.replaceAll(secret, HIDDEN), text);

/** The same error, with these texts in neither its message nor its details. */
export function withoutSecrets(error: unknown, secrets: readonly string[]): unknown {
  const hidden = worthHiding(secrets);
  if (!(error instanceof AppError) || hidden.length === 0) return error;
  const { code, retryable, retryAfterSeconds, details, cause, loc, type } = error;
  return new AppError(code, hideIn(error.message, hidden), {
    retryable,
    cause,
    loc,
    ...(type === null ? {} : { type }),
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(details === null ? {} : { details: hide(details as Json, hidden) as Record<string, unknown> }),
  });
}
