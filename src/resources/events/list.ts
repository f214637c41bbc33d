import { and, asc, desc, eq, gt, gte, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { prepared } from "../../store/prepared.ts";
import { contains } from "../../store/search.ts";
import type { ReadDb } from "../../store/store.ts";
import { typesMatching } from "./matching.ts";
import { firstSince } from "./position.ts";
import { EVENT_TYPES, type EventRow, events } from "./table.ts";
import type { EventFilter, EventQuery } from "./wire.ts";

/** Maximum number of events that filters without an index scan per page. */
const MAX_SCANNED = 20_000;

/** Rows are in commit order. Their clocks are assumed to differ by at most this much. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

/** A part of the audit log: the filter, and the positions it is between. */
export interface Stretch {
  filter: EventFilter;
  order: "asc" | "desc";
  /** First position in it. Null: from the beginning. */
  from: number | null;
  /** Last position in it. Null: to the end. */
  to: number | null;
  since?: string;
  until?: string;
}

/**
 * Returns one page of the audit log, newest first unless `order` says otherwise. A page can have fewer events than
 * requested, or none, while `hasMore` is true. Throws `invalid`, `cursor_expired`.
 */
export async function listEvents(
  ctx: Context,
  query: EventQuery,
): Promise<{ rows: EventRow[]; nextCursor?: string; hasMore: boolean }> {
  const { limit, cursor, order, since, until, ...filter } = query;
  const scope = [
    "events",
    ctx.organizationId,
    order,
    { ...filter, since: since ?? null, until: until ?? null },
  ];
  const position = cursor === undefined ? null : Number(readCursor(ctx, scope, cursor));
  const isUp = order === "asc";
  const stretch: Stretch = {
    filter,
    order,
    from: isUp && position !== null ? position + 1 : await positionAt(ctx, since, -CLOCK_SKEW_MS),
    to: isUp || position === null ? await positionAt(ctx, until, CLOCK_SKEW_MS) : position - 1,
    ...(since === undefined ? {} : { since: normal(since) }),
    ...(until === undefined ? {} : { until: normal(until) }),
  };
  const rim = hasIndex(filter) ? null : await rimOf(ctx, stretch);
  if (rim !== null) stretch[isUp ? "to" : "from"] = rim;

  const found = await eventsIn(ctx.db, ctx.organizationId, stretch, limit + 1);
  const rows = found.slice(0, limit);
  const end = found.length > limit ? (rows.at(-1)?.seq ?? null) : rim;
  return end === null
    ? { rows, hasMore: false }
    : { rows, hasMore: true, nextCursor: makeCursor(ctx, scope, end) };
}

/** A time in the format of the database, so that it compares as text. */
const normal = (instant: string) => new Date(instant).toISOString();

/**
 * Returns whether an index finds the events: without one, a rare actor would require a scan of the whole audit log.
 * No index finds text. One entity or correlation can have most of the events, but its index contains nothing else.
 */
function hasIndex({
  type,
  entityId,
  correlationId,
  entityType,
  actorType,
  actorId,
  q,
}: EventFilter): boolean {
  const keys = [entityId, correlationId].filter((key) => key !== undefined);
  const others = [entityType, actorType, actorId, q, ...(keys.length > 0 ? [type] : [])];
  return keys.length < 2 && others.every((filter) => filter === undefined);
}

/** Returns at most `limit` rows of a range. Each form of filter uses an index, in order. */
export function eventsIn(db: ReadDb, organizationId: string, stretch: Stretch, limit: number) {
  const { filter, order } = stretch;
  const types = filter.type === undefined ? EVENT_TYPES : typesMatching(filter.type, ["query", "type"]);
  const direction = order === "asc" ? asc(events.seq) : desc(events.seq);
  const seqsBy = (index: string, more?: SQL) =>
    db
      .select({ seq: sql<number>`seq` })
      .from(by(index))
      .where(and(...conditions(organizationId, stretch), more))
      .orderBy(direction)
      .limit(limit);

  const seqs = () => {
    const ofTypes = types.length === EVENT_TYPES.length ? undefined : inArray(events.type, [...types]);
    const index = indexFor(filter);
    if (index !== "events_by_organization" || ofTypes === undefined) return seqsBy(index, ofTypes).getSQL();
    const each = types.map((type) => seqsBy("events_by_type", eq(events.type, type)).getSQL());
    return sql.join(
      each.map((one) => sql`select seq from (${one})`),
      sql` union all `,
    );
  };
  return db
    .select()
    .from(events)
    .where(inArray(events.seq, sql`(${seqs()})`))
    .orderBy(direction)
    .limit(limit);
}

function indexFor({ entityId, correlationId }: EventFilter): string {
  if (entityId !== undefined) return "events_by_entity";
  return correlationId === undefined ? "events_by_organization" : "events_by_correlation";
}

/** Without statistics, SQLite would scan the whole organization although a narrower index exists. */
const by = (index: string) => sql.raw(`events indexed by ${index}`);

function conditions(
  organizationId: string,
  { filter, from, to, since, until }: Stretch,
): (SQL | undefined)[] {
  const { entityType, entityId, actorType, actorId, correlationId, q } = filter;
  return [
    eq(events.organizationId, organizationId),
    entityId === undefined ? undefined : eq(events.entityId, entityId),
    correlationId === undefined ? undefined : eq(events.correlationId, correlationId),
    entityType === undefined ? undefined : eq(events.entityType, entityType),
    actorType === undefined ? undefined : eq(events.actorType, actorType),
    actorId === undefined ? undefined : eq(events.actorId, actorId),
    from === null ? undefined : gte(events.seq, from),
    to === null ? undefined : lte(events.seq, to),
    since === undefined ? undefined : gte(events.timestamp, since),
    until === undefined ? undefined : lte(events.timestamp, until),
    q === undefined ? undefined : contains(asInJson(q), events.data, events.actor, events.entityId),
  ];
}

/** Escapes a text as in a JSON string. */
const asInJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns where a scan of the range must stop for this page. Null if it can go to the end. */
async function rimOf(ctx: Context, { filter, from, to, order }: Stretch): Promise<number | null> {
  const { entityId, correlationId } = filter;
  // Only conditions with an index: rows that other filters skip are scanned too.
  const ofCorrelation = correlationId === undefined ? undefined : eq(events.correlationId, correlationId);
  const ofIndex = entityId === undefined ? ofCorrelation : eq(events.entityId, entityId);
  const [row] = await ctx.db
    .select({ seq: sql`seq`.mapWith(events.seq) })
    .from(by(indexFor(filter)))
    .where(
      and(
        eq(events.organizationId, ctx.organizationId),
        ofIndex,
        from === null ? undefined : gte(events.seq, from),
        to === null ? undefined : lte(events.seq, to),
      ),
    )
    .orderBy(order === "asc" ? asc(events.seq) : desc(events.seq))
    .limit(1)
    .offset(MAX_SCANNED - 1);
  return row?.seq ?? null;
}

const firstFrom = prepared((db: ReadDb) =>
  db
    .select({ seq: events.seq, timestamp: events.timestamp })
    .from(events)
    .where(
      and(
        eq(events.organizationId, sql.placeholder("organizationId")),
        gte(events.seq, sql.placeholder("seq")),
      ),
    )
    .orderBy(asc(events.seq))
    .limit(1)
    .prepare(),
);

/**
 * Finds the approximate position of a time by bisection: all events before it are older. Null if that doesn't pay off:
 * on a database server, each query is a round trip.
 */
async function positionAt(
  ctx: Context,
  instant: string | undefined,
  offsetMs: number,
): Promise<number | null> {
  if (instant === undefined || ctx.store.remote) return null;
  const target = new Date(Date.parse(instant) + offsetMs).toISOString();
  return firstSince(target, (await endOf(ctx)) + 1, async (seq) => {
    const [row] = await firstFrom(ctx.db).all({ organizationId: ctx.organizationId, seq });
    return row;
  });
}

/** Returns the position of the organization's newest event. 0 if it has none. */
export async function endOf(ctx: Context): Promise<number> {
  const [row] = await ctx.db
    .select({ seq: events.seq })
    .from(events)
    .where(eq(events.organizationId, ctx.organizationId))
    .orderBy(desc(events.seq))
    .limit(1);
  return row?.seq ?? 0;
}

/** Returns the position of the organization's newest event before a time. 0 if it has none. Scans from the newest. */
export async function lastBefore(ctx: Context, instant: string): Promise<number> {
  const [row] = await ctx.db
    .select({ seq: events.seq })
    .from(events)
    .where(and(eq(events.organizationId, ctx.organizationId), lt(events.timestamp, instant)))
    .orderBy(desc(events.seq))
    .limit(1);
  return row?.seq ?? 0;
}

/** Returns the position reached by the next `steps` events after `after`. `after` itself if there are none. */
export async function reachOf(ctx: Context, after: number, steps: number): Promise<number> {
  const next = ctx.db
    .select({ seq: events.seq })
    .from(events)
    .where(and(eq(events.organizationId, ctx.organizationId), gt(events.seq, after)))
    .orderBy(asc(events.seq))
    .limit(steps)
    .as("next");
  const [row] = await ctx.db.select({ seq: sql<number | null>`max(${next.seq})` }).from(next);
  return row?.seq ?? after;
}
