import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { OpenRun, WriteContext } from "../context.ts";
import type { AutomationConfig } from "../resources/automations/config.ts";
import {
  type AutomationRunRow,
  automationRunConfigs,
  automationRuns,
  automationVersions,
  TEST_VERSION,
} from "../resources/automations/table.ts";
import { webhookDeliveries } from "../resources/inbound/table.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { changing, insertInto, prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import type { UnstoredDelivery } from "./delivery.ts";

/** Signalled when an automation run has changed. */
export const automationRunTopic = (id: string) => `automation-run:${id}`;

export const runById = prepared((db: ReadDb) =>
  db
    .select()
    .from(automationRuns)
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

/** Unfinished runs with their configs and the states of their webhook deliveries. */
const openRunsById = prepared((db: ReadDb) =>
  db
    .select({
      run: getTableColumns(automationRuns),
      config: automationVersions.config,
      delivery: {
        id: webhookDeliveries.id,
        attempts: webhookDeliveries.attempts,
        isKept: webhookDeliveries.isKept,
        replayOf: webhookDeliveries.replayOf,
      },
    })
    .from(automationRuns)
    .leftJoin(
      automationVersions,
      and(
        eq(automationVersions.automationId, automationRuns.automationId),
        eq(automationVersions.version, automationRuns.automationVersion),
      ),
    )
    .leftJoin(webhookDeliveries, eq(webhookDeliveries.id, automationRuns.deliveryId))
    .where(sql`${automationRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`)
    .prepare(),
);

/** Returns the automation runs of steps, by ID. */
export async function openRunsOf(
  { db }: Pick<WriteContext, "db">,
  runs: readonly Pick<RunRow, "automationRunId">[],
): Promise<ReadonlyMap<string, OpenRun>> {
  const ids = new Set(runs.flatMap(({ automationRunId }) => automationRunId ?? []));
  const rows = ids.size === 0 ? [] : await openRunsById(db).all({ ids: JSON.stringify([...ids]) });
  return new Map(rows.map((row) => [row.run.id, row]));
}

/** A run without its input and result, which can be long and aren't needed when an item ends. */
export type SlimRun = Pick<
  AutomationRunRow,
  "id" | "automationId" | "automationVersion" | "triggerMethod" | "privateTo" | "status" | "steps"
>;

export const slimRunById = prepared((db: ReadDb) =>
  db
    .select({
      id: automationRuns.id,
      automationId: automationRuns.automationId,
      automationVersion: automationRuns.automationVersion,
      triggerMethod: automationRuns.triggerMethod,
      privateTo: automationRuns.privateTo,
      status: automationRuns.status,
      steps: automationRuns.steps,
    })
    .from(automationRuns)
    .where(eq(automationRuns.id, sql.placeholder("id")))
    .prepare(),
);

const configOf = prepared((db: ReadDb) =>
  db
    .select({ config: automationVersions.config })
    .from(automationVersions)
    .where(
      and(
        eq(automationVersions.automationId, sql.placeholder("automationId")),
        eq(automationVersions.version, sql.placeholder("version")),
      ),
    )
    .prepare(),
);

/** The config that the automation had when the run started. */
export async function findConfig(
  db: ReadDb,
  run: Pick<AutomationRunRow, "id" | "automationId" | "automationVersion">,
): Promise<AutomationConfig> {
  if (run.automationVersion === TEST_VERSION) return findTestConfig(db, run);
  const [version] = await configOf(db).all({
    automationId: run.automationId,
    version: run.automationVersion,
  });
  if (!version)
    throw new AppError("internal", "The version of the automation that this run uses no longer exists.");
  return version.config as AutomationConfig;
}

async function findTestConfig(db: ReadDb, { id }: Pick<AutomationRunRow, "id">): Promise<AutomationConfig> {
  const [row] = await db
    .select()
    .from(automationRunConfigs)
    .where(eq(automationRunConfigs.automationRunId, id));
  if (!row) throw new AppError("internal", "The config of this test run no longer exists.");
  return row.config as AutomationConfig;
}

const insertRun = insertInto(automationRuns);

const saveRun = changing(automationRuns, (update) =>
  update
    .set({
      status: sql`${sql.placeholder("status")}`,
      steps: sql`${sql.placeholder("steps")}`,
      result: sql`${sql.placeholder("result")}`,
      error: sql`${sql.placeholder("error")}`,
      dueAt: sql`${sql.placeholder("dueAt")}`,
      // What a retry copied from a webhook is kept until it is processed, as in the delivery itself.
      scope: sql`case when ${sql.placeholder("status")} = 'completed' then '{}' else ${automationRuns.scope} end`,
      completedAt: sql`${sql.placeholder("completedAt")}`,
      updatedAt: sql`${sql.placeholder("now")}`,
    })
    .where(eq(automationRuns.id, sql.placeholder("id"))),
);

const saveSteps = changing(automationRuns, (update) =>
  update
    .set({
      status: sql`${sql.placeholder("status")}`,
      steps: sql`${sql.placeholder("steps")}`,
      updatedAt: sql`${sql.placeholder("now")}`,
    })
    .where(eq(automationRuns.id, sql.placeholder("id"))),
);

/**
 * A run that is being started. Its row and that of its delivery are stored once, after its first steps have started.
 */
export interface Starting {
  config: AutomationConfig;
  delivery: UnstoredDelivery | null;
}

/** Stores a new run. A webhook's payload is stored in its delivery and isn't needed once the run has finished. */
export async function insertAutomationRun(tx: WriteContext, run: AutomationRunRow): Promise<void> {
  const isKept = run.deliveryId === null && run.status !== "completed";
  await insertRun(tx.db, isKept ? run : { ...run, scope: {} });
}

export async function save(
  tx: WriteContext,
  run: AutomationRunRow,
  starting: Starting | null,
): Promise<AutomationRunRow> {
  tellChanged(tx, run.id);
  if (starting !== null) {
    await insertAutomationRun(tx, run);
    return run;
  }
  const text = (value: unknown) => (value === null ? null : JSON.stringify(value));
  await saveRun(tx.db, {
    id: run.id,
    status: run.status,
    steps: JSON.stringify(run.steps),
    result: text(run.result),
    error: text(run.error),
    dueAt: run.dueAt,
    completedAt: run.completedAt,
    now: timestamp(tx.clock),
  });
  return run;
}

/** Stores the state of the steps of a run that continues. */
export async function saveProgress(tx: WriteContext, { id, status, steps }: SlimRun): Promise<void> {
  tellChanged(tx, id);
  await saveSteps(tx.db, { id, status, steps: JSON.stringify(steps), now: timestamp(tx.clock) });
}

const tellChanged = (tx: WriteContext, id: string): void =>
  tx.afterCommit(() => tx.signals.notify(automationRunTopic(id)));
