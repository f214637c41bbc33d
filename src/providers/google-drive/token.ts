import { AppError } from "../../base/errors.ts";
import { accessToken } from "../api/access-token.ts";
import { postForToken } from "../api/oauth-token.ts";
import { type DriveLink, type Identity, identityOf, scopeOf } from "./shape.ts";

/** One of these scopes is needed to read file contents; `drive.metadata` and similar scopes show only names. */
const READING = /\/auth\/drive(?:\.readonly|\.file)?$/;

const ASSERTION_SECONDS = 3_600;

/** A token for Drive; see `accessToken`. Throws `definition_invalid`, `upstream`. */
export function driveToken(
  link: DriveLink,
  options: { refused?: string; isFresh?: boolean } = {},
): Promise<string> {
  if (link.signIn) return link.signIn.token({ refused: options.refused });
  const identity = identityOf(link);
  return accessToken(link, () => issue(link, identity), options);
}

async function issue(link: DriveLink, identity: Identity) {
  const issued = await postForToken(link, {
    url: identity.tokenUrl,
    ...(identity.kind === "user" ? refreshOf(identity) : await claimOf(link, identity)),
  });
  if (issued.scopes && !issued.scopes.some((scope) => READING.test(scope))) {
    throw new AppError(
      "upstream",
      `These credentials can't read files: the scope ${scopeOf(link.config)} is missing.`,
    );
  }
  return issued;
}

type User = Extract<Identity, { kind: "user" }>;
type ServiceAccount = Extract<Identity, { kind: "service_account" }>;

function refreshOf({ clientId, clientSecret, refreshToken }: User) {
  const client = "Google rejected clientId and clientSecret.";
  const wrongClient = `${client} Store the correct ones, then verify the connection.`;
  return {
    form: {
      grant_type: "refresh_token",
      client_id: clientId,
      client_secret: clientSecret,
      refresh_token: refreshToken,
    },
    faults: {
      invalid_grant:
        "Google rejected the refresh token: it has expired or was revoked. Sign in again and store the new one, then verify the connection.",
      invalid_client: wrongClient,
      unauthorized_client: wrongClient,
    },
  };
}

async function claimOf(link: DriveLink, identity: ServiceAccount) {
  const { email } = identity;
  const unknown = `Google doesn't know the service account ${email}. Store the key of an existing one, then verify the connection.`;
  return {
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: await assertion(link, identity),
    },
    faults: {
      invalid_grant: `Google rejected the key of ${email}: it was deleted, the account is gone, or this machine's clock is wrong. Store another key or set the clock, then verify the connection.`,
      invalid_client: unknown,
      unauthorized_client: unknown,
    },
  };
}

/** RFC 7523 assertion, signed with the service account's key. */
async function assertion({ clock, config }: DriveLink, identity: ServiceAccount): Promise<string> {
  const issuedAt = Math.floor(clock.now().getTime() / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(identity.keyId ? { kid: identity.keyId } : {}) };
  const claims = {
    iss: identity.email,
    scope: scopeOf(config),
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
