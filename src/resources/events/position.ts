/** Position and time of an event, as in its row. */
interface Landmark {
  seq: number;
  timestamp: string;
}

/**
 * Returns the first position whose event is at or after `target`, by bisection, or `end` if all are older.
 * `look` returns the first event at or after a position.
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
