import { AppError } from "../base/errors.ts";
import { type Part, partsOf } from "../base/http-multipart.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { isWholeTemplate, resolveTemplates } from "../base/template.ts";
import { readPieces } from "../base/template-grammar.ts";
import { textOf } from "../base/template-lookup.ts";
import { joinPath } from "./addresses.ts";
import type { EndpointDefinition } from "./contract.ts";
import { isTextual } from "./media.ts";
import { FILE_STYLE, PAIRS, STYLE } from "./openapi-inputs.ts";

/** The request for an endpoint and its arguments. */
export interface EndpointRequest {
  method: EndpointDefinition["method"];
  /** With the query. */
  url: string;
  headers: Record<string, string>;
  body: Json | undefined;
  bodyType: "json" | "form" | "text";
  /** The parts of a multipart form, instead of a body. */
  parts?: Part[];
}

/** Builds the request for validated arguments. Throws `definition_invalid` if it can't be sent. */
export function requestOf(endpoint: EndpointDefinition, baseUrl: string, input: JsonObject): EndpointRequest {
  const headers = headersOf(endpoint, input);
  const typeHeader = Object.keys(headers).find((name) => /^content-type$/i.test(name));
  const type = typeHeader === undefined ? "" : (headers[typeHeader] ?? "");
  const isMultipart = /^multipart\/form-data\b/i.test(type);
  const bodyType = isMultipart ? "form" : bodyTypeOf(type);
  const body = endpoint.bodyTemplate === null ? undefined : filled(endpoint.bodyTemplate, input);
  if (bodyType === "text" && typeof body === "object" && body !== null && !/^text\/plain\b/i.test(type))
    throw new AppError(
      "definition_invalid",
      `Weir can't write ${type.slice(0, 100)} from fields. Give the endpoint's body as one text.`,
    );
  if (isMultipart && typeHeader !== undefined) delete headers[typeHeader]; // the sender's contains the boundary
  const query = queryOf(endpoint, input);
  return {
    method: endpoint.method,
    url: `${joinPath(baseUrl, pathOf(endpoint, input))}${query === "" ? "" : `?${query}`}`,
    headers,
    bodyType,
    ...(isMultipart
      ? { body: undefined, parts: formOf(endpoint, body) }
      : { body: sentBody(endpoint, bodyType, body) }),
  };
}

/** A text is a JSON string, whatever it says. One that is written out may be JSON itself. */
function sentBody(
  endpoint: EndpointDefinition,
  bodyType: EndpointRequest["bodyType"],
  body: Json | undefined,
): Json | undefined {
  if (bodyType === "form" && isObject(body)) return formText(endpoint, body);
  const isValue = bodyType === "json" && typeof body === "string" && isWholeTemplate(endpoint.bodyTemplate);
  return isValue ? JSON.stringify(body) : body;
}

function headersOf({ headers, inputSchema }: EndpointDefinition, input: JsonObject): Record<string, string> {
  const filledIn: Record<string, string> = {};
  for (const [name, template] of Object.entries(headers)) {
    const value = filled(template, input);
    if (value !== undefined && value !== null)
      filledIn[name] = headerText(name, value, styleOf(template, propertiesOf(inputSchema)));
  }
  return filledIn;
}

/** The fields of the body as parts; those with a file schema are files. */
function formOf({ name, bodyTemplate, inputSchema }: EndpointDefinition, body: Json | undefined): Part[] {
  if (body === undefined) return [];
  if (!isObject(body))
    throw new AppError("definition_invalid", `${name} sends a form of parts: its body is an object of them.`);
  const templates = isObject(bodyTemplate) ? bodyTemplate : {};
  const properties = propertiesOf(inputSchema);
  return Object.entries(body).flatMap(([field, value]) => {
    const template = templates[field];
    const isFile = typeof template === "string" && styleOf(template, properties) === FILE_STYLE;
    return partsOf(field, value, isFile);
  });
}

function bodyTypeOf(type: string): EndpointRequest["bodyType"] {
  if (type === "" || /[/+]json\b/i.test(type)) return "json";
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
function pathOf({ path, inputSchema }: EndpointDefinition, input: JsonObject): string {
  const full = path.replace(/\{([^{}/]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(input, name) ? (input[name] ?? null) : null;
    const style = styleNamed(name, propertiesOf(inputSchema));
    const items = itemsOf(value, style) ?? [[textOf(value)]];
    if (items.length === 0 || items.flat().includes(""))
      throw new AppError(
        "definition_invalid",
        `The path ${path} needs the argument ${name}, and nothing in it can be empty.`,
      );
    return listed(name, items, style, (text) => encodeURIComponent(text.toWellFormed()));
  });
  if (full.split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part)))
    throw new AppError(
      "definition_invalid",
      `The arguments make the path ${full} lead outside its base path.`,
    );
  return full;
}

