import { and, desc, eq, ne } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { automations } from "../automations/table.ts";
import { decide } from "../decisions/decide.ts";
import { MAX_LISTED } from "../decisions/service.ts";
import { type DecisionValue, decisions } from "../decisions/table.ts";
import type { Answer } from "../decisions/wire.ts";
import type { NamedDecision } from "./wire.ts";

const named = (ctx: Context) =>
  ctx.db
    .select({ decision: decisions, automationName: automations.name })
    .from(decisions)
    .leftJoin(automations, eq(automations.id, decisions.automationId));

/** Newest first. */
export async function listApprovals(
  ctx: Context,
  status: "pending" | "decided",
): Promise<{ rows: NamedDecision[]; total: number }> {
  const isOpen = status === "pending" ? eq(decisions.status, "pending") : ne(decisions.status, "pending");
  const where = and(eq(decisions.organizationId, ctx.organizationId), isOpen);
  const rows = await named(ctx).where(where).orderBy(desc(decisions.id)).limit(MAX_LISTED);
  const page = { limit: MAX_LISTED, offset: 0 };
  return { rows, total: await totalOf(page, rows, () => ctx.db.$count(decisions, where)) };
}

/** Records the decision with the same ID. Throws as `decide` does. */
export async function decideApproval(
  ctx: Context,
  id: string,
  decisionValue: DecisionValue,
  answer: Answer,
): Promise<NamedDecision> {
  const find = async () => {
    const where = and(eq(decisions.organizationId, ctx.organizationId), eq(decisions.id, id));
    const [row] = await named(ctx).where(where);
    if (!row) throw notFound("approval");
    return row;
  };
  await find();
  await decide(ctx, id, { ...answer, decisionValue });
  return find();
}
