import type { TestPostgres } from "../support/postgres.ts";
import { CURSORS, KEYS } from "./merge-tables.ts";
import { SEED } from "./scale.ts";

/** Pseudo-random numbers from 0 to 1 (exclusive), by seed. */
export function chances(seed = SEED): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const INSERTS = 30;
const UPDATES = 20;
const DELETES = 10;

/**
 * Changes the tables, one round at a time: new rows, updated ones, deleted ones. The time of change equals that of
 * rows of the previous round, and a key may be written differently although it stays equal.
 */
export function changesOf(pg: TestPostgres, chance: () => number) {
  const made = new Map<string, number>();
  const next = (table: string): number => {
    const n = made.get(table) ?? 0;
    made.set(table, n + 1);
    return n;
  };
  const note = (): string => `'note ${Math.floor(chance() * 1e9)}'`;
  const amount = (): string => `${Math.floor(chance() * 1e9)}.${Math.floor(chance() * 1e6)}1`;

  /** The clock of all rows: a round ends where the next one begins. */
  const instantOf = (round: number) =>
    `timestamptz '2026-03-01 00:00:00+00' + ${round + Math.floor(chance() * 2)} * interval '1 microsecond'`;

  return async (round: number): Promise<void> => {
    const sql: string[] = [];
    for (const [name, key] of Object.entries(KEYS)) {
      for (const table of [`kept_${name}`, `dying_${name}`]) {
        for (let i = 0; i < INSERTS; i++) {
          const values = [...key.values(next(table)), instantOf(round), note(), amount()];
          sql.push(`insert into ${table} values (${values.join()})`);
        }
        for (let i = 0; i < UPDATES; i++) {
          const one = `(select ctid from ${table} order by md5(changed::text || note || ${i}) limit 1)`;
          const rewritten = key.rewrite && i % 2 === 0 ? `, ${key.rewrite}` : "";
          sql.push(
            `update ${table} set changed = ${instantOf(round)}, note = ${note()}, amount = ${amount()}${rewritten} where ctid = ${one}`,
          );
        }
      }
      sql.push(
        `delete from dying_${name} where ctid in (select ctid from dying_${name} order by md5(note) limit ${DELETES})`,
      );
    }
    for (const [name, { value }] of Object.entries(CURSORS)) {
      for (let i = 0; i < INSERTS; i++) {
        const n = next(`grown_${name}`);
        sql.push(`insert into grown_${name} values (${n}, ${value(Math.floor((n - 7) / 10) + 1)})`);
      }
    }
    await pg.sql.unsafe(sql.join(";\n"));
  };
}
