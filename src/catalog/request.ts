import { AppError } from "../base/errors.ts";
import { type Part, partsOf } from "../base/http-multipart.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { isWholeTemplate, resolveTemplates } from "../base/template.ts";
import { readPieces } from "../base/template-grammar.ts";
import { textOf } from "../base/template-lookup.ts";
import { joinPath } from "./addresses.ts";
import type { EndpointDefinition } from "./contract.ts";
import { isTextual } from "./media.ts";
import { FILE_STYLE, STYLE } from "./openapi-inputs.ts";

type Scalar = string | number | boolean | null;

/** The request for an endpoint and its arguments. */
export interface EndpointRequest {
  method: EndpointDefinition["method"];
  url: string;
  headers: Record<string, string>;
  query: Record<string, Scalar | Scalar[]>;
  body: Json | undefined;
  bodyType: "json" | "form" | "text";
  /** The parts of a multipart form, instead of a body. */
  parts?: Part[];
}

/** Builds the request for validated arguments. Throws `definition_invalid` if it can't be sent. */
export function requestOf(endpoint: EndpointDefinition, baseUrl: string, input: JsonObject): EndpointRequest {
  const type = Object.entries(endpoint.headers).find(([name]) => /^content-type$/i.test(name))?.[1] ?? "";
  const isMultipart = /^multipart\/form-data\b/i.test(type);
  const bodyType = isMultipart ? "form" : bodyTypeOf(type);
  const body = endpoint.bodyTemplate === null ? undefined : filled(endpoint.bodyTemplate, input);
  if (bodyType === "text" && typeof body === "object" && body !== null && !/^text\/plain\b/i.test(type))
    throw new AppError(
      "definition_invalid",
      `Weir can't write ${type.slice(0, 100)} from fields. Give the endpoint's body as one text.`,
    );
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(endpoint.headers)) {
    if (isMultipart && /^content-type$/i.test(name)) continue; // contains the boundary
    const value = filled(template, input);
    if (value !== undefined && value !== null) headers[name] = joined(value, ",");
  }
  return {
    method: endpoint.method,
    url: joinPath(baseUrl, pathOf(endpoint.path, input)),
    headers,
    query: queryOf(endpoint, input),
    bodyType,
    ...(isMultipart
      ? { body: undefined, parts: formOf(endpoint, body) }
      : { body: bodyType === "form" && isObject(body) ? formFields(endpoint, body) : body }),
  };
}

/** The fields of the body as parts; those with a file schema are files. */
function formOf({ name, bodyTemplate, inputSchema }: EndpointDefinition, body: Json | undefined): Part[] {
  if (body === undefined) return [];
  if (!isObject(body))
    throw new AppError("definition_invalid", `${name} sends a form of parts: its body is an object of them.`);
  const templates = isObject(bodyTemplate) ? bodyTemplate : {};
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {};
  return Object.entries(body).flatMap(([field, value]) => {
    const template = templates[field];
    const isFile = typeof template === "string" && styleOf(template, properties) === FILE_STYLE;
    return partsOf(field, value, isFile);
  });
}

function bodyTypeOf(type: string): EndpointRequest["bodyType"] {
  if (type === "" || type.includes("{{") || /[/+]json\b/i.test(type)) return "json";
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return "form";
  if (isTextual(type)) return "text";
  throw new AppError("definition_invalid", `Weir can't send a body of ${type.slice(0, 100)} yet.`);
}

