import { and, eq, inArray, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import type { UiMessage } from "../../models/chunks.ts";
import { actionRuns } from "../runs/table.ts";
import { openCalls } from "./finish.ts";
import { chatTurns, type PendingCall, type TurnRow } from "./table.ts";

/**
 * Stores that an approved call starts now: if the turn is lost later, the call may have been done. Returns false, and
 * the call must not start, if the turn is no longer this process's.
 */
export async function begin(app: App, turn: TurnRow, call: PendingCall): Promise<boolean> {
  call.begun = true;
  const { id, pending } = turn;
  const rows = await app.store.write((db) =>
    db
      .update(chatTurns)
      .set({ pending })
      .where(and(eq(chatTurns.id, id), eq(chatTurns.status, "streaming"), eq(chatTurns.bootId, app.bootId)))
      .returning({ id: chatTurns.id }),
  );
  return rows.length > 0;
}

/** What became of each call without a result, by its ID. `why` is said of those that change nothing. */
export async function fatesOf(
  { store }: Pick<App, "store">,
  turn: TurnRow,
  message: UiMessage,
  why: string,
): Promise<ReadonlyMap<string, string>> {
  const callIds = openCalls(message).map(({ toolCallId }) => toolCallId);
  const runs = await store.db
    .select({ id: actionRuns.id, key: actionRuns.idempotencyKey })
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.organizationId, turn.organizationId),
        eq(actionRuns.correlationId, turn.correlationId),
        sql`${actionRuns.triggerMethod} = 'agent'`, // A literal, so that SQLite uses the partial index.
        inArray(actionRuns.idempotencyKey, callIds),
      ),
    );
  return new Map(
    callIds.map((callId) => {
      const pending = turn.pending.find((call) => call.callId === callId);
      if (pending && pending.begun !== true) return [callId, `Not called. ${why}`];
      const run = runs.find(({ key }) => key === callId);
      const where = run ? ` See run ${run.id}.` : "";
      return [callId, pending ? `It may have been done.${where} ${why}` : `${why}${where}`];
    }),
  );
}

/** Why a turn ended if its process did. What may have been done is better not asked for again. */
export const stopped = ({ pending }: TurnRow) =>
  new AppError(
    "unavailable",
    `The server stopped while the agent was answering. ${pending.some(({ begun }) => begun) ? "See what became of its calls before you ask again." : "Ask again."}`,
  );
