import { and, desc, eq } from "drizzle-orm";
import type { JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { decisions } from "./table.ts";

/** Returns what a run's latest approval covers: the `hash` of its context. Null if it has none. */
export async function approvedHash(ctx: Context, runId: string): Promise<string | null> {
  const [row] = await ctx.db
    .select({ context: decisions.context })
    .from(decisions)
    .where(
      and(
        eq(decisions.subjectId, runId),
        eq(decisions.organizationId, ctx.organizationId),
        eq(decisions.status, "decided"),
        eq(decisions.decisionValue, "approved"),
        eq(decisions.decisionType, "approve_reject"),
      ),
    )
    .orderBy(desc(decisions.id))
    .limit(1);
  const hash = row?.context?.hash;
  return typeof hash === "string" ? hash : null;
}

/** Returns the answers to forms that a run asked for, by the `question` of their context. */
export async function answersOf(ctx: Context, runId: string): Promise<Map<string, JsonObject>> {
  const rows = await ctx.db
    .select({ context: decisions.context, formResponse: decisions.formResponse })
    .from(decisions)
    .where(
      and(
        eq(decisions.subjectId, runId),
        eq(decisions.organizationId, ctx.organizationId),
        eq(decisions.status, "decided"),
        eq(decisions.decisionValue, "approved"),
        eq(decisions.decisionType, "form_input"),
      ),
    );
  return new Map(
    rows.flatMap(({ context, formResponse }): [string, JsonObject][] =>
      typeof context?.question === "string" ? [[context.question, formResponse ?? {}]] : [],
    ),
  );
}
