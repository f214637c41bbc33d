import { eq } from "drizzle-orm";
import type { WriteContext } from "../../context.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { endOfTrail } from "../events/followed.ts";
import { positionOf, readFollowed } from "./position.ts";
import type { WebhookRow } from "./table.ts";

/** Event types of a subscription up to a position in the audit log, starting where the previous ones end. */
export interface Former {
  upTo: number;
  /** Patterns of event types. */
  events: string[];
}

const keyOf = (webhookId: string) => `webhook_former:${webhookId}`;

/** In order. Empty if everything that it still has to catch up with uses its current types. */
export async function formerOf(db: ReadDb, webhookId: string): Promise<Former[]> {
  const [row] = await db
    .select()
    .from(settings)
    .where(eq(settings.key, keyOf(webhookId)));
  return row ? (JSON.parse(row.value) as Former[]) : [];
}

async function keep(db: WriteDb, webhookId: string, former: readonly Former[]): Promise<void> {
  const key = keyOf(webhookId);
  if (former.length === 0) await db.delete(settings).where(eq(settings.key, key));
  else {
    const value = JSON.stringify(former);
    await db
      .insert(settings)
      .values({ key, value })
      .onConflictDoUpdate({ target: settings.key, set: { value } });
  }
}

/**
 * Returns the columns that change with the event types. An event is delivered if its type was subscribed to when it
 * happened: events up to now without a delivery, held or not followed yet, use the previous types.
 */
export async function changeTypes(
  tx: WriteContext,
  row: WebhookRow,
): Promise<Partial<Pick<WebhookRow, "afterSeq" | "heldFrom" | "heldTo">>> {
  const upTo = await endOfTrail(tx.db);
  const followed = positionOf(await readFollowed(tx.db), row.organizationId);
  const heldFrom = row.heldFrom ?? Math.max(followed, row.afterSeq);
  if (heldFrom >= upTo) return {};
  const former = await formerOf(tx.db, row.id);
  if ((former.at(-1)?.upTo ?? 0) < upTo) await keep(tx.db, row.id, [...former, { upTo, events: row.events }]);
  return row.status === "active" ? { heldFrom, heldTo: upTo, afterSeq: upTo } : {};
}

/** Removes types up to `position`, since their deliveries have been created. */
export async function forgetFormer(db: WriteDb, webhookId: string, position: number): Promise<void> {
  const former = await formerOf(db, webhookId);
  const left = former.filter(({ upTo }) => upTo > position);
  if (left.length < former.length) await keep(db, webhookId, left);
}
