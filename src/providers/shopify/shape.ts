import { type Static, Type as t } from "@sinclair/typebox";
import type { Link } from "../contract.ts";

/** Supported until 2027; Shopify answers with its oldest version after that, which is told. */
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
          "A proxy or sandbox in place of the shop's own address, such as https://proxy.example.com.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type ShopifyConfig = Static<typeof ShopifyConfig>;

export const ShopifyCredentials = t.Object(
  {
    accessToken: t.String({
      minLength: 1,
      maxLength: 1_024,
      pattern: "^[\\x21-\\x7e]+$",
      format: "password",
      description: "An Admin API access token, such as shpat_….",
    }),
  },
  { additionalProperties: false },
);
export type ShopifyCredentials = Static<typeof ShopifyCredentials>;

export type ShopifyLink = Link<ShopifyConfig, ShopifyCredentials>;

/** The shop's domain; a bare name is one of `myshopify.com`. */
export const shopOf = ({ shopDomain }: ShopifyConfig): string =>
  (shopDomain.includes(".") ? shopDomain : `${shopDomain}.myshopify.com`).toLowerCase();

export const versionOf = ({ apiVersion }: ShopifyConfig): string => apiVersion ?? DEFAULT_VERSION;

/** The address of the GraphQL Admin API. */
export function endpointOf(config: ShopifyConfig): string {
  const base = (config.baseUrl ?? `https://${shopOf(config)}`).replace(/\/+$/, "");
  return `${base}/admin/api/${versionOf(config)}/graphql.json`;
}
