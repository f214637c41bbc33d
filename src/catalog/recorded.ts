import { headerFault } from "../base/http-message.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { parseExact } from "../base/json-numbers.ts";
import { isSecretName } from "./addresses.ts";
import {
  type AuthHint,
  type EndpointDefinition,
  type EndpointSource,
  HTTP_METHODS,
  type HttpMethod,
  MAX_DESCRIPTION,
  MAX_ENDPOINTS,
  MAX_WARNINGS,
  type ReadApi,
} from "./contract.ts";
import { endpointName, inputTemplate, uniqueNames } from "./names.ts";
import { addBody } from "./openapi-body.ts";
import { addInput, fileInput, fitted, type Inputs, noInputs, REPEATED, STYLE } from "./openapi-inputs.ts";
import { schemaOfSample, schemaOfTexts } from "./sample-schema.ts";

/** One recorded request, from a browser or written by a person. */
export interface RecordedRequest {
  name: string | null;
  description: string | null;
  method: string;
  /** Absolute. Placeholders in its path are `{x}`. */
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  /**
   * The body's text, the fields of a form, or that a file has it. A multipart field that starts with `@` is a file, as
   * in curl.
   */
  body:
    | { type: string; text: string }
    | { type: string; isFile: true }
    | { type: string; fields: readonly (readonly [string, string])[] }
    | null;
  hints: readonly AuthHint[];
}

/** Set by the HTTP client. */
const PASSED_OVER =
  /^(accept.*|content-length|content-type|host|connection|origin|referer|user-agent|cache-control|pragma|dnt|te|priority|upgrade-insecure-requests|if-.*|sec-.*|postman-token|:.*)$/i;

/**
 * Requests as the endpoints of one API: that of `baseUrl`, or of the server with the most requests. Credentials in
 * them become hints and aren't stored.
 */
export function readRecorded(
  requests: readonly RecordedRequest[],
  source: EndpointSource,
  defaults: { baseUrl: string | null; title: string | null },
): ReadApi {
  const warnings = new Set<string>();
  const warn = (text: string) => {
    if (warnings.size < MAX_WARNINGS) warnings.add(text);
  };
  const read = requests.flatMap((request) => {
    const url = URL.parse(request.url);
    if (url && /^https?:$/.test(url.protocol)) return [{ request, url }];
    warn(`${request.method} ${request.url.slice(0, 200)} has no valid URL.`);
    return [];
  });
  const baseUrl = defaults.baseUrl ?? mostUsed(read.map(({ url }) => url.origin));
  const base = baseUrl === null ? null : URL.parse(baseUrl);
  const hints = new Map<string, AuthHint>();
  const endpoints = new Map<string, EndpointDefinition>();
  const unique = uniqueNames();
  for (const { request, url } of read) {
    if (!base || url.origin !== base.origin) {
      warn(`${request.method} ${url.origin}${decoded(url.pathname)} is on another server. It is omitted.`);
      continue;
    }
    const prefix = base.pathname.replace(/\/+$/, "");
    const path = decoded(url.pathname);
    if (prefix !== "" && path !== prefix && !path.startsWith(`${prefix}/`)) {
      warn(`${request.method} ${path} is not below ${prefix}; it is left out.`);
      continue;
    }
    const below = path.slice(prefix.length) || "/";
    const method = request.method.toUpperCase();
    if (!HTTP_METHODS.some((each) => each === method)) {
      warn(`${method} isn't a supported method.`);
      continue;
    }
    const key = `${method} ${below}`;
    if (endpoints.has(key)) continue;
    if (endpoints.size >= MAX_ENDPOINTS) break;
    for (const hint of [...request.hints, ...hintsIn(request, url)]) hints.set(JSON.stringify(hint), hint);
    const name = unique(endpointName(request.name, method, below));
    endpoints.set(
      key,
      endpointOf(request, { name, method: method as HttpMethod, path: below, url, source, warn }),
    );
  }
  return {
    title: defaults.title,
    baseUrl: baseUrl === null ? null : baseUrl.replace(/\/+$/, ""),
    endpoints: [...endpoints.values()],
    authRequired: hints.size > 0,
    authHints: [...hints.values()],
    warnings: [...warnings],
  };
}

