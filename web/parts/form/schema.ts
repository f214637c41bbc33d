import type { Schema } from "../../calls.ts";
import { isSame } from "./typed.ts";

interface Option {
  /** The value as text. */
  value: string;
  is: unknown;
  name?: string;
  about?: string;
}

/** How a field of a JSON Schema is rendered. */
export type Drawn =
  | { as: "choice"; options: readonly Option[] }
  | { as: "choices"; options: readonly Option[] }
  | { as: "yes" }
  | { as: "number" }
  | { as: "time"; type: "date" | "time" | "datetime-local" }
  | { as: "text"; isSecret: boolean; isLong: boolean }
  | { as: "lines"; isNumber: boolean }
  | { as: "items"; of: Schema }
  | { as: "group"; of: Schema }
  | { as: "pairs"; of: Schema }
  | { as: "variants"; tag: string; of: readonly { name: string; schema: Schema }[] }
  | { as: "shapes"; of: readonly { name: string; schema: Schema }[] }
  | { as: "json" };

const asSchema = (value: unknown): Schema | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : null;

export const propertiesOf = (schema: Schema): [name: string, schema: Schema][] =>
  Object.entries(asSchema(schema.properties) ?? {}).map(([name, of]) => [name, asSchema(of) ?? {}]);

export const requiredOf = (schema: Schema): readonly string[] =>
  Array.isArray(schema.required) ? (schema.required as string[]) : [];

const membersOf = (schema: Schema): Schema[] => {
  const any = schema.anyOf ?? schema.oneOf;
  return Array.isArray(any) ? any.map((each) => asSchema(each) ?? {}) : [];
};

const SCALARS = ["string", "number", "integer", "boolean", "null"];

/** Returns whether a schema allows no lists and objects. */
export function isScalar(schema: Schema): boolean {
  const members = membersOf(schema);
  return members.length > 0 ? members.every(isScalar) : SCALARS.includes(String(schema.type));
}

/** Returns whether a schema allows text. */
export function allowsText(schema: Schema): boolean {
  const members = membersOf(schema);
  if (members.length > 0) return members.some(allowsText);
  return schema.type === undefined || [schema.type].flat().includes("string");
}

/** Returns whether a schema allows all types. */
export const isAny = (schema: Schema): boolean =>
  schema.type === undefined && schema.enum === undefined && membersOf(schema).length === 0;

/** Returns whether a schema allows null. */
export function allowsNull(schema: Schema): boolean {
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  const members = membersOf(schema);
  return members.length > 0 ? members.some(allowsNull) : [schema.type].flat().includes("null");
}

const TIMES = new Map([
  ["date", "date"],
  ["time", "time"],
  ["date-time", "datetime-local"],
] as const);

const LONG_TEXT = 2000;
const LONG_NAMES = /^(sql|body|markdown|prompt|instructions|description|where|when)$/;

/**
 * Selects the rendering of `schema`. `json` if there is no form for it. Unlike an answer, a definition can have a
 * template in place of a value, so its numbers and times must be typed.
 */
export function drawnAs(name: string, schema: Schema, isAnswer = false): Drawn {
  const members = membersOf(schema).filter((member) => member.type !== "null");
  if (members.length === 1 && members[0])
    return drawnAs(name, { ...schema, anyOf: undefined, oneOf: undefined, ...members[0] }, isAnswer);
  if (members.length > 1) return drawnUnion(members, isAnswer);
  if (Array.isArray(schema.enum)) {
    const options = optionsOf(
      schema.enum.filter((each) => each !== null).map((is) => ({ const: is })),
      isAnswer,
    );
    if (options) return { as: "choice", options };
  }
  const [type, ...others] = [schema.type].flat().filter((each) => each !== "null");
  const time = isAnswer && TIMES.get(schema.format as "date");
  switch (others.length === 0 && type) {
    case "boolean":
      return { as: "yes" };
    case "integer":
    case "number":
      return { as: "number" };
    case "string":
      if (time) return { as: "time", type: time };
      return {
        as: "text",
        isSecret: schema.format === "password" || schema.writeOnly === true,
        isLong:
          schema.contentMediaType !== undefined ||
          LONG_NAMES.test(name) ||
          (Number(schema.maxLength ?? 0) > LONG_TEXT && schema.format === undefined),
      };
    case "array":
      return drawnArray(asSchema(schema.items) ?? {}, isAnswer);
    case "object":
      return drawnObject(schema);
    default:
      return { as: "json" };
  }
}

/** Options for schemas with one value each. Null if they have no distinct texts. */
function optionsOf(schemas: readonly Schema[], isAnswer: boolean): Option[] | null {
  const types = isAnswer ? ["string", "number", "boolean"] : ["string"];
  if (!schemas.every(({ const: is }) => types.includes(typeof is))) return null;
  const options = schemas.map(({ const: is, title, description }) => ({
    value: String(is),
    is,
    ...(typeof title === "string" ? { name: title } : {}),
    ...(typeof description === "string" ? { about: description } : {}),
  }));
  return new Set(options.map(({ value }) => value)).size === options.length ? options : null;
}

