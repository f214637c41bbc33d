import { Database } from "bun:sqlite";
import { Books, type Case, type Figures } from "./books.ts";
import { toldRuns } from "./ledger.ts";
import { checkDeliveries, checkEffects, checkEventRuns, checkSchedules } from "./reach.ts";
import { checkRows } from "./rows.ts";

/** Checks the database of a stopped server against the ledger, and for consistency. */
export async function auditBooks(given: Case, path: string): Promise<{ figures: Figures; faults: string[] }> {
  const db = new Database(path, { readonly: true });
  const faults: string[] = [];
  const books = new Books(db, faults);
  try {
    db.run("create temp table told as select type, entity_id, data ->> 'runId' as run_id from events");
    db.run("create index temp.told_of_runs on told (run_id, type)");
    db.run("create index temp.told_of_entities on told (entity_id, type)");
    checkWhole(books);
    checkRuns(books, given);
    checkDecisions(books, given);
    const figures: Figures = {
      automationRuns: books.count("select count(*) from automation_runs"),
      actionRuns: books.count("select count(*) from action_runs"),
      events: books.count("select count(*) from events"),
      decisions: books.count("select count(*) from decisions"),
      instants: checkSchedules(books, given),
      eventRuns: checkEventRuns(books, given),
      ...checkEffects(books, given),
      interruptedRuns: books.count("select count(*) from action_runs where interrupt_count > 0"),
      exhausted: books.count(
        `select count(*) from action_runs where error ->> 'code' = 'interrupted_too_often'`,
      ),
      ...checkDeliveries(books, given),
      loads: books.count(
        "select count(*) from action_runs where kind = 'dlt_extract' and status = 'completed'",
      ),
      ...(await checkRows(books, given)),
    };
    return { figures, faults };
  } finally {
    db.close();
  }
}

const FINAL = "('completed', 'failed', 'cancelled')";

function checkWhole(books: Books): void {
  const [whole] = books.db.query("PRAGMA integrity_check").values()[0] ?? [];
  if (whole !== "ok") books.faults.push(`integrity_check: ${whole}`);
  books.none("rows without what they refer to", "PRAGMA foreign_key_check");
  for (const noun of ["connections", "actions", "action_runs", "artifacts", "automations"]) {
    const isKept = ["actions", "automations"].includes(noun) ? "where deleted_at is null" : "";
    const real = books.count(`select count(*) from ${noun} ${isKept}`);
    const counted = books.count("select coalesce(sum(n), 0) from counts where noun = ?", noun);
    if (real !== counted) books.faults.push(`counts has ${counted} ${noun}, and there are ${real}`);
  }
}

