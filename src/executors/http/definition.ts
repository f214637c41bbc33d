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
    apiId: described("ID of an entry of the API catalog", uuid()),
    endpoint: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "Of an HTTP API" })),
    tool: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "Of an MCP server" })),
    arguments: Type.Optional(jsonObject({ description: "As the inputSchema of the endpoint or tool asks" })),
    fingerprint: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        description:
          "Of what is to be called, as approvals are for it: nothing is sent once it is something else",
      }),
    ),
  },
  { description: "An endpoint or a tool of the API catalog, instead of url and what belongs to it" },
);
export type ApiCall = Static<typeof ApiCall>;

export const Definition = object({
  method: Type.Optional(oneOf(METHODS, { description: "HTTP method", "x-default": "GET" })),
  url: Type.Optional(
    Type.String({
      minLength: 1,
      description: "http:// or https://; with a connection also a path below its base address; or give api",
    }),
  ),
  api: Type.Optional(ApiCall),
  headers: Type.Optional(described("Those of the connection are added", map(scalar))),
  query: Type.Optional(
    described(
      "Parameters of the address; a list stands for one repeated",
      map(Type.Union([scalar, Type.Array(scalar)])),
    ),
  ),
  body: Type.Optional(
    described(
      "Any JSON, a text, or {file: {artifactId}} or {file: {connectionId, path}}, which is sent as it is",
      anything(),
    ),
  ),
  bodyType: Type.Optional(
    oneOf(["json", "form", "text", "multipart"], {
      description: "text for a string, json for everything else, multipart for fields with files",
    }),
  ),
  followRedirects: Type.Optional(
    Type.Boolean({ description: "Whether redirects are followed", "x-default": true }),
  ),
  expectStatus: Type.Optional(
    Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), {
      minItems: 1,
      maxItems: 100,
      description: "Statuses that are a success; 2xx by default",
      examples: [[200, 404]],
    }),
  ),
  responseExtract: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "JMESPath into the body; its find is `extracted`",
    }),
  ),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 104_857_600,
      description: "Maximum size of all pages together, decoded",
      "x-default": 10_485_760,
    }),
  ),
  pagination: Type.Optional(
    described("How one page leads to the next; without it there is one page", Pagination),
  ),
  batch: Type.Optional(
    object(
      {
        items: described(
          "A list, or {artifactId} of a file with a line of JSON for each",
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
          "One request for each batch of items: {{items}} stands for them in url, headers, query and body, and is the body by default",
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
      { description: "Keeps the reply as a file of the run, as `artifactId`; its body is not read" },
    ),
  ),
});
export type Definition = Static<typeof Definition>;
/** A definition that says itself what is sent; an endpoint of the catalog may have a form of parts in place of a body. */
export type Request = Omit<Definition, "api" | "bodyType"> & {
  url: string;
  bodyType?: BodyType;
  parts?: readonly Part[];
  /** A file as the body. */
  file?: { bytes: Uint8Array<ArrayBuffer>; mimeType: string };
};

/** Said by the endpoint or tool that is called. */
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

/** Faults that the shape can't say. */
export function definitionFaults(definition: Definition): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  const url = definition.url === undefined ? null : urlFault(definition.url);
  if (url) faults.push({ path: ["url"], message: url });
  faults.push(...apiFaults(definition));
  for (const name of Object.keys(definition.headers ?? {})) {
    const message = headerFault(name);
    if (message) faults.push({ path: ["headers", name], message });
  }
  const body = bodyFault(definition);
  if (body) faults.push({ path: ["body"], message: body });
  const { responseExtract, pagination, saveAs, batch } = definition;
  if (batch && (pagination !== undefined || saveAs !== undefined))
    faults.push({ path: ["batch"], message: "Leave out pagination and saveAs: a batch has one reply." });
  if (saveAs && (responseExtract !== undefined || pagination !== undefined))
    faults.push({
      path: ["saveAs"],
      message:
        "A reply that is kept as a file is not read: leave out responseExtract and pagination, or this.",
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
  ).map((field) => ({ path: [field], message: "The endpoint of the API says this; leave it out" }));
  if (typeof api === "object" && (api.endpoint === undefined) === (api.tool === undefined))
    faults.push({ path: ["api"], message: "Name an endpoint or a tool, one of the two" });
  return faults;
}

export function bodyFault({ method = "GET", body }: Pick<Definition, "method" | "body">): string | null {
  if (body === undefined || !isBodiless(method)) return null;
  return `A ${method} request has no body; give a method such as POST.`;
}

/** By RFC 9110: nothing is changed by it. */
export const isSafeMethod = (method: string) => /^(get|head|options)$/i.test(method);

export const isBodiless = (method: string) => method === "GET" || method === "HEAD";

/** Not known before the run. */
const isOpen = (text: string) => text.includes("{{");

/** Why an address can't be asked; null where it can, and for a path, which a connection may complete. */
export function urlFault(url: string): string | null {
  if (isOpen(url) || url.startsWith("/")) return null;
  if (!/^https?:\/\//i.test(url)) return "A URL must start with http:// or https://.";
  if (!URL.canParse(url)) return "Invalid URL.";
  const { username, password } = new URL(url);
  return username || password
    ? "URL must not contain a username or password. Use a connection or a header."
    : null;
}
