import { processorClock } from "../base/clock.ts";
import { holds } from "../base/condition.ts";
import { AppError } from "../base/errors.ts";
import { Budget, LARGE_CONDITION } from "../base/expression/budget.ts";
import type { JsonObject } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import { frameScope, readScope, type ScopeFrame, type StoredResult } from "../base/whole-scope.ts";
import type { Compute } from "../compute/contract.ts";

/** Conditions to evaluate in order, until one is true. The scope is in the job's bytes. */
export interface ConditionsWork {
  texts: string[];
  /** Milliseconds that they may take together. */
  allowanceMs: number;
  frame: ScopeFrame;
}

/** Index of the first true condition. Null if none is. */
interface ConditionsFound {
  first: number | null;
  leftMs: number;
}

export function conditionsJob(work: ConditionsWork, bytes: Buffer) {
  // Counts processor time, so that a child process that has to share the processor gets as much as one that doesn't.
  const scope = readScope(work.frame, bytes);
  const budget = new Budget({ ...LARGE_CONDITION, ms: work.allowanceMs }, processorClock);
  const first = firstThatHolds(work.texts, scope, budget);
  return { output: { first, leftMs: budget.leftMs } satisfies ConditionsFound, bytes: new Uint8Array() };
}

/** Throws the same as `holds`. */
export function firstThatHolds(texts: readonly string[], scope: Scope, budget: Budget): number | null {
  const index = texts.findIndex((text) => holds(text, scope, budget));
  return index < 0 ? null : index;
}

interface Asked {
  texts: readonly string[];
  scope: Scope;
  kept?: readonly StoredResult[];
  /** Milliseconds that they may take together. */
  allowanceMs: number;
}

/**
 * Returns which condition is the first that is true, evaluated in a child process. Null if none is. Throws
 * `condition_error`.
 */
export async function decideConditions(
  compute: Compute,
  { texts, scope, kept = [], allowanceMs }: Asked,
  by: { organizationId: string; signal: AbortSignal },
): Promise<ConditionsFound> {
  const { frame, pieces } = await frameScope(scope, kept);
  const input = { texts: [...texts], allowanceMs, frame } as unknown as JsonObject;
  const tooMuch = (why: string) => new AppError("condition_error", `The conditions take ${why} to decide.`);
  const job = { name: "conditions", input, pieces, tooMuch } as const;
  return (await compute.run(job, by)).output as unknown as ConditionsFound;
}
