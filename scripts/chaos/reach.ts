import type { Books, Case, Figures } from "./books.ts";
import { OUTBOUND } from "./plant.ts";

/** A kill can prevent what was due this short before it. */
const MISSED_MS = 3_000;
/** Every second has its run, or is in a range that was reported as missed and contains a kill. */
export function checkSchedules(books: Books, { plant, kills }: Case): Figures["instants"] {
  let run = 0;
  let missed = 0;
  for (const { id, catchUp, first } of plant.schedules) {
    const instants = new Map<number, number>();
    const at = (instant: string) => Math.round(Date.parse(instant) / 1000);
    const ran = books.rows<{ at: string }>(
      "select scheduled_at as at from automation_runs where automation_id = ?",
      id,
    );
    for (const each of ran) instants.set(at(each.at), (instants.get(at(each.at)) ?? 0) + 1);
    const told = books.rows<{ seq: number; data: string }>(
      "select seq, data from events where entity_id = ? and type = 'automation.schedule_missed'",
      id,
    );
    for (const { data } of told) {
      const gap = JSON.parse(data) as { from: string; to: string; missed: number; madeUpFor: string | null };
      const seconds = Array.from({ length: at(gap.to) - at(gap.from) + 1 }, (_, n) => at(gap.from) + n);
      const others = seconds.filter((second) => gap.madeUpFor === null || second !== at(gap.madeUpFor));
      if (others.length !== gap.missed)
        books.faults.push(`${catchUp}: a gap of ${others.length} instants was told as ${gap.missed}`);
      for (const second of others) instants.set(second, (instants.get(second) ?? 0) + 1);
      const hasKill = kills.some(
        (kill) => Date.parse(gap.from) - MISSED_MS <= kill && kill <= Date.parse(gap.to) + MISSED_MS,
      );
      if (!hasKill) books.faults.push(`${catchUp}: from ${gap.from} to ${gap.to} was missed without a kill`);
      missed += others.length;
    }
    run += ran.length;
    const last = Math.max(...instants.keys());
    for (let second = at(first); second <= last; second++) {
      const times = instants.get(second) ?? 0;
      if (times !== 1)
        books.faults.push(
          `${catchUp}: the instant ${new Date(second * 1000).toISOString()} came ${times} times`,
        );
    }
  }
  return { run, missed };
}

export function checkEventRuns(books: Books, { plant }: Case): number {
  const made = `select e.id from events e where e.type = 'action.created'`;
  books.none(
    "events that did not start exactly one run",
    `select e.id, count(r.id) as runs from (${made}) e
      left join automation_runs r on r.trigger_source_id = e.id and r.automation_id = ?
      group by e.id having runs <> 1`,
    plant.listener,
  );
  return books.count("select count(*) from automation_runs where automation_id = ?", plant.listener);
}

/**
 * A request to another system is repeated only after an interruption or retry of its run. A run that retries another
 * sends that one's key if their definitions are the same.
 */
export function checkEffects(books: Books, { receiver }: Case): Pick<Figures, "effects" | "repeatedEffects"> {
  const rows = books.rows<{ id: string; parent: string | null; status: string; attempts: number }>(
    `select id, parent_action_run_id as parent, status, 1 + interrupt_count + retry_count as attempts
      from action_runs where kind = 'http_request'`,
  );
  const parents = new Map(rows.map(({ id, parent }) => [id, parent]));
  const firstOf = (id: string): string => {
    const parent = parents.get(id) ?? null;
    return parent === null ? id : firstOf(parent);
  };
  const allowed = new Map<string, number>();
  for (const { id, attempts } of rows) add(allowed, firstOf(id), attempts);
  const seen = new Map<string, number>();
  let repeatedEffects = 0;
  for (const [id, times] of receiver.effects) {
    if (!parents.has(id)) books.faults.push(`an effect came of the run ${id}, which there is not`);
    add(seen, firstOf(id), times);
    repeatedEffects += times - 1;
  }
  for (const [id, times] of seen) {
    const most = allowed.get(id) ?? 0;
    if (times > most)
      books.faults.push(`the run ${id} and its retries had ${times} effects in ${most} attempts`);
  }
  for (const { id, status } of rows) {
    if (status === "completed" && !seen.has(firstOf(id)))
      books.faults.push(`the run ${id} completed without its effect`);
  }
  return { effects: receiver.effects.size, repeatedEffects };
}

const add = (counts: Map<string, number>, id: string, more: number) =>
  counts.set(id, (counts.get(id) ?? 0) + more);

/** Each event of the subscription was delivered at least once, with its own ID. */
export function checkDeliveries(
  books: Books,
  { plant, receiver }: Case,
): Pick<Figures, "delivered" | "deliveredAgain"> {
  const types = OUTBOUND.map((pattern) => `e.type glob '${pattern}'`).join(" or ");
  const wanted = books.rows<{ id: string }>(
    `select e.id from events e where (${types}) and e.seq > (select after_seq from webhooks where id = ?)`,
    plant.outbound,
  );
  const missing = wanted.filter(({ id }) => !receiver.events.get(id)?.isTaken);
  if (missing.length > 0)
    books.faults.push(`${missing.length} events were never delivered, such as ${missing[0]?.id}`);
  const known = new Set(wanted.map(({ id }) => id));
  for (const id of receiver.events.keys())
    if (!known.has(id)) books.faults.push(`the event ${id} was delivered, which nobody wanted`);
  books.none(
    "deliveries that have not ended well",
    "select id, status, attempts from outbound_deliveries where status <> 'delivered'",
  );
  books.none(
    "events with more than one delivery",
    "select event_id, count(*) as n from outbound_deliveries where replay_of is null group by webhook_id, event_id having n > 1",
  );
  const times = [...receiver.events.values()].reduce((sum, { count }) => sum + count, 0);
  return { delivered: receiver.events.size, deliveredAgain: times - receiver.events.size };
}
