/** Columns of the grid, as in the API. */
export const COLUMNS = 12;
const MAX_HEIGHT = 100;

export interface Position {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const overlap = (a: Position, b: Position) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const within = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);

const byPosition = (a: Position, b: Position) => a.y - b.y || a.x - b.x;

/** Moves panels down until none overlap. Earlier panels keep their positions. */
function pushDown<P extends Position>(panels: readonly P[]): P[] {
  const placed: P[] = [];
  for (const panel of panels) {
    let { y } = panel;
    for (;;) {
      const below = placed
        .filter((other) => overlap({ ...panel, y }, other))
        .map((other) => other.y + other.height);
      if (below.length === 0) break;
      y = Math.max(...below);
    }
    placed.push({ ...panel, y });
  }
  return placed;
}

/** Moves panels up into free space. */
function pullUp<P extends Position>(panels: readonly P[]): P[] {
  const placed: P[] = [];
  for (const panel of panels.toSorted(byPosition)) {
    let { y } = panel;
    while (y > 0 && !placed.some((other) => overlap({ ...panel, y: y - 1 }, other))) y--;
    placed.push({ ...panel, y });
  }
  return placed;
}

/** The panels after one of them was moved or resized. Others make room, and gaps are closed. */
export function moved<P extends Position>(
  panels: readonly P[],
  key: string,
  to: Partial<Omit<Position, "key">>,
): P[] {
  const panel = panels.find((each) => each.key === key);
  if (!panel) return [...panels];
  const width = within(to.width ?? panel.width, 1, COLUMNS - (to.x === undefined ? panel.x : 0));
  const height = within(to.height ?? panel.height, 1, MAX_HEIGHT);
  const x = within(to.x ?? panel.x, 0, COLUMNS - width);
  const y = Math.max(to.y ?? panel.y, 0);
  const others = panels.filter((each) => each.key !== key).toSorted(byPosition);
  const places = pullUp(pushDown([{ ...panel, x, y, width, height }, ...others]));
  return panels.map((each) => places.find((place) => place.key === each.key) ?? each);
}

/** The panels without one of them. */
export function without<P extends Position>(panels: readonly P[], key: string): P[] {
  const left = panels.filter((each) => each.key !== key);
  const places = pullUp(left);
  return left.map((each) => places.find((place) => place.key === each.key) ?? each);
}

/** The first row below all panels. */
export const bottomOf = (panels: readonly Position[]): number =>
  Math.max(0, ...panels.map(({ y, height }) => y + height));
