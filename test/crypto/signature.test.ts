import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import {
  hmac,
  matchesSignature,
  SIGNATURE_ALGORITHMS,
  signDelivery,
  signMessage,
} from "../../src/crypto/signature.ts";
import vectors from "./vectors.json" with { type: "json" };

const { rfc4231_1, rfc4231_2, github, inbound } = vectors;

describe("the HMAC", () => {
  test("is that of RFC 4231", () => {
    expect(hmac("sha256", Buffer.from(rfc4231_1.keyHex, "hex"), rfc4231_1.data).toString("hex")).toBe(
      rfc4231_1.hex,
    );
    expect(hmac("sha256", rfc4231_2.key, rfc4231_2.data).toString("hex")).toBe(rfc4231_2.hex);
  });

  test("is that of GitHub's example", () => {
    expect(`sha256=${hmac("sha256", github.secret, github.body).toString("hex")}`).toBe(github.header);
  });

  test("accepts its input in parts", () => {
    const whole = hmac("sha256", "key", "1700000000.{}");
    expect(hmac("sha256", "key", "1700000000.", Buffer.from("{}"))).toEqual(whole);
  });
});

describe("the headers of an outbound delivery", () => {
  test.each(Object.entries({ A: vectors.svcA, B: vectors.svcB, C: vectors.svcC, D: vectors.svcD }))(
    "are those of vector %s",
    (_, { secret, ts, body, header }) => {
      expect(signDelivery(secret, Number(ts), body)).toEqual({
        "X-SVC-Signature": header,
        "X-SVC-Timestamp": ts,
      });
      const anew = createHmac("sha256", secret).update(`${ts}.${body}`).digest("hex");
      expect(header).toBe(`sha256=${anew}`);
    },
  );
});

describe("the headers of Standard Webhooks", () => {
  const { secret, id, ts, body, header } = vectors.standardWebhooks;

  test("are those of the published vector, with and without the secret's prefix", () => {
    for (const one of [secret, secret.replace("whsec_", "")]) {
      const signed = signMessage([one], id, Number(ts), body);
      expect(signed).toEqual({
        ...signDelivery(one, Number(ts), body),
        "webhook-id": id,
        "webhook-timestamp": ts,
        "webhook-signature": header,
      });
    }
  });

  test("work for a secret that isn't base64, which is used unchanged", () => {
    const own = "not base64, but long enough";
    const signed = signMessage([secret, own], id, Number(ts), body);
    const verifier = new Webhook(own, { format: "raw" });
    const [first, second] = signed["webhook-signature"].split(" ");
    expect([first, second]).toEqual([header, verifier.sign(id, new Date(Number(ts) * 1000), body)]);
    const [now, before] = [secret, own].map((one) => signDelivery(one, Number(ts), body)["X-SVC-Signature"]);
    expect(signed).toMatchObject({ "X-SVC-Signature": now, "X-SVC-Signature-Previous": before });
  });
});

describe("a signature", () => {
  const expected = hmac("sha256", inbound.secret, inbound.body);
  const matches = (given: string) => matchesSignature(given, expected, "sha256");

  test("is accepted in hex and base64, with and without its prefix, in any case of hex", () => {
    expect(expected.toString("hex")).toBe(inbound.hex);
    for (const text of [inbound.hex, inbound.hex.toUpperCase(), inbound.base64]) {
      expect([matches(text), matches(`sha256=${text}`)]).toEqual([true, true]);
    }
  });

  test("can be one of several in the header", () => {
    expect(matches(`sha256=${"0".repeat(64)}, sha256=${inbound.hex}`)).toBe(true);
    expect(matches(`${"0".repeat(64)} ${inbound.base64}`)).toBe(true);
  });

  test("that is cut off, modified, of another algorithm or empty is rejected", () => {
    const altered = inbound.hex.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const others = [
      "",
      " ",
      altered,
      inbound.hex.slice(0, 32),
      `${inbound.hex}00`,
      `sha1=${inbound.hex}`,
      "sha256=",
    ];
    for (const text of others) expect(matches(text)).toBe(false);
  });

  test.each(SIGNATURE_ALGORITHMS)("works with %s", (algorithm) => {
    const made = createHmac(algorithm, "a secret").update("body").digest();
    const own = hmac(algorithm, "a secret", "body");
    expect(matchesSignature(`${algorithm}=${made.toString("hex")}`, own, algorithm)).toBe(true);
    expect(matchesSignature(made.toString("base64"), own, algorithm)).toBe(true);
    expect(matchesSignature(made.toString("hex"), hmac(algorithm, "another", "body"), algorithm)).toBe(false);
  });
});
