import { describe, expect, test } from "bun:test";
import { sourceOf } from "../../src/base/cidr.ts";
import { client, startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";

describe("a sender with many IPv6 addresses of one line", () => {
  test("is one sender for the limits", () => {
    expect(sourceOf("2001:470:1:2::1")).toBe(sourceOf("2001:470:1:2:ffff:ffff:ffff:ffff"));
    expect(sourceOf("2001:470:1:2::1")).not.toBe(sourceOf("2001:470:1:3::1"));
    expect(sourceOf("203.0.113.1")).not.toBe(sourceOf("203.0.113.2"));
    expect(sourceOf("::ffff:203.0.113.1")).not.toBe(sourceOf("::ffff:203.0.113.2"));
    expect(sourceOf("unknown")).toBe("unknown");
  });

  test("can't sign in more often by changing addresses", async () => {
    await using app = await startApp({
      engine: false,
      stands: true,
      env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8" },
    });
    const tries: number[] = [];
    for (let i = 1; i <= 12; i++) {
      const call = client(app.origin, { "x-forwarded-for": `2001:470:1:2::${i.toString(16)}` });
      const body = { email: `nobody${i}@example.com`, password: "not the password" };
      tries.push((await call("POST", "/api/v1/auth/login", body)).status);
    }
    expect(tries.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(tries.slice(10)).toEqual([429, 429]);
  });
});

deepTest("without a trusted proxy, a header can't change the client's address", async () => {
  await using app = await startApp({ engine: false, stands: true });
  let last = 0;
  for (let i = 1; i <= 11; i++) {
    const headers = {
      "x-forwarded-for": `198.51.100.${i}`,
      forwarded: `for=198.51.100.${i}`,
      "x-real-ip": `198.51.100.${i}`,
    };
    const body = { email: `nobody${i}@example.com`, password: "not the password" };
    last = (await client(app.origin, headers)("POST", "/api/v1/auth/login", body)).status;
  }
  expect(last).toBe(429);
});
