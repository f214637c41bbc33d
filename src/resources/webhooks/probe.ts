import { and, desc, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { record } from "../events/service.ts";
import { events } from "../events/table.ts";
import { recordAttempts } from "./attempts.ts";
import { sendOnce } from "./send.ts";
import { findWebhook } from "./service.ts";
import { shownUrl } from "./shown-url.ts";
import { subscriptionOf } from "./subscriptions.ts";
import { type OutboundRow, outboundDeliveries } from "./table.ts";
import { messageAt } from "./take.ts";

/** Added to the receiver's timeout before others may take the delivery of a test whose process has died. */
const MARGIN_MS = 30_000;

/**
 * Sends an event `webhook.tested` to the subscription immediately and once,
 * whatever its types and even if it is disabled. Returns the result.
 */
export async function testWebhook(ctx: Context, id: string): Promise<OutboundRow> {
  const untilMs = ctx.clock.now().getTime() + ctx.config.webhookTimeout * 1000 + MARGIN_MS;
  const delivery = await write(ctx, async (tx) => {
    const row = await findWebhook(tx, id);
    const deliveryId = tx.ids.uuid();
    const data = { url: shownUrl(row.url), deliveryId };
    await record(tx, "webhook.tested", { type: "webhook", id }, data);
    const made: OutboundRow = {
      id: deliveryId,
      organizationId: row.organizationId,
      webhookId: id,
      eventSeq: 0,
      eventId: "",
      eventType: "webhook.tested",
      createdAt: timestamp(tx.clock),
      status: "pending",
      attempts: 0,
      dueAt: new Date(untilMs).toISOString(),
      takenBy: tx.bootId,
      completedAt: null,
      replyCode: null,
      durationMs: null,
      replyExcerpt: null,
      error: null,
      replayOf: null,
      isTest: true,
    };
    // Its event only has a position after all events of the transaction are stored.
    tx.beforeCommit(async () => {
      const [own] = await tx.db
        .select({ seq: events.seq, id: events.id })
        .from(events)
        .where(and(eq(events.organizationId, row.organizationId), eq(events.entityId, id)))
        .orderBy(desc(events.seq))
        .limit(1);
      if (!own) throw new AppError("internal", "The test event wasn't stored.");
      made.eventSeq = own.seq;
      made.eventId = own.id;
      await tx.db.insert(outboundDeliveries).values(made);
    });
    return made;
  });
  const event = await messageAt(ctx.db, delivery.eventSeq);
  if (!event) throw new AppError("internal", "The test event no longer exists.");
  const taken = { delivery, event, subscription: subscriptionOf(await findWebhook(ctx, id)), untilMs };
  const attempt = await sendOnce(ctx, taken);
  await recordAttempts(ctx, attempt === null ? [] : [attempt]);
  const [row] = await ctx.db.select().from(outboundDeliveries).where(eq(outboundDeliveries.id, delivery.id));
  return row ?? delivery;
}
