/** Returns the name with the fewest edits from `word`. */
export function nearest(word: string, names: readonly string[]): string {
  const [first = ""] = names.toSorted((a, b) => distance(word, a) - distance(word, b));
  return first;
}

const MAX_TYPOS = 2;

/** Returns the name that `word` was probably meant to be: one it begins, or one a typo or two away. Null if none is. */
export function meant(word: string, names: readonly string[]): string | null {
  const begun = names.filter((name) => word.length > 1 && name.startsWith(word));
  const name = nearest(word, begun.length > 0 ? begun : names);
  const typos = Math.min(MAX_TYPOS, Math.floor(word.length / 3));
  return begun.length > 0 || distance(word, name) <= typos ? name : null;
}

/** Counts the letters to insert, delete or replace to turn `a` into `b`. */
export function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let at = 1; at <= b.length; at++) {
      const changed = (above[at - 1] ?? 0) + (a[row - 1] === b[at - 1] ? 0 : 1);
      line.push(Math.min(changed, (above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above.at(-1) ?? 0;
}
