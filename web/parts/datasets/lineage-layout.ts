import type { Reply } from "../../calls.ts";
import { arrange } from "../canvas/arrange.ts";
import { neighbour, sideOf } from "../canvas/keyboard.ts";
import { pathOf } from "../canvas/path.ts";

export type Lineage = Reply<"GET /api/v1/datasets/{layer}/{dataset}/lineage/graph">;
export type LineageNode = Lineage["nodes"][number];

export const WIDTH = 208;
export const HEIGHT = 52;
const MARGIN = 16;

/** Room for the arrowhead. */
const TIP = 4;

export function acrossOf({ nodes, edges }: Lineage) {
  const links = edges.map(({ from, to }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    branch: null,
  }));
  const { boxes, bends } = arrange(
    new Map(nodes.map(({ id }) => [id, { width: WIDTH, height: HEIGHT }])),
    links,
    true,
  );
  const all = [...boxes.values()];
  const [left, top] = [Math.min(...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y))];
  const places = new Map(
    [...boxes].map(([id, { x, y }]) => [id, { x: x - left + MARGIN, y: y - top + MARGIN }]),
  );
  const paths = links.flatMap(({ id, source, target }) => {
    const [from, to] = [places.get(source), places.get(target)];
    if (!from || !to) return [];
    const turns = (bends.get(id) ?? []).map(({ x, y }) => ({ x: x - left + MARGIN, y: y - top + MARGIN }));
    const points = [
      { x: from.x + WIDTH, y: from.y + HEIGHT / 2 },
      ...turns,
      { x: to.x - TIP, y: to.y + HEIGHT / 2 },
    ];
    return [{ id, source, target, path: pathOf(points, true) }];
  });
  const ends = [...places.values()];
  return {
    places,
    paths,
    width: Math.max(...ends.map(({ x }) => x)) + WIDTH + MARGIN,
    height: Math.max(...ends.map(({ y }) => y)) + HEIGHT + MARGIN,
  };
}

type Drawn = ReturnType<typeof acrossOf>;

/** The node that an arrow key moves to: along edges first, else the nearest in that direction. */
export function nextNode({ places, paths }: Drawn, id: string, key: string): string | null {
  const side = sideOf(key);
  if (!side) return null;
  const nodes = [...places].map(([each, position]) => ({ id: each, position }));
  return neighbour({ nodes, links: paths, isAcross: true }, id, side);
}
