import { and, desc, eq, isNotNull, isNull } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { NOTICES_TOPIC, type NoticeKind, type NoticeRow, notices, type Recipient } from "./table.ts";

/** The pause between two notices of the same thing; each approval is another one. */
export const pauseMsOf = (kind: NoticeKind): number => (kind === "approval.open" ? 0 : 3_600_000);

/** A notice names so many decisions; it counts the others. */
export const MAX_DECISIONS = 50;

interface NewNotice {
  kind: NoticeKind;
  automationId: string | null;
  to: Recipient;
  facts: JsonObject;
}

/** What it tells and to whom, as `notices.thing` has it. */
export const thingOf = (kind: NoticeKind, subject: string, { channel, target }: Recipient): string =>
  `${kind} ${subject} ${channel} ${target}`;

/** True until its first try: what comes in between is added to it. */
export const isOpen = () => and(isNotNull(notices.dueAt), eq(notices.attempts, 0), isNull(notices.takenBy));

/** Puts a notice in the queue by itself, in the transaction of what it tells. */
export const putNotice = (tx: WriteContext, notice: NewNotice): Promise<void> => {
  const id = tx.ids.uuid();
  return insert(tx, { id, ...notice, thing: id, dueAt: timestamp(tx.clock) });
};

/**
 * Puts a notice in the queue, an hour after the last one of the same thing; one that waits there already gets the new
 * facts and counts one more. `since` stays that of the first.
 */
export async function putGrouped(tx: WriteContext, subject: string, notice: NewNotice): Promise<void> {
  const thing = thingOf(notice.kind, subject, notice.to);
  const [open] = await tx.db
    .select({ id: notices.id, facts: notices.facts, count: notices.count })
    .from(notices)
    .where(and(eq(notices.thing, thing), isOpen()));
  if (open) {
    const { since, decisions } = open.facts;
    const facts: JsonObject = { ...notice.facts, ...(since === undefined ? {} : { since }) };
    if (Array.isArray(decisions) && Array.isArray(facts.decisions))
      facts.decisions = [...decisions, ...facts.decisions].slice(0, MAX_DECISIONS);
    await tx.db
      .update(notices)
      .set({ facts, count: open.count + 1 })
      .where(eq(notices.id, open.id));
    return;
  }
  const [last] = await tx.db
    .select({ sentAt: notices.sentAt })
    .from(notices)
    .where(and(eq(notices.thing, thing), isNotNull(notices.sentAt)))
    .orderBy(desc(notices.createdAt))
    .limit(1);
  const freeMs = last?.sentAt
    ? Date.parse(last.sentAt) + pauseMsOf(notice.kind) - tx.clock.now().getTime()
    : 0;
  await insert(tx, { id: tx.ids.uuid(), ...notice, thing, dueAt: timestamp(tx.clock, Math.max(0, freeMs)) });
}

async function insert(
  tx: WriteContext,
  { to, ...row }: NewNotice & Pick<NoticeRow, "id" | "thing" | "dueAt">,
): Promise<void> {
  const { organizationId } = tx;
  const createdAt = timestamp(tx.clock);
  await tx.db.insert(notices).values({ ...row, ...to, organizationId, createdAt, count: 1, attempts: 0 });
  tx.afterCommit(() => tx.signals.notify(NOTICES_TOPIC));
}
