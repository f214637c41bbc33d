import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { plural } from "../../base/plural.ts";
import type { CursorState } from "../../lake/contract.ts";
import type { SqlSession } from "../../sql/contract.ts";
import { quoteList, quoteText } from "../../sql/text.ts";
import {
  beforeLag,
  type CursorSql,
  cursorJson,
  cursorSql,
  cursorValue,
  greatestText,
  PLAIN_NUMBER,
} from "./cursor.ts";
import type { Drops } from "./drops.ts";
import { fingerprintOf, fingerprintPair } from "./fingerprint.ts";
import type { IncrementalPlan, Plan } from "./plan.ts";
import { FINGERPRINT, SEQUENCE, type Sheet, type SheetColumn } from "./sheet.ts";

/** Maximum number of fingerprints in a state. */
const MAX_BOUNDARY = 10_000;

/** SQL that identifies rows at the cursor. */
export interface RowIdentity {
  cursor: CursorSql;
  fingerprint: string;
}

/** Whether rows are identified by all of their values: without a key, and for a merge, which accepts a changed row. */
export const isWhole = (plan: Pick<Plan, "primaryKey" | "disposition">): boolean =>
  plan.primaryKey.length === 0 || plan.disposition === "merge";

export function rowIdentity(
  sheet: Sheet,
  plan: Plan,
  field: SheetColumn,
  { fingerprinted, ranged }: { fingerprinted: boolean; ranged: boolean },
): RowIdentity {
  // A source that selects the range itself compares its own type.
  const cursor = cursorSql(field, ranged ? null : (plan.fixed.get(field.name) ?? null));
  if (fingerprinted) return { cursor, fingerprint: FINGERPRINT.name };
  const keys = plan.primaryKey.map((name) => sheet.find(name)).filter((column) => column !== undefined);
  const columns = isWhole(plan) ? sheet.columns : [...new Set([...keys, field])];
  return { cursor, fingerprint: fingerprintSql(columns) };
}

/** SQL that identifies a staged row, among all that differ in one of `columns`. */
export const fingerprintSql = (columns: readonly SheetColumn[]): string =>
  fingerprintOf(columns.filter((column) => column.slots.length > 0).map(pair));

const pair = (column: SheetColumn): string => {
  const [only, ...more] = column.slots.map((slot) => slot.name);
  const texts = [only, ...more].map((name) => `CAST(${name} AS VARCHAR)`).join(", ");
  return fingerprintPair(column.name, more.length === 0 ? String(only) : `COALESCE(${texts})`);
};

/**
 * Removes rows outside the range, if the source hasn't, and those of an earlier load: rows from the start of the
 * range up to the stored value whose fingerprints are stored. Rows with the same key are kept once. Without a key,
 * equal rows are kept as often as the source has them. Then keeps only the first `limit` rows by cursor.
 */
export async function dropSeen(
  drops: Drops,
  identity: RowIdentity,
  plan: Plan & { incremental: IncrementalPlan },
  ranged: boolean,
  warn: (text: string) => void,
): Promise<void> {
  const { session } = drops;
  const { sql, type } = identity.cursor;
  const { from, to, stored } = plan.incremental;
  await warnOfTextOrder(drops, identity, { ...plan.incremental, ranged }, warn);
  if (!ranged && (from !== null || to !== null)) {
    const [row] = await session.run(
      `SELECT count(*) AS n FROM (${drops.alive(drops.root)}) WHERE ${sql} IS NULL`,
    );
    const nulls = from === null ? 0 : Number(row?.n ?? 0);
    warnOfLeftOut(nulls, plan.incremental.field, warn);
    const least = from === null ? [] : [`${sql} >= ${await cursorValue(session, from, type, "start")}`];
    const most = to === null ? [] : [`${sql} < ${await cursorValue(session, to, type, "end")}`];
    const inside = `CASE WHEN ${sql} IS NULL THEN ${from === null} ELSE ${[...least, ...most].join(" AND ")} END`;
    await drops.drop(
      "filtered",
      `SELECT ${SEQUENCE.name} FROM (${drops.alive(drops.root)}) WHERE NOT (${inside})`,
    );
  }
  if (stored && stored.boundary.length > 0) {
    const last = await cursorValue(session, stored.lastValue, type, "stored value");
    const times = plan.primaryKey.length > 0 ? "true" : "s.k <= b.n";
    const met = await drops.drop(
      "deduplicated",
      `SELECT s.seq FROM (SELECT ${SEQUENCE.name} AS seq, ${identity.fingerprint} AS fp, row_number() OVER (PARTITION BY fp ORDER BY ${SEQUENCE.name}) AS k FROM (${drops.alive(drops.root)}) WHERE ${sql} <= ${last}) s JOIN (SELECT fp, count(*) AS n FROM (SELECT unnest(${quoteList(stored.boundary)}) AS fp) GROUP BY fp) b ON s.fp = b.fp WHERE ${times}`,
    );
    const missing = plan.primaryKey.length > 0 ? 0 : stored.boundary.length - met;
    if (missing > 0) await tellChanged(drops, `${sql} <= ${last}`, missing, plan.incremental.field, warn);
  }
  if (plan.limit !== null) {
    await drops.drop(
      "filtered",
      `SELECT ${SEQUENCE.name} FROM (${drops.alive(drops.root)}) ORDER BY ${sql} NULLS FIRST, ${SEQUENCE.name} OFFSET ${plan.limit}`,
    );
  }
}

