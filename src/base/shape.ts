import { Kind, type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { isCommonPassword } from "./common-passwords.ts";
import { type Fault, MAX_FAULTS } from "./errors.ts";
import { NULL_IS, NULL_IS_ABSENT } from "./null-shape.ts";
import { isRealDay } from "./real-day.ts";
import { SLUG_PATTERN } from "./slug.ts";
import {
  beyondBounds,
  MISSING,
  notMatching,
  notOfFormat,
  unknownField,
  WRONG_TYPE,
  wrongCount,
  wrongLength,
  wrongSize,
} from "./value-faults.ts";

/**
 * The validator of bodies, queries, paths and definitions: TypeBox shapes, all errors reported with their locations,
 * nothing coerced in a body, nothing dropped silently. It interprets shapes without generating code.
 */

interface Shape {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: TSchema[];
  properties?: Record<string, TSchema>;
  required?: string[];
  additionalProperties?: boolean | TSchema;
  patternProperties?: Record<string, TSchema>;
  items?: TSchema;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  default?: unknown;
}

export interface ReadOptions {
  /** Converts text of a query or path to numbers, booleans and lists. */
  coerce?: boolean;
  /** Values that are valid for any shape, such as whole templates. */
  exempt?: (value: unknown) => boolean;
}

/** Returns `raw` as `schema` describes it with defaults filled in, or all errors. */
export function read<T extends TSchema>(
  schema: T,
  raw: unknown,
  loc: readonly string[],
  options: ReadOptions = {},
): { value: Static<T>; faults: Fault[] } {
  const faults: Fault[] = [];
  const value = walk(schema as Shape & TSchema, raw, loc, options, faults);
  return { value: value as Static<T>, faults };
}

type Walk = (
  schema: Shape & TSchema,
  raw: unknown,
  loc: readonly string[],
  options: ReadOptions,
  faults: Fault[],
) => unknown;

const walk: Walk = (schema, value, loc, options, faults) => {
  if (options.exempt?.(value)) return value;
  const raw = options.coerce ? coerce(schema, value) : value;
  const fail = (msg: string, type: string) => {
    faults.push({ loc, msg, type });
    return raw;
  };

  if (schema.anyOf) return walkUnion(schema, raw, loc, options, faults);
  if (schema.const !== undefined) {
    return raw === schema.const ? raw : fail(`Input should be ${show(schema.const)}`, "literal_error");
  }
  if (schema.enum) {
    return schema.enum.includes(raw)
      ? raw
      : fail(`Input should be ${schema.enum.map(show).join(", ")}`, "enum");
  }
  switch (schema.type) {
    case "string":
      return typeof raw === "string" ? checkString(schema, raw, fail) : fail(...WRONG_TYPE.string);
    case "integer":
      if (typeof raw !== "number" || !Number.isSafeInteger(raw)) return fail(...WRONG_TYPE.integer);
      return checkNumber(schema, raw, fail);
    case "number":
      if (typeof raw !== "number" || !Number.isFinite(raw)) return fail(...WRONG_TYPE.number);
      return checkNumber(schema, raw, fail);
    case "boolean":
      return typeof raw === "boolean" ? raw : fail(...WRONG_TYPE.boolean);
    case "null":
      return raw === null ? raw : fail(...WRONG_TYPE.null);
    case "array":
      return walkArray(schema, raw, loc, options, faults, fail);
    case "object":
      return walkObject(schema, raw, loc, options, faults, fail);
    default:
      return raw; // unknown, any
  }
};

type Fail = (msg: string, type: string) => unknown;

function walkArray(
  schema: Shape,
  raw: unknown,
  loc: readonly string[],
  options: ReadOptions,
  faults: Fault[],
  fail: Fail,
): unknown {
  if (!Array.isArray(raw)) return fail(...WRONG_TYPE.array);
  const fault = wrongCount(raw.length, schema.minItems, schema.maxItems);
  if (fault) return fail(...fault);
  if (!schema.items) return raw;
  const { items } = schema;
  return raw.map((item, index) =>
    faults.length < MAX_FAULTS
      ? walk(items as Shape & TSchema, item, [...loc, String(index)], options, faults)
      : item,
  );
}

function walkObject(
  schema: Shape,
  raw: unknown,
  loc: readonly string[],
  options: ReadOptions,
  faults: Fault[],
  fail: Fail,
): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return fail(...WRONG_TYPE.object);
  const fields = raw as Record<string, unknown>;
  const value: Record<string, unknown> = {};
  const known = schema.properties ?? {};
  for (const [name, shape] of Object.entries(known)) {
    if (fields[name] === null && NULL_IS in shape) {
      value[name] = structuredClone(shape[NULL_IS]);
      continue;
    }
    const isNone = fields[name] === null && NULL_IS_ABSENT in shape;
    if (!Object.hasOwn(fields, name) || fields[name] === undefined || isNone) {
      const fallback = (shape as Shape).default;
      if (fallback !== undefined) value[name] = structuredClone(fallback);
      else if (schema.required?.includes(name)) {
        const [msg, type] = MISSING;
        faults.push({ loc: [...loc, name], msg, type });
      }
      continue;
    }
    value[name] = walk(shape as Shape & TSchema, fields[name], [...loc, name], options, faults);
  }
  const extra = schema.patternProperties
    ? Object.values(schema.patternProperties)[0]
    : schema.additionalProperties;
  let count = Object.keys(value).length;
  for (const [name, item] of Object.entries(fields)) {
    if (Object.hasOwn(known, name)) continue;
    if (faults.length >= MAX_FAULTS) break;
    count++;
    if (extra === false) {
      const [msg, type] = unknownField(Object.keys(known));
      faults.push({ loc: [...loc, name], msg, type });
    } else {
      const kept =
        typeof extra === "object"
          ? walk(extra as Shape & TSchema, item, [...loc, name], options, faults)
          : item;
      Object.defineProperty(value, name, {
        value: kept,
        enumerable: true,
        writable: true,
        configurable: true,
      }); // `__proto__` is an ordinary name too
    }
  }
  const fault = wrongSize(count, schema.minProperties, schema.maxProperties);
  return fault ? fail(...fault) : value;
}

