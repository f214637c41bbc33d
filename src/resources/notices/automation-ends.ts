import { and, desc, eq, gte, inArray, isNull, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import type { WriteContext } from "../../context.ts";
import type { AutomationConfig } from "../automations/config.ts";
import {
  type AutomationRow,
  type AutomationRunRow,
  automations,
  TEST_VERSION,
} from "../automations/table.ts";
import { isOpen, putGrouped, thingOf } from "./put.ts";
import { recipientsOf } from "./recipients.ts";
import { automationTroubles, type NoticeRow, notices, type Recipient } from "./table.ts";

const MAX_MESSAGE_CHARACTERS = 500;

/** Returns whether an end can be reported. Runs of private chats and tests are nobody else's business. */
export const isNoticed = ({ status, privateTo, automationVersion, isWatched }: AutomationRunRow): boolean =>
  privateTo === null &&
  automationVersion !== TEST_VERSION &&
  (status === "failed" || (status === "completed" && isWatched));

/** Queues what the alerts of a run's automation report about its end, in the transaction of that end. */
export async function noticeEnd(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const since = run.status === "completed" ? await endTrouble(tx, run.automationId) : null;
  if (run.status === "completed" && since === null) return;
  const [automation] = await tx.db
    .select()
    .from(automations)
    .where(and(eq(automations.id, run.automationId), isNull(automations.deletedAt)));
  if (!automation || !alertsOf(automation)) return;
  if (since === null) await noticeFailure(tx, automation, run);
  else await noticeRecovery(tx, automation, run, since);
}

/** Returns since when the automation has failed. Null if it hasn't. Without alerts, nothing follows its runs. */
export async function endTrouble(tx: WriteContext, automationId: string): Promise<string | null> {
  const [trouble] = await tx.db
    .delete(automationTroubles)
    .where(eq(automationTroubles.automationId, automationId))
    .returning();
  return trouble?.since ?? null;
}

const alertsOf = ({ config }: AutomationRow) => (config as AutomationConfig).alerts;

const about = ({ id, name }: AutomationRow): JsonObject => ({ automation: { id, name } });

async function noticeFailure(
  tx: WriteContext,
  automation: AutomationRow,
  run: AutomationRunRow,
): Promise<void> {
  const { onFailure, onRecovery } = alertsOf(automation) ?? {};
  if (!onFailure && !onRecovery) return;
  const { id: automationId } = automation;
  const since = timestamp(tx.clock);
  const isChange = await beginTrouble(tx, automation, since);
  if (!onFailure) return;
  const { code = "failed", message = "" } = run.error ?? {};
  const lastFailure = {
    automationRunId: run.id,
    failedAt: since,
    code,
    message: String(maskSecrets(message)).slice(0, MAX_MESSAGE_CHARACTERS),
  };
  const facts = { ...about(automation), since, lastFailure };
  const recipients = await recipientsOf(tx.db, automation);
  const { name } = automation;
  if (recipients.length === 0)
    tx.afterCommit(() =>
      tx.log.write("warn", "alerts of an automation reach nobody", { automationId, name }),
    );
  const recovered = recipients.map((to) => thingOf("automation.recovered", automationId, to));
  // A recovery that wasn't reported yet is obsolete.
  await tx.db.delete(notices).where(and(inArray(notices.thing, recovered), isOpen()));
  await putGrouped(tx, automationId, recipients, {
    kind: "automation.failed",
    automationId,
    facts,
    isChange,
  });
}

/**
 * Reports the recovery to those who were notified of the failure, in place of further failures that weren't reported
 * yet. Those who weren't notified get both at once. If failures aren't reported, everyone gets the recovery.
 */
async function noticeRecovery(
  tx: WriteContext,
  automation: AutomationRow,
  run: AutomationRunRow,
  since: string,
): Promise<void> {
  const { id: automationId } = automation;
  const recoveredAt = timestamp(tx.clock);
  const { onFailure = false, onRecovery = false } = alertsOf(automation) ?? {};
  for (const to of await recipientsOf(tx.db, automation)) {
    const { open, isTold } = await reportOf(tx, automationId, to, since);
    const [latest] = open;
    if (!latest && !isTold && onFailure) continue;
    if (latest && !(isTold && onRecovery)) {
      const facts = { ...latest.facts, recoveredAt };
      await tx.db.update(notices).set({ facts }).where(eq(notices.id, latest.id));
      continue;
    }
    for (const { id } of open) await tx.db.delete(notices).where(eq(notices.id, id));
    if (onRecovery)
      await putGrouped(tx, automationId, [to], {
        kind: "automation.recovered",
        automationId,
        facts: { ...about(automation), since, recoveredAt, automationRunId: run.id },
        isChange: true,
      });
  }
}

/** The failure or lateness that a recipient is yet to hear of, and whether they have heard of it since it began. */
async function reportOf(tx: WriteContext, automationId: string, to: Recipient, since: string) {
  const things = (["automation.failed", "automation.late"] as const).map((kind) =>
    thingOf(kind, automationId, to),
  );
  const found = await tx.db
    .select()
    .from(notices)
    .where(and(inArray(notices.thing, things), or(gte(notices.createdAt, since), isOpen())))
    .orderBy(desc(notices.id))
    .limit(things.length + 1); // of each kind at most one is open
  const isUntold = ({ dueAt, attempts, takenBy }: NoticeRow) =>
    dueAt !== null && attempts === 0 && takenBy === null;
  return { open: found.filter(isUntold), isTold: !found.every(isUntold) };
}

/** Queues a notice that an automation is late, in the transaction that records it. */
export async function noticeLate(
  tx: WriteContext,
  automationId: string,
  facts: { lateAfterSeconds: number; lastCompletedAt: string | null; dueAt: string | null },
): Promise<void> {
  const [automation] = await tx.db.select().from(automations).where(eq(automations.id, automationId));
  if (!automation) return;
  const since = timestamp(tx.clock);
  const isChange = await beginTrouble(tx, automation, since);
  const notice = {
    kind: "automation.late",
    automationId,
    facts: { ...about(automation), since, ...facts },
    isChange,
  } as const;
  await putGrouped(tx, automationId, await recipientsOf(tx.db, automation), notice);
}

/** Keeps the start of what is already in progress. Returns whether it begins now. */
async function beginTrouble(
  tx: WriteContext,
  { id: automationId, organizationId }: AutomationRow,
  since: string,
): Promise<boolean> {
  const begun = await tx.db
    .insert(automationTroubles)
    .values({ automationId, organizationId, since })
    .onConflictDoNothing()
    .returning({ since: automationTroubles.since });
  return begun.length > 0;
}
