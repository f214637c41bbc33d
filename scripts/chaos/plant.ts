import type { OpenDatabase } from "./databases.ts";
import { makeNumbers, plantTables, type TableFlows } from "./tables.ts";
import { ask, type Call } from "./weir.ts";

export const SECRET = "a secret of the chaos";
export const ROWS = 500;
export const OUTBOUND = ["action.created", "decision.*", "automation.completed"];

/** Resources that the load works on: IDs of automations, webhooks by path. */
export interface Plant {
  branch: string;
  effect: string;
  each: string;
  load: string;
  approval: string;
  caller: string;
  listener: string;
  /** By their `catchUp`, with the first scheduled time of each. */
  schedules: { id: string; catchUp: "none" | "last"; first: string }[];
  /** The subscription. */
  outbound: string;
  /** For each database. */
  tables: TableFlows[];
}

/** Creates everything that the load works on. */
export async function setUp(
  call: Call,
  receiver: string,
  databases: readonly OpenDatabase[] = [],
): Promise<Plant> {
  const make = async (name: string, triggerType: string, config: object) =>
    ask(call, "POST", "/api/v1/automations", { name, triggerType, config });
  await ask(call, "PATCH", "/api/v1/organizations/current", {
    webhookRate: { perMinute: 1_000_000, burst: 1_000_000 },
  });
  const hook = { secret: SECRET, waitSeconds: 0, retries: { backoffSeconds: [1] } };
  const effect = (key: string, more: object = {}) => ({
    key,
    kind: "http_request",
    definition: {
      url: `${receiver}/effect`,
      method: "POST",
      body: { run: "{{run.id}}" },
      retry: { maxAttempts: 8, backoffSeconds: [0, 1] },
    },
    ...more,
  });
  const always = { kind: "conditional_branch", definition: { branches: [{ key: "yes", when: "true" }] } };
  const big = { branches: [{ key: "big", when: "payload.n % 2 == 0" }], else: "small" };
  const route = { key: "route", kind: "conditional_branch", definition: big };

  const branch = await make("Branch", "webhook", {
    ...hook,
    path: "branch",
    waitSeconds: 5,
    steps: [route, { key: "again", ...always, dependsOn: ["route"] }],
  });
  const effects = await make("Effect", "webhook", {
    ...hook,
    path: "effect",
    steps: [route, effect("even", { dependsOn: ["route:big"] }), effect("after", { dependsOn: ["route"] })],
  });
  const each = await make("Each", "webhook", {
    ...hook,
    path: "each",
    steps: [
      effect("each", { forEach: "{{payload.items}}", maxParallel: 3 }),
      { key: "last", ...always, dependsOn: ["each"] },
    ],
  });
  const load = await make("Load", "webhook", { ...hook, path: "load", steps: await loadSteps(call) });
  const gate = {
    key: "gate",
    kind: "approval_gate",
    definition: { title: "Ship it?", expiresInSeconds: "{{input.seconds}}" },
  };
  const approval = await make("Approval", "manual", {
    steps: [gate, effect("ship", { dependsOn: ["gate"] })],
  });
  const callee = await make("Callee", "manual", { steps: [effect("work")] });
  const call_ = { kind: "call_automation", definition: { automationId: callee.id, wait: true } };
  const callerFlow = await make("Caller", "manual", {
    steps: [
      { key: "call", ...call_ },
      { key: "after", ...always, dependsOn: ["call"] },
    ],
  });
  const listener = await make("Listener", "event", { event: { types: ["action.created"] }, action: always });
  const schedules: Plant["schedules"] = [];
  for (const catchUp of ["none", "last"] as const) {
    const schedule = { cron: "* * * * * *", catchUp };
    const { id, nextRunAt } = await make(`Every second, ${catchUp}`, "schedule", {
      schedule,
      action: always,
    });
    schedules.push({ id, catchUp, first: nextRunAt });
  }
  if (databases.length > 0) await makeNumbers(call, make);
  const tables: TableFlows[] = [];
  for (const database of databases) tables.push(await plantTables(call, { make, hook, database }));
  const subscription = await ask(call, "POST", "/api/v1/webhooks", {
    url: `${receiver}/event`,
    events: OUTBOUND,
  });
  return {
    branch: branch.id,
    effect: effects.id,
    each: each.id,
    load: load.id,
    approval: approval.id,
    caller: callerFlow.id,
    listener: listener.id,
    schedules,
    outbound: subscription.id,
    tables,
  };
}

/** Loads a file into one table, and aggregates it into another. */
async function loadSteps(call: Call): Promise<object[]> {
  const connection = await ask(call, "POST", "/api/v1/connections", {
    name: "Files",
    provider: "local_files",
    config: {},
    credentials: {},
  });
  const row = (n: number) => JSON.stringify({ id: n, name: `row ${n}`, tags: [n, n + 1] });
  const lines = Array.from({ length: ROWS }, (_, n) => row(n)).join("\n");
  await ask(
    call,
    "PUT",
    `/api/v1/connections/${connection.id}/files?path=/rows.jsonl`,
    new TextEncoder().encode(lines),
  );
  const resource = { name: "rows", spec: "rows.jsonl", primaryKey: ["id"], writeDisposition: "merge" };
  return [
    {
      key: "extract",
      kind: "dlt_extract",
      connectionId: connection.id,
      definition: { dataset: "chaos", resources: [resource] },
    },
    {
      key: "sum",
      kind: "duckdb_transform",
      dependsOn: ["extract"],
      definition: {
        sql: "SELECT count(*) AS n, count(DISTINCT id) AS d FROM raw.chaos__rows",
        output: { layer: "marts", dataset: "sums" },
      },
    },
  ];
}
