import { and, eq, inArray, or } from "drizzle-orm";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { lakeTables } from "../datasets/table.ts";
import type { DatasetRef } from "../datasets/wire.ts";
import { datasetId, type Graph, openGraph } from "./graph.ts";
import { readsOfDatasets, writesOf } from "./moves.ts";
import { addReaders } from "./readers.ts";
import type { LineageGraph } from "./wire.ts";
import { nameWorkers, type Workers, workerOf } from "./workers.ts";

/** Maximum number of datasets on one side. */
const MOST_DATASETS = 40;

/**
 * Returns the sources and targets of a dataset, up to `depth` datasets away,
 * with a fixed number of statements per level. Throws `not_found`.
 */
export async function lineageGraph(ctx: Context, ref: DatasetRef, depth: number): Promise<LineageGraph> {
  const graph = openGraph();
  const workers: Workers = new Map();
  const above = await follow(ctx, ref, { depth, graph, workers, isUp: true });
  const below = await follow(ctx, ref, { depth, graph, workers, isUp: false });
  const tables = await tablesOf(ctx, [...above.refs, ...below.refs]);
  if (!tables.some(({ layer, dataset }) => layer === ref.layer && dataset === ref.dataset))
    throw notFound("dataset");
  for (const { layer, dataset, updatedAt } of tables) {
    const node = graph.nodes.get(datasetId({ layer, dataset }));
    if (node && (node.updatedAt === null || node.updatedAt < updatedAt)) node.updatedAt = updatedAt;
  }
  await nameWorkers(ctx, graph, workers);
  const isBelow = new Set(below.refs.map(datasetId));
  const read = tables.filter((table) => isBelow.has(datasetId(table)));
  const isCut = await addReaders(ctx, graph, read);
  return {
    nodes: [...graph.nodes.values()],
    edges: graph.edges(),
    truncated: above.isCut || below.isCut || isCut,
  };
}

interface Way {
  depth: number;
  graph: Graph;
  workers: Workers;
  isUp: boolean;
}

/** Adds one side of a dataset, level by level. Returns the datasets on it, including the dataset itself. */
async function follow(ctx: Context, start: DatasetRef, { depth, graph, workers, isUp }: Way) {
  const refs = new Map([[datasetId(start), start]]);
  let level: readonly DatasetRef[] = [start];
  let isCut = false;
  addDataset(graph, start);
  for (let step = 0; step < depth && level.length > 0; step++) {
    const next = new Map<string, DatasetRef>();
    for (const { move, others } of await (isUp ? writesOf : readsOfDatasets)(ctx, level)) {
      const worker = workerOf(workers, move, isUp ? move : (others[0] ?? null));
      const here = datasetId(move);
      graph.join(isUp ? worker : here, isUp ? here : worker, move.at);
      for (const { layer, dataset } of others) {
        const other = { layer, dataset };
        const id = datasetId(other);
        if (!refs.has(id) && refs.size < MOST_DATASETS) {
          refs.set(id, other);
          next.set(id, other);
          addDataset(graph, other);
        } else if (!refs.has(id)) isCut = true;
        graph.join(isUp ? id : worker, isUp ? worker : id, move.at);
      }
    }
    level = [...next.values()];
  }
  return { refs: [...refs.values()], isCut: isCut || level.length > 0 };
}

const addDataset = (graph: Graph, { layer, dataset }: DatasetRef) =>
  graph.add({
    id: datasetId({ layer, dataset }),
    type: "dataset",
    name: `${layer}.${dataset}`,
    layer,
    dataset,
  });

const tablesOf = (ctx: Context, refs: readonly DatasetRef[]) =>
  ctx.db
    .select({
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      table: lakeTables.tableName,
      updatedAt: lakeTables.updatedAt,
    })
    .from(lakeTables)
    .where(
      and(
        eq(lakeTables.organizationId, ctx.organizationId),
        or(
          ...[...Map.groupBy(refs, ({ layer }) => layer)].map(([layer, own]) =>
            and(
              eq(lakeTables.layer, layer),
              inArray(
                lakeTables.dataset,
                own.map(({ dataset }) => dataset),
              ),
            ),
          ),
        ),
      ),
    );
