import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  anything,
  described,
  instant,
  jsonObject,
  jsonSchema,
  map,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import {
  ENDPOINT_SOURCES,
  type EndpointDefinition,
  HTTP_METHODS,
  MAX_DESCRIPTION,
  MAX_ENDPOINTS,
  type ToolDefinition,
  TRANSPORTS,
} from "../../catalog/contract.ts";
import { modelName } from "../../catalog/names.ts";
import { API_STATUSES, API_TYPES, type ApiRow, ITEM_STATUSES, type ItemRow } from "./table.ts";

const text = (maxLength: number, description?: string) =>
  Type.String({ maxLength, ...(description === undefined ? {} : { description }) });
const fields = <P extends TProperties>(properties: P) => properties;

export const Unresolved = object({
  field: text(200, "Field of the resource, such as endpoint.paginator"),
  message: text(2_000, "What is missing"),
  candidates: Type.Array(anything(), { maxItems: 1_000, description: "Allowed values" }),
});

const Listing = object(
  {
    endpoint: jsonObject({
      description: "How to request the rows: the `endpoint` of a dlt_extract resource",
    }),
    primaryKey: Type.Array(named(1000), { maxItems: 32, description: "Columns that identify a row" }),
    incremental: nullable(
      jsonObject({
        description: "How to request only new rows: the `incremental` of a dlt_extract resource",
      }),
    ),
    asks: Type.Array(
      object({
        name: Type.String({ minLength: 1, maxLength: 255, description: "Name of the parameter or header" }),
        location: oneOf(["query", "header"], { description: "Where the value is sent" }),
        description: text(2_048, "What the value means"),
      }),
      { maxItems: 1_000, description: "Parameters and headers that need a value" },
    ),
    unresolved: Type.Array(Unresolved, {
      maxItems: 100,
      description: "What the document doesn't say. Weir doesn't guess it",
    }),
  },
  {
    description:
      "How an extract reads the rows. Null if the document doesn't say that the endpoint returns a list",
  },
);
const listing = () => optional(nullable(Listing));

const endpoint = fields({
  description: nullable(Type.String()),
  headers: map(Type.String()),
  queryTemplate: map(Type.String()),
  bodyTemplate: anything(),
  inputSchema: nullable(jsonObject()),
  responseExtract: nullable(Type.String()),
  source: nullable(oneOf(ENDPOINT_SOURCES)),
  unverified: Type.Boolean({
    description: "True if a model extracted the endpoint and its path isn't in the text",
  }),
  listing: listing(),
});

/** An endpoint as returned by discovery and import. Create and update requests accept it unchanged. */
export const ImportedEndpoint = object({
  name: Type.String(),
  method: oneOf(HTTP_METHODS),
  path: Type.String(),
  ...endpoint,
});

const flags = fields({ enabled: Type.Boolean(), approvalRequired: Type.Boolean() });
const modelNameField = Type.String({ description: "Name that models use for the tool" });

export const CatalogEndpoint = object({
  name: Type.String(),
  method: oneOf(HTTP_METHODS),
  path: Type.String(),
  ...endpoint,
  ...flags,
  modelName: modelNameField,
});

const tool = fields({
  upstreamName: Type.String(),
  name: Type.String(),
  title: nullable(Type.String()),
  description: nullable(Type.String()),
  inputSchema: nullable(jsonObject()),
  outputSchema: nullable(jsonObject()),
  annotations: nullable(jsonObject()),
});

/** A tool as returned by discovery. Create and update requests accept it unchanged. */
export const DiscoveredTool = object({ ...tool, definitionHash: nullable(Type.String()) });

export const CatalogTool = object({
  ...tool,
  definitionHash: nullable(
    Type.String({ description: "Hash of the approved definition. Null until the server is queried" }),
  ),
  ...flags,
  trusted: Type.Boolean({ description: "True if an admin trusts the server's readOnlyHint" }),
  status: oneOf(ITEM_STATUSES),
  pending: nullable(
    object(
      { ...tool },
      { description: "The server's current definition, if it differs from the approved one" },
    ),
  ),
  firstSeenAt: nullable(instant()),
  lastSeenAt: nullable(instant()),
  modelName: modelNameField,
});