/** Numbers of different lengths, and dates that don't start with the year, aren't in order as texts. */
async function warnOfTextOrder(
  drops: Drops,
  { cursor: { sql, type } }: RowIdentity,
  { field, stored, ranged }: IncrementalPlan & { ranged: boolean },
  warn: (text: string) => void,
): Promise<void> {
  if (type !== "VARCHAR") return;
  const last = typeof stored?.lastValue === "string" ? stored.lastValue : JSON.stringify(stored?.lastValue);
  const values = [
    `SELECT ${sql} AS v FROM (${drops.alive(drops.root)})`,
    ...(last ? [`SELECT ${quoteText(last)}`] : []),
  ];
  const [row] = await drops.session.run(
    `SELECT count(*) FILTER (NOT regexp_full_match(v, '${PLAIN_NUMBER}')) = 0
              AND count(DISTINCT length(split_part(v, '.', 1))) > 1 AS numbers,
            coalesce(bool_or(regexp_matches(v, '^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}')), false) AS dates
       FROM (${values.join(" UNION ALL ")}) WHERE v IS NOT NULL`,
  );
  const what = `The cursor ${field} is text and compared as text`;
  const typed = `Set its type in columns, such as {"name": ${JSON.stringify(field)}, "type": "integer"}, and reset the state.`;
  const other = "Choose another cursor, or load without one.";
  if (row?.numbers === true)
    warn(`${what}: 10 comes before 9, so later rows may be left out. ${ranged ? other : typed}`);
  if (row?.dates === true)
    warn(`${what}, but its dates don't start with the year, so later rows may be left out. ${other}`);
}

/** They are counted in each load, since none of them finds them. */
export function warnOfLeftOut(rows: number, field: string, warn: (text: string) => void): void {
  if (rows > 0) warn(`${rows} rows have no value in the cursor ${field} and were left out.`);
}

/** Warns about rows that were loaded before and look different now, as when a column's type changed. */
async function tellChanged(
  drops: Drops,
  known: string,
  missing: number,
  field: string,
  warn: (text: string) => void,
): Promise<void> {
  const [row] = await drops.session.run(
    `SELECT count(*) AS n FROM (${drops.alive(drops.root)}) WHERE ${known}`,
  );
  const count = Math.min(missing, Number(row?.n ?? 0));
  if (count > 0)
    warn(
      `${plural(count, { one: "row", other: "rows" })} at the end of the cursor ${field} may be loaded twice: values or columns changed since the last load. A primaryKey avoids it.`,
    );
}

interface Reached {
  /** End of the range, as shown in the result. */
  end: Json;
  /** Null if the stored state doesn't change. */
  state: CursorState | null;
}

/**
 * Returns the cursor after the rows of `read`, and the fingerprints of rows that the next load reads again. Throws
 * `cursor_field_missing` if there are rows and none has a cursor value.
 */
export async function reached(
  session: SqlSession,
  read: string,
  { cursor, fingerprint }: RowIdentity,
  { incremental, primaryKey, resource }: Plan & { incremental: IncrementalPlan },
  warn: (text: string) => void,
): Promise<Reached> {
  const { stored, start, field, isBackfill, lagSeconds } = incremental;
  const last = stored && (await cursorValue(session, stored.lastValue, cursor.type, "stored value"));
  const [row] = await session.run(
    `SELECT ${greatestText(cursor)} AS value, count(*) FILTER (${cursor.sql} IS NULL) AS nulls, ${last ? `max(${cursor.sql}) < ${last} AS behind, max(${cursor.sql}) = ${last} AS level` : "false AS behind, false AS level"} FROM (${read})`,
  );
  const nulls = Number(row?.nulls ?? 0);
  const value = row?.value;
  if (nulls > 0 && typeof value !== "string") throw noValue(resource, field);
  if (nulls > 0)
    warn(
      `${nulls} rows have no value in the cursor ${field}. They were loaded now; later ones won't be found.`,
    );
  if (typeof value !== "string") return { end: isBackfill ? null : start, state: null };
  const end = cursor.isText ? value : cursorJson(value, cursor.type);
  if (isBackfill) return { end, state: null };
  if (row?.behind === true) return { end: start, state: null };

  const low = await cursorValue(session, beforeLag(end, lagSeconds), cursor.type, "value");
  const rows = await session.run(
    `SELECT ${fingerprint} AS fp FROM (${read}) WHERE ${cursor.sql} >= ${low} ORDER BY ${cursor.sql} DESC LIMIT ${MAX_BOUNDARY + 1}`,
  );
  const seen = rows.map((each) => String(each.fp));
  const boundary = row?.level === true && stored ? joined(seen, stored.boundary) : seen;
  const kept = primaryKey.length > 0 ? [...new Set(boundary)] : boundary;
  if (kept.length > MAX_BOUNDARY) {
    warn(
      `More than ${MAX_BOUNDARY} rows have the last value of the cursor ${field}. Those beyond may be loaded twice. A finer cursor, or merge, avoids that.`,
    );
  }
  return { end, state: { cursorField: field, lastValue: end, boundary: kept.slice(0, MAX_BOUNDARY) } };
}

/** Without any value the cursor can't advance: the next load would read the same rows again. */
const noValue = (resource: string, field: string): AppError =>
  new AppError(
    "cursor_field_missing",
    `No row of ${resource} has a value in the cursor field "${field}". Choose another cursor, or load without one.`,
    { details: { resource, field } },
  );

/** Merges lists of fingerprints. Each occurs as often as in the list that has it most. */
function joined(left: readonly string[], right: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const fp of left) counts.set(fp, (counts.get(fp) ?? 0) + 1);
  const all = [...left];
  for (const fp of right) {
    const left = counts.get(fp) ?? 0;
    if (left > 0) counts.set(fp, left - 1);
    else all.push(fp);
  }
  return all;
}
