import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import type { AuthHint, ReadApi } from "./contract.ts";
import { placeholders } from "./curl.ts";
import { type RecordedRequest, readRecorded } from "./recorded.ts";

const MAX_DEPTH = 20;

/** Whether this is a Postman collection, version 2.0 or 2.1. */
export const isPostman = (value: Json): value is JsonObject =>
  isObject(value) &&
  Array.isArray(value.item) &&
  isObject(value.info) &&
  (String(value.info.schema ?? "").includes("collection") || typeof value.info.name === "string");

/** The requests of a collection as endpoints, with the values of its variables filled in. Throws `bad_request`. */
export function readPostman(document: Json, baseUrl: string | null): ReadApi {
  if (!isPostman(document))
    throw new AppError("bad_request", "Not a valid Postman collection: it has no items.");
  const variables = new Map<string, string>();
  for (const each of listOf(document.variable)) {
    const key = each.key ?? each.id;
    if (typeof key === "string" && each.value !== undefined) variables.set(key, String(each.value));
  }
  if (baseUrl !== null && !variables.has("baseUrl")) variables.set("baseUrl", baseUrl);
  const requests: RecordedRequest[] = [];
  const walk = (items: Json | undefined, auth: Json | undefined, depth: number) => {
    for (const item of listOf(items)) {
      const own = item.auth ?? auth;
      if (item.item !== undefined && depth < MAX_DEPTH) walk(item.item, own, depth + 1);
      const request = item.request === undefined ? null : requestOf(item, own, variables);
      if (request) requests.push(request);
    }
  };
  walk(document.item, document.auth, 0);
  const name = isObject(document.info) ? document.info.name : null;
  return readRecorded(requests, "postman", {
    baseUrl,
    title: typeof name === "string" ? name.slice(0, 255).toWellFormed() : null,
  });
}

const listOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

type Variables = ReadonlyMap<string, string>;

/** Values of variables may contain other variables. */
function filled(text: string, variables: Variables, depth = 0): string {
  return text.replace(/\{\{([^{}]+)\}\}/g, (whole, name: string) => {
    const value = variables.get(name.trim());
    return value === undefined ? whole : depth < 5 ? filled(value, variables, depth + 1) : value;
  });
}

function requestOf(item: JsonObject, auth: Json | undefined, variables: Variables): RecordedRequest | null {
  const request: JsonObject = isObject(item.request) ? item.request : { url: item.request as Json };
  const raw = rawUrl(request.url);
  if (raw === null) return null;
  const address = placeholders(filled(raw, variables));
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  const description = isObject(request.description) ? request.description.content : request.description;
  const method = typeof request.method === "string" ? request.method : "GET";
  return {
    name: typeof item.name === "string" ? item.name : null,
    description: typeof description === "string" && description !== "" ? description : null,
    method,
    url: full,
    headers: pairs(request.header).map(([name, value]) => [name, filled(value, variables)]),
    body: isObject(request.body) ? bodyOf(request.body, variables) : null,
    hints: hintsOf(request.auth ?? auth),
  };
}

function rawUrl(url: Json | undefined): string | null {
  if (typeof url === "string") return url === "" ? null : url;
  if (!isObject(url)) return null;
  if (typeof url.raw === "string" && url.raw !== "") return url.raw;
  const join = (part: Json | undefined, glue: string) =>
    Array.isArray(part) ? part.join(glue) : (part ?? "");
  const host = join(url.host, ".");
  if (host === "") return null;
  const query = pairs(url.query)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
  const protocol = typeof url.protocol === "string" ? `${url.protocol}://` : "";
  return `${protocol}${host}/${join(url.path, "/")}${query === "" ? "" : `?${query}`}`;
}

function bodyOf(body: JsonObject, variables: Variables): RecordedRequest["body"] {
  switch (body.mode) {
    case "raw": {
      const raw = isObject(body.options) ? body.options.raw : undefined;
      const language = isObject(raw) ? raw.language : undefined;
      const text = typeof body.raw === "string" ? filled(body.raw, variables) : "";
      const type = language === "json" || /^\s*[[{]/.test(text) ? "application/json" : "text/plain";
      return text === "" ? null : { type, text };
    }
    case "urlencoded":
      return { type: "application/x-www-form-urlencoded", fields: pairs(body.urlencoded) };
    case "formdata":
      return {
        type: "multipart/form-data",
        fields: pairs(
          listOf(body.formdata).map((each) => (each.type === "file" ? { ...each, value: "@" } : each)),
        ),
      };
    case "graphql":
      return { type: "application/json", text: JSON.stringify(graphqlOf(body.graphql, variables)) };
    default:
      return null;
  }
}

/** The body of a GraphQL request, whose variables are in the collection as a text. */
function graphqlOf(graphql: Json | undefined, known: Variables): JsonObject {
  if (!isObject(graphql)) return {};
  const { variables, ...rest } = graphql;
  if (typeof variables !== "string") return graphql;
  try {
    return { ...rest, variables: parseLossless(filled(variables, known)) };
  } catch {
    return { ...rest, variables: {} }; // empty, or with placeholders
  }
}

function pairs(list: Json | undefined): [string, string][] {
  return listOf(list).flatMap((each): [string, string][] =>
    typeof each.key === "string" && each.disabled !== true ? [[each.key, String(each.value ?? "")]] : [],
  );
}

function hintsOf(auth: Json | undefined): AuthHint[] {
  if (!isObject(auth)) return [];
  const header = { name: "Authorization", location: "header" } as const;
  switch (auth.type) {
    case "bearer":
      return [{ ...header, label: "Bearer token", type: "bearer" }];
    case "basic":
      return [{ ...header, label: "Basic", type: "basic" }];
    case "oauth2":
      return [{ ...header, label: "OAuth 2.0", type: "oauth2" }];
    case "apikey": {
      const settings = new Map(pairs(auth.apikey));
      const name = settings.get("key") ?? "X-API-Key";
      const location = settings.get("in") === "query" ? "query" : "header";
      return [{ label: name, name, location, type: `api_key_${location}` }];
    }
    default:
      return [];
  }
}