/** An authentication method that an API declares. */
export const AuthHint = object({
  label: Type.String({ maxLength: 255, description: "Name that people read" }),
  name: Type.String({ maxLength: 255, description: "Name of the header, query parameter or cookie" }),
  location: oneOf(["header", "query", "cookie"], { description: "Where the credential is sent" }),
  type: oneOf(["api_key_header", "api_key_query", "api_key_cookie", "bearer", "basic", "oauth2", "openid"], {
    description: "Sign-in method",
  }),
  flow: optional(
    object(
      {
        authorizeUrl: nullable(Type.String({ maxLength: 2_048 })),
        tokenUrl: Type.String({ maxLength: 2_048 }),
        scopes: Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 }),
      },
      { description: "URLs of an OAuth 2.0 sign-in. authorizeUrl is null for client credentials" },
    ),
  ),
});

const authHints = () =>
  optional(
    nullable(
      Type.Array(AuthHint, {
        maxItems: 100,
        description: "Sign-in methods, as discovery and import return them",
      }),
    ),
  );

const entry = fields({
  id: uuid(),
  name: Type.String(),
  description: Type.String(),
  type: oneOf(API_TYPES),
  status: oneOf(API_STATUSES),
  url: nullable(Type.String({ description: "URL of the MCP server. Null for an HTTP API" })),
  baseUrl: nullable(Type.String({ description: "Base URL of the HTTP API. Null for an MCP server" })),
  connectionId: nullable(uuid()),
  approvalRequired: Type.Boolean(),
  endpointCount: Type.Integer(),
  toolCount: Type.Integer(),
  transport: nullable(oneOf(TRANSPORTS)),
  createdAt: instant(),
  updatedAt: instant(),
});

export const CatalogSummary = object(entry);
export const CatalogEntry = object({
  ...entry,
  authHints: optional(
    Type.Array(AuthHint, { description: "Sign-in methods that its document declares. Absent if unknown" }),
  ),
  endpoints: Type.Array(CatalogEndpoint),
  tools: Type.Array(CatalogTool),
});

export const CatalogQuery = object({
  q: optional(
    Type.String({ minLength: 1, maxLength: 255, description: "Text in the name, description or URL" }),
  ),
  type: optional(oneOf(API_TYPES, { description: "`http` for HTTP APIs, `mcp` for MCP servers" })),
  status: optional(oneOf(API_STATUSES, { description: "Only items with this status" })),
  ...offsetQuery(50),
});
export type CatalogQuery = Static<typeof CatalogQuery>;

export const CatalogPage = object({
  items: Type.Array(CatalogSummary),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

const address = (description: string) => Type.String({ minLength: 1, maxLength: 2_048, description });
const catalogDescription = () => Type.String({ minLength: 1, maxLength: MAX_DESCRIPTION });
const connectionId = () => optional(nullable(uuid()));
const approvalRequired = () =>
  optional(
    Type.Boolean({
      description: "Whether a person must approve each call. Default: false. Only admins can change it",
    }),
  );
const itemDescription = () => optional(nullable(text(MAX_DESCRIPTION)));
const schemaOf = (description: string) => optional(nullable(jsonSchema({ description })));

const itemFlags = {
  enabled: optional(Type.Boolean({ description: "Whether it can be called. Default: true" })),
  approvalRequired: approvalRequired(),
};

const endpointInput = {
  name: named(),
  description: itemDescription(),
  headers: optional(
    nullable(
      map(text(4_096, "Value of the header. Can contain {{input.x}}. Credentials belong in the connection")),
    ),
  ),
  queryTemplate: optional(
    nullable(map(text(4_096, "Value of the query parameter, such as {{input.limit}}"))),
  ),
  bodyTemplate: optional(described("JSON body. Can contain {{input.x}}", anything())),
  inputSchema: schemaOf("JSON Schema of the arguments"),
  responseExtract: optional(
    nullable(text(4_096, "JMESPath expression that selects the result from the response body")),
  ),
  source: optional(nullable(oneOf(ENDPOINT_SOURCES, { description: "How the endpoint was added" }))),
  unverified: optional(
    Type.Boolean({ description: "Whether a model extracted the endpoint and its path isn't in the text" }),
  ),
  listing: listing(),
  ...itemFlags,
};
const path = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: "Path below the base URL. {x} is replaced with the argument x",
});

const EndpointCreate = object({ ...endpointInput, method: oneOf(HTTP_METHODS), path });
const EndpointPatch = object(
  { ...endpointInput, method: optional(oneOf(HTTP_METHODS)), path: optional(path) },
  { description: "Omitted fields keep their values. A new endpoint needs method and path" },
);
export type EndpointInput = Static<typeof EndpointPatch>;

