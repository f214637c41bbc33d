import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { automations } from "../automations/table.ts";
import { record } from "../events/service.ts";
import { storeDelivery } from "../inbound/intake.ts";
import { type DeliveryRow, webhookDeliveries } from "../inbound/table.ts";
import { replayOutbound } from "../webhooks/deliveries.ts";
import type { OutboundRow } from "../webhooks/table.ts";
import { type DeadLetterRow, deadLetters } from "./table.ts";
import { type DeadLetterQuery, toDeadLetter } from "./wire.ts";

/** The letters of an automation, or of a webhook. */
export const from = (source: "inbound" | "outbound", sourceId: string) =>
  and(eq(deadLetters.source, source), eq(deadLetters.sourceId, sourceId));

/** Newest first. */
export async function listDeadLetters(ctx: Context, query: DeadLetterQuery) {
  const { source, automation_id, webhook_id, cursor, limit } = query;
  const scope = [
    "dead-letters",
    ctx.organizationId,
    source ?? null,
    automation_id ?? null,
    webhook_id ?? null,
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
        before === null ? undefined : lt(deadLetters.id, before),
      ),
    )
    .orderBy(desc(deadLetters.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const page = { items: items.map(toDeadLetter) };
  return rows.length > limit && last ? { ...page, nextCursor: makeCursor(ctx, scope, last.id) } : page;
}

/**
 * Delivers a dead letter once more, as a new delivery with the same content. Throws `invalid_state` while
 * a replay is under way or after one succeeded, and when its automation or webhook is gone or disabled.
 */
export async function replayDeadLetter(tx: WriteContext, id: string): Promise<Replayed> {
  const [letter] = await tx.db
    .select()
    .from(deadLetters)
    .where(and(eq(deadLetters.organizationId, tx.organizationId), eq(deadLetters.id, id)));
  if (!letter) throw notFound("dead letter");
  if (letter.status !== "dead")
    throw new AppError("invalid_state", `This dead letter is ${letter.status} already.`);
  return replay(tx, letter);
}

/** The new delivery, of the letter's direction. */
export type Replayed = { inbound: DeliveryRow } | { outbound: OutboundRow };

/** The letter is marked first: the run of a webhook may end on the spot, and what it comes to stands in the letter. */
async function replay(tx: WriteContext, letter: DeadLetterRow): Promise<Replayed> {
  await tx.db
    .update(deadLetters)
    .set({ status: "replaying", replayCount: letter.replayCount + 1 })
    .where(eq(deadLetters.id, letter.id));
  const { replayed, data } =
    letter.source === "inbound" ? await again(tx, letter) : await againOut(tx, letter);
  await record(tx, "webhook.replayed", { type: "dead_letter", id: letter.id }, data);
  return replayed;
}

async function again(tx: WriteContext, letter: DeadLetterRow) {
  const inbound = await replayInbound(tx, letter);
  return { replayed: { inbound }, data: { deliveryId: inbound.id, automationId: letter.sourceId } };
}

async function againOut(tx: WriteContext, letter: DeadLetterRow) {
  const outbound = await replayOutbound(tx, letter.deliveryId);
  return { replayed: { outbound }, data: { deliveryId: outbound.id, webhookId: letter.sourceId } };
}

async function replayInbound(tx: WriteContext, letter: DeadLetterRow): Promise<DeliveryRow> {
  const [hook] = await tx.db
    .select()
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        eq(automations.id, letter.sourceId),
        isNull(automations.deletedAt),
      ),
    );
  if (!hook) throw new AppError("invalid_state", "The automation of this dead letter has been deleted.");
  if (hook.status === "disabled")
    throw new AppError("invalid_state", `The automation ${hook.name} is disabled; enable it first.`);
  const [delivery] = await tx.db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, letter.deliveryId));
  if (!delivery) throw new AppError("gone", "The content of this dead letter is not kept any more.");
  const { deliveryId } = await storeDelivery(
    tx,
    { id: hook.id, config: hook.config as AutomationConfig, version: hook.version },
    {
      payload: delivery.payload,
      headers: delivery.headers,
      query: delivery.query,
      ipAddress: delivery.ipAddress,
      isKept: delivery.isKept,
      repeatKey: null,
      replayOf: delivery.id,
    },
  );
  const [row] = await tx.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, deliveryId));
  if (!row) throw notFound("webhook delivery");
  return row;
}

/** The delivery itself stays. */
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
