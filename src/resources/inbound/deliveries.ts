import { and, asc, desc, eq, getTableColumns, lt, type SQL, sql } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { findInWindows } from "../../store/windows.ts";
import { type AttemptRow, type DeliveryRow, deliveryAttempts, webhookDeliveries } from "./table.ts";
import { type DeliveryQuery, toDelivery, toWholeDelivery } from "./wire.ts";

/** Newest first. */
export async function listDeliveries(ctx: Context, query: DeliveryQuery) {
  const scope = ["webhook-deliveries", ctx.organizationId, query.automation_id ?? null, query.status ?? null];
  const before = query.cursor === undefined ? null : String(readCursor(ctx, scope, query.cursor));
  const { headers, query: parameters, payload, ...shown } = getTableColumns(webhookDeliveries);
  const rows = await ctx.db
    .select(shown)
    .from(webhookDeliveries)
    .where(await pageOf(ctx, query, before))
    .orderBy(desc(webhookDeliveries.id))
    .limit(query.limit + 1);
  const items = rows.slice(0, query.limit);
  const last = items.at(-1);
  const page = { items: items.map(toDelivery) };
  return rows.length > query.limit && last ? { ...page, nextCursor: makeCursor(ctx, scope, last.id) } : page;
}

/** Uses the index of the organization or of the automation, or none for a status. */
async function pageOf(ctx: Context, query: DeliveryQuery, before: string | null): Promise<SQL | undefined> {
  const { organizationId } = ctx;
  const { automation_id: automationId, status, limit } = query;
  const mine = eq(webhookDeliveries.organizationId, organizationId);
  const rest = and(
    status === undefined ? undefined : eq(webhookDeliveries.status, status),
    before === null ? undefined : lt(webhookDeliveries.id, before),
  );
  // An expression, since SQLite would otherwise use the index of the organization.
  const alsoMine = sql`${webhookDeliveries.organizationId} || '' = ${organizationId}`;
  if (automationId !== undefined)
    return and(eq(webhookDeliveries.automationId, automationId), alsoMine, rest);
  if (status === undefined) return and(mine, rest);
  const where = eq(webhookDeliveries.status, status);
  const search = { of: webhookDeliveries, within: mine, where, period: {}, beforeId: before };
  const page = { limit: limit + 1, offset: 0 };
  const { ids } = await findInWindows(ctx.db, search, page, Number.POSITIVE_INFINITY);
  return sql`${webhookDeliveries.id} in (select value from json_each(${JSON.stringify(ids)}))`;
}

export async function findDelivery(ctx: Context, id: string) {
  const [row] = await ctx.db
    .select()
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.organizationId, ctx.organizationId), eq(webhookDeliveries.id, id)));
  if (!row) throw notFound("webhook delivery");
  const attempts = await ctx.db
    .select()
    .from(deliveryAttempts)
    .where(eq(deliveryAttempts.deliveryId, id))
    .orderBy(asc(deliveryAttempts.number));
  return toWholeDelivery(row, attempts.length < row.attempts ? [...attempts, lastAttempt(row)] : attempts);
}

/** The attempt in progress, or a successful first one: neither is stored separately. */
function lastAttempt(row: DeliveryRow): AttemptRow {
  const isOver = row.status === "processed" || row.status === "failed";
  return {
    deliveryId: row.id,
    number: row.attempts,
    startedAt: row.attempts === 1 ? row.receivedAt : row.updatedAt,
    completedAt: isOver ? row.updatedAt : null,
    replyCode: isOver ? row.replyCode : null,
    error: isOver ? row.error : null,
  };
}
