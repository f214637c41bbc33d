import { and, asc, eq, lte, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { openSetbacks } from "../base/setbacks.ts";
import { type App, contextForRun, type WriteContext, write } from "../context.ts";
import { stepsOf } from "../resources/automations/config.ts";
import { type AutomationRunRow, automationRuns, isDelayed } from "../resources/automations/table.ts";
import { webhookDeliveries } from "../resources/inbound/table.ts";
import { mayPass } from "../store/faults.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { advance } from "./advance.ts";
import { failBroken, orFail } from "./fail.ts";
import { statesOfAttempt } from "./retry-steps.ts";
import { findConfig } from "./save.ts";

const BATCH = 50;

const dueRuns = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRuns)
    .where(
      and(
        lte(automationRuns.dueAt, sql.placeholder("now")),
        sql`${automationRuns.id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
      ),
    )
    .orderBy(asc(automationRuns.dueAt))
    .limit(BATCH)
    .prepare(),
);

/**
 * Resumes the runs whose delay is over. Returns how many there were. A run that can't continue fails. If even that
 * isn't possible, it is tried again later.
 */
export async function continueDueRuns(app: App, setbacks = openSetbacks(app.clock)): Promise<number> {
  const due = await dueRuns(app.store.db).all({
    now: timestamp(app.clock),
    passedOver: setbacks.passedOver(),
  });
  let failed = 0;
  for (const run of due) {
    try {
      await write(contextForRun(app, run), (tx) => tryAgain(tx, run.id));
    } catch (error) {
      failed++; // continue with the others; this one is tried again after a pause, and then fails
      const tell = (cause: unknown) =>
        app.log.report(cause, { automationRunId: run.id, correlationId: run.correlationId });
      tell(error);
      if (!mayPass(error) && setbacks.note(run.id))
        await write(contextForRun(app, run), (tx) => giveUp(tx, run.id, error)).catch(tell);
    }
  }
  return due.length - failed;
}

async function giveUp(tx: WriteContext, id: string, error: unknown): Promise<void> {
  const [run] = await tx.db.select().from(automationRuns).where(eq(automationRuns.id, id));
  if (run && run.completedAt === null) await failBroken(tx, run, error);
}

/** Runs steps again for the next attempt of the webhook delivery, which counts it. */
async function tryAgain(tx: WriteContext, id: string): Promise<void> {
  const [run] = await tx.db.select().from(automationRuns).where(eq(automationRuns.id, id));
  if (!run || run.completedAt !== null || run.dueAt === null) return;
  if (run.steps.some(isDelayed)) {
    await advance(tx, { ...run, dueAt: null });
    return;
  }
  if (run.status !== "waiting") return;
  await orFail(tx, run, () => beginAttempt(tx, run));
}

async function beginAttempt(tx: WriteContext, run: AutomationRunRow): Promise<AutomationRunRow> {
  const steps = statesOfAttempt(stepsOf(await findConfig(tx.db, run)), run.steps);
  if (run.deliveryId !== null) {
    await tx.db
      .update(webhookDeliveries)
      .set({
        status: "processing",
        attempts: sql`${webhookDeliveries.attempts} + 1`,
        nextAttemptAt: null,
        updatedAt: timestamp(tx.clock),
      })
      .where(eq(webhookDeliveries.id, run.deliveryId));
  }
  const row = { ...run, status: "running" as const, steps, error: null, dueAt: null };
  await tx.db
    .update(automationRuns)
    .set({ status: "running", steps, error: null, dueAt: null })
    .where(eq(automationRuns.id, run.id));
  return advance(tx, row);
}
