import type { WriteContext } from "../context.ts";
import type { AutomationConfig, Schedule } from "../resources/automations/config.ts";
import type { AutomationRow } from "../resources/automations/table.ts";
import { endOfTrail } from "../resources/events/followed.ts";
import { typesStored } from "../resources/events/matching.ts";
import type { EventType } from "../resources/events/table.ts";
import { instantAfter } from "./schedule.ts";

/**
 * Returns when a schedule is due next, and the position from which an event trigger follows the audit log, as of now.
 * Null for a disabled automation or another trigger. A time of the schedule that has passed without having been looked
 * at yet, `before`, stays.
 */
export async function triggerState(
  tx: WriteContext,
  { status, triggerType, config }: Pick<AutomationRow, "status" | "triggerType" | "config">,
  before: string | null = null,
): Promise<Pick<AutomationRow, "nextRunAt" | "eventAfterSeq">> {
  const { schedule } = config as AutomationConfig;
  const isActive = status === "active";
  return {
    nextRunAt:
      isActive && triggerType === "schedule" && schedule ? dueTime(schedule, tx.clock.now(), before) : null,
    eventAfterSeq: isActive && triggerType === "event" ? await endOfTrail(tx.db) : null,
  };
}

function dueTime(schedule: Schedule, now: Date, before: string | null): string | null {
  const isDue = before !== null && Date.parse(before) <= now.getTime();
  const isKept = isDue && instantAfter(schedule, new Date(Date.parse(before) - 1)) === before;
  return isKept ? before : instantAfter(schedule, now);
}

/** Returns the event types that these stored patterns match, without duplicates. */
export const typesOf = (patterns: readonly string[]): EventType[] => [
  ...new Set(patterns.flatMap(typesStored)),
];
