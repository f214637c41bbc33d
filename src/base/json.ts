import { AppError, invalid } from "./errors.ts";
import { NumberText } from "./json-numbers.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof NumberText);

/** Deeper JSON than this is refused (decisions, section 1). */
export const MAX_DEPTH = 64;

/** Each list and object takes far more memory than its two brackets. */
const MAX_OBJECTS = 500_000;
/** No shorter text has so many. */
const SHORT_CHARACTERS = 2 * MAX_OBJECTS;

/**
 * Parses JSON text strictly: no more than 64 levels and 500,000 lists and objects, no key twice in one object.
 * Throws `invalid` with `type: "json_invalid"` at `loc`.
 */
export function parseJson(text: string, loc: readonly string[] = ["body"]): Json {
  if (text.length > SHORT_CHARACTERS && objectsIn(text) > MAX_OBJECTS) {
    const message = `JSON may have at most ${MAX_OBJECTS.toLocaleString("en-US")} lists and objects. Send fewer at a time.`;
    throw invalid(loc, message, "json_too_large");
  }
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(loc, `This is not valid JSON: ${reason(error)}`, "json_invalid");
  }
  checkShape(text, loc);
  return value;
}

const reason = (error: unknown) =>
  error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "unreadable";

function objectsIn(text: string): number {
  let objects = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (c === 0x5b || c === 0x7b) objects++;
  }
  return objects;
}

/** Walks valid JSON text once, counting levels and remembering the keys of each open object. */
function checkShape(text: string, loc: readonly string[]): void {
  const open: (Set<string> | null)[] = []; // null stands for an array
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
          throw invalid(loc, `The key "${name.slice(0, 100)}" stands twice in one object.`, "json_invalid");
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
      throw invalid(loc, `JSON may be nested at most ${MAX_DEPTH} levels deep.`, "json_too_deep");
    }
  }
}

/** JSON text with the keys of every object sorted, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const given = value as Record<string, unknown>;
  let text = "";
  for (const key of Object.keys(given).sort()) {
    const item = given[key];
    if (item === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(item)}`;
  }
  return `{${text}}`;
}

/** Applies a JSON Merge Patch (RFC 7396): `null` removes a key, objects merge, all else replaces. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : {});
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key] ?? null, value);
  }
  return { ...merged };
}

/** Reads stored JSON of ours; a row that does not parse is a bug, not an input fault. */
export function storedJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new AppError("internal", "A stored value could not be read.", { cause });
  }
}
