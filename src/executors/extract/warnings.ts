import { AppError } from "../../base/errors.ts";
import { type OddValue, type OddValues, oddSentence } from "../../base/odd-values.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { instantMs } from "../../providers/api/instants.ts";
import type { SqlFile, SqlSession } from "../../sql/contract.ts";
import { parquet, quoteName } from "../../sql/text.ts";
import { isUpsert } from "./lacking.ts";
import { knownColumns, type Landed, type Site as WholeSite } from "./land.ts";
import { columnPath, variantOwner } from "./naming.ts";
import type { Options, Plan } from "./plan.ts";
import type { Sheet } from "./sheet.ts";

type Site = Omit<WholeSite, "staging">;

const MAX_EXAMPLES = 3;

/** Warns about values that went to another column because theirs can't hold them. */
export async function warnOfVariants(session: SqlSession, { tables }: Landed, { warn }: Site): Promise<void> {
  for (const { table, split, files, targets } of tables) {
    if (split.size === 0 || files.length === 0) continue;
    for (const [name, variants] of split) {
      const type = targets.find((target) => target.name === name)?.type ?? "its type";
      for (const variant of variants) {
        const found = await valuesOf(session, files, variant);
        if (found)
          warn(oddSentence(table, { column: name, what: `went to ${variant}: no ${type}`, ...found }));
      }
    }
  }
}

/** Warns about values that lost their zone. Throws `schema_contract_violation` if the contract allows no change. */
export async function warnOfZones(session: SqlSession, { tables }: Landed, site: Site): Promise<void> {
  for (const { table, zoneless, files } of tables) {
    for (const column of files.length > 0 ? zoneless : []) {
      const found = await valuesOf(session, files, column);
      const what = `went to UTC: the column has no zone`;
      if (found) tell(site, table, { column, what, ...found });
    }
  }
}

async function valuesOf(
  session: SqlSession,
  files: readonly SqlFile[],
  column: string,
): Promise<Pick<OddValue, "count" | "examples"> | null> {
  const value = quoteName(column);
  const from = `FROM ${parquet(files.map((file) => file.path))} WHERE ${value} IS NOT NULL`;
  const [row] = await session.run(
    `SELECT count(*) AS n, (SELECT list(v) FROM (SELECT left(CAST(${value} AS VARCHAR), 200) AS v ${from} LIMIT ${MAX_EXAMPLES})) AS examples ${from}`,
  );
  const count = Number(row?.n ?? 0);
  return count === 0
    ? null
    : { count, examples: Array.isArray(row?.examples) ? row.examples.map(String) : [] };
}

/**
 * Warns about values that were changed when loaded. Throws `schema_contract_violation` if the contract allows no
 * change.
 */
export function warnOfOdd(odd: OddValues | undefined, site: Site): void {
  for (const value of odd?.all ?? []) tell(site, site.plan.table, value);
}

function tell({ contract, warn }: Site, table: string, value: OddValue): void {
  const sentence = oddSentence(table, value);
  if (contract.dataType === "freeze") {
    throw new AppError(
      "schema_contract_violation",
      `${sentence} schemaContract is freeze, and nothing was loaded.`,
      { details: { table, column: value.column, count: value.count } },
    );
  }
  warn(sentence);
}

/** Warns about columns of the table that a source with known columns no longer has. */
export function warnOfGone(sheet: Sheet, { plan, existing, warn }: Site): void {
  if (plan.request.columns !== null || sheet.columns.length === 0) return;
  const present = new Set(sheet.columns.map((column) => column.name));
  const effect = isUpsert(plan)
    ? "Rows with new keys have NULL there, and others keep their values."
    : "New rows have NULL there.";
  for (const { name } of knownColumns(existing(plan.table)) ?? []) {
    if (present.has(name) || variantOwner(name) !== null) continue;
    warn(`${plan.table}.${name}: the source no longer has this column. ${effect}`);
  }
}

/** Warns about columns that an older version may have called otherwise. */
export function warnOfUnsure(sheets: readonly Sheet[], { warn }: Site): void {
  for (const { table, names } of sheets) for (const text of names.unsureNames(table)) warn(text);
}

/** A column of the definition that is in neither these nor earlier rows is probably misspelled. */
export function warnOfMissing(
  named: Iterable<string>,
  [root, ...children]: readonly Sheet[],
  { plan, existing, warn }: Site,
): void {
  if (!root) return;
  const names = [...root.columns, ...(existing(plan.table)?.columns ?? [])].map((column) => column.name);
  for (const column of named) {
    const path = columnPath(column);
    const isIn = (name: string) => name === path || name.startsWith(`${path}__`);
    const isInChild = (table: string) =>
      isIn(table.slice(root.table.length + 2)) || `${root.table}__${path}`.startsWith(`${table}__`);
    if (root.find(column) || names.some(isIn) || children.some(({ table }) => isInChild(table))) continue;
    warn(`No row of ${plan.resource} has a value in the column "${column}".`);
  }
}

/** Names of columns whose types the definition sets. Further sheets of a workbook share them with the first. */
export const typedNames = ({ request, sheet }: Plan): string[] =>
  sheet === null ? [...(request.types?.keys() ?? [])] : [];

/** Clocks differ, and time zones start the day earlier. No valid value is later than this. */
const AHEAD_MS = 86_400_000;

/** One row with a wrong date moves the cursor past all future rows. */
export function warnOfAhead({ cursor }: Landed, { plan, startedAt, warn }: Site): void {
  if (!cursor || plan.incremental?.isBackfill) return;
  if (/^(nan|inf(inity)?)$/i.test(String(cursor.end))) {
    warn(
      `The cursor ${plan.incremental?.field} of ${plan.resource} is at ${cursor.end}, and no value is greater, so later rows aren't found. Correct that row at the source, and reset the action's state.`,
    );
    return;
  }
  if (!(instantMs(cursor.end) > Date.parse(startedAt) + AHEAD_MS)) return;
  warn(
    `The cursor ${plan.incremental?.field} of ${plan.resource} is at ${cursor.end}, which is in the future, so rows before it aren't found. Correct that row at the source, and reset the action's state.`,
  );
}

/** Warns that the limit ended the load. Whether the source has more rows isn't known. */
export function warnOfLimit(
  { resource, limit, request, incremental, disposition }: Plan,
  { maxRows }: Pick<Options, "maxRows">,
  rowsRead: number,
  warn: (text: string) => void,
): void {
  const isReached = request.maxRows !== null && rowsRead >= request.maxRows;
  if (maxRows === null || limit !== maxRows || !isReached) return; // a dry run has a limit of its own
  const continues = incremental !== null && !incremental.isBackfill && disposition !== "replace";
  warn(
    `${resource}: maxRows (${maxRows}) was reached, so the source may have more rows.${continues ? " The next run continues from there." : ""}`,
  );
}

/** Appending the whole source again duplicates all rows, which is rarely intended. */
export function warnOfTwice(
  { disposition, incremental, resource }: Plan,
  rows: number,
  existing: LakeTable | null,
  warn: (text: string) => void,
): void {
  if (disposition !== "append" || incremental || rows === 0 || !existing?.rows) return;
  const those =
    rows === 1
      ? `the row of this load of ${resource} was added`
      : `the ${rows} rows of this load of ${resource} were added`;
  warn(`append without a cursor: ${those} to the ${existing.rows} loaded before.`);
}
