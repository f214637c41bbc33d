import { and, eq, isNull, or, sql } from "drizzle-orm";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { apiCatalog } from "../api-catalog/table.ts";
import { automations } from "../automations/table.ts";
import { findConnection } from "./service.ts";
import type { ConnectionUses } from "./wire-uses.ts";

/** Lists what uses a connection: actions, steps of automations, catalog APIs. Throws `not_found`. */
export async function usesOf(ctx: Context, id: string): Promise<ConnectionUses> {
  const connection = await findConnection(ctx, id);
  const byActions = await ctx.db
    .select({ id: actions.id, name: actions.name })
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, ctx.organizationId),
        or(eq(actions.connectionId, connection.id), sql`instr(${actions.definition}, ${connection.id}) > 0`),
        isNull(actions.deletedAt),
      ),
    );
  const byAutomations = await ctx.db
    .select({ id: automations.id, name: automations.name, config: automations.config })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, ctx.organizationId),
        isNull(automations.deletedAt),
        sql`instr(${automations.config}, ${connection.id}) > 0`,
      ),
    );
  const byApis = await ctx.db
    .select({ id: apiCatalog.id, name: apiCatalog.name })
    .from(apiCatalog)
    .where(
      and(eq(apiCatalog.organizationId, ctx.organizationId), eq(apiCatalog.connectionId, connection.id)),
    );
  return {
    actions: byActions.toSorted(byName),
    automations: byAutomations
      .toSorted(byName)
      .map(({ id, name, config }) => ({ id, name, steps: stepsWith(config, connection.id) })),
    apis: byApis.toSorted(byName),
    total: byActions.length + byAutomations.length + byApis.length,
  };
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

/** Returns the keys of the steps that name it. Empty if only another part of the config does. */
function stepsWith({ steps }: JsonObject, id: string): string[] {
  return (Array.isArray(steps) ? steps : []).flatMap((step: Json) =>
    isObject(step) && typeof step.key === "string" && JSON.stringify(step).includes(id) ? [step.key] : [],
  );
}
