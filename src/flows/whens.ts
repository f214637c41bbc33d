import { holds, MAX_CONDITIONS_MS } from "../base/condition.ts";
import { AppError } from "../base/errors.ts";
import type { Budget } from "../base/expression/budget.ts";
import { ExpressionTooLong } from "../base/expression/too-long.ts";
import { isObject, type Json } from "../base/json.ts";
import { writeJson } from "../base/json-write.ts";
import { resolveTemplates, type Scope, type TemplateOptions } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import { fillInChild } from "../compute/fill.ts";
import { DoFirst, type WriteContext } from "../context.ts";
import { decideConditions } from "../executors/branch-choice.ts";
import { stepsIn } from "./names.ts";
import { openPieces, type Piece, piecesOf, storedSteps } from "./stored-results.ts";

/** Key of what a transaction decides, the same if it is repeated: a run that it starts then has another ID. */
export const decisionOf = (tx: WriteContext, { automationId }: { automationId: string }): string =>
  `${automationId} ${tx.correlationId}`;

/** An expression of a step. It is evaluated inside the transaction if that is quick. */
interface Asked {
  decision: string;
  text: string;
}

/** A value with templates, in the same way. */
interface AskedValue {
  decision: string;
  value: Json;
  options?: TemplateOptions;
}

/** Where an expression is evaluated: here, or in a child process before the transaction. */
interface Ways<T extends Json> {
  here(): T;
  inChild(scope: Scope, kept: readonly StoredResult[]): Promise<T>;
}

/**
 * Returns whether a step's condition is true. One that takes long is evaluated before the transaction, which is then
 * repeated. Throws `condition_error`, and `DoFirst`.
 */
export function stepHolds(tx: WriteContext, request: Asked, scope: Scope, budget: Budget): Promise<boolean> {
  const { compute, closing: signal, organizationId } = tx;
  const { decision, text } = request;
  return evaluateFirst(tx, request, scope, {
    here: () => holds(text, scope, budget),
    async inChild(scope, kept) {
      const decided = decidedOf(tx, decision);
      const work = { texts: [text], scope, kept, allowanceMs: decided.leftMs };
      const { first, leftMs } = await decideConditions(compute, work, { organizationId, signal });
      decided.leftMs = leftMs;
      return first !== null;
    },
  });
}

/** Returns a value with its templates evaluated, in the same way. Throws `template_error`, and `DoFirst`. */
export function stepValue(
  tx: WriteContext,
  { decision, value, options = {} }: AskedValue,
  scope: Scope,
): Promise<Json> {
  const { compute, closing: signal, organizationId } = tx;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return evaluateFirst(tx, { decision, text }, scope, {
    here: () => resolveTemplates(value, scope, options),
    async inChild(scope, kept) {
      const sql = (options.sql ?? []).map((path) => ["value", ...path]);
      const work = { definition: { value }, options: { sql } };
      const filled = await fillInChild(compute, work, { scope, kept }, { organizationId, signal });
      return filled.value ?? null;
    },
  });
}

async function evaluateFirst<T extends Json>(
  tx: WriteContext,
  { decision, text }: Asked,
  scope: Scope,
  { here, inChild }: Ways<T>,
): Promise<T> {
  const kept = storedSteps(scope.steps, stepsIn(text));
  try {
    if (kept.length === 0) return here();
    throw new ExpressionTooLong("condition_error", `${JSON.stringify(text)} reads too much data.`);
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
    const { now, run, steps, ...lasting } = scope;
    const key = Bun.SHA256.hash(await writeJson([text, lasting, withoutIds(steps)]), "hex");
    const known = tx.decidedWhens.get(decision);
    const outcome = known?.results.get(key);
    if (outcome instanceof AppError) throw outcome;
    if (outcome !== undefined) return outcome as T;
    if (known && known.leftMs <= 0) throw error;
    // Read here, because the result can be of the step that this transaction ends.
    const found: { step: string; pieces: Piece[] }[] = [];
    for (const one of kept)
      found.push({ step: one.step, pieces: await piecesOf(tx.db, tx.organizationId, one) });
    throw new DoFirst(async () => {
      const decided = decidedOf(tx, decision);
      const startedMs = tx.clock.monotonic();
      try {
        const results: StoredResult[] = [];
        for (const { step, pieces } of found) results.push({ step, json: await openPieces(tx, pieces) });
        decided.results.set(key, await inChild(scope, results));
      } catch (fault) {
        if (!(fault instanceof AppError) || !LASTING.includes(fault.code)) throw fault;
        decided.results.set(key, fault);
        decided.leftMs -= tx.clock.monotonic() - startedMs;
      }
    });
  }
}

/** Omits the IDs of runs, since a run that the transaction itself starts has another ID each time. */
const withoutIds = (steps: Json = null): Json =>
  isObject(steps)
    ? Object.entries(steps).map(([key, step]) => [
        key,
        isObject(step) ? { ...step, actionRunId: null } : step,
      ])
    : steps;

/** Errors that are the same every time. */
const LASTING = ["condition_error", "template_error", "gone"];

function decidedOf({ decidedWhens }: WriteContext, decision: string) {
  const decided = decidedWhens.get(decision) ?? { leftMs: MAX_CONDITIONS_MS, results: new Map() };
  decidedWhens.set(decision, decided);
  return decided;
}
