import { AppError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";

const HIDDEN = "***";
/** Shorter ones would match parts of ordinary words. */
const LEAST_CHARACTERS = 4;

/** Longest first, so that no remainder of a longer one is left. Includes their forms in URLs and headers. */
const worthHiding = (secrets: readonly string[]) =>
  [...new Set(secrets.filter((secret) => secret.length >= LEAST_CHARACTERS).flatMap(formsOf))].sort(
    (one, other) => other.length - one.length,
  );

const formsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret.toWellFormed()),
  new URLSearchParams([["", secret]]).toString().slice(1),
  Buffer.from(secret).toString("base64"),
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  Buffer.from(secret).toString("base64url"),
  Buffer.from(secret).toString("hex"),
];

/** JSON escapes no letters or digits, so a run of them appears in the text unchanged. */
const runIn = (secret: string): string =>
  (secret.match(/[A-Za-z0-9]+/g) ?? []).reduce((one, other) => (other.length > one.length ? other : one), "");

/** Quick check: false if the JSON of these bytes certainly contains none of the secrets. */
export const mayHold = ({ buffer, byteOffset, length }: Uint8Array, secrets: readonly string[]): boolean => {
  const bytes = Buffer.from(buffer, byteOffset, length);
  return worthHiding(secrets).some((secret) => bytes.includes(runIn(secret)));
};

/** Masks these secrets in a truncated text, including the start of a secret at its end. */
export function hideInCut(text: string, secrets: readonly string[]): string {
  const hidden = worthHiding(secrets);
  const masked = hideIn(text, hidden);
  const longest = hidden.reduce((most, secret) => {
    for (let length = Math.min(secret.length - 1, masked.length); length > most; length--)
      if (masked.endsWith(secret.slice(0, length))) return length;
    return most;
  }, 0);
  return longest === 0 ? masked : masked.slice(0, -longest) + HIDDEN;
}

/** Masks these secrets in any bytes. Returns the same bytes if there are none. */
export function hideInBytes(bytes: Buffer, secrets: readonly string[]): Buffer {
  const found = worthHiding(secrets).filter((secret) => bytes.includes(secret));
  if (found.length === 0) return bytes;
  const asBytes = found.map((secret) => Buffer.from(secret).toString("latin1"));
  return Buffer.from(hideIn(bytes.toString("latin1"), asBytes), "latin1");
}

/** Returns a copy of `value` with these secrets masked, also in keys. */
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

/**
 * Returns the string of `value` that reads `masked` once these secrets are masked. Null if there is none, though `value`
 * contains some of them.
 */
export function unmasked(masked: string, value: () => Json, secrets: readonly string[]): string | null {
  const hidden = worthHiding(secrets);
  if (hidden.length === 0 || !masked.includes(HIDDEN)) return masked;
  let hides = false;
  const find = (item: Json): string | null => {
    if (typeof item === "string") {
      const text = hideIn(item, hidden);
      hides ||= text !== item;
      return text === masked ? item : null;
    }
    if (typeof item !== "object" || item === null) return null;
    for (const inner of Object.values(item)) {
      const found = find(inner);
      if (found !== null) return found;
    }
    return null;
  };
  return find(value()) ?? (hides ? null : masked);
}

const hideIn = (text: string, secrets: readonly string[]) =>
  secrets.reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);

/** Returns an error with these secrets masked in its message and details. */
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
