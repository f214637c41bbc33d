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
  /** Wall-clock milliseconds of the kills, and of what else stopped the work. */
  kills: readonly number[];
}

/** What the checked books come to. */
export interface Figures {
  automationRuns: number;
  actionRuns: number;
  events: number;
  decisions: number;
  instants: { run: number; missed: number };
  eventRuns: number;
  effects: number;
  /** Requests to other systems beyond the first of each run; each belongs to a run that was interrupted or tried again. */
  repeatedEffects: number;
  interruptedRuns: number;
  /** Runs that four kills in a row hit while they were under way: failed, told, and kept as dead letters. */
  exhausted: number;
  delivered: number;
  deliveredAgain: number;
  loads: number;
  /** Runs that completed with rows in a table of a database. */
  tableLoads: number;
  rowsLost: number;
  rowsTwice: number;
}

/** The database of a stopped server, and what is wrong with it. */
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

  /** Every row that the query gives is wrong. */
  none(what: string, sql: string, ...values: string[]): void {
    const found = this.rows<object>(sql, ...values);
    if (found.length === 0) return;
    const shown = found.slice(0, SHOWN).map((row) => JSON.stringify(row));
    this.faults.push(`${what}: ${found.length}, such as ${shown.join(" ")}`);
  }
}
