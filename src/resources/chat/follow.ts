import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { Context } from "../../context.ts";
import { chunksOf, type UiChunk, type UiMessage } from "../../models/chunks.ts";
import { frameOf, LAST_FRAME, liveTurns } from "./live.ts";
import { chatMessages, chatTurns, type ThreadRow } from "./table.ts";

/** Poll interval for a turn of another process. */
const POLL_MS = 300;

/** Returns the stream of the turn in progress, from its start. Null if there is none. */
export async function streamOf(
  ctx: Context,
  thread: ThreadRow,
): Promise<((signal: AbortSignal) => AsyncIterable<string>) | null> {
  const live = liveTurns(ctx).get(thread.id);
  if (live) return (signal) => live.follow(signal);
  if (!ctx.store.remote || thread.activeTurnId === null) return null;
  const turnId = thread.activeTurnId;
  const at = await readTurn(ctx, turnId);
  const isElsewhere = at?.turn.status === "streaming" && (at.turn.leaseUntil ?? "") > timestamp(ctx.clock);
  return isElsewhere ? (signal) => followStored(ctx, turnId, signal) : null;
}

async function readTurn(ctx: Context, turnId: string) {
  const [row] = await ctx.db
    .select({ turn: chatTurns, message: chatMessages.rawData })
    .from(chatTurns)
    .innerJoin(chatMessages, eq(chatMessages.id, chatTurns.messageId))
    .where(eq(chatTurns.id, turnId));
  return row ?? null;
}

/** Streams a turn of another process from the database: complete, but in larger pieces. */
async function* followStored(ctx: Context, turnId: string, signal: AbortSignal): AsyncGenerator<string> {
  const sent: SentLengths = new Map();
  while (!signal.aborted) {
    const at = await readTurn(ctx, turnId);
    if (!at) break;
    const fresh = at.message.parts.length === 0 ? [] : difference(sent, at.message);
    if (fresh.length > 0) yield fresh.map(frameOf).join("");
    if (at.turn.status !== "streaming") {
      yield endOf(at.turn.status, at.turn.error?.message ?? "", at.message)
        .map(frameOf)
        .join("");
      break;
    }
    await ctx.clock.sleep(POLL_MS, signal);
  }
  yield LAST_FRAME;
}

/** What was sent so far: the name of each chunk, and how much of each text. */
export type SentLengths = Map<string, number>;

/**
 * Returns what was added since, in order, and records it in `told`. A message only grows, although not only at its end.
 */
export function difference(sent: SentLengths, message: UiMessage): UiChunk[] {
  const fresh: UiChunk[] = [];
  const nth = new Map<string, number>();
  for (const chunk of chunksOf(message)) {
    const own = nameOf(chunk);
    const name = own ?? `${chunk.type} ${nth.get(chunk.type) ?? 0}`;
    if (own === null) nth.set(chunk.type, (nth.get(chunk.type) ?? 0) + 1);
    const before = sent.get(name);
    if (chunk.type === "text-delta" || chunk.type === "reasoning-delta") {
      const delta = chunk.delta.slice(before ?? 0);
      if (delta !== "") fresh.push({ ...chunk, delta });
      sent.set(name, chunk.delta.length);
    } else if (before === undefined) {
      fresh.push(chunk);
      sent.set(name, 0);
    }
  }
  return fresh;
}

/** Null for chunks that differ only in position. */
function nameOf(chunk: UiChunk): string | null {
  if ("toolCallId" in chunk) return `${chunk.type} ${chunk.toolCallId}`;
  if ("approvalId" in chunk) return `${chunk.type} ${chunk.approvalId}`;
  return "id" in chunk ? `${chunk.type} ${chunk.id}` : null;
}

function endOf(status: string, error: string, { metadata: messageMetadata }: UiMessage): UiChunk[] {
  switch (status) {
    case "cancelled":
      return [{ type: "abort", reason: "cancelled" }];
    case "failed":
      return [
        { type: "error", errorText: error },
        { type: "finish", finishReason: "error", messageMetadata },
      ];
    default:
      return [
        { type: "finish", finishReason: status === "waiting" ? "tool-calls" : "stop", messageMetadata },
      ];
  }
}
