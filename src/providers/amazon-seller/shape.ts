import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import type { SignInTerms } from "../../oauth/contract.ts";
import type { Link } from "../contract.ts";

const address = (description: string) =>
  t.Optional(t.String({ maxLength: 500, pattern: "^https?://[^\\s?#@]+$", description }));

export const SellerConfig = t.Object(
  {
    region: t.Union([t.Literal("na"), t.Literal("eu"), t.Literal("fe")], {
      description: "Region of the seller's marketplaces: na (North America), eu (Europe) or fe (Far East).",
    }),
    marketplaceIds: t.Array(t.String({ minLength: 1, maxLength: 64, pattern: "^[A-Z0-9]+$" }), {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      description: "Amazon's IDs of marketplaces in the region, such as ATVPDKIKX0DER.",
    }),
    apiVersion: t.Optional(
      t.Union([t.Literal("2026-01-01"), t.Literal("v0")], {
        default: "2026-01-01",
        description: "Version of the Orders API. Amazon removes v0 on March 27, 2027.",
      }),
    ),
    includePii: t.Optional(
      t.Boolean({
        default: false,
        description:
          "Whether to load buyers and addresses with orders. The app needs Amazon's roles for personal data.",
      }),
    ),
    applicationId: t.Optional(
      t.String({
        maxLength: 255,
        pattern: "^amzn1\\.sp\\.solution\\.[A-Za-z0-9-]+$",
        description:
          "The app's ID in Seller Central. Required for a sign-in. Omit it if you use a refreshToken.",
      }),
    ),
    isDraftApp: t.Optional(
      t.Boolean({ default: false, description: "Whether the app is still a draft in Seller Central." }),
    ),
    baseUrl: address(
      "A proxy or sandbox in place of the region's own address; sellers then sign in at its path /apps/authorize/consent.",
    ),
    tokenUrl: address("In place of https://api.amazon.com/auth/o2/token."),
  },
  { additionalProperties: false },
);
export type SellerConfig = Static<typeof SellerConfig>;

export const SellerCredentials = t.Object(
  {
    clientId: t.String({ minLength: 1, maxLength: 255, description: "LWA client ID of the app." }),
    clientSecret: t.String({
      minLength: 1,
      maxLength: 1_024,
      format: "password",
      description: "LWA client secret of the app.",
    }),
    refreshToken: t.Optional(
      t.String({
        minLength: 1,
        maxLength: 4_096,
        format: "password",
        description: "An existing refresh token, instead of a sign-in.",
      }),
    ),
  },
  { additionalProperties: false },
);

export type SellerLink = Link<SellerConfig, Static<typeof SellerCredentials>>;

export const tokenUrlOf = (config: SellerConfig): string =>
  config.tokenUrl ?? "https://api.amazon.com/auth/o2/token";

export const baseOf = ({ baseUrl, region }: SellerConfig): string =>
  (baseUrl ?? `https://sellingpartnerapi-${region}.amazon.com`).replace(/\/+$/, "");

type Region = SellerConfig["region"];

/** The region's marketplaces, and where Seller Central is for each. */
const MARKETPLACES: Readonly<Record<Region, Readonly<Record<string, string>>>> = {
  na: {
    ATVPDKIKX0DER: "sellercentral.amazon.com",
    A2EUQ1WTGCTBG2: "sellercentral.amazon.ca",
    A1AM78C64UM0Y8: "sellercentral.amazon.com.mx",
    A2Q3Y263D00KWC: "sellercentral.amazon.com.br",
  },
  eu: {
    A1F83G8C2ARO7P: "sellercentral-europe.amazon.com",
    A1PA6795UKMFR9: "sellercentral-europe.amazon.com",
    A13V1IB3VIYZZH: "sellercentral-europe.amazon.com",
    APJ6JRA9NG5V4: "sellercentral-europe.amazon.com",
    A1RKKUPIHCS9HS: "sellercentral-europe.amazon.com",
    A1805IZSGTT6HS: "sellercentral.amazon.nl",
    A2NODRKZP88ZB9: "sellercentral.amazon.se",
    A1C3SOZRARQ6R3: "sellercentral.amazon.pl",
    AMEN7PMS3EDWL: "sellercentral.amazon.com.be",
    A28R8C7NBKEWEA: "sellercentral.amazon.ie",
    A33AVAJ2PDY3EV: "sellercentral.amazon.com.tr",
    A2VIGQ35RCS4UG: "sellercentral.amazon.ae",
    A17E79C6D8DWNP: "sellercentral.amazon.sa",
    ARBP9OOSHTCHU: "sellercentral.amazon.eg",
    AE08WJ6YKNBMC: "sellercentral.amazon.co.za",
    A21TJRUUN4KGV: "sellercentral.amazon.in",
  },
  fe: {
    A1VC38T7YXB528: "sellercentral.amazon.co.jp",
    A39IBJ37TRP1C6: "sellercentral.amazon.com.au",
    A19VAU5U5O7RUS: "sellercentral.amazon.sg",
  },
};

/** Sign-in page for sellers whose marketplace has no known Seller Central. */
const CENTRAL: Readonly<Record<Region, string>> = {
  na: "sellercentral.amazon.com",
  eu: "sellercentral-europe.amazon.com",
  fe: "sellercentral.amazon.co.jp",
};

/** What authenticates the seller, in addition to the app's credentials. */
export const NEEDED = "refreshToken, or applicationId in config, with which a seller signs in";

/** How a seller signs in. Null with a refresh token. */
export function signInOf({
  config,
  credentials,
}: Pick<SellerLink, "config" | "credentials">): SignInTerms | null {
  const { region, marketplaceIds, applicationId, isDraftApp, baseUrl } = config;
  const { clientId, clientSecret, refreshToken } = credentials;
  if (refreshToken || applicationId === undefined) return null;
  const [marketplace = ""] = marketplaceIds;
  const central = `https://${MARKETPLACES[region][marketplace] ?? CENTRAL[region]}`;
  return {
    authorizeUrl: `${baseUrl === undefined ? central : baseOf(config)}/apps/authorize/consent`,
    tokenUrl: tokenUrlOf(config),
    clientId,
    clientSecret,
    tokenAuth: "body",
    scopes: [],
    pkce: false,
    extraParams: isDraftApp ? { version: "beta" } : {},
    shownClient: { name: "application_id", value: applicationId },
    codeName: "spapi_oauth_code",
  };
}

/** Throws `definition_invalid` for a marketplace that is known to belong to another region. */
export function checkMarketplaces({ region, marketplaceIds }: SellerConfig): void {
  for (const [other, known] of Object.entries(MARKETPLACES)) {
    const stray = other === region ? undefined : marketplaceIds.find((id) => Object.hasOwn(known, id));
    if (stray !== undefined) {
      throw new AppError(
        "definition_invalid",
        `The marketplace ${stray} is in the region ${other}, not in ${region}. Create a connection for each region.`,
      );
    }
  }
}
