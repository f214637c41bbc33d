import type { WriteContext } from "../../context.ts";
import { storedPlace } from "../events/followed.ts";
import { OUTBOUND_TOPIC, type WebhookRow } from "./table.ts";

/** The key of the row that tells up to which place of the trail deliveries were made. */
export const FOLLOWED = "webhooks_followed";

/** What disables a subscription: from where on events are held for it. They are never dropped. */
export async function hold(tx: WriteContext, row: WebhookRow, reason: string | null = null) {
  const followed = (await storedPlace(tx.db, FOLLOWED)) ?? 0;
  return {
    status: "disabled" as const,
    disabledReason: reason,
    heldFrom: row.heldFrom ?? Math.max(followed, row.afterSeq),
    heldTo: null,
  };
}

/** Has the deliverer look. */
export const wake = (tx: WriteContext) => tx.afterCommit(() => tx.signals.notify(OUTBOUND_TOPIC));
