import type { OpenDatabase } from "./databases.ts";
import { ask, type Call } from "./weir.ts";

/** Rows that one run writes. */
export const WRITTEN = { appended: 200, copied: 300, doubled: 1_200 } as const;

/** Resources that the load works on for each database. */
export interface TableFlows {
  database: OpenDatabase;
  connectionId: string;
  /** Paths of webhooks. */
  append: string;
  bulk: string;
  /** IDs of automations that are started manually. */
  tally: string;
  back: string;
}

type Make = (name: string, triggerType: string, config: object) => Promise<{ id: string }>;

/** Creates the flows that write to tables of a database, two of which also read them there. */
export async function plantTables(
  call: Call,
  { make, hook, database }: { make: Make; hook: object; database: OpenDatabase },
): Promise<TableFlows> {
  const { provider, config, credentials } = database;
  await database.put("create table tally (name varchar(20) primary key, n bigint not null)");
  await database.put("insert into tally values ('all', 0)");
  await database.put("create table source (id bigint primary key, name varchar(40), amount numeric(12,2))");
  const row = (n: number) => `(${n}, ${n % 7 === 0 ? "null" : `'it''s "${n}", too'`}, ${n}.${n % 90})`;
  await database.put(
    `insert into source values ${Array.from({ length: WRITTEN.copied }, (_, n) => row(n)).join(", ")}`,
  );
  const { id: connectionId } = await ask(call, "POST", "/api/v1/connections", {
    name: provider,
    provider,
    config,
    credentials,
  });
  const read = (table: string) => ({
    key: "read",
    kind: "dlt_extract",
    connectionId,
    definition: {
      dataset: provider,
      resources: [{ name: table, spec: table, writeDisposition: "replace" }],
    },
  });
  const write = (table: string, sql: string, more: object = {}) => {
    const { output, files, ...step } = { output: {}, files: {}, ...more };
    return {
      key: table,
      kind: "duckdb_transform",
      definition: { sql, output: { connectionId, table, ...output }, files },
      ...step,
    };
  };
  const append = `append-${provider}`;
  await make(`Append, ${provider}`, "webhook", {
    ...hook,
    path: append,
    steps: [write("appended", `SELECT {{run.id}} AS run, i AS id FROM range(${WRITTEN.appended}) t(i)`)],
  });
  const tally = await make(`Tally, ${provider}`, "manual", {
    concurrency: { max: 1, policy: "queue" },
    steps: [
      read("tally"),
      write("tally", `SELECT name, n + 1 AS n FROM raw.${provider}__tally`, {
        dependsOn: ["read"],
        output: { writeDisposition: "merge", primaryKey: ["name"] },
      }),
    ],
  });
  const columns = "id, name, amount";
  const back = await make(`Back, ${provider}`, "manual", {
    steps: [
      read("source"),
      write("copied", `SELECT {{run.id}} AS run, ${columns} FROM raw.${provider}__source`, {
        dependsOn: ["read"],
      }),
      write("mirror", `SELECT ${columns} FROM raw.${provider}__source`, {
        dependsOn: ["read"],
        output: { writeDisposition: "replace" },
      }),
    ],
  });
  const bulk = `bulk-${provider}`;
  await make(`Bulk, ${provider}`, "webhook", {
    ...hook,
    path: bulk,
    steps: [
      {
        key: "each",
        kind: "run_script",
        forEach: { table: "marts.numbers", orderBy: "id" },
        maxParallel: 10,
        definition: {
          source: "export default (row) => ({ id: row.id, twice: row.id * 2 })",
          input: "{{item}}",
        },
      },
      write(
        "doubled",
        "SELECT {{run.id}} AS run, index AS id, CAST(result ->> '$.output.twice' AS BIGINT) AS twice FROM files.done WHERE status = 'completed'",
        {
          dependsOn: ["each"],
          files: { done: { file: { artifactId: "{{steps.each.result.artifactId}}" } } },
        },
      ),
    ],
  });
  return { database, connectionId, append, bulk, tally: tally.id, back: back.id };
}

/** Creates the lake table that the bulk steps process. */
export async function makeNumbers(call: Call, make: Make): Promise<void> {
  const { id } = await make("Numbers", "manual", {
    steps: [
      {
        key: "make",
        kind: "duckdb_transform",
        definition: {
          sql: `SELECT range AS id FROM range(${WRITTEN.doubled})`,
          output: { layer: "marts", dataset: "numbers" },
        },
      },
    ],
  });
  const { id: runId } = await ask(call, "POST", `/api/v1/automations/${id}/run`, {});
  for (;;) {
    const { status, error } = await ask(call, "GET", `/api/v1/automation-runs/${runId}`);
    if (status === "completed") return;
    if (status === "failed") throw new Error(JSON.stringify(error));
    await Bun.sleep(50);
  }
}
