import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";
import type { Order } from "../peers/json-api.ts";

/** This many minutes into May 2026. */
export const instant = (n: number) => new Date(Date.UTC(2026, 4, 1) + n * 60_000).toISOString();

/** Order number `n`, changed `n` minutes into May 2026. */
export const order = (n: number, more: object = {}): Order => ({
  id: n,
  updated_at: instant(n),
  customer: { name: `Customer ${n}` },
  lines: [{ sku: "a", amount: n / 2 }],
  ...more,
});

export const many = <T>(n: number, make: (n: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index + 1));

/** Requests of the API in each of its ways to page; `spec` is the path. */
export const WAYS = {
  "/linked": { paginator: { type: "link_header", sizeParam: "per_page", pageSize: 30 } },
  "/addressed": { dataPath: "items", paginator: { type: "json_link", nextPath: "links.next" } },
  "/cursors": {
    dataPath: "data.orders",
    totalPath: "meta.total",
    paginator: { type: "cursor", cursorPath: "meta.next_cursor", cursorParam: "cursor" },
  },
  "/pages": {
    dataPath: "results",
    totalPath: "count",
    paginator: { type: "page", sizeParam: "per_page", pageSize: 30 },
  },
  "/offsets": {
    dataPath: "rows",
    totalPath: "total",
    paginator: { type: "offset", sizeParam: "limit", pageSize: 30 },
  },
  "/search": {
    method: "POST",
    body: { first: 30, filter: {}, variables: { after: null } },
    dataPath: "data.orders.nodes",
    paginator: {
      type: "cursor",
      cursorPath: "data.orders.pageInfo.endCursor",
      hasNextPath: "data.orders.pageInfo.hasNextPage",
      cursorParam: "variables.after",
      in: "body",
    },
  },
} as const;

/** The API's parameters for new rows. */
export const SINCE = { startParam: "updated_since", endParam: "updated_before" };

const AUTHS: Record<string, HttpTemplate["http"]["auth"]> = {
  bearer: { type: "bearer" },
  basic: { type: "basic" },
  header: { type: "header" },
  query: { type: "query" },
  path: { type: "path", prefix: "key-" },
  oauth2_client_credentials: { type: "oauth2_client_credentials", tokenUrl: "{{config.tokenUrl}}" },
};
export type Way = "bearer" | "basic" | "header" | "query" | "path" | "oauth2_client_credentials";

const KEYS: Record<Way, string[]> = {
  bearer: ["token"],
  basic: ["username", "password"],
  header: ["apiKey"],
  query: ["apiKey"],
  path: ["segment"],
  oauth2_client_credentials: ["clientId", "clientSecret"],
};

const texts = (names: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string", minLength: 1 }])),
  additionalProperties: false,
});

/** The API's definition in a connection template. */
export const definitionOf = (way: Way): HttpTemplate => ({
  http: {
    baseUrl: "{{config.baseUrl}}",
    auth: AUTHS[way] ?? { type: "none" },
    verify: { path: "/me" },
  },
  configSchema: texts(["baseUrl", "tokenUrl"]),
  credentialsSchema: texts(KEYS[way]),
});

export const credentialsOf = (way: Way, secrets: Record<string, string>): Record<string, string> =>
  Object.fromEntries(KEYS[way].map((name) => [name, secrets[name] ?? ""]));
