import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { measure } from "../base/measure.ts";
import { joinPath } from "./addresses.ts";
import {
  type EndpointDefinition,
  HTTP_METHODS,
  type HttpMethod,
  MAX_DESCRIPTION,
  MAX_ENDPOINTS,
  MAX_WARNINGS,
  type ReadApi,
} from "./contract.ts";
import { listingOf } from "./listing/listing.ts";
import { endpointName, uniqueNames } from "./names.ts";
import { readAuth } from "./openapi-auth.ts";
import { readOldBody, readRequestBody } from "./openapi-body.ts";
import {
  addInput,
  fitted,
  type Inputs,
  noInputs,
  type Reading,
  readParameters,
  readPathQuery,
  resolve,
} from "./openapi-inputs.ts";
import { openReferences, type Part, type ReadOther } from "./openapi-refs.ts";
import { baseOf } from "./openapi-servers.ts";

/** Whether this is an OpenAPI 3 or Swagger 2 document. */
export const isOpenApi = (value: Json): value is JsonObject =>
  isObject(value) &&
  ((typeof value.openapi === "string" && value.openapi.startsWith("3.")) ||
    String(value.swagger ?? "").startsWith("2"));

/**
 * Reads OpenAPI 3.1, 3.0 and Swagger 2. `url` is the document's URL, null if unknown; `read` fetches the documents
 * that it refers to. What can't be imported is listed in `warnings`; everything else is still read.
 *
 * Parameters and the fields of a body that is a plain object are next to each other in `inputSchema`; any other body
 * is the argument `body`. Duplicate names get their location as a prefix: `query_id`.
 *
 * Throws `bad_request` if it isn't such a document.
 */
export async function readOpenApi(
  document: Json,
  url: string | null,
  read: ReadOther | null,
): Promise<ReadApi> {
  if (!isOpenApi(document)) {
    throw new AppError("bad_request", "Not a valid OpenAPI 3.1, OpenAPI 3.0 or Swagger 2.0 document.");
  }
  const warnings = new Set<string>();
  const warn = (text: string) => {
    if (warnings.size < MAX_WARNINGS) warnings.add(text);
  };
  const refs = await openReferences(document, url, read, warn);
  const reading: Reading = { refs, isOld: typeof document.swagger !== "undefined", warn };
  const baseUrl = baseOf(document, url, warn);
  const info = isObject(document.info) ? document.info : {};
  const title =
    typeof info.title === "string" && info.title.trim() !== ""
      ? info.title.slice(0, 255).toWellFormed()
      : null;
  return {
    title,
    baseUrl,
    endpoints: readPaths(reading, document, baseUrl, url),
    ...readAuth(document, refs),
    warnings: [...warnings],
  };
}

/** Schemas read per operation and in total: a count, so that the result doesn't depend on the machine's speed. */
const OPERATION_SCHEMAS = 50_000;
const TOTAL_SCHEMAS = 1_000_000;
/** Response schemas inspected for lists, over all operations. */
const TOTAL_LOOKS = 500_000;
/** Total size of the endpoints: a larger request couldn't add them. From half of it on, schemas are short. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

function readPaths(
  reading: Reading,
  document: JsonObject,
  baseUrl: string | null,
  url: string | null,
): EndpointDefinition[] {
  const { limits } = reading.refs;
  let left = TOTAL_SCHEMAS;
  limits.looks = TOTAL_LOOKS;
  let size = 0;
  const endpoints: EndpointDefinition[] = [];
  const unique = uniqueNames();
  const consumes = document.consumes;
  for (const [path, raw] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    if (!path.startsWith("/")) {
      if (!path.startsWith("x-"))
        reading.warn(
          `The path ${JSON.stringify(path.slice(0, 100))} doesn't start with a slash. It was omitted.`,
        );
      continue;
    }
    const item = resolve(reading, { value: raw, base: reading.refs.root.base, key: "" });
    if (!item) continue;
    for (const method of HTTP_METHODS) {
      const operation = item.value[method.toLowerCase()];
      if (!isObject(operation)) continue;
      if (endpoints.length >= MAX_ENDPOINTS) {
        reading.warn(`There are more than ${MAX_ENDPOINTS} operations. The rest is omitted.`);
        return endpoints;
      }
      const name = unique(endpointName(textOf(operation.operationId), method, path));
      const warn = (text: string) => reading.warn(`${name}: ${text}`);
      const own = { ...reading, warn };
      const servers = operation.servers ?? item.value.servers;
      const prefix = servers === undefined ? "" : prefixOf(servers, baseUrl, url, warn);
      const most = Math.min(OPERATION_SCHEMAS, left);
      limits.left = most;
      limits.isShort = size > MAX_CHARACTERS / 2;
      const source = { name, method, path: (prefix ?? "") + bare(path), operation, item, consumes };
      const endpoint = readOperation(own, {
        ...source,
        elsewhere: prefix === null ? ELSEWHERE : null,
        rawPath: path,
      });
      size += measure(endpoint as unknown as JsonObject, MAX_CHARACTERS);
      if (size > MAX_CHARACTERS) {
        reading.warn(
          `The description expands to more than ${MAX_CHARACTERS} characters. The rest is omitted.`,
        );
        return endpoints;
      }
      endpoints.push(endpoint);
      left -= most - limits.left;
      if (limits.left <= 0) warn("its schemas expand to too many, and are truncated.");
      if (limits.looks <= 0)
        reading.warn(
          `Only the lists up to ${name} are described, because the responses are too large to read them all.`,
        );
    }
  }
  return endpoints;
}

interface Given {
  name: string;
  method: HttpMethod;
  path: string;
  operation: JsonObject;
  item: Part & { value: JsonObject };
  /** Why it isn't at `path`; null if it is. */
  elsewhere: string | null;
  rawPath: string;
  /** Of a Swagger 2 document. */
  consumes: Json | undefined;
}

