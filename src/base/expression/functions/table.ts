import type { Operand, Value } from "../value.ts";
import type { Definition, Definitions, Tools } from "./contract.ts";
import { coreFunctions } from "./core.ts";
import { csvFunctions } from "./csv.ts";
import { dataFunctions } from "./data.ts";
import { dateFunctions } from "./dates.ts";
import { htmlFunctions } from "./html.ts";
import { listFunctions } from "./lists.ts";
import { numberFunctions } from "./numbers.ts";
import { objectFunctions } from "./objects.ts";
import { patternFunctions } from "./patterns.ts";
import { textFunctions } from "./text.ts";

/** All functions, grouped as in the documents. */
export const GROUPS: Readonly<Record<string, Definitions>> = {
  Values: coreFunctions,
  Text: textFunctions,
  Patterns: patternFunctions,
  Numbers: numberFunctions,
  Lists: listFunctions,
  Objects: objectFunctions,
  "Dates and times": dateFunctions,
  "JSON, URLs, hashes": dataFunctions,
  CSV: csvFunctions,
  HTML: htmlFunctions,
};

export interface Func {
  /** Minimum number of arguments. */
  min: number;
  max: number;
  isShallow: boolean;
  call(values: readonly Value[], tools: Tools): Operand;
}

function functionOf({ takes, isShallow = false, call }: Definition): Func {
  const names = takes === "" ? [] : takes.split(/, (?!or )/);
  const isOpen = takes.endsWith("…");
  const required = names.filter((name) => !name.endsWith("?") && name !== "…").length;
  return { min: required, max: isOpen ? Number.POSITIVE_INFINITY : names.length, isShallow, call };
}

/** By name. */
export const FUNCTIONS: ReadonlyMap<string, Func> = new Map(
  Object.values(GROUPS).flatMap((group) =>
    Object.entries(group).map(([name, definition]): [string, Func] => [name, functionOf(definition)]),
  ),
);
