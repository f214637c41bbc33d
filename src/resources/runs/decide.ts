import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Scope } from "../../base/template.ts";
import type { WriteContext } from "../../context.ts";
import type { Executor } from "../../executors/contract.ts";
import { checkFilled, fillIn } from "../actions/definition.ts";
import { record } from "../events/service.ts";
import { entityOf, SYSTEM, startedData } from "./claim.ts";
import { insertRunRow, type NewRun, newRun } from "./enqueue.ts";
import type { RunError, RunRow } from "./table.ts";

/** A kind that is decided where it is reached. */
export type Decider = Executor & { decide: NonNullable<Executor["decide"]> };

/** Carries out a run of such a kind here and now: its row is stored once, with its outcome and its events. */
export async function decideRun(
  tx: WriteContext,
  executor: Decider,
  input: NewRun,
  scope: Scope,
): Promise<RunRow> {
  const due = newRun(tx, input);
  const startedAt = due.createdAt;
  const seen = { ...scope, run: { id: due.id, startedAt }, now: startedAt };
  const outcome = decide(executor, due.definition, seen);
  const row: RunRow = {
    ...due,
    ...outcome,
    isResolved: true,
    dueAt: null,
    startedAt,
    completedAt: timestamp(tx.clock),
  };
  await insertRunRow(tx, row);
  await record(tx, "action.started", entityOf(row), startedData(row), input.actor);
  const { id: runId, actionId, kind, status, error } = row;
  const data = { runId, actionId, kind, status, durationSeconds: 0 };
  if (error === null)
    await record(tx, "action.completed", entityOf(row), { ...data, recordsProcessed: null }, SYSTEM);
  else await record(tx, "action.failed", entityOf(row), { ...data, error: { ...error } }, SYSTEM);
  return row;
}

type Decided = Pick<RunRow, "status" | "definition" | "result" | "error">;

function decide(executor: Decider, given: JsonObject, scope: Scope): Decided {
  let definition = given;
  try {
    definition = fillIn(executor, given, scope);
    const result = executor.decide(checkFilled(executor, definition), scope);
    return { status: "completed", definition, result, error: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    const { code, message, details } = error;
    const told: RunError = {
      code,
      message,
      retryable: false,
      attempt: 1,
      details: details as JsonObject | null,
    };
    return { status: "failed", definition, result: null, error: told };
  }
}
