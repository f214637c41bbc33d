import type { Database } from "bun:sqlite";
import type { Ledger } from "./ledger.ts";
import type { Place } from "./place.ts";
import type { Plant } from "./plant.ts";
import type { Receiver } from "./receiver.ts";

const SHOWN = 5;

export interface Case {
  place: Place;
  plant: Plant;
  ledger: Ledger;
  receiver: Receiver;
  /** Wall-clock milliseconds of the kills, and of other interruptions. */
  kills: readonly number[];
}

/** Figures from the checked database. */
export interface Figures {
  automationRuns: number;
  actionRuns: number;
  events: number;
  decisions: number;
  instants: { run: number; missed: number };
  eventRuns: number;
  effects: number;
  /** Requests to other systems beyond the first of each run. Each belongs to a run that was interrupted or retried. */
  repeatedEffects: number;
  interruptedRuns: number;
  /** Runs interrupted by four consecutive kills: failed, reported, and stored as dead letters. */
  exhausted: number;
  delivered: number;
  deliveredAgain: number;
  loads: number;
  /** Completed runs with rows in a database table. */
  tableLoads: number;
  rowsLost: number;
  rowsTwice: number;
}

/** The database of a stopped server, and the faults found in it. */
export class Books {
  constructor(
    readonly db: Database,
    readonly faults: string[],
  ) {}

  rows<T>(sql: string, ...values: string[]): T[] {
    return this.db.query(sql).all(...values) as T[];
  }

  count(sql: string, ...values: string[]): number {
    return Number(this.db.query(sql).values(...values)[0]?.[0] ?? 0);
  }

  /** Reports every row that the query returns as a fault. */
  none(what: string, sql: string, ...values: string[]): void {
    const found = this.rows<object>(sql, ...values);
    if (found.length === 0) return;
    const shown = found.slice(0, SHOWN).map((row) => JSON.stringify(row));
    this.faults.push(`${what}: ${found.length}, such as ${shown.join(" ")}`);
  }
}
