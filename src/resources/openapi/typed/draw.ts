import type { TSchema } from "@sinclair/typebox";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { Mode } from "../schema.ts";

/** What components are created with: references to others, and shapes as JSON Schema. */
export interface Draw {
  readonly mode: Mode;
  ref(name: string, mode?: Partial<Mode>): JsonObject;
  schema(shape: TSchema | JsonObject): JsonObject;
  /** The same, but never as a reference. */
  plain(shape: TSchema | JsonObject): JsonObject;
}

/** A component that a single shape can't express. `schema` is the shape that refers to it. */
export interface Typed {
  /** For a component that is the same everywhere. */
  mode?: Partial<Mode>;
  /** Prefix of the name if templates can be used instead of values. Default: "Bundle". */
  prefix?: string;
  draw(draw: Draw, schema: JsonObject): JsonObject;
}

export const pascal = (text: string) =>
  text.replace(/(?:^|[-_])(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The value that distinguishes one variant of a union. */
export const only = (value: string, description: string): JsonObject => ({
  type: "string",
  const: value,
  description,
  examples: [value],
});

interface Change {
  title: string;
  description?: string;
  /** Fields that differ in this variant. */
  fields: Readonly<Record<string, JsonObject>>;
  /** Required fields, in addition to those required in all variants. */
  needs?: readonly string[];
  /** Fields that this variant doesn't have. */
  lacks?: readonly string[];
}

/** Returns one variant of an object: with some fields narrowed, required or left out. */
export function variant(
  whole: JsonObject,
  { title, description, fields, needs = [], lacks = [] }: Change,
): JsonObject {
  const properties = isObject(whole.properties) ? whole.properties : {};
  const required = Array.isArray(whole.required) ? whole.required.map(String) : [];
  const names = Object.keys(properties).filter((name) => !lacks.includes(name));
  const needed = [...new Set([...required, ...needs])].filter((name) => !lacks.includes(name));
  return {
    title,
    ...(description === undefined ? {} : { description }),
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(names.map((name) => [name, fields[name] ?? properties[name] ?? {}])),
    required: needed,
  };
}

/** Turns an object's fields into a patch: none is required, and null removes one. */
export function change(whole: JsonObject): JsonObject {
  const properties = isObject(whole.properties) ? whole.properties : {};
  const nullable = (field: JsonObject, name: string): JsonObject => {
    const { description, examples, default: _, ...rest } = field;
    return {
      anyOf: [rest, { type: "null" }],
      description: description ?? `New value of ${name}. Null removes it`,
      ...(examples === undefined ? {} : { examples }),
    };
  };
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [
        name,
        isObject(field) ? nullable(field, name) : field,
      ]),
    ),
  };
}

/** Returns whether an empty object matches the shape. */
export const takesNothing = ({ required = [], properties = {} }: TSchema): boolean =>
  (required as string[]).every((name) => "default" in ((properties as Record<string, object>)[name] ?? {}));
