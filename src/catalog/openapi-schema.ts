import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { schemaFaults } from "../base/json-schema.ts";
import { measure } from "../base/measure.ts";
import { MAX_DESCRIPTION } from "./contract.ts";
import { type References, refName } from "./openapi-refs.ts";

/** Maximum size of one schema of arguments, just below the validator's limit. */
const MAX_CHARACTERS = 60_000;
const MAX_SCHEMAS = 1_800;
const MAX_DEPTH = 20;

/** Ways to make a schema smaller, tried in order. */
const SIZES = [
  { depth: MAX_DEPTH, notes: true },
  { depth: 6, notes: true },
  { depth: 4, notes: false },
  { depth: 2, notes: false },
] as const;

interface Walk {
  refs: References;
  depth: number;
  notes: boolean;
  /** Schemas that may still be written. */
  left: number;
  /** References that contain the current position. */
  open: ReadonlySet<string>;
  warn(text: string): void;
}

/**
 * An OpenAPI schema as plain JSON Schema, with every `$ref` replaced by its target. A recursive schema is cut where it
 * starts to repeat; one that is too large is cut further down.
 */
export function toJsonSchema(
  refs: References,
  schema: Json | undefined,
  base: string,
  warn: (text: string) => void,
): JsonObject {
  // operations share schemas, which expand to the same result
  const key =
    isObject(schema) && Object.keys(schema).length === 1 && typeof schema.$ref === "string"
      ? `${refs.limits.isShort} ${base} ${schema.$ref}`
      : null;
  const known = key === null ? undefined : refs.unfolded.get(key);
  if (known) return { ...known };
  const made = unfold(refs, schema, base, warn);
  if (key !== null && !isSpent(refs)) refs.unfolded.set(key, { ...made });
  return made;
}

function unfold(
  refs: References,
  schema: Json | undefined,
  base: string,
  warn: (text: string) => void,
): JsonObject {
  let made: Json = {};
  for (const size of refs.limits.isShort ? SIZES.slice(-1) : SIZES) {
    const walk: Walk = { refs, ...size, left: MAX_SCHEMAS, open: new Set(), warn };
    made = convert(schema ?? {}, base, walk, 0);
    if (measure(made, MAX_CHARACTERS) <= MAX_CHARACTERS && walk.left > 0) break;
    if (isSpent(refs)) break;
  }
  if (measure(made, MAX_CHARACTERS) > MAX_CHARACTERS) made = {};
  return isObject(made) ? made : made === false ? { not: {} } : {};
}

const isSpent = ({ limits }: References) => limits.left <= 0;
/** Whether the budget of a walk is used up. */
const isOver = ({ left, refs }: Walk) => left <= 0 || isSpent(refs);

const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] as const;
const COUNTS = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
] as const;
const INNER = ["additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"] as const;
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;
const MAPS = ["properties", "patternProperties", "dependentSchemas"] as const;
const TYPES = new Set(["null", "boolean", "integer", "number", "string", "array", "object"]);

function convert(schema: Json, base: string, walk: Walk, depth: number): Json {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) return {};
  walk.left--;
  walk.refs.limits.left--;
  if (typeof schema.$ref === "string") return followed(schema, schema.$ref, base, walk, depth);
  if (depth > walk.depth || isOver(walk)) return cut(schema);
  const made: JsonObject = { ...plain(schema, walk) };
  const next = (inner: Json) => convert(inner, base, walk, depth + 1);
  for (const key of INNER) if (key in schema && isSchema(schema[key])) made[key] = next(schema[key] as Json);
  if (isSchema(schema.items)) made.items = next(schema.items as Json);
  else if (Array.isArray(schema.items) && schema.items.length > 0)
    made.prefixItems = schema.items.slice(0, MAX_SCHEMAS).map(next);
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list) && list.length > 0)
      made[key] = list.slice(0, MAX_SCHEMAS).filter(isSchema).map(next);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (isObject(map)) made[key] = mapped(map, key, next, walk);
  }
  return joined(withoutReadOnly(made, schema, base, walk));
}

const isSchema = (value: Json | undefined) => typeof value === "boolean" || isObject(value);

function mapped(map: JsonObject, key: string, next: (inner: Json) => Json, walk: Walk): JsonObject {
  const made: [string, Json][] = [];
  for (const name of Object.keys(map)) {
    if (isOver(walk)) break;
    if (name === "$ref" || (key === "patternProperties" && !isPattern(name))) continue;
    made.push([name, next(map[name] as Json)]);
  }
  return Object.fromEntries(made);
}

function followed(schema: JsonObject, ref: string, base: string, walk: Walk, depth: number): Json {
  const part = walk.refs.follow(ref, base);
  if (!part) {
    walk.warn(`${ref} can't be resolved; any value is accepted there.`);
    return { description: `unknown: ${refName(ref)}` };
  }
  if (walk.open.has(part.key)) return { type: "object", description: `recursive: ${refName(ref)}` };
  if (depth > walk.depth || isOver(walk))
    return { ...cut(isObject(part.value) ? part.value : {}), description: `cut: ${refName(ref)}` };
  const inside = { ...walk, open: new Set([...walk.open, part.key]) };
  const made = convert(part.value, part.base, inside, depth + 1);
  walk.left = inside.left;
  const { description } = schema;
  return isObject(made) && walk.notes && typeof description === "string"
    ? { ...made, description: description.slice(0, MAX_DESCRIPTION).toWellFormed() }
    : made;
}

/** What remains of a schema that is cut: its type, so that values of it are still valid. */
const cut = ({ type }: JsonObject): JsonObject =>
  typeof type === "string" && TYPES.has(type) ? { type } : {};

