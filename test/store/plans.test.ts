import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import type { Operation } from "../../src/http/operation.ts";
import { operations } from "../../src/server.ts";
import { startApp } from "../support/app.ts";
import { addHttp, httpApi } from "../support/catalog.ts";
import { connect, localFiles } from "../support/connections.ts";
import { makeHook, send } from "../support/hook.ts";
import { branch, created, makeAction, NOBODY } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

async function fill(weir: Started): Promise<Record<string, string>> {
  const make = async (path: string, body?: object) =>
    created(await weir.owner("POST", `/api/v1/${path}`, body));
  const connection = await connect(weir.owner, localFiles("Files"));
  const action = await makeAction(weir.owner);
  const run = await make(`actions/${action.id}/run`);
  const artifact = await make("artifacts", { actionRunId: run.id, kind: "text", content: "text" });
  const hook = await makeHook(weir, { action: { kind: "conditional_branch", definition: branch() } });
  const { deliveryId } = (await send(weir, "{}")).body;
  await make("api-keys", { name: "key" });
  await make("organizations/invitations", { email: "grace@example.com" });
  const definition = branch();
  const template = await make("templates", {
    slug: "template",
    displayName: "Template",
    templateType: "action",
    kind: "conditional_branch",
    definition,
  });
  const entry = await addHttp(weir.owner, httpApi("Shop"));
  return {
    api_id: entry.id,
    connection_id: connection.id,
    action_id: action.id,
    run_id: run.id,
    artifact_id: artifact.id,
    automation_id: hook.id,
    delivery_id: deliveryId,
    template_id: template.id,
  };
}

/**
 * Tables that always stay small: they have no rows of organizations, or one row per Slack user or watched automation;
 * organizations are listed in pages.
 */
const SMALL = new Set([
  "settings",
  "migrations",
  "counts",
  "organizations",
  "slack_links",
  "automation_watches",
]);

/** Every statement that SQLite compiled, and the request when it was first compiled. */
const seen = new Map<string, string>();
let asked = "the start";
const compile = Database.prototype.prepare;

let weir: Started;
/** One of each noun, by its name in paths. */
let ids: Readonly<Record<string, string>>;
beforeAll(async () => {
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: never[]) {
    if (/^\s*(select|with)\b/i.test(sql) && !seen.has(sql)) seen.set(sql, asked);
    return compile.call(this, sql, ...rest) as never;
  };
  weir = await startApp({ engine: false });
  ids = await fill(weir);
});
afterAll(async () => {
  Database.prototype.prepare = compile;
  await weir[Symbol.asyncDispose]();
});

/**
 * Returns whether an operation reads.
 * Streams use the statements of their lists, and figures of the whole installation are counted.
 */
const isRead = ({ method, path, produces }: Operation) =>
  method === "GET" && produces !== "text/event-stream" && path !== "/metrics";

/** Values of a query parameter that each lead to a different plan. */
function valuesOf(name: string, schema: TSchema): readonly string[] {
  if (name === "limit") return ["1"];
  if (name === "offset") return ["1"];
  if (name === "cursor" || name === "page_token" || name === "follow") return [];
  const members = (schema.anyOf ?? []) as TSchema[];
  if (Array.isArray(schema.enum)) return schema.enum.map(String);
  if (schema.type === "array") return valuesOf(name, schema.items as TSchema).slice(0, 2);
  if (schema.type === "boolean") return ["true", "false"];
  if (schema.type === "integer") return ["1"];
  if (schema.format === "uuid") return [NOBODY];
  if (schema.format === "date-time") return ["2026-01-01T00:00:00Z"];
  const consts = members.filter((one) => one.const !== undefined).map((one) => String(one.const));
  if (consts.length > 0) return consts;
  const inner = members.find((one) => one.type !== "null");
  if (inner) return valuesOf(name, inner);
  return name === "type" ? ["action.created", "action.*", "*"] : ["a"];
}

/**
 * Queries of a list: without parameters, with each parameter and value alone, and with every two parameters together.
 */
function queriesOf({ query }: Operation): string[] {
  const parameters = Object.entries(query?.properties ?? {})
    .map(([name, schema]) => ({ name, values: valuesOf(name, schema) }))
    .filter(({ values }) => values.length > 0);
  const one = (name: string, value: string) => `${name}=${encodeURIComponent(value)}`;
  const singles = parameters.flatMap(({ name, values }) => values.map((value) => one(name, value)));
  const pairs = parameters.flatMap(({ name, values }, at) =>
    parameters
      .slice(at + 1)
      .flatMap((other) =>
        values.flatMap((value) => other.values.map((two) => `${one(name, value)}&${one(other.name, two)}`)),
      ),
  );
  return ["", ...singles, ...pairs];
}

/** Steps of a plan that are too slow for a growing table. Empty for a good plan. */
function faultsOf(plan: readonly string[], tables: ReadonlySet<string>): string[] {
  return plan.filter((step) => {
    const [, table = ""] = /^SCAN (\w+)/.exec(step) ?? [];
    return (tables.has(table) && !SMALL.has(table)) || step.includes("TEMP B-TREE");
  });
}

test("no read scans a whole table, or sorts one", async () => {
  const tried: string[] = [];
  for (const operation of operations.filter(isRead)) {
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? NOBODY);
    for (const query of queriesOf(operation)) {
      asked = `${operation.path}?${query}`;
      const { status, text } = await weir.owner("GET", `${path}?${query}`);
      if (status === 500) throw new Error(`${asked}: ${text}`);
      if (status === 200) tried.push(asked);
    }
  }
  expect(tried.length).toBeGreaterThan(300);
  const file = new Database(join(weir.dataFolder, "weir.db"), { readonly: true });
  const all = <T>(sql: string): T[] => {
    const statement = compile.call(file, sql);
    const rows = statement.all() as T[];
    statement.finalize();
    return rows;
  };
  const tables = new Set(
    all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name),
  );
  const bad: string[] = [];
  for (const [sql, list] of [...seen].filter(([, list]) => list.includes("?"))) {
    // Any rows at all, or by their key: it ends with the limit.
    if (/ from "(\w+)"( order by "\1"\."id" desc)? limit \?$/.test(sql)) continue;
    // Operators search by a part of a name, in key order and one page at a time.
    if (list.startsWith("/api/v1/installation/users?") && / order by "users"\."id" desc limit \?$/.test(sql))
      continue;
    const plan = all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
    const faults = faultsOf(plan, tables);
    if (faults.length > 0) bad.push([list, ...faults, sql.slice(sql.indexOf(" from "))].join("\n  "));
  }
  file.close();
  expect(bad).toEqual([]);
});
