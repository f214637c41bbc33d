import { eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Json, type JsonObject, storedJson } from "../../base/json.ts";
import type { Scope } from "../../base/template.ts";
import type { App } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { webhookDeliveries } from "../inbound/table.ts";
import type { RunError, RunRow } from "../runs/table.ts";
import { type AutomationRunRow, automationRuns } from "./table.ts";

type Seen = Pick<AutomationRunRow, "automationId" | "scope" | "input" | "deliveryId">;

const seenById = prepared((db: ReadDb) =>
  db
    .select({
      automationId: automationRuns.automationId,
      scope: automationRuns.scope,
      input: automationRuns.input,
      deliveryId: automationRuns.deliveryId,
    })
    .from(automationRuns)
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

/** A webhook's body lies in its delivery alone, since it goes once it is processed. */
const deliveryById = prepared((db: ReadDb) =>
  db
    .select({
      payload: webhookDeliveries.payload,
      headers: webhookDeliveries.headers,
      query: webhookDeliveries.query,
    })
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, sql.placeholder("id")))
    .prepare(),
);

/** Payload, headers and query of the trigger; empty where there was none, or where it is not kept any more. */
export async function triggerScope(
  db: ReadDb,
  { scope, deliveryId }: Pick<Seen, "scope" | "deliveryId">,
): Promise<JsonObject> {
  if (deliveryId === null || Object.keys(scope).length > 0) return scope;
  const [delivery] = await deliveryById(db).all({ id: deliveryId });
  return delivery && delivery.headers !== null ? { ...delivery } : {};
}

interface StepResult {
  id: string;
  key: string;
  status: string;
  result: string | null;
  error: string | null;
}

/** Of the steps that have ended; a run that goes on where another failed names that one's action runs. */
const stepResults = (runId: string) => sql`
  select r.id, r.step_key as key, r.status, r.result, r.error
  from automation_runs a, json_each(a.steps) s, action_runs r
  where a.id = ${runId} and r.id = s.value ->> 'actionRunId' and r.status in ('completed', 'failed', 'cancelled')`;

/** The names that a run's templates and conditions see. */
export async function scopeOf(ctx: App & { db: ReadDb }, run: RunRow): Promise<Scope> {
  const own = { run: { id: run.id, startedAt: run.startedAt }, now: timestamp(ctx.clock) };
  if (run.automationRunId === null) return own;
  const [seen] = await seenById(ctx.db).all({ id: run.automationRunId });
  if (!seen) throw new AppError("internal", "The automation run of this step is gone.");
  return { ...(await automationScope(ctx.db, run.automationRunId, seen)), ...own };
}

/** What all steps of an automation run see: the trigger, and the steps that have ended. */
export async function automationScope(db: ReadDb, runId: string, seen: Seen): Promise<Record<string, Json>> {
  const steps: JsonObject = {};
  for (const row of await db.all<StepResult>(stepResults(runId))) {
    const error = row.error === null ? null : storedJson<RunError>(row.error);
    steps[row.key] = {
      status: row.status,
      actionRunId: row.id,
      result: row.result === null ? null : storedJson<Json>(row.result),
      error: error && { code: error.code, message: error.message },
    };
  }
  return {
    ...(await triggerScope(db, seen)),
    input: seen.input,
    steps,
    automation: { id: seen.automationId },
  };
}
