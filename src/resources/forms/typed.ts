import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { isBeyondDoubles } from "../../base/json-numbers.ts";
import { schemaAt } from "../../base/json-schema.ts";

/** Converts text to the types in the schema, if possible. Empty text and files that weren't chosen count as no value. */
export function typed(schema: JsonObject, answers: Json): Json {
  if (!isObject(answers)) return answers;
  const parts = partsOf(schema, [schema]);
  const values = Object.entries(answers).flatMap(([name, value]): [string, Json][] => {
    if (value === "" || isNoFile(value)) return [];
    const fields = parts.flatMap(({ properties }) => (isObject(properties) ? [properties[name]] : []));
    return [[name, readText(schema, fields, value)]];
  });
  return Object.fromEntries(values);
}

/** What a browser sends for a file field in which no file was chosen. */
const isNoFile = (value: Json): boolean => isObject(value) && value.fileName === "" && value.data === "";

/** More than a form field has. A schema can be infinitely recursive. */
const MAX_PARTS = 100;

/** Returns the schemas with everything they reference, combine or offer as alternatives. */
function partsOf(root: JsonObject, schemas: readonly (Json | undefined)[]): JsonObject[] {
  const parts = new Set<JsonObject>();
  const visit = (schema: Json | undefined) => {
    if (!isObject(schema) || parts.has(schema) || parts.size >= MAX_PARTS) return;
    parts.add(schema);
    if (typeof schema.$ref === "string") visit(schemaAt(root, schema.$ref));
    for (const list of [schema.allOf, schema.anyOf, schema.oneOf])
      if (Array.isArray(list)) for (const one of list) visit(one);
  };
  for (const schema of schemas) visit(schema);
  return [...parts];
}

function readText(root: JsonObject, schemas: readonly (Json | undefined)[], text: Json): Json {
  const parts = partsOf(root, schemas);
  const types = parts.flatMap(({ type = [] }) => type);
  if (types.includes("array")) {
    const list = Array.isArray(text) ? text : [text];
    const items = parts.map(({ items }) => items);
    return list.map((item) => readText(root, items, item));
  }
  if (typeof text !== "string" || types.includes("string")) return text;
  const fixed = parts.flatMap(({ const: value, enum: values = [] }) =>
    value === undefined ? values : [value],
  );
  const same = fixed.find((one) => one === text || String(one) === text);
  if (same !== undefined) return same;
  if (types.includes("boolean")) {
    if (["true", "on", "1"].includes(text)) return true;
    if (text === "false") return false;
  }
  const isNumber = types.includes("number") || types.includes("integer");
  const written = text.trim();
  const number = isNumber && NUMBER.test(written) && !isBeyondDoubles(written) ? Number(written) : Number.NaN;
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text;
}

/** What a browser's number field sends. */
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
