import { and, desc, eq, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { findRun } from "../../queue/cancel.ts";
import { automationRuns } from "../automations/table.ts";
import { actionRuns } from "../runs/table.ts";

/** Progress of a call as in the protocol; `progress` only increases. */
interface CallProgress {
  progress: number;
  message?: string;
}

const EVERY_MS = 1_000;

/**
 * Reports progress once a second during `work`: that it continues, and the progress of the latest run that the call
 * started. If a report can't be sent, the reports stop, but not the work.
 */
export async function withProgress<T>(
  ctx: Context,
  send: (progress: CallProgress) => Promise<void>,
  work: Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const report = async () => {
    for (let seconds = 1; ; seconds++) {
      await ctx.clock.sleep(EVERY_MS, over.signal);
      if (over.signal.aborted) return;
      const message = await messageOf(ctx);
      await send({ progress: seconds, ...(message === null ? {} : { message }) });
    }
  };
  const reports = report().catch((error: unknown) =>
    ctx.log.write("debug", "progress of an MCP call not sent", { reason: String(error) }),
  );
  try {
    return await work;
  } finally {
    over.abort();
    await reports;
  }
}

/** Message of the latest run that the agent started with this call. Null before there is one. */
async function messageOf(ctx: Context): Promise<string | null> {
  for (const table of [actionRuns, automationRuns]) {
    const [run] = await ctx.db
      .select({ id: table.id, status: table.status })
      .from(table)
      .where(
        and(
          eq(table.organizationId, ctx.organizationId),
          eq(table.correlationId, ctx.correlationId),
          sql`${table.triggerMethod} = 'agent'`, // Worded so that SQLite uses the partial index.
        ),
      )
      .orderBy(desc(table.id))
      .limit(1);
    if (!run) continue;
    if (table === automationRuns) return run.status;
    const { progress } = await findRun(ctx, run.id);
    const message = progress?.message;
    return typeof message === "string" && message !== "" ? message : run.status;
  }
  return null;
}
