interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Starts and ends vertically, or with `isAcross` horizontally,
 * and passes through the points that the arrangement keeps free between the boxes.
 */
export function pathOf(points: readonly Point[], isAcross = false): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  let last = first;
  for (const point of rest) {
    const [x, y] = [(last.x + point.x) / 2, (last.y + point.y) / 2];
    const bend = isAcross ? `${x} ${last.y} ${x} ${point.y}` : `${last.x} ${y} ${point.x} ${y}`;
    path += ` C${bend} ${point.x} ${point.y}`;
    last = point;
  }
  return path;
}
