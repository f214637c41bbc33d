import { expect, test } from "bun:test";
import { base32, codeAt, counterAt, counterOf } from "../../src/crypto/totp.ts";

const secret = Buffer.from("12345678901234567890");

test.each([
  [59, "94287082"],
  [1111111109, "07081804"],
  [1111111111, "14050471"],
  [1234567890, "89005924"],
  [2000000000, "69279037"],
  [20000000000, "65353130"],
])("RFC 6238, appendix B: at %d s the code is %s", (seconds, code) => {
  expect(codeAt(secret, counterAt(seconds * 1000), 8)).toBe(code);
});

test.each([
  ["", ""],
  ["f", "MY"],
  ["fo", "MZXQ"],
  ["foo", "MZXW6"],
  ["foob", "MZXW6YQ"],
  ["fooba", "MZXW6YTB"],
  ["foobar", "MZXW6YTBOI"],
])("RFC 4648, section 10: %p is %s", (text, encoded) => {
  expect(base32(Buffer.from(text))).toBe(encoded);
});

test("a code is valid one step before and after its own, and no longer", () => {
  const code = codeAt(secret, 1000);
  const at = (step: number) => counterOf(secret, code, step * 30_000 + 1);
  expect([998, 999, 1000, 1001, 1002].map(at)).toEqual([null, 1000, 1000, 1000, null]);
  expect(counterOf(secret, "12345", 30_000_000)).toBeNull();
});
