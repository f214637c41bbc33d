import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { type Actor, type App, contextForRun, type WriteContext, write } from "../context.ts";
import type { Expectation } from "../resources/automations/config.ts";
import {
  automationRuns,
  automations,
  automationWatches,
  type WatchRow,
} from "../resources/automations/table.ts";
import { record } from "../resources/events/service.ts";
import { noticeLate } from "../resources/notices/automation-ends.ts";
import { putNotice } from "../resources/notices/put.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { version } from "../version.ts";

const WATCHER: Actor = { type: "system", id: "watcher", process: "weir", version };

/** The last completed run whose rows were counted, by automation. Each is counted once per limit. */
export type Counted = Map<string, { runId: string; minRows: number }>;

/** An active automation with an `expect` or `alerts.lateAfterSeconds`, as it is now. */
interface Seen {
  id: string;
  organizationId: string;
  name: string;
  /** Empty if only lateness is watched. */
  expect: Expectation;
  /** `alerts.lateAfterSeconds`. */
  lateAfterSeconds: number | null;
  nextRunAt: string | null;
  /** Null before the first check. */
  watch: WatchRow | null;
  /** The last completed run. */
  run: { id: string; completedAt: string | null } | null;
}

/** Must match the text in the indexes `automations_expecting` and `automation_runs_watched`. */
const isExpecting = and(
  sql`(json_extract(${automations.config}, '$.expect') is not null or json_extract(${automations.config}, '$.alerts.lateAfterSeconds') is not null)`,
  isNull(automations.deletedAt),
  eq(automations.status, "active"),
  sql`${automations.organizationId} not in (select id from organizations where removed_at is not null)`,
);
const lastCompleted = sql`(
  select r.id from automation_runs r where r.automation_id = ${automations.id} and r.is_watched = 1
    and r.status = 'completed' order by r.completed_at desc limit 1)`;

const watched = prepared((db: ReadDb) => watchesOf(db).prepare());

const watchesOf = (db: ReadDb, id?: string) =>
  db
    .select({
      id: automations.id,
      organizationId: automations.organizationId,
      name: automations.name,
      expect: sql<string | null>`json_extract(${automations.config}, '$.expect')`,
      lateAfterSeconds: sql<
        number | null
      >`cast(json_extract(${automations.config}, '$.alerts.lateAfterSeconds') as double precision)`,
      nextRunAt: automations.nextRunAt,
      watch: automationWatches,
      run: { id: automationRuns.id, completedAt: automationRuns.completedAt },
    })
    .from(automations)
    .leftJoin(automationWatches, eq(automationWatches.automationId, automations.id))
    .leftJoin(automationRuns, eq(automationRuns.id, lastCompleted))
    .where(and(isExpecting, id === undefined ? undefined : eq(automations.id, id)));

async function readWatches(db: ReadDb, id?: string): Promise<Seen[]> {
  const rows = id === undefined ? await watched(db).all() : await watchesOf(db, id);
  return rows.map((row) => ({
    ...row,
    expect: row.expect === null ? {} : (JSON.parse(row.expect) as Expectation),
    lateAfterSeconds: row.lateAfterSeconds === null ? null : Number(row.lateAfterSeconds),
  }));
}

/** Returns what to report or store about an automation; empty if nothing changed. */
interface Finding {
  /** Returns the start of an overdue period that wasn't reported yet. */
  silentSince?: string;
  /** Too few rows, for the first time. */
  empty?: { runId: string; rows: number };
  /** Enough rows again. */
  isFilled?: boolean;
  /** Late, and not reported since the last completed run. Has the time when it was due, if it never ran. */
  late?: { lateAfterSeconds: number; lastCompletedAt: string | null; dueAt: string | null };
}

async function judge(app: App, db: ReadDb, seen: Seen, counted: Counted): Promise<Finding> {
  const { expect, watch, run } = seen;
  if (watch === null) return {};
  const finding: Finding = {};
  const completedAt = run?.completedAt ?? null;
  const isBefore = completedAt === null || completedAt < watch.since;
  const quietFrom = isBefore ? watch.since : completedAt;
  const isSilent =
    expect.maxSilenceSeconds !== undefined &&
    quietFrom <= timestamp(app.clock, -expect.maxSilenceSeconds * 1000) &&
    (watch.silentSince === null || quietFrom > watch.silentSince);
  if (isSilent) finding.silentSince = quietFrom;
  const late = lateOf(app, seen, { quietFrom, completedAt });
  if (late !== null && (watch.lateAt === null || quietFrom > watch.lateAt)) finding.late = late;

  const { minRows } = expect;
  const known = counted.get(seen.id);
  const isCounted = known !== undefined && known.runId === run?.id && known.minRows === minRows;
  if (minRows === undefined || run === null || isCounted) return finding;
  const rows = await rowsOf(db, run.id);
  if (rows < minRows && watch.emptyRunId === null) finding.empty = { runId: run.id, rows };
  else if (rows >= minRows && watch.emptyRunId !== null) finding.isFilled = true;
  else counted.set(seen.id, { runId: run.id, minRows });
  return finding;
}

