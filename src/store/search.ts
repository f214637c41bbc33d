import { type Column, or, type SQL, sql } from "drizzle-orm";

/** Case-insensitive substring search in any of the columns; `%` and `_` are literal (docs/decisions/http-conventions.md). */
export function contains(q: string, ...columns: (Column | SQL)[]): SQL | undefined {
  const pattern = `*${Array.from(q, eitherCase).join("")}*`;
  return or(...columns.map((column) => sql`glob(${pattern}, ${column})`));
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
