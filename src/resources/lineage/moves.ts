import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { lakeLoads, lakeReads } from "../datasets/table.ts";
import type { DatasetRef } from "../datasets/wire.ts";

/** Maximum number of loads and reads of one dataset in a graph. */
const NEWEST = 20;

/** A run's write to a dataset, or read from it. */
export interface Move extends DatasetRef {
  loadId: string | null;
  kind: string;
  actionId: string | null;
  runId: string;
  at: string;
  automationId: string | null;
  stepKey: string | null;
  connectionId: string | null;
}

interface Row extends DatasetRef {
  load_id: string | null;
  kind: string;
  action_id: string | null;
  run_id: string;
  at: string;
  automation_id: string | null;
  step_key: string | null;
  connection_id: string | null;
}

/** Returns the newest of each dataset in one statement. An index finds them without reading the rest. */
async function newest(
  ctx: Context,
  from: "lake_loads" | "lake_reads",
  refs: readonly DatasetRef[],
): Promise<Move[]> {
  const columns: Record<typeof from, SQL> = {
    lake_loads: sql`m.id as load_id, m.committed_at as at`,
    lake_reads: sql`m.load_id as load_id, m.read_at as at`,
  };
  const parts = refs.map(
    ({ layer, dataset }, at) => sql`select * from (
      select m.layer, m.dataset, m.kind, m.action_id, m.action_run_id as run_id, ${columns[from]}
      from ${sql.identifier(from)} m
      where m.organization_id = ${ctx.organizationId} and m.layer = ${layer} and m.dataset = ${dataset}
      order by m.id desc limit ${NEWEST}) ${sql.identifier(`part_${at}`)}`,
  );
  const rows = (await ctx.db.all(sql`
    select moves.*, r.connection_id, r.step_key, f.automation_id
    from (${sql.join(parts, sql` union all `)}) moves
    left join action_runs r on r.id = moves.run_id
    left join automation_runs f on f.id = r.automation_run_id`)) as Row[];
  return rows.map((row) => ({
    layer: row.layer,
    dataset: row.dataset,
    loadId: row.load_id,
    kind: row.kind,
    actionId: row.action_id,
    runId: row.run_id,
    at: row.at,
    automationId: row.automation_id,
    stepKey: row.step_key,
    connectionId: row.connection_id,
  }));
}

export interface Related {
  move: Move;
  /** The sources of a load, or the target of a read. */
  others: readonly DatasetRef[];
}

const listed = (ids: readonly (string | null)[]) =>
  sql`(select value from json_each(${JSON.stringify([...new Set(ids.filter((id) => id !== null))])}))`;

/** Returns the newest loads of the datasets, with the sources of each. */
export async function writesOf(ctx: Context, refs: readonly DatasetRef[]): Promise<Related[]> {
  const moves = await newest(ctx, "lake_loads", refs);
  const { layer, dataset, loadId } = lakeReads;
  const sources = await ctx.db
    .select({ layer, dataset, loadId })
    .from(lakeReads)
    .where(
      and(
        eq(lakeReads.organizationId, ctx.organizationId),
        sql`${loadId} in ${listed(moves.map((move) => move.loadId))}`,
      ),
    );
  return moves.map((move) => ({ move, others: sources.filter((source) => source.loadId === move.loadId) }));
}

/** Returns the newest reads of the datasets, with the target of each. */
export async function readsOfDatasets(ctx: Context, refs: readonly DatasetRef[]): Promise<Related[]> {
  const moves = await newest(ctx, "lake_reads", refs);
  const { id, layer, dataset } = lakeLoads;
  const targets = await ctx.db
    .select({ id, layer, dataset })
    .from(lakeLoads)
    .where(
      and(
        eq(lakeLoads.organizationId, ctx.organizationId),
        sql`${id} in ${listed(moves.map((move) => move.loadId))}`,
      ),
    );
  return moves.map((move) => ({ move, others: targets.filter((target) => target.id === move.loadId) }));
}
