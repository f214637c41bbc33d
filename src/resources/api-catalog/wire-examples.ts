import type { Static } from "@sinclair/typebox";
import type { CatalogEntry, CatalogSummary, ImportedEndpoint } from "./wire.ts";

export const exampleSummary: Static<typeof CatalogSummary> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8071",
  name: "Orders API",
  description: "The shop's own API.",
  type: "http",
  status: "active",
  url: null,
  baseUrl: "https://api.example.com/v1",
  connectionId: null,
  approvalRequired: false,
  endpointCount: 1,
  toolCount: 0,
  transport: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
};

const exampleEndpoint: Static<typeof ImportedEndpoint> = {
  name: "list_orders",
  description: "Orders, newest first.",
  method: "GET",
  path: "/orders",
  headers: {},
  queryTemplate: { limit: "{{input.limit}}" },
  bodyTemplate: null,
  inputSchema: { type: "object", properties: { limit: { type: "integer" } } },
  responseExtract: null,
  source: "openapi",
  unverified: false,
};

export const exampleEntry: Static<typeof CatalogEntry> = {
  ...exampleSummary,
  authHints: [{ label: "key", name: "X-Key", location: "header", type: "api_key_header" }],
  endpoints: [
    { ...exampleEndpoint, enabled: true, approvalRequired: false, modelName: "orders-api__list_orders" },
  ],
  tools: [],
};
