import { and, desc, eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { decisions } from "./table.ts";

/** What the newest approval of a run was for: the `hash` of its context; null where the run has none. */
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
      ),
    )
    .orderBy(desc(decisions.id))
    .limit(1);
  const hash = row?.context?.hash;
  return typeof hash === "string" ? hash : null;
}
