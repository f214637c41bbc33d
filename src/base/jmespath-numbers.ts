import { compile, type JSONValue } from "@jmespath-community/jmespath";
import {
  compareNumbers,
  doubleOf,
  exactOf,
  hasLongNumbers,
  isBeyondDoubles,
  isNumeric,
  NumberText,
  type Numeric,
  parseExact,
} from "./json-numbers.ts";

/** A node of an expression. The library has only doubles. This module adds numbers of any length. */
export type Node = ReturnType<typeof compile>;

/** Compiles an expression with numbers of any length in its literals, which the library would read as doubles. */
export function compiled(text: string): Node {
  if (!hasLongNumbers(text)) return compile(text);
  const literals: unknown[] = [];
  const marked = text.replaceAll(TOKENS, (token) => {
    if (!token.startsWith("`") || !hasLongNumbers(token)) return token;
    return `\`"${LITERAL}${literals.push(exactLiteral(token)) - 1}"\``;
  });
  return withLiterals(compile(marked), literals) as Node;
}

/** Raw strings, quoted identifiers and JSON literals. None starts inside another. */
const TOKENS = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/gs;
/** Replaces a literal while the library compiles the rest. */
const LITERAL = "\u{f0000}literal ";

const exactLiteral = (token: string): unknown => parseExact(token.slice(1, -1).replaceAll("\\`", "`").trim());

function withLiterals(node: unknown, literals: readonly unknown[]): unknown {
  if (typeof node !== "object" || node === null) return node;
  if (Array.isArray(node)) return node.map((each) => withLiterals(each, literals));
  if ("type" in node && node.type === "Literal") {
    const mark = "value" in node && typeof node.value === "string" ? node.value : "";
    const exact = mark.startsWith(LITERAL) ? literals[Number(mark.slice(LITERAL.length))] : undefined;
    return exact === undefined ? node : { ...node, value: exact };
  }
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, withLiterals(part, literals)]));
}

export const literal = (value: unknown): Node => ({ type: "Literal", value: value as JSONValue });
export const valueIn = (node: Node): unknown => (node.type === "Literal" ? node.value : null);

/** Rounds a number, or each of a list, to a double. Throws if one is beyond the range of doubles. */
export function rounded(node: Node): Node {
  const value = valueIn(node);
  const double = (each: unknown) => {
    const found = doubleOf(each);
    if (found !== null && !Number.isFinite(found))
      throw new RangeError(`${each} is too large to compute with`);
    return found ?? each;
  };
  return literal(Array.isArray(value) ? value.map(double) : double(value));
}

/** Returns the numbers if all are integers and one doesn't fit a double. Null otherwise. */
export function longWhole(values: unknown): bigint[] | null {
  if (!Array.isArray(values) || !values.some((value) => typeof value === "bigint")) return null;
  if (!values.every((value) => typeof value === "bigint" || Number.isSafeInteger(value))) return null;
  return values.map(BigInt);
}

/** Converts an integer to the type that `parseExact` gives. */
export const numberFrom = (whole: bigint) => exactOf(String(whole)) as number;

export const WHOLE_ARITHMETIC: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  Plus: (a, b) => a + b,
  Minus: (a, b) => a - b,
  Star: (a, b) => a * b,
  Multiply: (a, b) => a * b,
};

/** Functions on strings. Numbers beyond doubles are text in results, so these functions accept them as text. */
export const ON_TEXTS = new Set(["ends_with", "find_first", "find_last", "join", "split", "starts_with"]);

export function asText(node: Node): Node {
  const textOf = (value: unknown) =>
    isNumeric(value) && isBeyondDoubles(String(value)) ? String(value) : value;
  const value = valueIn(node);
  return literal(Array.isArray(value) ? value.map(textOf) : textOf(value));
}

/** Compares two values deeply, numbers by their exact value. */
export function isSame(left: unknown, right: unknown): boolean {
  if (isNumeric(left) || isNumeric(right)) {
    const [a, b] = [numericOf(left), numericOf(right)];
    return a !== null && b !== null && compareNumbers(a, b) === 0;
  }
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null)
    return left === right;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Object.keys(left);
  const field = (value: object, name: string) => (value as Record<string, unknown>)[name];
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSame(field(left, name), field(right, name)))
  );
}

/** Returns a number, also one beyond doubles that is given as text. Null for anything else. */
export function numericOf(value: unknown): Numeric | null {
  if (isNumeric(value)) return value;
  return typeof value === "string" && isBeyondDoubles(value) ? new NumberText(value) : null;
}
