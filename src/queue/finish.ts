import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { sizeText } from "../base/size.ts";
import { MAX_READABLE_BYTES, MAX_RESULT_BYTES, summaryOf } from "../base/summary.ts";
import {
  type App,
  type Context,
  contextForRun,
  type OpenRun,
  SYSTEM,
  type WriteContext,
  write,
  writeFor,
} from "../context.ts";
import { insertArtifact, stageArtifact, stageFile, stageJson } from "../resources/artifacts/keep.ts";
import type { ArtifactRow } from "../resources/artifacts/table.ts";
import { commitLoad } from "../resources/datasets/commit.ts";
import { ownerOf } from "../resources/datasets/cursors.ts";
import { recordReads } from "../resources/datasets/lineage.ts";
import { actionRuns, type RunProgress, type RunRow } from "../resources/runs/table.ts";
import { changing, prepared } from "../store/prepared.ts";
import type { WriteDb } from "../store/store.ts";
import { endRun, failureLine, notifyChanged, type Outcome, recordOutcome, recordProgress } from "./end.ts";
import { appendLogs, appendLogsOf, type NewLog } from "./logs.ts";
import { NEXT_PROGRESS_ID, withStatuses } from "./statuses.ts";
import { beginWait } from "./waits.ts";

/** What the run collected and hasn't stored yet. */
export interface Leftover {
  definition: JsonObject;
  /** False if the templates in `definition` couldn't be evaluated. */
  isResolved: boolean;
  progress: RunProgress | null;
  /** True if `progress` hasn't been reported as an event yet. */
  isProgressNew: boolean;
  logs: readonly NewLog[];
}

type UpdateRuns = ReturnType<typeof updateRuns>;
const updateRuns = (db: WriteDb) => db.update(actionRuns);

const endedUpdate = (update: UpdateRuns) =>
  update
    .set({
      status: sql`${sql.placeholder("status")}`,
      statuses: withStatuses({
        status: sql.placeholder("status"),
        since: sql.placeholder("now"),
        waitKind: sql.placeholder("waitKind"),
        moreLines: sql.placeholder("lines"),
      }),
      definition: sql`${sql.placeholder("definition")}`,
      isResolved: sql`${sql.placeholder("isResolved")}`,
      progress: sql`${sql.placeholder("progress")}`,
      progressId: sql`case when ${actionRuns.progress} is not distinct from ${sql.placeholder("progress")} then ${actionRuns.progressId} else ${NEXT_PROGRESS_ID} end`,
      result: sql`${sql.placeholder("result")}`,
      error: sql`${sql.placeholder("error")}`,
      retryCount: sql`${actionRuns.retryCount} + ${sql.placeholder("retries")}`,
      dueAt: sql`${sql.placeholder("dueAt")}`,
      waitKind: sql`${sql.placeholder("waitKind")}`,
      waitId: sql`${sql.placeholder("waitId")}`,
      leaseToken: sql`null`,
      leaseUntil: sql`null`,
      completedAt: sql`${sql.placeholder("completedAt")}`,
      updatedAt: sql`${sql.placeholder("now")}`,
    })
    .where(
      and(
        eq(actionRuns.id, sql.placeholder("id")),
        eq(actionRuns.leaseToken, sql.placeholder("leaseToken")),
        sql`${actionRuns.status} || '' = 'running'`, // PostgreSQL would read the index of all leased runs
      ),
    );

const updateEnded = prepared((db: WriteDb) => endedUpdate(updateRuns(db)).returning().prepare());

const updateEndedUnseen = changing(actionRuns, endedUpdate);

/**
 * Stores a run's outcome, everything it produced, its event, and what follows in its automation, in one transaction.
 * Null if the lease was lost: another worker has the run, and nothing is written.
 *
 * `isItem`: the run belongs to one item of a step with `forEach`.
 *
 * Throws `dataset_changed` if another load was committed to the dataset in the meantime.
 */
