import { timingSafeEqual } from "node:crypto";

export const SIGNATURE_ALGORITHMS = ["sha256", "sha1", "sha512"] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** HMAC of `parts`, one after the other. */
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
 * True where `given` is the HMAC in hex or base64, with or without `sha256=` before it; several may
 * stand in one header, parted by commas or spaces. Takes the same time wherever they differ.
 */
export function matchesSignature(given: string, expected: Buffer, algorithm: SignatureAlgorithm): boolean {
  return given
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

/** Compares without telling where they differ. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);

/** Headers of an outbound delivery (interface, section 6). `timestamp` is in Unix seconds. */
export const signDelivery = (secret: string, timestamp: number, payload: string) => ({
  "X-SVC-Signature": `sha256=${digest(secret, `${timestamp}.${payload}`, "hex")}`,
  "X-SVC-Timestamp": String(timestamp),
});

const digest = (key: string | Uint8Array, text: string, encoding: "hex" | "base64"): string =>
  new Bun.CryptoHasher("sha256", key).update(text).digest(encoding);

/** Headers of Standard Webhooks and those of the interface, each with a signature by every one of `secrets`. */
export function signMessage(secrets: readonly string[], id: string, timestamp: number, payload: string) {
  const own = secrets.map((secret) => signDelivery(secret, timestamp, payload)["X-SVC-Signature"]);
  const text = `${id}.${timestamp}.${payload}`;
  const standard = secrets.map((secret) => `v1,${digest(standardKey(secret), text, "base64")}`);
  return {
    "X-SVC-Signature": own.join(","),
    "X-SVC-Timestamp": String(timestamp),
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.join(" "),
  };
}

/** As the libraries of Standard Webhooks read a secret: base64, with or without `whsec_` before it; else its bytes. */
export function standardKey(secret: string): Uint8Array | string {
  const text = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret;
  const isBase64 =
    text.length > 0 && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
  return isBase64 ? Buffer.from(text, "base64") : secret;
}
