import { and, desc, eq, or } from "drizzle-orm";
import { mapInSlices } from "../../base/slices.ts";
import type { Context } from "../../context.ts";
import { readsOf } from "../../lake/reads.ts";
import { contains } from "../../store/search.ts";
import { dashboards } from "../dashboards/table.ts";
import type { DatasetRef } from "../datasets/wire.ts";
import { savedQueries } from "../queries/table.ts";
import { datasetId, type Graph } from "./graph.ts";

/** Maximum number of queries, and of dashboards, in a graph. */
const MOST_OF_EACH = 100;

/** Adds the saved queries and dashboards whose SQL names one of the tables. Returns whether there may be more. */
export async function addReaders(
  ctx: Context,
  graph: Graph,
  tables: readonly (DatasetRef & { table: string })[],
): Promise<boolean> {
  const names = [...new Set(tables.map(({ dataset }) => dataset))];
  const queries = await ctx.db
    .select({ id: savedQueries.id, name: savedQueries.name, sql: savedQueries.sql })
    .from(savedQueries)
    .where(
      and(
        eq(savedQueries.organizationId, ctx.organizationId),
        or(...names.map((name) => contains(name, savedQueries.sql))),
      ),
    )
    .orderBy(desc(savedQueries.id))
    .limit(MOST_OF_EACH);
  const readsOfQueries = await mapInSlices(queries, ({ sql }) => readsOf(sql, tables));
  for (const [at, query] of queries.entries()) {
    const id = `query:${query.id}`;
    const reads = readsOfQueries[at] ?? [];
    if (reads.length > 0) graph.add({ id, type: "query", name: query.name, resourceId: query.id });
    for (const read of reads) graph.join(datasetId(read), id);
  }
  const shown = queries.filter(({ id }) => graph.nodes.has(`query:${id}`));
  const boards = await ctx.db
    .select({
      id: dashboards.id,
      name: dashboards.name,
      panels: dashboards.panels,
      filters: dashboards.filters,
    })
    .from(dashboards)
    .where(
      and(
        eq(dashboards.organizationId, ctx.organizationId),
        or(
          ...names.map((name) => contains(name, dashboards.panels, dashboards.filters)),
          ...shown.map(({ id }) => contains(id, dashboards.panels)),
        ),
      ),
    )
    .orderBy(desc(dashboards.id))
    .limit(MOST_OF_EACH);
  const parts = boards.flatMap(({ id, panels, filters }) =>
    [...panels, ...filters].map((part) => ({ id, sql: part.sql ?? "" })),
  );
  const readsOfParts = await mapInSlices(parts, ({ id, sql }) => ({ id, reads: readsOf(sql, tables) }));
  const readsByBoard = Map.groupBy(readsOfParts, ({ id }) => id);
  for (const { id: resourceId, name, panels } of boards) {
    const id = `dashboard:${resourceId}`;
    const reads = (readsByBoard.get(resourceId) ?? []).flatMap((part) => part.reads);
    const usedQueries = shown.filter((query) => panels.some(({ queryId }) => queryId === query.id));
    if (reads.length + usedQueries.length > 0) graph.add({ id, type: "dashboard", name, resourceId });
    for (const read of reads) graph.join(datasetId(read), id);
    for (const query of usedQueries) graph.join(`query:${query.id}`, id);
  }
  return queries.length === MOST_OF_EACH || boards.length === MOST_OF_EACH;
}
