import { and, asc, eq, isNull, lte, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { openSetbacks } from "../base/setbacks.ts";
import { type Actor, type App, contextForRun, type WriteContext, write } from "../context.ts";
import type { AutomationConfig, Schedule } from "../resources/automations/config.ts";
import { type AutomationRow, automationRuns, automations } from "../resources/automations/table.ts";
import { record } from "../resources/events/service.ts";
import { mayPass } from "../store/faults.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { version } from "../version.ts";
import { internalError } from "./fail.ts";
import { countInstants, instantAfter, instantBefore } from "./schedule.ts";
import { type NewAutomationRun, refuseAutomationRun, startAutomationRun } from "./start.ts";

const BATCH = 50;
/**
 * A schedule that is at most this late counts as on time. Beyond that, the process was suspended or the clock jumped.
 */
const LATE_MS = 5 * 60_000;
/** How late a run may be under `catchUp: none`, whether or not this process was running when it was due. */
const GRACE_MS = 60_000;
/** Delay after which other processes on the same database would have started a run. */
const OTHERS_MS = 5_000;
/** Maximum number of missed runs that are counted. */
const MAX_COUNTED = 1000;

const SCHEDULER: Actor = { type: "system", id: "scheduler", process: "weir", version };

const dueSchedules = prepared((db: ReadDb) =>
  db
    .select({
      id: automations.id,
      organizationId: automations.organizationId,
      nextRunAt: automations.nextRunAt,
    })
    .from(automations)
    .where(
      and(
        lte(automations.nextRunAt, sql.placeholder("now")),
        sql`${automations.id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
      ),
    )
    .orderBy(asc(automations.nextRunAt))
    .limit(BATCH)
    .prepare(),
);

/**
 * Starts one run for each due time of each schedule. Returns how many schedules were due. Times before the last `upMs`,
 * during which this process was running, were missed. `catchUp` decides which of them is made up for.
 */
export async function startDueSchedules(
  app: App,
  upMs: number,
  setbacks = openSetbacks(app.clock),
): Promise<number> {
  const due = await dueSchedules(app.store.db).all({
    now: timestamp(app.clock),
    passedOver: setbacks.passedOver(),
  });
  let failed = 0;
  for (const { id, organizationId, nextRunAt } of due) {
    const correlationId = app.ids.uuid();
    const ctx = contextForRun(app, { organizationId, actor: { ...SCHEDULER }, correlationId });
    if (nextRunAt === null) continue;
    const tell = (error: unknown) => app.log.report(error, { automationId: id, correlationId });
    try {
      await write(ctx, (tx) => startDue(tx, { id, nextRunAt }, upMs));
    } catch (error) {
      failed++; // continue with the others; this one is tried again after a pause, and then its run fails
      tell(error);
      if (mayPass(error) || !setbacks.note(id)) continue;
      await write(ctx, (tx) => failDue(tx, { id, nextRunAt })).then(() => setbacks.clear(id), tell);
    }
  }
  return due.length - failed;
}

interface Due {
  id: string;
  nextRunAt: string;
}

const stillDue = ({ id, nextRunAt }: Due) =>
  and(
    eq(automations.id, id),
    eq(automations.nextRunAt, nextRunAt), // otherwise another process was faster, or the schedule has changed
    eq(automations.status, "active"),
    isNull(automations.deletedAt),
  );

/**
 * If the run of a time can't start because of an internal error, stores a failed run that says so. The next time is
 * started as usual.
 */
async function failDue(tx: WriteContext, due: Due): Promise<void> {
  const [automation] = await tx.db.select().from(automations).where(stillDue(due));
  if (!automation) return;
  const { id, nextRunAt: instant } = due;
  const next = nextOf(automation, new Date(instant));
  await tx.db.update(automations).set({ nextRunAt: next }).where(eq(automations.id, id));
  if (await hasRun(tx, id, instant)) return;
  const ends = next === null ? " The next run can't be computed. Save the schedule again." : "";
  const error = internalError(`The scheduled run couldn't be started. See the server log.${ends}`);
  await refuseAutomationRun(tx, automation, startAt(instant), { error, isCutOff: false });
}

function nextOf({ config }: AutomationRow, after: Date): string | null {
  try {
    return instantAfter((config as AutomationConfig).schedule as Schedule, after);
  } catch {
    return null; // the log already has the cause
  }
}

const startAt = (instant: string): NewAutomationRun => ({
  trigger: { method: "schedule", sourceType: "system", sourceId: null },
  input: { scheduledAt: instant },
  scheduledAt: instant,
});

async function startDue(tx: WriteContext, due: Due, upMs: number): Promise<void> {
  const { id, nextRunAt } = due;
  const [automation] = await tx.db.select().from(automations).where(stillDue(due));
  const { schedule } = (automation?.config ?? {}) as AutomationConfig;
  if (!automation || !schedule) return;
  const graceMs = schedule.catchUp === "last" ? 0 : GRACE_MS; // the last one is started anyway, and alone
  const sinceMs = Math.max(graceMs, Math.min(upMs + (tx.store.remote ? OTHERS_MS : 0), LATE_MS));
  const missedBefore = new Date(tx.clock.now().getTime() - sinceMs);
  const isMissed = nextRunAt < missedBefore.toISOString();
  const instant = isMissed ? await madeUpFor(tx, automation, schedule, missedBefore) : nextRunAt;
  const after = isMissed ? new Date(missedBefore.getTime() - 1) : new Date(nextRunAt);
  await tx.db
    .update(automations)
    .set({ nextRunAt: instantAfter(schedule, after) })
    .where(eq(automations.id, id));
  if (instant === null || (await hasRun(tx, id, instant))) return;
  await startAutomationRun(tx, automation, startAt(instant));
}

/** Describes the missed runs, and which of them is caught up; null if there are none. */
async function madeUpFor(
  tx: WriteContext,
  { id, nextRunAt }: AutomationRow,
  schedule: Schedule,
  before: Date,
): Promise<string | null> {
  const from = nextRunAt ?? before.toISOString();
  const to = instantBefore(schedule, before) ?? from;
  const { catchUp = "none" } = schedule;
  const madeUp = catchUp === "last" ? to : null;
  const missed = countInstants(schedule, from, before, MAX_COUNTED) - (madeUp === null ? 0 : 1);
  if (missed <= 0) return madeUp;
  const data = { missed, isCounted: missed < MAX_COUNTED - 1, from, to, catchUp, madeUpFor: madeUp };
  await record(tx, "automation.schedule_missed", { type: "automation", id }, data);
  tx.afterCommit(() =>
    tx.log.write("warn", "missed schedule while no server was running", { automationId: id, ...data }),
  );
  return madeUp;
}

/** A clock that was set back doesn't start a run for the same time twice. */
async function hasRun(tx: WriteContext, automationId: string, scheduledAt: string): Promise<boolean> {
  const rows = await tx.db
    .select({ id: automationRuns.id })
    .from(automationRuns)
    .where(and(eq(automationRuns.automationId, automationId), eq(automationRuns.scheduledAt, scheduledAt)));
  return rows.length > 0;
}
