import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { startApp } from "./app.ts";
import { branch, flowToEnd, makeAction, makeAutomation, runToEnd } from "./work.ts";

type Started = Pick<Awaited<ReturnType<typeof startApp>>, "owner" | "dataFolder">;

export interface Crowd {
  automations: number;
  automationRuns: number;
  actions: number;
  actionRuns: number;
  datasets: number;
}

/** Copies a row with numbers from 1: `change` has SQL by column, in which `i` is the number. */
function copies(db: Database, table: string, where: string, count: number, change: Record<string, string>) {
  const columns = (db.query(`PRAGMA table_info(${table})`).all() as { name: string }[]).map(
    ({ name }) => name,
  );
  const values = columns.map((name) => change[name] ?? `one."${name}"`);
  db.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO ${table} (${columns.map((name) => `"${name}"`).join()})
     SELECT ${values.join()} FROM n, (SELECT * FROM ${table} WHERE ${where} LIMIT 1) one`,
    [count],
  );
}

const id = (prefix: string, number: string) => `printf('${prefix}-0000-7000-8000-%012d', ${number})`;
const at = (seconds: string) =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 days', (${seconds}) || ' seconds')`;

/** An ID as if created at that time, which determines the order in lists. */
const idAt = (seconds: string, number: string) => {
  const ms = `(unixepoch('now', '-30 days', (${seconds}) || ' seconds') * 1000)`;
  return `printf('%08x-%04x-7000-8000-%012d', ${ms} / 65536, ${ms} % 65536, ${number})`;
};

/** One run in a hundred has an error; one in ten thousand has a different text. */
const ERROR = `CASE WHEN i % 100 = 0 THEN json_object('code', 'http_status', 'retryable', json('false'),
  'message', CASE WHEN i % 10000 = 0 THEN 'The warehouse is closed: ' || i ELSE 'api.shop.example returned 503.' END) END`;

/**
 * A very large organization: copies of an automation, a run of it, an action, a run of that and a dataset,
 * created by SQL in a few seconds. The originals are created through the API.
 */
export async function fillCrowd(
  weir: Started,
  { automations, automationRuns, actions, actionRuns, datasets }: Crowd,
) {
  const step = (key: string, ...dependsOn: string[]) => ({
    key,
    kind: "conditional_branch",
    definition: branch(),
    ...(dependsOn.length > 0 ? { dependsOn } : {}),
  });
  const flow = await makeAutomation(weir.owner, { steps: [step("load"), step("tell", "load")] });
  const flowRun = await flowToEnd(weir.owner, flow.id, { input: { day: 1 } });
  const action = await makeAction(weir.owner, { name: "Ask" });
  const run = await runToEnd(weir.owner, action.id);
  const uploaded = await weir.owner(
    "PUT",
    "/api/v1/datasets/raw/crowd/upload?format=csv",
    "id,total\n1,2\n",
    { "content-type": "application/octet-stream" },
  );
  if (uploaded.status >= 300) throw new Error(`${uploaded.status} ${uploaded.text}`);
  const db = new Database(join(weir.dataFolder, "weir.db"));
  db.run("PRAGMA busy_timeout = 20000");
  db.run("PRAGMA synchronous = OFF");
  const aged = { created_at: at("i"), updated_at: at("i") };
  copies(db, "automations", `id = '${flow.id}'`, automations, {
    ...aged,
    id: id("01900001", "i"),
    name: "printf('Automation %04d', i)",
    slug: "printf('automation-%04d', i)",
    tags: "CASE WHEN i % 5 = 0 THEN '[\"finance\"]' ELSE '[]' END",
  });
  copies(db, "actions", `id = '${action.id}'`, actions, {
    ...aged,
    id: id("01900003", "i"),
    name: "printf('Action %04d', i)",
    slug: "printf('action-%04d', i)",
  });
  const status = "CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'completed' END";
  const started = {
    created_at: at("i * 8"),
    updated_at: at("i * 8"),
    started_at: at("i * 8"),
    completed_at: at("i * 8 + 2"),
  };
  copies(db, "automation_runs", `id = '${flowRun.id}'`, automationRuns, {
    ...started,
    id: idAt("i * 8", "i"),
    automation_id: id("01900001", `i % ${automations} + 1`),
    correlation_id: "printf('crowd-%d', i)",
    status,
    error: ERROR,
  });
  copies(db, "action_runs", `id = '${run.id}'`, actionRuns, {
    ...started,
    id: idAt("i * 8", "i + 500000"),
    action_id: id("01900003", `i % ${actions} + 1`),
    correlation_id: "printf('alone-%d', i)",
    status,
    error: ERROR,
  });
  copies(db, "lake_tables", "dataset = 'crowd'", datasets, {
    dataset: "printf('crowd_%03d', i)",
    table_name: "printf('crowd_%03d', i)",
    updated_at: at("i"),
  });
  db.close();
  return { flow, flowRun, action, run };
}
