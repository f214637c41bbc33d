import type { Ids } from "../base/ids.ts";

/** Prefixes of the tokens that Weir issues (docs/decisions/sign-in.md). */
export const TOKEN_PREFIX = {
  pat: "svc_pat_",
  session: "svc_at_",
  apiKey: "svc_key_",
} as const;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;

/** Returns `prefix`, 43 random base62 characters (256 bits) and their CRC-32 as six base62 characters. */
export function makeToken(prefix: string, ids: Ids): string {
  let random = "";
  while (random.length < RANDOM_CHARACTERS) {
    for (const byte of ids.bytes(64)) {
      if (byte < 248 && random.length < RANDOM_CHARACTERS) random += ALPHABET[byte % 62]; // 248 = 4 × 62: no bias
    }
  }
  return prefix + random + checksum(random);
}

/** Returns false for text that `makeToken` can't have made, so that typos never reach the store. */
export function isWellFormed(token: string, prefix: string): boolean {
  if (!token.startsWith(prefix) || token.length !== prefix.length + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS)
    return false;
  const random = token.slice(prefix.length, -CHECKSUM_CHARACTERS);
  return checksum(random) === token.slice(-CHECKSUM_CHARACTERS);
}

/** What is stored of a token: its SHA-256 in lowercase hex. */
export const hashToken = (token: string): string =>
  new Bun.CryptoHasher("sha256").update(token).digest("hex");

export const lastFour = (token: string): string => token.slice(-4);

function checksum(text: string): string {
  let rest = Bun.hash.crc32(text);
  let digits = "";
  while (rest > 0) {
    digits = ALPHABET[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits.padStart(CHECKSUM_CHARACTERS, "0");
}
