import { mapInSlices } from "../base/slices.ts";

/** Rows whose texts are longer together are made into objects one by one, with turns for others between them. */
const MAX_CHARACTERS = 512 * 1024;

/** The rows as `map` makes objects of them: at once where they are short. */
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
