import type { Client } from "./app.ts";
import { created } from "./work.ts";

export const CATALOG = "/api/v1/api-catalog";

/** An endpoint with the three fields that the interface requires. */
export const endpoint = (name = "list_orders", more: object = {}) => ({
  name,
  method: "GET",
  path: "/orders",
  ...more,
});

export const httpApi = (name: string, more: object = {}) => ({
  name,
  description: "The shop's own API.",
  baseUrl: "https://api.example.com/v1",
  endpoints: [endpoint()],
  ...more,
});

export const mcpApi = (name: string, more: object = {}) => ({
  name,
  description: "Tools of the shop.",
  url: "https://mcp.example.com/mcp",
  tools: [{ upstreamName: "search" }],
  ...more,
});

export const addHttp = async (call: Client, body: object) =>
  created(await call("POST", `${CATALOG}/http`, body));
export const addMcp = async (call: Client, body: object) =>
  created(await call("POST", `${CATALOG}/mcp`, body));
