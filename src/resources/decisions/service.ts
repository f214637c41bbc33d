import { and, desc, eq, type SQL } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { type DecisionRow, decisions } from "./table.ts";
import type { DecisionQuery } from "./wire.ts";

/** Maximum length of lists without pages. `total` is the full count. */
export const MAX_LISTED = 500;

/** Every query here uses this condition: decisions of other organizations don't exist. */
const mine = (ctx: Context, ...filters: (SQL | undefined)[]) =>
  and(eq(decisions.organizationId, ctx.organizationId), ...filters);

export async function findDecision(ctx: Context, id: string): Promise<DecisionRow> {
  const [row] = await ctx.db
    .select()
    .from(decisions)
    .where(mine(ctx, eq(decisions.id, id)));
  if (!row) throw notFound("decision");
  return row;
}

/** Newest first. */
export function listDecisions(ctx: Context, query: DecisionQuery) {
  const { status } = query;
  return page(ctx, mine(ctx, status === undefined ? undefined : eq(decisions.status, status)), query);
}

/** Lists pending decisions, newest first. With `isMine`, only those assigned to the caller. */
export function listPending(ctx: Context, isMine: boolean) {
  const assignee = isMine ? eq(decisions.assignedTo, ctx.actor.id) : undefined;
  return page(ctx, mine(ctx, assignee, eq(decisions.status, "pending")), { limit: MAX_LISTED, offset: 0 });
}

async function page(
  ctx: Context,
  where: SQL | undefined,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: DecisionRow[]; total: number }> {
  const rows = await ctx.db
    .select()
    .from(decisions)
    .where(where)
    .orderBy(desc(decisions.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(decisions, where)) };
}
