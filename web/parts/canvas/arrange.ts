import type { Link } from "./config.ts";

export const WIDTH = 236;
export const HEIGHT = 64;
/** Height of the row of branches below a step that has some. */
export const BRANCHES = 26;
export const GAP_X = 28;
export const GAP_Y = 52;
/** With the direction right, the gap contains the row counts of edges. */
export const GAP_ACROSS = 84;
/** With the direction right, width of the column of branches next to a step. */
export const BRANCHES_ACROSS = 104;
/** Height of each branch in it. */
export const BRANCH_ACROSS = 26;

interface Size {
  readonly width: number;
  readonly height: number;
}
interface Box extends Size {
  readonly x: number;
  readonly y: number;
}
export interface Arrangement {
  readonly boxes: ReadonlyMap<string, Box>;
  /** Points where a long edge passes between the steps, by the edge's ID. */
  readonly bends: ReadonlyMap<string, readonly { x: number; y: number }[]>;
}

/** A step, or a placeholder for an edge that passes through its rank. */
interface Item extends Size {
  readonly key: string;
  readonly rank: number;
  readonly isPass: boolean;
  order: number;
  x: number;
}
interface Tie {
  readonly from: Item;
  readonly to: Item;
  /** Position on the bottom of `from`, relative to its center: branches are side by side. */
  readonly shift: number;
}
interface Graph {
  readonly ranks: readonly Item[][];
  readonly down: ReadonlyMap<Item, readonly Tie[]>;
  readonly up: ReadonlyMap<Item, readonly Tie[]>;
  readonly passes: ReadonlyMap<string, readonly Item[]>;
}

function push<K, V>(into: Map<K, V[]>, key: K, value: V): void {
  const known = into.get(key);
  if (known) known.push(value);
  else into.set(key, [value]);
}

/** Minimum number of steps before each: steps that can run at the same time have the same rank. */
function ranksOf(keys: Iterable<string>, links: readonly Link[]): ReadonlyMap<string, number> {
  const above = new Map<string, string[]>();
  for (const { source, target } of links) push(above, target, source);
  const found = new Map<string, number>();
  const way = new Set<string>();
  const rank = (key: string): number => {
    const known = found.get(key);
    if (known !== undefined) return known;
    way.add(key);
    const parents = (above.get(key) ?? []).filter((parent) => !way.has(parent));
    const own = Math.max(-1, ...parents.map(rank)) + 1;
    way.delete(key);
    found.set(key, own);
    return own;
  };
  for (const key of keys) rank(key);
  return found;
}

function graphOf(sizes: ReadonlyMap<string, Size>, links: readonly Link[]): Graph {
  const rankOf = ranksOf(sizes.keys(), links);
  const ranks: Item[][] = [];
  const add = (item: Omit<Item, "order" | "x">): Item => {
    ranks[item.rank] ??= [];
    const row = ranks[item.rank] as Item[];
    const added = { ...item, order: row.length, x: 0 };
    row.push(added);
    return added;
  };
  const items = new Map(
    [...sizes].map(([key, size]) => [key, add({ key, ...size, rank: rankOf.get(key) ?? 0, isPass: false })]),
  );
  const branches = new Map<string, string[]>();
  for (const { source, branch } of links)
    if (branch !== null && !branches.get(source)?.includes(branch)) push(branches, source, branch);
  const [down, up, passes] = [new Map<Item, Tie[]>(), new Map<Item, Tie[]>(), new Map<string, Item[]>()];
  const tie = (one: Tie) => {
    push(down, one.from, one);
    push(up, one.to, one);
  };
  for (const { id, source, target, branch } of links) {
    const [from, to] = [items.get(source), items.get(target)];
    if (!from || !to || to.rank <= from.rank) continue;
    const all = branches.get(source) ?? [];
    const shift = branch === null ? 0 : ((all.indexOf(branch) + 0.5) / all.length - 0.5) * from.width;
    let last = from;
    for (let rank = from.rank + 1; rank < to.rank; rank++) {
      const pass = add({ key: `${id}#${rank}`, width: 12, height: 0, rank, isPass: true });
      push(passes, id, pass);
      tie({ from: last, to: pass, shift: last === from ? shift : 0 });
      last = pass;
    }
    tie({ from: last, to, shift: last === from ? shift : 0 });
  }
  return { ranks, down, up, passes };
}

/** Counts inversions by merge sort: two edges between adjacent ranks cross if their ends are in opposite order. */
function inversions(ends: readonly number[]): number {
  if (ends.length < 2) return 0;
  const middle = ends.length >> 1;
  const [left, right] = [ends.slice(0, middle), ends.slice(middle)];
  let count = inversions(left) + inversions(right);
  left.sort((a, b) => a - b);
  right.sort((a, b) => a - b);
  let at = 0;
  for (const end of left) {
    while (at < right.length && (right[at] as number) < end) at++;
    count += at;
  }
  return count;
}

const crossings = ({ ranks, down }: Graph): number =>
  ranks.reduce((count, row) => {
    const ends = row
      .flatMap((item) => down.get(item) ?? [])
      .sort((a, b) => a.from.order - b.from.order || a.shift - b.shift || a.to.order - b.to.order)
      .map(({ to }) => to.order);
    return count + inversions(ends);
  }, 0);

function reorder(row: Item[], order: readonly Item[]): void {
  row.splice(0, row.length, ...order);
  row.forEach((item, at) => {
    item.order = at;
  });
}

