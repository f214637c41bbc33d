import { Type } from "@sinclair/typebox";
import { isObject } from "../../base/json.ts";
import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { createHttpApi, createMcpApi } from "./create.ts";
import { deleteApi } from "./delete.ts";
import { discover, discoveryFaults } from "./discover.ts";
import { addressFaults, catalogFaults } from "./faults.ts";
import { findWhole, listApis, listItems } from "./find.ts";
import { importContent, importInto } from "./import.ts";
import { refreshApi } from "./refresh.ts";
import { updateApi } from "./update.ts";
import { testEndpoint } from "./use.ts";
import {
  CatalogEntry,
  CatalogPage,
  CatalogPatch,
  CatalogQuery,
  Deletion,
  HttpApiCreate,
  McpApiCreate,
  toEntry,
  toSummary,
} from "./wire.ts";
import { exampleEntry, exampleSummary } from "./wire-examples.ts";
import {
  DiscoveryRequest,
  DiscoveryResult,
  EndpointTest,
  EndpointTestResult,
  EntryImportResult,
  ImportRequest,
  ImportResult,
  RefreshResult,
} from "./wire-import.ts";
import { CatalogItemPage, CatalogItemQuery } from "./wire-items.ts";

const tag = "API catalog";
const params = object({ api_id: uuid() });
const example = exampleEntry;
const { name, description, baseUrl } = exampleSummary;

