import type { Json, JsonObject } from "../../../src/base/json.ts";
import { fromDigits, NumberText } from "../../../src/base/json-numbers.ts";
import { taggedNumber, withStoredNumbers } from "../../../src/base/parameter-numbers.ts";
import type { SavedQuery } from "../../calls.ts";
import { t } from "../../texts/text.ts";

type Type = SavedQuery["parameters"][string]["type"];

export const TYPES: Readonly<Record<Type, string>> = {
  text: t("Text"),
  number: t("Number"),
  integer: t("Integer"),
  boolean: t("Boolean"),
  date: t("Date"),
  timestamp: t("Timestamp"),
};

export interface Parameter {
  type: Type;
  /** As typed. Empty for no value. */
  text: string;
}

/** Parts of SQL without parameters: comments, strings and quoted names. */
const QUOTED = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:''|[^'])*'|"(?:""|[^"])*"|\$\$[\s\S]*?\$\$/g;
const NAME = /\$([A-Za-z_][A-Za-z0-9_]*)/g;

/** Parameters in SQL, in order. */
export const namesIn = (sql: string): string[] => [
  ...new Set([...sql.replace(QUOTED, " ").matchAll(NAME)].map(([, name = ""]) => name)),
];

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  const digits = taggedNumber(value as Json);
  if (digits !== undefined) return textOf(digits);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Type of a given value. */
export function typeOf(value: unknown): Type {
  if (typeof value === "number" || taggedNumber(value as Json) !== undefined) return "number";
  return typeof value === "boolean" ? "boolean" : "text";
}

/** The default to store. A number beyond doubles is stored as text, next to its type. */
export function valueOfText(parameter: Parameter): string | number | boolean | null {
  const value = exactValue(parameter);
  return value instanceof NumberText ? value.text : value;
}

function exactValue({ type, text }: Parameter): string | number | boolean | NumberText | null {
  if (text === "") return null;
  if (type === "boolean") return text === "true";
  if (type !== "number" && type !== "integer") return text;
  if (!/^-?\d+(\.\d+)?$/.test(text.trim())) return text;
  const number = fromDigits(text.trim());
  return typeof number === "string" ? new NumberText(number) : number;
}

const NO_VALUE: Parameter = { type: "text", text: "" };

/** Values of the parameters in the SQL, to run it. */
export const exactValuesFor = (sql: string, parameters: Readonly<Record<string, Parameter>>) =>
  Object.fromEntries(namesIn(sql).map((name) => [name, exactValue(parameters[name] ?? NO_VALUE)]));

/** Values of the parameters in the SQL, to store them in a panel. */
export const panelValuesFor = (...of: Parameters<typeof exactValuesFor>) =>
  withStoredNumbers(exactValuesFor(...of) as JsonObject, ["panels", "parameters"]) as JsonObject;