export async function finishRun(
  ctx: Context,
  run: RunRow,
  requested: Outcome,
  left: Leftover,
  isItem: boolean,
): Promise<RunRow | null> {
  const { result, artifacts } =
    requested.status === "completed" ? await stage(ctx, run, requested) : partOf(requested);
  return write({ ...ctx, actor: SYSTEM }, async (tx) => {
    const isUnwanted = requested.status === "waiting" && (await isCancelRequested(tx, run.id));
    const outcome: Outcome = isUnwanted ? { status: "cancelled" } : requested;
    const now = timestamp(tx.clock);
    const logs = [...left.logs, ...failureLine(outcome, now)];
    const isFollowed = !isItem && outcome.status !== "waiting";
    const [row, open] = await Promise.all([
      endRow(tx, run, { now, outcome, result, left: { ...left, logs } }),
      isFollowed ? tx.runFollowers.open(tx, [run]) : new Map<string, OpenRun>(),
    ]);
    if (!row) return null;
    await appendLogs(tx.db, run.id, logs);
    if (left.isProgressNew && left.progress) await recordProgress(tx, run, left.progress);
    const { id: actionRunId, kind } = row;
    const actionId = row.privateTo === null ? row.actionId : null; // every reader sees the lineage
    if (outcome.status === "completed" && outcome.load)
      await commitLoad(tx, run.id, ownerOf(run), outcome.load, { kind, actionId });
    if (outcome.status === "completed" && outcome.reads) {
      const loadId = outcome.load?.loadId ?? null;
      await recordReads(tx, { actionRunId, actionId, kind, loadId }, outcome.reads);
    }
    for (const artifact of artifacts) await insertArtifact(tx, artifact);
    await endRun(
      { ...tx, requestCorrelationId: row.cancelRequest?.correlationId },
      row,
      outcome,
      open.get(row.automationRunId ?? ""),
    );
    if ("wait" in outcome) await beginWait(tx, row, outcome.wait);
    return row;
  });
}

/** What an unfinished run leaves: for a bulk step, the outcomes of its items. */
const partOf = (outcome: Outcome) =>
  outcome.status === "failed"
    ? { result: outcome.result ?? null, artifacts: outcome.staged ?? [] }
    : { result: null, artifacts: [] };

/** Ends a run that leaves nothing but what its row contains. */
export interface SmallEnd {
  run: RunRow;
  outcome: Outcome & { status: "completed" | "failed" };
  left: Leftover;
  /** True if the run belongs to one item of a list. */
  isItem: boolean;
}

/** True for an outcome without a load or artifacts. */
export function isSmall(outcome: Outcome): outcome is SmallEnd["outcome"] {
  if (outcome.status === "failed") return outcome.result === undefined;
  if (outcome.status !== "completed") return false;
  const { load, reads, artifacts = [], staged = [], result, whole } = outcome;
  const isAlone = artifacts.length === 0 && staged.length === 0;
  return whole === undefined && load === undefined && reads === undefined && isAlone && fits(result);
}

const fits = (result: JsonObject) => Buffer.byteLength(JSON.stringify(result)) <= MAX_RESULT_BYTES;

const leaseTokens = prepared((db: WriteDb) =>
  db
    .select({ id: actionRuns.id, leaseToken: actionRuns.leaseToken, cancelRequest: actionRuns.cancelRequest })
    .from(actionRuns)
    .where(
      sql`${actionRuns.id} in (select value from json_each(${sql.placeholder("ids")})) and ${actionRuns.status} = 'running'`,
    )
    .prepare(),
);

/**
 * Stores the small outcomes of many runs in one transaction, as `finishRun` does.
 * Runs whose lease was lost are left out. `take` returns them when it is their turn,
 * and the same ones if the transaction is repeated. Throws if one of them must be stored on its own.
 */
