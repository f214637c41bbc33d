import { and, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { type Clock, timestamp } from "../base/clock.ts";
import type { App } from "../context.ts";
import { instantAfter } from "../flows/schedule.ts";
import { LEASE_MS } from "../queue/claim.ts";
import { RUNS_TOPIC } from "../queue/enqueue.ts";
import type { AutomationConfig } from "../resources/automations/config.ts";
import { automationRuns, automations } from "../resources/automations/table.ts";
import { dashboardSubscriptions } from "../resources/dashboard-subscriptions/table.ts";
import { webhookDeliveries } from "../resources/inbound/table.ts";
import { notices } from "../resources/notices/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { OUTBOUND_TOPIC, outboundDeliveries } from "../resources/webhooks/table.ts";
import type { WriteDb } from "../store/store.ts";
import type { Loop } from "./loop.ts";

/** Clock correction up to which due times aren't recomputed. */
export const CLOCK_JUMP_MS = 1_000;

/** How far the wall clock is ahead of the monotonic one, in milliseconds. */
export const aheadMs = (clock: Clock): number => clock.now().getTime() - clock.monotonic();

/** Adjusts due times after the clock was set back, so that nothing waits for a time by the old clock. */
export function timekeeper(app: App): Loop {
  /** Unknown at the start: the clock may have been set back while no server was running. */
  let known = Number.POSITIVE_INFINITY;
  return {
    name: "timekeeper",
    async tick() {
      const now = aheadMs(app.clock);
      if (now < known - CLOCK_JUMP_MS) {
        const mended = await mendInstants(app);
        if (mended > 0)
          app.log.write("warn", "clock set back; due times follow the current time", { mended });
        known = now;
      }
      known = Math.max(known, now); // many small corrections add up
      return "idle";
    },
  };
}

/**
 * Recomputes due times that came from a clock that was ahead: a delay starts again now with its full length, a
 * queued run is due immediately, and a schedule continues with its next time. Returns the number of rows changed.
 */
async function mendInstants(app: App): Promise<number> {
  const mended = await app.store.write(async (db) => {
    const now = timestamp(app.clock);
    const ahead = timestamp(app.clock, CLOCK_JUMP_MS); // the clocks of processes that share a store differ a little
    let count = await mendRuns(app, db, now, ahead);
    count += await mendDeliveries(db, now, ahead);
    return count + (await mendSchedules(app, db));
  });
  app.signals.notify(RUNS_TOPIC);
  app.signals.notify(OUTBOUND_TOPIC);
  return mended;
}

async function mendRuns(app: App, db: WriteDb, now: string, ahead: string): Promise<number> {
  const runs = await db
    .update(actionRuns)
    .set({ dueAt: pausedFrom(now, sql`${actionRuns.dueAt}`, sql`${actionRuns.updatedAt}`) })
    .where(
      sql`${actionRuns.status} in ('pending', 'waiting') and ${actionRuns.dueAt} > ${now} and ${actionRuns.updatedAt} > ${ahead}`,
    )
    .returning({ id: actionRuns.id });
  const waits = await db
    .update(actionRuns)
    .set({ waitUntil: pausedFrom(now, sql`${actionRuns.waitUntil}`, sql`${actionRuns.updatedAt}`) })
    .where(
      sql`${actionRuns.status} = 'waiting' and ${actionRuns.waitUntil} > ${now} and ${actionRuns.updatedAt} > ${ahead}`,
    )
    .returning({ id: actionRuns.id });
  const leaseUntil = timestamp(app.clock, LEASE_MS);
  const latest = timestamp(app.clock, LEASE_MS + CLOCK_JUMP_MS);
  const leased = await db
    .update(actionRuns)
    .set({ leaseUntil })
    .where(sql`${actionRuns.status} = 'running' and ${actionRuns.leaseUntil} > ${latest}`)
    .returning({ id: actionRuns.id });
  const flows = await db
    .update(automationRuns)
    .set({ dueAt: pausedFrom(now, sql`${automationRuns.dueAt}`, sql`${automationRuns.updatedAt}`) })
    .where(sql`${automationRuns.dueAt} > ${now} and ${automationRuns.updatedAt} > ${ahead}`)
    .returning({ id: automationRuns.id, deliveryId: automationRuns.deliveryId, dueAt: automationRuns.dueAt });
  for (const { deliveryId, dueAt } of flows) {
    if (deliveryId === null) continue;
    await db
      .update(webhookDeliveries)
      .set({ nextAttemptAt: dueAt })
      .where(eq(webhookDeliveries.id, deliveryId));
  }
  return runs.length + waits.length + leased.length + flows.length;
}

/** Outbound deliveries and notices. Leaves those that a process is working on. */
async function mendDeliveries(db: WriteDb, now: string, ahead: string): Promise<number> {
  const since = sql`coalesce(${outboundDeliveries.completedAt}, ${outboundDeliveries.createdAt})`;
  const deliveries = await db
    .update(outboundDeliveries)
    .set({ dueAt: pausedFrom(now, sql`${outboundDeliveries.dueAt}`, since) })
    .where(
      and(
        isNotNull(outboundDeliveries.dueAt),
        isNull(outboundDeliveries.takenBy),
        sql`${outboundDeliveries.dueAt} > ${now} and ${since} > ${ahead}`,
      ),
    )
    .returning({ id: outboundDeliveries.id });
  const movedNotices = await db
    .update(notices)
    .set({ dueAt: now })
    .where(sql`${notices.dueAt} > ${now} and ${notices.createdAt} > ${ahead}`)
    .returning({ id: notices.id });
  return deliveries.length + movedNotices.length;
}

/** `now` plus the time between `since` and `due`. */
const pausedFrom = (now: string, due: SQL, since: SQL): SQL<string> =>
  sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', unixepoch(${now}, 'subsec')
    + max(0, unixepoch(${due}, 'subsec') - unixepoch(${since}, 'subsec')), 'unixepoch')`;

/** A time that already had its run isn't repeated; see `startDueSchedules`. */
async function mendSchedules(app: App, db: WriteDb): Promise<number> {
  const { id, config, nextRunAt } = automations;
  const rows = await db.select({ id, config, nextRunAt }).from(automations).where(isNotNull(nextRunAt));
  let mended = 0;
  for (const row of rows) {
    const { schedule } = row.config as AutomationConfig;
    const next = schedule ? instantAfter(schedule, app.clock.now()) : null;
    if (next === null || row.nextRunAt === null || next >= row.nextRunAt) continue;
    await db.update(automations).set({ nextRunAt: next }).where(eq(id, row.id));
    mended++;
  }
  return mended + (await mendSubscriptions(app, db));
}

/** Likewise for dashboard mails; see `sendDueDashboards`. */
async function mendSubscriptions(app: App, db: WriteDb): Promise<number> {
  const { id, cron, timezone, nextAt } = dashboardSubscriptions;
  const rows = await db
    .select({ id, cron, timezone, nextAt })
    .from(dashboardSubscriptions)
    .where(isNotNull(nextAt));
  let mended = 0;
  for (const row of rows) {
    const next = instantAfter(row, app.clock.now());
    if (next === null || row.nextAt === null || next >= row.nextAt) continue;
    await db.update(dashboardSubscriptions).set({ nextAt: next }).where(eq(id, row.id));
    mended++;
  }
  return mended;
}
