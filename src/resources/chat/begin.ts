import { and, desc, eq, gt, gte } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import type { UiMessage } from "../../models/chunks.ts";
import { historyOf } from "../../models/history.ts";
import { openAgent } from "../agents/open.ts";
import { findAgentNamed } from "../agents/service.ts";
import { record } from "../events/service.ts";
import { checkBudget } from "../usage/model.ts";
import { type ChatRequest, readRequest } from "./input.ts";
import type { LiveTurn } from "./live.ts";
import { LEASE_MS, launch } from "./run.ts";
import {
  chatMessages,
  chatThreads,
  chatTurns,
  type MessageRow,
  type ThreadRow,
  type TurnRow,
} from "./table.ts";
import { findThread } from "./threads.ts";
import type { TurnInput } from "./wire.ts";

/** Maximum number of messages of a thread that the model receives. */
const MAX_MESSAGES = 400;
const MAX_TITLE_CHARACTERS = 80;

/**
 * Stores a user's message, and starts a turn that answers it. If that isn't possible, nothing is stored.
 *
 * Throws `llm_not_configured`, `llm_budget_exceeded`, `conflict` if another turn is in progress, `invalid_state` if the
 * agent was deleted, and `InvalidInput`.
 */
export async function beginTurn(
  person: Context,
  threadId: string,
  input: TurnInput,
  timezone: string | null,
): Promise<LiveTurn> {
  const ctx: Context = { ...person, privateTo: person.actor.id };
  const thread = await findThread(ctx, threadId);
  const request = readRequest(input);
  ctx.models.require();
  const spec = await findAgentNamed(ctx, thread.agentSpecId);
  if (!spec)
    throw new AppError(
      "invalid_state",
      "The agent of this thread was deleted. Assign another agent to the thread.",
    );
  refuseSecond(thread);
  const agent = await openAgent(ctx, spec, { timezone, trustedSince: thread.createdAt });
  await checkBudget(ctx);
  const { turn, message, before } = await write(ctx, (tx) => store(tx, thread.id, request, timezone));
  const messages = await ctx.db
    .select()
    .from(chatMessages)
    .where(and(eq(chatMessages.threadId, threadId)))
    .orderBy(desc(chatMessages.id))
    .limit(MAX_MESSAGES);
  const history = messages.filter(({ id }) => id <= before).reverse();
  return launch({ ctx, turn, agent, message, history: historyOf(history.map(({ rawData }) => rawData)) });
}

function refuseSecond({ activeTurnId, lastTurnStatus }: ThreadRow): void {
  if (activeTurnId === null) return;
  const why =
    lastTurnStatus === "waiting"
      ? "is waiting for an approval. Decide on it, or cancel the turn"
      : "is answering";
  throw new AppError("conflict", `A turn is already in progress: the agent ${why}.`);
}

async function store(tx: WriteContext, threadId: string, request: ChatRequest, timezone: string | null) {
  const thread = await findThread(tx, threadId);
  refuseSecond(thread);
  const at = timestamp(tx.clock);
  const turnId = tx.ids.uuid();
  const question =
    request.content === null
      ? await takeBack(tx, thread, request.messageId)
      : newQuestion(tx, thread, turnId, request);
  if (request.content !== null) {
    await replaceAsked(tx, thread, request.messageId);
    await tx.db.insert(chatMessages).values(question);
  }
  const id = tx.ids.uuid();
  const message: UiMessage = { id, role: "assistant", metadata: {}, parts: [] };
  const turn: TurnRow = {
    id: turnId,
    organizationId: tx.organizationId,
    threadId: thread.id,
    agentSpecId: thread.agentSpecId,
    messageId: id,
    status: "streaming",
    timezone,
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    pending: [],
    error: null,
    actor: { ...tx.actor },
    correlationId: tx.correlationId,
    bootId: tx.bootId,
    leaseUntil: timestamp(tx.clock, LEASE_MS),
    cancelRequestedAt: null,
    partialText: null,
    createdAt: at,
    startedAt: at,
    updatedAt: at,
    completedAt: null,
  };
  await tx.db.insert(chatTurns).values(turn);
  await tx.db.insert(chatMessages).values({
    ...question,
    id,
    turnId,
    role: "assistant",
    content: "",
    format: "markdown",
    rawData: message,
    createdBy: null,
    createdAt: at,
    updatedAt: at,
  });
  await tx.db
    .update(chatThreads)
    .set({
      activeTurnId: turnId,
      lastTurnStatus: "streaming",
      title: thread.title ?? titleOf(question.content),
      updatedAt: timestampAfter(tx.clock, thread.updatedAt),
    })
    .where(eq(chatThreads.id, thread.id));
  const data = { turnId, agentSpecId: thread.agentSpecId, isRegenerated: request.content === null };
  await record(tx, "chat_turn.started", { type: "chat_thread", id: thread.id }, data);
  return { turn, message, before: question.id };
}

