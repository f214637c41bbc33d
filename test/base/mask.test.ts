import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "../../src/base/json.ts";
import { maskSecrets } from "../../src/base/mask.ts";

const masked = (key: string) => (maskSecrets({ [key]: "value" }) as Record<string, Json>)[key] === "***";

describe("maskSecrets", () => {
  test("hides the values of keys that hold secrets, in any spelling", () => {
    const keys = [
      "authorization",
      "Proxy-Authorization",
      "cookie",
      "Set-Cookie",
      "password",
      "dbPassword",
      "PASSWORD",
      "passphrase",
      "secret",
      "client_secret",
      "clientSecret",
      "webhookSecret",
      "token",
      "accessToken",
      "access_token",
      "accesstoken",
      "X-Auth-Token",
      "apikey",
      "apiKey",
      "API_KEY",
      "x-api-key",
      "accessKey",
      "secretAccessKey",
      "privateKey",
      "private_key",
      "credential",
      "credentials",
      "signature",
      "X-SVC-Signature",
      "serviceAccountJson",
      "tokenValue",
      "pwd",
    ];
    expect(keys.filter((key) => !masked(key))).toEqual([]);
  });

  test("shows keys that only look similar", () => {
    const keys = [
      "tokenCount",
      "primaryKey",
      "cursorField",
      "idempotencyKey",
      "Idempotency-Key",
      "concurrencyKey",
      "secretary",
      "signatureHeader",
      "signatureAlgorithm",
      "nextPageToken",
      "sortKey",
      "foreign_key",
      "key",
      "monkey",
      "author",
      "passenger",
    ];
    expect(keys.filter(masked)).toEqual([]);
  });

  test("keeps null, true and false, and counts of tokens", () => {
    const value = { hasSecret: true, secret: null, password: "", usage: { totalTokens: 12, tokens: 3 } };
    expect(maskSecrets(value)).toEqual(value);
    expect(maskSecrets({ pin: 1, token: 123456 })).toEqual({ pin: 1, token: "***" });
  });

  test("hides whole objects and lists, at every depth", () => {
    const value: Json = { a: [{ credentials: { user: "u", password: "p" } }, { cookies: ["x"] }] };
    expect(maskSecrets(value)).toEqual({ a: [{ credentials: "***" }, { cookies: "***" }] });
  });

  test("hides names, passwords and secret parameters in URLs", () => {
    expect(maskSecrets("https://u:p@ss@h.test/a@b?b=1&access_token=zzz&X-Amz-Signature=abc&key=AIza#f")).toBe(
      "https://***@h.test/a@b?b=1&access_token=***&X-Amz-Signature=***&key=***#f",
    );
    expect(maskSecrets("see postgres://u:p@h/db and http://t@x")).toBe(
      "see postgres://***@h/db and http://***@x",
    );
    expect(maskSecrets("/files?token=abc&page=2")).toBe("/files?token=***&page=2");
    expect(maskSecrets("grant=1&client_secret=abc")).toBe("grant=1&client_secret=***");
    expect(maskSecrets("mail a@b.test, https://h.test/a?cursor=x=y")).toBe(
      "mail a@b.test, https://h.test/a?cursor=x=y",
    );
  });

  test("hides credentials in plain text", () => {
    expect(maskSecrets("Bearer abc.def-ghi")).toBe("Bearer ***");
    expect(maskSecrets("Basic xyz")).toBe("Basic ***");
    expect(maskSecrets("sent Basic dXNlcjpwYXNz twice")).toBe("sent Basic *** twice");
    expect(maskSecrets("of Basic research and bearer bonds")).toBe("of Basic research and bearer bonds");
    expect(maskSecrets("use svc_pat_0123abc now")).toBe("use svc_pat_*** now");
    expect(maskSecrets("-----BEGIN RSA PRIVATE KEY-----\nMII\n")).toBe("***");
  });

  test("doesn't change its input, and is idempotent", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const before = JSON.stringify(value);
        const once = maskSecrets(value as Json);
        expect(JSON.stringify(value)).toBe(before);
        expect(JSON.stringify(maskSecrets(once))).toBe(JSON.stringify(once));
      }),
    );
  });

  test("handles hostile text quickly", () => {
    for (const part of ["a", "://", "=", "?a=", "Bearer ", "Basic a", "-----BEGIN ", "&", "@"]) {
      expect(typeof maskSecrets(part.repeat(1_000_000 / part.length))).toBe("string");
    }
  });
});
