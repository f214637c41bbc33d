import { eq } from "drizzle-orm";
import type { WriteContext } from "../../context.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { endOfTrail } from "../events/followed.ts";
import { positionOf, readFollowed } from "./position.ts";
import type { WebhookRow } from "./table.ts";

/** What a subscription was for up to a position in the trail, from where the one before ends. */
export interface Former {
  upTo: number;
  /** Patterns of event types. */
  events: string[];
}

const keyOf = (webhookId: string) => `webhook_former:${webhookId}`;

/** In order; empty where all that it has still to catch up with is of the types that it is for now. */
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
 * The columns that change with the types. An event is for a subscription that was for its type when it happened: what
 * has happened up to now and is no delivery yet, since it is held or was not followed so far, becomes one by the types
 * before.
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

/** Up to `position` deliveries have been made. */
export async function forgetFormer(db: WriteDb, webhookId: string, position: number): Promise<void> {
  const former = await formerOf(db, webhookId);
  const left = former.filter(({ upTo }) => upTo > position);
  if (left.length < former.length) await keep(db, webhookId, left);
}
