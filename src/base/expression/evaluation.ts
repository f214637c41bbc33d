import type { Budget } from "./budget.ts";
import { ExpressionError } from "./fault.ts";
import { unfit } from "./operators.ts";
import { nameOf, type Value } from "./value.ts";

/** What one evaluation has. */
export interface Env {
  scope: Readonly<Record<string, Value>>;
  /** Values of the names that macros give, the innermost last. */
  variables: Value[];
  budget: Budget;
  /** The next id that `uuid()` gives: the same ones, in the same order, at each try. */
  nextUuid(): string;
}

export type Run = (env: Env) => Value;

/** Does `work`; what it throws stands at `at`. */
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

/** A key as a sentence shows it. */
export function keyShown(key: Value): string {
  if (typeof key === "string") return JSON.stringify(key);
  return key !== null && typeof key === "object" ? `such a key as ${nameOf(key)}` : String(key);
}

/** Puts in an entry whose key is not there yet; a whole number is one key, however it came. */
export function addEntry(map: Map<Value, Value>, key: Value, value: Value, at: number): void {
  const own = typeof key === "number" && Number.isInteger(key) ? BigInt(key) : key;
  if (!["string", "bigint", "boolean"].includes(typeof own))
    throw new ExpressionError("type", `${nameOf(key)} can't be a key`, at);
  if (map.has(own)) throw new ExpressionError("value", `duplicate key ${keyShown(own)}`, at);
  map.set(own, value);
}
