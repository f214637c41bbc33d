import type { Json, JsonObject } from "../base/json.ts";
import type { Grant, Link, Provider } from "../providers/contract.ts";

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export const TRANSPORTS = ["http", "sse"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Where an endpoint was read from; null if a person wrote it. */
export const ENDPOINT_SOURCES = ["openapi", "curl", "har", "postman", "ai_generated"] as const;
export type EndpointSource = (typeof ENDPOINT_SOURCES)[number];

/** A setting of a list that its description leaves open. */
export interface Unresolved {
  /** Path in the resource, such as `endpoint.paginator`. */
  field: string;
  message: string;
  /** Possible values. */
  candidates: Json[];
}

/** How an extract reads the rows of an endpoint, as far as its description says. */
export interface Listing {
  /** `endpoint` of a `dlt_extract` resource. */
  endpoint: JsonObject;
  primaryKey: string[];
  /** `incremental` of that resource; null if every run reads all rows. */
  incremental: JsonObject | null;
  /** Parameters that need a value. */
  asks: { name: string; location: "query" | "header"; description: string }[];
  unresolved: Unresolved[];
}

/** Settings that a list needs to be read completely. */
const NEEDED = ["endpoint.dataPath", "endpoint.paginator"];

/** Whether enough is known to read all rows. */
export const isReadable = ({ unresolved }: Listing): boolean =>
  unresolved.every(({ field }) => !NEEDED.includes(field));

/**
 * One operation of an HTTP API. Templates contain `{{input.x}}`; `{x}` in `path` is `input.x`.
 * Fields whose optional input is missing are omitted.
 */
export interface EndpointDefinition {
  name: string;
  description: string | null;
  method: HttpMethod;
  /** Relative to the entry's base URL. */
  path: string;
  headers: Record<string, string>;
  queryTemplate: Record<string, string>;
  bodyTemplate: Json;
  /** A JSON Schema of the arguments, without `$ref`; null if they aren't described. */
  inputSchema: JsonObject | null;
  /** JMESPath into the response body. */
  responseExtract: string | null;
  source: EndpointSource | null;
  /** True if a model found the endpoint, but its path doesn't occur in the text that the model read. */
  unverified: boolean;
  /** How to read its rows, if it is described as a list; absent or null if unknown. */
  listing?: Listing | null;
}

/** One tool of an MCP server, as last approved. */
export interface ToolDefinition {
  /** Its name on the server. */
  upstreamName: string;
  /** Its name in Weir. */
  name: string;
  title: string | null;
  description: string | null;
  inputSchema: JsonObject | null;
  outputSchema: JsonObject | null;
  annotations: JsonObject | null;
}

/** A way to authenticate with an API. */
export interface AuthHint {
  label: string;
  /** Of the header or parameter. */
  name: string;
  location: "header" | "query" | "cookie";
  type: "api_key_header" | "api_key_query" | "api_key_cookie" | "bearer" | "basic" | "oauth2" | "openid";
  /** For `oauth2`: the authorization URL, or null for client credentials, and the token URL. */
  flow?: { authorizeUrl: string | null; tokenUrl: string; scopes: string[] };
}

/** An API as read from its description. */
export interface ReadApi {
  /** Its own title; null if it has none. */
  title: string | null;
  baseUrl: string | null;
  endpoints: EndpointDefinition[];
  authRequired: boolean;
  authHints: AuthHint[];
  /** What couldn't be imported, in sentences. */
  warnings: string[];
}

/** Longer descriptions are cut. */
export const MAX_DESCRIPTION = 2_048;
/** Endpoints or tools per entry. */
export const MAX_ENDPOINTS = 2_000;
export const MAX_WARNINGS = 100;

/** Authenticates requests to an MCP server: a connection, or a sign-in with the server. */
export interface Authority {
  /** Called before each request; null if there are no credentials. */
  authorize(): Promise<Grant | null>;
  /**
   * Called when the server refuses a request (401 or 403), with its `WWW-Authenticate`. True if the same request is
   * worth sending again. Throws an error that says who has to do what.
   */
  refused(refusal: { status: number; challenge: string | null }): Promise<boolean>;
  /** All secrets granted so far, to be masked in texts. */
  secrets(): readonly string[];
}

/** An endpoint or tool of the catalog, ready to be called. */
export interface CatalogUse {
  apiId: string;
  apiName: string;
  target:
    | { kind: "endpoint"; baseUrl: string; endpoint: EndpointDefinition }
    | { kind: "tool"; url: string; transport: Transport; tool: ToolDefinition };
  approvalRequired: boolean;
  /** Changes if the effect of a call changes: its definition, its address or its connection. */
  fingerprint: string;
  /** The connection used for the call; null for none. */
  connection: { provider: Provider; link: Link } | null;
  /** For a tool without a connection: the organization's sign-in with its server. */
  signIn: Authority | null;
  /**
   * Compares the server's current tools with the approved definition and returns the tool to call. Throws
   * `invalid_state` if it has changed, and with `isHeld` also if the approved definition has changed since
   * `fingerprint`.
   */
  verify(tools: readonly ToolDefinition[], isHeld: boolean): Promise<ToolDefinition>;
}
