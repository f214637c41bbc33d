import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** An argument that is also sent as a header: its path and the header's name. */
export interface ParamHeader {
  path: readonly string[];
  header: string;
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const TYPES = new Set(["string", "integer", "boolean"]);

/**
 * Returns the arguments that a schema wants in headers too (`x-mcp-header` of 2026-07-28),
 * or why its annotations are invalid. Then the tool must not be used.
 */
export function paramHeaders(schema: JsonObject | null): ParamHeader[] | { fault: string } {
  const found: ParamHeader[] = [];
  const names = new Set<string>();
  const fault = walk(schema ?? {}, [], true, (path, annotation, type) => {
    if (typeof annotation !== "string" || !TOKEN.test(annotation)) return "is not a valid header name";
    if (typeof type !== "string" || !TYPES.has(type))
      return "is on a value that isn't a string, integer or boolean";
    if (names.has(annotation.toLowerCase())) return "is duplicated";
    names.add(annotation.toLowerCase());
    found.push({ path, header: `Mcp-Param-${annotation}` });
    return null;
  });
  return fault === null ? found : { fault };
}

type Take = (path: readonly string[], annotation: Json, type: Json | undefined) => string | null;

const MAX_DEPTH = 40;

/** `isPlain`: reached through `properties` only, so that there is exactly one argument, at a known path. */
function walk(value: Json, path: readonly string[], isPlain: boolean, take: Take): string | null {
  if (path.length > MAX_DEPTH) return null;
  if (Array.isArray(value)) return firstFault(value, (item) => walk(item, [...path, ""], false, take));
  if (!isObject(value)) return null;
  const annotation = value["x-mcp-header"];
  if (annotation !== undefined) {
    const reason = isPlain && path.length > 0 ? take(path, annotation, value.type) : "isn't on an argument";
    if (reason !== null) return `x-mcp-header ${reason}`;
  }
  return firstFault(Object.entries(value), ([key, item]) => {
    if (key !== "properties" || !isObject(item)) {
      return key === "enum" || key === "const" || key === "default" || key === "examples"
        ? null
        : walk(item, [...path, ""], false, take);
    }
    return firstFault(Object.entries(item), ([name, property]) =>
      walk(property, [...path, name], isPlain, take),
    );
  });
}

function firstFault<T>(items: readonly T[], check: (item: T) => string | null): string | null {
  for (const item of items) {
    const fault = check(item);
    if (fault !== null) return fault;
  }
  return null;
}

/** Returns the headers for these arguments. Missing arguments have none. */
export function headersFor(wanted: readonly ParamHeader[], input: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of wanted) {
    let at: Json | undefined = input;
    for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
    if (typeof at === "string" || typeof at === "number" || typeof at === "boolean")
      headers[header] = headerText(String(at));
  }
  return headers;
}

/** Returns the text unchanged if a header can contain it, else in the protocol's base64 form. */
export function headerText(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
