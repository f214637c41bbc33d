import { and, desc, eq, inArray, lt } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { record } from "../events/service.ts";
import type { EventType } from "../events/table.ts";
import { outboundDeliveries } from "../webhooks/table.ts";
import { type DeadLetterRow, deadLetters } from "./table.ts";
import { type DeadLetterQuery, toDeadLetter } from "./wire.ts";

/** The dead letters of an automation or a webhook. */
export const from = (source: "inbound" | "outbound", sourceId: string) =>
  and(eq(deadLetters.source, source), eq(deadLetters.sourceId, sourceId));

/** Newest first. */
export async function listDeadLetters(ctx: Context, query: DeadLetterQuery) {
  const { source, automation_id, webhook_id, status, cursor, limit } = query;
  const scope = [
    "dead-letters",
    ctx.organizationId,
    source ?? null,
    automation_id ?? null,
    webhook_id ?? null,
    status ?? null,
  ];
  const before = cursor === undefined ? null : String(readCursor(ctx, scope, cursor));
  const rows = await ctx.db
    .select()
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.organizationId, ctx.organizationId),
        source === undefined ? undefined : eq(deadLetters.source, source),
        automation_id === undefined ? undefined : from("inbound", automation_id),
        webhook_id === undefined ? undefined : from("outbound", webhook_id),
        status === undefined ? undefined : eq(deadLetters.status, status),
        before === null ? undefined : lt(deadLetters.id, before),
      ),
    )
    .orderBy(desc(deadLetters.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const types = await eventTypesOf(ctx, items);
  const page = { items: items.map((row) => toDeadLetter(row, types.get(row.deliveryId))) };
  return rows.length > limit && last ? { ...page, nextCursor: makeCursor(ctx, scope, last.id) } : page;
}

/** Returns the event types of outgoing deliveries, by delivery ID. */
async function eventTypesOf(
  ctx: Context,
  rows: readonly DeadLetterRow[],
): Promise<ReadonlyMap<string, EventType>> {
  const ids = rows.filter(({ source }) => source === "outbound").map(({ deliveryId }) => deliveryId);
  if (ids.length === 0) return new Map();
  const { id, eventType, organizationId } = outboundDeliveries;
  const found = await ctx.db
    .select({ id, eventType })
    .from(outboundDeliveries)
    .where(and(eq(organizationId, ctx.organizationId), inArray(id, ids)));
  return new Map(found.map((delivery) => [delivery.id, delivery.eventType as EventType]));
}

/** Keeps the delivery itself. */
export async function deleteDeadLetter(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const [gone] = await tx.db
      .delete(deadLetters)
      .where(and(eq(deadLetters.organizationId, tx.organizationId), eq(deadLetters.id, id)))
      .returning({
        source: deadLetters.source,
        sourceId: deadLetters.sourceId,
        deliveryId: deadLetters.deliveryId,
      });
    if (!gone) throw notFound("dead letter");
    await record(tx, "webhook.discarded", { type: "dead_letter", id }, gone);
  });
}