function readOperation(reading: Reading, source: Given): EndpointDefinition {
  const { name, method, operation, item } = source;
  const inputs = noInputs();
  const part = (value: Json | undefined): Part => ({ value: value ?? null, base: item.base, key: item.key });
  const bodies = readParameters(reading, inputs, [part(item.value.parameters), part(operation.parameters)]);
  const path = withArguments(source.path, inputs);
  const mayHaveBody = method !== "GET" && method !== "HEAD";
  if (operation.requestBody !== undefined && mayHaveBody)
    readRequestBody(reading, inputs, part(operation.requestBody));
  if (bodies.length > 0 && mayHaveBody) {
    const types = [operation.consumes ?? source.consumes ?? []].flat();
    readOldBody(
      reading,
      inputs,
      bodies,
      types.filter((type) => typeof type === "string"),
    );
  }
  const elsewhere = source.elsewhere ?? unnamedIn(source.rawPath, inputs);
  readPathQuery(inputs, queryOf(source.rawPath));
  const listing =
    method === "GET"
      ? listingOf({ refs: reading.refs, operation, at: item, path: source.path, inputs, elsewhere })
      : null;
  return {
    name,
    description: describe(operation),
    method,
    path,
    headers: inputs.headers,
    queryTemplate: inputs.query,
    bodyTemplate: inputs.body,
    inputSchema: fitted(inputs, reading.warn),
    responseExtract: null,
    source: "openapi",
    unverified: false,
    ...(listing ? { listing } : {}),
  };
}

const ELSEWHERE = "It is served at a different address. Add it as a separate API.";

/** Why a path contains more than its operation describes; null if it doesn't. */
function unnamedIn(path: string, { owners }: Inputs): string | null {
  const unnamed = [...queryOf(path).keys()].filter((name) => !owners.has(`query:${name}`));
  return unnamed.length === 0
    ? null
    : `Its path has parameters that it doesn't describe (${unnamed.join(", ").slice(0, 200)}).`;
}

const queryOf = (path: string) => new URLSearchParams(/\?([^#]*)/.exec(path)?.[1] ?? "");

/** Some descriptions append parameters or a fragment to make paths unique; neither is part of the path. */
const bare = (path: string) =>
  path
    .replace(/[?#].*$/s, "")
    .replace(/[\s\\]/g, (sign) => encodeURIComponent(sign))
    .replace(/^\/{2,}/, "/")
    .replace(/\{{2,}/g, "{")
    .replace(/\}{2,}/g, "}");

/** The path with placeholders named like the arguments; undescribed ones become arguments too. */
function withArguments(path: string, inputs: Inputs): string {
  return path.replace(/\{([^{}/]+)\}/g, (_, name: string) => {
    const known = inputs.owners.get(`path:${name}`);
    return `{${known ?? addInput(inputs, "path", name, { type: "string" }, true)}}`;
  });
}

function describe({ summary, description, deprecated }: JsonObject): string | null {
  const [short, long] = [textOf(summary), textOf(description)];
  const summaryText =
    short !== null && long !== null && !long.startsWith(short) ? `${short}\n\n${long}` : (long ?? short);
  const text = deprecated === true ? ["Deprecated.", summaryText ?? ""].join(" ").trim() : summaryText;
  return text === null ? null : text.slice(0, MAX_DESCRIPTION).toWellFormed();
}

const textOf = (value: Json | undefined) =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : null;

/** Path prefix of an operation with its own server; null if that is a different server. */
function prefixOf(
  servers: Json,
  baseUrl: string | null,
  url: string | null,
  warn: (text: string) => void,
): string | null {
  const own = baseOf({ servers }, url, () => undefined);
  if (own === null || baseUrl === null || own === baseUrl) return "";
  if (own.startsWith(`${baseUrl}/`)) return own.slice(baseUrl.length);
  warn(`it is served at ${own}, not at ${joinPath(baseUrl, "")}; add it as a separate API.`);
  return null;
}
