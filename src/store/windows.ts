import { and, type Column, desc, gte, lt, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { firstIdAt } from "../base/ids.ts";
import { yieldNow } from "../base/slices.ts";
import { totalOf } from "./counts.ts";
import type { ReadDb } from "./store.ts";

/** Size of the first window. Counted in rows, since most of them may be from one day of a year. */
const FIRST_ROWS = 2_000;
const MIN_ROWS = 250;
const MAX_ROWS = 8_000;
/** Windows that took less time are followed by larger ones, windows that took longer by smaller ones. */
const SHORT_MS = 8;
const LONG_MS = 24;
/** How far an ID's time can differ from the row's creation time, if the clock was set back. */
const ID_SLACK_MS = 86_400_000;
/** Beyond this many, pages aren't merged from several lists of IDs, which must all be in memory. */
const MAX_LISTED = 10_000;

type Listed = SQLiteTable & { readonly id: Column };

interface Search {
  of: Listed;
  /** The rows to search, which an index has in order of their IDs, such as those of an organization. */
  within: SQL;
  where: SQL | undefined;
  /** Limits of the creation time, which `where` checks. */
  period: { since?: string | undefined; until?: string | undefined };
  /** Only rows with a lower ID. */
  beforeId?: string | null;
}

interface Page {
  limit: number;
  offset: number;
}

/** The IDs of a page, and the total number of matches. */
interface Found {
  ids: string[];
  total: number;
}

/** One of several alternative conditions. */
export interface Way {
  where: SQL;
  /** True if no index finds such rows. */
  isScan: boolean;
  /** Counts its rows by an index, if there are no other conditions. */
  count?: () => Promise<number>;
}

/**
 * Finds rows that match one of the conditions, each by its own index: a single statement would read every row.
 * A row must not match two of them. Newest first.
 */
export async function findByWays(
  db: ReadDb,
  search: Search,
  ways: readonly Way[],
  { limit, offset }: Page,
): Promise<Found> {
  const { of, within, where } = search;
  const upTo = offset + limit;
  if (upTo > MAX_LISTED) {
    const any = or(...ways.map((way) => way.where));
    return any ? findInWindows(db, { ...search, where: and(where, any) }, { limit, offset }) : NONE;
  }
  let ids: string[] = [];
  let total = 0;
  for (const way of ways) {
    const both = and(where, way.where);
    const known = where === undefined ? await way.count?.() : undefined;
    const found = way.isScan
      ? await findInWindows(db, { ...search, where: both }, { limit: upTo, offset: 0 }, known)
      : await findByIndex(db, of, and(within, both), upTo);
    ids = ids.concat(found.ids);
    total += found.total;
  }
  return { ids: ids.sort().reverse().slice(offset, upTo), total };
}

const NONE: Found = { ids: [], total: 0 };

async function findByIndex(db: ReadDb, of: Listed, where: SQL | undefined, limit: number): Promise<Found> {
  const page = { limit, offset: 0 };
  const ids = await idsOf(db, of, where, page);
  return { ids, total: await totalOf(page, ids, () => db.$count(of, where)) };
}

/**
 * Finds rows without an index: scans all of them, newest first, in windows between which other requests run.
 * Counts all matches, unless their number is `known`.
 */
export async function findInWindows(
  db: ReadDb,
  { of, within, where, period, beforeId }: Search,
  { limit, offset }: Page,
  known?: number,
): Promise<Found> {
  // Only one limit on each side of a window: of two, SQLite would use the first one for the index,
  // however far away it is.
  const oldest =
    period.since === undefined ? undefined : gte(of.id, firstIdAround(period.since, -ID_SLACK_MS));
  const ends = [beforeId, period.until === undefined ? null : firstIdAround(period.until, ID_SLACK_MS)];
  const [newest] = ends.filter((end) => typeof end === "string").sort();
  let ids: string[] = [];
  let total = 0;
  let before = newest === undefined ? undefined : lt(of.id, newest);
  for (let rows = FIRST_ROWS; ; ) {
    const begun = performance.now();
    const [first] = await idsOf(db, of, and(within, oldest, before), { limit: 1, offset: rows - 1 });
    const window = and(within, first === undefined ? oldest : gte(of.id, first), before, where);
    const missing = limit - ids.length;
    const skipped = Math.max(0, offset - total);
    const number = skipped > 0 || missing === 0 ? await db.$count(of, window) : undefined;
    const found =
      missing > 0 && (number === undefined || number > skipped)
        ? await idsOf(db, of, window, { limit: missing, offset: skipped })
        : [];
    ids = ids.concat(found);
    if (known !== undefined && (ids.length === limit || offset + ids.length >= known))
      return { ids, total: known };
    total += number ?? (found.length < missing ? found.length : await db.$count(of, window));
    if (first === undefined) return { ids, total };
    before = lt(of.id, first);
    const took = performance.now() - begun;
    if (took < SHORT_MS) rows = Math.min(2 * rows, MAX_ROWS);
    else if (took > LONG_MS) rows = Math.max(rows / 2, MIN_ROWS);
    await yieldNow();
  }
}

const idsOf = async (db: ReadDb, of: Listed, where: SQL | undefined, { limit, offset }: Page) => {
  const id = sql<string>`${of.id}`;
  const rows = await db.select({ id }).from(of).where(where).orderBy(desc(of.id)).limit(limit).offset(offset);
  return rows.map((row) => row.id);
};

const firstIdAround = (instant: string, slackMs: number): string =>
  firstIdAt(new Date(Math.max(0, Date.parse(instant) + slackMs)));
