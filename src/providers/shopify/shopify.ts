import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { defineProvider } from "../contract.ts";
import { openSession, query } from "./client.ts";
import { extractResource, readScopes } from "./extract.ts";
import { missingScope } from "./failure.ts";
import { columnNames, findResource } from "./request.ts";
import { RESOURCES, rowFields, snakeCase } from "./resources.ts";
import { ShopifyConfig, ShopifyCredentials, shopOf } from "./shape.ts";
import { shopToken } from "./token.ts";

const SCHEMA = "shopify";
const USEFUL = /^(read|write)_(orders|customers|products|inventory|locations)$/;

/** A shop through the GraphQL Admin API. */
export const shopify = defineProvider({
  id: "shopify",
  title: "Shopify",
  description: "Orders, customers, products and inventory of a Shopify shop.",
  config: ShopifyConfig,
  credentials: ShopifyCredentials,
  destination: ["shopDomain", "baseUrl"],
  lacks: ({ accessToken, clientId, clientSecret }) => {
    if (accessToken || (clientId && clientSecret)) return null;
    const field = clientId ? "clientSecret" : "accessToken";
    return { field, message: "Give accessToken, or clientId and clientSecret" };
  },

  async verify(link) {
    await shopToken(link, { isFresh: true });
    const session = openSession(link, { isHurried: true });
    const { data } = await query(session, "{ shop { name myshopifyDomain plan { displayName } } }");
    if (!isObject(data.shop)) {
      throw new AppError(
        "upstream",
        `The server of ${shopOf(link.config)} returned no shop. Check shopDomain.`,
      );
    }
    const scopes = await readScopes(link, { isHurried: true });
    if (scopes === null || scopes.some((scope) => USEFUL.test(scope))) return;
    throw missingScope(
      "anything that Weir extracts",
      "read_orders, read_customers, read_products, read_inventory or read_locations",
    );
  },

  tables: {
    tables: async () => RESOURCES.map(({ name }) => ({ schema: SCHEMA, table: name, spec: name })),
    async columns(_link, schema, table) {
      if (schema !== SCHEMA)
        throw new AppError("not_found", `Schema ${JSON.stringify(schema)} not found. Use "shopify".`);
      const resource = findResource(table);
      const types = new Map(rowFields(resource).map(({ name, type }) => [snakeCase(name), type]));
      return columnNames(resource).map((name) => ({
        name,
        dataType: TYPES[name] ?? types.get(name) ?? "String",
        nullable: name !== "id",
      }));
    },
  },

  extract: extractResource,
});

/** Columns that Weir derives from others. */
const TYPES: Readonly<Record<string, string>> = {
  id: "UnsignedInt64",
  admin_graphql_api_id: "ID",
  order_id: "UnsignedInt64",
};