function mostUsed(origins: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const origin of origins) counts.set(origin, (counts.get(origin) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** Restores the braces of placeholders; anything else that would split the path stays encoded. */
const decoded = (path: string) => path.replace(/%7B/gi, "{").replace(/%7D/gi, "}");

interface Target {
  name: string;
  method: HttpMethod;
  path: string;
  url: URL;
  source: EndpointSource;
  warn(text: string): void;
}

function endpointOf(
  request: RecordedRequest,
  { name, method, path, url, source, warn }: Target,
): EndpointDefinition {
  const inputs = noInputs();
  const named = path.replace(/\{([^{}/]+)\}/g, (_, placeholder: string) => {
    const known = inputs.owners.get(`path:${placeholder}`);
    return `{${known ?? addInput(inputs, "path", placeholder, { type: "string" }, true)}}`;
  });
  for (const parameter of url.searchParams.keys()) {
    if (isSecretName(parameter) || /^(key|api[-_]?key)$/i.test(parameter)) continue;
    if (Object.hasOwn(inputs.query, parameter)) continue;
    const values = url.searchParams.getAll(parameter);
    const schema = schemaOfTexts(values);
    if (values.length > 1) schema.examples = [values];
    else if (values[0] !== "") schema.examples = values;
    inputs.query[parameter] = inputTemplate(addInput(inputs, "query", parameter, schema, false));
  }
  for (const [header, value] of request.headers) {
    if (PASSED_OVER.test(header) || isSecretName(header) || headerFault(header)) continue;
    const fault = headerFault(header, value);
    if (fault !== null) {
      warn(`${fault} It is left out.`);
      continue;
    }
    inputs.headers[header] = headerTemplate(inputs, value, source);
  }
  if (request.body && method !== "GET" && method !== "HEAD") readBody(inputs, request.body, warn);
  return {
    name,
    description: request.description?.slice(0, MAX_DESCRIPTION).toWellFormed() ?? null,
    method,
    path: named,
    headers: inputs.headers,
    queryTemplate: inputs.query,
    bodyTemplate: inputs.body,
    inputSchema: fitted(inputs, warn),
    responseExtract: null,
    source,
    unverified: false,
  };
}

/** How texts for people name what has to be filled in. */
const PLACEHOLDERS: Partial<Record<EndpointSource, RegExp>> = {
  curl: /<([A-Za-z_][\w-]*)>|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\{\{([A-Za-z_][\w-]*)\}\}/g,
  postman: /\{\{([A-Za-z_][\w-]*)\}\}/g,
};

/** A recorded value with arguments for its placeholders. */
function headerTemplate(inputs: Inputs, value: string, source: EndpointSource): string {
  const pattern = PLACEHOLDERS[source];
  const plain = (text: string) => text.replaceAll("{{", '{{"{{"}}');
  if (pattern === undefined) return plain(value);
  let at = 0;
  let template = "";
  for (const found of value.matchAll(pattern)) {
    const name = found.slice(1).find((each) => each !== undefined) ?? "";
    const own =
      inputs.owners.get(`header:${name}`) ?? addInput(inputs, "header", name, { type: "string" }, true);
    template += plain(value.slice(at, found.index)) + inputTemplate(own);
    at = found.index + found[0].length;
  }
  return template + plain(value.slice(at));
}

function readBody(
  inputs: Inputs,
  body: NonNullable<RecordedRequest["body"]>,
  warn: (text: string) => void,
): void {
  const isMultipart = /^multipart\/form-data\b/i.test(body.type);
  if ("text" in body && isMultipart)
    return warn("A multipart form recorded as one text is omitted. Add its fields to bodyTemplate.");
  const schema: JsonObject = /[/+]json\b/i.test(body.type) ? {} : { type: "string" };
  if ("isFile" in body) return addBody(inputs, body.type, schema, true);
  if ("fields" in body) {
    const properties = Object.fromEntries(
      body.fields.map(([name, value]) => {
        const values = body.fields.filter(([each]) => each === name).map(([, text]) => text);
        if (isMultipart && value.startsWith("@")) return [name, fileInput(null, values.length > 1)];
        const schema = schemaOfTexts(values);
        return [name, values.length > 1 ? { ...schema, [STYLE]: REPEATED } : schema];
      }),
    );
    return addBody(inputs, body.type, { type: "object", properties }, true);
  }
  const sample = jsonOf(body.text);
  if (sample !== undefined && !/^(text|application)\/(xml|csv)\b/i.test(body.type))
    return addBody(
      inputs,
      isObject(sample) || Array.isArray(sample) ? "application/json" : body.type,
      schemaOfSample(sample),
      true,
    );
  addBody(inputs, body.type === "" ? "text/plain" : body.type, schema, true);
}

function jsonOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined; // plain text
  }
}

function hintsIn(request: RecordedRequest, url: URL): AuthHint[] {
  const hints: AuthHint[] = [];
  for (const [name, value] of request.headers) {
    if (/^authorization$/i.test(name)) {
      const type = /^basic\b/i.test(value) ? "basic" : "bearer";
      const label = type === "basic" ? "Basic" : "Bearer token";
      hints.push({ label, name: "Authorization", location: "header", type });
    } else if (isSecretName(name) && !/cookie/i.test(name))
      hints.push({ label: name, name, location: "header", type: "api_key_header" });
  }
  for (const name of url.searchParams.keys()) {
    if (isSecretName(name) || /^(key|api[-_]?key)$/i.test(name))
      hints.push({ label: name, name, location: "query", type: "api_key_query" });
  }
  return hints;
}
