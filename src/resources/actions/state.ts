import { InvalidInput, invalid } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { listCursors, resetCursors } from "../datasets/cursors.ts";
import type { ExtractCursorRow } from "../datasets/table.ts";
import { record } from "../events/service.ts";
import { findAction } from "./service.ts";
import type { ActionRow } from "./table.ts";

/** The cursors of an action, by resource (docs/decisions/runs.md). */
export async function readState(ctx: Context, actionId: string) {
  await findAction(ctx, actionId);
  return { resources: byResource(await listCursors(ctx, actionId)) };
}

/**
 * Deletes the named cursors (all if none are named), or sets them to `initialValue`. Returns the new state. Throws
 * `InvalidInput` for a name that neither a cursor nor the definition has.
 */
export async function resetState(
  ctx: Context,
  actionId: string,
  input: { resources?: string[] | null; initialValue?: Json },
) {
  return write(ctx, async (tx) => {
    const { action } = await findAction(tx, actionId);
    await checkNames(tx, action, input.resources ?? []);
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

const MAX_NAMES = 20;

async function checkNames(
  tx: WriteContext,
  { id, kind, definition }: ActionRow,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const stored = (await listCursors(tx, id)).map(({ resource }) => resource);
  const known = new Set([...stored, ...(tx.executors[kind].resources?.(definition) ?? [])]);
  const shown = [...known].slice(0, MAX_NAMES).join(", ");
  const more = known.size > MAX_NAMES ? ` and ${known.size - MAX_NAMES} more` : "";
  const hint = known.size === 0 ? "This action has no resources" : `The action has ${shown}${more}`;
  const faults = names.flatMap((name, index) =>
    known.has(name)
      ? []
      : [
          {
            loc: ["body", "resources", String(index)],
            msg: `Unknown resource '${name}'. ${hint}`,
            type: "not_found",
          },
        ],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
}

const byResource = (rows: readonly ExtractCursorRow[]) =>
  Object.fromEntries(
    rows.map(({ resource, cursorField, lastValue, updatedAt, loadId }) => [
      resource,
      { cursorField, lastValue, updatedAt, loadId },
    ]),
  );
