import { and, desc, eq, gt, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { NOTICES_TOPIC, type NoticeKind, notices, type Recipient } from "./table.ts";

/** The minimum time between two notices about the same thing. Each approval is a separate one. */
export const pauseMsOf = (kind: NoticeKind): number =>
  kind === "approval.open" || kind === "dashboard" ? 0 : 3_600_000;

/** Maximum number of notices about the same thing within the pause, if each reports a change. */
const MAX_CHANGES = 5;

/** Maximum number of decisions that a notice names. The others are counted. */
export const MAX_DECISIONS = 50;

interface NewNotice {
  kind: NoticeKind;
  automationId: string | null;
  facts: JsonObject;
  /** True if things weren't like this before. Changes are reported at once, unless there were many. */
  isChange?: boolean;
}

/** Subject and recipient, as in `notices.thing`. */
export const thingOf = (kind: NoticeKind, subject: string, { channel, target }: Recipient): string =>
  `${kind} ${subject} ${channel} ${target}`;

/** Whether it wasn't attempted yet, so that further events can be added. */
export const isOpen = () => and(isNotNull(notices.dueAt), eq(notices.attempts, 0), isNull(notices.takenBy));

/** Queues a separate notice, in the transaction of its event. */
export async function putNotice(tx: WriteContext, to: Recipient, notice: NewNotice): Promise<void> {
  const id = tx.ids.uuid();
  await tx.db.insert(notices).values({ ...rowOf(tx, to, notice), id, thing: id, dueAt: timestamp(tx.clock) });
  wake(tx);
}

/**
 * Queues a notice for each recipient, an hour after the last one about the same thing, or at once if something has
 * changed. If one is already queued, its count increases and it gets the new facts, except that `since` stays and `decisions` are added.
 */
export async function putGrouped(
  tx: WriteContext,
  subject: string,
  recipients: readonly Recipient[],
  notice: NewNotice,
): Promise<void> {
  if (recipients.length === 0) return;
  const { kind, facts, isChange = false } = notice;
  const things = recipients.map((to) => thingOf(kind, subject, to));
  const among = sql`${notices.thing} in (select value from json_each(${JSON.stringify(things)}))`;
  const grouped = await tx.db
    .update(notices)
    .set({ facts: mergedFacts(facts), count: sql`${notices.count} + 1` })
    .where(and(among, isOpen()))
    .returning({ thing: notices.thing });
  const known = new Set(grouped.map(({ thing }) => thing));
  const fresh = recipients.filter((to) => !known.has(thingOf(kind, subject, to)));
  if (fresh.length === 0) return;
  const pauseMs = pauseMsOf(kind);
  const sent = await tx.db
    .select({ thing: notices.thing, sentAt: notices.sentAt })
    .from(notices)
    .where(and(among, gt(notices.sentAt, timestamp(tx.clock, -pauseMs))))
    .orderBy(desc(notices.sentAt));
  const nowMs = tx.clock.now().getTime();
  const rows = fresh.map((to) => {
    const thing = thingOf(kind, subject, to);
    const last = sent.filter((each) => each.thing === thing)[isChange ? MAX_CHANGES - 1 : 0];
    const leftMs = last?.sentAt ? Date.parse(last.sentAt) + pauseMs - nowMs : 0;
    const dueAt = timestamp(tx.clock, Math.min(Math.max(0, leftMs), pauseMs));
    return { ...rowOf(tx, to, notice), id: tx.ids.uuid(), thing, dueAt };
  });
  for (let start = 0; start < rows.length; start += BATCH)
    await tx.db.insert(notices).values(rows.slice(start, start + BATCH));
  wake(tx);
}

/** Number of rows per statement. */
const BATCH = 100;

function mergedFacts({ decisions, ...facts }: JsonObject): SQL<JsonObject> {
  if (Array.isArray(decisions))
    return sql`case when json_array_length(${notices.facts}, '$.decisions') < ${MAX_DECISIONS}
      then json_insert(${notices.facts}, '$.decisions[#]', ${String(decisions[0])}) else ${notices.facts} end`;
  return sql`json_set(${JSON.stringify(facts)}, '$.since', coalesce(json_extract(${notices.facts}, '$.since'), ${String(facts.since)}))`;
}

const rowOf = (tx: WriteContext, to: Recipient, { kind, automationId, facts }: NewNotice) => ({
  ...to,
  kind,
  automationId,
  facts,
  organizationId: tx.organizationId,
  createdAt: timestamp(tx.clock),
  count: 1,
  attempts: 0,
});

const wake = (tx: WriteContext) => tx.afterCommit(() => tx.signals.notify(NOTICES_TOPIC));
