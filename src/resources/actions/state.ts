import { type Fault, InvalidInput, invalid } from "../../base/errors.ts";
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
 * `InvalidInput` for a name that neither a cursor nor the definition has, and for a value without a cursor to set.
 */
export async function resetState(
  ctx: Context,
  actionId: string,
  input: { resources?: string[] | null; initialValue?: Json },
) {
  return write(ctx, async (tx) => {
    const { action } = await findAction(tx, actionId);
    const stored = (await listCursors(tx, actionId)).map(({ resource }) => resource);
    const names = input.resources ?? [];
    checkNames(tx, action, names, stored);
    if ((input.initialValue ?? null) !== null) requireCursors(names, stored);
    const before = await resetCursors(tx, actionId, input.resources ?? null, input.initialValue ?? undefined);
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

function checkNames(
  { executors }: WriteContext,
  { kind, definition }: ActionRow,
  names: readonly string[],
  stored: readonly string[],
): void {
  const known = new Set([...stored, ...(executors[kind].resources?.(definition) ?? [])]);
  const shown = [...known].slice(0, MAX_NAMES).join(", ");
  const more = known.size > MAX_NAMES ? ` and ${known.size - MAX_NAMES} more` : "";
  const hint = known.size === 0 ? "This action has no resources" : `The action has ${shown}${more}`;
  refuse(names, known, (name) => ({ msg: `Unknown resource '${name}'. ${hint}`, type: "not_found" }));
}

function requireCursors(names: readonly string[], stored: readonly string[]): void {
  const advice = "give incremental.initialValue in the definition instead";
  refuse(names, new Set(stored), (name) => ({
    msg: `The resource '${name}' has no cursor to set; ${advice}`,
    type: "no_cursor",
  }));
  if (stored.length === 0)
    throw invalid(["body", "initialValue"], `No resource has a cursor to set; ${advice}`, "no_cursor");
}

/** Throws `InvalidInput` with a fault for each name that isn't allowed. */
function refuse(
  names: readonly string[],
  allowed: ReadonlySet<string>,
  faultOf: (name: string) => Pick<Fault, "msg" | "type">,
): void {
  const faults = names.flatMap((name, index) =>
    allowed.has(name) ? [] : [{ loc: ["body", "resources", String(index)], ...faultOf(name) }],
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
