import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { actions } from "../actions/table.ts";
import { automationRuns, automations } from "../automations/table.ts";
import { namesOfSteps } from "./step-names.ts";
import type { RunRow } from "./table.ts";

const AMONG = sql`(select value from json_each(${sql.placeholder("ids")}))`;

const actionNames = prepared((db: ReadDb) =>
  db
    .select({ id: actions.id, name: actions.name })
    .from(actions)
    .where(and(eq(actions.organizationId, sql.placeholder("organizationId")), sql`${actions.id} in ${AMONG}`))
    .prepare(),
);

const automationNames = prepared((db: ReadDb) =>
  db
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
        eq(automationRuns.organizationId, sql.placeholder("organizationId")),
        sql`${automationRuns.id} in ${AMONG}`,
      ),
    )
    .prepare(),
);

const idsOf = (ids: readonly (string | null)[]): string[] => [...new Set(ids.filter((id) => id !== null))];

/** Returns the names of the actions, automations and steps of runs, in a fixed number of statements. */
export async function namesOfRuns(
  ctx: Context,
  rows: readonly Pick<RunRow, "actionId" | "automationRunId">[],
) {
  const { db, organizationId } = ctx;
  const ofActions = idsOf(rows.map(({ actionId }) => actionId));
  const ofFlows = idsOf(rows.map(({ automationRunId }) => automationRunId));
  const named =
    ofActions.length === 0
      ? []
      : await actionNames(db).all({ organizationId, ids: JSON.stringify(ofActions) });
  const flows =
    ofFlows.length === 0
      ? []
      : await automationNames(db).all({ organizationId, ids: JSON.stringify(ofFlows) });
  return {
    actions: new Map(named.map(({ id, name }) => [id, name])),
    automations: new Map(flows.map(({ runId, id, name }) => [runId, { id, name }])),
    stepName: await namesOfSteps(
      ctx,
      flows.map(({ runId, id, version }) => ({ id: runId, automationId: id, automationVersion: version })),
    ),
  };
}
