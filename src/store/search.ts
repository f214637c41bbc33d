import { type Column, eq, or, type SQL, sql } from "drizzle-orm";

/** Case-insensitive substring search in any of the columns; `%` and `_` are literal (docs/decisions/http-conventions.md). */
export function contains(q: string, ...columns: (Column | SQL)[]): SQL | undefined {
  const pattern = `*${Array.from(q, eitherCase).join("")}*`;
  return or(...columns.map((column) => sql`glob(${pattern}, ${column})`));
}

const ID_LENGTH = 36;
const PART_OF_ID = /^[0-9a-f-]{1,36}$/i;

/** The same for IDs. Null if none can contain `q`. A whole ID is found by its index. */
export function idContains(q: string, id: Column): { where: SQL; isWhole: boolean } | null {
  if (!PART_OF_ID.test(q)) return null;
  const text = q.toLowerCase();
  return q.length === ID_LENGTH
    ? { where: eq(id, text), isWhole: true }
    : { where: sql`instr(${id}, ${text}) > 0`, isWhole: false };
}

/** SQLite's own `lower` and `like` only know ASCII letters, so the pattern lists both cases. */
function eitherCase(sign: string): string {
  const cases = [...new Set([sign, sign.toLowerCase(), sign.toUpperCase()])].filter(
    (each) => each.length === sign.length,
  );
  return cases.length > 1 || /[*?[]/.test(sign) ? `[${cases.join("")}]` : sign;
}

/** Whether the list of texts in a column contains this one. */
export const tagged = (column: Column, tag: string): SQL =>
  sql`exists (select 1 from json_each(${column}) each where each.value = ${tag})`;

/** Whether the list of texts in a column has this folder, or one below it. */
export function inFolder(column: Column, folder: string): SQL {
  const path = folder.replace(/\/+$/, "");
  const below = `${path.replace(/[*?[]/g, "[$&]")}/*`;
  return sql`exists (select 1 from json_each(${column}) each where each.value = ${path} or glob(${below}, each.value))`;
}
