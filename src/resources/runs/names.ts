import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { automationRuns, automations } from "../automations/table.ts";
import { namesOfSteps } from "./step-names.ts";
import type { RunRow } from "./table.ts";

const among = (ids: readonly (string | null)[]) =>
  sql`(select value from json_each(${JSON.stringify([...new Set(ids.filter((id) => id !== null))])}))`;

/** Returns the names of the actions, automations and steps of runs, in a fixed number of statements. */
export async function namesOfRuns(
  ctx: Context,
  rows: readonly Pick<RunRow, "actionId" | "automationRunId">[],
) {
  const named = await ctx.db
    .select({ id: actions.id, name: actions.name })
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, ctx.organizationId),
        sql`${actions.id} in ${among(rows.map(({ actionId }) => actionId))}`,
      ),
    );
  const flows = await ctx.db
    .select({
      runId: automationRuns.id,
      id: automationRuns.automationId,
      version: automationRuns.automationVersion,
      name: automations.name,
    })
    .from(automationRuns)
    .leftJoin(automations, eq(automations.id, automationRuns.automationId))
    .where(
      and(
        eq(automationRuns.organizationId, ctx.organizationId),
        sql`${automationRuns.id} in ${among(rows.map(({ automationRunId }) => automationRunId))}`,
      ),
    );
  return {
    actions: new Map(named.map(({ id, name }) => [id, name])),
    automations: new Map(flows.map(({ runId, id, name }) => [runId, { id, name }])),
    stepName: await namesOfSteps(
      ctx,
      flows.map(({ runId, id, version }) => ({ id: runId, automationId: id, automationVersion: version })),
    ),
  };
}