/** Each accepted request has one outcome, and what has ended holds nothing. */
function checkRuns(books: Books, { ledger }: Case): void {
  const known = new Set(books.rows<{ id: string }>("select id from automation_runs").map(({ id }) => id));
  for (const id of toldRuns(ledger))
    if (!known.has(id)) books.faults.push(`the run ${id} was told of and is gone`);
  books.none(
    "automation runs that have not ended",
    `select id, status from automation_runs where status not in ${FINAL} or completed_at is null or due_at is not null`,
  );
  books.none(
    "action runs that have not ended, or still hold a lease",
    `select id, status, kind, boot_id from action_runs
      where status not in ${FINAL} or completed_at is null or lease_token is not null or due_at is not null`,
  );
  books.none(
    "action runs whose statuses don't lead from pending to the present one, each to another",
    `select id, status, statuses from action_runs where statuses ->> '$[0][0]' <> 'pending'
      or statuses ->> '$[#-1][0]' <> status
      or exists (select 1 from json_each(statuses) s join json_each(statuses) n on n.key = s.key + 1
        where n.value ->> 0 = s.value ->> 0 or n.value ->> 3 < s.value ->> 3)`,
  );
  books.none(
    "automation runs with a step that has not ended",
    `select r.id, s.value ->> 'key' as step, s.value ->> 'status' as status from automation_runs r, json_each(r.steps) s
      where s.value ->> 'status' not in ('completed', 'failed', 'cancelled', 'skipped')`,
  );
  books.none(
    "steps that were carried out twice within one run",
    `select a.automation_run_id, a.step_key, count(*) as n from action_runs a
      join automation_runs r on r.id = a.automation_run_id
      left join webhook_deliveries d on d.id = r.delivery_id
      where not exists (select 1 from automation_run_items i where i.automation_run_id = r.id and i.step_key = a.step_key)
      group by 1, 2 having n > coalesce(max(d.attempts), 1)`,
  );
  books.none(
    "items that were carried out twice within one run",
    `select automation_run_id, step_key, item_index, count(*) as n from automation_run_items group by 1, 2, 3 having n > 1`,
  );
  const outcomes = (types: string, table: string) => `
    select r.id, r.status, count(e.type) as told from ${table} r
      left join told e on e.run_id = r.id and e.type in (${types}) group by r.id having told <> 1`;
  books.none(
    "automation runs whose end was not told exactly once",
    outcomes("'automation.completed', 'automation.failed', 'automation.cancelled'", "automation_runs"),
  );
  books.none(
    "automation runs whose start was not told exactly once",
    outcomes("'automation.triggered'", "automation_runs"),
  );
  books.none(
    "action runs whose end was not told exactly once",
    outcomes("'action.completed', 'action.failed', 'action.cancelled'", "action_runs"),
  );
  const webhooks = [...ledger.webhooks.values()].flatMap(({ runId }) => runId ?? []);
  if (new Set(webhooks).size !== webhooks.length)
    books.faults.push("two webhooks were answered with one run");
  books.none(
    "webhooks that were taken twice",
    "select automation_id, repeat_key, count(*) as n from webhook_deliveries where replay_of is null group by 1, 2 having n > 1",
  );
  books.none(
    "deliveries that have not ended",
    "select id, status from webhook_deliveries where status not in ('processed', 'failed', 'dead_letter')",
  );
  books.none(
    "webhooks that were given up, and are no dead letters",
    `select d.id, d.status from webhook_deliveries d join automation_runs r on r.id = d.automation_run_id
      where r.status = 'failed' and r.error ->> 'code' = 'interrupted_too_often' and d.status <> 'dead_letter'`,
  );
  for (const id of ledger.cancelled) {
    books.none(
      "runs that went on after their cancel",
      `select id, status from automation_runs where id = ? and status <> 'cancelled'`,
      id,
    );
  }
  books.none(
    "runs that failed for no good reason",
    `select id, kind, error from action_runs where status = 'failed'
      and error ->> 'code' not in ('interrupted_too_often', 'rejected', 'called_automation_failed')`,
  );
  books.none(
    "actions that were made twice",
    "select name, count(*) as n from actions where name like 'action %' group by 1 having n > 1",
  );
  for (const { kind, id } of ledger.makings.values()) {
    if (
      kind === "action" &&
      id !== null &&
      books.count("select count(*) from actions where id = ?", id) !== 1
    )
      books.faults.push(`the action ${id} was told of and is gone`);
  }
}

function checkDecisions(books: Books, { ledger }: Case): void {
  books.none("decisions that are open", "select id from decisions where status = 'pending'");
  books.none(
    "decisions whose end was not told exactly once",
    `select d.id, d.status, count(e.type) as told from decisions d left join told e on e.entity_id = d.id
      and e.type in ('decision.decided', 'decision.expired', 'decision.cancelled') group by d.id having told <> 1`,
  );
  books.none(
    "decisions whose run ended as something else",
    `select d.id, d.status, d.decision_value, r.status as run from decisions d join action_runs r on r.id = d.subject_id
      where (d.status = 'decided' and d.decision_value = 'approved' and r.status <> 'completed')
        or (d.decision_value = 'rejected' and r.status <> 'failed') or (d.status = 'cancelled' and r.status <> 'cancelled')`,
  );
  for (const [id, value] of ledger.decided) {
    books.none(
      "decisions that were taken and say something else",
      "select id, status, decision_value from decisions where id = ? and (status <> 'decided' or decision_value <> ?)",
      id,
      value,
    );
  }
}