function newQuestion(tx: WriteContext, thread: ThreadRow, turnId: string, request: ChatRequest): MessageRow {
  const at = timestamp(tx.clock);
  const id = tx.ids.uuid();
  const text = request.content ?? "";
  return {
    id,
    organizationId: tx.organizationId,
    threadId: thread.id,
    turnId,
    role: "user",
    content: text,
    format: "text",
    rawData: {
      id: request.clientId ?? id,
      role: "user",
      metadata: { turnId, createdAt: at },
      parts: [{ type: "text", text, state: "done" }],
    },
    cancelled: false,
    durationSeconds: null,
    createdBy: tx.actor.id,
    createdAt: at,
    updatedAt: at,
  };
}

/** Deletes the reply to regenerate and everything after it. Returns the message that it answers. */
async function takeBack(tx: WriteContext, thread: ThreadRow, named: string | null): Promise<MessageRow> {
  const rows = await lastOf(tx, thread);
  const from = named === null ? 0 : rows.findIndex(isNamed(named));
  if (from < 0) throw invalid(["body", "messageId"], "Message not found", "not_found");
  const question = rows.slice(from).find(({ role }) => role === "user");
  if (!question) throw new AppError("invalid_state", "There is no message to answer again.");
  await tx.db
    .delete(chatMessages)
    .where(and(eq(chatMessages.threadId, thread.id), gt(chatMessages.id, question.id)));
  return question;
}

/** Deletes the message that the user replaces and everything after it. Does nothing if it doesn't exist. */
async function replaceAsked(tx: WriteContext, thread: ThreadRow, named: string | null): Promise<void> {
  if (named === null) return;
  const before = (await lastOf(tx, thread)).find((row) => row.role === "user" && isNamed(named)(row));
  if (!before) return;
  await tx.db
    .delete(chatMessages)
    .where(and(eq(chatMessages.threadId, thread.id), gte(chatMessages.id, before.id)));
}

/** Finds a message by its own ID, or by the client's. */
const isNamed =
  (named: string) =>
  ({ id, rawData }: MessageRow): boolean =>
    id === named || rawData.id === named;

/** Newest first. */
const lastOf = (tx: WriteContext, thread: ThreadRow): Promise<MessageRow[]> =>
  tx.db
    .select()
    .from(chatMessages)
    .where(eq(chatMessages.threadId, thread.id))
    .orderBy(desc(chatMessages.id))
    .limit(MAX_MESSAGES);

/** Returns the first line of a message, cut at a word. */
function titleOf(content: string): string {
  const line = content.trim().split("\n", 1)[0]?.replace(/\s+/g, " ").trim() ?? "";
  if (line.length <= MAX_TITLE_CHARACTERS) return line;
  const cut = line.slice(0, MAX_TITLE_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut.replace(/\s+\S*$/, "") || cut}…`;
}