/** Uses the first member that matches, else reports the errors of the closest one. */
function walkUnion(
  schema: Shape,
  raw: unknown,
  loc: readonly string[],
  options: ReadOptions,
  faults: Fault[],
): unknown {
  const members = schema.anyOf as (Shape & TSchema)[];
  if (members.every((member) => member.const !== undefined)) {
    if (members.some((member) => member.const === raw)) return raw;
    const names = members.map((member) => show(member.const)).join(", ");
    faults.push({ loc, msg: `Input should be ${names}`, type: "enum" });
    return raw;
  }
  let closest: Fault[] | null = null;
  for (const member of members) {
    const own: Fault[] = [];
    const value = walk(member, raw, loc, options, own);
    if (own.length === 0) return value;
    if (!closest || closeness(own, loc) > closeness(closest, loc)) closest = own;
  }
  faults.push(...(unknownTag(members, closest ?? [], loc) ?? closest ?? []));
  return raw;
}

/** Returns the error for a tag that no member has. It lists all tags. Null if a member has the tag. */
function unknownTag(
  members: readonly (Shape & TSchema)[],
  closest: readonly Fault[],
  loc: readonly string[],
): Fault[] | null {
  const wrong = closest.find(
    (fault) => fault.type === "literal_error" && fault.loc.length === loc.length + 1,
  );
  const field = wrong?.loc.at(-1) ?? "";
  const tags = members.map((member) => member.properties?.[field]?.const).filter((tag) => tag !== undefined);
  if (!wrong || tags.length < 2) return null;
  return [
    { loc: wrong.loc, msg: `Input should be ${[...new Set(tags)].map(show).join(", ")}`, type: "enum" },
  ];
}

/** Kinds of errors of a value with the right type. */
const BOUNDS = /^(greater|less)_than|^too_|_too_(short|long)$|^multiple_of|^string_pattern/;

/** A member whose errors are deeper was probably meant, rather than one with the wrong type or tag. */
function closeness(faults: Fault[], loc: readonly string[]): number {
  if (faults.some((fault) => fault.type === "literal_error")) return -2;
  const shallow = faults.some((fault) => fault.loc.length === loc.length);
  if (shallow && faults.some((fault) => fault.type === "none_required")) return -3;
  const unknown = faults.filter(({ type }) => type === "extra_forbidden").length; // it was meant for another member
  if (!shallow) return 1 / (faults.length + unknown);
  // Of those that fail at this level, an exceeded limit is closer than a wrong enum value or type.
  return faults.every(({ type }) => BOUNDS.test(type))
    ? -0.5
    : faults.some(({ type }) => type === "enum")
      ? -0.75
      : -1;
}

function checkString(schema: Shape, raw: string, fail: Fail): unknown {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  const length = raw.length > maxLength || raw.length < minLength * 2 ? [...raw].length : raw.length; // characters, not UTF-16 code units
  const fault = wrongLength(length, minLength, maxLength);
  if (fault) return fail(...fault);
  if (!raw.isWellFormed()) return fail("Input should be valid Unicode text", "string_unicode");
  if (raw.includes("\0")) return fail("Input must not contain a NUL character", "string_nul");
  if (schema.format) {
    const check = FORMATS[schema.format];
    if (check && !(check.test(raw) && (!schema.format.startsWith("date") || isRealDay(raw.slice(0, 10)))))
      return fail(...notOfFormat(schema.format));
  }
  if (schema.format === NEW_PASSWORD && isCommonPassword(raw)) {
    return fail(
      "This password is too easy to guess: it is a common password, or based on one. Choose another.",
      "password_common",
    );
  }
  if (schema.pattern && !patternOf(schema.pattern).test(raw)) {
    return fail(...notMatching(schema.pattern));
  }
  return schema.format === "uuid" ? raw.toLowerCase() : raw; // as IDs are stored (RFC 9562, section 4)
}

