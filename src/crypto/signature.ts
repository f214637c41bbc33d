import { timingSafeEqual } from "node:crypto";

export const SIGNATURE_ALGORITHMS = ["sha256", "sha1", "sha512"] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** HMAC of the concatenated `parts`. */
export function hmac(
  algorithm: SignatureAlgorithm,
  secret: string | Uint8Array,
  ...parts: (string | Uint8Array)[]
): Buffer {
  const hasher = new Bun.CryptoHasher(algorithm, secret);
  for (const part of parts) hasher.update(part);
  return Buffer.from(hasher.digest());
}

/**
 * Returns whether `given` is the HMAC in hex or base64, with or without the prefix `sha256=`.
 * A header can have several, separated by commas or spaces. Takes constant time.
 */
export function matchesSignature(
  signature: string,
  expected: Buffer,
  algorithm: SignatureAlgorithm,
): boolean {
  return signature
    .split(/[\s,]+/)
    .slice(0, 8)
    .some((text) => equalBytes(decode(text.trim(), expected.length, algorithm), expected));
}

function decode(text: string, length: number, algorithm: SignatureAlgorithm): Buffer {
  const bare = text.toLowerCase().startsWith(`${algorithm}=`) ? text.slice(algorithm.length + 1) : text;
  return bare.length === length * 2 && /^[0-9a-f]+$/i.test(bare)
    ? Buffer.from(bare, "hex")
    : Buffer.from(bare, "base64");
}

/** Compares in constant time. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);

/** Compares texts of any length without leaking their lengths or where they differ. */
export const equalTexts = (a: string, b: string): boolean => equalBytes(sha256(a), sha256(b));

const sha256 = (text: string): Uint8Array => new Bun.CryptoHasher("sha256").update(text).digest();

/** Headers of an outbound delivery. `timestamp` is in Unix seconds. */
export const signDelivery = (secret: string, timestamp: number, payload: string) => ({
  "X-SVC-Signature": `sha256=${digest(secret, `${timestamp}.${payload}`, "hex")}`,
  "X-SVC-Timestamp": String(timestamp),
});

const digest = (key: string | Uint8Array, text: string, encoding: "hex" | "base64"): string =>
  new Bun.CryptoHasher("sha256", key).update(text).digest(encoding);

/** The newest secret first, then the previous one while it still signs. */
export type Secrets = readonly [secret: string] | readonly [secret: string, previous: string];

/**
 * Headers of Standard Webhooks and of Weir's interface, signed with the newest of `secrets`. With a previous secret,
 * `webhook-signature` has a second entry, and `X-SVC-Signature-Previous` has the signature by that secret.
 */
export function signMessage([secret, previous]: Secrets, id: string, timestamp: number, payload: string) {
  const text = `${id}.${timestamp}.${payload}`;
  const standard = (one: string) => `v1,${digest(standardKey(one), text, "base64")}`;
  const signed = signDelivery(secret, timestamp, payload);
  const headers = {
    "X-SVC-Signature": signed["X-SVC-Signature"],
    "X-SVC-Timestamp": signed["X-SVC-Timestamp"],
    "webhook-id": id,
    "webhook-timestamp": signed["X-SVC-Timestamp"],
    "webhook-signature": standard(secret),
  };
  if (previous === undefined) return headers;
  return {
    ...headers,
    "webhook-signature": `${headers["webhook-signature"]} ${standard(previous)}`,
    "X-SVC-Signature-Previous": signDelivery(previous, timestamp, payload)["X-SVC-Signature"],
  };
}

/**
 * Decodes a secret as the Standard Webhooks libraries do: base64, with or without `whsec_`.
 * Otherwise, the text's bytes.
 */
export function standardKey(secret: string): Uint8Array | string {
  const text = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret;
  const isBase64 =
    text.length > 0 && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
  return isBase64 ? Buffer.from(text, "base64") : secret;
}
