import type { Json, JsonObject } from "../base/json.ts";
import type { Grant, Link, Provider } from "../providers/contract.ts";

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export const TRANSPORTS = ["http", "sse"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What an endpoint was read from; null where a person wrote it. */
export const ENDPOINT_SOURCES = ["openapi", "curl", "har", "postman", "ai_generated"] as const;
export type EndpointSource = (typeof ENDPOINT_SOURCES)[number];

/** What a description does not tell of a list. */
export interface Unresolved {
  /** Of the resource, such as `endpoint.paginator`. */
  field: string;
  message: string;
  /** What it may be. */
  candidates: Json[];
}

/** How an extract reads the rows of an endpoint, as far as its description tells. */
export interface Listing {
  /** `endpoint` of a resource of `dlt_extract`. */
  endpoint: JsonObject;
  primaryKey: string[];
  /** `incremental` of such a resource; null where all is read each time. */
  incremental: JsonObject | null;
  /** What needs a value. */
  asks: { name: string; location: "query" | "header"; description: string }[];
  unresolved: Unresolved[];
}

/** Without these a list can't be read whole. */
const NEEDED = ["endpoint.dataPath", "endpoint.paginator"];

/** Whether all rows can be read by what is known. */
export const isReadable = ({ unresolved }: Listing): boolean =>
  unresolved.every(({ field }) => !NEEDED.includes(field));

/**
 * One operation of an HTTP API. `{{input.x}}` stands in the texts of its templates; `{x}` in `path` is `input.x`.
 * What an optional input that is not given would fill is left out.
 */
export interface EndpointDefinition {
  name: string;
  description: string | null;
  method: HttpMethod;
  /** Below the entry's base address. */
  path: string;
  headers: Record<string, string>;
  queryTemplate: Record<string, string>;
  bodyTemplate: Json;
  /** A JSON Schema of the arguments, without a `$ref`; null where nothing was said of them. */
  inputSchema: JsonObject | null;
  /** JMESPath into the body of the reply. */
  responseExtract: string | null;
  source: EndpointSource | null;
  /** True where a model found it, and its path stands nowhere in what the model had read. */
  unverified: boolean;
  /** How its rows are read, where its description tells of a list; absent or null where none is known. */
  listing?: Listing | null;
}

/** One tool of an MCP server, as it was last accepted. */
export interface ToolDefinition {
  /** As the server calls it. */
  upstreamName: string;
  /** As it is shown here. */
  name: string;
  title: string | null;
  description: string | null;
  inputSchema: JsonObject | null;
  outputSchema: JsonObject | null;
  annotations: JsonObject | null;
}

/** How an API says that it wants to know its callers. */
export interface AuthHint {
  label: string;
  /** Of the header or parameter. */
  name: string;
  location: "header" | "query" | "cookie";
  type: "api_key_header" | "api_key_query" | "api_key_cookie" | "bearer" | "basic" | "oauth2" | "openid";
  /** Of `oauth2`: where a person signs in, or null where the client's own credentials do, and where tokens come from. */
  flow?: { authorizeUrl: string | null; tokenUrl: string; scopes: string[] };
}

/** What was read from a description of an API. */
export interface ReadApi {
  /** What it calls itself; null where it does not. */
  title: string | null;
  baseUrl: string | null;
  endpoints: EndpointDefinition[];
  authRequired: boolean;
  authHints: AuthHint[];
  /** What could not be taken over, in sentences. */
  warnings: string[];
}

/** Descriptions longer than this are cut. */
export const MAX_DESCRIPTION = 2_048;
/** Endpoints of one entry, and tools of one. */
export const MAX_ENDPOINTS = 2_000;
export const MAX_WARNINGS = 100;

/** What requests to an MCP server are made with: a connection, or a sign-in with the server. */
export interface Authority {
  /** Asked before each request; null where there is nothing to carry. */
  authorize(): Promise<Grant | null>;
  /**
   * Hears that the server did not take a request (401 or 403), with its `WWW-Authenticate`. True where the same request
   * is worth sending again. Throws a sentence that says who has to do what.
   */
  refused(refusal: { status: number; challenge: string | null }): Promise<boolean>;
  /** What was granted so far that is told nobody. */
  secrets(): readonly string[];
}

/** An endpoint or tool of the catalog, as it may be called at this moment. */
export interface CatalogUse {
  apiId: string;
  apiName: string;
  target:
    | { kind: "endpoint"; baseUrl: string; endpoint: EndpointDefinition }
    | { kind: "tool"; url: string; transport: Transport; tool: ToolDefinition };
  approvalRequired: boolean;
  /** Changes when what a call does changes: its definition, its address or its connection. */
  fingerprint: string;
  /** What the call is made with; null for none. */
  connection: { provider: Provider; link: Link } | null;
  /** Of a tool without a connection: the organization's sign-in with its server. */
  signIn: Authority | null;
  /**
   * Holds what an MCP server says of its tools against what was accepted, and gives back the tool to call; throws
   * `invalid_state` where that has changed, and with `isHeld` also where what was accepted has, since `fingerprint`.
   */
  verify(tools: readonly ToolDefinition[], isHeld: boolean): Promise<ToolDefinition>;
}
