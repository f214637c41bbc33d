import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { AuthHint, EndpointDefinition, ToolDefinition, Transport } from "../../catalog/contract.ts";
import { json, owned } from "../../store/columns.ts";

export const API_TYPES = ["http", "mcp"] as const;
export type ApiType = (typeof API_TYPES)[number];

export const API_STATUSES = ["active", "disabled"] as const;
/** active ⇄ disabled, by PATCH. No calls are made through a disabled entry. */
export type ApiStatus = (typeof API_STATUSES)[number];

export const ITEM_STATUSES = ["active", "changed", "missing"] as const;
/**
 * A tool is `changed` if its server's definition differs from the approved one, and `missing` if the server no longer
 * has it. Neither can be called. An admin approves a change, back to `active`. Endpoints are `active`.
 */
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export const apiCatalog = sqliteTable("api_catalog", {
  ...owned(),
  name: text().notNull(),
  /** Derived once from the first name. Tool names for models begin with it. */
  slug: text().notNull(),
  description: text().notNull(),
  type: text().$type<ApiType>().notNull(),
  status: text().$type<ApiStatus>().notNull(),
  /** Only for an MCP server. */
  url: text(),
  /** Only for an HTTP API. */
  baseUrl: text(),
  /** The normalized URL, for lookups. */
  addressKey: text().notNull(),
  transport: text().$type<Transport>(),
  connectionId: text(),
  /** Whether every call of the API needs approval. */
  approvalRequired: integer({ mode: "boolean" }).notNull(),
  endpointCount: integer().notNull(),
  toolCount: integer().notNull(),
  /** Sign-in methods of an HTTP API. Null if they aren't known. */
  authHints: json<AuthHint[] | null>(),
});
export type ApiRow = typeof apiCatalog.$inferSelect;

/** The endpoints of an HTTP API, or the tools of an MCP server. */
export const apiCatalogItems = sqliteTable(
  "api_catalog_items",
  {
    apiId: text().notNull(),
    /** For a tool, the server's name for it. */
    name: text().notNull(),
    organizationId: text().notNull(),
    /** Position in the list, from 0. */
    position: integer().notNull(),
    enabled: integer({ mode: "boolean" }).notNull(),
    approvalRequired: integer({ mode: "boolean" }).notNull(),
    /** For a tool: whether an admin trusts the server's claim that it only reads. */
    trusted: integer({ mode: "boolean" }).notNull(),
    status: text().$type<ItemStatus>().notNull(),
    definition: json<EndpointDefinition | ToolDefinition>().notNull(),
    /** Hash of a tool's approved definition. Null until the server is first queried. */
    definitionHash: text(),
    /** A changed tool's current definition. */
    pending: json<ToolDefinition | null>(),
    firstSeenAt: text(),
    lastSeenAt: text(),
  },
  (t) => [primaryKey({ columns: [t.apiId, t.name] })],
);
export type ItemRow = typeof apiCatalogItems.$inferSelect;
