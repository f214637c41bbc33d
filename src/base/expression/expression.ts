import { uuidOf } from "../ids.ts";
import type { Json } from "../json.ts";
import type { Budget } from "./budget.ts";
import { compile } from "./compile.ts";
import type { Run } from "./evaluation.ts";
import { ExpressionError } from "./fault.ts";
import { toJson } from "./json.ts";
import { MAX_LENGTH, type PathText, parseWhole } from "./parse.ts";
import { callsIn, type Read, readsOf } from "./reads.ts";
import type { Value } from "./value.ts";

/** A compiled expression. */
export interface Expression {
  text: string;
  reads: readonly Read[];
  /** Paths that CEL would read in another way. */
  paths: readonly PathText[];
  /** Names of the functions that it calls. */
  calls: readonly string[];
  /** Throws `ExpressionError`. */
  evaluate(scope: Readonly<Record<string, Json>>, evaluation: Evaluation): Value;
}

/** Limits of an evaluation, and the source of its IDs. */
export interface Evaluation {
  budget: Budget;
  nextUuid(): string;
}

/** Generates the IDs of `uuid()`: a new one each time, and the same sequence for the same seed. */
export function uuidsOf(seed: string): () => string {
  let count = 0;
  return () => uuidOf(`${seed}:${count++}`);
}

/** Outside a run, IDs couldn't be the same in each attempt. */
export function noUuid(): never {
  throw new ExpressionError("value", "no run is available here to create an ID for");
}

/** The least recently used are dropped. */
const MAX_KEPT = 1_000;
const kept = new Map<string, Expression>();

/**
 * Compiles an expression: CEL (https://cel.dev) over JSON, with the functions in `functions/`.
 * Throws `ExpressionError` of kind `syntax`.
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
  const { node, paths } = parseWhole(text);
  const run: Run = compile(node);
  return {
    text,
    reads: readsOf(node),
    paths,
    calls: callsIn(node),
    evaluate: (scope, { budget, nextUuid }) => run({ scope, variables: [], budget, nextUuid }),
  };
}

/** Evaluates to JSON. Throws `ExpressionError`. */
export function evaluateJson(
  text: string,
  scope: Readonly<Record<string, Json>>,
  evaluation: Evaluation,
): Json {
  return toJson(expressionOf(text).evaluate(scope, evaluation), evaluation.budget);
}
