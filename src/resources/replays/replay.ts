import { and, eq, isNull } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { type AutomationRow, automationRuns, automations } from "../automations/table.ts";
import { type DeadLetterRow, deadLetters } from "../dead-letters/table.ts";
import { record } from "../events/service.ts";
import { storeDelivery } from "../inbound/intake.ts";
import { type DeliveryRow, webhookDeliveries } from "../inbound/table.ts";
import { replayOutbound } from "../webhooks/deliveries.ts";
import type { OutboundRow } from "../webhooks/table.ts";

/**
 * Delivers a dead letter again, as a new delivery with the same content. Throws `invalid_state` while a replay is in
 * progress or after one succeeded, and if its automation or webhook was deleted or disabled.
 */
export async function replayDeadLetter(tx: WriteContext, id: string): Promise<Replayed> {
  const [letter] = await tx.db
    .select()
    .from(deadLetters)
    .where(and(eq(deadLetters.organizationId, tx.organizationId), eq(deadLetters.id, id)));
  if (!letter) throw notFound("dead letter");
  if (letter.status !== "dead")
    throw new AppError("invalid_state", `This dead letter is already ${letter.status}.`);
  return replay(tx, letter);
}

/** The new delivery, in the dead letter's direction. */
export type Replayed = { inbound: DeliveryRow } | { outbound: OutboundRow };

/**
 * The dead letter is marked first, since a webhook's run can end immediately and its result is stored in the dead
 * letter.
 */
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

/** Who sent a delivery, and how, as far as its run is still stored. */
async function senderOf(tx: WriteContext, { automationRunId }: DeliveryRow, { triggerType }: AutomationRow) {
  const method = triggerType === "form" ? "form" : "webhook";
  const [run] = await tx.db
    .select({ type: automationRuns.triggerSourceType, id: automationRuns.triggerSourceId })
    .from(automationRuns)
    .where(eq(automationRuns.id, automationRunId ?? ""));
  return run?.type === "user" && run.id !== null
    ? ({ method, sourceType: "user", sourceId: run.id } as const)
    : ({ method, sourceType: "system" } as const);
}

async function replayInbound(tx: WriteContext, letter: DeadLetterRow): Promise<DeliveryRow> {
  const [webhook] = await tx.db
    .select()
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        eq(automations.id, letter.sourceId),
        isNull(automations.deletedAt),
      ),
    );
  if (!webhook) throw new AppError("invalid_state", "The automation of this dead letter has been deleted.");
  if (webhook.status !== "active") {
    const what = webhook.status === "draft" ? "a draft" : "disabled";
    throw new AppError(
      "invalid_state",
      `Automation ${webhook.name} is ${what}. Set its status to active first.`,
    );
  }
  const [delivery] = await tx.db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, letter.deliveryId));
  if (!delivery) throw new AppError("gone", "The payload is no longer stored.");
  const { deliveryId } = await storeDelivery(
    tx,
    { id: webhook.id, config: webhook.config as AutomationConfig, version: webhook.version },
    {
      payload: delivery.payload,
      headers: delivery.headers,
      query: delivery.query,
      ipAddress: delivery.ipAddress,
      isKept: delivery.isKept,
      repeatKey: null,
      replayOf: delivery.id,
    },
    delivery.payload,
    await senderOf(tx, delivery, webhook),
  );
  const [row] = await tx.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, deliveryId));
  if (!row) throw notFound("webhook delivery");
  return row;
}
