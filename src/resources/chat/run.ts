import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { canonicalJson } from "../../base/json.ts";
import { type Context, SYSTEM, write } from "../../context.ts";
import { type AgentEnd, type AgentTask, runAgent } from "../../models/agent.ts";
import { textOf, type UiMessage } from "../../models/chunks.ts";
import type { ModelMessage, OpenAgent, Usage } from "../../models/contract.ts";
import { cutOff } from "../../models/failure.ts";
import { fitted } from "../../models/fit.ts";
import { messagesOf } from "../../models/history.ts";
import { record } from "../events/service.ts";
import { checkAccess, whileAllowed } from "./access.ts";
import { askForAll, preparePending } from "./ask.ts";
import { fatesOf, stopped } from "./fate.ts";
import { close, countsOf, finishTurn, openCalls, type TurnEnd, UNFINISHED } from "./finish.ts";
import { openFit, warningsOf } from "./fit.ts";
import { boundedModel, isBound, tooLong } from "./limits.ts";
import { type LiveTurn, liveTurns, openLive, TurnEnded } from "./live.ts";
import { chatMessages, chatTurns, type TurnRow } from "./table.ts";

/** A reply is stored at most this often while it grows. */
const FLUSH_MS = 400;
/** Interval at which an idle turn renews its lease. If others share the database, it also checks for a cancellation. */
const RENEW_MS = 10_000;
const LISTEN_MS = 1_000;
export const LEASE_MS = 30_000;

/** What one part of a turn works with. */
export interface Stretch {
  ctx: Context;
  turn: TurnRow;
  agent: OpenAgent;
  message: UiMessage;
  /** Messages before the reply. */
  history: readonly ModelMessage[];
  /** Runs before the model is called, such as calls that were approved or rejected. */
  first?: (task: Omit<AgentTask, "messages">, live: LiveTurn) => Promise<void>;
}

/** Runs a turn in this process, independent of its readers. It is stored when it ends. */
export function launch(stretch: Stretch): LiveTurn {
  const { ctx, turn, message } = stretch;
  const live = openLive({ turnId: turn.id, threadId: turn.threadId }, message);
  const turns = liveTurns(ctx);
  turns.set(turn.threadId, live);
  const forget = () => {
    if (turns.get(turn.threadId) === live) turns.delete(turn.threadId);
  };
  live.done = carryOut(stretch, live).then(
    () => {
      forget();
      live.end();
    },
    (error: unknown) => {
      forget();
      live.end("The reply couldn't be stored.");
      throw error;
    },
  );
  live.done.catch((error: unknown) =>
    ctx.log.report(error, { turnId: turn.id, correlationId: turn.correlationId }),
  );
  return live;
}

async function carryOut(stretch: Stretch, live: LiveTurn): Promise<void> {
  const { ctx, turn, agent, message } = stretch;
  const keeper = keepStored(ctx, turn, live);
  const { model, spent: used, stop } = boundedModel(ctx, turn, live);
  const signal = live.control.signal;
  const task = {
    model,
    agent: whileAllowed(ctx, agent),
    stepsBefore: turn.steps,
    ids: ctx.ids,
    signal,
    canAsk: true,
    tell: (chunk: Parameters<LiveTurn["tell"]>[0]) => live.tell(chunk),
    called: (call: Parameters<AgentTask["called"]>[0]) => recordCall(ctx, turn, call),
    report: (error: unknown) => ctx.log.report(error, { turnId: turn.id, correlationId: turn.correlationId }),
  };
  const stepsOf = () => message.parts.filter(({ type }) => type === "step-start").length;
  let turnEnd: TurnEnd;
  try {
    if (message.parts.length === 0) live.tell(startOf(turn, agent));
    await stretch.first?.(task, live);
    const messages = [...stretch.history, ...messagesOf(message)];
    const fit = await openFit(ctx, turn, live);
    const end = await runAgent({
      ...task,
      messages,
      fit: (request) => fitted(request, { model, fit, signal }),
    });
    turnEnd =
      end.status === "waiting" ? await wait(stretch, live, end, used) : finish(ctx, live, turn, end, used);
  } catch (error) {
    turnEnd = await fail(ctx, live, turn, { error, steps: stepsOf(), used });
  } finally {
    stop();
    await keeper.stop();
  }
  const { cancelRequest } = live;
  const who = turnEnd.status === "cancelled" && cancelRequest ? cancelRequest.ctx : ctx;
  const by = turnEnd.status === "completed" || turnEnd.status === "failed" ? { ...who, actor: SYSTEM } : who;
  const pending = turnEnd.pending ?? [];
  await write(by, async (tx) => {
    if (!(await finishTurn(tx, turn, turnEnd))) return;
    if (pending.length > 0) await askForAll({ ...tx, actor: ctx.actor }, agent, pending);
  });
}

