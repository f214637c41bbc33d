import type { OddValues } from "./contract.ts";

const MAX_EXAMPLES = 3;
const MAX_CHARACTERS = 200;

/** Counts changed values of one column by reason, with the first ones as examples. */
export class Odd {
  readonly #found = new Map<string, { count: number; examples: string[] }>();

  /** Calls `example` only if it is kept. */
  add(reason: string, example: () => string): void {
    const found = this.#found.get(reason) ?? { count: 0, examples: [] };
    this.#found.set(reason, found);
    found.count += 1;
    if (found.examples.length < MAX_EXAMPLES)
      found.examples.push(example().slice(0, MAX_CHARACTERS).toWellFormed());
  }

  /** Adds the counts of another instance. */
  take(other: Odd): void {
    for (const [reason, { count, examples }] of other.#found) {
      const own = this.#found.get(reason) ?? { count: 0, examples: [] };
      const all = [...own.examples, ...examples].slice(0, MAX_EXAMPLES);
      this.#found.set(reason, { count: own.count + count, examples: all });
    }
  }

  of(column: string): OddValues[] {
    return [...this.#found].map(([reason, found]) => ({ column, reason, ...found }));
  }
}
