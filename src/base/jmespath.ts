import { compile, type JSONValue, TreeInterpreter } from "@jmespath-community/jmespath";
import { systemClock } from "./clock.ts";
import { AppError } from "./errors.ts";
import {
  asText,
  compiled,
  isSame,
  literal,
  longWhole,
  type Node,
  numberFrom,
  numericOf,
  ON_TEXTS,
  rounded,
  valueIn,
  WHOLE_ARITHMETIC,
} from "./jmespath-numbers.ts";
import { isObject, type Json } from "./json.ts";
import {
  compareNumbers,
  exactJson,
  isBeyondDoubles,
  isNumeric,
  type Numeric,
  parseExact,
} from "./json-numbers.ts";
import { measure } from "./measure.ts";

type Value = Parameters<typeof TreeInterpreter.visit>[1];

/** Maximum length of an expression, in characters. */
const MAX_CHARACTERS = 4096;
export interface SearchLimits {
  /** Time limit in milliseconds. */
  ms: number;
  /** Maximum size of the result and of joins, in characters of JSON. */
  size: number;
}

/** Limits in a child process. */
export const WHOLE_SEARCH: SearchLimits = { ms: 2_000, size: 64 * 1024 * 1024 };

/** The search exceeded its limits. */
export class SearchTooMuch extends AppError {
  constructor() {
    super("definition_invalid", "The JMESPath expression takes too long or returns too much for this data.");
  }
}

/** Not in the JMESPath standard, and without limits on time and memory. */
const REFUSED_FUNCTIONS = new Set(["pad_left", "pad_right", "replace", "trim", "trim_left", "trim_right"]);

/** Their results can contain a value many times, so that a few of them can exhaust the memory. */
const MULTIPLYING = new Set<string>([
  "MultiSelectList",
  "MultiSelectHash",
  "Projection",
  "ValueProjection",
  "FilterProjection",
  "Function",
]);

/** Returns why `text` isn't a valid JMESPath expression, in one sentence. Null if it is. */
export function jmespathFault(text: string): string | null {
  if (text.length > MAX_CHARACTERS)
    return `A JMESPath expression can have at most ${MAX_CHARACTERS} characters.`;
  try {
    const refused = refusedIn(compile(text));
    return refused ? `The JMESPath expression ${shown(text)} uses ${refused}, which isn't supported.` : null;
  } catch (error) {
    return `Invalid JMESPath expression ${shown(text)}: ${reasonOf(error)}.`;
  }
}

/**
 * Evaluates a JMESPath expression (https://jmespath.org) on `data`. Null if it finds nothing.
 * Reads only own fields. Throws `definition_invalid` if the expression is invalid or doesn't fit the data,
 * and `SearchTooMuch` if it exceeds `limits`.
 */
export function searchJson(data: Json, text: string, limits = WHOLE_SEARCH): Json {
  const fault = jmespathFault(text);
  if (fault) throw new AppError("definition_invalid", fault);
  const interpreter = new BoundedInterpreter();
  interpreter.until = systemClock.monotonic() + limits.ms;
  interpreter.size = limits.size;
  let found: Json;
  try {
    found = interpreter.search(compiled(text), data as JSONValue) as Json;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const message = `The JMESPath expression ${shown(text)} doesn't match the data: ${reasonOf(error)}.`;
    throw new AppError("definition_invalid", message, { cause: error });
  }
  if (measure(found, limits.size) > limits.size) throw new SearchTooMuch();
  return found;
}

/** The library doesn't export its class. */
const Interpreter = TreeInterpreter.constructor as new () => typeof TreeInterpreter;

type Found = ReturnType<typeof TreeInterpreter.visit>;

/** Functions on numbers that give wrong results for numbers beyond doubles. */
const WITHIN_WHOLE = new Set(["abs", "ceil", "floor"]);
const ON_NUMBERS = new Set(["abs", "avg", "ceil", "floor", "max", "min", "sum", "to_string"]);

const COMPARISONS = {
  EQ: (order: number) => order === 0,
  NE: (order: number) => order !== 0,
  GT: (order: number) => order > 0,
  GTE: (order: number) => order >= 0,
  LT: (order: number) => order < 0,
  LTE: (order: number) => order <= 0,
};

/** The library's type code of numbers. */
const NUMBER_TYPE = 0;

/** Adds limits on time and size, and numbers beyond doubles. */
class BoundedInterpreter extends Interpreter {
  until = 0;
  size = 0;

  constructor() {
    super();
    const runtime = this.runtime as unknown as { getTypeName(value: unknown): unknown };
    const typeOf = runtime.getTypeName;
    runtime.getTypeName = (value) => (isNumeric(value) ? NUMBER_TYPE : typeOf.call(runtime, value));
  }

  override visit(node: Node, value: Value): ReturnType<typeof TreeInterpreter.visit> {
    if (systemClock.monotonic() > this.until) throw new SearchTooMuch();
    if (node.type === "Field")
      return isObject(value) && Object.hasOwn(value, node.name) ? (value[node.name] ?? null) : null;
    if (node.type === "Function" && node.name === "join") this.checkJoin(node.children, value);
    const known = this.visitKnown(node, value);
    const found = known === undefined ? super.visit(node, value) : known;
    if (MULTIPLYING.has(node.type) && measure(found as Json, this.size) > this.size)
      throw new SearchTooMuch();
    return found;
  }

