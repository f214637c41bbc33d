import { Type } from "@sinclair/typebox";
import { isObject } from "../../base/json.ts";
import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { createHttpApi, createMcpApi } from "./create.ts";
import { deleteApi } from "./delete.ts";
import { discover, discoveryFaults } from "./discover.ts";
import { addressFaults, catalogFaults } from "./faults.ts";
import { findWhole, listApis } from "./find.ts";
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
  exampleEntry,
  exampleSummary,
  HttpApiCreate,
  McpApiCreate,
  toEntry,
  toSummary,
} from "./wire.ts";
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
    summary: "Lists the APIs of the catalog, newest first, without their endpoints and tools",
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
    method: "POST",
    path: "/api/v1/api-catalog/discover",
    audience: "member",
    tag,
    summary: "Looks what an API can do, by its description or by asking an MCP server; writes nothing",
    description:
      "Of an HTTP API it reads OpenAPI 3.1, 3.0 or Swagger 2.0 from specUrl, from the usual places below baseUrl, or " +
      "from where the server says. A server that is not there is told in attempts.",
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
    summary: "Reads the endpoints that a text tells of; writes nothing. Only prose needs a language model",
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
    summary: "Adds an HTTP API with its endpoints",
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
    summary: "Adds an MCP server with its tools",
    description:
      "A tool that comes with its inputSchema, as discovery gives it, is held to that definition from now on; one " +
      "that comes with its name alone, to what the server says of it when it is first asked.",
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
    summary: "Shows an API with its endpoints or tools",
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
    summary: "Changes the fields that are given",
    description:
      "A list of endpoints or tools is all that there is afterwards; of an item that was there before, by its name, " +
      "fields that are not given stay. Whether approval is required, what a tool is held to, and taking away what is " +
      "held are for admins.",
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
    summary: "Takes an API out of the catalog",
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
    summary:
      "Reads the endpoints that a text tells of, and compares them with those of the API; writes nothing",
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
    summary:
      "Asks an MCP server for its tools, and holds back those that changed until an admin accepts them",
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
    summary: "Calls an endpoint or tool once, and tells what came back",
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
