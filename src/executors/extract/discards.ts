import { oddSentence } from "../../base/odd-values.ts";
import { quoteText } from "../../sql/text.ts";
import type { Drops } from "./drops.ts";
import { type Part, partsOf } from "./parts.ts";
import { addRejects, firstRejects, MAX_REJECT_CHARACTERS, type Reject } from "./rejects.ts";
import type { Refusal } from "./resolve.ts";
import { SEQUENCE, type Sheet, type SheetColumn } from "./sheet.ts";
import { isDecimal, isFloat } from "./types.ts";

const MAX_EXAMPLES = 3;
const MAX_EXAMPLE_CHARACTERS = 200;

/** Discards what the contract doesn't allow: whole rows, which are kept as rejects, or just the values. */
export async function discard(
  drops: Drops,
  sheet: Sheet,
  { change, column, violates }: Refusal,
  { wholeRows, warn }: { wholeRows: boolean; warn(text: string): void },
): Promise<void> {
  const from = `FROM (${drops.alive(sheet)}) WHERE ${violates}`;
  const value = `left(${textOf(column)}, ${MAX_EXAMPLE_CHARACTERS})`;
  const [row] = await drops.session.run(
    `SELECT count(*) AS n, (SELECT list(v) FROM (SELECT ${value} AS v ${from} LIMIT ${MAX_EXAMPLES})) AS examples ${from}`,
  );
  const count = Number(row?.n ?? 0);
  if (count === 0) return;
  const why = `schemaContract allows ${change.change === "added" ? "no new column" : "no other type"}`;
  const what = `${wholeRows ? "rejected with the row" : "discarded"}: ${why}`;
  const examples = Array.isArray(row?.examples) ? row.examples.map(String) : [];
  warn(oddSentence(sheet.table, { column: column.name, what, count, examples }));
  if (wholeRows) await reject(drops, sheet, violates, `${sheet.table}.${column.name}: ${why}`);
}

/** Drops the rows of a sheet that `condition` is true for, and keeps them as rejects. Returns their number. */
export async function reject(drops: Drops, sheet: Sheet, condition: string, reason: string): Promise<number> {
  addRejects(drops.rejects, await rowsOf(drops, sheet, condition, reason));
  if (sheet !== drops.root) return drops.dropChildren(sheet, condition);
  return drops.drop("rejected", `SELECT ${SEQUENCE.name} FROM (${drops.alive(sheet)}) WHERE ${condition}`);
}

/** The rows as JSON, put together as text: DuckDB's own JSON functions round long numbers. */
async function rowsOf(drops: Drops, sheet: Sheet, condition: string, reason: string): Promise<Reject[]> {
  const fields = sheet.columns.flatMap((column) => {
    const values = partsOf(column).map((part) => `CAST(${jsonOf(part)} AS VARCHAR)`);
    const name = quoteText(`${JSON.stringify(column.name)}:`);
    return values.length === 0 ? [] : [`${name} || coalesce(${values.join(", ")}, 'null')`];
  });
  const row = `'{' || concat_ws(',', ${["NULL", ...fields].join(", ")}) || '}'`;
  const rows = await drops.session.run(
    firstRejects(
      `SELECT left(${row}, ${MAX_REJECT_CHARACTERS}) AS text FROM (${drops.alive(sheet)}) WHERE ${condition}`,
    ),
  );
  return rows.map(({ text }) => ({ reason, text: String(text) }));
}

function jsonOf({ type, sql, json }: Part): string {
  if (json !== undefined) return json;
  if (/^U?HUGEINT$/.test(type)) return sql;
  if (isDecimal(type)) return `regexp_replace(CAST(${sql} AS VARCHAR), '^(-?)[.]', '\\10.')`; // DuckDB writes .5
  // JSON has no other way to write NaN and infinity, or all digits of a number within a list
  const isExact = !/DECIMAL|HUGEINT|DOUBLE|FLOAT/.test(type);
  const text = `to_json(CAST(${sql} AS VARCHAR))`;
  if (isExact) return `to_json(${sql})`;
  return isFloat(type) ? `CASE WHEN isfinite(${sql}) THEN to_json(${sql}) ELSE ${text} END` : text;
}

/** A column's value as the source had it. */
const textOf = (column: SheetColumn) =>
  `coalesce(${partsOf(column)
    .map(({ sql, text }) => text ?? `CAST(${sql} AS VARCHAR)`)
    .join(", ")})`;