export function finishRuns(app: App, take: () => readonly SmallEnd[]): Promise<void> {
  const mayWait = () => take().length <= 1; // else all would wait for what one of them needs first
  return writeFor(
    app,
    async (inside, db) => {
      const ends = take();
      const ids = JSON.stringify(ends.map(({ run }) => run.id));
      const steps = ends.filter(({ isItem }) => !isItem).map(({ run }) => run);
      const [tokens, open] = await Promise.all([
        leaseTokens(db).all({ ids }),
        app.runFollowers.open({ db }, steps),
      ]);
      const leases = new Map(tokens.map((row) => [row.id, row]));
      const own = (run: RunRow) => inside({ ...contextForRun(app, run), actor: SYSTEM });
      const rows: RunRow[] = [];
      const lines: Parameters<typeof appendLogsOf>[1][number][] = [];
      for (const { run, outcome, left } of ends) {
        if (run.leaseToken === null || leases.get(run.id)?.leaseToken !== run.leaseToken) continue;
        const tx = own(run);
        const now = timestamp(tx.clock);
        const logs = [...left.logs, ...failureLine(outcome, now)];
        const [result, error] =
          outcome.status === "completed" ? [outcome.result, null] : [null, outcome.error];
        await updateEndedUnseen(db, valuesOf(tx, run, { now, outcome, result, left: { ...left, logs } }));
        lines.push({ runId: run.id, lines: logs });
        if (left.isProgressNew && left.progress) await recordProgress(tx, run, left.progress);
        const row: RunRow = { ...run, result, error, status: outcome.status, completedAt: now };
        await recordOutcome(tx, row, outcome);
        notifyChanged(tx, row);
        rows.push(row);
      }
      await appendLogsOf(db, lines);
      for (const [id, ended] of Map.groupBy(rows, ({ automationRunId }) => automationRunId)) {
        const [first] = ended;
        if (!first || id === null) continue;
        const requestCorrelationId = leases.get(first.id)?.cancelRequest?.correlationId;
        await app.runFollowers.ended({ ...own(first), requestCorrelationId }, ended, open.get(id));
      }
    },
    mayWait,
  );
}

/** A run with a cancellation request isn't retried and doesn't wait. */
async function isCancelRequested(tx: WriteContext, id: string): Promise<boolean> {
  const [row] = await tx.db
    .select({ at: actionRuns.cancelRequestedAt })
    .from(actionRuns)
    .where(eq(actionRuns.id, id));
  return row !== undefined && row.at !== null;
}

async function endRow(tx: WriteContext, run: RunRow, end: RowEnd): Promise<RunRow | null> {
  const [row] = await updateEnded(tx.db).all(valuesOf(tx, run, end));
  return (row as RunRow | undefined) ?? null;
}

interface RowEnd {
  now: string;
  outcome: Outcome;
  result: JsonObject | null;
  /** Its log is added to the run's in the same transaction. */
  left: Leftover;
}

const text = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value));

/** Parameters of `updateSettled`. */
function valuesOf(tx: WriteContext, run: RunRow, { now, outcome, result, left }: RowEnd) {
  return {
    id: run.id,
    leaseToken: run.leaseToken,
    now,
    status: outcome.status,
    lines: left.logs.length,
    definition: text(left.definition),
    isResolved: left.isResolved ? 1 : 0,
    progress: text(left.progress),
    result: text(result),
    error: text("error" in outcome ? outcome.error : null),
    retries: "dueAt" in outcome ? 1 : 0,
    dueAt: "dueAt" in outcome ? outcome.dueAt : null,
    waitKind: "wait" in outcome ? outcome.wait.wait : null,
    waitId: "wait" in outcome ? tx.ids.uuid() : null,
    completedAt: outcome.status === "waiting" ? null : now,
  };
}

const tooLarge = (bytes: number) =>
  new AppError(
    "result_too_large",
    `The result is ${sizeText(bytes)}. The limit is ${sizeText(MAX_READABLE_BYTES)}. Return less, or write it to a table or a file.`,
  );

/** Writes large results to files, before the transaction. */
async function stage(ctx: Context, run: RunRow, outcome: Outcome & { status: "completed" }) {
  const staged: ArtifactRow[] = [...(outcome.staged ?? [])];
  for (const artifact of outcome.artifacts ?? []) {
    staged.push(
      await (artifact.kind === "file"
        ? stageFile(ctx, run.id, artifact)
        : stageArtifact(ctx, run.id, artifact)),
    );
  }
  const json = outcome.whole?.json ?? Buffer.from(JSON.stringify(outcome.result));
  if (json.length <= MAX_RESULT_BYTES) {
    const result: JsonObject = outcome.whole ? JSON.parse(Buffer.from(json).toString()) : outcome.result;
    return { result, artifacts: staged };
  }
  if (json.length > MAX_READABLE_BYTES) throw tooLarge(json.length);
  const whole = await stageJson(ctx, run.id, { title: "Result", json });
  const summary = outcome.whole?.summary ?? summaryOf(outcome.result);
  return {
    result: { artifactId: whole.id, summary: { bytes: json.length, ...summary } },
    artifacts: [...staged, whole],
  };
}