export const apiCatalogOperations = [
  operation({
    method: "GET",
    path: "/api/v1/api-catalog",
    audience: "viewer",
    tag,
    summary: "List APIs",
    description: "Newest first, without their endpoints and tools.",
    query: CatalogQuery,
    response: CatalogPage,
    example: { items: [exampleSummary], hasNext: false, limit: 50, offset: 0, total: 1 },
    async handle({ ctx, query }) {
      const { rows, total } = await listApis(ctx, query);
      const { limit, offset } = query;
      return { items: rows.map(toSummary), hasNext: offset + rows.length < total, limit, offset, total };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/api-catalog/items",
    audience: "viewer",
    tag,
    summary: "Search endpoints and tools",
    description: "Enabled endpoints and tools of all active APIs, by name.",
    query: CatalogItemQuery,
    response: CatalogItemPage,
    example: {
      items: [
        {
          apiId: exampleSummary.id,
          apiName: name,
          type: "http",
          name: "list_orders",
          description: null,
          method: "GET",
          path: "/orders",
        },
      ],
      hasNext: false,
      limit: 20,
      offset: 0,
      total: 1,
    },
    handle: ({ ctx, query }) => listItems(ctx, query),
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/discover",
    audience: "member",
    tag,
    summary: "Discover an API's endpoints or tools",
    description:
      "Reads an HTTP API's OpenAPI 3.1, OpenAPI 3.0 or Swagger 2.0 document from specUrl, from common locations below " +
      "baseUrl, or from where the server links to it. Asks an MCP server for its tools. Saves nothing. `attempts` lists " +
      "the URLs that were tried.",
    body: DiscoveryRequest,
    faults: (_, raw) => discoveryFaults(raw),
    response: DiscoveryResult,
    errors: [502, 504],
    bodyExample: { sourceType: "http", baseUrl },
    handle: ({ ctx, body, visit }) => discover(ctx, body, visit.request.signal),
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/ai-import",
    audience: "member",
    tag,
    summary: "Extract endpoints from a document",
    description: "Saves nothing. Only prose requires a language model.",
    body: ImportRequest,
    takesData: true,
    faults: (_, raw) => (isObject(raw) ? addressFaults(raw.baseUrl, "baseUrl", "http") : []),
    response: ImportResult,
    errors: [502, 503, 504],
    bodyExample: { content: "curl https://api.example.com/v1/orders?limit=10" },
    handle: ({ ctx, body, visit }) => importContent(ctx, body, visit.request.signal),
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/http",
    audience: "member",
    idempotent: true,
    tag,
    summary: "Create an HTTP API",
    body: HttpApiCreate,
    takesLists: true,
    faults: (_, raw) => catalogFaults(raw),
    status: 201,
    response: CatalogEntry,
    errors: [409],
    bodyExample: {
      name,
      description,
      baseUrl,
      endpoints: [{ name: "list_orders", method: "GET", path: "/orders" }],
    },
    example,
    handle: async ({ ctx, body }) => toEntry(await createHttpApi(ctx, body)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/mcp",
    audience: "member",
    idempotent: true,
    tag,
    summary: "Create an MCP server",
    description:
      "A tool sent with its inputSchema, as discovery returns it, is approved with that definition. A tool sent with " +
      "only its name is approved with the definition that the server first returns.",
    body: McpApiCreate,
    faults: (_, raw) => catalogFaults(raw),
    status: 201,
    response: CatalogEntry,
    errors: [409],
    bodyExample: {
      name,
      description,
      url: "https://mcp.example.com/mcp",
      tools: [{ upstreamName: "search" }],
    },
    example,
    handle: async ({ ctx, body }) => toEntry(await createMcpApi(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/api-catalog/{api_id}",
    audience: "viewer",
    tag,
    summary: "Get an API",
    description: "With its endpoints or tools.",
    params,
    response: CatalogEntry,
    errors: [404],
    example,
    handle: async ({ ctx, params }) => toEntry(await findWhole(ctx, params.api_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/api-catalog/{api_id}",
    audience: "member",
    tag,
    summary: "Update an API",
    description:
      "Changes only the fields in the body. A list of endpoints or tools replaces the existing one; items that keep " +
      "their name keep the fields you leave out. Only admins can change whether approval is required, change a tool's " +
      "approved definition, or remove such a tool.",
    params,
    body: CatalogPatch,
    takesLists: true,
    faults: (_, raw) => catalogFaults(raw),
    response: CatalogEntry,
    errors: [404, 409],
    bodyExample: { description: "The shop's own API, version 2." },
    example,
    handle: async ({ ctx, params, body }) => toEntry(await updateApi(ctx, params.api_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/api-catalog/{api_id}",
    audience: "member",
    tag,
    summary: "Delete an API",
    params,
    response: Deletion,
    errors: [404],
    example: { deleted: true },
    async handle({ ctx, params }) {
      await deleteApi(ctx, params.api_id);
      return { deleted: true };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/{api_id}/ai-import",
    audience: "member",
    tag,
    summary: "Compare endpoints with a document",
    description: "Extracts the endpoints and compares them with those of the API. Saves nothing.",
    params,
    body: ImportRequest,
    takesData: true,
    faults: (_, raw) => (isObject(raw) ? addressFaults(raw.baseUrl, "baseUrl", "http") : []),
    response: EntryImportResult,
    errors: [404, 409, 502, 503, 504],
    bodyExample: { content: "curl https://api.example.com/v1/orders?limit=10" },
    handle: ({ ctx, params, body, visit }) => importInto(ctx, params.api_id, body, visit.request.signal),
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/{api_id}/refresh",
    audience: "member",
    tag,
    summary: "Refresh an MCP server's tools",
    description: "Tools whose definition changed can't be called until an admin approves them.",
    params,
    response: RefreshResult,
    errors: [404, 409, 502, 504],
    async handle({ ctx, params, visit }) {
      const { api, ...rest } = await refreshApi(ctx, params.api_id, visit.request.signal);
      return { api: toEntry(api), ...rest };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/{api_id}/endpoints/{name}/test",
    audience: "member",
    tag,
    summary: "Test an endpoint or tool",
    description: "Calls it once and returns the response.",
    params: object({ api_id: uuid(), name: Type.String({ minLength: 1, maxLength: 255 }) }),
    body: EndpointTest,
    bodyOptional: true,
    response: EndpointTestResult,
    errors: [404, 409, 502, 504],
    bodyExample: { input: { limit: 10 } },
    async handle({ ctx, params, body, visit }) {
      const { pages: _, ...result } = await testEndpoint(
        ctx,
        params.api_id,
        params.name,
        body.input ?? {},
        visit.request.signal,
      );
      return result;
    },
  }),
];
