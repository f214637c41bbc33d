import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import type { Column } from "../../sql/contract.ts";
import { defineProvider } from "../contract.ts";
import { callSeller, sellerToken } from "./client.ts";
import { extractInventory } from "./inventory.ts";
import { extractOrderItems, extractOrders, rowsOf } from "./orders.ts";
import { extractReport, extractReportList, reportType } from "./reports.ts";
import { columnsOf, RESOURCES } from "./resources.ts";
import {
  checkMarketplaces,
  NEEDED,
  SellerConfig,
  SellerCredentials,
  type SellerLink,
  signInOf,
} from "./shape.ts";

const SCHEMA = "amazon_seller";

/** Amazon's Selling Partner API, read only. */
export const amazonSeller = defineProvider({
  id: "amazon_seller",
  title: "Amazon Seller",
  description:
    "Orders, order items, inventory and reports of an Amazon seller. reports/TYPE requests a report of that type and reads it.",
  config: SellerConfig,
  credentials: SellerCredentials,
  destination: ["baseUrl", "tokenUrl", "region"],
  lacks: ({ refreshToken }, { applicationId }) =>
    refreshToken || applicationId ? null : { field: "refreshToken", message: `Give ${NEEDED}` },
  signIn: signInOf,

  async verify(link) {
    checkMarketplaces(link.config);
    await sellerToken(link, { isFresh: true });
    await checkParticipation(link);
  },

  tables: {
    tables: async () => RESOURCES.map((table) => ({ schema: SCHEMA, table, spec: table })),
    async columns(link, schema, table): Promise<Column[]> {
      const columns = schema === SCHEMA ? columnsOf(link, table) : null;
      if (!columns) throw noSuchResource(table);
      return columns;
    },
  },

  async extract(link, request) {
    checkMarketplaces(link.config);
    if (request.where) {
      throw new AppError("definition_invalid", "Amazon doesn't support conditions. Remove `where`.");
    }
    if (request.keys && request.spec !== "inventory") {
      throw new AppError(
        "definition_invalid",
        `deletes is only possible for inventory: Amazon returns only a period of ${request.spec}, so older rows would count as deleted. Set deletes to ignore.`,
      );
    }
    const type = reportType(request.spec);
    if (type !== null) return extractReport(link, type, request);
    switch (request.spec) {
      case "orders":
        return extractOrders(link, request);
      case "order_items":
        return extractOrderItems(link, request);
      case "inventory":
        return extractInventory(link, request);
      case "reports":
        return extractReportList(link, request);
      default:
        throw noSuchResource(request.spec);
    }
  },
});

const noSuchResource = (name: string) =>
  new AppError(
    "not_found",
    `Unknown resource ${JSON.stringify(name)}. Amazon Seller has ${RESOURCES.join(", ")} and reports/TYPE, such as reports/GET_MERCHANT_LISTINGS_ALL_DATA.`,
  );

/** Throws `upstream` if the seller isn't in a marketplace of the connection. */
async function checkParticipation(link: SellerLink): Promise<void> {
  const reply = await callSeller(link, {
    operation: "getMarketplaceParticipations",
    path: "/sellers/v1/marketplaceParticipations",
    isHurried: true,
  });
  const ids = rowsOf(reply.payload, "marketplaces")
    .filter(({ participation }) => !isObject(participation) || participation.isParticipating !== false)
    .map(({ marketplace }) => (isObject(marketplace) ? marketplace.id : null));
  const missing = link.config.marketplaceIds.filter((id) => !ids.includes(id));
  if (missing.length > 0) {
    throw new AppError(
      "upstream",
      `The seller takes no part in ${missing.join(", ")}; it does in ${ids.join(", ")}.`,
    );
  }
}
