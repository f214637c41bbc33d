import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { snakeCase } from "./resources.ts";

const GID = /^gid:\/\/shopify\/\w+\/(\d+)$/;

/** The items of a connection, from `nodes` or `edges`; null if it isn't one. */
export function itemsOf(value: Json | undefined): Json[] | null {
  if (!isObject(value)) return null;
  if (Array.isArray(value.nodes)) return value.nodes;
  if (Array.isArray(value.edges))
    return value.edges.map((edge) => (isObject(edge) ? (edge.node ?? null) : null));
  return null;
}

/**
 * An object of the GraphQL API in the form of Shopify's REST API and webhooks: names in snake_case, `id` as a number
 * with `admin_graphql_api_id` next to it, connections as lists. Amounts of money remain text.
 */
export function toRow(value: JsonObject): JsonObject {
  const row: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    if (name === "__typename") continue;
    if (name === "id" && typeof item === "string") {
      row.id = numericId(item);
      if (row.id !== item) row.admin_graphql_api_id = item;
    } else row[snakeCase(name)] = toValue(item);
  }
  return row;
}

function toValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(toValue);
  if (!isObject(value)) return value;
  const items = itemsOf(value);
  return items ? items.filter(isObject).map(toRow) : toRow(value);
}

/** The number at the end of a `gid://shopify/Order/1`; the whole text if there is none or it isn't a safe integer. */
export function numericId(gid: string): number | string {
  const id = Number(GID.exec(gid)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(id) ? id : gid;
}
