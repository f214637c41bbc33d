import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import type { Model, ModelRequest, Usage } from "../../models/contract.ts";
import { quotaExceeded, quotaOf } from "./quotas.ts";
import { llmUsage } from "./table.ts";

/** Usage that an endpoint doesn't report is estimated: one token for this many characters. */
const CHARACTERS_PER_TOKEN = 4;

/** Returns the operator's model for work of one organization. It checks the daily budget, and counts usage. */
export function modelFor(ctx: Context): Model {
  return {
    async *stream(request, signal) {
      ctx.models.require();
      await checkBudget(ctx);
      let written = 0;
      let usage: Usage | null = null;
      try {
        for await (const event of ctx.models.stream(request, signal)) {
          if (event.type === "text" || event.type === "reasoning" || event.type === "call-delta")
            written += event.delta.length;
          if (event.type === "finish" && event.usage.inputTokens + event.usage.outputTokens > 0)
            usage = event.usage;
          yield event;
        }
      } finally {
        // A cancelled reply was used too; a request that failed before its first token wasn't.
        if (usage !== null || written > 0) await countUsage(ctx, usage ?? estimate(request, written));
      }
    },
  };
}

/** Estimates the usage of a request and this many characters of its reply. */
export function estimate({ system, messages }: ModelRequest, written: number): Usage {
  const read = messages.reduce((sum, { content }) => sum + content.length, system.length);
  return {
    inputTokens: Math.ceil(read / CHARACTERS_PER_TOKEN),
    outputTokens: Math.ceil(written / CHARACTERS_PER_TOKEN),
  };
}

const today = (ctx: Context) => timestamp(ctx.clock).slice(0, 10);

const ofToday = (ctx: Context) =>
  and(eq(llmUsage.organizationId, ctx.organizationId), eq(llmUsage.day, today(ctx)));

/**
 * Throws `quota_exceeded` if the organization's own quota is used up,
 * and `llm_budget_exceeded` if it has used up its tokens for the day.
 */
export async function checkBudget(ctx: Context): Promise<void> {
  const quota = await quotaOf(ctx, "llmTokensPerDay");
  const budget = ctx.config.llmTokensPerDay;
  if (budget === 0 && quota === null) return;
  const [row] = await ctx.db
    .select({ used: sql<number>`${llmUsage.inputTokens} + ${llmUsage.outputTokens}` })
    .from(llmUsage)
    .where(ofToday(ctx));
  const used = row?.used ?? 0;
  const now = ctx.clock.now().getTime();
  const midnight = Date.parse(`${today(ctx)}T24:00:00.000Z`);
  const retryAfterSeconds = Math.max(1, Math.ceil((midnight - now) / 1000));
  if (quota !== null && used >= quota) throw quotaExceeded("llmTokensPerDay", quota, retryAfterSeconds);
  if (budget === 0 || used < budget) return;
  throw new AppError(
    "llm_budget_exceeded",
    `This organization has used today's ${budget.toLocaleString("en")} tokens. The budget resets at midnight UTC.`,
    { retryAfterSeconds },
  );
}

async function countUsage(ctx: Context, { inputTokens, outputTokens }: Usage): Promise<void> {
  const row = { organizationId: ctx.organizationId, day: today(ctx), inputTokens, outputTokens, replies: 1 };
  await ctx.store.write(async (db) => {
    await db
      .insert(llmUsage)
      .values(row)
      .onConflictDoUpdate({
        target: [llmUsage.organizationId, llmUsage.day],
        set: {
          inputTokens: sql`${llmUsage.inputTokens} + ${inputTokens}`,
          outputTokens: sql`${llmUsage.outputTokens} + ${outputTokens}`,
          replies: sql`${llmUsage.replies} + 1`,
        },
      });
  });
}
