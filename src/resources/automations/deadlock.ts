import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import type { ReadDb } from "../../store/store.ts";
import { actionRuns } from "../runs/table.ts";
import { automationRuns } from "./table.ts";

/** A larger tangle is not looked through: its runs are taken to go on. */
const MAX_RUNS = 2_000;

/** Runs under way, and what each of them waits for. */
interface Tangle {
  /** By the id of a run under way: the automations in whose lines the runs stand that it has called. */
  lines: Map<string, Set<string>>;
  /** By the id of a run under way: the runs under way that it has called. */
  calls: Map<string, Set<string>>;
  /** By automation: its runs under way. Its line moves on when one of them ends. */
  underWay: Map<string, Set<string>>;
}

/**
 * True where a run that the automation's line would take in now never begins: each of the automation's runs under way
 * waits, through what it has called, for `callerId`, which is about to wait for the new one.
 */
export async function wouldWaitForEver(db: ReadDb, automationId: string, callerId: string): Promise<boolean> {
  const tangle = await readTangle(db, automationId, callerId);
  if (tangle === null) return false;
  const goesOn = new Set<string>();
  const moves = (line: string) => {
    const ids = [...(tangle.underWay.get(line) ?? [])];
    return ids.length === 0 || ids.some((id) => goesOn.has(id));
  };
  const canEnd = (id: string) =>
    id !== callerId &&
    [...(tangle.calls.get(id) ?? [])].every((called) => goesOn.has(called)) &&
    [...(tangle.lines.get(id) ?? [])].every(moves);
  const all = new Set([...tangle.underWay.values()].flatMap((ids) => [...ids]));
  for (const called of tangle.calls.values()) for (const id of called) all.add(id);
  for (let grew = true; grew; ) {
    grew = false;
    for (const id of all) {
      if (goesOn.has(id) || !canEnd(id)) continue;
      goesOn.add(id);
      grew = true;
    }
  }
  return !moves(automationId);
}

/** All that the end of one of the automation's runs hangs on; null as soon as one is seen that hangs on nothing. */
async function readTangle(db: ReadDb, automationId: string, callerId: string): Promise<Tangle | null> {
  const tangle: Tangle = { lines: new Map(), calls: new Map(), underWay: new Map() };
  const seen = new Set<string>([callerId]);
  let lines: string[] = [automationId];
  let runs: string[] = [];
  for (let isFirst = true; lines.length > 0 || runs.length > 0; isFirst = false) {
    for (const { id, line } of await runsUnderWay(db, lines)) {
      add(tangle.underWay, line, id);
      if (!seen.has(id)) runs.push(id);
      seen.add(id);
    }
    for (const line of lines) if (!tangle.underWay.has(line)) tangle.underWay.set(line, new Set());
    if (seen.size > MAX_RUNS) return null;
    const links = await callsOf(db, runs);
    if (isFirst && runs.some((id) => links.every((link) => link.id !== id))) return null;
    lines = [];
    runs = [];
    for (const { id, called, automation, status } of links) {
      if (status === "pending") {
        add(tangle.lines, id, automation);
        if (!tangle.underWay.has(automation) && !lines.includes(automation)) lines.push(automation);
      } else {
        add(tangle.calls, id, called);
        if (!seen.has(called)) runs.push(called);
        seen.add(called);
      }
    }
  }
  return tangle;
}

const add = (sets: Map<string, Set<string>>, key: string, value: string) =>
  sets.set(key, (sets.get(key) ?? new Set()).add(value));

/** Spelt as in the index `automation_runs_limited`. */
const runsUnderWay = async (db: ReadDb, lines: readonly string[]) =>
  lines.length === 0
    ? []
    : db
        .select({ id: automationRuns.id, line: automationRuns.automationId })
        .from(automationRuns)
        .where(
          and(
            inArray(automationRuns.automationId, [...lines]),
            inArray(automationRuns.status, ["running", "waiting"]),
            sql`${automationRuns.isLimited} = 1`,
            isNull(automationRuns.completedAt),
          ),
        );

/** The runs that these have called and wait for, as long as those have not ended. */
const callsOf = async (db: ReadDb, runs: readonly string[]) =>
  runs.length === 0
    ? []
    : db
        .select({
          id: sql<string>`${actionRuns.automationRunId}`,
          called: automationRuns.id,
          automation: automationRuns.automationId,
          status: automationRuns.status,
        })
        .from(actionRuns)
        .innerJoin(automationRuns, eq(automationRuns.id, actionRuns.waitId))
        .where(
          and(
            inArray(actionRuns.automationRunId, [...runs]),
            eq(actionRuns.status, "waiting"),
            eq(actionRuns.waitKind, "automation"),
            isNull(automationRuns.completedAt),
          ),
        );
