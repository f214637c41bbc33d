import { eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import type { Fit } from "../../models/fit.ts";
import type { LiveTurn } from "./live.ts";
import { chatThreads, type TurnRow } from "./table.ts";

/** Fits a thread into what the model takes, and keeps what was summed up for the turns to come. */
export async function openFit(ctx: Context, { threadId }: TurnRow, live: LiveTurn): Promise<Fit> {
  const ofThread = eq(chatThreads.id, threadId);
  const [thread] = await ctx.db.select({ summary: chatThreads.summary }).from(chatThreads).where(ofThread);
  return {
    known: ctx.config.modelContext,
    ask: (model, signal) => ctx.models.roomOf(model, signal),
    summary: thread?.summary ?? null,
    async keep(summary) {
      await ctx.store.write((db) => db.update(chatThreads).set({ summary }).where(ofThread));
    },
    tell: (note) => void live.notes.add(note),
  };
}

/** What the reply tells of its making, beside its words. */
export function warningsOf({ message, notes }: LiveTurn): { warnings?: string[] } {
  const { warnings } = message.metadata;
  const told = Array.isArray(warnings) ? warnings.map(String) : [];
  const all = [...new Set([...told, ...notes])];
  return all.length === 0 ? {} : { warnings: all };
}
