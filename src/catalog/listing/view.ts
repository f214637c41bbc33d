import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { References } from "../openapi-refs.ts";

/** A schema of a description, resolved lazily: references are followed when they are reached. */
export interface View {
  /** Without `null`. */
  types: readonly string[];
  format: string | null;
  description: string;
  /** Example or default, if it is a string. */
  example: string | null;
  /** Of an object, in order; only fields that all of its alternatives have. */
  fields(): ReadonlyMap<string, View>;
  /** Of a list; null if its items aren't described. */
  items(): View | null;
}

/** Maximum number of schemas resolved per operation. */
const MAX_VIEWS = 4_000;
/** Maximum depth of references and of combined schemas. */
const MAX_STEPS = 12;

/** Longer ones aren't names. */
export const MAX_NAME = 255;

export interface Views {
  refs: References;
  left: number;
  /** Whether the limit was reached, so that nothing is certain. */
  isCut: boolean;
}

export const openViews = (refs: References): Views => ({ refs, left: MAX_VIEWS, isCut: false });

/** The schema at one place; null if there is none or its reference is broken. */
export function viewOf(views: Views, schema: Json | undefined, base: string): View | null {
  const parts = partsOf(views, schema, base, 0);
  return parts.length === 0 ? null : joined(views, parts);
}

interface Part {
  schema: JsonObject;
  base: string;
}

/** The schemas that all apply to a value. */
function partsOf(views: Views, schema: Json | undefined, base: string, steps: number): Part[] {
  if (!isObject(schema)) return [];
  const { limits } = views.refs;
  if (steps > MAX_STEPS || views.left <= 0 || limits.looks <= 0) {
    views.isCut = true;
    return [];
  }
  views.left--;
  limits.looks--;
  if (typeof schema.$ref === "string") {
    const target = views.refs.follow(schema.$ref, base);
    return target ? partsOf(views, target.value, target.base, steps + 1) : [];
  }
  const all = Array.isArray(schema.allOf) ? schema.allOf : [];
  const sole = soleOf(schema);
  const others = sole === undefined ? all : [...all, sole];
  return [{ schema, base }, ...others.flatMap((other) => partsOf(views, other, base, steps + 1))];
}

/** The only alternative of a schema besides null. */
function soleOf(schema: JsonObject): Json | undefined {
  const shapes = alternativesOf(schema);
  return shapes.length === 1 ? shapes[0] : undefined;
}

const alternativesOf = ({ oneOf, anyOf }: JsonObject): Json[] =>
  [oneOf, anyOf].flatMap((list) =>
    Array.isArray(list) ? list.filter((each) => !(isObject(each) && each.type === "null")) : [],
  );

function joined(views: Views, parts: readonly Part[]): View {
  const open = parts.filter(({ schema }) => alternativesOf(schema).length > 1);
  const shapes = open.map(({ schema, base }) =>
    alternativesOf(schema).map((each) => viewOf(views, each, base)),
  );
  const first = <T>(read: (schema: JsonObject) => T | undefined): T | null => {
    for (const { schema } of parts) {
      const value = read(schema);
      if (value !== undefined) return value;
    }
    return null;
  };
  const text = (value: Json | undefined) => (typeof value === "string" ? value : undefined);
  let fields: Map<string, View> | null = null;
  return {
    types: typesOf(parts, shapes),
    format: first(({ format }) => text(format)),
    description: first(({ description }) => text(description)) ?? "",
    example: first(({ example, examples, default: preset }) =>
      [example, ...(Array.isArray(examples) ? examples : []), preset].map(text).find((each) => each),
    ),
    fields: () => {
      fields ??= fieldsOf(views, parts, shapes);
      return fields;
    },
    items() {
      for (const { schema, base } of parts)
        if (isObject(schema.items)) return viewOf(views, schema.items, base) ?? NOTHING;
      const [list] = shapes;
      return list && list.length > 0 && list.every((each) => each?.types.includes("array"))
        ? (list[0]?.items() ?? null)
        : null;
    },
  };
}

type Shapes = readonly (readonly (View | null)[])[];

function fieldsOf(views: Views, parts: readonly Part[], shapes: Shapes): Map<string, View> {
  const named = new Map<string, Part[]>();
  for (const { schema, base } of parts)
    for (const [name, field] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      const own = named.get(name) ?? [];
      own.push(...partsOf(views, field, base, 0));
      named.set(name, own);
      if (name.length > MAX_NAME) views.isCut = true;
    }
  const found = new Map<string, View>();
  for (const [name, own] of named) found.set(name, own.length === 0 ? NOTHING : joined(views, own));
  for (const list of shapes)
    for (const [name, view] of commonFields(list)) if (!found.has(name)) found.set(name, view);
  return found;
}

const NOTHING: View = {
  types: [],
  format: null,
  description: "",
  example: null,
  fields: () => new Map(),
  items: () => null,
};

/** Fields that all alternatives have. */
function commonFields(shapes: readonly (View | null)[]): Map<string, View> {
  const [one, ...others] = shapes.map((shape) => shape?.fields() ?? new Map<string, View>());
  return new Map([...(one ?? [])].filter(([name]) => others.every((fields) => fields.has(name))));
}

function typesOf(parts: readonly Part[], shapes: Shapes): string[] {
  const declaredTypes = parts.flatMap(({ schema }) =>
    [schema.type].flat().filter((type) => typeof type === "string"),
  );
  const types =
    declaredTypes.length > 0 ? declaredTypes : shapes.flat().flatMap((shape) => shape?.types ?? []);
  if (types.length === 0 && parts.some(({ schema }) => isObject(schema.properties))) types.push("object");
  if (types.length === 0 && parts.some(({ schema }) => isObject(schema.items))) types.push("array");
  return [...new Set(types)].filter((type) => type !== "null");
}

export const isList = ({ types }: View) => types.length === 1 && types[0] === "array";
export const isRecord = ({ types }: View) => types.length === 1 && types[0] === "object";
export const isText = ({ types }: View) => types.length === 1 && types[0] === "string";
export const isCount = ({ types }: View) =>
  types.length === 1 && (types[0] === "integer" || types[0] === "number");
export const isFlag = ({ types }: View) => types.length === 1 && types[0] === "boolean";
