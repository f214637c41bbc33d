import { type Static, Type } from "@sinclair/typebox";
import { type BodyType, headerFault } from "../../base/http-message.ts";
import type { Part } from "../../base/http-multipart.ts";
import { jmespathFault } from "../../base/jmespath.ts";
import { anything, described, jsonObject, map, object, oneOf, uuid } from "../../base/shape.ts";
import { Pagination, pagingFaults } from "./pages.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

const ApiCall = object(
  {
    apiId: described("ID of an API in the API catalog", uuid()),
    endpoint: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: "Name of an endpoint of an HTTP API" }),
    ),
    tool: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: "Name of a tool of an MCP server" }),
    ),
    arguments: Type.Optional(
      jsonObject({ description: "Arguments, which match the inputSchema of the endpoint or tool" }),
    ),
    fingerprint: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        description:
          "Fingerprint of the endpoint or tool, from an approval. If its definition has changed, nothing is sent",
      }),
    ),
  },
  { description: "Endpoint or tool of the API catalog to call, instead of a url" },
);
export type ApiCall = Static<typeof ApiCall>;

export const Definition = object({
  method: Type.Optional(oneOf(METHODS, { description: "HTTP method", "x-default": "GET" })),
  url: Type.Optional(
    Type.String({
      minLength: 1,
      description: "URL (http or https), or with a connection a path below its base URL. Or give api",
    }),
  ),
  api: Type.Optional(ApiCall),
  headers: Type.Optional(described("Headers of the request. Those of the connection are added", map(scalar))),
  query: Type.Optional(
    described(
      "Query parameters. A list repeats the parameter",
      map(Type.Union([scalar, Type.Array(scalar)])),
    ),
  ),
  body: Type.Optional(
    described(
      "JSON, a text, or a file to send unchanged: {file: {artifactId}} or {file: {connectionId, path}}",
      anything(),
    ),
  ),
  bodyType: Type.Optional(
    oneOf(["json", "form", "text", "multipart"], {
      description:
        "How to send the body: json, form, text, or multipart for fields with files. Default: text for a string, otherwise json",
    }),
  ),
  followRedirects: Type.Optional(
    Type.Boolean({ description: "Whether to follow redirects", "x-default": true }),
  ),
  expectStatus: Type.Optional(
    Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
      minItems: 1,
      maxItems: 100,
      description: "Status codes that count as success. Default: 2xx",
      examples: [[200, 404]],
    }),
  ),
  responseExtract: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "JMESPath expression for the body. Its result is `extracted`",
    }),
  ),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 104_857_600,
      description: "Maximum size of all pages together, in bytes, after decompression",
      "x-default": 10_485_760,
    }),
  ),
  pagination: Type.Optional(
    described("How to request the next page. If omitted, only one page is read", Pagination),
  ),
  batch: Type.Optional(
    object(
      {
        items: described(
          "A list, or {artifactId} of a JSON Lines file with one item per line",
          Type.Union([
            Type.Array(anything(), { title: "List" }),
            object({ artifactId: described("ID of an artifact", uuid()) }, { title: "File" }),
          ]),
        ),
        size: Type.Optional(
          described(
            "Number of items in one request",
            Type.Integer({ minimum: 1, maximum: 1000, "x-default": 100 }),
          ),
        ),
      },
      {
        description:
          "Sends one request per batch of items. {{items}} is the batch in url, headers, query and body. Default body: {{items}}",
      },
    ),
  ),
  saveAs: Type.Optional(
    object(
      {
        title: Type.String({
          minLength: 1,
          maxLength: 200,
          description: "Title of the file",
          examples: ["Invoice"],
        }),
      },
      {
        description:
          "Stores the response as a file of the run, returned as `artifactId`, instead of reading its body",
      },
    ),
  ),
});
export type Definition = Static<typeof Definition>;
/** A definition of what to send. An endpoint of the catalog can have form parts instead of a body. */
export type Request = Omit<Definition, "api" | "bodyType"> & {
  url: string;
  bodyType?: BodyType;
  parts?: readonly Part[];
  /** A file as the body. */
  file?: { bytes: Uint8Array<ArrayBuffer>; mimeType: string };
};

/** Fields that a called endpoint or tool defines itself. */
const OF_A_URL = [
  "url",
  "method",
  "headers",
  "query",
  "body",
  "bodyType",
  "pagination",
  "batch",
  "saveAs",
] as const;

/** Errors that the shape can't express. */
export function definitionFaults(definition: Definition): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  // Credentials in it are reported as a typed secret.
  const url = definition.url === undefined ? null : addressFault(definition.url);
  if (url) faults.push({ path: ["url"], message: url });
  faults.push(...apiFaults(definition));
  for (const [name, value] of Object.entries(definition.headers ?? {})) {
    const message = headerFault(name, value);
    if (message) faults.push({ path: ["headers", name], message });
  }
  const body = bodyFault(definition);
  if (body) faults.push({ path: ["body"], message: body });
  const { responseExtract, pagination, saveAs, batch } = definition;
  if (batch && (pagination !== undefined || saveAs !== undefined))
    faults.push({ path: ["batch"], message: "A batch has one response. Remove pagination and saveAs." });
  if (saveAs && (responseExtract !== undefined || pagination !== undefined))
    faults.push({
      path: ["saveAs"],
      message: "A response stored as a file isn't parsed. Remove responseExtract and pagination, or saveAs.",
    });
  const extract = responseExtract && !isOpen(responseExtract) ? jmespathFault(responseExtract) : null;
  if (extract) faults.push({ path: ["responseExtract"], message: extract });
  if (typeof pagination === "object") {
    faults.push(
      ...pagingFaults(pagination).map(({ path, message }) => ({ path: ["pagination", ...path], message })),
    );
  }
  return faults;
}

function apiFaults({ api, ...rest }: Definition): { path: string[]; message: string }[] {
  if (api === undefined) return [];
  const faults: { path: string[]; message: string }[] = OF_A_URL.filter(
    (field) => rest[field] !== undefined,
  ).map((field) => ({ path: [field], message: "The endpoint of the API defines this. Remove it" }));
  if (typeof api === "object" && (api.endpoint === undefined) === (api.tool === undefined))
    faults.push({ path: ["api"], message: "Name either an endpoint or a tool" });
  return faults;
}

export function bodyFault({ method = "GET", body }: Pick<Definition, "method" | "body">): string | null {
  if (body === undefined || !isBodiless(method)) return null;
  return `A ${method} request can't have a body. Set a method such as POST.`;
}

/** Safe methods by RFC 9110. */
export const isSafeMethod = (method: string) => /^(get|head|options)$/i.test(method);

export const isBodiless = (method: string) => method === "GET" || method === "HEAD";

/** Unknown until the run. */
const isOpen = (text: string) => text.includes("{{");

/** Returns why a URL can't be requested. Null if it can, and for a path, which a connection completes. */
export function urlFault(url: string): string | null {
  const fault = addressFault(url);
  if (fault !== null || isOpen(url) || url.startsWith("/")) return fault;
  const { username, password } = new URL(url);
  return username || password ? "URL must not contain a username or password. Use a connection." : null;
}

function addressFault(url: string): string | null {
  if (isOpen(url) || url.startsWith("/")) return null;
  if (!/^https?:\/\//i.test(url)) return "A URL must start with http:// or https://.";
  return URL.canParse(url) ? null : "Invalid URL.";
}
