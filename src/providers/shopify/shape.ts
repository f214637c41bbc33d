import { type Static, Type as t } from "@sinclair/typebox";
import type { Link } from "../contract.ts";

/** Supported until 2027. After that Shopify responds with its oldest version, which adds a warning. */
const DEFAULT_VERSION = "2026-01";

export const ShopifyConfig = t.Object(
  {
    shopDomain: t.String({
      minLength: 1,
      maxLength: 253,
      pattern: "^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
      description: "The shop's own domain at Shopify, such as acme.myshopify.com.",
    }),
    apiVersion: t.Optional(
      t.String({
        pattern: "^(20\\d\\d-(01|04|07|10)|unstable)$",
        default: DEFAULT_VERSION,
        description: "Version of the Admin API, such as 2026-01.",
      }),
    ),
    baseUrl: t.Optional(
      t.String({
        maxLength: 500,
        pattern: "^https?://[^\\s?#@]+$",
        description:
          "URL of a proxy or sandbox to use instead of the shop's own domain, such as https://proxy.example.com.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type ShopifyConfig = Static<typeof ShopifyConfig>;

const secret = (description: string) =>
  t.String({
    minLength: 1,
    maxLength: 1_024,
    pattern: "^[\\x21-\\x7e]+$",
    format: "password",
    description,
  });

export const ShopifyCredentials = t.Object(
  {
    accessToken: t.Optional(
      secret(
        "An Admin API access token of an older custom app, such as shpat_…. Apps made since 2026 have none.",
      ),
    ),
    clientId: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 255,
        description:
          "Client ID of an app from the Dev Dashboard that is installed in the shop. Requires clientSecret. Weir gets a token for 24 hours and renews it.",
      }),
    ),
    clientSecret: t.Optional(secret("The app's secret, such as shpss_….")),
  },
  { additionalProperties: false },
);
export type ShopifyCredentials = Static<typeof ShopifyCredentials>;

export type ShopifyLink = Link<ShopifyConfig, ShopifyCredentials>;

/** The shop's domain; a bare name is a subdomain of `myshopify.com`. */
export const shopOf = ({ shopDomain }: ShopifyConfig): string =>
  (shopDomain.includes(".") ? shopDomain : `${shopDomain}.myshopify.com`).toLowerCase();

export const versionOf = ({ apiVersion }: ShopifyConfig): string => apiVersion ?? DEFAULT_VERSION;

const baseOf = (config: ShopifyConfig): string =>
  (config.baseUrl ?? `https://${shopOf(config)}`).replace(/\/+$/, "");

/** The address of the GraphQL Admin API. */
export const endpointOf = (config: ShopifyConfig): string =>
  `${baseOf(config)}/admin/api/${versionOf(config)}/graphql.json`;

/** URL of the app's token endpoint. */
export const tokenUrlOf = (config: ShopifyConfig): string => `${baseOf(config)}/admin/oauth/access_token`;

/** When an API version's support ends, a year after its release, in milliseconds; null if it never ends. */
export function endOf(version: string): number | null {
  const [, year, month] = /^(\d{4})-(\d\d)$/.exec(version) ?? [];
  return year === undefined ? null : Date.UTC(Number(year) + 1, Number(month) - 1, 1);
}
