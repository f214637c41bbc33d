/** Values of a column that changed on the way from the source, and why. */
export interface OddValue {
  column: string;
  /** Change and cause, for example `became NULL: no date that Parquet holds`. */
  what: string;
  count: number;
  /** At most three. */
  examples: string[];
}

const MAX_EXAMPLES = 3;
const MAX_EXAMPLE_CHARACTERS = 200;

/** Counts changed values by column and cause, so that a load can report them. */
export class OddValues {
  readonly #found = new Map<string, OddValue>();

  add(column: string, what: string, example: string, count = 1): void {
    const key = `${column}\0${what}`;
    const known = this.#found.get(key);
    const odd = known ?? { column, what, count: 0, examples: [] };
    if (!known) this.#found.set(key, odd);
    odd.count += count;
    if (odd.examples.length < MAX_EXAMPLES) odd.examples.push(example.slice(0, MAX_EXAMPLE_CHARACTERS));
  }

  addAll({ column, what, count, examples }: OddValue): void {
    const [first = "", ...more] = examples;
    this.add(column, what, first, count - more.length);
    for (const example of more) this.add(column, what, example);
  }

  get all(): OddValue[] {
    return [...this.#found.values()];
  }
}

/** Warning for people: `orders.paid: 3 values became NULL: no date that Parquet holds ("infinity")`. */
export function oddSentence(table: string, { column, what, count, examples }: OddValue): string {
  const shown = examples.map((example) => JSON.stringify(example)).join(", ");
  return `${table}.${column}: ${count} ${count === 1 ? "value" : "values"} ${what}${shown === "" ? "" : ` (${shown}${count > examples.length ? ", …" : ""})`}.`;
}
