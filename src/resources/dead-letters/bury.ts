import { and, asc, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { type DeliveryRow, deliveryAttempts, webhookDeliveries } from "../inbound/table.ts";
import type { RunError } from "../runs/table.ts";
import { letterOf, putBack } from "./letters.ts";
import { deadLetters } from "./table.ts";

/** Stores a webhook delivery that failed permanently as a dead letter. A failed replay goes back to its dead letter. */
export async function buryDelivery(tx: WriteContext, delivery: DeliveryRow, error: RunError): Promise<void> {
  const id = (await putInboundBack(tx, delivery, error)) ?? (await putNew(tx, delivery, error));
  await record(
    tx,
    "webhook.dead_lettered",
    { type: "dead_letter", id },
    {
      deliveryId: delivery.id,
      automationId: delivery.automationId,
      attempts: delivery.attempts,
      error: { code: error.code, message: error.message },
    },
  );
}

/** Returns the dead letter that the delivery replays, dead again. Null if there is none. */
export async function putInboundBack(
  tx: WriteContext,
  delivery: DeliveryRow,
  error: RunError,
): Promise<string | null> {
  const { replayOf, attempts } = delivery;
  return replayOf === null ? null : putBack(tx, letterOf("inbound", replayOf), { attempts, error });
}

async function putNew(tx: WriteContext, delivery: DeliveryRow, error: RunError): Promise<string> {
  const at = timestamp(tx.clock);
  const [first] = await tx.db
    .select({ at: deliveryAttempts.completedAt })
    .from(deliveryAttempts)
    .where(eq(deliveryAttempts.deliveryId, delivery.id))
    .orderBy(asc(deliveryAttempts.number))
    .limit(1);
  const id = tx.ids.uuid();
  await tx.db.insert(deadLetters).values({
    id,
    organizationId: tx.organizationId,
    source: "inbound",
    sourceId: delivery.automationId,
    deliveryId: delivery.id,
    attempts: delivery.attempts,
    firstFailedAt: first?.at ?? at,
    lastFailedAt: at,
    error,
    replayCount: 0,
    status: "dead",
  });
  return id;
}

/** Marks a delivery's dead letter as replayed, once its replay or a retry of its run has completed, and deletes its content. */
export async function digUp(tx: WriteContext, deliveryId: string): Promise<void> {
  await tx.db.update(deadLetters).set({ status: "replayed" }).where(letterOf("inbound", deliveryId));
  await tx.db
    .update(webhookDeliveries)
    .set({ headers: null, query: null, payload: null })
    .where(and(eq(webhookDeliveries.id, deliveryId), eq(webhookDeliveries.isKept, false)));
}

/** Returns whether a replay of the delivery's dead letter is in progress. */
export async function isReplaying(tx: WriteContext, deliveryId: string): Promise<boolean> {
  const [letter] = await tx.db
    .select({ status: deadLetters.status })
    .from(deadLetters)
    .where(letterOf("inbound", deliveryId));
  return letter?.status === "replaying";
}
