import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, branch, flowToEnd, makeAutomation, RUNS } from "../support/work.ts";

const compile = Database.prototype.prepare;
let weir: Awaited<ReturnType<typeof startApp>>;
let statements: string[] = [];
beforeAll(async () => {
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: never[]) {
    statements.push(sql);
    return compile.call(this, sql, ...rest) as never;
  };
  weir = await startApp();
});
afterAll(async () => {
  Database.prototype.prepare = compile;
  await weir[Symbol.asyncDispose]();
});

/** How the statements of a request find runs. SQLite compiles each only the first time. */
async function searchesOf(path: string): Promise<string[]> {
  statements = [];
  const { status, text } = await weir.owner("GET", path);
  if (status !== 200) throw new Error(text);
  const file = new Database(join(weir.dataFolder, "weir.db"), { readonly: true });
  const searches = statements
    .filter(
      (sql) => /^\s*select\b/i.test(sql) && /\b(automation_runs|action_runs|webhook_deliveries)\b/.test(sql),
    )
    .flatMap((sql) => {
      const statement = compile.call(file, `EXPLAIN QUERY PLAN ${sql}`);
      const plan = statement.all() as { detail: string }[];
      statement.finalize();
      return plan.map(({ detail }) => detail);
    })
    .filter((step) => /^(SEARCH|SCAN) (automation_runs|action_runs|webhook_deliveries|r)\b/.test(step));
  file.close();
  return searches;
}

test("few runs and deliveries are found and counted without scanning the whole organization", async () => {
  const step = { key: "only", kind: "conditional_branch", definition: branch() };
  const { id } = await makeAutomation(weir.owner, { steps: [step] }, { name: "Closing" });
  await flowToEnd(weir.owner, id);
  const run = await flowToEnd(weir.owner, id);
  const [{ actionRunId }] = run.steps;
  const paths = [
    `${RUNS}?ids=${actionRunId}`,
    `${RUNS}?automation_run_id=${run.id}&limit=1`,
    `${AUTOMATIONS}/${id}/runs?limit=1`,
    `${AUTOMATION_RUNS}?automation_id=${id}&limit=1`,
    `${AUTOMATIONS}/${id}/runs?status=completed&limit=1`,
    `${AUTOMATION_RUNS}?q=closing&limit=1`,
    `${AUTOMATION_RUNS}?q=${run.id}&limit=1`,
    `/api/v1/webhook-deliveries?automation_id=${id}&limit=1`,
  ];
  const searches: string[] = [];
  for (const path of paths) searches.push(...(await searchesOf(path)));
  expect(searches.length).toBeGreaterThan(paths.length);
  // Those that didn't complete have their own indexes.
  const wide = searches.filter(
    (each) => /\(organization_id=\?\)$/.test(each) && !/_by_(error|status) /.test(each),
  );
  expect(wide).toEqual([]);
});