function checkNumber(schema: Shape, raw: number, fail: Fail): unknown {
  const [fault] = beyondBounds(schema, raw);
  return fault ? fail(...fault) : raw;
}

function coerce(schema: Shape, raw: unknown): unknown {
  if (schema.anyOf) {
    for (const member of schema.anyOf) {
      const value = coerce(member as Shape, raw);
      if (value !== raw) return value;
    }
    return raw;
  }
  switch (schema.type) {
    case "array":
      return raw === undefined || Array.isArray(raw) ? raw : [raw];
    case "integer":
    case "number":
      return typeof raw === "string" && /^-?\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw;
    case "boolean":
      return raw === "true" ? true : raw === "false" ? false : raw;
    default:
      return raw;
  }
}

const patterns = new Map<string, RegExp>();

/** Only for patterns in Weir's own shapes. */
function patternOf(pattern: string): RegExp {
  let compiled = patterns.get(pattern);
  if (!compiled) {
    compiled = new RegExp(pattern, "u");
    patterns.set(pattern, compiled);
  }
  return compiled;
}

/** As RFC 9562 writes UUIDs. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const FORMATS: Readonly<Record<string, RegExp>> = {
  uuid: UUID,
  "date-time":
    /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i,
  date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
  // no invisible characters: two addresses that look alike would seem to be one person's
  email:
    /^[^\s\p{Cc}\p{Cf}@<>()[\],;:\\"]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/u,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
};

/** Format of a new password: not a common one. */
export const NEW_PASSWORD = "new-password";

const show = (value: unknown) => (typeof value === "string" ? `'${value}'` : JSON.stringify(value));

/** An object that rejects unknown fields. */
export const object = <P extends TProperties>(
  properties: P,
  options: Record<string, unknown> = {},
): TObject<P> => Type.Object(properties, { additionalProperties: false, ...options });

export const uuid = () => Type.String({ format: "uuid" });
export const instant = () => Type.String({ format: "date-time" });
export const slug = () => Type.String({ minLength: 1, maxLength: 100, pattern: SLUG_PATTERN });
/** A shape with a description, which forms and the documents show. */
export const described = <T extends TSchema>(description: string, schema: T): T => ({
  ...schema,
  description,
});

/**
 * A shape whose JSON Schema has a name and a writer of its own,
 * since one schema can't express all of it (`openapi/typed`).
 */
export const typed = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, "x-is": name });
/** A shape with the value that an absent field implies. `read` doesn't fill it in. */
export const implied = <T extends TSchema>(value: unknown, schema: T): T => ({
  ...schema,
  "x-default": value,
});
/** A shape with realistic examples. */
export const exemplified = <T extends TSchema>(examples: readonly unknown[], schema: T): T => ({
  ...schema,
  examples,
});

/** A text that people read as a name. */
export const named = (maxLength = 255) => Type.String({ minLength: 1, maxLength, pattern: "\\S" });
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const oneOf = <const T extends readonly string[]>(values: T, options: Record<string, unknown> = {}) =>
  Type.Unsafe<T[number]>({ [Kind]: "Unsafe", type: "string", enum: values, ...options });
export const optional = Type.Optional;
/** A field of a request with a `default`: clients can omit it, handlers always get it. */
export type Defaulted<T extends TSchema> = T & { readonly "~defaulted": true };
export const defaulted = <T extends TSchema>(schema: T) => schema as Defaulted<T>;
export const map = <T extends TSchema>(schema: T) => Type.Record(Type.String(), schema);
export const anything = () => Type.Unsafe<import("./json.ts").Json>({});
export const jsonObject = (options: Record<string, unknown> = {}) =>
  Type.Unsafe<import("./json.ts").JsonObject>({ type: "object", additionalProperties: true, ...options });

/** A user-defined JSON Schema. */
export const jsonSchema = (options: Record<string, unknown> = {}) =>
  typed("JsonSchema", jsonObject({ description: "A JSON Schema (draft 2020-12)", ...options }));

/** `limit` and `offset` of a list. */
export const offsetQuery = (fallback: number, maximum = 100) => ({
  limit: Type.Integer({ minimum: 1, maximum, default: fallback }),
  offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
});

/** `limit` and `cursor` of a list. */
export const cursorQuery = (fallback: number, maximum = 100) => ({
  limit: Type.Integer({ minimum: 1, maximum, default: fallback }),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
});
