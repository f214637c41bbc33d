import type { LakeTable } from "../../lake/contract.ts";
import { instantMs } from "../../providers/api-instants.ts";
import type { Landed, Site } from "./land.ts";
import { normaliseName } from "./naming.ts";
import type { Plan } from "./plan.ts";
import type { Sheet } from "./sheet.ts";

/** A column that was asked for, and that neither these rows nor those before have, is most likely misspelt. */
export function warnOfMissing([root, ...children]: readonly Sheet[], { plan, existing, warn }: Site): void {
  if (!root || root.rows === 0) return;
  const names = [...root.columns, ...(existing(plan.table)?.columns ?? [])].map((column) => column.name);
  for (const column of plan.request.columns ?? []) {
    const path = column.split(".").map(normaliseName).join("__");
    const isIn = (name: string) => name === path || name.startsWith(`${path}__`);
    const isInChild = (table: string) =>
      isIn(table.slice(root.table.length + 2)) || `${root.table}__${path}`.startsWith(`${table}__`);
    if (root.find(column) || names.some(isIn) || children.some(({ table }) => isInChild(table))) continue;
    warn(`No row of ${plan.resource} has a value in the column "${column}".`);
  }
}

/** Clocks differ, and days begin elsewhere earlier; later than this nothing can have happened. */
const AHEAD_MS = 86_400_000;

/** One row with a wrong date takes the cursor past all that is still to come. */
export function warnOfAhead({ cursor }: Landed, { plan, startedAt, warn }: Site): void {
  if (!cursor || plan.incremental?.isBackfill) return;
  if (!(instantMs(cursor.end) > Date.parse(startedAt) + AHEAD_MS)) return;
  warn(
    `The cursor ${plan.incremental?.field} of ${plan.resource} stands at ${cursor.end}, which lies ahead: rows before it are not found any more. Mend that row at the source, and reset the action's state.`,
  );
}

/** A table that is appended whole has its rows twice after the second load; that is said, since few people mean it. */
export function warnOfTwice(
  { disposition, incremental, resource }: Plan,
  rows: number,
  existing: LakeTable | null,
  warn: (text: string) => void,
): void {
  if (disposition !== "append" || incremental || rows === 0 || !existing?.rows) return;
  const those =
    rows === 1
      ? `the row of this load of ${resource} stands`
      : `the ${rows} rows of this load of ${resource} stand`;
  warn(`append without a cursor: ${those} beside the ${existing.rows} loaded before.`);
}
