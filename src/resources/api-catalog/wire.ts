import { type Static, type TProperties, Type } from "@sinclair/typebox";
import {
  anything,
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
const given = <P extends TProperties>(properties: P) => properties;

export const Unresolved = object({
  field: text(200, "Of the resource, such as endpoint.paginator"),
  message: text(2_000),
  candidates: Type.Array(anything(), { maxItems: 1_000, description: "Allowed values" }),
});

const Listing = object(
  {
    endpoint: jsonObject({ description: "As the endpoint of a dlt_extract's resource" }),
    primaryKey: Type.Array(named(1000), { maxItems: 32 }),
    incremental: nullable(jsonObject({ description: "As the incremental of such a resource" })),
    asks: Type.Array(
      object({
        name: Type.String({ minLength: 1, maxLength: 255 }),
        location: oneOf(["query", "header"]),
        description: text(2_048),
      }),
      { maxItems: 1_000, description: "What needs a value" },
    ),
    unresolved: Type.Array(Unresolved, {
      maxItems: 100,
      description: "What the description does not tell, which is never guessed",
    }),
  },
  { description: "How an extract reads its rows, if its description says that it returns a list" },
);
const listing = () => optional(nullable(Listing));

const endpoint = given({
  description: nullable(Type.String()),
  headers: map(Type.String()),
  queryTemplate: map(Type.String()),
  bodyTemplate: anything(),
  inputSchema: nullable(jsonObject()),
  responseExtract: nullable(Type.String()),
  source: nullable(oneOf(ENDPOINT_SOURCES)),
  unverified: Type.Boolean({ description: "A model found it, and its path stands nowhere in the text" }),
  listing: listing(),
});

/** An endpoint as discovery and import give it; a create and a change take it as it is. */
export const ImportedEndpoint = object({
  name: Type.String(),
  method: oneOf(HTTP_METHODS),
  path: Type.String(),
  ...endpoint,
});

const flags = given({ enabled: Type.Boolean(), approvalRequired: Type.Boolean() });
const modelNameField = Type.String({ description: "What models call it" });

export const CatalogEndpoint = object({
  name: Type.String(),
  method: oneOf(HTTP_METHODS),
  path: Type.String(),
  ...endpoint,
  ...flags,
  modelName: modelNameField,
});

const tool = given({
  upstreamName: Type.String(),
  name: Type.String(),
  title: nullable(Type.String()),
  description: nullable(Type.String()),
  inputSchema: nullable(jsonObject()),
  outputSchema: nullable(jsonObject()),
  annotations: nullable(jsonObject()),
});

/** A tool as discovery gives it; a create and a change take it as it is. */
export const DiscoveredTool = object({ ...tool, definitionHash: nullable(Type.String()) });

export const CatalogTool = object({
  ...tool,
  definitionHash: nullable(
    Type.String({ description: "Of the approved definition; null until the server was queried" }),
  ),
  ...flags,
  trusted: Type.Boolean({ description: "An admin believes the server that it only reads (readOnlyHint)" }),
  status: oneOf(ITEM_STATUSES),
  pending: nullable(object({ ...tool }, { description: "The server's current definition, if it changed" })),
  firstSeenAt: nullable(instant()),
  lastSeenAt: nullable(instant()),
  modelName: modelNameField,
});

const entry = given({
  id: uuid(),
  name: Type.String(),
  description: Type.String(),
  type: oneOf(API_TYPES),
  status: oneOf(API_STATUSES),
  url: nullable(Type.String({ description: "Of an MCP server" })),
  baseUrl: nullable(Type.String({ description: "Of an HTTP API" })),
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
  endpoints: Type.Array(CatalogEndpoint),
  tools: Type.Array(CatalogTool),
});

export const CatalogQuery = object({
  q: optional(Type.String({ minLength: 1, maxLength: 255, description: "In name, description or address" })),
  type: optional(oneOf(API_TYPES)),
  status: optional(oneOf(API_STATUSES)),
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
  optional(Type.Boolean({ description: "False by default; changed by admins only" }));
const itemDescription = () => optional(nullable(text(MAX_DESCRIPTION)));
const schemaOf = (description: string) => optional(nullable(jsonSchema({ description })));

const itemFlags = {
  enabled: optional(Type.Boolean({ description: "True by default" })),
  approvalRequired: approvalRequired(),
};

const endpointInput = {
  name: named(),
  description: itemDescription(),
  headers: optional(
    nullable(map(text(4_096, "Can contain {{input.x}}; credentials belong in the connection"))),
  ),
  queryTemplate: optional(nullable(map(text(4_096, 'Such as {"limit": "{{input.limit}}"}')))),
  bodyTemplate: optional(anything()),
  inputSchema: schemaOf("A JSON Schema of the arguments"),
  responseExtract: optional(nullable(text(4_096, "JMESPath into the body of the reply"))),
  source: optional(nullable(oneOf(ENDPOINT_SOURCES))),
  unverified: optional(Type.Boolean()),
  listing: listing(),
  ...itemFlags,
};
const path = Type.String({ minLength: 1, maxLength: 2_048, description: "{x} is replaced with input.x" });

const EndpointCreate = object({ ...endpointInput, method: oneOf(HTTP_METHODS), path });
const EndpointPatch = object(
  { ...endpointInput, method: optional(oneOf(HTTP_METHODS)), path: optional(path) },
  { description: "Fields that are not given stay as they are; a new endpoint needs method and path" },
);
export type EndpointInput = Static<typeof EndpointPatch>;

const toolInput = {
  upstreamName: Type.String({ minLength: 1, maxLength: 255, description: "As the server calls it" }),
  name: optional(nullable(named())),
  title: optional(nullable(text(255))),
  description: itemDescription(),
  inputSchema: schemaOf("As the server gives it"),
  outputSchema: schemaOf("As the server gives it"),
  annotations: optional(nullable(jsonObject({ description: "Hints of the server, such as readOnlyHint" }))),
  definitionHash: optional(nullable(Type.String({ pattern: "^[0-9a-f]{64}$" }))),
  ...itemFlags,
  trusted: optional(
    Type.Boolean({
      description:
        "The server's readOnlyHint is believed, so that agents call the tool without asking; false by default, said by admins only",
    }),
  ),
};
const ToolCreate = object(toolInput);
const ToolPatch = object(
  {
    ...toolInput,
    status: optional(
      Type.Literal("active", { description: "Accepts what the server says of a changed tool" }),
    ),
  },
  { description: "Fields that are not given stay as they are" },
);
export type ToolInput = Static<typeof ToolPatch>;

const many = { minItems: 1, maxItems: MAX_ENDPOINTS };

/** How an API says that it wants to know its callers. */
export const AuthHint = object({
  label: Type.String({ maxLength: 255 }),
  name: Type.String({ maxLength: 255 }),
  location: oneOf(["header", "query", "cookie"]),
  type: oneOf(["api_key_header", "api_key_query", "api_key_cookie", "bearer", "basic", "oauth2", "openid"]),
  flow: optional(
    object(
      {
        authorizeUrl: nullable(Type.String({ maxLength: 2_048 })),
        tokenUrl: Type.String({ maxLength: 2_048 }),
        scopes: Type.Array(Type.String({ maxLength: 500 }), { maxItems: 100 }),
      },
      { description: "Of oauth2; authorizeUrl is null where the client's own credentials do" },
    ),
  ),
});

export const HttpApiCreate = object({
  name: named(),
  description: catalogDescription(),
  baseUrl: address("http:// or https://; the endpoints' paths are appended to it"),
  endpoints: Type.Array(EndpointCreate, many),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
  authHints: optional(
    nullable(Type.Array(AuthHint, { maxItems: 100, description: "As discovery and import give them" })),
  ),
});
export type HttpApiCreate = Static<typeof HttpApiCreate>;

export const McpApiCreate = object({
  name: named(),
  description: catalogDescription(),
  url: address("http:// or https://"),
  transport: oneOf(TRANSPORTS, { default: "http" }),
  tools: Type.Array(ToolCreate, many),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
});
export type McpApiCreate = Static<typeof McpApiCreate>;

export const CatalogPatch = object({
  name: optional(named()),
  description: optional(catalogDescription()),
  status: optional(oneOf(API_STATUSES)),
  connectionId: connectionId(),
  approvalRequired: approvalRequired(),
  endpoints: optional(
    Type.Array(EndpointPatch, { ...many, description: "All that there are; those left out go" }),
  ),
  tools: optional(Type.Array(ToolPatch, { ...many, description: "All that there are; those left out go" })),
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

/** An entry with its items, in their order. */
export interface WholeApi {
  row: ApiRow;
  items: readonly ItemRow[];
}

export const toEntry = ({ row, items }: WholeApi): Static<typeof CatalogEntry> => ({
  ...toSummary(row),
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

export const exampleEndpoint: Static<typeof ImportedEndpoint> = {
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
  endpoints: [
    { ...exampleEndpoint, enabled: true, approvalRequired: false, modelName: "orders-api__list_orders" },
  ],
  tools: [],
};
