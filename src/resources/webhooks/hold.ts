import type { WriteContext } from "../../context.ts";
import { positionOf, readFollowed } from "./position.ts";
import { OUTBOUND_TOPIC, type WebhookRow } from "./table.ts";

/** Disables a subscription. From here on, its events are held, and never dropped. */
export async function hold(tx: WriteContext, row: WebhookRow, reason: string | null = null) {
  const followed = positionOf(await readFollowed(tx.db), row.organizationId);
  return {
    status: "disabled" as const,
    disabledReason: reason,
    heldFrom: row.heldFrom ?? Math.max(followed, row.afterSeq),
    heldTo: null,
  };
}

/** Wakes the deliverer. */
export const wake = (tx: WriteContext) => tx.afterCommit(() => tx.signals.notify(OUTBOUND_TOPIC));