/** Orders each rank by the averages of its neighbors, in alternating sweeps. Keeps the best result. */
function untangle(graph: Graph, sweeps = 12): void {
  const { ranks, up, down } = graph;
  let best = { count: crossings(graph), rows: ranks.map((row) => [...row]) };
  for (let sweep = 0; sweep < sweeps && best.count > 0; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? ranks.slice(1) : ranks.slice(0, -1).reverse()) {
      const wishes = new Map(
        row.map((item) => {
          const ties = (isDown ? up : down).get(item) ?? [];
          const middles = ties.map(({ from, to, shift }) =>
            isDown ? from.order + shift / (from.width * 1.01) : to.order,
          );
          const sum = middles.reduce((total, each) => total + each, 0);
          return [item, middles.length === 0 ? item.order : sum / middles.length];
        }),
      );
      const wish = (item: Item) => wishes.get(item) ?? 0;
      reorder(
        row,
        [...row].sort((a, b) => wish(a) - wish(b) || a.order - b.order),
      );
    }
    const count = crossings(graph);
    if (count < best.count) best = { count, rows: ranks.map((row) => [...row]) };
  }
  ranks.forEach((row, at) => {
    reorder(row, best.rows[at] as Item[]);
  });
}

const NO_TIES: readonly Tie[] = [];

interface Wish {
  readonly x: number;
  readonly weight: number;
}

/** Least squares with minimum distances between neighbors, by the pool adjacent violators algorithm. */
function line(row: readonly Item[], wishes: readonly Wish[]): void {
  const offsets: number[] = [];
  row.forEach((item, at) => {
    const before = row[at - 1];
    const gap = before?.isPass || item.isPass ? GAP_X / 2 : GAP_X;
    offsets.push(before ? (offsets[at - 1] as number) + (before.width + item.width) / 2 + gap : 0);
  });
  const pools: { sum: number; weight: number; count: number }[] = [];
  wishes.forEach(({ x, weight }, at) => {
    let pool = { sum: (x - (offsets[at] as number)) * weight, weight, count: 1 };
    for (
      let last = pools.at(-1);
      last && last.sum / last.weight > pool.sum / pool.weight;
      last = pools.at(-1)
    ) {
      pools.pop();
      pool = {
        sum: pool.sum + last.sum,
        weight: pool.weight + last.weight,
        count: pool.count + last.count,
      };
    }
    pools.push(pool);
  });
  let at = 0;
  for (const { sum, weight, count } of pools) {
    for (let n = 0; n < count; n++, at++) (row[at] as Item).x = sum / weight + (offsets[at] as number);
  }
}

/** Moves each rank as close as possible to its neighbors, keeping its order and gaps. */
function straighten({ ranks, up, down }: Graph, sweeps = 14): void {
  for (const row of ranks)
    line(
      row,
      row.map(() => ({ x: 0, weight: 1 })),
    );
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isDown = sweep % 2 === 0;
    // Sums instead of lists, since this runs for each step in each sweep, while the page waits.
    const wishOf = (item: Item): Wish => {
      let [sum, weight] = [0, 0];
      for (const { from, shift } of up.get(item) ?? NO_TIES) {
        const own = item.isPass && from.isPass ? 30 : isDown ? 2 : 1;
        sum += (from.x + shift) * own;
        weight += own;
      }
      for (const { to, shift } of down.get(item) ?? NO_TIES) {
        const own = item.isPass && to.isPass ? 30 : isDown ? 1 : 2;
        sum += (to.x - shift) * own;
        weight += own;
      }
      return weight === 0 ? { x: item.x, weight: 0.1 } : { x: sum / weight, weight };
    };
    for (const row of isDown ? ranks : [...ranks].reverse()) line(row, row.map(wishOf));
  }
}

const turned = ({ x, y }: { x: number; y: number }) => ({ x: y, y: x });

/**
 * Arranges steps from top to bottom, or with `isAcross` from left to right:
 * ranks of steps that can run at the same time, an order with few crossings, and edges as straight as possible.
 * Steps don't overlap, and edges bend only between ranks.
 */
export function arrange(
  sizes: ReadonlyMap<string, Size>,
  links: readonly Link[],
  isAcross = false,
  gap = GAP_Y,
): Arrangement {
  if (isAcross) {
    const swapped = [...sizes].map(
      ([key, { width, height }]) => [key, { width: height, height: width }] as const,
    );
    const { boxes, bends } = arrange(new Map(swapped), links, false, gap);
    return {
      boxes: new Map([...boxes].map(([key, box]) => [key, { ...box, ...turned(box), ...sizes.get(key) }])),
      bends: new Map([...bends].map(([id, points]) => [id, points.map(turned)])),
    };
  }
  const graph = graphOf(sizes, links);
  untangle(graph);
  straighten(graph);
  const boxes = new Map<string, Box>();
  const edges: { top: number; bottom: number }[] = [];
  let y = 0;
  for (const row of graph.ranks) {
    const height = Math.max(...row.map((item) => item.height));
    edges.push({ top: y - 6, bottom: y + height + 6 });
    for (const { isPass, key, width, height: own, x } of row)
      if (!isPass) boxes.set(key, { x: Math.round(x - width / 2), y, width, height: own });
    y += height + gap;
  }
  const bends = new Map(
    [...graph.passes].map(([id, passes]) => [
      id,
      passes.flatMap(({ x, rank }) => {
        const { top, bottom } = edges[rank] as { top: number; bottom: number };
        return [
          { x: Math.round(x), y: top },
          { x: Math.round(x), y: bottom },
        ];
      }),
    ]),
  );
  return { boxes, bends };
}
