/** Position and time of an event, as in its row. */
interface Landmark {
  seq: number;
  timestamp: string;
}

/**
 * The first position whose event is of `target` or later, found by halving; `end` where all are older. `look`
 * gives the first event at a position or after it.
 */
export async function firstSince(
  target: string,
  end: number,
  firstFrom: (seq: number) => Promise<Landmark | undefined>,
): Promise<number> {
  let low = (await firstFrom(0))?.seq ?? 0;
  let high = end;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await firstFrom(middle);
    if (found && found.timestamp < target) low = found.seq + 1;
    else high = middle;
  }
  return low;
}
