import { createHmac, timingSafeEqual } from "node:crypto";

const STEP_MS = 30_000;
const DIGITS = 6;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The code of a counter, by HMAC-SHA-1 (RFC 4226). */
export function codeAt(secret: Uint8Array, counter: number, digits = DIGITS): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac("sha1", secret).update(message).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

/** The counter at a time in milliseconds (RFC 6238). */
export const counterAt = (ms: number): number => Math.floor(ms / STEP_MS);

/** Returns the counter that `code` belongs to: that of `ms`, the previous or the next one. Null if none matches. */
export function counterOf(secret: Uint8Array, code: string, ms: number): number | null {
  const now = counterAt(ms);
  const digits = Buffer.from(code);
  const fits = [now - 1, now, now + 1].filter((step) => {
    const right = Buffer.from(codeAt(secret, step));
    return right.length === digits.length && timingSafeEqual(right, digits);
  });
  return fits[0] ?? null;
}

/** RFC 4648, without padding, as authenticator apps expect it. */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => BASE32[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}
