import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, entity: string): Resource => ({
  name,
  title,
  spec: `/search/${entity}`,
  primaryKey: ["id"],
  endpoint: {
    method: "POST",
    body: { sort: [{ field: "id" }], "total-count-mode": 1 },
    dataPath: "data",
    totalPath: "total",
    paginator: { type: "page", in: "body", sizeParam: "limit", pageSize: 500 },
  },
});

export const shopware: Service = {
  number: 59,
  slug: "shopware",
  name: "Shopware 6",
  description: "Orders, products, customers and categories of a Shopware 6 shop.",
  docs: "https://developer.shopware.com/docs/concepts/api/admin-api.html",
  baseUrl: null,
  baseUrlHint: "URL of the shop, such as https://shop.example.com.",
  root: "/api",
  auth: {
    type: "oauth2_client_credentials",
    tokenUrl: "{{config.baseUrl}}/api/oauth/token",
    clientAuth: "body",
  },
  headers: { Accept: "application/json" },
  verify: { path: "/_info/version" },
  credentials: {
    clientId: {
      title: "Access key ID",
      description: "Shopware → Settings → System → Integrations → Add integration. It starts with SWIA.",
    },
    clientSecret: { title: "Secret access key", description: "Shown once, next to the access key ID." },
  },
  resources: [
    list("orders", "Orders", "order"),
    list("order_line_items", "Lines of orders", "order-line-item"),
    list("products", "Products", "product"),
    list("customers", "Customers", "customer"),
    list("categories", "Categories", "category"),
    list("manufacturers", "Manufacturers", "product-manufacturer"),
  ],
};