function lateOf(
  app: App,
  { lateAfterSeconds, nextRunAt }: Seen,
  { quietFrom, completedAt }: { quietFrom: string; completedAt: string | null },
): Finding["late"] | null {
  if (lateAfterSeconds === null) return null;
  const limit = timestamp(app.clock, -lateAfterSeconds * 1000);
  const isOverdue = nextRunAt !== null && nextRunAt <= limit;
  if (!isOverdue && quietFrom > limit) return null;
  return { lateAfterSeconds, lastCompletedAt: completedAt, dueAt: isOverdue ? nextRunAt : null };
}

/** Counts the rows that all steps of an automation run wrote, including each item of a `forEach`. */
async function rowsOf(db: ReadDb, runId: string): Promise<number> {
  const found = (await db.get(sql`
    select coalesce(sum(cast(coalesce(json_extract(r.result, '$.rows'), json_extract(r.result, '$.summary.fields.rows')) as bigint)), 0) as n
    from action_runs r where r.status = 'completed' and r.id in (
      select json_extract(step.value, '$.actionRunId')
        from automation_runs a, json_each(a.steps) step where a.id = ${runId}
      union select action_run_id from automation_run_items where automation_run_id = ${runId})`)) as {
    n: number;
  };
  return Number(found.n);
}

/**
 * Checks every automation with `expect` or `alerts.lateAfterSeconds`. Reports by an event, and by a notice if there is
 * a `notifyUrl`: once for each silence, and once for consecutive runs with too few rows. What was reported is stored,
 * so that a restart doesn't report it again. A silence starts with the last completed run, but not before the
 * automation was first active with `expect`.
 */
export async function watchAutomations(app: App, counted: Counted): Promise<void> {
  const seen = await readWatches(app.store.db);
  const unseen = seen.filter(({ watch }) => watch === null);
  if (unseen.length > 0) await beginWatches(app, unseen);
  await endWatches(app);
  const ids = new Set(seen.map(({ id }) => id));
  for (const id of counted.keys()) if (!ids.has(id)) counted.delete(id);
  for (const one of seen) {
    try {
      const finding = await judge(app, app.store.db, one, counted);
      if (Object.keys(finding).length > 0) await write(contextOf(app, one), (tx) => closeWatch(tx, one.id));
    } catch (error) {
      app.log.report(error, { automationId: one.id, at: "watch an automation" }); // continue with the others; this one is checked again
    }
  }
}

const contextOf = (app: App, { organizationId }: Seen) =>
  contextForRun(app, { organizationId, actor: { ...WATCHER }, correlationId: app.ids.uuid() });

async function beginWatches(app: App, unseen: readonly Seen[]): Promise<void> {
  const since = timestamp(app.clock);
  await app.store.write(async (db) => {
    const rows = unseen.map(({ id, organizationId }) => ({ automationId: id, organizationId, since }));
    await db.insert(automationWatches).values(rows).onConflictDoNothing();
  });
}

const watchesOver = prepared((db: ReadDb) =>
  db
    .select({ id: automationWatches.automationId })
    .from(automationWatches)
    .where(
      sql`not exists (select 1 from ${automations} where ${automations.id} = ${automationWatches.automationId} and ${isExpecting})`,
    )
    .prepare(),
);

/** Deletes the state of automations that were disabled, deleted, or no longer have `expect`. */
async function endWatches(app: App): Promise<void> {
  const over = await watchesOver(app.store.db).all();
  if (over.length === 0) return;
  const ids = over.map(({ id }) => id);
  await app.store.write(async (db) => {
    await db.delete(automationWatches).where(inArray(automationWatches.automationId, ids));
  });
}

/** Checks again inside the transaction: another process may have reported it, or a run may have completed. */
async function closeWatch(tx: WriteContext, id: string): Promise<void> {
  const [seen] = await readWatches(tx.db, id);
  if (!seen) return;
  const { silentSince, empty, isFilled, late } = await judge(tx, tx.db, seen, new Map());
  const { maxSilenceSeconds, minRows } = seen.expect;
  const change = {
    ...(silentSince === undefined ? {} : { silentSince }),
    ...(empty === undefined ? {} : { emptyRunId: empty.runId }),
    ...(isFilled ? { emptyRunId: null } : {}),
    ...(late === undefined ? {} : { lateAt: timestamp(tx.clock) }),
  };
  if (Object.keys(change).length === 0) return;
  await tx.db.update(automationWatches).set(change).where(eq(automationWatches.automationId, id));
  const last = { lastRunId: seen.run?.id ?? null, lastCompletedAt: seen.run?.completedAt ?? null };
  if (silentSince !== undefined) {
    const limit = { maxSilenceSeconds: maxSilenceSeconds ?? null, silentSince };
    await tell(tx, seen, { reason: "silent", ...limit, ...last });
  }
  if (late !== undefined) await noticeLate(tx, id, late);
  if (empty !== undefined) {
    await tell(tx, seen, { reason: "empty", minRows: minRows ?? null, rows: empty.rows, ...last });
  }
}

async function tell(tx: WriteContext, seen: Seen, facts: JsonObject): Promise<void> {
  const { id, name, expect } = seen;
  await record(tx, "automation.stale", { type: "automation", id }, { name, ...facts });
  if (expect.notifyUrl === undefined) return;
  const to = { channel: "url", target: expect.notifyUrl, userId: null } as const;
  const noticed = { automation: { id, name }, ...facts };
  await putNotice(tx, to, { kind: "automation.stale", automationId: id, facts: noticed });
}
