import { and, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { Json } from "../../base/json.ts";
import type { Context, WriteContext } from "../../context.ts";
import type { CursorState } from "../../lake/contract.ts";
import type { RunRow } from "../runs/table.ts";
import { type ExtractCursorRow, extractCursors } from "./table.ts";

/** Cursors belong to the action. Those of an inline step belong to its automation. */
export const ownerOf = (run: Pick<RunRow, "actionId" | "triggerSourceId" | "stepKey">): string =>
  run.actionId ?? `${run.triggerSourceId}:${run.stepKey}`;

const mine = (ctx: Context, ownerId: string) =>
  and(eq(extractCursors.organizationId, ctx.organizationId), eq(extractCursors.ownerId, ownerId));

/** Returns the cursor of `ownerId` for one resource. Null before its first load. */
export async function findCursor(
  ctx: Context,
  ownerId: string,
  resource: string,
): Promise<CursorState | null> {
  const [row] = await ctx.db
    .select()
    .from(extractCursors)
    .where(and(mine(ctx, ownerId), eq(extractCursors.resource, resource)));
  return row ? { cursorField: row.cursorField, lastValue: row.lastValue, boundary: row.boundary } : null;
}

export const listCursors = (ctx: Context, ownerId: string): Promise<ExtractCursorRow[]> =>
  ctx.db.select().from(extractCursors).where(mine(ctx, ownerId)).orderBy(extractCursors.resource);

/**
 * Deletes the cursors of the named resources (null: all), or sets them to `initialValue`. Returns those that changed,
 * with their previous values.
 */
export async function resetCursors(
  tx: WriteContext,
  ownerId: string,
  resources: readonly string[] | null,
  initialValue: Json | undefined,
): Promise<ExtractCursorRow[]> {
  const which = and(
    mine(tx, ownerId),
    resources === null ? undefined : inArray(extractCursors.resource, [...resources]),
  );
  const before = await tx.db.select().from(extractCursors).where(which);
  if (initialValue === undefined || initialValue === null) await tx.db.delete(extractCursors).where(which);
  else {
    await tx.db
      .update(extractCursors)
      .set({ lastValue: initialValue, boundary: [], loadId: null, updatedAt: timestamp(tx.clock) })
      .where(which);
  }
  return before;
}
