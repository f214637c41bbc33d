import { oddSentence } from "../../base/odd-values.ts";
import type { Drops } from "./drops.ts";
import { partsOf } from "./parts.ts";
import { MAX_REJECT_CHARACTERS, MAX_REJECTS, type Reject } from "./rejects.ts";
import type { Refusal } from "./resolve.ts";
import { SEQUENCE, type Sheet, type SheetColumn } from "./sheet.ts";

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
  const room = MAX_REJECTS - drops.rejects.length;
  if (room > 0) drops.rejects.push(...(await rowsOf(drops, sheet, condition, { room, reason })));
  if (sheet !== drops.root) return drops.dropChildren(sheet, condition);
  return drops.drop("rejected", `SELECT ${SEQUENCE.name} FROM (${drops.alive(sheet)}) WHERE ${condition}`);
}

async function rowsOf(
  drops: Drops,
  sheet: Sheet,
  condition: string,
  { room, reason }: { room: number; reason: string },
): Promise<Reject[]> {
  const fields = sheet.columns.flatMap((column) => {
    const values = partsOf(column).map(({ sql, json }) => json ?? `to_json(${sql})`);
    if (values.length === 0) return [];
    const value = values.map((each) => `CAST(${each} AS JSON)`).join(", ");
    return [`'${column.name.replaceAll("'", "''")}', coalesce(${value})`];
  });
  const rows = await drops.session.run(
    `SELECT left(CAST(json_object(${fields.join(", ")}) AS VARCHAR), ${MAX_REJECT_CHARACTERS}) AS text
      FROM (${drops.alive(sheet)}) WHERE ${condition} LIMIT ${room}`,
  );
  return rows.map(({ text }) => ({ reason, text: String(text) }));
}

/** A column's value as the source had it. */
const textOf = (column: SheetColumn) =>
  `coalesce(${partsOf(column)
    .map(({ sql, text }) => text ?? `CAST(${sql} AS VARCHAR)`)
    .join(", ")})`;
