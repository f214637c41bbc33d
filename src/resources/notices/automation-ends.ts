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
import { automationTroubles, notices, type Recipient } from "./table.ts";

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

/** Returns since when the automation has failed. Null if it hasn't. */
async function endTrouble(tx: WriteContext, automationId: string): Promise<string | null> {
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
  if (!alertsOf(automation)?.onFailure) return;
  const { id: automationId } = automation;
  const since = timestamp(tx.clock);
  await beginTrouble(tx, automation, since);
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
  await putGrouped(tx, automationId, recipients, { kind: "automation.failed", automationId, facts });
}

/** Reports the recovery to those who were notified of the failure. Those who weren't yet get both at once. */
async function noticeRecovery(
  tx: WriteContext,
  automation: AutomationRow,
  run: AutomationRunRow,
  since: string,
): Promise<void> {
  const { id: automationId } = automation;
  const recoveredAt = timestamp(tx.clock);
  for (const to of await recipientsOf(tx.db, automation)) {
    const last = await lastOf(tx, automationId, to, since);
    if (!last) continue;
    const isUntold = last.dueAt !== null && last.attempts === 0 && last.takenBy === null;
    const facts = isUntold ? last.facts : about(automation);
    if (isUntold)
      await tx.db
        .update(notices)
        .set({ facts: { ...facts, recoveredAt } })
        .where(eq(notices.id, last.id));
    else if (alertsOf(automation)?.onRecovery)
      await putGrouped(tx, automationId, [to], {
        kind: "automation.recovered",
        automationId,
        facts: { ...facts, since, recoveredAt, automationRunId: run.id },
      });
  }
}

async function lastOf(tx: WriteContext, automationId: string, to: Recipient, since: string) {
  const things = (["automation.failed", "automation.late"] as const).map((kind) =>
    thingOf(kind, automationId, to),
  );
  const [last] = await tx.db
    .select()
    .from(notices)
    .where(and(inArray(notices.thing, things), or(gte(notices.createdAt, since), isOpen())))
    .orderBy(desc(notices.id))
    .limit(1);
  return last;
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
  await beginTrouble(tx, automation, since);
  const notice = {
    kind: "automation.late",
    automationId,
    facts: { ...about(automation), since, ...facts },
  } as const;
  await putGrouped(tx, automationId, await recipientsOf(tx.db, automation), notice);
}

/** Keeps the start of what is already in progress. */
async function beginTrouble(
  tx: WriteContext,
  { id: automationId, organizationId }: AutomationRow,
  since: string,
): Promise<void> {
  await tx.db
    .insert(automationTroubles)
    .values({ automationId, organizationId, since })
    .onConflictDoNothing();
}
