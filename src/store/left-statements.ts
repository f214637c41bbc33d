import type { Merging } from "./store.ts";

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Left {
  readonly sql: string;
  values: unknown[];
  readonly merging: Merging | undefined;
  /** Which values of each row are absent or not integers. */
  readonly shape: string | null;
  /** The rows that an update changes. */
  readonly keys: Set<unknown>;
}

/** Each number of rows is another statement for the server to prepare. */
const ROWS = [16, 8, 4, 3, 2, 1];

/**
 * Statements of a transaction whose results nobody awaits. Inserts of consecutive works into one table are merged, and
 * so are equal updates of several rows: 16 rows in one statement cost the server and this process half as much as 16
 * statements. What happens to one table keeps its order, since the database may number rows, and an update needs the
 * row. A statement that can't be merged keeps its position.
 */
export class LeftStatements {
  #all: Left[] = [];
  /** Statements since the last one that couldn't be merged, by kind. */
  #open = new Map<string, Left>();

  add(sql: string, values: readonly unknown[], merging: Merging | undefined): void {
    if (merging === undefined) {
      this.#open.clear();
      this.#all.push({ sql, values: [...values], merging, shape: null, keys: new Set() });
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
    else this.#push(kind, { sql, values: [...values], merging, shape: null, keys: new Set() });
  }

  #addRow(sql: string, row: unknown[], merging: Merging): void {
    const { kind, table, key } = merging;
    for (const [other, left] of this.#open)
      if (other !== kind && left.merging?.table === table) this.#open.delete(other);
    const shape = shapeOf(row);
    const known = this.#open.get(kind);
    const named = key === undefined ? undefined : row[key];
    if (known?.shape === shape && !known.keys.has(named)) for (const value of row) known.values.push(value);
    else this.#push(kind, { sql, values: row, merging, shape, keys: new Set() });
    if (key !== undefined) this.#open.get(kind)?.keys.add(named);
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
  const { width = 1, key, textFor } = merging ?? {};
  if (textFor === undefined) return [{ sql, values }];
  const nulls = values.slice(0, width).map((value) => value === null || value === undefined);
  const statements: Statement[] = [];
  for (let at = 0; at < values.length; ) {
    const left = (values.length - at) / width;
    const rows = ROWS.find((each) => each <= left) ?? 1;
    const taken = values.slice(at, at + rows * width);
    const isUpdate = key !== undefined && rows > 1;
    statements.push({
      sql: key !== undefined && rows === 1 ? sql : textFor(rows, nulls),
      values: isUpdate ? taken.filter((value) => value !== null && value !== undefined) : taken,
    });
    at += rows * width;
  }
  return statements;
}
