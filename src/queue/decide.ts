import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { ExpressionTooLong } from "../base/expression/too-long.ts";
import type { JsonObject } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import type { Context, WriteContext } from "../context.ts";
import { SYSTEM } from "../context.ts";
import type { Executor } from "../executors/contract.ts";
import type { RunError, RunRow } from "../resources/runs/table.ts";
import { checkFilled, fillIn } from "./definition.ts";
import { recordOutcome } from "./end.ts";
import { insertRunRow, type NewRun, newRun } from "./enqueue.ts";
import type { SmallEnd } from "./finish.ts";
import { recordStart } from "./run-events.ts";
import { attemptsOf, openScope, ownNames } from "./scope.ts";

/** A kind that is decided in the transaction that reaches it. */
export type Decider = Executor & { decide: NonNullable<Executor["decide"]> };

/**
 * Executes a run of such a kind immediately: its row is stored once, with its outcome and events. Throws
 * `ExpressionTooLong`, with nothing stored, if it needs a worker.
 */
export async function decideRun(
  tx: WriteContext,
  executor: Decider,
  input: NewRun,
  scope: Scope,
): Promise<RunRow> {
  const due = newRun(tx, input);
  const startedAt = due.createdAt;
  const [first] = await attemptsOf(tx.db, due);
  const seen = { ...scope, ...ownNames(first, first.startedAt ?? startedAt) };
  const outcome = decide(executor, due.definition, seen);
  const completedAt = timestamp(tx.clock);
  const row: RunRow = {
    ...due,
    ...outcome,
    statuses: [...due.statuses, ["running", null, startedAt, 0], [outcome.status, null, completedAt, 0]],
    isResolved: true,
    dueAt: null,
    startedAt,
    completedAt,
  };
  await insertRunRow(tx, row);
  await recordStart(tx, row, input.actor);
  const { result, error } = outcome;
  await recordOutcome(
    { ...tx, actor: SYSTEM },
    row,
    error === null ? { status: "completed", result } : { status: "failed", error },
  );
  return row;
}

type Completion = Omit<SmallEnd, "isItem"> & { outcome: { status: "completed" } };

/**
 * Returns the result of a claimed run whose kind is decided immediately. Null if it must be executed like any other
 * run, including failures and cancellation.
 */
export async function decideClaimed(ctx: Context, run: RunRow): Promise<Completion | null> {
  const executor = ctx.executors[run.kind];
  if (!isDecider(executor) || run.cancelRequestedAt !== null) return null;
  try {
    const { scope, kept } = await openScope(ctx, run);
    if (kept.length > 0) return null;
    const definition = run.isResolved ? run.definition : fillIn(executor, run.definition, scope);
    const result = executor.decide(checkFilled(executor, definition), scope);
    const message = executor.decided?.(result);
    const line = { timestamp: timestamp(ctx.clock), level: "info" as const };
    const logs = message === undefined ? [] : [{ ...line, message }];
    return {
      run,
      outcome: { status: "completed", result },
      left: { definition, logs, isResolved: true, progress: run.progress, isProgressNew: false },
    };
  } catch {
    return null; // it fails again where failures are recorded
  }
}

export const isDecider = (executor: Executor): executor is Decider => executor.decide !== undefined;

type Decided = { definition: JsonObject } & (
  | { status: "completed"; result: JsonObject; error: null }
  | { status: "failed"; result: null; error: RunError }
);

function decide(executor: Decider, raw: JsonObject, scope: Scope): Decided {
  let definition = raw;
  try {
    definition = fillIn(executor, raw, scope);
    const result = executor.decide(checkFilled(executor, definition), scope);
    return { status: "completed", definition, result, error: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    if (error instanceof ExpressionTooLong) throw error;
    const { code, message, details } = error;
    const failure: RunError = {
      code,
      message,
      retryable: false,
      attempt: 1,
      details: details as JsonObject | null,
    };
    return { status: "failed", definition, result: null, error: failure };
  }
}
