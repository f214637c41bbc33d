import { and, eq, sql } from "drizzle-orm";
import { isObject, type Json } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { automationRuns } from "../automations/table.ts";
import { runOf } from "../events/run-of.ts";
import { events } from "../events/table.ts";
import { actionRuns } from "../runs/table.ts";
import type { DecisionRow } from "./table.ts";

/** More than the longest possible chain of calls, events and retries (`loop_detected`). */
const MAX_RUNS = 500;

interface Link {
  table: "action" | "automation" | "event";
  id: string;
}

/**
 * Returns the users who requested a decision: those who started the run, or an earlier run that called it,
 * caused its event or was retried. For an API key, the user who created the key, or the key that created it.
 */
export async function requestersOf(tx: WriteContext, decision: DecisionRow): Promise<ReadonlySet<string>> {
  const people = new Set<string>(decision.requestedBy === null ? [] : [decision.requestedBy]);
  const keys = new Set<string>();
  const seen = new Set<string>();
  const next: Link[] = [{ table: "action", id: decision.subjectId }];
  const add = (actor: Json | undefined) => {
    if (!isObject(actor ?? null)) return;
    const { type, id } = actor as { type?: Json; id?: Json };
    if (typeof id !== "string") return;
    if (type === "user") people.add(id);
    if (type === "api") keys.add(id);
  };
  const follow = (table: Link["table"], id: string | null) => void (id !== null && next.push({ table, id }));
  for (let link = next.pop(); link && seen.size < MAX_RUNS; link = next.pop()) {
    if (seen.has(`${link.table} ${link.id}`)) continue;
    seen.add(`${link.table} ${link.id}`);
    if (link.table === "event") {
      const event = await eventOf(tx, link.id);
      add(event?.actor);
      if (event?.run) follow(event.run.table, event.run.id);
      continue;
    }
    const run = link.table === "action" ? await actionRunOf(tx, link.id) : await automationRunOf(tx, link.id);
    if (!run) continue;
    add(run.actor);
    if (run.triggerSourceType === "user") add({ type: "user", id: run.triggerSourceId });
    if (run.triggerSourceType === "api_key") add({ type: "api", id: run.triggerSourceId });
    if (run.triggerMethod === "event") follow("event", run.triggerSourceId);
    for (const before of run.before) follow(before.table, before.id);
  }
  for (const { id } of await makersOf(tx, [...keys])) people.add(id);
  return people;
}

/** Returns who created the keys: users, and other keys with those who created them. */
const makersOf = (tx: WriteContext, keys: readonly string[]) =>
  tx.db.all<{ id: string }>(sql`
    with recursive
      makers(id) as (
        select created_by from api_keys where id in (select value from json_each(${JSON.stringify(keys)}))
        union
        select k.created_by from api_keys k join makers m on k.id = m.id)
    select id as "id" from makers`);

async function eventOf(tx: WriteContext, id: string) {
  const [row] = await tx.db
    .select()
    .from(events)
    .where(and(eq(events.organizationId, tx.organizationId), eq(events.id, id)));
  return row ? { actor: { type: row.actorType, id: row.actorId }, run: runOf(row) } : null;
}

async function actionRunOf(tx: WriteContext, id: string) {
  const [row] = await tx.db
    .select()
    .from(actionRuns)
    .where(and(eq(actionRuns.organizationId, tx.organizationId), eq(actionRuns.id, id)));
  if (!row) return null;
  const before = [
    { table: "automation" as const, id: row.automationRunId },
    { table: "action" as const, id: row.parentActionRunId },
  ];
  return { ...row, before };
}

async function automationRunOf(tx: WriteContext, id: string) {
  const [row] = await tx.db
    .select()
    .from(automationRuns)
    .where(and(eq(automationRuns.organizationId, tx.organizationId), eq(automationRuns.id, id)));
  if (!row) return null;
  const before = [
    { table: "automation" as const, id: row.parentRunId },
    { table: "automation" as const, id: row.causeRunId },
    { table: "action" as const, id: row.callerRunId },
  ];
  return { ...row, before };
}
