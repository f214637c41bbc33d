import { and, count, eq, sql } from "drizzle-orm";
import { AppError } from "../../../base/errors.ts";
import type { Json } from "../../../base/json.ts";
import { type Context, type WriteContext, write } from "../../../context.ts";
import { findRun, isFinal, requestCancel } from "../../../queue/cancel.ts";
import { runTopic, type Trigger } from "../../../queue/enqueue.ts";
import { automationRuns } from "../../automations/table.ts";
import { ROLES } from "../../organizations/table.ts";
import { actionRuns, type RunRow } from "../../runs/table.ts";
import type { ToolUser } from "./contract.ts";

/** How long an agent waits for a run. After that, the response says that the run is still in progress. */
const MAX_WAIT_MS = 120_000;
const POLL_MS = 1_000;
/** Maximum number of runs in one chain, since agents start runs that start agents. */
const MAX_IN_CHAIN = 100;

export const triggerOf = ({ privateTo }: Context, agent: ToolUser): Trigger => ({
  method: "agent",
  sourceType: "agent",
  sourceId: agent.id,
  privateTo: privateTo ?? null,
});

/** The definition must be the same as when the agent was opened, and as when a user approved the call. */
export const changedMeanwhile = (what: string) =>
  new AppError("invalid_state", `${what} changed after the agent received it. Ask again.`);

/** Throws `forbidden` for viewers. */
export function refuseViewers({ role }: Pick<Context, "role">): void {
  if (ROLES.indexOf(role) < ROLES.indexOf("member"))
    throw new AppError("forbidden", "Requires the member role.");
}

/** Throws `forbidden` for viewers, and `conflict` for a chain that is too long. */
export async function checkMayRun(tx: WriteContext): Promise<void> {
  refuseViewers(tx);
  const { organizationId, correlationId } = tx;
  let runs = 0;
  for (const table of [actionRuns, automationRuns]) {
    const isOfChain = and(
      eq(table.organizationId, organizationId),
      eq(table.correlationId, correlationId),
      // A literal, so that SQLite uses the partial index.
      sql`${table.triggerMethod} = 'agent'`,
    );
    runs += (await tx.db.select({ n: count() }).from(table).where(isOfChain))[0]?.n ?? 0;
  }
  if (runs >= MAX_IN_CHAIN)
    throw new AppError(
      "conflict",
      `Agents already started ${runs} runs in this chain. No more can be started.`,
    );
}

/** The run to wait for. */
interface Awaited<Row> {
  topic: string;
  find(): Promise<Row>;
  isOver(row: Row): boolean;
  cancel(): Promise<unknown>;
}

/** Returns the row once the run has finished, or after a while. If `signal` aborts, the run is cancelled. */
export async function awaited<Row>(
  ctx: Context,
  { topic, find, isOver, cancel }: Awaited<Row>,
  signal: AbortSignal,
): Promise<Row> {
  const until = ctx.clock.monotonic() + MAX_WAIT_MS;
  for (;;) {
    const changed = ctx.signals.wait(topic, POLL_MS, signal);
    const row = await find();
    if (isOver(row)) return row;
    if (signal.aborted) {
      await cancel().catch(unlessOver);
      throw signal.reason;
    }
    if (ctx.clock.monotonic() > until) return row;
    await changed;
  }
}

/** Ignores errors that mean the run has already finished. */
function unlessOver(error: unknown): void {
  if (!(error instanceof AppError && ["invalid_state", "not_found"].includes(error.code))) throw error;
}

/** Starts a run with `start`, waits for it, and returns how it ended. */
export async function runToEnd(
  ctx: Context,
  start: (tx: WriteContext) => Promise<RunRow>,
  signal: AbortSignal,
): Promise<Json> {
  signal.throwIfAborted();
  const { id } = await write(ctx, async (tx) => {
    await checkMayRun(tx);
    return start(tx);
  });
  const run = await awaited<RunRow>(
    ctx,
    {
      topic: runTopic(id),
      find: () => findRun(ctx, id),
      isOver: isFinal,
      cancel: () => write(ctx, (tx) => requestCancel(tx, id)),
    },
    signal,
  );
  return childMessage({ runId: id }, run);
}

/** A failed run is returned as a failure. For an unfinished run, the message says how to look it up. */
export function childMessage(
  named: Record<string, string>,
  {
    status,
    result,
    error,
  }: { status: string; result: Json; error: { code: string; message: string } | null },
): Json {
  const where = Object.entries(named)
    .map(([name, id]) => `${name} ${id}`)
    .join(", ");
  if (status === "failed")
    throw new AppError("upstream", `It failed (${where}): ${error?.message ?? "no reason given"}`);
  if (status === "cancelled") throw new AppError("cancelled", `It was cancelled (${where}).`);
  if (status === "completed") return { ...named, status, result };
  return { ...named, status, note: "Still running. Its result will be available under this ID." };
}