/** OpenAPI 3.1 describes binary data by its media type, without an encoding. */
const isBytes = ({ type, contentMediaType, contentEncoding }: JsonObject): boolean =>
  type === "string" &&
  contentEncoding === undefined &&
  typeof contentMediaType === "string" &&
  !/^text\/|[/+](json|xml)\b/i.test(contentMediaType);

/** The schema's own keywords, in current JSON Schema. */
function plain(schema: JsonObject, { notes }: Walk): JsonObject {
  const made: JsonObject = {};
  const isNullable = schema.nullable === true || schema["x-nullable"] === true;
  const types = [schema.type].flat().map((type) => (type === "file" ? "string" : type));
  const known = [...new Set(types.filter((type) => typeof type === "string" && TYPES.has(type)))] as string[];
  if (isNullable && known.length > 0 && !known.includes("null")) known.push("null");
  if (known.length > 0) made.type = known.length === 1 ? (known[0] as string) : known;
  if (notes && typeof schema.title === "string") made.title = schema.title.slice(0, 255).toWellFormed();
  if (notes && typeof schema.description === "string" && schema.description !== "")
    made.description = schema.description.slice(0, MAX_DESCRIPTION).toWellFormed();
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && !hasReference(schema.enum))
    made.enum = isNullable && !schema.enum.includes(null) ? [...schema.enum, null] : schema.enum;
  if ("const" in schema && !hasReference(schema.const)) made.const = schema.const as Json;
  if (schema.default !== undefined && !hasReference(schema.default)) made.default = schema.default;
  if (typeof schema.format === "string") made.format = schema.format;
  else if (schema.type === "file" || isBytes(schema)) made.format = "binary";
  if (typeof schema.pattern === "string" && isPattern(schema.pattern)) made.pattern = schema.pattern;
  for (const key of COUNTS) {
    const value = schema[key];
    if (Number.isSafeInteger(value) && (value as number) >= 0) made[key] = value as number;
  }
  for (const key of NUMBERS) {
    const value = schema[key];
    if (typeof value === "number" && Number.isFinite(value) && (key !== "multipleOf" || value > 0))
      made[key] = value;
  }
  exclusive(schema, made, "minimum", "exclusiveMinimum");
  exclusive(schema, made, "maximum", "exclusiveMaximum");
  if (schema.uniqueItems === true) made.uniqueItems = true;
  const required = namesIn(schema.required);
  if (required.length > 0) made.required = required;
  if (isObject(schema.dependentRequired)) {
    const entries = Object.entries(schema.dependentRequired).map(([name, list]) => [name, namesIn(list)]);
    made.dependentRequired = Object.fromEntries(entries);
  }
  return made;
}

/** A value that was meant as a reference can't be compared. */
const hasReference = (value: Json | undefined) =>
  typeof value === "object" && value !== null && JSON.stringify(value).includes('"$ref"');

/** Before 3.1, `exclusiveMinimum: true` excluded the value of `minimum`. */
function exclusive(schema: JsonObject, made: JsonObject, bound: string, name: string): void {
  if (schema[name] !== true || typeof made[bound] !== "number") return;
  made[name] = made[bound];
  delete made[bound];
}

const namesIn = (value: Json | undefined): string[] => [
  ...new Set((Array.isArray(value) ? value : []).filter((name) => typeof name === "string")),
];

const patterns = new Map<string, boolean>();

function isPattern(pattern: string): boolean {
  let known = patterns.get(pattern);
  if (known === undefined) {
    known = schemaFaults({ pattern }).length === 0;
    if (patterns.size > 10_000) patterns.clear();
    patterns.set(pattern, known);
  }
  return known;
}

/** Omits read-only fields, which only the server sets. */
function withoutReadOnly(made: JsonObject, schema: JsonObject, base: string, walk: Walk): JsonObject {
  if (!isObject(made.properties) || !isObject(schema.properties)) return made;
  const gone = new Set(
    Object.entries(schema.properties)
      .filter(([, property]) => isReadOnly(property, base, walk))
      .map(([name]) => name),
  );
  if (gone.size === 0) return made;
  const properties = Object.fromEntries(Object.entries(made.properties).filter(([name]) => !gone.has(name)));
  const required = namesIn(made.required).filter((name) => !gone.has(name));
  const { required: _, ...rest } = made;
  return { ...rest, properties, ...(required.length > 0 ? { required } : {}) };
}

function isReadOnly(property: Json, base: string, walk: Walk): boolean {
  if (!isObject(property)) return false;
  if (property.readOnly === true) return true;
  if (typeof property.$ref !== "string") return false;
  const part = walk.refs.follow(property.$ref, base);
  return part !== null && isObject(part.value) && part.value.readOnly === true;
}

const JOINABLE = new Set(["type", "properties", "required", "title", "description"]);

/** Merges plain objects of an `allOf` into one with all their fields. */
function joined(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || ![rest, ...allOf].every(isJoinable)) return schema;
  const parts = [rest, ...allOf] as JsonObject[];
  const properties: JsonObject = Object.assign(
    Object.create(null),
    ...parts.map((part) => part.properties ?? {}),
  );
  const required = [...new Set(parts.flatMap((part) => namesIn(part.required)))];
  const described = parts.find((part) => part.description !== undefined);
  return {
    type: "object",
    ...(rest.title === undefined ? {} : { title: rest.title }),
    ...(described ? { description: described.description as Json } : {}),
    properties: { ...properties },
    ...(required.length > 0 ? { required } : {}),
  };
}

const isJoinable = (schema: Json) =>
  isObject(schema) &&
  Object.keys(schema).every((key) => JOINABLE.has(key)) &&
  (schema.type === undefined || schema.type === "object");
