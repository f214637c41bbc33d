import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Whether a shape describes what comes in, where defaults may be left out, or what goes out, which may grow. */
export type Direction = "in" | "out";

/** Gives the component that stands for a shape, by the shape's JSON text; null where none does. */
export type Refer = (text: string, direction: Direction) => JsonObject | null;

/** A shape as JSON Schema 2020-12, without the marks and spellings that are TypeBox's own. */
export const toSchema = (shape: TSchema, direction: Direction, refer: Refer = () => null): JsonObject =>
  writer(direction, refer).whole(JSON.parse(JSON.stringify(shape)));

/** The JSON Schema of a shape that is itself a component: only what is in it may refer to others. */
export const toComponent = (text: string, direction: Direction, refer: Refer): JsonObject =>
  writer(direction, refer).plain(JSON.parse(text));

function writer(direction: Direction, refer: Refer) {
  const whole = (schema: JsonObject): JsonObject => refer(JSON.stringify(schema), direction) ?? plain(schema);

  function plain(schema: JsonObject): JsonObject {
    const { patternProperties, anyOf, ...rest } = schema;
    if (Array.isArray(anyOf)) return union(anyOf.filter(isObject), rest);
    const made: JsonObject = { ...rest };
    if (isObject(schema.items)) made.items = whole(schema.items);
    if (isObject(patternProperties)) {
      const [values] = Object.values(patternProperties);
      made.additionalProperties = isObject(values) ? whole(values) : true;
    }
    if (isObject(schema.properties)) Object.assign(made, fields(schema, schema.properties));
    return made;
  }

  function fields(schema: JsonObject, properties: JsonObject): JsonObject {
    const hasDefault = (name: string) => isObject(properties[name]) && "default" in properties[name];
    const all = Array.isArray(schema.required) ? schema.required.map(String) : [];
    const required = direction === "in" ? all.filter((name) => !hasDefault(name)) : all;
    const { additionalProperties } = schema;
    return {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [name, isObject(value) ? whole(value) : value]),
      ),
      required,
      ...(direction === "out" && additionalProperties === false ? { additionalProperties: true } : {}),
    };
  }

  /** Literals become an enum, and "or null" a second type, where that says the same. */
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
    const { const: value, enum: values, ...own } = only;
    const allowed = Array.isArray(values) ? values : value === undefined ? null : [value];
    return { ...own, type: [only.type, "null"], ...(allowed ? { enum: [...allowed, null] } : {}), ...rest };
  }

  return { whole, plain };
}

const typeOf = (value: Json) => (value === null ? "null" : typeof value);
