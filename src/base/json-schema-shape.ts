import { MAX_FAULTS } from "./errors.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { patternOf } from "./json-schema-text.ts";
import { measure } from "./measure.ts";

/** An error in a schema. `path` starts at the schema's root, with array indexes as strings. */
export interface SchemaFault {
  path: readonly string[];
  message: string;
  type: string;
}

const MAX_SCHEMA_CHARACTERS = 65_536;
const MAX_SCHEMAS = 2_000;
const MAX_NESTING = 32;
/**
 * Maximum total cost of all patterns: their instructions plus a fixed cost each.
 * All are compiled within 50 ms and kept.
 */
const MAX_PATTERN_COST = 40_000;
const PATTERN_COST = 100;

const TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"] as const;

type Check = (value: unknown) => string | null;
const says =
  (sentence: string, holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? null : sentence;

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown): value is string => typeof value === "string";
const isType = (value: unknown) => TYPES.some((type) => type === value);
const isSet = (value: unknown, holds: (item: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(holds) && new Set(value).size === value.length;

const count = says("Input should be a whole number of at least 0.", isCount);
const number = says("Input should be a number.", Number.isFinite);
const text = says("Input should be a string.", isText);
const names = says("Input should be a list of unique names.", (value) => isSet(value, isText));
const nameLists = says(
  "Input should be an object whose values are lists of names.",
  (value) => isObject(value) && Object.values(value).every((list) => isSet(list, isText)),
);
const unsupported: Check = () => "This keyword is not supported here.";

/** Keywords with plain values. Keywords in none of these tables are annotations. */
const VALUES = new Map<string, Check>([
  ...[
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
  ].map((key) => [key, count] as const),
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((key) => [key, number] as const),
  ...["title", "description", "$comment", "$schema", "format"].map((key) => [key, text] as const),
  ...[
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$anchor",
    "unevaluatedItems",
    "unevaluatedProperties",
  ].map((key) => [key, unsupported] as const),
  [
    "multipleOf",
    says(
      "Input should be a number greater than 0.",
      (value) => Number.isFinite(value) && (value as number) > 0,
    ),
  ],
  [
    "type",
    says(
      `Input should be one or more of ${TYPES.join(", ")}.`,
      (value) => isType(value) || (isSet(value, isType) && value.length > 0),
    ),
  ],
  [
    "enum",
    says(
      "Input should be a list with at least one value.",
      (value) => Array.isArray(value) && value.length > 0,
    ),
  ],
  ["uniqueItems", says("Input should be true or false.", (value) => typeof value === "boolean")],
  ["required", names],
  ["dependentRequired", nameLists],
]);

/** Keywords with schemas. Applicators apply to the same value as their parent schema. */
const SCHEMA = new Set([
  "additionalProperties",
  "additionalItems",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);
const SCHEMA_LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMA_MAP = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
  "dependencies",
]);
const APPLICATORS = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "dependencies",
]);

function patternFault(value: unknown, { patterns }: Visit): string | null {
  if (!isText(value)) return "Input should be a string.";
  const costly = "This schema has too many patterns, or they are too large in total.";
  if (patterns.cost > MAX_PATTERN_COST) return costly;
  const pattern = patternOf(value);
  if (typeof pattern === "string") return pattern;
  if (!patterns.seen.has(value)) patterns.cost += pattern.size + PATTERN_COST;
  patterns.seen.add(value);
  return patterns.cost > MAX_PATTERN_COST ? costly : null;
}

interface Visit {
  faults: SchemaFault[];
  /** Schemas by pointer, with the schemas that each applies to the same value. */
  applied: Map<string, string[]>;
  refs: { path: readonly string[]; from: string; to: string }[];
  patterns: { seen: Set<string>; cost: number };
}

export function shapeFaults(schema: unknown): SchemaFault[] {
  const visit: Visit = { faults: [], applied: new Map(), refs: [], patterns: { seen: new Set(), cost: 0 } };
  if (measure(schema as Json, MAX_SCHEMA_CHARACTERS) > MAX_SCHEMA_CHARACTERS) {
    return [
      {
        path: [],
        message: `A schema can have at most ${MAX_SCHEMA_CHARACTERS} characters.`,
        type: "too_long",
      },
    ];
  }
  walk(schema, [], visit, 0);
  for (const { path, from, to } of visit.refs) {
    if (visit.applied.has(to)) visit.applied.get(from)?.push(to);
    else visit.faults.push({ path, message: "No schema at this reference.", type: "ref_unknown" });
  }
  if (visit.faults.length === 0) visit.faults.push(...circleFaults(visit));
  return visit.faults;
}

