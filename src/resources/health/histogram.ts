/** Number of values of a kind, in total and up to each bucket limit. */
export interface Histogram {
  sum: number;
  count: number;
  within: number[];
}

/** Counts a value under `key`. `steps` are the upper bucket limits, ascending. */
export function observe(
  histograms: Map<string, Histogram>,
  steps: readonly number[],
  key: string,
  value: number,
): void {
  const seen = histograms.get(key) ?? { sum: 0, count: 0, within: steps.map(() => 0) };
  if (seen.count === 0) histograms.set(key, seen);
  seen.sum += value;
  seen.count++;
  for (let at = steps.length - 1; at >= 0 && value <= (steps[at] ?? 0); at--)
    seen.within[at] = (seen.within[at] ?? 0) + 1;
}
