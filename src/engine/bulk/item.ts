import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import { uuidOf } from "../../base/ids.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { pauseSeconds } from "../../base/retry.ts";
import { MAX_RESULT_BYTES, summaryOf } from "../../base/summary.ts";
import type { Context } from "../../context.ts";
import type { Done } from "../../executors/contract.ts";
import type { ItemResult } from "../../flows/bulk-results.ts";
import { type CommonFields, checkFilled, fillInWhole, timeoutOf } from "../../queue/definition.ts";
import type { openScope } from "../../queue/scope.ts";
import { stageJson } from "../../resources/artifacts/keep.ts";
import type { ArtifactRow } from "../../resources/artifacts/table.ts";
import { ApprovalNeeded } from "../../resources/connections/approval.ts";
import type { RunRow } from "../../resources/runs/table.ts";
import { asAppError, toRunError } from "../failure.ts";
import type { OpenRunContext } from "../run-context.ts";
import type { Deadlines } from "./deadlines.ts";

/** What all items of one run share. */
export interface Bulk {
  ctx: Context;
  run: RunRow;
  seen: Awaited<ReturnType<typeof openScope>>;
  opened: OpenRunContext;
  signal: AbortSignal;
  deadlines: Deadlines;
}

/**
 * Executes one item, up to its maximum number of attempts. Returns null if the run ends first: the next attempt then
 * repeats the item, with the same ID.
 */
export async function carryOutItem(
  bulk: Bulk,
  index: number,
  item: Json,
): Promise<{ result: ItemResult; artifacts: ArtifactRow[] } | null> {
  const { ctx, run, signal } = bulk;
  for (let attempt = 1; ; attempt++) {
    try {
      const done = await once(bulk, { index, item, attempt });
      const { json, artifacts } = await kept(ctx, run, done);
      return { result: { index, isCompleted: true, json }, artifacts };
    } catch (thrown) {
      if (signal.aborted) return null;
      const error = knownError(bulk, thrown);
      if (error.code === "internal") ctx.log.report(thrown, { runId: run.id, item: index });
      const pause = error.retryable
        ? pauseSeconds((run.definition as CommonFields).retry ?? {}, error, attempt)
        : null;
      if (pause === null) {
        const json = JSON.stringify(toRunError(error, attempt));
        return { result: { index, isCompleted: false, json }, artifacts: [] };
      }
      await ctx.clock.sleep(pause * 1000, signal);
    }
  }
}

async function once(
  { ctx, run, seen, opened, signal, deadlines }: Bulk,
  { index, item, attempt }: { index: number; item: Json; attempt: number },
): Promise<Done> {
  const executor = ctx.executors[run.kind];
  const id = uuidOf(`${seen.attempts[0].id}:${index}`);
  const { run: own } = seen.scope;
  const scope = { ...seen.scope, run: { ...(own as JsonObject), id }, item, index };
  const definition = await fillInWhole(ctx, executor, run.definition, { ...seen, scope }, signal);
  const checked = checkFilled(executor, definition);
  const seconds = timeoutOf(executor, definition);
  const deadline = deadlines.begin(seconds);
  const { context, dispose } = opened.forItem({
    id,
    index,
    attempt,
    scope,
    signal: deadline.signal,
  });
  try {
    const done = await executor.execute(context, checked);
    if ("wait" in done)
      throw new AppError("invalid_state", "Items of a large list can't wait for approvals.");
    return done;
  } catch (error) {
    if (!deadline.isLate() || signal.aborted) throw error;
    throw new AppError("timeout", `The item exceeded its timeout of ${seconds} s.`, {
      retryable: true,
    });
  } finally {
    deadline.end();
    await dispose();
  }
}

function knownError({ opened }: Bulk, thrown: unknown): AppError {
  if (thrown instanceof ApprovalNeeded) {
    const message =
      "The connection now requires approval, which isn't possible for each item of a large list. Start the automation again.";
    return new AppError("invalid_state", message);
  }
  return withoutSecrets(asAppError(thrown), opened.secrets()) as AppError;
}

/** Returns the JSON of a result; for a large one, a summary with its artifact. */
async function kept(ctx: Context, run: RunRow, { result, whole }: Done) {
  const text = whole ? null : JSON.stringify(result);
  if (text !== null && text.length <= MAX_RESULT_BYTES) return { json: text, artifacts: [] };
  const json = whole?.json ?? Buffer.from(text ?? "");
  const artifact = await stageJson(ctx, run.id, { title: "Result", json });
  const summary = whole?.summary ?? summaryOf(result);
  const short = { artifactId: artifact.id, summary: { bytes: json.length, ...summary } };
  return { json: JSON.stringify(short), artifacts: [artifact] };
}
