import { and, eq, inArray, lte, ne } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { Json } from "../../base/json.ts";
import { openSemaphore } from "../../base/semaphore.ts";
import { openTurns } from "../../base/slices.ts";
import type { Context } from "../../context.ts";
import { findDone } from "../../flows/bulk-results.ts";
import type { Outcome } from "../../queue/end.ts";
import type { ItemsState } from "../../resources/automations/table.ts";
import { actionRuns, type RunRow } from "../../resources/runs/table.ts";
import type { ReadDb } from "../../store/store.ts";
import { Ended } from "../failure.ts";
import type { Slots } from "../slots.ts";
import { openDeadlines } from "./deadlines.ts";
import { type Bulk, carryOutItem } from "./item.ts";
import { openResults, type Results } from "./results.ts";
import { openSource, type Source } from "./source.ts";
import { bulkResult } from "./whole.ts";

/** Time after which the run yields its slot to waiting runs. */
const TURN_MS = 5_000;
/** Number of items between progress reports. */
const PROGRESS_ITEMS = 50;

interface Setting extends Omit<Bulk, "deadlines"> {
  items: ItemsState;
  control: AbortController;
  slots: Pick<Slots, "free" | "isAwaited">;
}

/**
 * Executes the items of a step in one run, with the step's concurrency. Each has its own templates, attempts and
 * timeout. Results are saved several times a second, so that the next attempt of the run resumes there.
 *
 * Returns null if the run yields its slot. Throws the error that ended it early.
 */
export async function carryOutBulk(setting: Setting): Promise<Outcome | null> {
  const { ctx, run, opened, items, control, signal } = setting;
  const { runId, bulk } = items;
  const source = await openSource(ctx, run, opened.context, items);
  const done = await findDone(ctx.db, { runId, key: run.stepKey ?? "" });
  const lost = () => control.abort(new Ended("lost"));
  const results = openResults(ctx, run, { runId, total: source.total, done, lost });
  const isStopped = () => bulk?.goesOn !== true && done.failed > 0;
  const deadlines = openDeadlines(ctx.clock, signal);
  const isDone = (index: number) => done.has(index);
  const way = { ...setting, source, results, deadlines, isStopped, isDone };
  const isWhole = await goThrough(way).finally(deadlines.close);
  await results.close();
  signal.throwIfAborted();
  if (!isWhole && !isStopped()) return null;
  const { completed, failed } = done;
  opened.context.progress({
    phase: "items",
    current: completed + failed,
    total: source.total,
    unit: "items",
  });
  const { error, result, staged } = await bulkResult(ctx, run, opened.context, {
    items,
    total: source.total,
    completed,
    failed,
  });
  if (error !== null) return { status: "failed", error, result, staged };
  return { status: "completed", result, staged, reads: source.reads };
}

interface Way extends Setting, Bulk {
  source: Source;
  results: Results;
  isStopped(): boolean;
  isDone(index: number): boolean;
}

/** True at the end of the items, once all of them have finished. */
async function goThrough(way: Way): Promise<boolean> {
  const { ctx, run, opened, signal, items, source, results, isStopped, isDone } = way;
  const places = openSemaphore(items.bulk?.parallel ?? 1);
  const underWay = new Set<Promise<void>>();
  const othersFirst = openTurn(ctx, run, way.slots);
  const nextTurn = openTurns();
  let next = 0;
  for await (const item of source.items()) {
    const index = next++;
    const turn = nextTurn();
    if (turn) await turn;
    if (isDone(index)) continue;
    if (signal.aborted || isStopped() || (await othersFirst())) {
      next--;
      break;
    }
    const written = results.ready();
    if (written) await written;
    const leave = await places.enter(signal).catch(() => null);
    if (leave === null) break;
    if (index % PROGRESS_ITEMS === 0)
      opened.context.progress({ phase: "items", current: index, total: source.total, unit: "items" });
    const work = one(way, index, item).finally(() => {
      leave();
      underWay.delete(work);
    });
    underWay.add(work);
  }
  await Promise.all(underWay);
  return next === source.total;
}

async function one(way: Way, index: number, item: Json): Promise<void> {
  if (way.isStopped()) return;
  const ended = await carryOutItem(way, index, item);
  if (ended) way.results.add(ended.result, ended.artifacts);
}

/** Signals when the run must yield its slot to waiting runs of the organization. */
function openTurn({ db, clock }: Context, run: RunRow, slots: Pick<Slots, "free" | "isAwaited">) {
  let until = clock.monotonic() + TURN_MS;
  return async () => {
    if (clock.monotonic() < until) return false;
    until = clock.monotonic() + TURN_MS;
    return slots.free() <= 0 && (slots.isAwaited() || (await isAnyDue(db, run, timestamp(clock))));
  };
}

async function isAnyDue(db: ReadDb, run: RunRow, now: string): Promise<boolean> {
  const { id, organizationId, status, dueAt } = actionRuns;
  const [due] = await db
    .select({ id })
    .from(actionRuns)
    .where(
      and(
        eq(organizationId, run.organizationId),
        inArray(status, ["pending", "waiting"]),
        lte(dueAt, now),
        ne(id, run.id),
      ),
    )
    .limit(1);
  return due !== undefined;
}
