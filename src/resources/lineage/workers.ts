import { and, eq, inArray } from "drizzle-orm";
import type { JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { automations } from "../automations/table.ts";
import { connections } from "../connections/table.ts";
import type { DatasetRef } from "../datasets/wire.ts";
import { actionRuns } from "../runs/table.ts";
import type { Graph } from "./graph.ts";
import type { Move } from "./moves.ts";

interface Worker {
  id: string;
  /** The newest one in the graph. */
  move: Move;
  isWriter: boolean;
}

/** What moves data, by ID. An action has one entry, however often it ran. */
export type Workers = Map<string, Worker>;

/** Returns the ID of what made a move. `target` is the dataset that it wrote, null if none. */
export function workerOf(workers: Workers, move: Move, target: DatasetRef | null): string {
  const id = idOf(move, target);
  const known = workers.get(id);
  const newest = known && known.move.at > move.at ? known.move : move;
  workers.set(id, { id, move: newest, isWriter: target !== null || known?.isWriter === true });
  return id;
}

function idOf(move: Move, target: DatasetRef | null): string {
  const { kind, actionId, automationId, stepKey } = move;
  if (actionId !== null) return `action:${actionId}`;
  if (automationId !== null && stepKey !== null) return `step:${automationId}:${stepKey}`;
  const { layer, dataset } = target ?? move;
  const type = kind === "upload" || kind === "sync" ? kind : target ? "run" : "read";
  return `${type}:${kind}:${layer}.${dataset}`;
}

/** Adds the workers' names, and the connections that they read and write. */
export async function nameWorkers(ctx: Context, graph: Graph, workers: Workers): Promise<void> {
  const moves = [...workers.values()].map(({ move }) => move);
  const actionRows = await actionsBy(ctx, idsOf(moves, "actionId"));
  const automationRows = await automationsBy(ctx, idsOf(moves, "automationId"));
  for (const { id, move } of workers.values()) {
    const { kind, actionId, automationId, stepKey } = move;
    const at = { kind: kind === "" ? null : kind };
    if (actionId !== null) {
      const found = actionRows.find((row) => row.id === actionId);
      const resourceId = found && found.deletedAt === null ? actionId : null;
      graph.add({ id, type: "action", name: found?.name ?? kind, resourceId, ...at });
    } else if (automationId !== null && stepKey !== null) {
      const found = automationRows.find((row) => row.id === automationId);
      const resourceId = found && found.deletedAt === null ? automationId : null;
      graph.add({ id, type: "step", name: found?.name ?? kind, resourceId, stepKey, ...at });
    } else if (kind === "upload" || kind === "sync") graph.add({ id, type: kind, name: kind });
    else graph.add({ id, type: "run", name: kind, ...at });
  }
  await addConnections(ctx, graph, workers);
}

const idsOf = (moves: readonly Move[], field: "actionId" | "automationId") =>
  moves.flatMap((move) => move[field] ?? []);

const actionsBy = (ctx: Context, ids: string[]) =>
  ctx.db
    .select({ id: actions.id, name: actions.name, deletedAt: actions.deletedAt })
    .from(actions)
    .where(and(eq(actions.organizationId, ctx.organizationId), inArray(actions.id, ids)));

const automationsBy = (ctx: Context, ids: string[]) =>
  ctx.db
    .select({ id: automations.id, name: automations.name, deletedAt: automations.deletedAt })
    .from(automations)
    .where(and(eq(automations.organizationId, ctx.organizationId), inArray(automations.id, ids)));

/** Fields of a definition that name a connection to write to. */
const TARGETS = new Set(["output", "destination"]);

/**
 * Adds connections of each worker's newest run:
 * its own, which a run that writes to the lake reads, and those named in its definition.
 */
async function addConnections(ctx: Context, graph: Graph, workers: Workers): Promise<void> {
  const definitions = await definitionsOf(ctx, workers);
  const links = [...workers.values()].flatMap(({ id, move, isWriter }) => {
    const definition = definitions.get(move.runId);
    const named = definition ? (ctx.executors[definition.kind]?.connections?.(definition.value) ?? []) : [];
    const { connectionId } = move;
    const isOwn = connectionId !== null && !named.some((each) => each.id === connectionId);
    return [
      ...named.map(({ path, id }) => ({ connectionId: id, isTarget: TARGETS.has(path[0] ?? "") })),
      ...(isOwn ? [{ connectionId, isTarget: !isWriter }] : []),
    ].map((link) => ({ ...link, worker: id, at: move.at }));
  });
  const rows = await ctx.db
    .select({ id: connections.id, name: connections.name, provider: connections.provider })
    .from(connections)
    .where(
      and(
        eq(connections.organizationId, ctx.organizationId),
        inArray(
          connections.id,
          links.map(({ connectionId }) => connectionId),
        ),
      ),
    );
  for (const { connectionId, isTarget, worker, at } of links) {
    const row = rows.find(({ id }) => id === connectionId);
    if (!row) continue;
    const id = graph.add({
      id: `connection:${row.id}`,
      type: "connection",
      name: row.name,
      kind: row.provider,
      resourceId: row.id,
    });
    if (isTarget) graph.join(worker, id, at);
    else graph.join(id, worker, at);
  }
}

async function definitionsOf(ctx: Context, workers: Workers) {
  const wanted = [...workers.values()].filter(
    ({ move: { kind } }) => ctx.executors[kind as keyof typeof ctx.executors]?.connections !== undefined,
  );
  const rows = await ctx.db
    .select({ id: actionRuns.id, kind: actionRuns.kind, value: actionRuns.definition })
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.organizationId, ctx.organizationId),
        inArray(
          actionRuns.id,
          wanted.map(({ move }) => move.runId),
        ),
      ),
    );
  return new Map(rows.map(({ id, kind, value }) => [id, { kind, value: value as JsonObject }]));
}
