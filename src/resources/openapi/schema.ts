import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { exampleIn } from "./example.ts";
import { meaningOf } from "./meanings.ts";

/** Whether a shape describes input, where defaults can be omitted, or output, which can get more fields. */
type Direction = "in" | "out";

/** How a shape is written. */
export interface Mode {
  direction: Direction;
  /** Whether `{{…}}` can be used instead of any value. */
  isFilled?: boolean;
  /** Whether `${…}` can be used instead of a text, as in the files of `weir apply`. */
  hasPlaceholders?: boolean;
}

/** Returns the component of a shape. Null if it has none. */
export type Refer = (schema: JsonObject, mode: Mode) => JsonObject | null;

/** Converts a shape to JSON Schema 2020-12, without what is specific to TypeBox. */
export const toSchema = (shape: TSchema | JsonObject, mode: Mode, refer: Refer = () => null): JsonObject =>
  writer(mode, refer).whole(JSON.parse(JSON.stringify(shape)));

/** Returns the JSON Schema of a shape that is itself a component: only nested shapes can refer to others. */
export const toComponent = (shape: TSchema | JsonObject, mode: Mode, refer: Refer): JsonObject =>
  writer(mode, refer).plain(JSON.parse(JSON.stringify(shape)));

const ANY = { description: "Any JSON value" };

function writer(mode: Mode, refer: Refer) {
  const isIn = mode.direction === "in";
  const whole = (schema: JsonObject): JsonObject => refer(schema, mode) ?? plain(schema);
  const value = (schema: JsonObject): JsonObject => opened(schema, whole(schema), mode, refer);

  function plain(schema: JsonObject): JsonObject {
    const { patternProperties, anyOf, "x-is": _, "x-default": implied, ...own } = schema;
    const rest = isIn && implied !== undefined ? { ...own, default: implied } : own;
    if (Array.isArray(anyOf)) return union(anyOf.filter(isObject), rest);
    const made: JsonObject = { ...rest };
    if (isObject(schema.items)) made.items = value(schema.items);
    if (isIn && made.additionalProperties === true) made.additionalProperties = ANY;
    if (isObject(patternProperties)) {
      const [values] = Object.values(patternProperties);
      made.additionalProperties =
        isObject(values) && Object.keys(values).length > 0 ? value(values) : isIn ? ANY : true;
    }
    if (isObject(schema.properties)) Object.assign(made, fields(schema, schema.properties));
    return made;
  }

  function fields(schema: JsonObject, properties: JsonObject): JsonObject {
    const hasDefault = (name: string) => isObject(properties[name]) && "default" in properties[name];
    const all = Array.isArray(schema.required) ? schema.required.map(String) : [];
    const required = isIn ? all.filter((name) => !hasDefault(name)) : all;
    const { additionalProperties } = schema;
    return {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [
          name,
          isObject(field) ? documented(name, field) : field,
        ]),
      ),
      required,
      ...(!isIn && additionalProperties === false ? { additionalProperties: true } : {}),
    };
  }

  /** Adds a description and an example to a field. */
  function documented(name: string, schema: JsonObject): JsonObject {
    const made = value(schema);
    if (!isIn || typeof made.$ref === "string") return made;
    const example = Array.isArray(made.examples) || isNoneOrRef(made) ? undefined : exampleIn(schema, name);
    const description = made.description ?? meaningIn(schema) ?? meaningOf(name);
    return {
      ...made,
      ...(description === undefined ? {} : { description }),
      ...(example === undefined ? {} : { examples: [example] }),
    };
  }

  /** Merges literals into an enum, and null into a second type, if that is equivalent. */
  function union(members: JsonObject[], rest: JsonObject): JsonObject {
    if (members.every((member) => "const" in member)) {
      return {
        type: [...new Set(members.map((member) => typeOf(member.const ?? null)))],
        enum: members.map((member) => member.const ?? null),
        ...rest,
      };
    }
    const others = members.filter((member) => member.type !== "null").map(whole);
    const [only] = others;
    if (others.length === members.length) return { anyOf: others, ...rest };
    if (others.length > 1 || only === undefined || typeof only.type !== "string") {
      return { anyOf: [...others, { type: "null" }], ...rest };
    }
    const { const: constant, enum: values, ...own } = only;
    const allowed = Array.isArray(values) ? values : constant === undefined ? null : [constant];
    return { ...own, type: [only.type, "null"], ...(allowed ? { enum: [...allowed, null] } : {}), ...rest };
  }

  return { whole, plain };
}

/** Returns the description of a shape, also if it is nested in a union with null. */
function meaningIn({ description, anyOf }: JsonObject): Json | undefined {
  if (description !== undefined || !Array.isArray(anyOf)) return description;
  const [only, ...more] = anyOf.filter((member) => isObject(member) && member.type !== "null");
  return isObject(only) && more.length === 0 ? only.description : undefined;
}

/** True for null or another schema, which has its own example. */
const isNoneOrRef = ({ anyOf }: JsonObject): boolean =>
  Array.isArray(anyOf) && anyOf.length === 2 && anyOf.some((one) => isObject(one) && "$ref" in one);

/** Adds the alternatives to a value: a template, or a placeholder. */
function opened(schema: JsonObject, made: JsonObject, mode: Mode, refer: Refer): JsonObject {
  const named = (name: string) => refer({ "x-is": name }, mode) ?? {};
  const others = [
    ...(mode.isFilled && !takesText(schema) ? [named("TemplateExpression")] : []),
    ...(mode.hasPlaceholders && isScalar(schema) && !takesText(schema) ? [named("Placeholder")] : []),
  ];
  if (others.length === 0) return made;
  const { anyOf, ...rest } = made;
  const notes = Object.entries(rest).filter(([name]) => NOTES.includes(name));
  const rules = Object.fromEntries(Object.entries(rest).filter(([name]) => !NOTES.includes(name)));
  const own = !Array.isArray(anyOf)
    ? [rules]
    : Object.keys(rules).length === 0
      ? anyOf
      : [{ anyOf, ...rules }];
  return { anyOf: [...own, ...others], ...Object.fromEntries(notes) };
}

/** Keywords that don't restrict values. */
const NOTES = ["title", "description", "default", "examples"];

/** Shorter texts can be templates or placeholders, so their length isn't limited. */
const ROOM = 300;

/** Returns whether any text that isn't too long matches. */
function takesText({ anyOf, type, ...schema }: JsonObject): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((member) => isObject(member) && takesText(member));
  if (type === undefined) return schema.const === undefined && schema.enum === undefined;
  if (type !== "string") return false;
  const { pattern, format, minLength = 0, maxLength = ROOM } = schema;
  if ("const" in schema || "enum" in schema) return false;
  const isFree = pattern === undefined || pattern === "\\S";
  return (
    isFree &&
    (format === undefined || format === "password") &&
    Number(minLength) <= 5 &&
    Number(maxLength) >= ROOM
  );
}

const SCALARS: ReadonlySet<Json | undefined> = new Set(["string", "integer", "number", "boolean"]);

/** Returns whether texts, numbers or booleans can match. */
const isScalar = ({ anyOf, type }: JsonObject): boolean =>
  Array.isArray(anyOf) ? anyOf.some((member) => isObject(member) && isScalar(member)) : SCALARS.has(type);

const typeOf = (value: Json) => (value === null ? "null" : typeof value);
