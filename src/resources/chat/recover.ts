import { and, eq, inArray, lt, ne, or, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { type Actor, type App, type Context, contextFor, SYSTEM, write } from "../../context.ts";
import { type AgentTask, carryOut } from "../../models/agent.ts";
import { historyOf } from "../../models/history.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { openAgent } from "../agents/open.ts";
import { findAgentNamed } from "../agents/service.ts";
import { actionRuns, type RunRow } from "../runs/table.ts";
import { roleOf } from "./access.ts";
import { hashOf } from "./ask.ts";
import { begin, fatesOf, stopped } from "./fate.ts";
import { atLeast, close, finishTurn, UNFINISHED } from "./finish.ts";
import { type LiveTurn, liveTurns, TurnEnded } from "./live.ts";
import { LEASE_MS, launch } from "./run.ts";
import { chatMessages, chatThreads, chatTurns, type PendingCall, type TurnRow } from "./table.ts";
import { findThread } from "./threads.ts";

const BATCH = 50;
const MAX_MESSAGES = 400;

/** A literal, so that SQLite uses the partial index. */
const isOpen = (status: "streaming" | "waiting") =>
  and(sql`${chatTurns.status} in ('streaming', 'waiting')`, eq(chatTurns.status, status));

const systemContext = (app: App, turn: TurnRow): Context =>
  contextFor(app, {
    organizationId: turn.organizationId,
    actor: SYSTEM,
    role: "member",
    correlationId: turn.correlationId,
  });

const othersTurns = prepared((db: ReadDb) =>
  db
    .select()
    .from(chatTurns)
    .where(
      and(
        isOpen("streaming"),
        or(
          and(
            ne(chatTurns.bootId, sql.placeholder("bootId")),
            or(lt(chatTurns.leaseUntil, sql.placeholder("now")), sql`${sql.placeholder("isAny")} = 1`),
          ),
          eq(chatTurns.bootId, sql.placeholder("bootId")),
        ),
      ),
    )
    .limit(BATCH * 10)
    .prepare(),
);

/**
 * Fails turns without a process, with their partial replies: at boot those of earlier boots (on a shared database,
 * those with an expired lease, as later on), and those that this process couldn't store. Returns how many.
 */
export async function failLostTurns(app: App, when: "boot" | "later"): Promise<number> {
  const isAny = when === "boot" && !app.store.remote ? 1 : 0;
  const now = timestamp(app.clock);
  const rows = await othersTurns(app.store.db).all({ bootId: app.bootId, now, isAny });
  const ownTurnIds = new Set([...liveTurns(app).values()].map(({ turnId }) => turnId));
  // A turn that was stored a moment ago may not have started here yet.
  const young = timestamp(app.clock, -LEASE_MS);
  const found = rows.filter(
    (row) => row.bootId !== app.bootId || (!ownTurnIds.has(row.id) && row.updatedAt < young),
  );
  for (const turn of found) await failTurn(app, turn, stopped(turn));
  return found.length;
}

async function failTurn(
  app: App,
  turn: TurnRow,
  { code, message: why }: Pick<AppError, "code" | "message">,
): Promise<void> {
  await write(systemContext(app, turn), async (tx) => {
    const [row] = await tx.db.select().from(chatMessages).where(eq(chatMessages.id, turn.messageId));
    if (!row) return;
    const fates = await fatesOf(app, turn, row.rawData, UNFINISHED);
    const message = close(row.rawData, UNFINISHED, fates);
    await finishTurn(tx, turn, { status: "failed", message, turn, error: { code, message: why } });
  });
}

const decidedTurns = prepared((db: ReadDb) =>
  db
    .select()
    .from(chatTurns)
    .where(
      and(
        isOpen("waiting"),
        sql`not exists (
          select 1 from json_each(${chatTurns.pending}) call
          join action_runs r on r.id = json_extract(call.value, '$.runId') where r.status = 'waiting')`,
      ),
    )
    .orderBy(chatTurns.id)
    .limit(BATCH)
    .prepare(),
);

/** Resumes turns whose approvals are all decided. Returns how many. */
export async function continueTurns(app: App): Promise<number> {
  const waiting = await decidedTurns(app.store.db).all();
  let count = 0;
  for (const turn of waiting) {
    const own = await claim(app, turn);
    if (!own) continue;
    count++;
    try {
      await goOn(app, own);
    } catch (error) {
      const known = error instanceof AppError && error.code !== "internal" ? error : null;
      if (!known) app.log.report(error, { turnId: turn.id, correlationId: turn.correlationId });
      await failTurn(app, own, known ?? { code: "internal", message: "The turn couldn't continue." });
    }
  }
  return count;
}

/** Claims a waiting turn for this process. Null if another process was faster. */
async function claim(app: App, { id, threadId }: TurnRow): Promise<TurnRow | null> {
  return app.store.write(async (db) => {
    const at = timestamp(app.clock);
    const [row] = await db
      .update(chatTurns)
      .set({
        status: "streaming",
        bootId: app.bootId,
        leaseUntil: timestamp(app.clock, LEASE_MS),
        updatedAt: at,
      })
      .where(and(eq(chatTurns.id, id), eq(chatTurns.status, "waiting")))
      .returning();
    if (!row) return null;
    await db
      .update(chatThreads)
      .set({ lastTurnStatus: "streaming", updatedAt: atLeast(at) })
      .where(and(eq(chatThreads.id, threadId), eq(chatThreads.activeTurnId, id)));
    return row;
  });
}

async function goOn(app: App, turn: TurnRow): Promise<void> {
  const actor = turn.actor as unknown as Actor;
  const role = await roleOf(app.store.db, { organizationId: turn.organizationId, userId: actor.id });
  const { organizationId, correlationId } = turn;
  const ctx = contextFor(app, { organizationId, actor, role, correlationId, privateTo: actor.id });
  ctx.models.require();
  const spec = await findAgentNamed(ctx, turn.agentSpecId);
  if (!spec)
    throw new AppError("invalid_state", "The agent was deleted while its tool call waited for approval.");
  const { createdAt: trustedSince } = await findThread(ctx, turn.threadId);
  const agent = await openAgent(ctx, spec, { timezone: turn.timezone, trustedSince });
  const history = await ctx.db
    .select()
    .from(chatMessages)
    .where(eq(chatMessages.threadId, turn.threadId))
    .orderBy(sql`${chatMessages.id} desc`)
    .limit(MAX_MESSAGES);
  const reply = history.find(({ id }) => id === turn.messageId);
  if (!reply) throw new AppError("invalid_state", "The waiting reply no longer exists.");
  const before = history.filter(({ id }) => id < turn.messageId).reverse();
  const runIds = turn.pending.map(({ runId }) => runId);
  const gates = await ctx.db.select().from(actionRuns).where(inArray(actionRuns.id, runIds));
  launch({
    ctx,
    turn,
    agent,
    message: reply.rawData,
    history: historyOf(before.map(({ rawData }) => rawData)),
    async first(task, live) {
      for (const call of turn.pending)
        await finishCall(
          app,
          turn,
          task,
          live,
          call,
          gates.find(({ id }) => id === call.runId),
        );
    },
  });
}

/** Executes the decision: exactly what was approved, or nothing. */
async function finishCall(
  app: App,
  turn: TurnRow,
  task: Omit<AgentTask, "messages">,
  live: LiveTurn,
  call: PendingCall,
  gate: RunRow | undefined,
): Promise<void> {
  const { callId: toolCallId, toolName, input, decisionId: approvalId } = call;
  const result = isObject(gate?.result) ? gate.result : {};
  const approved = gate?.status === "completed" && result.decisionValue === "approved";
  const reason = typeof result.rejectionReason === "string" ? result.rejectionReason : undefined;
  live.tell({
    type: "tool-approval-response",
    approvalId,
    approved,
    ...(approved || reason === undefined ? {} : { reason }),
  });
  const refuse = async (errorText: string) => {
    live.tell({ type: "tool-output-error", toolCallId, errorText, dynamic: true });
    await task.called({ id: toolCallId, tool: toolName, input, isError: true });
  };
  if (!approved) {
    live.tell({ type: "tool-output-denied", toolCallId });
    return task.called({ id: toolCallId, tool: toolName, input, isError: true });
  }
  const tool = task.agent.tools.find(({ name }) => name === toolName);
  if (!tool) return refuse("Not called: the agent no longer has this tool.");
  const now = hashOf({ callId: toolCallId, toolName, input, fingerprint: tool.fingerprint });
  if (now !== call.hash || now !== hashShown(gate))
    return refuse("Not called: the tool or its arguments differ from what was approved. Ask again.");
  if (!(await begin(app, turn, call))) throw new TurnEnded("lost");
  await carryOut(task, tool, { id: toolCallId, input, approval: { decisionId: approvalId, hash: now } });
}

/** The hash of what the user saw. */
function hashShown(gate: RunRow | undefined): string | null {
  const context = isObject(gate?.definition) ? gate.definition.context : null;
  return isObject(context) && typeof context.hash === "string" ? context.hash : null;
}

/** Waits until no turn is in progress here. After `ms`, the remaining ones fail. */
export async function stopTurns(app: App, ms: number): Promise<void> {
  const all = () => Promise.allSettled([...liveTurns(app).values()].map(({ done }) => done));
  const enough = new AbortController();
  await Promise.race([all(), app.clock.sleep(ms, enough.signal)]);
  enough.abort();
  for (const { control } of liveTurns(app).values()) control.abort(new TurnEnded("stopped"));
  await all();
}
