const BLOCK = 512;
/** Largest number with eleven octal digits. */
const MAX_OCTAL = 8 ** 11 - 1;
const MAX_NAME_BYTES = 100;
const encoder = new TextEncoder();

/**
 * Header of a regular file in a tar archive (POSIX.1-2001). Its content of exactly `bytes` follows, then `tarPadding`.
 * Long or non-ASCII names and sizes over 8 GiB use an extended header.
 */
export function tarHeader(name: string, bytes: number, modified: Date): Uint8Array {
  const isPlain = /^[\x20-\x7e]*$/.test(name) && name.length <= MAX_NAME_BYTES;
  const seconds = Math.floor(modified.getTime() / 1000);
  const extended = [
    ...(isPlain ? [] : [record("path", name)]),
    ...(bytes <= MAX_OCTAL ? [] : [record("size", String(bytes))]),
  ].join("");
  const plainName = isPlain ? name : name.replace(/[^\x20-\x7e]/g, "_").slice(-MAX_NAME_BYTES);
  const own = block(plainName, Math.min(bytes, MAX_OCTAL), seconds, "0");
  if (extended === "") return own;
  const text = encoder.encode(extended);
  return joined([block("PaxHeader", text.length, seconds, "x"), text, tarPadding(text.length), own]);
}

/** Zeros up to the next block. */
export const tarPadding = (bytes: number): Uint8Array => new Uint8Array((BLOCK - (bytes % BLOCK)) % BLOCK);

/** Ends an archive. */
export const tarEnd = (): Uint8Array => new Uint8Array(2 * BLOCK);

/** A record of an extended header. It starts with its own length. */
function record(key: string, value: string): string {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function block(name: string, bytes: number, seconds: number, type: "0" | "x"): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => header.set(encoder.encode(text), at);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  put(0, name);
  put(100, octal(0o600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(bytes, 11));
  put(136, octal(seconds, 11));
  put(148, "        ");
  put(156, type);
  put(257, "ustar\x0000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return header;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
