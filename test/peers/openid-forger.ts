import { createHmac, createPublicKey } from "node:crypto";

/** What the next ID token contains. */
interface Forgery {
  claims?: Record<string, unknown>;
  /**
   * Signed by a key that the provider doesn't publish, or by none; `shown`: by one included in the token; `public`:
   * with HS256, with the provider's public key as the secret.
   */
  key?: "own" | "another" | "none" | "shown" | "public";
  header?: Record<string, unknown>;
}

const RSA = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A provider that issues any ID token, without asking a user. */
export async function startForger(client: { id: string }) {
  const pair = () => crypto.subtle.generateKey(RSA, true, ["sign", "verify"]) as Promise<CryptoKeyPair>;
  const [own, another] = await Promise.all([pair(), pair()]);
  const jwk = await crypto.subtle.exportKey("jwk", own.publicKey);
  let next: Forgery = {};
  let nonce = "";

  const idToken = async (issuer: string) => {
    const { claims, key = "own", header } = next;
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: issuer, aud: client.id, sub: "1", nonce, iat: now, exp: now + 60 };
    const person = { email: "ada@example.com", email_verified: true };
    const alg = key === "none" ? "none" : key === "public" ? "HS256" : "RS256";
    const shown = await crypto.subtle.exportKey("jwk", another.publicKey);
    const brought = key === "shown" ? { jwk: shown, jku: `${issuer}/jwks-of-another`, kid: "2" } : {};
    const text = `${base64({ alg, kid: "1", ...brought, ...header })}.${base64({ ...usual, ...person, ...claims })}`;
    if (key === "none") return `${text}.`;
    if (key === "public") {
      const { n, e } = jwk;
      const secret = createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" }).export({
        type: "spki",
        format: "pem",
      });
      return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
    }
    const { privateKey } = key === "own" ? own : another;
    const signature = await crypto.subtle.sign(RSA.name, privateKey, Buffer.from(text));
    return `${text}.${Buffer.from(signature).toString("base64url")}`;
  };

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch({ url }): Promise<Response> {
      const { origin, pathname, searchParams } = new URL(url);
      switch (pathname) {
        case "/auth": {
          nonce = searchParams.get("nonce") ?? "";
          const back = `${searchParams.get("redirect_uri")}?code=x&state=${searchParams.get("state")}`;
          return new Response(null, { status: 302, headers: { location: back } });
        }
        case "/token":
          return Response.json({ access_token: "x", token_type: "Bearer", id_token: await idToken(origin) });
        case "/jwks-of-another": {
          const shown = await crypto.subtle.exportKey("jwk", another.publicKey);
          return Response.json({ keys: [{ ...shown, kid: "2", use: "sig" }] });
        }
        case "/jwks":
          return Response.json({ keys: [{ ...jwk, kid: "1", use: "sig" }] });
        default:
          return Response.json({
            issuer: origin,
            authorization_endpoint: `${origin}/auth`,
            token_endpoint: `${origin}/token`,
            jwks_uri: `${origin}/jwks`,
          });
      }
    },
  });
  return {
    issuer: server.url.origin,
    forge(forgery: Forgery) {
      next = forgery;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}
