import { invalid } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { listCursors, resetCursors } from "../datasets/cursors.ts";
import type { ExtractCursorRow } from "../datasets/table.ts";
import { record } from "../events/service.ts";
import { findAction } from "./service.ts";

/** The cursors of a `dlt_extract`, by resource (docs/decisions/runs.md). */
export async function readState(ctx: Context, actionId: string) {
  await findAction(ctx, actionId);
  return { resources: byResource(await listCursors(ctx, actionId)) };
}

/** Deletes the named cursors (all if none are named), or sets them to `initialValue`. Returns the new state. */
export async function resetState(
  ctx: Context,
  actionId: string,
  input: { resources?: string[] | null; initialValue?: Json },
) {
  return write(ctx, async (tx) => {
    await findAction(tx, actionId);
    const before = await resetCursors(tx, actionId, input.resources ?? null, input.initialValue ?? undefined);
    if (before.length === 0 && (input.initialValue ?? null) !== null)
      throw invalid(
        ["body", "initialValue"],
        "No resource has a cursor to set; give incremental.initialValue in the definition instead",
        "no_cursor",
      );
    if (before.length > 0) {
      const changes = before.map((row) => ({
        field: `state.${row.resource}`,
        from: row.lastValue,
        to: input.initialValue ?? null,
      }));
      await record(tx, "action.updated", { type: "action", id: actionId }, { changes });
    }
    return { resources: byResource(await listCursors(tx, actionId)) };
  });
}

const byResource = (rows: readonly ExtractCursorRow[]) =>
  Object.fromEntries(
    rows.map(({ resource, cursorField, lastValue, updatedAt, loadId }) => [
      resource,
      { cursorField, lastValue, updatedAt, loadId },
    ]),
  );
