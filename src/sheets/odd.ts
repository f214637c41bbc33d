import type { OddValues } from "./contract.ts";

const MAX_EXAMPLES = 3;
const MAX_CHARACTERS = 200;

/** Counts what happened to the values of one column, with the first of them as examples. */
export class Odd {
  readonly #found = new Map<string, { count: number; examples: string[] }>();

  /** `example` is asked for only where it is kept. */
  add(reason: string, example: () => string): void {
    const found = this.#found.get(reason) ?? { count: 0, examples: [] };
    this.#found.set(reason, found);
    found.count += 1;
    if (found.examples.length < MAX_EXAMPLES)
      found.examples.push(example().slice(0, MAX_CHARACTERS).toWellFormed());
  }

  /** Takes what another one has counted. */
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
