import { and, desc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { lakeLoads, lakeTables } from "../datasets/table.ts";
import type { DatasetRef } from "../datasets/wire.ts";
import { namesOfRuns } from "../runs/names.ts";
import { actionRuns } from "../runs/table.ts";
import { isHidden } from "../runs/wire-private.ts";
import type { LoadPage, LoadQuery } from "./wire.ts";

/** Number of loads from which a dataset's load interval is estimated. */
const MEASURED = 21;

/** Returns a dataset's loads, newest first, and its freshness. Throws `not_found`. */
export async function listLoads(ctx: Context, ref: DatasetRef, query: LoadQuery): Promise<LoadPage> {
  const { limit, offset } = query;
  const here = <T extends typeof lakeTables | typeof lakeLoads>(table: T) =>
    and(
      eq(table.organizationId, ctx.organizationId),
      eq(table.layer, ref.layer),
      eq(table.dataset, ref.dataset),
    );
  const tables = await ctx.db
    .select({ keptFrom: lakeTables.keptFrom })
    .from(lakeTables)
    .where(here(lakeTables));
  if (tables.length === 0) throw notFound("dataset");
  const loads = await ctx.db
    .select()
    .from(lakeLoads)
    .where(here(lakeLoads))
    .orderBy(desc(lakeLoads.id))
    .limit(limit)
    .offset(offset);
  const total = await totalOf(query, loads, () => ctx.db.$count(lakeLoads, here(lakeLoads)));
  const runIds = loads.map(({ actionRunId }) => actionRunId).filter((id) => id !== "");
  const runs = runIds.length === 0 ? [] : await runsBy(ctx, runIds);
  const seen = runs.filter((run) => !isHidden(ctx, run));
  const names = await namesOfRuns(ctx, seen);
  return {
    loads: loads.map(({ id, kind, actionRunId, actionId, committedAt, seq, tables: counts }) => {
      const run = seen.find((one) => one.id === actionRunId);
      const flow = run?.automationRunId ? names.automations.get(run.automationRunId) : undefined;
      return {
        loadId: id,
        kind: kind === "" ? null : kind,
        committedAt,
        actionRunId: actionRunId === "" ? null : actionRunId,
        actionId,
        actionName: actionId === null ? null : (names.actions.get(actionId) ?? null),
        automationId: flow?.id ?? null,
        automationName: flow?.name ?? null,
        tables: counts,
        isKept: tables.every(({ keptFrom }) => keptFrom <= seq),
      };
    }),
    hasNext: offset + loads.length < total,
    limit,
    offset,
    total,
    freshness: await freshnessOf(ctx, here(lakeLoads)),
  };
}

const runsBy = (ctx: Context, ids: readonly string[]) =>
  ctx.db
    .select({
      id: actionRuns.id,
      actionId: actionRuns.actionId,
      automationRunId: actionRuns.automationRunId,
      privateTo: actionRuns.privateTo,
    })
    .from(actionRuns)
    .where(and(eq(actionRuns.organizationId, ctx.organizationId), inArray(actionRuns.id, [...ids])));

/** Returns the time of the last load, and the median interval between recent loads. */
async function freshnessOf(ctx: Context, where: ReturnType<typeof and>): Promise<LoadPage["freshness"]> {
  const last = await ctx.db
    .select({ committedAt: lakeLoads.committedAt })
    .from(lakeLoads)
    .where(where)
    .orderBy(desc(lakeLoads.id))
    .limit(MEASURED);
  const times = last.map(({ committedAt }) => Date.parse(committedAt));
  const [newest] = times;
  if (newest === undefined) return { lastLoadAt: null, usualSeconds: null, expectedAt: null, isLate: false };
  const gaps = times
    .slice(1)
    .map((at, before) => Math.abs((times[before] ?? at) - at))
    .sort((a, b) => a - b);
  const usual = gaps.length < 2 ? undefined : gaps[Math.floor(gaps.length / 2)];
  const expectedAt = usual === undefined ? null : new Date(newest + usual).toISOString();
  const patience = usual === undefined ? null : new Date(newest + 2 * usual).toISOString();
  return {
    lastLoadAt: new Date(newest).toISOString(),
    usualSeconds: usual === undefined ? null : Math.round(usual / 1000),
    expectedAt,
    isLate: patience !== null && patience < timestamp(ctx.clock),
  };
}
