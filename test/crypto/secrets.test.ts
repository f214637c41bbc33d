import { describe, expect, test } from "bun:test";
import { systemIds } from "../../src/base/ids.ts";
import { makeCursor, readCursor } from "../../src/crypto/cursor.ts";
import { openSecretBox } from "../../src/crypto/secretbox.ts";
import { hashToken, isWellFormed, lastFour, makeToken, TOKEN_PREFIX } from "../../src/crypto/tokens.ts";
import { turnableClock } from "../support/app.ts";
import vectors from "./vectors.json" with { type: "json" };

describe("a token", () => {
  const { pat, patSha256 } = vectors.token;

  test("in the vectors is well formed, and stored as its SHA-256", () => {
    expect(isWellFormed(pat, TOKEN_PREFIX.pat)).toBe(true);
    expect(hashToken(pat)).toBe(patSha256);
    expect(lastFour(pat)).toBe("LuWK");
  });

  test("with a mistyped letter, another prefix or a missing part isn't well formed", () => {
    for (let at = TOKEN_PREFIX.pat.length; at < pat.length; at++) {
      const wrong = pat.slice(0, at) + (pat[at] === "x" ? "y" : "x") + pat.slice(at + 1);
      expect(isWellFormed(wrong, TOKEN_PREFIX.pat)).toBe(false);
    }
    expect(isWellFormed(pat, TOKEN_PREFIX.session)).toBe(false);
    expect(isWellFormed(pat.slice(0, -1), TOKEN_PREFIX.pat)).toBe(false);
  });

  test("that is generated is well formed and unique", () => {
    const made = Array.from({ length: 200 }, () => makeToken(TOKEN_PREFIX.session, systemIds));
    expect(made.every((token) => isWellFormed(token, TOKEN_PREFIX.session))).toBe(true);
    expect(new Set(made).size).toBe(200);
  });
});

const box = openSecretBox(new Uint8Array(32).fill(7), systemIds);

describe("the secret box", () => {
  test("decrypts what it encrypted, and encrypts the same text differently each time", () => {
    const [one, two] = [box.seal("sécret 🚀", "connection:1"), box.seal("sécret 🚀", "connection:1")];
    expect(one).not.toBe(two);
    expect(one).not.toContain("sécret");
    expect([box.open(one, "connection:1"), box.open(two, "connection:1")]).toEqual([
      "sécret 🚀",
      "sécret 🚀",
    ]);
  });

  test("is AES-256-GCM with a new nonce each time: another implementation decrypts its output", async () => {
    const bytes = (text: string) => Buffer.from(text.split(".")[2] ?? "", "base64url");
    const label = "connection:1";
    const material = await crypto.subtle.importKey("raw", new Uint8Array(32).fill(7), "HKDF", false, [
      "deriveKey",
    ]);
    const derivation = {
      name: "HKDF",
      hash: "SHA-256",
      salt: Buffer.from("weir"),
      info: Buffer.from("seal"),
    };
    const cipher = { name: "AES-GCM", length: 256 };
    const key = await crypto.subtle.deriveKey(derivation, material, cipher, false, ["decrypt"]);
    const nonces = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const sealed = bytes(box.seal("sécret 🚀", label));
      const [iv, body] = [sealed.subarray(0, 12), sealed.subarray(12)];
      nonces.add(iv.toString("hex"));
      const opened = await crypto.subtle.decrypt(
        { name: "AES-GCM", iv, additionalData: Buffer.from(label), tagLength: 128 },
        key,
        body,
      );
      expect(Buffer.from(opened).toString()).toBe("sécret 🚀");
    }
    expect(nonces.size).toBe(50);
  });

  test("decrypts nothing with another label or key, and nothing modified", () => {
    const sealed = box.seal("secret", "connection:1");
    const other = openSecretBox(new Uint8Array(32).fill(8), systemIds);
    expect(() => box.open(sealed, "connection:2")).toThrow("couldn't be decrypted");
    expect(() => other.open(sealed, "connection:1")).toThrow("a different key");
    const middle = sealed.length - 8;
    const letter = sealed[middle] === "A" ? "B" : "A";
    const altered = sealed.slice(0, middle) + letter + sealed.slice(middle + 1);
    expect(() => box.open(altered, "connection:1")).toThrow("couldn't be decrypted");
    expect(() => box.open("v1.nonsense", "connection:1")).toThrow();
    expect(other.keyId).not.toBe(box.keyId);
  });

  test("signs each purpose with a different key", () => {
    expect(box.sign("text", "cursor")).toBe(box.sign("text", "cursor"));
    expect(box.sign("text", "cursor")).not.toBe(box.sign("text", "other"));
  });
});

describe("a cursor", () => {
  const DAY_MS = 24 * 60 * 60 * 1000;
  const scope = ["events", "organization", { type: "action.*" }];

  test("returns its position, for the same list and filters", () => {
    const signer = { secrets: box, clock: turnableClock() };
    expect(readCursor(signer, scope, makeCursor(signer, scope, ["a", 7]))).toEqual(["a", 7]);
  });

  test("of another organization or filter, modified or extended, is rejected", () => {
    const signer = { secrets: box, clock: turnableClock() };
    const cursor = makeCursor(signer, scope, 7);
    const wrong = [`x${cursor}`, `${cursor}x`, `${cursor}.x`, cursor.replace(".", ""), ".", "nonsense"];
    for (const text of wrong)
      expect(() => readCursor(signer, scope, text)).toThrow("Invalid cursor for this list");
    expect(() => readCursor(signer, ["events", "another", { type: "action.*" }], cursor)).toThrow();
    expect(() => readCursor(signer, ["events", "organization", {}], cursor)).toThrow();
  });

  test("is valid for 24 hours", () => {
    const clock = turnableClock();
    const signer = { secrets: box, clock };
    const cursor = makeCursor(signer, scope, 7);
    clock.turn(DAY_MS - 1000);
    expect(readCursor(signer, scope, cursor)).toBe(7);
    clock.turn(2000);
    expect(() => readCursor(signer, scope, cursor)).toThrow("has expired");
  });
});
