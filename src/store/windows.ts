import { and, type Column, desc, gte, lt, or, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { firstIdAt } from "../base/ids.ts";
import { yieldNow } from "../base/slices.ts";
import { totalOf } from "./counts.ts";
import type { ReadDb } from "./store.ts";

/** The first window has so many rows. By rows, since most of them may be from one day of a year. */
const FIRST_ROWS = 2_000;
const MIN_ROWS = 250;
const MAX_ROWS = 8_000;
/** Windows that took less are followed by larger ones, those that took longer by smaller ones. */
const SHORT_MS = 8;
const LONG_MS = 24;
/** IDs are made when rows are, unless the clock has been set back meanwhile. */
const ID_SLACK_MS = 86_400_000;
/** Further pages aren't put together from several lists of IDs, which would all have to be in memory. */
const MAX_LISTED = 10_000;

type Listed = SQLiteTable & { readonly id: Column };

interface Search {
  of: Listed;
  /** The rows to go through, which an index has in order of their IDs, such as those of the organization. */
  within: SQL;
  where: SQL | undefined;
  /** Bounds of the creation time, which `where` checks. */
  period: { since?: string | undefined; until?: string | undefined };
  /** Only rows with a lower ID. */
  beforeId?: string | null;
}

interface Page {
  limit: number;
  offset: number;
}

/** The IDs of a page, and the number of all matches. */
interface Found {
  ids: string[];
  total: number;
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
 * No row may match two of them. Newest first.
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
 * Looks for rows by what no index leads to: goes through all, newest first, in windows between which other requests get
 * their turns. All matches are counted, unless their number is `known`.
 */
export async function findInWindows(
  db: ReadDb,
  { of, within, where, period, beforeId }: Search,
  { limit, offset }: Page,
  known?: number,
): Promise<Found> {
  // One bound on each side of a window: SQLite would go by the first of two, however far it lies.
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
