import { and, eq, inArray, isNotNull, sql } from "drizzle-orm";
import type { App } from "../context.ts";
import { deadLetters } from "../resources/dead-letters/table.ts";
import { deliveryAttempts, webhookDeliveries } from "../resources/inbound/table.ts";
import { outboundDeliveries, webhooks } from "../resources/webhooks/table.ts";
import { prune } from "./retention.ts";

/** Deletes expired dead letters, and those that were replayed. */
export const sweepDeadLetters = (app: App): AsyncGenerator<void> => {
  const { id, status, lastFailedAt: endedAt } = deadLetters;
  const history = { name: "dead letters", table: deadLetters, id, status, endedAt };
  return prune(app, history, sql`dead_letters.status <> 'replaying'`);
};

/** Deletes expired webhook requests with their payload. A dead letter keeps its own. */
export const sweepDeliveries = (app: App): AsyncGenerator<void> => {
  const { id, status, updatedAt: endedAt } = webhookDeliveries;
  const history = { name: "webhook deliveries", table: webhookDeliveries, id, status, endedAt };
  const free = sql`
    webhook_deliveries.status in ('processed', 'failed', 'dead_letter')
    and not exists (select 1 from dead_letters l where l.delivery_id = webhook_deliveries.id)
    and not exists (
      select 1 from automation_runs r
      where r.id = webhook_deliveries.automation_run_id and r.completed_at is null)`;
  return prune(app, history, free, {
    with: async (db, gone) => {
      await db.delete(deliveryAttempts).where(inArray(deliveryAttempts.deliveryId, gone));
    },
  });
};

/** Deletes expired outbound deliveries. A trigger deletes their attempts. */
export const sweepOutbound = (app: App): AsyncGenerator<void> => {
  const { id, status, completedAt: endedAt } = outboundDeliveries;
  const history = { name: "outbound deliveries", table: outboundDeliveries, id, status, endedAt };
  const free = sql`
    outbound_deliveries.due_at is null
    and not exists (select 1 from dead_letters l where l.delivery_id = outbound_deliveries.id)`;
  return prune(app, history, free);
};

const BATCH = 200;

/** Deletes the data of deleted subscriptions, then their rows. A dead letter keeps its delivery. */
export async function* sweepSubscriptions(app: App): AsyncGenerator<void> {
  const deleted = await app.store.db
    .select({ id: webhooks.id })
    .from(webhooks)
    .where(isNotNull(webhooks.deletedAt));
  for (const { id } of deleted) {
    for (let changes = BATCH; changes === BATCH; yield) {
      ({ changes } = await app.store.write((db) =>
        db.delete(outboundDeliveries).where(sql`outbound_deliveries.id in (
          select d.id from outbound_deliveries d where d.webhook_id = ${id}
            and not exists (select 1 from dead_letters l where l.delivery_id = d.id) limit ${BATCH})`),
      ));
    }
    const isEmpty = sql`not exists (select 1 from outbound_deliveries d where d.webhook_id = webhooks.id)`;
    await app.store.write(
      async (db) => void (await db.delete(webhooks).where(and(eq(webhooks.id, id), isEmpty))),
    );
    yield;
  }
}
