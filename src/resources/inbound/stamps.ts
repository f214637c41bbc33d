import { and, eq, inArray, lt, sql } from "drizzle-orm";
import type { App, WriteContext } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { isSigned } from "../automations/sender.ts";
import { automations, WEBHOOKS_TOPIC } from "../automations/table.ts";
import type { Webhook } from "./gate.ts";
import { CLOCK_SKEW_SECONDS, refused, type Stamp } from "./sender.ts";
import { webhookSignatures } from "./table.ts";

/** Number of expired signatures that are deleted at a time. */
const BATCH = 5_000;

const taken = prepared((db: ReadDb) =>
  db
    .select({ sentAt: webhookSignatures.sentAt })
    .from(webhookSignatures)
    .where(
      and(
        eq(webhookSignatures.sentAt, sql.placeholder("sentAt")),
        eq(webhookSignatures.automationId, sql.placeholder("automationId")),
        eq(webhookSignatures.signature, sql.placeholder("signature")),
      ),
    )
    .prepare(),
);

const takenBefore = () =>
  refused(
    "This signature was already used. Sign each request again, or repeat it with the same Idempotency-Key.",
  );

/**
 * Rejects a signature that was accepted before, unless the request has a message ID and may be a repeat. Checked before
 * the rate limit, so that replayed requests don't use it up. Throws `unauthenticated`.
 */
export async function refuseReplayed(
  app: App,
  webhook: Webhook,
  stamp: Stamp,
  headers: Headers,
): Promise<void> {
  if (headers.has("idempotency-key") || headers.has("webhook-id")) return;
  const [found] = await taken(app.store.db).all({ ...stamp, automationId: webhook.id });
  if (found) throw takenBefore();
}

/**
 * Records a signature, once. After its first timestamp, a webhook requires one. Throws `unauthenticated` if the
 * signature was recorded before, unless the request is a repeat.
 */
export async function takeStamp(
  tx: WriteContext,
  webhook: Webhook,
  stamp: Stamp,
  isRepeat: boolean,
): Promise<void> {
  const made = await tx.db
    .insert(webhookSignatures)
    .values({ ...stamp, automationId: webhook.id })
    .onConflictDoNothing()
    .returning({ sentAt: webhookSignatures.sentAt });
  if (made.length === 0 && !isRepeat) throw takenBefore();
  if (webhook.needsTimestamp || webhook.hasSeenTimestamp || !isSigned(webhook.config)) return;
  await tx.db.update(automations).set({ timestampRule: "seen" }).where(eq(automations.id, webhook.id));
  tx.afterCommit(() => tx.signals.notify(WEBHOOKS_TOPIC));
}

/** Deletes signatures whose timestamps are too old to be accepted. */
export async function* sweepStamps(app: App): AsyncGenerator<void> {
  const oldest = Math.floor(app.clock.now().getTime() / 1000) - 2 * CLOCK_SKEW_SECONDS;
  const { sentAt } = webhookSignatures;
  for (;;) {
    const found = await app.store.db
      .select({ sentAt })
      .from(webhookSignatures)
      .where(lt(sentAt, oldest))
      .orderBy(sentAt)
      .limit(BATCH);
    if (found.length === 0) return;
    const seconds = [...new Set(found.map((row) => row.sentAt))];
    await app.store.write(
      async (db) => void (await db.delete(webhookSignatures).where(inArray(sentAt, seconds))),
    );
    if (found.length < BATCH) return;
    yield;
  }
}
