import { AppError } from "../base/errors.ts";
import { accessToken } from "./access-token.ts";
import { type DriveLink, type Identity, identityOf } from "./google-drive-shape.ts";
import { postForToken } from "./oauth-token.ts";

/** Reading is all that Weir does. */
const SCOPE = "https://www.googleapis.com/auth/drive.readonly";

/** One of these is needed to read what is in files; `drive.metadata` and its like show only names. */
const READING = /\/auth\/drive(?:\.readonly|\.file)?$/;

const ASSERTION_SECONDS = 3_600;

/** A token for Drive; see `accessToken`. Throws `definition_invalid`, `upstream`. */
export function driveToken(
  link: DriveLink,
  options: { refused?: string; isFresh?: boolean } = {},
): Promise<string> {
  const identity = identityOf(link);
  return accessToken(link, () => issue(link, identity), options);
}

async function issue(link: DriveLink, identity: Identity) {
  const issued =
    identity.kind === "user"
      ? await postForToken(
          link,
          identity.tokenUrl,
          {
            grant_type: "refresh_token",
            client_id: identity.clientId,
            client_secret: identity.clientSecret,
            refresh_token: identity.refreshToken,
          },
          {
            invalid_grant:
              "Google does not accept the refresh token: it has expired or was revoked. Sign in anew and store the new one.",
            invalid_client: "Google does not accept this clientId with this clientSecret.",
          },
        )
      : await postForToken(
          link,
          identity.tokenUrl,
          {
            grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
            assertion: await assertion(link, identity),
          },
          {
            invalid_grant: `Google does not accept the key of ${identity.email}: it was deleted, the account is gone, or this machine's clock is wrong.`,
            invalid_client: `Google does not know the service account ${identity.email}.`,
          },
        );
  if (issued.scopes && !issued.scopes.some((scope) => READING.test(scope))) {
    throw new AppError("upstream", `These credentials may not read files: the scope ${SCOPE} is missing.`);
  }
  return issued;
}

/** RFC 7523: the claim that a service account signs with its own key. */
async function assertion(
  { clock }: DriveLink,
  identity: Extract<Identity, { kind: "service_account" }>,
): Promise<string> {
  const issuedAt = Math.floor(clock.now().getTime() / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(identity.keyId ? { kid: identity.keyId } : {}) };
  const claims = {
    iss: identity.email,
    scope: SCOPE,
    aud: identity.audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_SECONDS,
  };
  const text = [header, claims].map((part) => base64url(JSON.stringify(part))).join(".");
  const key = await signingKey(identity.privateKey);
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, new TextEncoder().encode(text));
  return `${text}.${base64url(new Uint8Array(signature))}`;
}

const base64url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64url");

async function signingKey(pem: string): Promise<CryptoKey> {
  const body = pem.replace(/-----[^-]+-----/g, "").replace(/\s+/g, "");
  try {
    return await crypto.subtle.importKey(
      "pkcs8",
      Buffer.from(body, "base64"),
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
      false,
      ["sign"],
    );
  } catch (cause) {
    throw new AppError("definition_invalid", "The private_key in serviceAccountJson can't be read.", {
      cause,
    });
  }
}
