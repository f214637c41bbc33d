import { eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import type { Fit } from "../../models/fit.ts";
import type { LiveTurn } from "./live.ts";
import { chatThreads, type TurnRow } from "./table.ts";

/** Shortens a thread to fit the model's context, and stores summaries for later turns. */
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

/** Metadata of the reply. */
export function warningsOf({ message, notes }: LiveTurn): { warnings?: string[] } {
  const { warnings } = message.metadata;
  const earlier = Array.isArray(warnings) ? warnings.map(String) : [];
  const all = [...new Set([...earlier, ...notes])];
  return all.length === 0 ? {} : { warnings: all };
}
