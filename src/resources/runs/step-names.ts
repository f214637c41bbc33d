import { sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { type AutomationRunRow, TEST_VERSION } from "../automations/table.ts";

type Named = Pick<AutomationRunRow, "id" | "automationId" | "automationVersion">;

interface NameRow {
  source: string;
  key: string;
  name: string;
}

/** Number of configs read per statement: parsing many long ones at once would block other requests. */
const CONFIGS_AT_ONCE = 10;

/**
 * Returns the names of the steps of automation runs, in the version that each run uses:
 * by the run's ID and the step's key, null for a step without a name.
 */
export async function namesOfSteps(
  ctx: Context,
  runs: readonly Named[],
): Promise<(runId: string | null, key: string | null) => string | null> {
  const sources = new Map(runs.map((run) => [run.id, sourceOf(run)]));
  const names = new Map<string, string>();
  const distinct = [...new Set(sources.values())];
  for (let at = 0; at < distinct.length; at += CONFIGS_AT_ONCE) {
    for (const { source, key, name } of await readNames(ctx, distinct.slice(at, at + CONFIGS_AT_ONCE)))
      names.set(`${source} ${key}`, name);
  }
  return (runId, key) =>
    runId === null || key === null ? null : (names.get(`${sources.get(runId)} ${key}`) ?? null);
}

/** Where the config is stored: in a version of the automation, or in the test run itself. */
const sourceOf = ({ id, automationId, automationVersion }: Named) =>
  automationVersion === TEST_VERSION ? `${id} ${TEST_VERSION}` : `${automationId} ${automationVersion}`;

const readNames = (ctx: Context, sources: readonly string[]) => {
  const pairs = JSON.stringify(sources.map((source) => source.split(" ")));
  return ctx.db.all<NameRow>(sql`
    with wanted as (
      select json_extract(p.value, '$[0]') as id, cast(json_extract(p.value, '$[1]') as bigint) as version
      from json_each(${pairs}) p
    ), configs as (
      select w.id, w.version, v.config from wanted w
      join automation_versions v on v.automation_id = w.id and v.version = w.version
      union all
      select w.id, w.version, c.config from wanted w
      join automation_run_configs c on c.automation_run_id = w.id
      where w.version = ${TEST_VERSION}
    )
    select c.id || ' ' || c.version as source, json_extract(step.value, '$.key') as key,
      json_extract(step.value, '$.name') as name
    from configs c, json_each(c.config, '$.steps') step
    where json_extract(step.value, '$.name') is not null`);
};
