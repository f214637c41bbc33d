import { mapInSlices } from "../base/slices.ts";

/** Total text size from which rows are mapped one by one, with pauses for other work. */
const MAX_CHARACTERS = 512 * 1024;

/** Maps rows to objects, in one step if they are short. */
export function mapRows<T>(rows: unknown[][], map: (rows: unknown[][]) => T[]): T[] | Promise<T[]> {
  if (rows.length < 2 || !isLong(rows)) return map(rows);
  return mapInSlices(rows, (row) => map([row])[0] as T);
}

function isLong(rows: unknown[][]): boolean {
  let characters = 0;
  for (const row of rows) {
    for (const value of row) if (typeof value === "string") characters += value.length;
    if (characters > MAX_CHARACTERS) return true;
  }
  return false;
}
