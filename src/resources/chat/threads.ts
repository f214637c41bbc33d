import { and, asc, desc, eq, gt, inArray, lt } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { invalid, notFound } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { agentSpecs } from "../agents/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { endTurn } from "./cancel.ts";
import { chatMessages, chatThreads, chatTurns, type MessageRow, type ThreadRow } from "./table.ts";
import type { BulkDelete, ThreadCreate, ThreadPatch } from "./wire.ts";

/** Number of threads per transaction. */
const BATCH = 100;

/** Every query here uses this condition: threads of other users don't exist. */
const mine = (ctx: Context) =>
  and(eq(chatThreads.organizationId, ctx.organizationId), eq(chatThreads.ownerId, ctx.actor.id));

const entity = (id: string) => ({ type: "chat_thread" as const, id });

export async function findThread(ctx: Context, id: string): Promise<ThreadRow> {
  const [row] = await ctx.db
    .select()
    .from(chatThreads)
    .where(and(mine(ctx), eq(chatThreads.id, id)));
  if (!row) throw notFound("thread");
  return row;
}

interface Page {
  limit: number;
  cursor?: string;
}

/** Newest first. */
export async function listThreads(ctx: Context, { limit, cursor }: Page) {
  const scope = ["threads", ctx.organizationId, ctx.actor.id];
  const before =
    cursor === undefined ? undefined : lt(chatThreads.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(chatThreads)
    .where(and(mine(ctx), before))
    .orderBy(desc(chatThreads.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Oldest first. */
export async function listMessages(
  ctx: Context,
  threadId: string,
  { limit, cursor }: Page,
): Promise<{ rows: MessageRow[]; nextCursor?: string }> {
  await findThread(ctx, threadId);
  const scope = ["messages", ctx.organizationId, threadId];
  const after =
    cursor === undefined ? undefined : gt(chatMessages.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(chatMessages)
    .where(and(eq(chatMessages.threadId, threadId), after))
    .orderBy(asc(chatMessages.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Throws `invalid` for an agent that doesn't exist. */
export function createThread(ctx: Context, { agentSpecId, title }: ThreadCreate): Promise<ThreadRow> {
  return write(ctx, async (tx) => {
    await checkAgent(tx, agentSpecId);
    const at = timestamp(tx.clock);
    const row: ThreadRow = {
      id: tx.ids.uuid(),
      organizationId: tx.organizationId,
      ownerId: tx.actor.id,
      createdAt: at,
      updatedAt: at,
      agentSpecId,
      title: title ?? null,
      lastTurnStatus: "pending",
      activeTurnId: null,
      summary: null,
    };
    await tx.db.insert(chatThreads).values(row);
    await record(tx, "chat_thread.created", entity(row.id), { agentSpecId });
    return row;
  });
}

async function checkAgent(tx: WriteContext, id: string): Promise<void> {
  const [row] = await tx.db
    .select({ id: agentSpecs.id })
    .from(agentSpecs)
    .where(and(eq(agentSpecs.organizationId, tx.organizationId), eq(agentSpecs.id, id)));
  if (!row) throw invalid(["body", "agentSpecId"], "Agent not found", "not_found");
}

/** Changes only the given fields. If nothing changed, there is no event, and `updatedAt` stays. */
export function updateThread(ctx: Context, id: string, patch: ThreadPatch): Promise<ThreadRow> {
  return write(ctx, async (tx) => {
    const before = await findThread(tx, id);
    if (patch.agentSpecId !== undefined) await checkAgent(tx, patch.agentSpecId);
    const changes = changesBetween(before, patch);
    if (changes.length === 0) return before;
    const change = { ...patch, updatedAt: timestampAfter(tx.clock, before.updatedAt) };
    await tx.db
      .update(chatThreads)
      .set(change)
      .where(and(mine(tx), eq(chatThreads.id, id)));
    await record(tx, "chat_thread.updated", entity(id), { changes: changes.map(discreet) });
    return { ...before, ...change };
  });
}

/** The audit log is shared; a thread's title is private. */
const discreet = ({ field, from, to }: { field: string; from: unknown; to: unknown }): Json =>
  field === "title"
    ? { field, from: from === null ? null : "***", to: to === null ? null : "***" }
    : { field, from: from as Json, to: to as Json };

/** Ends a turn in progress, and deletes the thread with its messages. */
export async function deleteThread(ctx: Context, id: string): Promise<void> {
  await findThread(ctx, id);
  const [gone] = await deleteAll(ctx, [id]);
  if (gone === undefined) throw notFound("thread");
}

/** Ignores threads of others. Returns how many were deleted. */
export async function deleteThreads(ctx: Context, { all, threadIds }: BulkDelete): Promise<number> {
  if (!all) return (await deleteAll(ctx, [...new Set(threadIds ?? [])])).length;
  let count = 0;
  for (;;) {
    const rows = await ctx.db.select({ id: chatThreads.id }).from(chatThreads).where(mine(ctx)).limit(BATCH);
    if (rows.length === 0) return count;
    count += (
      await deleteAll(
        ctx,
        rows.map(({ id }) => id),
      )
    ).length;
  }
}

async function deleteAll(ctx: Context, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const isOne = and(mine(ctx), inArray(chatThreads.id, [...ids]));
  const own = await ctx.db.select().from(chatThreads).where(isOne);
  for (const thread of own) if (thread.activeTurnId !== null) await endTurn(ctx, thread, null);
  return write(ctx, async (tx) => {
    const there = await tx.db
      .select({ id: chatThreads.id })
      .from(chatThreads)
      .where(
        and(
          mine(tx),
          inArray(
            chatThreads.id,
            own.map(({ id }) => id),
          ),
        ),
      );
    const found = there.map(({ id }) => id);
    if (found.length === 0) return [];
    await tx.db.delete(chatMessages).where(inArray(chatMessages.threadId, found));
    await tx.db.delete(chatTurns).where(inArray(chatTurns.threadId, found));
    await tx.db.delete(chatThreads).where(inArray(chatThreads.id, found));
    for (const id of found) await record(tx, "chat_thread.deleted", entity(id));
    return found;
  });
}
