import { isObject, type Json, type JsonObject } from "../base/json.ts";

const MAX_DEPTH = 8;
const MAX_FIELDS = 200;

/** Infers a schema from a sample value; nothing in it is required. */
export function schemaOfSample(sample: Json, depth = 0): JsonObject {
  if (sample === null || depth > MAX_DEPTH) return {};
  if (Array.isArray(sample)) {
    const first = sample.find((item) => item !== null);
    return first === undefined
      ? { type: "array" }
      : { type: "array", items: schemaOfSample(first, depth + 1) };
  }
  if (isObject(sample)) {
    const fields = Object.entries(sample).slice(0, MAX_FIELDS);
    return {
      type: "object",
      properties: Object.fromEntries(fields.map(([name, value]) => [name, schemaOfSample(value, depth + 1)])),
    };
  }
  if (typeof sample === "number") return { type: Number.isInteger(sample) ? "integer" : "number" };
  return { type: typeof sample === "boolean" ? "boolean" : "string" };
}

/** Infers the schema of a string in a URL: a number or a boolean if it parses as one. */
export function schemaOfText(text: string): JsonObject {
  if (/^-?\d{1,15}$/.test(text)) return { type: "integer" };
  if (/^-?\d{1,15}\.\d{1,15}$/.test(text)) return { type: "number" };
  return { type: text === "true" || text === "false" ? "boolean" : "string" };
}
