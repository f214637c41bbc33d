import { and, asc, eq, lte, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { openSetbacks } from "../../base/setbacks.ts";
import { type App, contextForRun, SYSTEM, write } from "../../context.ts";
import { instantAfter } from "../../flows/schedule.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { queueMails } from "./send.ts";
import { dashboardSubscriptions, type SubscriptionRow } from "./table.ts";

const BATCH = 50;

const dueSubscriptions = prepared((db: ReadDb) =>
  db
    .select()
    .from(dashboardSubscriptions)
    .where(
      and(
        lte(dashboardSubscriptions.nextAt, sql.placeholder("now")),
        sql`${dashboardSubscriptions.id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
      ),
    )
    .orderBy(asc(dashboardSubscriptions.nextAt))
    .limit(BATCH)
    .prepare(),
);

/**
 * Queues the emails of each subscription that is due, and returns the number of subscriptions.
 * The first process to handle one moves it to its next time in the same transaction.
 * One email makes up for all times missed while no server was running.
 */
export async function sendDueDashboards(app: App, setbacks = openSetbacks(app.clock)): Promise<number> {
  const due = await dueSubscriptions(app.store.db).all({
    now: timestamp(app.clock),
    passedOver: setbacks.passedOver(),
  });
  let sent = 0;
  for (const row of due) {
    try {
      if (await sendDue(app, row)) sent++;
    } catch (error) {
      setbacks.note(row.id); // The others are still sent; this one is tried again after a pause.
      app.log.report(error, { subscriptionId: row.id, at: "send a dashboard" });
    }
  }
  return sent;
}

async function sendDue(app: App, row: SubscriptionRow): Promise<boolean> {
  const { id, organizationId, dashboardId, cron, timezone, nextAt, lastAt, recipients, filters } = row;
  if (nextAt === null) return false;
  const ctx = contextForRun(app, {
    organizationId,
    actor: { ...SYSTEM },
    correlationId: app.ids.uuid(),
  });
  return write(ctx, async (tx) => {
    const [mine] = await tx.db
      .update(dashboardSubscriptions)
      .set({ nextAt: instantAfter({ cron, timezone }, tx.clock.now()), lastAt: nextAt })
      .where(and(eq(dashboardSubscriptions.id, id), eq(dashboardSubscriptions.nextAt, nextAt)))
      .returning({ id: dashboardSubscriptions.id });
    const isRepeated = lastAt !== null && nextAt <= lastAt; // The clock was set back.
    if (!mine || isRepeated) return false;
    await queueMails(tx, dashboardId, { recipients, filters, subscriptionId: id });
    return true;
  });
}
