import { and, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Context, write } from "../../context.ts";
import { isFinal, requestCancel } from "../../queue/cancel.ts";
import { actionRuns } from "../runs/table.ts";
import { fatesOf } from "./fate.ts";
import { close, finishTurn } from "./finish.ts";
import { liveTurns, TurnEnded } from "./live.ts";
import { chatMessages, chatTurns, type ThreadRow, type TurnRow } from "./table.ts";

/** How long to wait for the model and tool to stop. After that, the response says that the turn is being cancelled. */
const LET_GO_MS = 1_900;
const POLL_MS = 100;

/** Ends the thread's turn in progress, and keeps its partial reply. Does nothing if there is none. */
export async function endTurn(ctx: Context, thread: ThreadRow, partialText: string | null): Promise<void> {
  const live = liveTurns(ctx).get(thread.id);
  if (live) {
    live.cancelRequest ??= { ctx, partialText };
    live.control.abort(new TurnEnded("cancelled"));
    await soon(ctx, live.done);
  }
  const [turn] = await ctx.db
    .select()
    .from(chatTurns)
    .where(eq(chatTurns.id, thread.activeTurnId ?? ""));
  if (!turn || (live && turn.status === "streaming")) return; // It stops a little later.
  const isElsewhere =
    turn.status === "streaming" &&
    turn.bootId !== ctx.bootId &&
    ctx.store.remote &&
    (turn.leaseUntil ?? "") > timestamp(ctx.clock);
  if (isElsewhere) return askElsewhere(ctx, turn, partialText);
  await endUnattended(ctx, turn, partialText);
}

async function soon(ctx: Context, work: Promise<void>): Promise<void> {
  const enough = new AbortController();
  try {
    await Promise.race([work, ctx.clock.sleep(LET_GO_MS, enough.signal)]);
  } finally {
    enough.abort();
  }
}

/** Asks another process to cancel: it checks every second. */
async function askElsewhere(ctx: Context, turn: TurnRow, partialText: string | null): Promise<void> {
  await ctx.store.write(async (db) => {
    await db
      .update(chatTurns)
      .set({ cancelRequestedAt: timestamp(ctx.clock), partialText })
      .where(and(eq(chatTurns.id, turn.id), eq(chatTurns.status, "streaming")));
  });
  const until = ctx.clock.monotonic() + LET_GO_MS;
  while (ctx.clock.monotonic() < until) {
    const [row] = await ctx.db
      .select({ status: chatTurns.status })
      .from(chatTurns)
      .where(eq(chatTurns.id, turn.id));
    if (row?.status !== "streaming") return;
    await ctx.clock.sleep(POLL_MS);
  }
}

/** Ends a turn that waits for approvals, or whose process is gone. Its approvals are withdrawn. */
async function endUnattended(ctx: Context, turn: TurnRow, partialText: string | null): Promise<void> {
  const { status } = turn;
  if (status !== "waiting" && status !== "streaming") return;
  await write(ctx, async (tx) => {
    const [row] = await tx.db.select().from(chatMessages).where(eq(chatMessages.id, turn.messageId));
    if (!row) return;
    const why = "The turn was cancelled.";
    const message = close(row.rawData, why, await fatesOf(ctx, turn, row.rawData, why));
    const end = { status: "cancelled" as const, message, turn, partialText };
    if (!(await finishTurn(tx, turn, end, status))) return;
    const runIds = turn.pending.map(({ runId }) => runId);
    const gates = await tx.db.select().from(actionRuns).where(inArray(actionRuns.id, runIds));
    for (const gate of gates) if (!isFinal(gate)) await requestCancel(tx, gate.id);
  });
}