function walk(schema: unknown, path: readonly string[], visit: Visit, depth: number): void {
  const fail = (at: readonly string[], message: string, type = "schema_invalid") => {
    if (visit.faults.length < MAX_FAULTS) visit.faults.push({ path: at, message, type });
  };
  const here = pointerOf(path);
  const applicators: string[] = [];
  visit.applied.set(here, applicators);
  if (typeof schema === "boolean") return;
  if (!isObject(schema)) return fail(path, "A schema must be an object, true or false.");
  if (depth > MAX_NESTING)
    return fail(path, `Schemas can be nested at most ${MAX_NESTING} levels deep.`, "too_deep");
  if (visit.applied.size > MAX_SCHEMAS)
    return fail(path, `A schema can contain at most ${MAX_SCHEMAS} schemas.`, "too_long");

  const inner = (value: unknown, at: readonly string[], keyword: string) => {
    if (APPLICATORS.has(keyword)) applicators.push(pointerOf(at));
    walk(value, at, visit, depth + 1);
  };
  for (const [keyword, value] of Object.entries(schema)) {
    const at = [...path, keyword];
    const message = keyword === "pattern" ? patternFault(value, visit) : VALUES.get(keyword)?.(value);
    if (message) fail(at, message, keyword === "pattern" ? "pattern_invalid" : "schema_invalid");
    else if (keyword === "$id") {
      if (path.length > 0 || !isText(value)) fail(at, "$id is allowed only at the root.");
    } else if (keyword === "$ref") {
      const to = isText(value) ? targetOf(value) : null;
      if (to === null) fail(at, "References must be within this schema, as in #/$defs/name.", "ref_unknown");
      else visit.refs.push({ path: at, from: here, to });
    } else if (SCHEMA.has(keyword) || (keyword === "items" && !Array.isArray(value)))
      inner(value, at, keyword);
    else if (SCHEMA_LIST.has(keyword) || keyword === "items") {
      if (!Array.isArray(value) || value.length === 0)
        fail(at, "Input should be a list of at least one schema.");
      else for (const [index, item] of value.entries()) inner(item, [...at, String(index)], keyword);
    } else if (SCHEMA_MAP.has(keyword)) {
      if (!isObject(value)) fail(at, "Input should be an object of schemas.");
      else
        for (const [name, item] of Object.entries(value)) {
          const fault = keyword === "patternProperties" ? patternFault(name, visit) : null;
          if (fault) fail([...at, name], fault, "pattern_invalid");
          if (keyword === "dependencies" && Array.isArray(item)) {
            const message = names(item);
            if (message) fail([...at, name], message);
          } else inner(item, [...at, name], keyword);
        }
    }
  }
}

/** A schema that refers to itself for the same value would never end. */
function circleFaults({ applied, refs }: Visit): SchemaFault[] {
  const done = new Set<string>();
  const open = new Set<string>();
  const endless = (pointer: string): boolean => {
    if (open.has(pointer)) return true;
    if (done.has(pointer)) return false;
    open.add(pointer);
    const found = applied.get(pointer)?.some(endless) ?? false;
    open.delete(pointer);
    done.add(pointer);
    return found;
  };
  const ref = refs.find(({ from }) => endless(from));
  return ref ? [{ path: ref.path, message: "This reference refers to itself.", type: "ref_circular" }] : [];
}

const pointerOf = (path: readonly string[]) =>
  path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Returns the pointer in `#/…`. Null for other references. */
function targetOf(ref: string): string | null {
  if (!ref.startsWith("#")) return null;
  try {
    return decodeURIComponent(ref.slice(1));
  } catch {
    return null; // invalid percent-encoding
  }
}

/** Returns the schema at `ref`, or `false` if there is none. */
export function schemaAt(root: Json, ref: string): Json {
  const names = (targetOf(ref) ?? "").split("/").slice(1);
  let found: Json | undefined = root;
  for (const name of names) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    found = (found as JsonObject | undefined)?.[key];
  }
  return found ?? false;
}
