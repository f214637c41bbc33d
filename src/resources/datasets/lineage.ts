import { and, desc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { Context, WriteContext } from "../../context.ts";
import type { LakeRead } from "../../lake/contract.ts";
import { lakeLoads, lakeReads, lakeTables } from "./table.ts";
import type { DatasetRef, Lineage } from "./wire.ts";

/** The run that read, and the load that it created. */
interface Reader {
  actionRunId: string;
  actionId: string | null;
  kind: string;
  loadId: string | null;
}

/** Records what a run read, in the transaction that completes it. */
export async function recordReads(
  tx: WriteContext,
  reader: Reader,
  reads: readonly LakeRead[],
): Promise<void> {
  const { organizationId } = tx;
  const readAt = timestamp(tx.clock);
  const rows = reads.map((read) => ({ id: tx.ids.uuid(), organizationId, ...read, ...reader, readAt }));
  if (rows.length > 0) await tx.db.insert(lakeReads).values(rows);
}

/** Returns the last loads of a dataset with their sources, and the last runs that read it. Throws `not_found`. */
export async function readLineage(ctx: Context, ref: DatasetRef, limit: number): Promise<Lineage> {
  const here = <T extends typeof lakeTables | typeof lakeLoads | typeof lakeReads>(table: T) =>
    and(
      eq(table.organizationId, ctx.organizationId),
      eq(table.layer, ref.layer),
      eq(table.dataset, ref.dataset),
    );
  const [known] = await ctx.db
    .select({ name: lakeTables.tableName })
    .from(lakeTables)
    .where(here(lakeTables))
    .limit(1);
  if (!known) throw notFound("dataset");
  const loads = await ctx.db
    .select()
    .from(lakeLoads)
    .where(here(lakeLoads))
    .orderBy(desc(lakeLoads.id))
    .limit(limit);
  const reads = await ctx.db
    .select()
    .from(lakeReads)
    .where(here(lakeReads))
    .orderBy(desc(lakeReads.id))
    .limit(limit);
  const ids = loads.map(({ id }) => id);
  const sources = await ctx.db.select().from(lakeReads).where(inArray(lakeReads.loadId, ids));
  const made = reads.flatMap(({ loadId }) => loadId ?? []);
  const targets = await ctx.db.select().from(lakeLoads).where(inArray(lakeLoads.id, made));
  return {
    ...ref,
    writes: loads
      .sort((a, b) => b.seq - a.seq)
      .map(({ id, kind, actionRunId, actionId, committedAt }) => ({
        loadId: id,
        kind: kind === "" ? null : kind,
        actionRunId: actionRunId === "" ? null : actionRunId,
        actionId,
        committedAt,
        sources: sources
          .filter(({ loadId }) => loadId === id)
          .map(({ layer, dataset, tables }) => ({ layer, dataset, tables })),
      })),
    reads: reads.map(({ actionRunId, actionId, kind, tables, loadId, readAt }) => {
      const target = targets.find(({ id }) => id === loadId);
      return {
        actionRunId,
        actionId,
        kind,
        tables,
        readAt,
        loadId,
        target: target ? { layer: target.layer, dataset: target.dataset } : null,
      };
    }),
  };
}
