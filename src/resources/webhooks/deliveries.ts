import { and, asc, desc, eq, isNull, lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import type { Context, WriteContext } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { setReplaying } from "../dead-letters/bury-outbound.ts";
import { record } from "../events/service.ts";
import { events } from "../events/table.ts";
import { toEvent } from "../events/wire.ts";
import { wake } from "./hold.ts";
import { findWebhook } from "./service.ts";
import {
  type OutboundAttemptRow,
  type OutboundRow,
  outboundAttempts,
  outboundDeliveries,
  webhooks,
} from "./table.ts";
import { type OutboundQuery, toAttempt, toOutbound } from "./wire.ts";

/** Newest first. */
export async function listOutbound(ctx: Context, webhookId: string, query: OutboundQuery) {
  await findWebhook(ctx, webhookId);
  const { status, limit, cursor } = query;
  const scope = ["outbound-deliveries", ctx.organizationId, webhookId, status ?? null];
  const before = cursor === undefined ? null : String(readCursor(ctx, scope, cursor));
  const rows = await ctx.db
    .select()
    .from(outboundDeliveries)
    .where(
      and(
        eq(outboundDeliveries.webhookId, webhookId),
        status === undefined ? undefined : eq(outboundDeliveries.status, status),
        before === null ? undefined : lt(outboundDeliveries.id, before),
      ),
    )
    .orderBy(desc(outboundDeliveries.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const page = { items: items.map(toOutbound) };
  return rows.length > limit && last ? { ...page, nextCursor: makeCursor(ctx, scope, last.id) } : page;
}

async function findOutbound(ctx: Context, webhookId: string, id: string): Promise<OutboundRow> {
  await findWebhook(ctx, webhookId);
  const [row] = await ctx.db
    .select()
    .from(outboundDeliveries)
    .where(and(eq(outboundDeliveries.webhookId, webhookId), eq(outboundDeliveries.id, id)));
  if (!row) throw notFound("delivery");
  return row;
}

/** Returns a delivery with its content and each attempt. */
export async function findWholeOutbound(ctx: Context, webhookId: string, id: string) {
  const row = await findOutbound(ctx, webhookId, id);
  const [event] = await ctx.db.select().from(events).where(eq(events.seq, row.eventSeq));
  if (!event) throw new AppError("gone", "This delivery's event is no longer stored.");
  const failed = await ctx.db
    .select()
    .from(outboundAttempts)
    .where(eq(outboundAttempts.deliveryId, id))
    .orderBy(asc(outboundAttempts.number));
  const attempts = row.status === "delivered" ? [...failed, lastAttempt(row)] : failed;
  return { ...toOutbound(row), payload: toEvent(event), attempts: attempts.map(toAttempt) };
}

/** Returns the successful attempt, which isn't stored separately. */
function lastAttempt(row: OutboundRow): OutboundAttemptRow {
  const { id: deliveryId, attempts: number, completedAt, replyCode, replyExcerpt, error } = row;
  const durationMs = row.durationMs ?? 0;
  const endedMs = Date.parse(completedAt ?? row.createdAt);
  const startedAt = new Date(endedMs - durationMs).toISOString();
  return { deliveryId, number, startedAt, durationMs, replyCode, replyExcerpt, error };
}

/** Sends the event of a delivery again, as a new delivery with the event's ID. Throws `invalid_state` if disabled. */
export async function redeliver(tx: WriteContext, webhookId: string, id: string): Promise<OutboundRow> {
  const row = await repeatOutbound(tx, await findOutbound(tx, webhookId, id));
  await setReplaying(tx.db, row);
  const entity = { type: "webhook_delivery" as const, id };
  await record(tx, "webhook.replayed", entity, { deliveryId: row.id, webhookId });
  return row;
}

/** Creates a new delivery of a dead letter's event. Throws `invalid_state`, `gone`. */
export async function replayOutbound(tx: WriteContext, deliveryId: string): Promise<OutboundRow> {
  const [delivery] = await tx.db
    .select()
    .from(outboundDeliveries)
    .where(eq(outboundDeliveries.id, deliveryId));
  if (!delivery) throw new AppError("gone", "The delivery of this dead letter is no longer stored.");
  return repeatOutbound(tx, delivery);
}

async function repeatOutbound(tx: WriteContext, delivery: OutboundRow): Promise<OutboundRow> {
  const [subscription] = await tx.db
    .select({ status: webhooks.status })
    .from(webhooks)
    .where(and(eq(webhooks.id, delivery.webhookId), isNull(webhooks.deletedAt)));
  if (!subscription) throw new AppError("invalid_state", "The webhook of this delivery has been deleted.");
  if (subscription.status === "disabled")
    throw new AppError("invalid_state", "The webhook of this delivery is disabled. Enable it first.");
  const now = timestamp(tx.clock);
  const row: OutboundRow = {
    ...delivery,
    id: tx.ids.uuid(),
    createdAt: now,
    status: "pending",
    attempts: 0,
    dueAt: now,
    takenBy: null,
    completedAt: null,
    replyCode: null,
    durationMs: null,
    replyExcerpt: null,
    error: null,
    replayOf: delivery.replayOf ?? delivery.id,
    isTest: false,
  };
  await tx.db.insert(outboundDeliveries).values(row);
  wake(tx);
  return row;
}
