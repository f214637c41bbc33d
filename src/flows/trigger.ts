import type { WriteContext } from "../context.ts";
import type { AutomationConfig } from "../resources/automations/config.ts";
import type { AutomationRow } from "../resources/automations/table.ts";
import { endOfTrail } from "../resources/events/followed.ts";
import { typesMatching } from "../resources/events/matching.ts";
import type { EventType } from "../resources/events/table.ts";
import { instantAfter } from "./schedule.ts";

/**
 * When a schedule is due next, and from where an event trigger follows the trail, both reckoned from this moment; null
 * for what is disabled or has no such trigger.
 */
export async function triggerState(
  tx: WriteContext,
  { status, triggerType, config }: Pick<AutomationRow, "status" | "triggerType" | "config">,
): Promise<Pick<AutomationRow, "nextRunAt" | "eventAfterSeq">> {
  const { schedule } = config as AutomationConfig;
  const isActive = status === "active";
  return {
    nextRunAt:
      isActive && triggerType === "schedule" && schedule ? instantAfter(schedule, tx.clock.now()) : null,
    eventAfterSeq: isActive && triggerType === "event" ? await endOfTrail(tx.db) : null,
  };
}

/** The types of events that these patterns stand for, each once. Throws `invalid` at `loc` for a pattern that fits none. */
export const typesOf = (patterns: readonly string[], loc: readonly string[] = []): EventType[] => [
  ...new Set(patterns.flatMap((pattern, index) => typesMatching(pattern, [...loc, String(index)]))),
];
