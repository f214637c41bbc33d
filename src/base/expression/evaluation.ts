import type { Budget } from "./budget.ts";
import { ExpressionError } from "./fault.ts";
import { unfit } from "./operators.ts";
import { keyOf, nameOf, type Operand, type Value } from "./value.ts";

/** State of one evaluation. */
export interface Env {
  scope: Readonly<Record<string, Value>>;
  /** Values of macro variables, innermost last. */
  variables: Value[];
  budget: Budget;
  /** Returns the next ID of `uuid()`: the same sequence in each attempt. */
  nextUuid(): string;
}

export type Run = (env: Env) => Value;

/** Evaluates an operand of an operator. */
export type OperandRun = (env: Env) => Operand;

/** Runs `work`. Adds the position `at` to errors. */
export function located<T>(at: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ExpressionError ? error.located(at) : error;
  }
}

export function boolOf(value: Value, operator: string, at: number): boolean {
  if (typeof value !== "boolean") throw unfit(operator, value).located(at);
  return value;
}

/** Returns a key as shown in messages. */
export function keyShown(key: Value): string {
  if (typeof key === "string") return JSON.stringify(key);
  return key !== null && typeof key === "object" ? `such a key as ${nameOf(key)}` : String(key);
}

/** Adds an entry. Throws if the key exists. An integer is the same key in any numeric type. */
export function addEntry(map: Map<Value, Value>, key: Value, value: Value, at: number): void {
  const own = keyOf(key);
  if (!["string", "bigint", "boolean"].includes(typeof own))
    throw new ExpressionError("type", `${nameOf(key)} can't be a key`, at);
  if (map.has(own)) throw new ExpressionError("value", `duplicate key ${keyShown(own)}`, at);
  map.set(own, value);
}
