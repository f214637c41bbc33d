import type { Answer, Client } from "../support/app.ts";
import { startApp } from "../support/app.ts";
import { connect } from "../support/connections.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { ACTIONS, created, makeAction, RUNS, runEnd } from "../support/work.ts";

/** What an organization's owner does with data, in short, over HTTP only. */
export function dataOf(owner: Client) {
  const place = {
    owner,
    /** Starts an action, newly created if a definition is given. Returns the run immediately. */
    async begin(kind: string, definition: object, more: object = {}) {
      const action = await makeAction(owner, { kind, name: kind, definition, ...more });
      return created(await owner("POST", `${ACTIONS}/${action.id}/run`));
    },
    async end(kind: string, definition: object, more: object = {}) {
      return runEnd(owner, (await place.begin(kind, definition, more)).id);
    },
    /** Waits for a run that must succeed, and returns its result. */
    async good(runId: string) {
      const run = await runEnd(owner, runId);
      if (run.status !== "completed") throw new Error(`${run.status} ${JSON.stringify(run.error)}`);
      return run.result;
    },
    /** An extract that can run repeatedly. */
    async extract(connectionId: string, definition: object) {
      const action = await makeAction(owner, {
        kind: "dlt_extract",
        name: "Extract",
        connectionId,
        definition,
      });
      const start = async (overrides?: object) =>
        created(
          await owner(
            "POST",
            `${ACTIONS}/${action.id}/run`,
            overrides ? { definitionOverrides: overrides } : undefined,
          ),
        );
      return {
        id: action.id as string,
        start,
        run: async (overrides?: object) => runEnd(owner, (await start(overrides)).id),
        result: async (overrides?: object) => place.good((await start(overrides)).id),
        state: async () => (await owner("GET", `${ACTIONS}/${action.id}/state`)).body.resources,
        reset: (body: object) => owner("POST", `${ACTIONS}/${action.id}/state/reset`, body),
      };
    },
    transform: async (definition: object) =>
      place.good((await place.begin("duckdb_transform", definition)).id),
    /** Rows of a SELECT. Any status but 200 fails the test. */
    async rows(sql: string, parameters: object = {}): Promise<Answer["body"][]> {
      const reply = await owner("POST", "/api/v1/query", { sql, parameters, limit: 10_000 });
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
      return reply.body.rows;
    },
    /** `rows`, `files` and `bytes` of a table in the list of datasets. */
    async sums(layer: string, dataset: string, table = dataset) {
      const { datasets } = (await owner("GET", `/api/v1/datasets?layer=${layer}&limit=100`)).body;
      const found = datasets.find((each: Answer["body"]) => each.dataset === dataset);
      return found?.tables.find((each: Answer["body"]) => each.name === table) ?? null;
    },
    async upload(connectionId: string, path: string, content: string | Uint8Array) {
      const to = `/api/v1/connections/${connectionId}/files?path=${encodeURIComponent(path)}`;
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      return created(await owner("PUT", to, bytes, { "content-type": "application/octet-stream" }));
    },
    logs: async (runId: string) =>
      (await owner("GET", `${RUNS}/${runId}/logs`)).body.items.map(
        (line: { message: string }) => line.message,
      ),
  };
  return place;
}

/** A server with its engine, and what its owner does with data. */
export async function startData(options: Parameters<typeof startApp>[0] = {}) {
  const app = await startApp(options);
  return { app, ...dataOf(app.owner), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

/** A connection to the test's PostgreSQL. */
export async function connectPostgres(owner: Client, pg: TestPostgres, more: object = {}): Promise<string> {
  const { host, port, database, user, password } = pg;
  return (
    await connect(owner, {
      name: `Shop ${crypto.randomUUID()}`,
      provider: "postgres",
      config: { host, port, database },
      credentials: { user, password },
      ...more,
    })
  ).id;
}

export async function connectFolder(owner: Client, root = "/"): Promise<string> {
  const name = `Files ${root}`;
  return (await connect(owner, { name, provider: "local_files", credentials: {}, config: { root } })).id;
}
