import { AppError, InvalidInput, invalid } from "./errors.ts";
import { NumberText, parseLossless } from "./json-numbers.ts";
import { JsonRefused, type JsonRules, parseLong } from "./json-parse.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof NumberText);

/** Maximum nesting (docs/decisions/http-conventions.md). */
export const MAX_DEPTH = 64;

/** Lists and objects take far more memory than their two brackets. */
const MAX_OBJECTS = 500_000;
/** Many operations handle all keys of an object in one step. Short text can't have more. */
const MAX_KEYS = 50_000;
/** Longer text is parsed in slices. */
export const SHORT_CHARACTERS = 256 * 1024;

/**
 * Parses JSON strictly: at most 64 levels and 500,000 lists and objects, and no duplicate keys.
 * Numbers beyond doubles become text.
 * Throws `invalid` with `type: "json_invalid"` at `loc`.
 */
export function parseJson(
  text: string,
  loc: readonly string[] = ["body"],
  parse: (text: string) => Json = parseLossless,
): Json {
  if (text.length > 2 * MAX_OBJECTS && countIn(text).objects > MAX_OBJECTS)
    throw tooMany(loc, "objects", MAX_OBJECTS);
  let value: Json;
  try {
    value = parse(text);
  } catch (error) {
    throw new NotJson(loc, error);
  }
  checkShape(text, loc);
  return value;
}

/** Text that isn't JSON, as opposed to JSON over a limit or with a duplicate key. */
export class NotJson extends InvalidInput {
  constructor(loc: readonly string[], error: unknown) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "unreadable";
    super([{ loc, msg: `Invalid JSON: ${reason}`, type: "json_invalid" }]);
  }
}

/**
 * Parses JSON with at most `maxValues` values. Parses long text in slices, giving other requests their turns.
 * Throws like `parseJson`.
 */
export function parseJsonInSlices(
  text: string,
  {
    loc = ["body"],
    maxValues = Number.POSITIVE_INFINITY,
    parse = parseLossless,
  }: { loc?: readonly string[]; maxValues?: number; parse?: (text: string) => Json } = {},
): Json | Promise<Json> {
  if (text.length > SHORT_CHARACTERS) {
    const rules = { maxDepth: MAX_DEPTH, maxObjects: MAX_OBJECTS, maxValues, maxKeys: MAX_KEYS };
    return parseLong(text, rules, parse).catch((error: unknown) => {
      throw error instanceof JsonRefused ? refusal(error, loc, rules) : error;
    });
  }
  if (text.length > 2 * maxValues && countIn(text).values > maxValues)
    throw tooMany(loc, "values", maxValues);
  return parseJson(text, loc, parse);
}

function refusal({ rule, what }: JsonRefused, loc: readonly string[], rules: JsonRules): InvalidInput {
  if (rule === "objects") return tooMany(loc, rule, rules.maxObjects);
  if (rule === "values") return tooMany(loc, rule, rules.maxValues);
  if (rule === "keys") return tooMany(loc, rule, MAX_KEYS);
  if (rule === "depth") return tooDeep(loc);
  if (rule === "key") return twice(loc, what);
  return new NotJson(loc, new Error(what));
}

const HAS_AT_MOST = {
  objects: (most: string) => `JSON can have at most ${most} lists and objects`,
  values: (most: string) => `JSON can have at most ${most} values`,
  keys: (most: string) => `A JSON object can have at most ${most} keys`,
} as const;

const tooMany = (loc: readonly string[], what: keyof typeof HAS_AT_MOST, most: number) =>
  invalid(loc, `${HAS_AT_MOST[what](most.toLocaleString("en-US"))}. Send fewer at a time.`, "json_too_large");

const tooDeep = (loc: readonly string[]) =>
  invalid(loc, `JSON can be nested at most ${MAX_DEPTH} levels deep.`, "json_too_deep");

const twice = (loc: readonly string[], key: string) =>
  invalid(loc, `Duplicate key "${key.slice(0, 100)}".`, "json_invalid");

/** Counts the lists and objects, and all values, in JSON. */
function countIn(text: string): { objects: number; values: number } {
  let objects = 0;
  let commas = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x5b || c === 0x7b) objects++;
    else if (c === 0x2c) commas++;
  }
  return { objects, values: objects + commas };
}

/** Scans valid JSON once, counting levels and collecting the keys of each open object. */
function checkShape(text: string, loc: readonly string[]): void {
  const open: (Set<string> | null)[] = []; // null for a list
  let key = false; // the next string is a key
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const start = i;
        for (i++; text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
        if (!key) break;
        const keys = open.at(-1);
        const raw = text.slice(start, i + 1);
        const name: string = raw.includes("\\") ? JSON.parse(raw) : raw.slice(1, -1);
        if (keys?.has(name)) {
          throw twice(loc, name);
        }
        keys?.add(name);
        key = false;
        break;
      }
      case 0x7b:
        open.push(new Set());
        key = true;
        break;
      case 0x5b:
        open.push(null);
        key = false;
        break;
      case 0x7d:
      case 0x5d:
        open.pop();
        key = false;
        break;
      case 0x2c:
        key = open.at(-1) !== null && open.length > 0;
        break;
    }
    if (open.length > MAX_DEPTH) {
      throw tooDeep(loc);
    }
  }
}

/** Returns JSON with sorted keys, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const object = value as Record<string, unknown>;
  let text = "";
  for (const key of Object.keys(object).sort()) {
    const item = object[key];
    if (item === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(item)}`;
  }
  return `{${text}}`;
}

/** Names of objects whose keys have an order that people see: fields of forms and of data. */
const ORDERED = /^(properties|parameters|body|bodyTemplate|context|input)$/;
/** Of those, the ones whose values are described by Weir. */
const DESCRIBED = /^(properties|parameters)$/;

/** Returns text that is equal for equal values. The order of keys only counts where people see it. */
export function comparable(value: Json | undefined, name = "", isData = false): string {
  if (Array.isArray(value)) return `[${value.map((item) => comparable(item, name, isData)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  if (!isData && !ORDERED.test(name)) keys.sort();
  const isInner = isData || (ORDERED.test(name) && !DESCRIBED.test(name));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${comparable(value[key], key, isInner)}`).join(",")}}`;
}

/** Applies a JSON Merge Patch (RFC 7396): `null` removes a key, objects are merged, anything else replaces. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : {});
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key] ?? null, value);
  }
  return { ...merged };
}

/** Parses JSON that Weir stored. Invalid JSON is a bug, not an input error. */
export function storedJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new AppError("internal", "A stored value couldn't be read.", { cause });
  }
}
