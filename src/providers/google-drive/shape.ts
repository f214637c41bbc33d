import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { Link } from "../contract.ts";

export const DriveConfig = t.Object(
  {
    rootFolderId: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 200,
        pattern: "^[A-Za-z0-9_-]+$",
        description:
          "The folder, or the shared drive, that is the connection's root; nothing outside is reached. Default: My Drive, and for a service account all that is shared with it.",
      }),
    ),
    baseUrl: t.Optional(
      t.String({
        maxLength: 500,
        pattern: "^https?://[^\\s?#@]+$",
        description:
          "A proxy or sandbox in place of https://www.googleapis.com; tokens then come from its path /token.",
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
        description: "The key file of a service account, as Google gives it.",
      }),
    ),
    clientId: t.Optional(t.String({ maxLength: 1_024, description: "With clientSecret and refreshToken." })),
    clientSecret: t.Optional(t.String({ maxLength: 1_024, format: "password" })),
    refreshToken: t.Optional(t.String({ maxLength: 4_096, format: "password" })),
  },
  { additionalProperties: false },
);
export type DriveCredentials = Static<typeof DriveCredentials>;

export type DriveLink = Link<DriveConfig, DriveCredentials>;

const GOOGLE = "https://www.googleapis.com";

/** Where Drive's paths begin, with no slash at the end. */
export const baseOf = ({ baseUrl }: DriveConfig): string =>
  (baseUrl ?? GOOGLE).replace(/\/+$/, "").replace(/\/drive\/v3$/, "");

const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";

/** Who asks for tokens, where, and how. */
export type Identity = { tokenUrl: string } & (
  | { kind: "service_account"; email: string; privateKey: string; keyId: string | null; audience: string }
  | { kind: "user"; clientId: string; clientSecret: string; refreshToken: string }
);

/** Throws `definition_invalid` where the credentials are neither a service account's nor a user's. */
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
    "Google Drive needs serviceAccountJson, or clientId, clientSecret and refreshToken.",
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
