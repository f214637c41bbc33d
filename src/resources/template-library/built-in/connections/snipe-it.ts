import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: {
    params: { sort: "id", order: "asc" },
    dataPath: "rows",
    totalPath: "total",
    paginator: { type: "offset", sizeParam: "limit", pageSize: 500 },
  },
});

export const snipeIt: Service = {
  number: 66,
  slug: "snipe-it",
  name: "Snipe-IT",
  description: "Assets, licenses, accessories and users of Snipe-IT.",
  docs: "https://snipe-it.readme.io/reference/api-overview",
  baseUrl: null,
  baseUrlHint: "URL of your Snipe-IT, such as https://assets.example.com.",
  root: "/api/v1",
  auth: { type: "bearer" },
  headers: { Accept: "application/json" },
  verify: { path: "/users/me" },
  requestsPerMinute: 120,
  credentials: {
    token: { title: "API token", description: "Snipe-IT → your name → Manage API Keys → Create New Token." },
  },
  resources: [
    list("hardware", "Assets"),
    list("licenses", "Licenses"),
    list("accessories", "Accessories"),
    list("consumables", "Consumables"),
    list("users", "People"),
    list("locations", "Locations"),
    list("models", "Models"),
  ],
};
