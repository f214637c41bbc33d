import { type Static, Type as t } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import type { Link } from "../contract.ts";

const address = (description: string) =>
  t.Optional(t.String({ maxLength: 500, pattern: "^https?://[^\\s?#@]+$", description }));

export const SellerConfig = t.Object(
  {
    region: t.Union([t.Literal("na"), t.Literal("eu"), t.Literal("fe")], {
      description: "Where the seller's marketplaces are: North America, Europe, Far East.",
    }),
    marketplaceIds: t.Array(t.String({ minLength: 1, maxLength: 64, pattern: "^[A-Z0-9]+$" }), {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      description: "Amazon's ids of marketplaces of the region, such as ATVPDKIKX0DER.",
    }),
    apiVersion: t.Optional(
      t.Union([t.Literal("2026-01-01"), t.Literal("v0")], {
        default: "2026-01-01",
        description: "Version of the Orders API. Amazon takes v0 away on 27 March 2027.",
      }),
    ),
    includePii: t.Optional(
      t.Boolean({
        default: false,
        description: "Whether orders come with buyers and addresses; the app needs Amazon's roles for it.",
      }),
    ),
    baseUrl: address("A proxy or sandbox in place of the region's own address."),
    tokenUrl: address("In place of https://api.amazon.com/auth/o2/token."),
  },
  { additionalProperties: false },
);
export type SellerConfig = Static<typeof SellerConfig>;

export const SellerCredentials = t.Object(
  {
    clientId: t.String({ minLength: 1, maxLength: 255 }),
    clientSecret: t.String({ minLength: 1, maxLength: 1_024, format: "password" }),
    refreshToken: t.String({ minLength: 1, maxLength: 4_096, format: "password" }),
  },
  { additionalProperties: false },
);

export type SellerLink = Link<SellerConfig, Static<typeof SellerCredentials>>;

export const tokenUrlOf = (config: SellerConfig): string =>
  config.tokenUrl ?? "https://api.amazon.com/auth/o2/token";

export const baseOf = ({ baseUrl, region }: SellerConfig): string =>
  (baseUrl ?? `https://sellingpartnerapi-${region}.amazon.com`).replace(/\/+$/, "");

const MARKETPLACES: Readonly<Record<SellerConfig["region"], string>> = {
  na: "ATVPDKIKX0DER A2EUQ1WTGCTBG2 A1AM78C64UM0Y8 A2Q3Y263D00KWC",
  eu: "A1F83G8C2ARO7P A1PA6795UKMFR9 A13V1IB3VIYZZH APJ6JRA9NG5V4 A1RKKUPIHCS9HS A1805IZSGTT6HS A2NODRKZP88ZB9 A1C3SOZRARQ6R3 AMEN7PMS3EDWL A28R8C7NBKEWEA A33AVAJ2PDY3EV A2VIGQ35RCS4UG A17E79C6D8DWNP ARBP9OOSHTCHU A21TJRUUN4KGV",
  fe: "A1VC38T7YXB528 A39IBJ37TRP1C6 A19VAU5U5O7RUS",
};

/** Throws `definition_invalid` for a marketplace that is known to belong to another region. */
export function checkMarketplaces({ region, marketplaceIds }: SellerConfig): void {
  for (const [other, ids] of Object.entries(MARKETPLACES)) {
    const stray = other === region ? undefined : marketplaceIds.find((id) => ids.split(" ").includes(id));
    if (stray !== undefined) {
      throw new AppError(
        "definition_invalid",
        `The marketplace ${stray} is in the region ${other}, not in ${region}: make a connection for each region.`,
      );
    }
  }
}
