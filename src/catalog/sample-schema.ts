import { isObject, type JsonObject } from "../base/json.ts";
import { isNumeric, lossless } from "../base/json-numbers.ts";

const MAX_DEPTH = 8;
const MAX_FIELDS = 200;

/** Infers a schema from a sample value, as `parseExact` gives it; nothing in it is required. */
export function schemaOfSample(sample: unknown, depth = 0): JsonObject {
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
  if (isNumeric(sample)) {
    const type = Number.isInteger(Number(sample)) ? "integer" : "number";
    return { type: typeof lossless(sample) === "string" ? [type, "string"] : type }; // long numbers are texts
  }
  return { type: typeof sample === "boolean" ? "boolean" : "string" };
}

/** Infers the schema of texts in a URL or a form; several are a list. */
export function schemaOfTexts(texts: readonly string[]): JsonObject {
  const [type = "string", ...others] = [...new Set(texts.map(typeOfText))];
  const schema = { type: others.length === 0 ? type : "string" };
  return texts.length > 1 ? { type: "array", items: schema } : schema;
}

/** A number or a boolean only if it is sent as the same text again: `01234` isn't one. */
function typeOfText(text: string): string {
  if (/^-?\d+(\.\d+)?$/.test(text) && String(Number(text)) === text)
    return Number.isInteger(Number(text)) ? "integer" : "number";
  return text === "true" || text === "false" ? "boolean" : "string";
}
