import { and, eq, sql } from "drizzle-orm";
import { secondsBetween, timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { textOf, toolParts, type UiMessage } from "../../models/chunks.ts";
import type { Usage } from "../../models/contract.ts";
import { record } from "../events/service.ts";
import { chatMessages, chatThreads, chatTurns, type PendingCall, type TurnRow } from "./table.ts";

/** How a turn ends, or that it waits. */
export interface TurnEnd {
  status: "completed" | "failed" | "cancelled" | "waiting";
  message: UiMessage;
  turn: Pick<TurnRow, "steps" | "usage">;
  error?: { code: string; message: string };
  pending?: PendingCall[];
  /** What the user saw of a cancelled reply. Null: everything. */
  partialText?: string | null;
}

/**
 * Stores the end of a turn, with its message, its thread and its event. Returns false, with nothing written, if it is
 * no longer in progress. `from` is the status it must have: `streaming` in its own process.
 */
export async function finishTurn(
  tx: WriteContext,
  turn: TurnRow,
  { status, message, error, pending = [], partialText = null, ...fields }: TurnEnd,
  from: "streaming" | "waiting" = "streaming",
): Promise<boolean> {
  const at = timestamp(tx.clock);
  const isOver = status !== "waiting";
  const [row] = await tx.db
    .update(chatTurns)
    .set({
      ...fields.turn,
      status,
      pending,
      error: error ?? null,
      bootId: null,
      leaseUntil: null,
      updatedAt: at,
      completedAt: isOver ? at : null,
    })
    .where(and(eq(chatTurns.id, turn.id), eq(chatTurns.status, from)))
    .returning({ id: chatTurns.id });
  if (!row) return false;
  const rawData = partialText === null ? message : cutTo(message, partialText);
  await tx.db
    .update(chatMessages)
    .set({
      content: textOf(rawData),
      rawData,
      cancelled: status === "cancelled",
      durationSeconds: isOver ? secondsBetween(turn.startedAt, at) : null,
      updatedAt: at,
    })
    .where(eq(chatMessages.id, turn.messageId));
  await tx.db
    .update(chatThreads)
    .set({ lastTurnStatus: status, updatedAt: atLeast(at), ...(isOver ? { activeTurnId: null } : {}) })
    .where(and(eq(chatThreads.id, turn.threadId), eq(chatThreads.activeTurnId, turn.id)));
  const data: JsonObject = {
    turnId: turn.id,
    steps: fields.turn.steps,
    usage: countsOf(fields.turn.usage),
    ...(error ? { error: { ...error } } : {}),
    ...(status === "waiting" ? { decisionIds: pending.map(({ decisionId }) => decisionId) } : {}),
  };
  await record(tx, `chat_turn.${status}`, { type: "chat_thread", id: turn.threadId }, data);
  return true;
}

/** If its owner changed it within this millisecond, that time is ahead: the server must not set it back. */
export const atLeast = (at: string) =>
  sql`case when ${chatThreads.updatedAt} > ${at} then ${chatThreads.updatedAt} else ${at} end`;

export const countsOf = ({ inputTokens, outputTokens }: Usage) => ({ inputTokens, outputTokens });

export const UNFINISHED = "The turn ended before the call did.";

/**
 * Closes a message that won't continue: nothing in it is in progress any longer. `fates` says by ID what became of
 * calls, and `why` of the others.
 */
export function close(
  message: UiMessage,
  why: string,
  fates: ReadonlyMap<string, string> = new Map(),
): UiMessage {
  for (const part of message.parts) {
    if (part.type === "text" || part.type === "reasoning") part.state = "done";
  }
  for (const part of openCalls(message)) {
    part.state = "output-error";
    part.input ??= {};
    part.errorText = fates.get(part.toolCallId) ?? why;
  }
  return message;
}

const ENDS: readonly string[] = ["output-available", "output-error", "output-denied"];
export const openCalls = (message: UiMessage) =>
  toolParts(message).filter(({ state }) => !ENDS.includes(state));

/** Truncates the message's text to `seen`: the user has read no more, and the model must not continue from more. */
function cutTo(message: UiMessage, seen: string): UiMessage {
  const whole = textOf(message);
  if (whole === seen) return message;
  const parts = message.parts.map((part) => ({ ...part }));
  if (!whole.startsWith(seen)) {
    const others = parts.filter(({ type }) => type !== "text");
    return { ...message, parts: [...others, { type: "text", text: seen, state: "done" }] };
  }
  let left = seen.length;
  for (const part of parts) {
    if (part.type !== "text") continue;
    part.text = part.text.slice(0, left);
    left -= part.text.length;
  }
  return { ...message, parts };
}
