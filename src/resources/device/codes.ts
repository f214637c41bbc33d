import type { Ids } from "../../base/ids.ts";

/** No vowels, so that no words appear, and no letters that look like digits (RFC 8628, section 6.1). */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_CHARACTERS = 8;

/** Eight random letters, 34 bits, without the dash. */
export function makeUserCode(ids: Ids): string {
  let code = "";
  while (code.length < CODE_CHARACTERS) {
    for (const byte of ids.bytes(2 * CODE_CHARACTERS)) {
      if (byte < 240 && code.length < CODE_CHARACTERS) code += ALPHABET[byte % 20]; // 240 = 12 × 20: no bias
    }
  }
  return code;
}

/** Formats a code as `XXXX-XXXX`. */
export const showUserCode = (code: string): string =>
  `${code.slice(0, CODE_CHARACTERS / 2)}-${code.slice(CODE_CHARACTERS / 2)}`;

/** Parses a typed code, ignoring case, hyphens and spaces. Null if it isn't one. */
export function readUserCode(typed: string): string | null {
  const code = typed.replace(/[\s\p{Pd}]/gu, "").toUpperCase();
  return code.length === CODE_CHARACTERS && [...code].every((letter) => ALPHABET.includes(letter))
    ? code
    : null;
}
