import type { Merging } from "./store.ts";

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Left {
  readonly sql: string;
  values: unknown[];
  readonly merging: Merging | undefined;
  /** Number of inserted rows, if any. */
  readonly shape: string | null;
}

/** Each number of rows is another statement for the server to prepare. */
const ROWS = [16, 8, 4, 2, 1];

/**
 * Statements of a transaction whose results nobody awaits. Inserts of consecutive works into one table are merged:
 * 16 rows in one statement cost the server and this process half as much as 16 statements. Rows of a table keep
 * their order, since the database may number them. A statement that can't be merged keeps its position.
 */
export class LeftStatements {
  #all: Left[] = [];
  /** Statements since the last one that couldn't be merged, by kind. */
  #open = new Map<string, Left>();

  add(sql: string, values: readonly unknown[], merging: Merging | undefined): void {
    if (merging === undefined) {
      this.#open.clear();
      this.#all.push({ sql, values: [...values], merging, shape: null });
    } else if (merging.textFor === undefined) this.#replace(sql, values, merging);
    else {
      const { width } = merging;
      for (let at = 0; at < values.length; at += width)
        this.#addRow(sql, values.slice(at, at + width), merging);
    }
  }

  /** Removes all statements and returns them in order. */
  take(): Statement[] {
    const all = this.#all;
    this.#all = [];
    this.#open.clear();
    return all.flatMap((left) => split(left));
  }

  /** Of statements with the same key, keeps only the last. */
  #replace(sql: string, values: readonly unknown[], merging: Merging): void {
    const kind = `${merging.kind} ${String(values[0])}`;
    const known = this.#open.get(kind);
    if (known) known.values = [...values];
    else this.#push(kind, { sql, values: [...values], merging, shape: null });
  }

  #addRow(sql: string, row: unknown[], merging: Merging): void {
    const shape = shapeOf(row);
    const known = this.#open.get(merging.kind);
    if (known?.shape === shape) for (const value of row) known.values.push(value);
    else this.#push(merging.kind, { sql, values: row, merging, shape });
  }

  #push(kind: string, left: Left): void {
    this.#open.set(kind, left);
    this.#all.push(left);
  }
}

/** Which values are absent or not integers: for PostgreSQL, a row of another shape is another statement to prepare. */
const shapeOf = (row: readonly unknown[]): string =>
  row
    .map((value) => {
      if (value === null || value === undefined) return "0";
      return typeof value === "number" && !Number.isSafeInteger(value) ? "2" : "1";
    })
    .join("");

function split({ sql, values, merging }: Left): Statement[] {
  const { width = 1, textFor } = merging ?? {};
  if (textFor === undefined) return [{ sql, values }];
  const statements: Statement[] = [];
  for (let at = 0; at < values.length; ) {
    const left = (values.length - at) / width;
    const rows = ROWS.find((each) => each <= left) ?? 1;
    statements.push({ sql: textFor(rows), values: values.slice(at, at + rows * width) });
    at += rows * width;
  }
  return statements;
}