const startOf = (turn: TurnRow, agent: OpenAgent) => ({
  type: "start" as const,
  messageId: turn.messageId,
  messageMetadata: {
    turnId: turn.id,
    threadId: turn.threadId,
    createdAt: turn.createdAt,
    ...(agent.warnings.length > 0 ? { warnings: [...agent.warnings] } : {}),
  },
});

const metadata = (ctx: Context, turn: TurnRow, used: Usage, live: LiveTurn) => ({
  ...warningsOf(live),
  usage: countsOf(used),
  durationSeconds: Math.max(0, (ctx.clock.now().getTime() - Date.parse(turn.startedAt)) / 1000),
});

function finish(
  ctx: Context,
  live: LiveTurn,
  turn: TurnRow,
  end: AgentEnd & { status: "done" },
  used: Usage,
): TurnEnd {
  const cut = cutOff(end.reason);
  if (cut) live.notes.add(cut.message);
  const messageMetadata = metadata(ctx, turn, used, live);
  live.tell({ type: "finish", finishReason: end.reason, messageMetadata }, true);
  return { status: "completed", message: live.message, turn: { steps: end.steps, usage: used } };
}

/** Approvals are announced once they are stored. */
async function wait(
  { ctx, turn }: Stretch,
  live: LiveTurn,
  end: AgentEnd & { status: "waiting" },
  used: Usage,
): Promise<TurnEnd> {
  await checkAccess(ctx);
  const pending = preparePending(ctx, end.pending);
  for (const { decisionId: approvalId, callId: toolCallId } of pending)
    live.tell({ type: "tool-approval-request", approvalId, toolCallId }, true);
  const messageMetadata = metadata(ctx, turn, used, live);
  live.tell({ type: "finish", finishReason: "tool-calls", messageMetadata }, true);
  return { status: "waiting", message: live.message, turn: { steps: end.steps, usage: used }, pending };
}

async function fail(
  ctx: Context,
  live: LiveTurn,
  turn: TurnRow,
  { error, steps, used }: { error: unknown; steps: number; used: Usage },
): Promise<TurnEnd> {
  const { message, cancelRequest } = live;
  const isCancelled = error instanceof TurnEnded && error.why === "cancelled";
  const known = knownError(ctx, turn, error);
  const why = isCancelled ? "The turn was cancelled." : UNFINISHED;
  const fates = await fatesOf(ctx, turn, message, why);
  for (const part of message.parts) {
    // Only an error of Weir itself leaves a part open.
    if ((part.type === "text" || part.type === "reasoning") && part.state === "streaming")
      part.state = "done";
  }
  for (const { toolCallId } of openCalls(message))
    live.tell({
      type: "tool-output-error",
      toolCallId,
      errorText: fates.get(toolCallId) ?? why,
      dynamic: true,
    });
  if (isBound(error)) sayEnd(live, known.message);
  const own = { message: close(message, why), turn: { steps, usage: used } };
  if (isCancelled) {
    live.tell({ type: "abort", reason: "cancelled" }, true);
    return { ...own, status: "cancelled", partialText: cancelRequest?.partialText ?? null };
  }
  live.tell({ type: "error", errorText: known.message }, true);
  live.tell(
    { type: "finish", finishReason: "error", messageMetadata: metadata(ctx, turn, used, live) },
    true,
  );
  return { ...own, status: "failed", error: { code: known.code, message: known.message } };
}

