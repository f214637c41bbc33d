import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import type { WriteDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import type { RunError } from "../runs/table.ts";
import { type OutboundRow, outboundAttempts } from "../webhooks/table.ts";
import { letterOf, putBack } from "./letters.ts";
import { deadLetters } from "./table.ts";

/** A dead letter refers to the first delivery of its event, so that every replay finds it. */
const rootOf = (delivery: Pick<OutboundRow, "id" | "replayOf">) => delivery.replayOf ?? delivery.id;

/**
 * Stores an outgoing delivery that failed permanently as a dead letter. A failed replay goes back to its dead letter.
 * No event is recorded if the delivery itself was about webhooks:
 * otherwise two unreachable receivers would cause events forever.
 */
export async function buryOutbound(tx: WriteContext, delivery: OutboundRow, error: RunError): Promise<void> {
  const id = (await putOutboundBack(tx, delivery, error)) ?? (await putNew(tx, delivery, error));
  if (delivery.eventType.startsWith("webhook.")) return;
  await record(
    tx,
    "webhook.dead_lettered",
    { type: "dead_letter", id },
    {
      deliveryId: delivery.id,
      webhookId: delivery.webhookId,
      eventId: delivery.eventId,
      eventType: delivery.eventType,
      attempts: delivery.attempts,
      error: { code: error.code, message: error.message },
    },
  );
}

/** Returns the dead letter that the delivery replays, dead again. Null if there is none. */
export async function putOutboundBack(
  tx: WriteContext,
  delivery: OutboundRow,
  error: RunError,
): Promise<string | null> {
  const { replayOf, attempts } = delivery;
  return replayOf === null ? null : putBack(tx, letterOf("outbound", replayOf), { attempts, error });
}

async function putNew(tx: WriteContext, delivery: OutboundRow, error: RunError): Promise<string> {
  const at = timestamp(tx.clock);
  const [first] = await tx.db
    .select({ startedAt: outboundAttempts.startedAt, durationMs: outboundAttempts.durationMs })
    .from(outboundAttempts)
    .where(and(eq(outboundAttempts.deliveryId, delivery.id), eq(outboundAttempts.number, 1)));
  const firstFailedAt = first ? new Date(Date.parse(first.startedAt) + first.durationMs).toISOString() : at;
  const id = tx.ids.uuid();
  await tx.db.insert(deadLetters).values({
    id,
    organizationId: tx.organizationId,
    source: "outbound",
    sourceId: delivery.webhookId,
    deliveryId: rootOf(delivery),
    attempts: delivery.attempts,
    firstFailedAt,
    lastFailedAt: at,
    error,
    replayCount: 0,
    status: "dead",
  });
  return id;
}

/** Marks the dead letters of these deliveries as replayed, once their replays were delivered. */
export async function digUpOutbound(db: WriteDb, rootIds: readonly string[]): Promise<void> {
  await db
    .update(deadLetters)
    .set({ status: "replayed" })
    .where(
      and(
        eq(deadLetters.source, "outbound"),
        sql`${deadLetters.deliveryId} in (select value from json_each(${JSON.stringify(rootIds)}))`,
      ),
    );
}

/** Marks a delivery's dead letter as being replayed. Null if it has none. */
export async function setReplaying(db: WriteDb, delivery: OutboundRow): Promise<string | null> {
  const [letter] = await db
    .update(deadLetters)
    .set({ status: "replaying", replayCount: sql`${deadLetters.replayCount} + 1` })
    .where(letterOf("outbound", rootOf(delivery)))
    .returning({ id: deadLetters.id });
  return letter?.id ?? null;
}
