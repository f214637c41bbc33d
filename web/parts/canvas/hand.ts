import type { NodeChange } from "@xyflow/react";
import { useCallback, useMemo, useRef, useState } from "react";
import type { Arrangement } from "./arrange.ts";
import { TRIGGER } from "./config.ts";
import type { CanvasNode, Sizes } from "./nodes.ts";

interface Held {
  readonly position?: { x: number; y: number };
  readonly selected?: boolean;
}
interface Over {
  /** The arrangement that the positions belong to. */
  readonly of: Arrangement;
  readonly states: ReadonlyMap<string, Held>;
}

/** Passes measured sizes back to the library, which would otherwise measure again on each render. */
export function useMeasured() {
  const [sizes, setSizes] = useState<Sizes>(new Map());
  const take = useCallback((changes: readonly NodeChange<CanvasNode>[]) => {
    const found = changes.filter((change) => change.type === "dimensions");
    setSizes((before) => {
      const isNew = ({ id, dimensions }: (typeof found)[number]) => {
        const old = before.get(id);
        return dimensions && (old?.width !== dimensions.width || old.height !== dimensions.height);
      };
      const news = found
        .filter(isNew)
        .flatMap(({ id, dimensions }) => (dimensions ? [[id, dimensions] as const] : []));
      return news.length === 0 ? before : new Map([...before, ...news]);
    });
  }, []);
  return { sizes, take };
}

interface Options {
  wanted: readonly CanvasNode[];
  arrangement: Arrangement;
  chosen: string | null;
  takeSizes: (changes: readonly NodeChange<CanvasNode>[]) => void;
}

/** Keeps gestures in progress separate from the document, and applies them when they end. */
export function useHand({ wanted, arrangement, chosen, takeSizes }: Options) {
  const [over, setOver] = useState<Over>({ of: arrangement, states: new Map() });
  const drawn = useRef(new Map<CanvasNode, CanvasNode>());
  const nodes = useMemo(() => {
    const next = new Map<CanvasNode, CanvasNode>();
    const made = wanted.map((node) => {
      const state = over.states.get(node.id);
      const selected = node.id === chosen || (state?.selected ?? false);
      const position = over.of === arrangement ? state?.position : undefined;
      if (!selected && !position) return node;
      const old = drawn.current.get(node);
      const isSame =
        old?.selected === selected &&
        old.position.x === (position ?? node.position).x &&
        old.position.y === (position ?? node.position).y;
      const own =
        old && isSame ? old : ({ ...node, selected, ...(position ? { position } : {}) } as CanvasNode);
      next.set(node, own);
      return own;
    });
    drawn.current = next;
    return made;
  }, [wanted, over, arrangement, chosen]);
  const moved = useMemo(() => {
    if (over.of !== arrangement) return "";
    return [...over.states].flatMap(([id, { position }]) => (position ? [id] : [])).join(" ");
  }, [over, arrangement]);

  const onNodesChange = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      takeSizes(changes);
      const own = changes.filter(({ type }) => type === "position" || type === "select");
      if (own.length === 0) return;
      setOver((now) => {
        const isSame = now.of === arrangement;
        const before = [...now.states].map(([id, own]): [string, Held] => [
          id,
          isSame ? own : { selected: own.selected ?? false },
        ]);
        const states = new Map(before);
        for (const change of own) {
          if (change.type === "position" && change.position)
            states.set(change.id, { ...states.get(change.id), position: change.position });
          if (change.type === "select")
            states.set(change.id, { ...states.get(change.id), selected: change.selected });
        }
        return { of: arrangement, states };
      });
    },
    [arrangement, takeSizes],
  );
  const select = useCallback(
    (ids: ReadonlySet<string>) =>
      setOver((now) => ({
        ...now,
        states: new Map(
          [...new Set([...now.states.keys(), ...ids])].map((id) => [
            id,
            { ...now.states.get(id), selected: ids.has(id) },
          ]),
        ),
      })),
    [],
  );
  return { nodes, moved, onNodesChange, select };
}

/** Keys of the selected steps. */
export const selectedSteps = (nodes: readonly CanvasNode[]): ReadonlySet<string> =>
  new Set(
    nodes.flatMap(({ id, type, selected }) => (selected && type === "step" && id !== TRIGGER ? [id] : [])),
  );