/** The reply itself says why it ended: an error in the stream isn't part of the message. */
function sayEnd(live: LiveTurn, sentence: string): void {
  const id = "t-end";
  const gap = textOf(live.message) === "" ? "" : "\n\n";
  live.tell({ type: "start-step" });
  live.tell({ type: "text-start", id });
  live.tell({ type: "text-delta", id, delta: `${gap}${sentence}` });
  live.tell({ type: "text-end", id });
  live.tell({ type: "finish-step" });
}

function knownError(ctx: Context, turn: TurnRow, error: unknown): AppError {
  if (error instanceof TurnEnded && error.why === "late") return tooLong(ctx.config);
  if (error instanceof TurnEnded) return stopped(turn);
  if (error instanceof AppError && error.code !== "internal") return error;
  ctx.log.report(error, { turnId: turn.id, correlationId: turn.correlationId });
  return new AppError("internal", "The turn failed unexpectedly. See the server log for its ID.");
}

/** Stores the reply as it grows, and notices a cancellation requested in another process. */
function keepStored(ctx: Context, turn: TurnRow, live: LiveTurn) {
  let writing: Promise<void> = Promise.resolve();
  let since = 0;
  const save = async () => {
    const isDirty = live.isDirty;
    live.isDirty = false;
    const at = timestamp(ctx.clock);
    const { message } = live;
    const row = { content: textOf(message), rawData: structuredClone(message), updatedAt: at };
    const found = await ctx.store.write(async (db) => {
      const turnRows = await db
        .update(chatTurns)
        .set({ leaseUntil: timestamp(ctx.clock, LEASE_MS), updatedAt: at })
        .where(
          and(eq(chatTurns.id, turn.id), eq(chatTurns.status, "streaming"), eq(chatTurns.bootId, ctx.bootId)),
        )
        .returning({ cancelRequestedAt: chatTurns.cancelRequestedAt, partialText: chatTurns.partialText });
      // A turn that another process ended in the meantime keeps its reply.
      if (isDirty && turnRows.length > 0)
        await db.update(chatMessages).set(row).where(eq(chatMessages.id, turn.messageId));
      return turnRows;
    });
    const [own] = found;
    if (!own) return live.control.abort(new TurnEnded("lost"));
    if (own.cancelRequestedAt === null || live.cancelRequest !== null) return;
    live.cancelRequest = { ctx, partialText: own.partialText };
    live.control.abort(new TurnEnded("cancelled"));
  };
  const timer = setInterval(() => {
    since += FLUSH_MS;
    if (!live.isDirty && since < (ctx.store.remote ? LISTEN_MS : RENEW_MS)) return;
    since = 0;
    writing = writing.then(save).catch((error) => {
      live.isDirty = true;
      ctx.log.report(error, { turnId: turn.id, at: "store a reply" });
    });
  }, FLUSH_MS);
  return {
    async stop() {
      clearInterval(timer);
      await writing;
    },
  };
}

/** The audit log shows that a tool was called, but not its arguments: threads are private. */
const recordCall = (ctx: Context, turn: TurnRow, call: Parameters<AgentTask["called"]>[0]): Promise<void> =>
  write(ctx, (tx) =>
    record(
      tx,
      "chat_turn.tool_called",
      { type: "chat_thread", id: turn.threadId },
      {
        turnId: turn.id,
        callId: call.id,
        tool: call.tool,
        isError: call.isError,
        argumentsHash: Bun.SHA256.hash(canonicalJson(call.input), "hex"),
        ...(call.approval ? { decisionId: call.approval.decisionId, approvedHash: call.approval.hash } : {}),
      },
    ),
  );