/** The items of a list or an object as they stand in one text: `a,b`, `key,1` or `key=1`. Null for a single value. */
function itemsOf(value: Json, style: string | null): string[][] | null {
  if (style === "json") return null;
  if (Array.isArray(value)) return value.map((item) => [textOf(item)]);
  if (!isObject(value) || style === null) return null;
  const entries = Object.entries(value).map(([key, item]) => [key, textOf(item)]);
  return style === PAIRS ? entries : entries.flat().map((text) => [text]);
}

/** The items in one text. As RFC 6570 says, a comma between them isn't encoded. */
function listed(
  name: string,
  items: readonly string[][],
  style: string | null,
  encode: (text: string) => string,
): string {
  const separator = SEPARATORS[style ?? ""] ?? ",";
  return separator === ","
    ? items.map((parts) => parts.map(encode).join("=")).join(",")
    : encode(separated(name, items, separator));
}

function headerText(name: string, value: Json, style: string | null): string {
  const items = itemsOf(value, style);
  return items === null ? textOf(value) : separated(name, items, SEPARATORS[style ?? ""] ?? ",");
}

/** The items in one text. Throws `definition_invalid` if they couldn't be told apart in it. */
function separated(name: string, items: readonly string[][], separator: string): string {
  if (items.flat().some((text) => text.includes(separator)))
    throw new AppError(
      "definition_invalid",
      `An item of ${name} contains ${JSON.stringify(separator)}, which separates the items.`,
    );
  return items.map((parts) => parts.join("=")).join(separator);
}

const SEPARATORS: Readonly<Record<string, string>> = { csv: ",", ssv: " ", tsv: "\t", pipes: "|" };

/** Encodes a text for a query or a form. */
const encoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);

/** A parameter or field, once for each of its values. */
function pairs(name: string, value: Json): string[] {
  const values = [value].flat().filter((each) => each !== null);
  return values.map((each) => `${encoded(name)}=${encoded(textOf(each))}`);
}

/** A parameter or field with one value, whatever that is. */
function inOne(name: string, value: Json, style: string): string {
  const items = itemsOf(value, style);
  return `${encoded(name)}=${items === null ? encoded(textOf(value)) : listed(name, items, style, encoded)}`;
}

function queryOf({ queryTemplate, inputSchema }: EndpointDefinition, input: JsonObject): string {
  const query: Record<string, string[]> = Object.create(null);
  const properties = propertiesOf(inputSchema);
  for (const [name, template] of Object.entries(queryTemplate)) {
    const value = filled(template, input);
    if (value === undefined || value === null) continue;
    const style = styleOf(template, properties);
    if (style !== null && (style === "json" || SEPARATORS[style] !== undefined))
      query[name] = [inOne(name, value, style)];
    else if (isObject(value)) {
      for (const [key, item] of Object.entries(value)) {
        const own = style === "deepObject" ? `${name}[${key}]` : key;
        if (own in query || (own !== name && Object.hasOwn(queryTemplate, own)))
          throw new AppError(
            "definition_invalid",
            `An object in the query can't set the parameter ${own}, which the request has already.`,
          );
        query[own] = pairs(own, item);
      }
    } else query[name] = pairs(name, value);
  }
  return Object.values(query).flat().join("&");
}

const propertiesOf = (schema: JsonObject | null): JsonObject =>
  isObject(schema?.properties) ? schema.properties : {};

function styleOf(template: string, properties: JsonObject): string | null {
  const [piece] = isWholeTemplate(template) ? readPieces(template) : [];
  const name = typeof piece === "object" && piece.path.length === 2 ? piece.path[1] : undefined;
  return name === undefined ? null : styleNamed(name, properties);
}

function styleNamed(name: string, properties: JsonObject): string | null {
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const style = isObject(schema) ? schema[STYLE] : null;
  return typeof style === "string" ? style : null;
}

/** Form fields, serialized as their schemas say, else in brackets. */
function formText({ bodyTemplate, inputSchema }: EndpointDefinition, body: JsonObject): string {
  const templates = isObject(bodyTemplate) ? bodyTemplate : {};
  const properties = propertiesOf(inputSchema);
  const fields = Object.entries(body).flatMap(([field, value]) => {
    const template = templates[field];
    const style = typeof template === "string" ? styleOf(template, properties) : null;
    if (style === "json") return pairs(field, JSON.stringify(value));
    if (!Array.isArray(value) || style === null) return bracketed(field, value);
    return SEPARATORS[style] === undefined ? pairs(field, value) : [inOne(field, value, style)];
  });
  return fields.join("&");
}

/** Nested form fields: `a[b]=c`, and `a[]=c` for lists. */
function bracketed(name: string, value: Json): string[] {
  if (isObject(value))
    return Object.entries(value).flatMap(([key, item]) => bracketed(`${name}[${key}]`, item));
  if (!Array.isArray(value)) return pairs(name, value);
  if (value.some((item) => typeof item === "object" && item !== null))
    return value.flatMap((item, index) => bracketed(`${name}[${index}]`, item));
  return pairs(name.endsWith("[]") ? name : `${name}[]`, value);
}