const toolInput = {
  upstreamName: Type.String({ minLength: 1, maxLength: 255, description: "Name of the tool on the server" }),
  name: optional(nullable(named())),
  title: optional(nullable(text(255))),
  description: itemDescription(),
  inputSchema: schemaOf("JSON Schema of the arguments, as the server returns it"),
  outputSchema: schemaOf("JSON Schema of the result, as the server returns it"),
  annotations: optional(nullable(jsonObject({ description: "The server's hints, such as readOnlyHint" }))),
  definitionHash: optional(
    nullable(
      Type.String({ pattern: "^[0-9a-f]{64}$", description: "Hash of the definition, from discovery" }),
    ),
  ),
  ...itemFlags,
  trusted: optional(
    Type.Boolean({
      description:
        "Whether the server's readOnlyHint is trusted: agents then call the tool without approval. Default: false. Only admins can change it",
    }),
  ),
};
const ToolCreate = object(toolInput);
const ToolPatch = object(
  {
    ...toolInput,
    status: optional(Type.Literal("active", { description: "Approves the changed definition of a tool" })),
  },
  { description: "Omitted fields keep their values" },
);
export type ToolInput = Static<typeof ToolPatch>;

const many = { minItems: 1, maxItems: MAX_ENDPOINTS };

export const HttpApiCreate = requestObject({
  name: named(),
  description: catalogDescription(),
  baseUrl: address("Base URL (http or https). The endpoints' paths are appended to it"),
  endpoints: Type.Array(EndpointCreate, { ...many, description: "HTTP operations of the API" }),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
  authHints: authHints(),
});
export type HttpApiCreate = Static<typeof HttpApiCreate>;

export const McpApiCreate = requestObject({
  name: named(),
  description: catalogDescription(),
  url: address("URL of the MCP server (http or https)"),
  transport: oneOf(TRANSPORTS, { default: "http" }),
  tools: Type.Array(ToolCreate, { ...many, description: "Tools of the server" }),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
});
export type McpApiCreate = Static<typeof McpApiCreate>;

export const CatalogPatch = object({
  name: optional(named()),
  description: optional(catalogDescription()),
  status: optional(oneOf(API_STATUSES, { description: "Whether agents and actions can call the API" })),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
  authHints: authHints(),
  endpoints: optional(
    Type.Array(EndpointPatch, { ...many, description: "The complete list. Omitted items are removed" }),
  ),
  tools: optional(
    Type.Array(ToolPatch, { ...many, description: "The complete list. Omitted items are removed" }),
  ),
});
export type CatalogPatch = Static<typeof CatalogPatch>;

export const Deletion = object({ deleted: Type.Boolean() });

export const toSummary = (row: ApiRow): Static<typeof CatalogSummary> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  type: row.type,
  status: row.status,
  url: row.url,
  baseUrl: row.baseUrl,
  connectionId: row.connectionId,
  approvalRequired: row.approvalRequired,
  endpointCount: row.endpointCount,
  toolCount: row.toolCount,
  transport: row.transport,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

/** An entry with its items, in order. */
export interface WholeApi {
  row: ApiRow;
  items: readonly ItemRow[];
}

export const toEntry = ({ row, items }: WholeApi): Static<typeof CatalogEntry> => ({
  ...toSummary(row),
  ...(row.authHints ? { authHints: row.authHints } : {}),
  endpoints: row.type === "http" ? items.map((item) => toEndpoint(row, item)) : [],
  tools: row.type === "mcp" ? items.map((item) => toTool(row, item)) : [],
});

const toEndpoint = (row: ApiRow, item: ItemRow): Static<typeof CatalogEndpoint> => ({
  ...(item.definition as EndpointDefinition),
  enabled: item.enabled,
  approvalRequired: item.approvalRequired,
  modelName: modelName(row.slug, item.name),
});

const toTool = (row: ApiRow, item: ItemRow): Static<typeof CatalogTool> => ({
  ...(item.definition as ToolDefinition),
  definitionHash: item.definitionHash,
  enabled: item.enabled,
  approvalRequired: item.approvalRequired,
  trusted: item.trusted,
  status: item.status,
  pending: item.pending,
  firstSeenAt: item.firstSeenAt,
  lastSeenAt: item.lastSeenAt,
  modelName: modelName(row.slug, item.name),
});
