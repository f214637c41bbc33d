import { useCallback, useEffect, useMemo, useState } from "react";
import { TRIGGER } from "./config.ts";
import type { FlowEdgeType } from "./edge.tsx";
import type { CanvasNode } from "./nodes.ts";

/** Maximum number of new cards per frame: hundreds at once would block the page noticeably. */
const AT_ONCE = 16;

/**
 * Nodes and edges to draw now. If many are new, a few are added per frame, starting with those near the selected step.
 * `bring` adds one immediately. It is null once all are drawn.
 */
export function useGradual(nodes: CanvasNode[], edges: FlowEdgeType[], chosen: string | null) {
  const [known, setKnown] = useState<ReadonlySet<string>>(() => nearest(nodes, chosen));
  const missing = useMemo(() => nodes.filter(({ id }) => !known.has(id)), [nodes, known]);
  useEffect(() => {
    if (missing.length === 0) return;
    const frame = requestAnimationFrame(() => setKnown(new Set([...known, ...nearest(missing, chosen)])));
    return () => cancelAnimationFrame(frame);
  }, [missing, known, chosen]);
  const bring = useCallback(
    (key: string) => setKnown((before) => (before.has(key) ? before : new Set([...before, key]))),
    [],
  );
  const isWhole = missing.length <= AT_ONCE;
  return useMemo(
    () =>
      isWhole
        ? { nodes, edges, bring: null }
        : {
            bring,
            nodes: nodes.filter(({ id }) => known.has(id)),
            edges: edges.filter(({ source, target }) => known.has(source) && known.has(target)),
          },
    [nodes, edges, known, isWhole, bring],
  );
}

function nearest(nodes: readonly CanvasNode[], chosen: string | null): ReadonlySet<string> {
  const from = (nodes.find(({ id }) => id === chosen) ?? nodes.find(({ id }) => id === TRIGGER) ?? nodes[0])
    ?.position;
  const awayOf = ({ position }: CanvasNode) =>
    from ? Math.abs(position.x - from.x) + Math.abs(position.y - from.y) : 0;
  return new Set(
    [...nodes]
      .sort((a, b) => awayOf(a) - awayOf(b))
      .slice(0, AT_ONCE)
      .map(({ id }) => id),
  );
}
