import type { Column } from "../../sql/contract.ts";
import type { SellerLink } from "./shape.ts";

export const RESOURCES = ["inventory", "order_items", "orders", "reports"] as const;

/** Columns as Amazon documents them: `!` marks those that are always present, then the type unless it is text. */
const COLUMNS: Readonly<Record<string, string>> = {
  "orders 2026-01-01":
    "orderId! orderAliases:array createdTime!:datetime lastUpdatedTime!:datetime programs:array associatedOrders:array salesChannel!:object buyer:object recipient:object proceeds:object fulfillment:object orderItems!:array packages:array",
  "orders v0":
    "AmazonOrderId! SellerOrderId PurchaseDate!:datetime LastUpdateDate!:datetime OrderStatus! FulfillmentChannel SalesChannel OrderTotal:object NumberOfItemsShipped:integer NumberOfItemsUnshipped:integer PaymentMethod MarketplaceId ShipmentServiceLevelCategory OrderType EarliestShipDate:datetime LatestShipDate:datetime IsBusinessOrder:boolean IsPrime:boolean BuyerInfo:object ShippingAddress:object",
  "order_items 2026-01-01":
    "orderId! lastUpdatedTime!:datetime orderItemId! quantityOrdered!:integer measurement:object programs:array product!:object proceeds:object expense:object promotion:object cancellation:object fulfillment:object",
  "order_items v0":
    "AmazonOrderId! LastUpdateDate!:datetime ASIN! SellerSKU OrderItemId! Title QuantityOrdered!:integer QuantityShipped:integer ItemPrice:object ItemTax:object PromotionDiscount:object IsGift ConditionId",
  inventory:
    "marketplaceId! asin fnSku sellerSku condition inventoryDetails:object lastUpdatedTime:datetime productName totalQuantity:integer",
  reports:
    "reportId! reportType! marketplaceIds:array dataStartTime:datetime dataEndTime:datetime reportScheduleId createdTime!:datetime processingStatus! processingStartTime:datetime processingEndTime:datetime reportDocumentId",
};

/** The columns of a resource; null if it doesn't exist. */
export function columnsOf(link: SellerLink, table: string): Column[] | null {
  if (!RESOURCES.some((name) => name === table)) return null;
  const text = COLUMNS[table] ?? COLUMNS[`${table} ${link.config.apiVersion ?? "2026-01-01"}`] ?? "";
  return text.split(" ").map((word) => {
    const [, name = "", required, dataType = "string"] = /^(\w+)(!)?(?::(\w+))?$/.exec(word) ?? [];
    return { name, dataType, nullable: required === undefined };
  });
}