  /**
   * Evaluates a node whose operands are known. Comparing, selecting and formatting numbers is exact.
   * Arithmetic on other numbers than integers uses doubles, as JMESPath does.
   */
  private visitKnown(node: Node, value: Value): Found | undefined {
    const known = (child: Node): Node => literal(this.visit(child, value));
    switch (node.type) {
      case "Comparator": {
        const [left, right] = [known(node.left), known(node.right)];
        const [a, b] = [valueIn(left), valueIn(right)];
        const [x, y] = isNumeric(a) || isNumeric(b) ? [numericOf(a), numericOf(b)] : [null, null];
        if (x !== null && y !== null) return COMPARISONS[node.name](compareNumbers(x, y));
        if (node.name === "EQ" || node.name === "NE") return isSame(a, b) === (node.name === "EQ");
        return super.visit({ ...node, left, right }, value);
      }
      case "Arithmetic": {
        const [left, right] = [known(node.left), known(node.right)];
        const [a, b] = longWhole([valueIn(left), valueIn(right)]) ?? [];
        const exactly = WHOLE_ARITHMETIC[node.operator];
        if (a !== undefined && b !== undefined && exactly) return numberFrom(exactly(a, b));
        return super.visit({ ...node, left: rounded(left), right: rounded(right) }, value);
      }
      case "ValueProjection": {
        const left = known(node.left);
        return isNumeric(valueIn(left)) ? null : super.visit({ ...node, left }, value);
      }
      case "Unary": {
        const operand = known(node.operand);
        const [whole] = longWhole([valueIn(operand)]) ?? [];
        if (whole !== undefined) return numberFrom(node.operator === "Minus" ? -whole : whole);
        return super.visit({ ...node, operand: rounded(operand) }, value);
      }
      case "Function":
        if (node.name === "sort_by") return this.sorted(node.children, value);
        if (node.name === "sort" || node.name === "contains") {
          const children = node.children.map(known);
          return (
            inList(node.name, children.map(valueIn)) ??
            super.visit({ ...node, children: children.map(asText) }, value)
          );
        }
        if (ON_TEXTS.has(node.name))
          return super.visit(
            { ...node, children: node.children.map((child) => asText(known(child))) },
            value,
          );
        if (node.name === "to_number" && node.children.length === 1) return this.toNumber(node, value);
        if (!ON_NUMBERS.has(node.name) || node.children.length !== 1) return undefined;
        return this.numbers(node.name, known(node.children[0] as Node), (child) =>
          super.visit({ ...node, children: [child] }, value),
        );
      default:
        return undefined;
    }
  }

  /** Sorts items by key if all keys are numbers. Undefined otherwise. */
  private sorted([list, key]: readonly Node[], value: Value): Found | undefined {
    const items: unknown = list && this.visit(list, value);
    if (!Array.isArray(items) || key?.type !== "ExpressionReference") return undefined;
    const keyed = items.map((item) => ({ item, key: this.visit(key.child, item) as unknown }));
    const numbered = keyed.flatMap(({ item, key }) => (isNumeric(key) ? [{ item, key }] : []));
    if (numbered.length < items.length) return undefined;
    return numbered.sort((a, b) => compareNumbers(a.key, b.key)).map(({ item }) => item);
  }

  private numbers(name: string, child: Node, compute: (child: Node) => Found): Found {
    const argument = valueIn(child);
    if (name === "to_string") return typeof argument === "string" ? argument : exactJson(argument);
    const whole = longWhole(Array.isArray(argument) ? argument : [argument]);
    if (whole && name === "sum") return numberFrom(whole.reduce((sum, each) => sum + each, 0n));
    if (whole && WITHIN_WHOLE.has(name) && !Array.isArray(argument)) {
      const [number = 0n] = whole;
      return numberFrom(name === "abs" && number < 0n ? -number : number);
    }
    if (name !== "max" && name !== "min") return compute(rounded(child));
    if (!Array.isArray(argument) || argument.length === 0 || !argument.every(isNumeric))
      return compute(child);
    const isBetter = COMPARISONS[name === "max" ? "GT" : "LT"];
    const best = argument.reduce((most: Numeric, each) =>
      isBetter(compareNumbers(each, most)) ? each : most,
    );
    return best as number;
  }

  private toNumber(node: Extract<Node, { type: "Function" }>, value: Value): Found {
    const child = literal(this.visit(node.children[0] as Node, value));
    const text = valueIn(child);
    if (typeof text === "string" && isBeyondDoubles(text)) return parseExact(text) as number;
    return super.visit({ ...node, children: [child] }, value);
  }

  private checkJoin(children: readonly Node[], value: Value): void {
    const [glue, list] = children.map((child) => this.visit(child, value));
    if (typeof glue === "string" && Array.isArray(list) && glue.length * list.length > this.size)
      throw new SearchTooMuch();
  }
}

/**
 * `sort` for numbers, which the library sorts as text, and `contains` for lists, which it doesn't compare by value.
 */
function inList(name: "sort" | "contains", [list, ...rest]: readonly unknown[]): Found | undefined {
  if (!Array.isArray(list)) return undefined;
  if (name === "contains") return rest.length === 1 ? list.some((item) => isSame(item, rest[0])) : undefined;
  return rest.length === 0 && list.every(isNumeric) ? (list.toSorted(compareNumbers) as Found) : undefined;
}

/** Returns the first unsupported feature in the tree, in words. Null if there is none. */
function refusedIn(node: unknown): string | null {
  if (typeof node !== "object" || node === null) return null;
  if ("type" in node) {
    if (node.type === "LetExpression") return "let";
    if (node.type === "Literal") return null;
    if (node.type === "Function" && "name" in node && REFUSED_FUNCTIONS.has(String(node.name)))
      return `${node.name}()`;
  }
  for (const part of Object.values(node)) {
    const refused = refusedIn(part);
    if (refused) return refused;
  }
  return null;
}

const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
