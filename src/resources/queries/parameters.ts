import { Type } from "@sinclair/typebox";
import { type Fault, InvalidInput } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { fromDigits, NumberText } from "../../base/json-numbers.ts";
import { taggedNumber } from "../../base/parameter-numbers.ts";
import { read } from "../../base/shape.ts";
import type { SqlValue } from "../../sql/contract.ts";
import type { Parameter, ParameterType } from "./table.ts";

const SHAPES = {
  text: Type.String({ maxLength: 10_000 }),
  number: Type.Union([
    Type.Number(),
    Type.String({ maxLength: 100, pattern: "^-?\\d+(\\.\\d+)?$" }), // More digits than a JSON number keeps.
  ]),
  integer: Type.Union([Type.Integer(), Type.String({ maxLength: 100, pattern: "^-?\\d+$" })]),
  boolean: Type.Boolean(),
  date: Type.String({ format: "date" }),
  timestamp: Type.String({ format: "date-time" }),
} as const satisfies Record<ParameterType, object>;

/** Returns what is wrong with a value of this type at `loc`. Null is valid for every type. */
export function valueFaults(type: ParameterType, tagged: Json, loc: readonly string[]): Fault[] {
  const value = taggedNumber(tagged) ?? tagged;
  return value === null || (type === "integer" && Number.isInteger(value))
    ? []
    : read(SHAPES[type], value, loc).faults;
}

const NUMBERS: Partial<Record<ParameterType, RegExp>> = { number: /^-?\d+(\.\d+)?$/, integer: /^-?\d+$/ };

/** Converts a query string's text to a value of the type. A number that a double can't hold stays text. */
export function fromText(type: ParameterType, text: string): Json {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return NUMBERS[type]?.test(text) ? fromDigits(text) : text;
}

/** Returns what is wrong with the defaults of parameters. */
export const defaultFaults = (
  parameters: Readonly<Record<string, { type: ParameterType; default?: Json }>>,
  loc: readonly string[],
): Fault[] =>
  Object.entries(parameters).flatMap(([name, { type, default: value = null }]) =>
    valueFaults(type, value, [...loc, name, "default"]),
  );

/**
 * Returns the value of each parameter: the given one, otherwise its default. Throws `InvalidInput` for one that is
 * missing, unknown or of another type.
 */
export function valuesFor(
  parameters: Readonly<Record<string, Parameter>>,
  input: JsonObject,
  loc: readonly string[],
): Record<string, SqlValue> {
  const faults: Fault[] = Object.keys(input)
    .filter((name) => !Object.hasOwn(parameters, name))
    .map((name) => ({
      loc: [...loc, name],
      msg: `Unknown parameter. Known parameters: ${listed(Object.keys(parameters))}`,
      type: "extra_forbidden",
    }));
  const values: Record<string, SqlValue> = {};
  for (const [name, { type, default: fallback }] of Object.entries(parameters)) {
    const value = input[name] ?? fallback;
    if (value === null && !Object.hasOwn(input, name))
      faults.push({
        loc: [...loc, name],
        msg: "This parameter has no default. Give it a value",
        type: "missing",
      });
    faults.push(...valueFaults(type, value, [...loc, name]));
    values[name] = sqlValue(type, value);
  }
  if (faults.length > 0) throw new InvalidInput(faults);
  return values;
}

/**
 * Converts a value of the type for SQL. As text, two numbers would be compared as text, and a decimal column's scale
 * would round the one compared with it. Dates stay text, which SQL converts to the type that it compares them with.
 */
export function sqlValue(type: ParameterType, tagged: Json): SqlValue {
  const value = taggedNumber(tagged) ?? tagged;
  if (typeof value !== "string" || !NUMBERS[type]?.test(value)) return value;
  const number = fromText(type, value);
  return typeof number === "string" ? new NumberText(number) : number;
}

const listed = (names: readonly string[]) => (names.length === 0 ? "none" : names.join(", "));
