import { isObject, type Json } from "./json.ts";

/** Replaces secrets. */
export const MASK = "***";

/** A key is secret if its last word is one of these, alone or at the end of a longer lowercase word. */
const SECRET_WORDS =
  /(authorization|cookies?|passwords?|passwd|passphrase|secrets?|tokens?|apikeys?|accesskey|privatekey|secretkey|credentials?|signature)$/;
/** … or is exactly one of these, */
const SECRET_NAMES = /^(pwd|jwt|sig|hmac|bearer)$/;
/** … or if its last words are these. */
const SECRET_ENDINGS =
  /(^| )((api|rapidapi|access|private|secret|signing|encryption|master|account|shared|auth|license|application|subscription|functions) keys?|service account json)$/;
/** Words after a secret one that still mean the secret itself, as in `tokenValue`, `password_hash`. */
const SAME_THING = / (value|hash|text|plaintext|string|data)$/;
/** Tokens that are positions in a list, which aren't secret. */
const POSITION_TOKENS = /(^| )(page|continuation|sync) ?token$/;

/**
 * Returns a copy of `value` without apparent secrets: values of keys such as `password`, `apiKey` or `X-Auth-Token`,
 * credentials and secret parameters in URLs, `Bearer` and `Basic` credentials, Weir's own tokens, and private keys.
 * Numbers of `tokens` are counts and aren't masked.
 */
export function maskSecrets(value: Json): Json {
  if (typeof value === "string") return maskText(value);
  if (Array.isArray(value)) return value.map(maskSecrets);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    return [key, hides(key, item) ? MASK : maskSecrets(item)];
  });
  return Object.fromEntries(entries);
}

/** Returns whether a field, header or parameter contains a secret, by its name. */
export function isSecretKey(key: string): boolean {
  const words = key
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .replace(SAME_THING, "");
  if (POSITION_TOKENS.test(words)) return false;
  return (
    SECRET_WORDS.test(words) || SECRET_NAMES.test(words.split(" ").at(-1) ?? "") || SECRET_ENDINGS.test(words)
  );
}

/** Nothing, true, false and token counts aren't secret. */
function hides(key: string, value: Json): boolean {
  if (value === null || typeof value === "boolean" || value === "") return false;
  if (typeof value === "number" && /tokens$/i.test(key)) return false;
  return isSecretKey(key);
}

function maskText(text: string): string {
  if (/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/.test(text)) return MASK;
  return maskUserinfo(text)
    .replace(/([?&#;]|^)([\w.%[\]-]{1,100})=([^&#;\s"'<>]+)/g, (whole, before, name) =>
      isSecretParameter(name) ? `${before}${name}=${MASK}` : whole,
    )
    .replace(/\b(Bearer|Token) +[\w.~+/=-]{6,}/gi, `$1 ${MASK}`)
    .replace(/\bBasic +([A-Za-z0-9+/=_-]{4,})/gi, (whole, code) => (isPair(code) ? `Basic ${MASK}` : whole))
    .replace(/^(Bearer|Basic) +\S+$/i, `$1 ${MASK}`)
    .replace(/\bsvc_(pat|at|key)_[\w-]+/g, `svc_$1_${MASK}`);
}

/** In URLs, `key` and `code` are credentials too: of an API, and of a sign-in. */
export function isSecretParameter(name: string): boolean {
  return isSecretKey(name) || /^(key|code|x-amz-credential)$/i.test(name);
}

/** Masks `//user:password@host` anywhere in the text. */
function maskUserinfo(text: string): string {
  let out = "";
  let at = 0;
  for (let found = text.indexOf("://"); found >= 0; found = text.indexOf("://", at)) {
    const start = found + 3;
    const length = text.slice(start, start + 2_000).search(/[/?#\s"'<>]|$/);
    const end = text.slice(start, start + length).lastIndexOf("@");
    out += text.slice(at, start) + (end < 0 ? "" : MASK);
    at = end < 0 ? start : start + end;
  }
  return out + text.slice(at);
}

/** Returns whether base64 text contains `name:password`. */
function isPair(code: string): boolean {
  return Buffer.from(code, "base64").toString("latin1").includes(":");
}
