import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { SignInTerms } from "../../oauth/contract.ts";
import type { Link } from "../contract.ts";

export const DriveConfig = t.Object(
  {
    rootFolderId: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 200,
        pattern: "^[A-Za-z0-9_-]+$",
        description:
          "ID of the folder or shared drive that is the connection's root. Nothing outside it can be accessed. Default: My Drive; for a service account also everything shared with it.",
      }),
    ),
    baseUrl: t.Optional(
      t.String({
        maxLength: 500,
        pattern: "^https?://[^\\s?#@]+$",
        description:
          "URL of a proxy or sandbox to use instead of https://www.googleapis.com. Users then sign in at its path /authorize, and tokens come from /token.",
      }),
    ),
    access: t.Optional(
      t.Union([t.Literal("read"), t.Literal("write")], {
        default: "read",
        description: "Access to request: read, or write for both. After a change, a user must sign in again.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type DriveConfig = Static<typeof DriveConfig>;

export const DriveCredentials = t.Object(
  {
    serviceAccountJson: t.Optional(
      t.String({
        maxLength: 16_384,
        format: "password",
        description: "Key file of a service account (JSON), as downloaded from Google.",
      }),
    ),
    clientId: t.Optional(
      t.String({
        maxLength: 1_024,
        description:
          "Client ID of an OAuth client that the Google Cloud console lists as Web application. A user signs in with it. Requires clientSecret.",
      }),
    ),
    clientSecret: t.Optional(
      t.String({ maxLength: 1_024, format: "password", description: "Secret of the OAuth client." }),
    ),
    refreshToken: t.Optional(
      t.String({
        maxLength: 4_096,
        format: "password",
        description: "An existing refresh token, instead of a sign-in.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type DriveCredentials = Static<typeof DriveCredentials>;

export type DriveLink = Link<DriveConfig, DriveCredentials>;

const GOOGLE = "https://www.googleapis.com";

/** Base of Drive's paths, without a trailing slash. */
export const baseOf = ({ baseUrl }: DriveConfig): string =>
  (baseUrl ?? GOOGLE).replace(/\/+$/, "").replace(/\/drive\/v3$/, "");

/** OAuth scopes that Weir requests. */
export const scopeOf = ({ access }: DriveConfig): string =>
  `https://www.googleapis.com/auth/drive${access === "write" ? "" : ".readonly"}`;

/** How a user signs in; null if a key or a refresh token is enough. */
export function signInOf({
  config,
  credentials,
}: Pick<DriveLink, "config" | "credentials">): SignInTerms | null {
  const { serviceAccountJson, clientId, clientSecret, refreshToken } = credentials;
  if (serviceAccountJson || refreshToken || !clientId) return null;
  const proxy = config.baseUrl === undefined ? null : baseOf(config);
  return {
    authorizeUrl: proxy === null ? "https://accounts.google.com/o/oauth2/v2/auth" : `${proxy}/authorize`,
    tokenUrl: proxy === null ? GOOGLE_TOKENS : `${proxy}/token`,
    clientId,
    clientSecret: clientSecret ?? null,
    tokenAuth: "body",
    scopes: [scopeOf(config)],
    pkce: true,
    // Google returns a refresh token only with a new consent
    extraParams: { access_type: "offline", prompt: "consent" },
  };
}

const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";

/** Client, endpoint and grant for tokens. */
export type Identity = { tokenUrl: string } & (
  | { kind: "service_account"; email: string; privateKey: string; keyId: string | null; audience: string }
  | { kind: "user"; clientId: string; clientSecret: string; refreshToken: string }
);

/** Throws `definition_invalid` if the credentials are neither a service account's nor a user's. */
export function identityOf({ config, credentials }: Pick<DriveLink, "config" | "credentials">): Identity {
  const proxied = config.baseUrl === undefined ? null : `${baseOf(config)}/token`;
  const { serviceAccountJson, clientId, clientSecret, refreshToken } = credentials;
  if (serviceAccountJson) {
    const key = serviceAccount(serviceAccountJson);
    const own = /^https:\/\/(oauth2\.googleapis\.com|accounts\.google\.com)\//.test(key.audience);
    return { kind: "service_account", ...key, tokenUrl: (own ? proxied : null) ?? key.audience };
  }
  if (clientId && clientSecret && refreshToken) {
    return { kind: "user", clientId, clientSecret, refreshToken, tokenUrl: proxied ?? GOOGLE_TOKENS };
  }
  throw new AppError(
    "definition_invalid",
    "Google Drive needs serviceAccountJson, or clientId and clientSecret, with which a person signs in.",
  );
}

function serviceAccount(text: string) {
  const unusable = (why: string) =>
    new AppError("definition_invalid", `serviceAccountJson is not a service account's key file: ${why}.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable("it is not JSON"); // the parser's message would show parts of the key
  }
  if (!isObject(value)) throw unusable("it is not an object");
  const { client_email: email, private_key: privateKey, private_key_id: keyId, token_uri: uri } = value;
  if (typeof email !== "string" || email === "") throw unusable("it has no client_email");
  if (typeof privateKey !== "string" || !privateKey.includes("PRIVATE KEY"))
    throw unusable("it has no private_key");
  const audience = typeof uri === "string" && uri !== "" ? uri : GOOGLE_TOKENS;
  return { email, privateKey, keyId: typeof keyId === "string" ? keyId : null, audience };
}
