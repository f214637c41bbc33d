import type { DatasetRef } from "../datasets/wire.ts";
import type { LineageEdge, LineageNode } from "./wire.ts";

const BARE = {
  kind: null,
  resourceId: null,
  layer: null,
  dataset: null,
  stepKey: null,
  updatedAt: null,
} as const;

export const datasetId = ({ layer, dataset }: DatasetRef) => `dataset:${layer}.${dataset}`;

/** Collects nodes and edges, each once. */
export function openGraph() {
  const nodes = new Map<string, LineageNode>();
  const edges = new Map<string, LineageEdge>();
  return {
    nodes,
    add(node: Pick<LineageNode, "id" | "type" | "name"> & Partial<LineageNode>): string {
      if (!nodes.has(node.id)) nodes.set(node.id, { ...BARE, ...node });
      return node.id;
    },
    /** The last call's time is used. */
    join(from: string, to: string, at: string | null = null): void {
      const known = edges.get(`${from} ${to}`)?.at ?? null;
      const last = known !== null && (at === null || known > at) ? known : at;
      edges.set(`${from} ${to}`, { from, to, at: last });
    },
    /** Edges between existing nodes. */
    edges: () => [...edges.values()].filter(({ from, to }) => nodes.has(from) && nodes.has(to)),
  };
}

export type Graph = ReturnType<typeof openGraph>;