/** Fills in a template. A value that is only one expression with a missing argument is omitted from its object. */
function filled(template: Json, input: JsonObject): Json | undefined {
  if (typeof template === "string") {
    if (isWholeTemplate(template) && isAbsent(template, input)) return undefined;
    return resolveTemplates(template, { input });
  }
  if (Array.isArray(template)) return template.flatMap((item) => filled(item, input) ?? []);
  if (!isObject(template)) return template;
  const entries = Object.entries(template).flatMap(([key, item]): [string, Json][] => {
    const value = filled(item, input);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(entries);
}

function isAbsent(template: string, input: JsonObject): boolean {
  const [piece] = readPieces(template);
  if (typeof piece !== "object" || piece.path[0] !== "input" || piece.fallback !== undefined) return false;
  let at: Json | undefined = input;
  for (const key of piece.path.slice(1)) {
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return at === undefined;
}

/** Each argument is one path segment: neither a slash nor `..` can leave it. */
function pathOf(path: string, input: JsonObject): string {
  const full = path.replace(/\{([^{}/]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(input, name) ? (input[name] ?? null) : null;
    const items = [value].flat().map(textOf);
    if (items.length === 0 || items.includes(""))
      throw new AppError(
        "definition_invalid",
        `The path ${path} needs the argument ${name}, and nothing in it can be empty.`,
      );
    return encodeURIComponent(items.join(",").toWellFormed());
  });
  if (full.split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part)))
    throw new AppError(
      "definition_invalid",
      `The arguments make the path ${full} lead outside its base path.`,
    );
  return full;
}

const joined = (value: Json, glue: string): string =>
  Array.isArray(value) ? value.map((item) => textOf(item)).join(glue) : textOf(value);

const GLUES: Readonly<Record<string, string>> = { csv: ",", ssv: " ", tsv: "\t", pipes: "|" };

function queryOf({ queryTemplate, inputSchema }: EndpointDefinition, input: JsonObject) {
  const query: Record<string, Scalar | Scalar[]> = Object.create(null);
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {};
  for (const [name, template] of Object.entries(queryTemplate)) {
    const value = filled(template, input);
    if (value === undefined || value === null) continue;
    const style = styleOf(template, properties);
    if (Array.isArray(value)) {
      const glue = GLUES[style ?? ""];
      query[name] = glue === undefined ? value.map(scalar) : joined(value, glue);
    } else if (isObject(value) && style === "csv") {
      query[name] = Object.entries(value)
        .flat()
        .map((item) => textOf(item as Json))
        .join(",");
    } else if (isObject(value) && style !== "json") {
      for (const [key, item] of Object.entries(value)) {
        const own = style === "deepObject" ? `${name}[${key}]` : key;
        if (own in query || (own !== name && Object.hasOwn(queryTemplate, own)))
          throw new AppError(
            "definition_invalid",
            `An object in the query can't set the parameter ${own}, which the request has already.`,
          );
        query[own] = Array.isArray(item) ? item.map(scalar) : scalar(item);
      }
    } else query[name] = scalar(value);
  }
  return query;
}

const scalar = (value: Json): Scalar =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value;

function styleOf(template: string, properties: JsonObject): string | null {
  const [piece] = isWholeTemplate(template) ? readPieces(template) : [];
  const name = typeof piece === "object" && piece.path.length === 2 ? piece.path[1] : undefined;
  const schema = name === undefined || !Object.hasOwn(properties, name) ? undefined : properties[name];
  const style = isObject(schema) ? schema[STYLE] : null;
  return typeof style === "string" ? style : null;
}

/** Form fields, serialized as their schemas say, else in brackets. */
function formFields({ bodyTemplate, inputSchema }: EndpointDefinition, body: JsonObject): JsonObject {
  const templates = isObject(bodyTemplate) ? bodyTemplate : {};
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {};
  const fields = Object.entries(body).map(([field, value]): JsonObject => {
    const template = templates[field];
    const style = typeof template === "string" ? styleOf(template, properties) : null;
    if (style === "json") return { [field]: JSON.stringify(value) };
    if (!Array.isArray(value) || style === null) return bracketed({ [field]: value });
    const glue = GLUES[style];
    return { [field]: glue === undefined ? value.map(scalar) : joined(value, glue) };
  });
  return Object.fromEntries(fields.flatMap((field) => Object.entries(field)));
}

/** Nested form fields: `a[b]=c`, and `a[]=c` for lists. */
function bracketed(body: JsonObject): JsonObject {
  const flat: [string, Json][] = [];
  const walk = (value: Json, name: string) => {
    if (Array.isArray(value)) {
      if (value.some((item) => typeof item === "object" && item !== null)) {
        for (const [index, item] of value.entries()) walk(item, `${name}[${index}]`);
      } else flat.push([name.endsWith("[]") ? name : `${name}[]`, value]);
    } else if (isObject(value))
      for (const [key, item] of Object.entries(value)) walk(item, `${name}[${key}]`);
    else flat.push([name, value]);
  };
  for (const [name, value] of Object.entries(body)) walk(value, name);
  return Object.fromEntries(flat);
}
