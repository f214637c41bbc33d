import type { Pages, Resource, Service } from "./contract.ts";

const PAGES: Pages = { type: "link_header", sizeParam: "per_page", pageSize: 100 };

/** The shop filters by time of change, exclusively. The lookback window covers changes within the same second. */
const changed = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  incremental: { cursorField: "date_modified_gmt", lagSeconds: 1 },
  endpoint: {
    params: { orderby: "modified", order: "asc", dates_are_gmt: "true" },
    paginator: PAGES,
    incremental: { startParam: "modified_after", endParam: "modified_before" },
  },
});

const list = (name: string, title: string, path = name): Resource => ({
  name,
  title,
  spec: `/${path}`,
  primaryKey: ["id"],
  endpoint: { paginator: PAGES },
});

export const woocommerce: Service = {
  number: 24,
  slug: "woocommerce",
  name: "WooCommerce",
  description: "Orders, products, customers and coupons of a WooCommerce shop.",
  docs: "https://developer.woocommerce.com/docs/apis/rest-api/",
  baseUrl: null,
  baseUrlHint: "URL of the shop, such as https://shop.example.com. It must use HTTPS.",
  root: "/wp-json/wc/v3",
  auth: {
    type: "basic",
    username: "{{credentials.consumerKey}}",
    password: "{{credentials.consumerSecret}}",
  },
  verify: { path: "/orders?per_page=1" },
  credentials: {
    consumerKey: {
      title: "Consumer key",
      description:
        "WooCommerce → Settings → Advanced → REST API → Add key, with the permission Read. It starts with ck_.",
    },
    consumerSecret: {
      title: "Consumer secret",
      description: "Shown once, next to the key. It starts with cs_.",
    },
  },
  resources: [
    changed("orders", "Orders"),
    changed("products", "Products"),
    list("customers", "Customers"),
    list("coupons", "Coupons"),
    list("product_categories", "Categories of products", "products/categories"),
    list("product_reviews", "Reviews of products", "products/reviews"),
  ],
};
