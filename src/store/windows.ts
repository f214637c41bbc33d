import { and, asc, type Column, desc, eq, gte, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { firstIdAt, timeOfId } from "../base/ids.ts";
import { yieldNow } from "../base/slices.ts";
import { totalOf } from "./counts.ts";
import type { ReadDb } from "./store.ts";

/** The first window is this part of the time that the rows are from. */
const PARTS = 64;
/** Windows that took less are followed by larger ones, those that took longer by smaller ones. */
const SHORT_MS = 8;
const LONG_MS = 24;
/** IDs are made when rows are, unless the clock has been set back meanwhile. */
const ID_SLACK_MS = 86_400_000;

/** A table whose rows are listed by organization and ID. */
type Listed = SQLiteTable & { readonly id: Column; readonly organizationId: Column };

interface Search {
  of: Listed;
  organizationId: string;
  where: SQL | undefined;
  /** Bounds of the creation time, which `where` checks. */
  period: { since?: string | undefined; until?: string | undefined };
}

/** One of several conditions. */
export interface Way {
  where: SQL;
  /** Whether no index leads to such rows. */
  isScan: boolean;
  /** Counts its rows by an index, if nothing else is asked for. */
  count?: () => Promise<number>;
}

/**
 * Looks for rows that one of the conditions keeps, each by its own index: one statement for all would read every row.
 * No row may match two of them. Returns the IDs of the first `upTo` matches, newest first, and the number of all.
 */
export async function findByWays(
  db: ReadDb,
  search: Search,
  ways: readonly Way[],
  upTo: number,
): Promise<{ ids: string[]; total: number }> {
  const { of, organizationId, where } = search;
  let ids: string[] = [];
  let total = 0;
  for (const way of ways) {
    const both = and(where, way.where);
    const known = where === undefined ? await way.count?.() : undefined;
    const found = way.isScan
      ? await findInWindows(db, { ...search, where: both }, upTo, known)
      : await findByIndex(db, of, and(eq(of.organizationId, organizationId), both), upTo);
    ids = ids.concat(found.ids);
    total += found.total;
  }
  return { ids: ids.sort().reverse().slice(0, upTo), total };
}

async function findByIndex(db: ReadDb, of: Listed, where: SQL | undefined, upTo: number) {
  const ids = await idsOf(db, of, where, upTo, desc(of.id));
  return { ids, total: await totalOf({ limit: upTo, offset: 0 }, ids, () => db.$count(of, where)) };
}

/**
 * Looks for rows by what no index leads to: goes through those of the organization, newest first, in windows of time
 * between which other requests get their turns. Returns the IDs of the first `upTo` matches and the number of all,
 * which are counted unless `known`.
 */
export async function findInWindows(
  db: ReadDb,
  { of, organizationId, where, period }: Search,
  upTo: number,
  known?: number,
): Promise<{ ids: string[]; total: number }> {
  let ids: string[] = [];
  let total = 0;
  const mine = eq(of.organizationId, organizationId);
  const [newest] = await idsOf(db, of, mine, 1, desc(of.id));
  const [oldest] = await idsOf(db, of, mine, 1, asc(of.id));
  if (newest === undefined || oldest === undefined) return { ids, total };
  const first = Math.max(timeOfId(oldest), timeOf(period.since, -ID_SLACK_MS) ?? 0);
  let end = Math.min(timeOfId(newest) + 1, timeOf(period.until, ID_SLACK_MS) ?? Number.MAX_SAFE_INTEGER);
  for (let span = Math.ceil((end - first) / PARTS); end > first; ) {
    const start = Math.max(first, end - span);
    const window = and(mine, gte(of.id, idAt(start)), lt(of.id, idAt(end)), where);
    const begun = performance.now();
    const missing = upTo - ids.length;
    const found = missing > 0 ? await idsOf(db, of, window, missing, desc(of.id)) : [];
    ids = ids.concat(found);
    if (known !== undefined && ids.length >= Math.min(upTo, known)) return { ids, total: known };
    total += known !== undefined || found.length < missing ? found.length : await db.$count(of, window);
    const took = performance.now() - begun;
    if (took < SHORT_MS) span *= 2;
    else if (took > LONG_MS) span = Math.ceil(span / 2);
    end = start;
    await yieldNow();
  }
  return { ids, total };
}

const idsOf = async (db: ReadDb, of: Listed, where: SQL | undefined, limit: number, order: SQL) => {
  const id = sql<string>`${of.id}`;
  return (await db.select({ id }).from(of).where(where).orderBy(order).limit(limit)).map((row) => row.id);
};

const idAt = (ms: number) => firstIdAt(new Date(ms));

const timeOf = (instant: string | undefined, slackMs: number): number | undefined =>
  instant === undefined ? undefined : Math.max(0, Date.parse(instant) + slackMs);
