import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { hideSecrets } from "../base/hide.ts";
import { type Context, SYSTEM, write } from "../context.ts";
import type { Progress } from "../executors/contract.ts";
import { recordProgress } from "../queue/end.ts";
import { runTopic } from "../queue/enqueue.ts";
import { appendLogs, type NewLog } from "../queue/logs.ts";
import { hasLease, type StoredDefinition, saveProgress } from "../queue/progress.ts";
import type { RunProgress, RunRow } from "../resources/runs/table.ts";

/** Progress and log lines are written at most this often. */
const FLUSH_MS = 400;
/** Minimum interval between `action.progress` events, except for a new phase. */
const EVENT_MS = 15_000;
const MAX_LOG_CHARACTERS = 10_000;
/** Maximum number of lines in a run's log. A last line says that it was cut. */
const MAX_LOG_LINES = 100_000;

/** In messages written by people, a short credential, such as a user name, is an ordinary word. */
const LEAST_HIDDEN_CHARACTERS = 8;

/** Collects progress and log lines, and saves them periodically. */
export function openDiary(
  ctx: Context,
  run: RunRow,
  stored: StoredDefinition,
  secrets: () => readonly string[],
) {
  let logs: NewLog[] = [];
  let lines = 0;
  let progress: RunProgress | null = run.progress;
  let isDirty = false;
  let isNew = false;
  let toldPhase: string | null = null;
  let toldAt = 0;
  let timer: Timer | null = null;
  let writing: Promise<unknown> = Promise.resolve();
  let closed = false;

  const hidden = (text: string) =>
    hideSecrets(
      text,
      secrets().filter(({ length }) => length >= LEAST_HIDDEN_CHARACTERS),
    );

  const schedule = () => {
    if (timer !== null || closed) return;
    timer = setTimeout(() => {
      timer = null;
      writing = writing
        .then(flush)
        .catch((error) => ctx.log.report(error, { runId: run.id, at: "write progress" }));
    }, FLUSH_MS);
  };

  const flush = async () => {
    if (closed) return false;
    const batch = logs;
    const shown = isDirty ? progress : null;
    logs = [];
    isDirty = false;
    const now = ctx.clock.monotonic();
    const tell = shown !== null && isNew && (shown.phase !== toldPhase || now - toldAt > EVENT_MS);
    const isOurs = await write({ ...ctx, actor: SYSTEM }, async (tx) => {
      if (!(await hasLease(tx.db, run))) return false; // another worker has taken over the run
      await appendLogs(tx.db, run.id, batch);
      if (shown) await saveProgress(tx, run, shown, stored);
      if (shown && tell) await recordProgress(tx, run, shown);
      tx.afterCommit(() => tx.signals.notify(runTopic(run.id)));
      return true;
    });
    if (shown && tell) {
      toldPhase = shown.phase;
      toldAt = now;
      isNew = false;
    }
    return isOurs;
  };

  const set = (update: Progress) => {
    progress = fullProgress(
      { ...update, ...(update.message ? { message: hidden(update.message) } : {}) },
      timestamp(ctx.clock),
    );
    isDirty = true;
    isNew = true;
  };

  return {
    progress(update: Progress) {
      set(update);
      schedule();
    },
    /** Stores the progress before it resolves. Throws if the run belongs to another process by now. */
    async keep(update: Progress) {
      set(update);
      const stored = writing.then(flush);
      writing = stored.catch(() => undefined); // thrown here
      if (!(await stored)) throw new AppError("unavailable", "The run continues in another process.");
    },
    log(level: NewLog["level"], message: string) {
      lines++;
      if (lines > MAX_LOG_LINES) return;
      const text = lines === MAX_LOG_LINES ? "Log truncated at 100,000 lines." : message;
      logs.push({
        timestamp: timestamp(ctx.clock),
        level,
        message: hidden(text.slice(0, MAX_LOG_CHARACTERS)),
      });
      schedule();
    },
    async close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      await writing;
      return { progress, isProgressNew: isNew && progress?.phase !== toldPhase, logs };
    },
  };
}

function fullProgress(update: Progress, updatedAt: string): RunProgress {
  const { phase, message = null, current = null, total = null, unit = null } = update;
  const percent =
    current !== null && total !== null && total > 0
      ? Math.min(100, Math.round((current / total) * 1000) / 10)
      : null;
  return { phase, message, current, total, unit, percent, updatedAt };
}
