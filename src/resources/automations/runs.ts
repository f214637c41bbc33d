import { and, desc, eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { findAutomation, withLiveSteps } from "../../flows/find.ts";
import { totalOf } from "../../store/counts.ts";
import { type AutomationRunRow, automationRuns } from "./table.ts";
import type { AutomationRunQuery } from "./wire.ts";

/** Newest first. */
export async function listAutomationRuns(
  ctx: Context,
  automationId: string,
  query: AutomationRunQuery,
): Promise<{ rows: AutomationRunRow[]; total: number }> {
  await findAutomation(ctx, automationId);
  const where = and(
    eq(automationRuns.organizationId, ctx.organizationId),
    eq(automationRuns.automationId, automationId),
    query.status === undefined ? undefined : eq(automationRuns.status, query.status),
  );
  const rows = await ctx.db
    .select()
    .from(automationRuns)
    .where(where)
    .orderBy(desc(automationRuns.id))
    .limit(query.limit)
    .offset(query.offset);
  // the automation is the organization's: with it in the condition, SQLite would read all of its runs
  const counted = query.status === undefined ? eq(automationRuns.automationId, automationId) : where;
  const total = await totalOf(query, rows, () => ctx.db.$count(automationRuns, counted));
  return { rows: await withLiveSteps(ctx, rows), total };
}
