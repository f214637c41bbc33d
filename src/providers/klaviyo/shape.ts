import { type Static, Type as t } from "@sinclair/typebox";
import type { Link } from "../contract.ts";

const DEFAULT_REVISION = "2025-10-15";
const BASE_URL = "https://a.klaviyo.com";

export const KlaviyoConfig = t.Object(
  {
    revision: t.Optional(
      t.String({
        pattern: "^20\\d\\d-\\d\\d-\\d\\d(\\.pre)?$",
        default: DEFAULT_REVISION,
        description: "Revision of the API, such as 2025-10-15.",
      }),
    ),
    baseUrl: t.Optional(
      t.String({
        maxLength: 500,
        pattern: "^https?://[^\\s?#@]+$",
        description: `URL of a proxy or sandbox to use instead of ${BASE_URL}.`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type KlaviyoConfig = Static<typeof KlaviyoConfig>;

export const KlaviyoCredentials = t.Object(
  {
    apiKey: t.String({
      minLength: 1,
      maxLength: 1_024,
      pattern: "^[\\x21-\\x7e]+$",
      format: "password",
      description: "Private API key, which starts with pk_.",
    }),
  },
  { additionalProperties: false },
);
export type KlaviyoCredentials = Static<typeof KlaviyoCredentials>;

export type KlaviyoLink = Link<KlaviyoConfig, KlaviyoCredentials>;

export const revisionOf = ({ revision }: KlaviyoConfig): string => revision ?? DEFAULT_REVISION;

/** The URL of `path` below `/api/`; `baseUrl` may end with that folder or not. */
export function addressOf(
  config: KlaviyoConfig,
  path: string,
  parameters: readonly [string, string][],
): string {
  const base = (config.baseUrl ?? BASE_URL).replace(/\/+$/, "").replace(/\/api$/, "");
  const search = parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  return `${base}/api/${path}${search === "" ? "" : `?${search}`}`;
}

/** Brackets, commas and similar characters aren't encoded in Klaviyo's own examples. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/%(5B|5D|2C|3A)/g, (escaped) => decodeURIComponent(escaped));