function drawnUnion(members: readonly Schema[], isAnswer: boolean): Drawn {
  const options = optionsOf(members, isAnswer);
  if (options) return { as: "choice", options };
  const [first] = members;
  const tag = propertiesOf(first ?? {}).find(([, { const: value }]) => typeof value === "string")?.[0];
  const named = members.map((schema) => ({
    name: String(propertiesOf(schema).find(([name]) => name === tag)?.[1].const ?? ""),
    schema,
  }));
  if (tag !== undefined && named.every(({ name }) => name !== "")) return { as: "variants", tag, of: named };
  const titled = members.map((schema) => ({ name: String(schema.title ?? ""), schema }));
  if (titled.every(({ name, schema }) => name !== "" && propertiesOf(schema).length > 0))
    return { as: "shapes", of: titled };
  return members.every(isScalar) && members.some(allowsText)
    ? { as: "text", isSecret: false, isLong: false }
    : { as: "json" };
}

function drawnArray(items: Schema, isAnswer: boolean): Drawn {
  const item = isAnswer && drawnAs("", items, isAnswer);
  if (item && item.as === "choice") return { as: "choices", options: item.options };
  if (items.type === "string" && !items.enum) return { as: "lines", isNumber: false };
  if (items.type === "integer" || items.type === "number") return { as: "lines", isNumber: true };
  if (items.type === "object" && propertiesOf(items).length > 0) return { as: "items", of: items };
  return { as: "json" };
}

function drawnObject(schema: Schema): Drawn {
  if (propertiesOf(schema).length > 0) return { as: "group", of: schema };
  const [values = schema.additionalProperties] = Object.values(asSchema(schema.patternProperties) ?? {});
  const of = asSchema(values);
  return of && of.type !== "object" && of.type !== "array" ? { as: "pairs", of } : { as: "json" };
}

/** Returns whether a field is short enough for half a row. */
export function isShort(name: string, schema: Schema, isAnswer: boolean): boolean {
  const drawn = drawnAs(name, schema, isAnswer);
  return (
    drawn.as === "choice" ||
    drawn.as === "number" ||
    drawn.as === "yes" ||
    drawn.as === "time" ||
    (drawn.as === "text" && !drawn.isLong)
  );
}

/** `primaryKey` → `Primary key`, `memoryMb` → `Memory (MB)`. */
export const titleOf = (name: string, schema: Schema): string =>
  typeof schema.title === "string"
    ? schema.title
    : name
        .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
        .replaceAll("_", " ")
        .toLowerCase()
        .replace(/^./, (letter) => letter.toUpperCase())
        .replace(/\b(url|sql|id|ssl|ssh|api|http|json|csv)\b/gi, (word) => word.toUpperCase())
        .replace(/ mb$/, " (MB)");

export const aboutOf = (schema: Schema): string | null =>
  typeof schema.description === "string" ? schema.description : null;

/** A description and a note after it. */
export function withNote(about: string | null, note: string | null): string | null {
  if (!about || !note) return about || note;
  return /[.?!:]$/.test(about) ? `${about} ${note}` : `${about}. ${note}`;
}

/** Returns whether a schema allows a value of this type, or this option. */
function fits(value: unknown, schema: Schema): boolean {
  const members = membersOf(schema);
  if (members.length > 0) return members.some((member) => fits(value, member));
  if (schema.const !== undefined) return schema.const === value;
  if (Array.isArray(schema.enum)) return schema.enum.some((each) => isSame(each, value));
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const types = [schema.type ?? type].flat();
  return types.includes(type) || (Number.isInteger(value) && types.includes("integer"));
}

/** What an answer has for a required field that is empty. Undefined if the field must be filled in. */
export function emptyOf(schema: Schema): unknown {
  if (allowsNull(schema)) return null;
  const { as } = drawnAs("", schema, true);
  if (as === "choices" || as === "lines" || as === "items") return [];
  return as === "pairs" ? {} : undefined;
}

/**
 * The value with which a form starts: the defaults of required fields. An answer has all defaults unless its receiver
 * `addsDefaults`, because it is sent as shown.
 */
export function startValue(
  schema: Schema,
  isAnswer = false,
  addsDefaults = !isAnswer,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [name, of] of propertiesOf(schema)) {
    const isRequired = requiredOf(schema).includes(name);
    const start = isAnswer
      ? startOf(of, isRequired, addsDefaults)
      : isRequired && of.default !== undefined
        ? of.default
        : of.const;
    if (start !== undefined) value[name] = start;
  }
  return value;
}

/** What a field of an answer starts with. An optional field that starts empty is left out. */
function startOf(schema: Schema, isRequired: boolean, addsDefaults: boolean): unknown {
  const { default: fallback, const: only } = schema;
  const isUsed = isRequired || !(addsDefaults || fallback === "" || isSame(fallback, []));
  if (fallback !== undefined && isUsed && fits(fallback, schema)) return fallback;
  if (only !== undefined || !isRequired) return only;
  const drawn = drawnAs("", schema, true);
  const shape = drawn.as === "group" ? drawn.of : drawn.as === "shapes" ? drawn.of[0]?.schema : undefined;
  return shape && !allowsNull(schema) ? startValue(shape, true, addsDefaults) : emptyOf(schema);
}
