import { and, eq, inArray, isNotNull, lt } from "drizzle-orm";
import type { JsonObject } from "../base/json.ts";
import type { WriteContext } from "../context.ts";
import { type AutomationRow, automations } from "../resources/automations/table.ts";
import { runOf } from "../resources/events/run-of.ts";
import type { EventRow } from "../resources/events/table.ts";
import { toEvent } from "../resources/events/wire.ts";
import { actionRuns, type RunError } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";
import { callersOf, findLink, isChainFull, type Link, MAX_DEPTH, wasCutOff } from "./lineage.ts";
import { type NewAutomationRun, refuseAutomationRun, startAutomationRun } from "./start.ts";

/**
 * Starts a run of each of these automations for an event, if it still listens for it. Events of an automation, and of
 * what it called, don't start it. A chain of automations that trigger one another ends after 10 links, with a run that
 * fails and says so.
 */
export async function reactTo(
  tx: WriteContext,
  event: EventRow,
  automationIds: readonly string[],
): Promise<void> {
  const waiting = await tx.db
    .select()
    .from(automations)
    .where(
      and(
        inArray(automations.id, [...automationIds]),
        isNotNull(automations.eventAfterSeq),
        lt(automations.eventAfterSeq, event.seq),
      ),
    )
    .orderBy(automations.id);
  const others = waiting.filter(({ id }) => event.entityType !== "automation" || event.entityId !== id);
  if (others.length === 0) return;
  const cause = await causeOf(tx.db, event);
  if (cause !== null && cause.depth > MAX_DEPTH) return; // of a run that was rejected here
  const callers = cause === null ? [] : await callersOf(tx.db, cause);
  for (const automation of others) {
    if (!callers.some(({ automationId }) => automationId === automation.id))
      await start(tx, event, automation, cause);
  }
}

async function start(
  tx: WriteContext,
  event: EventRow,
  automation: AutomationRow,
  cause: Link | null,
): Promise<void> {
  const payload = toEvent(event) as unknown as JsonObject;
  const run: NewAutomationRun = {
    trigger: { method: "event", sourceType: "system", sourceId: event.id },
    input: payload,
    cause,
  };
  const isTooDeep = (cause?.depth ?? 0) >= MAX_DEPTH;
  if (!isTooDeep && !(await isChainFull(tx.db, cause, automation.id))) {
    await startAutomationRun(tx, automation, run);
  } else if (cause !== null && !(await wasCutOff(tx.db, cause, automation.id))) {
    await refuseAutomationRun(tx, automation, run, { error: loopError(isTooDeep), isCutOff: true });
  }
}

const loopError = (isTooDeep: boolean): RunError => ({
  code: "loop_detected",
  message: isTooDeep
    ? `Event triggers formed a chain ${MAX_DEPTH} runs deep, so it was stopped. Narrow the event types of one of these automations.`
    : "Event triggers started too many runs in one chain, so it was stopped. Narrow the event types of one of these automations.",
  retryable: false,
  attempt: 1,
  details: null,
});

/** Returns the automation run that the event comes from. Null if it comes from none. */
async function causeOf(db: ReadDb, event: EventRow): Promise<Link | null> {
  const { table, id } = runOf(event) ?? {};
  if (id === undefined) return null;
  if (table === "automation") return findLink(db, id);
  const [run] = await db
    .select({ automationRunId: actionRuns.automationRunId })
    .from(actionRuns)
    .where(eq(actionRuns.id, id));
  return run?.automationRunId ? findLink(db, run.automationRunId) : null;
}
