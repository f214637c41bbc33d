import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import type { DeliveryRow } from "../inbound/table.ts";
import type { RunError } from "../runs/table.ts";
import { deadLetters } from "./table.ts";

const letterOf = (deliveryId: string) => and(eq(deadLetters.source, "inbound"), eq(deadLetters.deliveryId, deliveryId));

/** Puts a webhook delivery that failed for good among the dead letters; a replay that failed goes back to its letter. */
export async function buryDelivery(tx: WriteContext, delivery: DeliveryRow, error: RunError): Promise<void> {
  const at = timestamp(tx.clock);
  if (delivery.replayOf !== null) {
    const replayed = await tx.db
      .update(deadLetters)
      .set({ status: "dead", lastFailedAt: at, error, attempts: sql`${deadLetters.attempts} + ${delivery.attempts}` })
      .where(letterOf(delivery.replayOf))
      .returning({ id: deadLetters.id });
    if (replayed.length > 0) return;
  }
  const id = tx.ids.uuid();
  await tx.db.insert(deadLetters).values({
    id,
    organizationId: tx.organizationId,
    source: "inbound",
    sourceId: delivery.automationId,
    deliveryId: delivery.id,
    attempts: delivery.attempts,
    firstFailedAt: at,
    lastFailedAt: at,
    error,
    replayCount: 0,
    status: "dead",
  });
  await record(tx, "webhook.dead_lettered", { type: "dead_letter", id }, {
    deliveryId: delivery.id,
    automationId: delivery.automationId,
    attempts: delivery.attempts,
    error: { code: error.code, message: error.message },
  });
}

/** Marks the letter of a delivery as replayed, once its replay was processed. */
export async function digUp(tx: WriteContext, deliveryId: string): Promise<void> {
  await tx.db.update(deadLetters).set({ status: "replayed" }).where(letterOf(deliveryId));
}
