import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Whether a shape describes what comes in, where defaults may be left out, or what goes out, which may grow. */
type Direction = "in" | "out";

/** A shape as JSON Schema 2020-12, without the marks and spellings that are TypeBox's own. */
export const toSchema = (shape: TSchema, direction: Direction): JsonObject =>
  plain(JSON.parse(JSON.stringify(shape)), direction);

function plain(schema: JsonObject, direction: Direction): JsonObject {
  const { patternProperties, anyOf, ...rest } = schema;
  if (Array.isArray(anyOf)) return union(anyOf.filter(isObject), rest, direction);
  const made: JsonObject = { ...rest };
  if (isObject(schema.items)) made.items = plain(schema.items, direction);
  if (isObject(patternProperties)) {
    const [values] = Object.values(patternProperties);
    made.additionalProperties = isObject(values) ? plain(values, direction) : true;
  }
  if (isObject(schema.properties)) Object.assign(made, fields(schema, schema.properties, direction));
  return made;
}

function fields(schema: JsonObject, properties: JsonObject, direction: Direction): JsonObject {
  const hasDefault = (name: string) => isObject(properties[name]) && "default" in properties[name];
  const all = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const required = direction === "in" ? all.filter((name) => !hasDefault(name)) : all;
  const { additionalProperties } = schema;
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        isObject(value) ? plain(value, direction) : value,
      ]),
    ),
    required,
    ...(direction === "out" && additionalProperties === false ? { additionalProperties: true } : {}),
  };
}

/** Literals become an enum, and "or null" a second type, where that says the same. */
function union(members: JsonObject[], rest: JsonObject, direction: Direction): JsonObject {
  if (members.every((member) => "const" in member)) {
    return {
      type: [...new Set(members.map((member) => typeOf(member.const ?? null)))],
      enum: members.map((member) => member.const ?? null),
      ...rest,
    };
  }
  const others = members.filter((member) => member.type !== "null").map((member) => plain(member, direction));
  const [only] = others;
  if (others.length === members.length) return { anyOf: others, ...rest };
  if (others.length > 1 || only === undefined || typeof only.type !== "string") {
    return { anyOf: [...others, { type: "null" }], ...rest };
  }
  const { const: value, enum: values, ...own } = only;
  const allowed = Array.isArray(values) ? values : value === undefined ? null : [value];
  return { ...own, type: [only.type, "null"], ...(allowed ? { enum: [...allowed, null] } : {}), ...rest };
}

const typeOf = (value: Json) => (value === null ? "null" : typeof value);
