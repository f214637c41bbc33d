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
  "X-SVC-Signature": `sha256=${hmac("sha256", secret, `${timestamp}.${payload}`).toString("hex")}`,
  "X-SVC-Timestamp": String(timestamp),
});
