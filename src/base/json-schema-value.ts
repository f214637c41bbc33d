import { MAX_FAULTS } from "./errors.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "./json.ts";
import { isBeyondDoubles } from "./json-numbers.ts";
import { schemaAt } from "./json-schema-shape.ts";
import { fitsFormat, patternOf } from "./json-schema-text.ts";
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

/** An error in a value. `path` starts at the value's root, with array indexes as strings. */
export interface ValueFault {
  path: readonly string[];
  message: string;
  type: string;
}

/** Maximum number of steps: a schema applied to a value, or similar work for patterns and comparisons. About 40 ms. */
const MAX_STEPS = 200_000;
const MAX_LEVELS = 400;

class TooComplex extends Error {}

const TOO_LONG = new Map([
  ["integer", "Input should be an integer between -2^53 and 2^53. Use the type string for larger ones"],
  ["number", "Input should be a number of at most 15 digits. Use the type string for more"],
]);

/**
 * Returns the error for a value of the wrong type.
 * Numbers beyond doubles arrive as text, and have a message of their own.
 */
function wrongType(type: string, value: Json): readonly [message: string, code: string] {
  const fault = WRONG_TYPE[type as keyof typeof WRONG_TYPE] ?? NO_TYPE;
  const tooLong = TOO_LONG.get(type);
  return tooLong !== undefined && typeof value === "string" && isBeyondDoubles(value)
    ? [tooLong, fault[1]]
    : fault;
}

/** A path as a linked list. Most are never reported, so they aren't copied at each level. */
type Way = { up: Way; name: string; length: number } | null;

const to = (up: Way, name: string): Way => ({ up, name, length: (up?.length ?? 0) + 1 });

function pathOf(way: Way): string[] {
  const path: string[] = [];
  for (let at = way; at; at = at.up) path.push(at.name);
  return path.reverse();
}

/** A `ValueFault` before its message and path are built. */
interface Found {
  way: Way;
  message: () => string;
  type: string;
}

interface Round {
  root: Json;
  steps: number;
  /** Schemas that were referenced. */
  refs: Map<string, Json>;
}

/** Validates a value against a valid schema. */
export function checkValue(schema: Json, value: Json): ValueFault[] {
  const found: Found[] = [];
  try {
    new Check({ root: schema, steps: MAX_STEPS, refs: new Map() }, found).fits(schema, value, null, 0);
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error;
    const message = "This value takes too long to check against its schema.";
    return [{ path: [], message, type: "too_complex" }];
  }
  return found.map(({ way, message, type }) => ({ path: pathOf(way), message: message(), type }));
}

/** One pass over a value. Schemas that may fail, as in `not`, get a pass of their own. */
class Check {
  readonly #round: Round;
  readonly #faults: Found[];

  constructor(round: Round, faults: Found[]) {
    this.#round = round;
    this.#faults = faults;
  }

  /** Returns whether `value` is valid. Otherwise, its errors have been added. */
  fits(schema: Json, value: Json, path: Way, level: number): boolean {
    this.#spend(1);
    if (level > MAX_LEVELS) throw new TooComplex();
    if (schema === true) return true;
    if (!isObject(schema)) return this.#fail(path, "Nothing is allowed here", "extra_forbidden");
    const before = this.#faults.length;
    if (before >= MAX_FAULTS) return false;
    const own = this.#own(schema, value, path);
    // A wrong type is reported once, without the errors that follow from it.
    if (own) {
      if (typeof value === "string") this.#text(schema, value, path);
      else if (typeof value === "number") this.#number(schema, value, path);
      else if (Array.isArray(value)) this.#list(schema, value, path, level);
      else if (isObject(value)) this.#object(schema, value, path, level);
    }
    this.#inPlace(schema, value, path, level);
    return this.#faults.length === before;
  }

  #own(schema: JsonObject, value: Json, path: Way): boolean {
    const { type } = schema;
    const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : null;
    if (types && !types.some((name) => isOf(name, value))) {
      const [message, code] = wrongType(String(types[0]), value);
      return types.length === 1
        ? this.#fail(path, message, code)
        : this.#fail(path, () => `Input should be one of ${types.join(", ")}`, "type_error");
    }
    if (Object.hasOwn(schema, "const") && !this.#same(schema.const as Json, value)) {
      return this.#fail(path, () => `Input should be ${show(schema.const as Json)}`, "literal_error");
    }
    const members = schema.enum;
    if (Array.isArray(members) && !members.some((member) => this.#same(member, value))) {
      return this.#fail(path, () => `Input should be ${members.slice(0, 20).map(show).join(", ")}`, "enum");
    }
    return true;
  }

