import { inArray, sql } from "drizzle-orm";
import type { App } from "../context.ts";
import { artifacts } from "../resources/artifacts/table.ts";
import {
  automationRunConfigs,
  automationRunItems,
  automationRunResults,
  automationRuns,
} from "../resources/automations/table.ts";
import { decisions } from "../resources/decisions/table.ts";
import { actionRuns, runLogs } from "../resources/runs/table.ts";
import { prune } from "./retention.ts";

/**
 * Kept regardless of age: the latest run of an automation, and the last one that its freshness depends on; a run
 * with a retry that is kept, which reuses its steps and items; a run that led to one that is still running; and a
 * run with an action run that is kept.
 */
const FREE_AUTOMATION_RUN = sql`
  not exists (
    select 1 from automations a where a.id = automation_runs.automation_id and a.deleted_at is null and (
      automation_runs.id = (select max(r.id) from automation_runs r where r.automation_id = a.id)
      or automation_runs.is_watched = 1 and automation_runs.id = (
        select r.id from automation_runs r where r.automation_id = a.id and r.is_watched = 1 and r.status = 'completed'
        order by r.completed_at desc limit 1)))
  and not exists (select 1 from automation_runs c where c.parent_run_id = automation_runs.id)
  and not exists (
    select 1 from automation_runs c where c.cause_run_id = automation_runs.id and c.completed_at is null)
  and not exists (
    select 1 from action_runs r where r.automation_run_id = automation_runs.id and (
      r.completed_at is null
      or exists (select 1 from actions a where a.id = r.action_id and a.latest_run_id = r.id and a.deleted_at is null)
      or exists (select 1 from action_runs c where c.parent_action_run_id = r.id and c.completed_at is null)))`;

const ITEM_BATCH = 2_000;
/** Each row holds the results of about 200 items. */
const RESULT_BATCH = 20;

/**
 * Deletes expired automation runs, their items first, since one run may have thousands. `sweepActionRuns` deletes
 * their action runs.
 */
export const sweepAutomationRuns = (app: App): AsyncGenerator<void> => {
  const { id, status, completedAt } = automationRuns;
  const history = { name: "automation runs", table: automationRuns, id, status, endedAt: completedAt };
  return prune(app, history, FREE_AUTOMATION_RUN, {
    async *before(ids) {
      await app.store.write((db) => db.delete(automationRunConfigs).where(sql`automation_run_id in ${ids}`));
      for (;;) {
        const { changes } = await app.store.write((db) =>
          db.delete(automationRunResults).where(sql`(automation_run_id, step_key, seq) in (
            select automation_run_id, step_key, seq from automation_run_results
            where automation_run_id in ${ids} limit ${RESULT_BATCH})`),
        );
        if (changes < RESULT_BATCH) break;
        yield;
      }
      for (;;) {
        const { changes } = await app.store.write((db) =>
          db.delete(automationRunItems).where(sql`(automation_run_id, step_key, item_index) in (
            select automation_run_id, step_key, item_index from automation_run_items
            where automation_run_id in ${ids} limit ${ITEM_BATCH})`),
        );
        if (changes < ITEM_BATCH) return;
        yield;
      }
    },
  });
};

/** Only a retry reads the results of items again. For a completed run the results of its steps are enough. */
export async function* sweepResults(app: App): AsyncGenerator<void> {
  for (;;) {
    const { changes } = await app.store.write((db) =>
      db.delete(automationRunResults).where(sql`(automation_run_id, step_key, seq) in (
        select o.automation_run_id, o.step_key, o.seq from automation_run_results o join automation_runs r on r.id = o.automation_run_id
        where r.status = 'completed' limit ${RESULT_BATCH})`),
    );
    if (changes < RESULT_BATCH) return;
    yield;
  }
}

/** Kept: runs of a kept automation run, the latest run of an action, and runs that are being retried. */
const FREE_ACTION_RUN = sql`
  (action_runs.automation_run_id is null
    or not exists (select 1 from automation_runs a where a.id = action_runs.automation_run_id))
  and not exists (
    select 1 from actions a
    where a.id = action_runs.action_id and a.latest_run_id = action_runs.id and a.deleted_at is null)
  and not exists (
    select 1 from action_runs c where c.parent_action_run_id = action_runs.id and c.completed_at is null)`;

const LOG_BATCH = 2_000;

/**
 * Deletes expired action runs with their logs, decisions and artifacts. Another sweep deletes the artifacts' files.
 * Cursors and loads don't belong to runs and stay.
 */
export const sweepActionRuns = (app: App): AsyncGenerator<void> => {
  const { id, status, completedAt } = actionRuns;
  const history = { name: "action runs", table: actionRuns, id, status, endedAt: completedAt };
  return prune(app, history, FREE_ACTION_RUN, {
    async *before(ids) {
      for (;;) {
        const { changes } = await app.store.write((db) =>
          db.delete(runLogs).where(sql`(run_id, seq) in (
            select run_id, seq from run_logs where run_id in ${ids} limit ${LOG_BATCH})`),
        );
        if (changes < LOG_BATCH) return;
        yield;
      }
    },
    async with(db, gone) {
      await db.delete(decisions).where(inArray(decisions.subjectId, gone));
      await db.delete(artifacts).where(inArray(artifacts.actionRunId, gone));
    },
  });
};
