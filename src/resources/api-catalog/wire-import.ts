import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  anything,
  defaulted,
  jsonObject,
  map,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { CONTENT_TYPES } from "../../catalog/content.ts";
import { TRANSPORTS } from "../../catalog/contract.ts";
import { API_TYPES } from "./table.ts";
import { AuthHint, CatalogEntry, DiscoveredTool, ImportedEndpoint } from "./wire.ts";

const address = (description: string) =>
  optional(nullable(Type.String({ minLength: 1, maxLength: 2_048, description })));

export const DiscoveryRequest = object({
  sourceType: oneOf(API_TYPES),
  baseUrl: address("URL of an HTTP API. Common locations below it are checked."),
  specUrl: address("URL of an HTTP API's OpenAPI document"),
  mcpUrl: address("URL of an MCP server"),
  mcpTransport: defaulted(oneOf(TRANSPORTS, { default: "http" })),
  connectionId: optional(nullable(uuid())),
});
export type DiscoveryRequest = Static<typeof DiscoveryRequest>;

const existingApi = nullable(
  object({ id: uuid(), name: Type.String() }, { description: "The API of the catalog with this URL" }),
);
const warnings = Type.Array(Type.String({ description: "Items that couldn't be imported." }));

export const DiscoveryResult = object({
  kind: Type.Literal("api_capability_discovery"),
  sourceType: oneOf(API_TYPES),
  transport: nullable(oneOf(TRANSPORTS)),
  url: nullable(Type.String()),
  specUrl: nullable(Type.String()),
  baseUrl: nullable(Type.String()),
  connectionId: nullable(uuid()),
  count: Type.Integer(),
  endpoints: Type.Array(ImportedEndpoint),
  tools: Type.Array(DiscoveredTool),
  existingApi,
  authRequired: Type.Boolean(),
  authHints: Type.Array(AuthHint),
  attempts: Type.Array(
    object({
      url: Type.String(),
      status: nullable(Type.Integer()),
      error: nullable(Type.String({ description: "Why the URL has no usable document. Null if it has one" })),
    }),
  ),
  warnings,
});
export type DiscoveryResult = Static<typeof DiscoveryResult>;

export const ImportRequest = object({
  baseUrl: address("Base URL of the API, if the content doesn't contain it"),
  content: Type.String({
    minLength: 1,
    description:
      "An OpenAPI document, curl commands, an HTTP archive, a Postman collection, a page that contains one of these, or prose",
  }),
  contentType: oneOf(CONTENT_TYPES, { default: "auto" }),
});
export type ImportRequest = Static<typeof ImportRequest>;

const imported = {
  baseUrl: nullable(Type.String()),
  endpoints: Type.Array(ImportedEndpoint),
  existingApi,
  authRequired: Type.Boolean(),
  authHints: Type.Array(AuthHint),
  warnings,
};
export const ImportResult = object(imported);
export type ImportResult = Static<typeof ImportResult>;

const EndpointRoute = object({ name: Type.String(), method: Type.String(), path: Type.String() });

export const EntryImportResult = object({
  ...imported,
  endpoints: Type.Array(ImportedEndpoint, { description: "Endpoints that the API doesn't have yet" }),
  diff: object({
    added: Type.Array(EndpointRoute),
    changed: Type.Array(ImportedEndpoint, {
      description: "Endpoints that differ, as they would be after the import, under the API's own names",
    }),
    removed: Type.Array(EndpointRoute, { description: "Endpoints of the API that aren't in the content" }),
  }),
});
export type EntryImportResult = Static<typeof EntryImportResult>;

export const RefreshResult = object({
  api: CatalogEntry,
  added: Type.Array(DiscoveredTool, { description: "Tools that the API doesn't have yet. PATCH adds them" }),
  warnings,
});

export const EndpointTest = requestObject({
  input: optional(jsonObject({ description: "Arguments of the call" })),
});

export const EndpointTestResult = object({
  status: Type.Integer({
    description: "Status of the response. For an MCP tool, 200, or 500 if it reports a failure",
  }),
  headers: map(Type.String()),
  body: anything(),
  extracted: anything(),
  bytes: Type.Integer(),
  truncated: Type.Boolean(),
  durationSeconds: Type.Number(),
});