  #text(schema: JsonObject, value: string, path: Way): void {
    const { minLength, maxLength, pattern, format } = schema;
    const counted = minLength !== undefined || maxLength !== undefined;
    const length = counted ? [...value].length : value.length; // characters, not UTF-16 code units
    const fault = wrongLength(length, minLength, maxLength);
    if (fault) this.#fail(path, ...fault);
    if (typeof pattern === "string" && !this.#matches(pattern, value))
      this.#fail(path, ...notMatching(pattern));
    if (typeof format === "string") {
      this.#spend(length >> 4);
      if (!fitsFormat(format, value)) this.#fail(path, ...notOfFormat(format));
    }
  }

  #number(schema: JsonObject, value: number, path: Way): void {
    const { multipleOf } = schema;
    for (const fault of beyondBounds(schema, value)) this.#fail(path, ...fault);
    if (isNumber(multipleOf) && !isMultiple(value, multipleOf))
      this.#fail(path, `Input should be a multiple of ${multipleOf}`, "multiple_of");
  }

  #list(schema: JsonObject, value: Json[], path: Way, level: number): void {
    const { minItems, maxItems, items, contains } = schema;
    const fault = wrongCount(value.length, minItems, maxItems);
    if (fault) this.#fail(path, ...fault);
    if (isNumber(maxItems) && value.length > maxItems) return;
    const first = Array.isArray(items) ? items : Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const rest = Array.isArray(items) ? schema.additionalItems : items;
    for (const [index, item] of value.entries()) {
      const shape = index < first.length ? first[index] : rest;
      if (shape !== undefined) this.fits(shape, item, to(path, String(index)), level + 1);
    }
    if (schema.uniqueItems === true) {
      const seen = new Set(value.map((item) => this.#canonical(item)));
      if (seen.size < value.length) this.#fail(path, "Items must be unique", "not_unique");
    }
    if (contains !== undefined) {
      const least = isNumber(schema.minContains) ? schema.minContains : 1;
      const most = isNumber(schema.maxContains) ? schema.maxContains : Number.POSITIVE_INFINITY;
      const found = value.filter((item) => this.#would(contains, item, level + 1)).length;
      if (found < least)
        this.#fail(path, `At least ${least} item(s) should match the schema of contains`, "too_short");
      if (found > most)
        this.#fail(path, `At most ${most} item(s) may match the schema of contains`, "too_long");
    }
  }

  #object(schema: JsonObject, value: JsonObject, path: Way, level: number): void {
    const { minProperties, maxProperties, additionalProperties, propertyNames } = schema;
    const properties = isObject(schema.properties) ? schema.properties : {};
    const patterns = isObject(schema.patternProperties) ? Object.entries(schema.patternProperties) : [];
    const names = Object.keys(value);
    for (const name of listOf(schema.required)) this.#require(value, name, path);
    for (const [name, needs] of [...entriesOf(schema.dependentRequired), ...entriesOf(schema.dependencies)]) {
      if (Object.hasOwn(value, name)) for (const need of listOf(needs)) this.#require(value, need, path);
    }
    const fault = wrongSize(names.length, minProperties, maxProperties);
    if (fault) this.#fail(path, ...fault);
    for (const name of names) {
      const item = value[name] as Json;
      const at = to(path, name);
      let known = false;
      if (Object.hasOwn(properties, name)) {
        known = true;
        this.fits(properties[name] as Json, item, at, level + 1);
      }
      for (const [pattern, shape] of patterns) {
        if (!this.#matches(pattern, name)) continue;
        known = true;
        this.fits(shape, item, at, level + 1);
      }
      if (!known && additionalProperties === false) {
        this.#spend(1);
        this.#fail(at, ...unknownField(Object.keys(properties)));
      } else if (!known && additionalProperties !== undefined)
        this.fits(additionalProperties, item, at, level + 1);
      if (propertyNames !== undefined && !this.#would(propertyNames, name, level + 1))
        this.#fail(at, "Field name not allowed", "extra_forbidden");
    }
  }

  #inPlace(schema: JsonObject, value: Json, path: Way, level: number): void {
    const next = level + 1;
    if (typeof schema.$ref === "string") this.fits(this.#at(schema.$ref), value, path, next);
    for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) this.fits(part, value, path, next);
    if (Array.isArray(schema.anyOf)) this.#union(schema.anyOf, value, path, next);
    if (Array.isArray(schema.oneOf)) {
      const fitting = schema.oneOf.filter((part) => this.#would(part, value, next)).length;
      if (fitting === 0) this.#union(schema.oneOf, value, path, next);
      else if (fitting > 1)
        this.#fail(path, "Input should match exactly one of the allowed schemas", "union_error");
    }
    if (schema.not !== undefined && this.#would(schema.not, value, next))
      this.#fail(path, "Input should not match this schema", "not_allowed");
    if (schema.if !== undefined) {
      const branch = this.#would(schema.if, value, next) ? schema.then : schema.else;
      if (branch !== undefined) this.fits(branch, value, path, next);
    }
    if (!isObject(value)) return;
    for (const [name, part] of [...entriesOf(schema.dependentSchemas), ...entriesOf(schema.dependencies)]) {
      if (!Array.isArray(part) && Object.hasOwn(value, name)) this.fits(part, value, path, next);
    }
  }

  /** If no schema matches, reports the errors of the closest one, if one was clearly meant. */
  #union(forms: Json[], value: Json, path: Way, level: number): void {
    let meant: Found[] | null = null;
    const length = path?.length ?? 0;
    for (const form of forms) {
      const faults: Found[] = [];
      this.#spend(1);
      if (new Check(this.#round, faults).fits(form, value, path, level)) return;
      const deep = faults.every(
        (fault) => (fault.way?.length ?? 0) > length && fault.type !== "literal_error",
      );
      if ((deep || forms.length === 1) && (!meant || faults.length < meant.length)) meant = faults;
    }
    if (meant) this.#faults.push(...meant);
    else this.#fail(path, "Input should match one of the allowed schemas", "union_error");
  }

  #at(ref: string): Json {
    this.#spend(1);
    const { root, refs } = this.#round;
    const known = refs.get(ref);
    if (known !== undefined) return known;
    const schema = schemaAt(root, ref);
    refs.set(ref, schema);
    return schema;
  }

  #would(schema: Json, value: Json, level: number): boolean {
    return new Check(this.#round, []).fits(schema, value, null, level);
  }

  #require(value: JsonObject, name: string, path: Way): void {
    if (!Object.hasOwn(value, name)) this.#fail(to(path, name), ...MISSING);
  }

  #matches(source: string, text: string): boolean {
    const pattern = patternOf(source);
    if (typeof pattern === "string") return false; // such a schema was rejected before
    this.#spend(1 + ((text.length * Math.min(pattern.size, 500)) >> 7));
    return pattern.test(text);
  }

  #same(one: Json, other: Json): boolean {
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
      this.#spend(0.1);
      return one === other;
    }
    return this.#canonical(one) === this.#canonical(other);
  }

  #canonical(value: Json): string {
    const text = canonicalJson(value);
    this.#spend(1 + (text.length >> 6));
    return text;
  }

  #spend(steps: number): void {
    this.#round.steps -= steps;
    if (this.#round.steps < 0) throw new TooComplex();
  }

  #fail(way: Way, message: string | (() => string), type: string): false {
    this.#faults.push({ way, message: typeof message === "string" ? () => message : message, type });
    return false;
  }
}

const NO_TYPE = ["Input has the wrong type", "type_error"] as const;

function isOf(type: Json, value: Json): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Allows for floating-point errors, for example 0.3 as a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  if (!Number.isFinite(times)) return value % step === 0;
  return Math.abs(times - Math.round(times)) <= Math.abs(times) * 1e-12;
}

const isNumber = (value: unknown): value is number => typeof value === "number";
const listOf = (value: Json | undefined): string[] => (Array.isArray(value) ? (value as string[]) : []);
const entriesOf = (value: Json | undefined): [string, Json][] =>
  isObject(value) ? Object.entries(value) : [];

function show(value: Json): string {
  if (typeof value === "string") return `'${value.slice(0, 100)}'`;
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
