import { uuidOf } from "../ids.ts";
import type { Json } from "../json.ts";
import type { Budget } from "./budget.ts";
import { compile } from "./compile.ts";
import type { Run } from "./evaluation.ts";
import { ExpressionError } from "./fault.ts";
import { toJson } from "./json.ts";
import { MAX_LENGTH, parseWhole } from "./parse.ts";
import { type Read, readsOf } from "./reads.ts";
import type { Value } from "./value.ts";

/** An expression, ready to be evaluated. */
export interface Expression {
  text: string;
  reads: readonly Read[];
  /** Throws `ExpressionError`. */
  evaluate(scope: Readonly<Record<string, Json>>, evaluation: Evaluation): Value;
}

/** What an evaluation may take, and where its ids come from. */
export interface Evaluation {
  budget: Budget;
  nextUuid(): string;
}

/** The ids that `uuid()` gives at one place: another one each time, and the same ones where the seed is the same. */
export function uuidsOf(seed: string): () => string {
  let count = 0;
  return () => uuidOf(`${seed}:${count++}`);
}

/** Where there is no run, no id could be the same at each try. */
export function noUuid(): never {
  throw new ExpressionError("value", "no run is available here to create an ID for");
}

/** The least recently used go first. */
const MAX_KEPT = 1_000;
const kept = new Map<string, Expression>();

/**
 * Reads an expression: CEL (https://cel.dev) over JSON, with the functions of `functions/`. Throws `ExpressionError` of the
 * kind `syntax`.
 */
export function expressionOf(text: string): Expression {
  const expression = kept.get(text) ?? read(text);
  kept.delete(text);
  kept.set(text, expression);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  return expression;
}

function read(text: string): Expression {
  if (text.length > MAX_LENGTH)
    throw new ExpressionError(
      "syntax",
      `it has more than ${MAX_LENGTH.toLocaleString("en-US")} characters`,
      0,
    );
  const node = parseWhole(text);
  const run: Run = compile(node);
  return {
    text,
    reads: readsOf(node),
    evaluate: (scope, { budget, nextUuid }) => run({ scope, variables: [], budget, nextUuid }),
  };
}

/** The value as JSON. Throws `ExpressionError`. */
export function evaluateJson(
  text: string,
  scope: Readonly<Record<string, Json>>,
  evaluation: Evaluation,
): Json {
  return toJson(expressionOf(text).evaluate(scope, evaluation), evaluation.budget);
}
