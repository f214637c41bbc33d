import type { Merging } from "./store.ts";

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Left {
  readonly sql: string;
  values: unknown[];
  readonly merging: Merging | undefined;
}

/** Each number of rows is a statement that the server has to be told of once. */
const ROWS = [16, 8, 4, 2, 1];

/**
 * Statements of a transaction that nobody waits for. Rows of works that follow each other go into a table together: 16
 * rows cost the server and this process half of what 16 statements do. A statement that can't be merged keeps its
 * place between those before and after it.
 */
export class LeftStatements {
  #all: Left[] = [];
  /** Those since the last one that can't be merged, by kind. */
  #open = new Map<string, Left>();

  add(sql: string, values: readonly unknown[], merging: Merging | undefined): void {
    const left: Left = { sql, values: [...values], merging };
    if (merging === undefined) this.#open.clear();
    else {
      const isRows = merging.textFor !== undefined;
      const kind = `${merging.kind} ${isRows ? shapeOf(values) : String(values[0])}`;
      const known = this.#open.get(kind);
      if (known) {
        if (isRows) for (const value of values) known.values.push(value);
        else known.values = left.values;
        return;
      }
      this.#open.set(kind, left);
    }
    this.#all.push(left);
  }

  /** All of them in order, which are then no longer here. */
  take(): Statement[] {
    const all = this.#all;
    this.#all = [];
    this.#open.clear();
    return all.flatMap((left) => split(left));
  }
}

/** Which values are absent or no whole numbers: to PostgreSQL, rows of another shape are another statement to prepare. */
const shapeOf = (values: readonly unknown[]): string =>
  values
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
