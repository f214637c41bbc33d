import { AppError } from "../base/errors.ts";
import { withoutSecrets } from "../base/hide.ts";
import type { JsonObject } from "../base/json.ts";
import { measure } from "../base/measure.ts";
import type { Context } from "../context.ts";
import type { Waiting } from "../executors/contract.ts";
import { checkFilled, fillInWhole, timedOut, timeoutOf } from "../queue/definition.ts";
import type { Outcome } from "../queue/end.ts";
import type { StoredDefinition } from "../queue/progress.ts";
import { failureOutcome } from "../queue/retry.ts";
import { openScope } from "../queue/scope.ts";
import { ApprovalNeeded } from "../resources/connections/approval.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { isStoreAway } from "../store/faults.ts";
import { carryOutBulk } from "./bulk/carry-out.ts";
import { asAppError, Ended, NotWritten, toRunError } from "./failure.ts";
import type { DatasetLocks } from "./locks.ts";
import { type OpenRunContext, openRunContext } from "./run-context.ts";
import type { Slots } from "./slots.ts";

/** Time for an aborted executor to release its resources. Then the run ends without it. */
const LET_GO_MS = 4_000;

/** A filled-in definition larger than this isn't stored with the run; the next attempt fills in the templates again. */
const MAX_KEPT_CHARACTERS = 1024 * 1024;

export interface Execution {
  /** True for the run of one list item. */
  isItem: boolean;
  isResolved: boolean;
  /** Null: the process is stopping, and the run goes back to the queue. */
  outcome: Outcome | null;
  definition: JsonObject;
  opened: OpenRunContext | null;
}

/** Executes a claimed run and returns its outcome. Writes only progress and log lines. */
export async function execute(
  ctx: Context,
  run: RunRow,
  { control, locks, slots }: { control: AbortController; locks: DatasetLocks; slots: Slots },
): Promise<Execution> {
  let { definition, isResolved } = run;
  let kept: StoredDefinition = { definition, isResolved };
  let isItem = false;
  let opened: OpenRunContext | null = null;
  let timer: Timer | undefined;
  try {
    if (run.cancelRequestedAt !== null) control.abort(new Ended("cancelled")); // while no process had it
    control.signal.throwIfAborted();
    const executor = ctx.executors[run.kind];
    const seen = await openScope(ctx, run);
    const { scope } = seen;
    const open = () =>
      openRunContext(ctx, {
        run,
        executor,
        definition,
        stored: kept,
        key: keyOf(run, seen.attempts.slice(0, -1), kept),
        scope,
        kept: seen.kept,
        signal: control.signal,
        end: (why) => control.abort(why),
        locks,
        rest: (wait) => slots.rest(run.id, control.signal, wait),
        yieldTo: (wait) => slots.yieldTo(run.id, control.signal, wait),
      });
    if (seen.bulk) {
      opened = open();
      const { signal } = control;
      const outcome = await untilLetGo(
        carryOutBulk({ ctx, run, seen, opened, signal, items: seen.bulk, control, slots }),
        signal,
      );
      return { outcome, ...kept, isItem, opened };
    }
    isItem = "item" in scope;
    if (!isResolved) definition = await fillInWhole(ctx, executor, run.definition, seen, control.signal);
    isResolved = true;
    if (measure(definition, MAX_KEPT_CHARACTERS) <= MAX_KEPT_CHARACTERS) kept = { definition, isResolved };
    const checked = checkFilled(executor, definition);
    timer = setTimeout(() => control.abort(new Ended("timeout")), timeoutOf(executor, definition) * 1000);
    opened = open();
    const done = await untilLetGo(executor.execute(opened.context, checked), control.signal);
    control.signal.throwIfAborted();
    const outcome: Outcome =
      "wait" in done ? { status: "waiting", wait: done } : { status: "completed", ...done };
    return { outcome, ...kept, isItem, opened };
  } catch (error) {
    const isAway = isStoreAway(error) && !control.signal.aborted;
    if (isAway || error instanceof NotWritten) {
      await opened?.dispose(); // the next attempt needs what this one holds, such as its dataset
      throw error instanceof NotWritten ? error.cause : error; // retried once the store is available
    }
    if (error instanceof ApprovalNeeded && !control.signal.aborted) {
      const wait: Waiting = { wait: "approval", request: error.request };
      return { outcome: { status: "waiting", wait }, ...kept, isItem, opened };
    }
    const secrets = opened?.secrets() ?? [];
    const { aborted, reason } = control.signal;
    const cause = aborted && reason instanceof AppError ? reason : error; // the reason for its end, not the error that followed
    const outcome = outcomeOf(ctx, { run, definition, secrets, error: cause, signal: control.signal });
    return { outcome, ...kept, isItem, opened };
  } finally {
    clearTimeout(timer);
  }
}

/** What the keys of a run's requests derive from: the first attempt that had the same definition. */
function keyOf(run: RunRow, earlier: readonly RunRow[], stored: StoredDefinition): string {
  if (earlier.length === 0) return run.id;
  const textOf = ({ definition, isResolved }: StoredDefinition) => JSON.stringify([definition, isResolved]);
  const text = textOf(stored);
  return earlier.find((attempt) => textOf(attempt) === text)?.id ?? run.id;
}

/** The execution, or the reason for the abort if the executor doesn't stop in time. */
async function untilLetGo<T>(execution: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: Timer | undefined;
  const overdue = new Promise<never>((_, reject) => {
    const give = () => {
      timer = setTimeout(() => reject(signal.reason), LET_GO_MS);
    };
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
  try {
    return await Promise.race([execution, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

interface Failing {
  run: RunRow;
  definition: JsonObject;
  /** Other systems may echo credentials they were sent. Masks them. */
  secrets: readonly string[];
  error: unknown;
  signal: AbortSignal;
}

function outcomeOf(ctx: Context, failing: Failing): Outcome | null {
  const { run, definition, secrets, error, signal } = failing;
  const ended = signal.aborted && signal.reason instanceof Ended ? signal.reason.why : null;
  if (ended === "cancelled") return { status: "cancelled" };
  if (ended === "stopped" || ended === "lost") return null;
  const seconds = timeoutOf(ctx.executors[run.kind], definition);
  const known =
    ended === "timeout" ? timedOut(seconds) : (withoutSecrets(asAppError(error), secrets) as AppError);
  if (known.code === "internal") ctx.log.report(error, { runId: run.id, correlationId: run.correlationId });
  return failureOutcome(ctx, definition, toRunError(known, run.retryCount + 1), known.retryAfterSeconds);
}
