import type { NodeChange, NodePositionChange } from "@xyflow/react";
import { type RefObject, useCallback, useRef } from "react";
import type { CanvasNode } from "./nodes.ts";
import { pathOf } from "./path.ts";

interface Point {
  x: number;
  y: number;
}

/** An edge of a dragged node: its lines, and their original end points. */
interface Edge {
  lines: readonly Element[];
  first: Point;
  last: Point;
  source: string;
  target: string;
}

interface Drag {
  isAcross: boolean;
  cards: ReadonlyMap<string, { element: HTMLElement; from: Point }>;
  edges: readonly Edge[];
}

const NUMBERS = /-?\d+(?:\.\d+)?/g;

/** Both end points of an SVG path. */
function endsOf(path: string): [Point, Point] {
  const [x = 0, y = 0, ...rest] = (path.match(NUMBERS) ?? []).map(Number);
  const [endX = x, endY = y] = rest.slice(-2);
  return [
    { x, y },
    { x: endX, y: endY },
  ];
}

interface Options {
  isAcross: boolean;
  box: RefObject<HTMLElement | null>;
  nodes: readonly CanvasNode[];
  edges: readonly { id: string; source: string; target: string }[];
  onNodesChange: (changes: NodeChange<CanvasNode>[]) => void;
}

function begin({ isAcross, box, nodes, edges }: Options, ids: ReadonlySet<string>): Drag {
  const within = box.current;
  const byId = (name: string, id: string) =>
    within?.querySelector<HTMLElement>(`.react-flow__${name}[data-id="${CSS.escape(id)}"]`) ?? null;
  const cards = nodes.flatMap(({ id, position }) => {
    const element = ids.has(id) ? byId("node", id) : null;
    return element ? [[id, { element, from: position }] as const] : [];
  });
  const near = edges.filter(({ source, target }) => ids.has(source) || ids.has(target));
  return {
    isAcross,
    cards: new Map(cards),
    edges: near.flatMap(({ id, source, target }) => {
      const lines = [...(byId("edge", id)?.querySelectorAll("path[d]") ?? [])];
      const path = lines[0]?.getAttribute("d");
      if (!path) return [];
      const [first, last] = endsOf(path);
      return [{ lines, first, last, source, target }];
    }),
  };
}

function draw({ isAcross, cards, edges }: Drag, changes: readonly NodePositionChange[]): void {
  const moved = new Map<string, Point>();
  for (const { id, position } of changes) {
    const card = cards.get(id);
    if (!card || !position) continue;
    moved.set(id, { x: position.x - card.from.x, y: position.y - card.from.y });
    card.element.style.transform = `translate(${position.x}px,${position.y}px)`;
  }
  const still = { x: 0, y: 0 };
  for (const { lines, first, last, source, target } of edges) {
    const [by, to] = [moved.get(source) ?? still, moved.get(target) ?? still];
    const path = pathOf(
      [
        { x: first.x + by.x, y: first.y + by.y },
        { x: last.x + to.x, y: last.y + to.y },
      ],
      isAcross,
    );
    for (const line of lines) line.setAttribute("d", path);
  }
}

/**
 * Moves dragged cards and their edges directly in the DOM, and updates React at the end:
 * rendering hundreds of cards with each pointer move takes longer than a frame.
 */
export function useDrag(options: Options) {
  const now = useRef(options);
  now.current = options;
  const drag = useRef<Drag | null>(null);
  return useCallback((changes: NodeChange<CanvasNode>[]) => {
    const moves = changes.filter((change) => change.type === "position");
    const isUnderWay = moves.length > 0 && moves.every(({ dragging }) => dragging === true);
    if (!isUnderWay || moves.length < changes.length) {
      drag.current = null;
      return now.current.onNodesChange(changes);
    }
    drag.current ??= begin(now.current, new Set(moves.map(({ id }) => id)));
    draw(drag.current, moves);
  }, []);
}
