import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../base/clock.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { ApprovalPage } from "../../resources/approvals/wire.ts";
import type { AutomationRun, AutomationRunPage } from "../../resources/automations/wire.ts";
import type { RunPage } from "../../resources/runs/wire.ts";
import type { Client, Delivery } from "./client.ts";
import { count, counted, expect, type Scene } from "./stage.ts";

const POLL_MS = 100;
const PATIENCE_MS = 60_000;

/** A finished step of an automation run. */
interface EndedStep {
  status: string;
  seconds: number | null;
  result: JsonObject;
  error: string | null;
}

/** Results of a webhook. */
export interface Ended {
  automationRunId: string;
  correlationId: string;
  /** By key, in the automation's order. */
  steps: Record<string, EndedStep>;
  /** ID of the approval that the run waited for. Null if there was none. */
  approvalId: string | null;
}

interface Desk {
  client: Client;
  clock: Clock;
  scene: Scene;
  automationId: string;
}

/** Sends a webhook and returns its results. Shows the running step in the meantime. */
export async function sendAndWait(desk: Desk, delivery: Delivery): Promise<Ended> {
  const { client, scene } = desk;
  let isOpen = true;
  const watching = watch(desk, () => isOpen);
  const reply = await client.deliver(delivery).finally(() => {
    isOpen = false;
  });
  const approvalId = await watching;
  const body = isObject(reply.body) ? reply.body : {};
  const correlationId = reply.headers.get("x-correlation-id") ?? "";
  const automationRunId = String(body.automationRunId ?? "");
  scene.tell(
    "signed",
    `X-SVC-Timestamp: ${delivery.sentAt}   X-SVC-Signature: ${reply.signature.slice(0, 23)}…`,
  );
  scene.tell("answer", `${reply.status} ${String(body.status ?? body.detail)}   run ${automationRunId}`);
  scene.facts({ status: reply.status, automationRunId, correlationId });
  expect(
    reply.status === 200 || reply.status === 202,
    `The webhook returned ${reply.status}: ${JSON.stringify(reply.body)}`,
  );
  await untilOver(desk, automationRunId);
  return { automationRunId, correlationId, steps: await stepsOf(client, automationRunId), approvalId };
}

/**
 * Shows the running step until the sender has its response, and approves what waits for a person.
 * Returns the approval's ID.
 */
async function watch(
  { client, clock, scene, automationId }: Desk,
  isOpen: () => boolean,
): Promise<string | null> {
  let approved: string | null = null;
  const began = clock.monotonic();
  await clock.sleep(POLL_MS);
  while (isOpen()) {
    const { runs } = await client.get<Static<typeof AutomationRunPage>>(
      `/api/v1/automations/${automationId}/runs?limit=1`,
    );
    const step = runs[0]?.steps.find(({ status }) => status === "running" || status === "pending");
    const done = runs[0]?.steps.filter(({ completedAt }) => completedAt !== null).length ?? 0;
    const seconds = ((clock.monotonic() - began) / 1000).toFixed(1);
    if (step) scene.wait(`${step.key}, ${done} of ${runs[0]?.steps.length} steps done, ${seconds} s`);
    if (runs[0]?.steps.some(({ status }) => status === "waiting")) {
      const { items } = await client.get<Static<typeof ApprovalPage>>("/api/v1/approvals");
      const approval = items.find((item) => item.automationRunId === runs[0]?.id);
      if (approval) {
        await client.post(`/api/v1/approvals/${approval.id}/approve`, {});
        approved = approval.id;
      }
    }
    await clock.sleep(POLL_MS);
  }
  return approved;
}

async function untilOver({ client, clock, scene }: Desk, automationRunId: string): Promise<void> {
  const until = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const run = await client.get<Static<typeof AutomationRun>>(`/api/v1/automation-runs/${automationRunId}`);
    if (run.completedAt !== null) return;
    expect(clock.monotonic() < until, "The automation run didn't finish.");
    scene.wait(`Waiting for the run: ${run.displayStatus}`);
    await clock.sleep(POLL_MS);
  }
}

async function stepsOf(client: Client, automationRunId: string): Promise<Record<string, EndedStep>> {
  const run = await client.get<Static<typeof AutomationRun>>(`/api/v1/automation-runs/${automationRunId}`);
  const { runs } = await client.get<Static<typeof RunPage>>(
    `/api/v1/action-runs?automation_run_id=${automationRunId}&limit=100`,
  );
  return Object.fromEntries(
    run.steps.map(({ key, status, actionRunId, error }): [string, EndedStep] => {
      const own = runs.find(({ id }) => id === actionRunId);
      const result = isObject(own?.result) ? own.result : {};
      const message = typeof error?.message === "string" ? error.message : null;
      return [key, { status, seconds: own?.durationSeconds ?? null, result, error: message }];
    }),
  );
}

interface Loaded {
  mode: string;
  inserted: number;
  updated: number;
}

/** Shows each step with its duration and rows. Returns what the extract did to the orders. */
export function showSteps(scene: Scene, { steps }: Ended): Loaded {
  for (const [key, { status, seconds, result, error }] of Object.entries(steps)) {
    const time = seconds === null ? "" : `${seconds.toFixed(2)} s`;
    scene.tell(key, `${status.padEnd(10)} ${time.padStart(7)}   ${error ?? noteOf(result)}`.trimEnd());
  }
  scene.facts({
    steps: Object.entries(steps).map(([key, { status, seconds }]) => ({ key, status, seconds })),
  });
  const orders = tablesOf(steps.extract?.result ?? {}).find(({ table }) => table === "orders");
  return {
    mode: String(steps.extract?.result.mode ?? "not run"),
    inserted: orders?.inserted ?? 0,
    updated: orders?.updated ?? 0,
  };
}

interface TableCount {
  table: string;
  rows: number;
  inserted: number;
  updated: number;
}

const tablesOf = ({ tables }: JsonObject): TableCount[] =>
  (Array.isArray(tables) ? tables : []).filter(isObject).map((table) => ({
    table: String(table.table),
    rows: Number(table.rows),
    inserted: Number(table.inserted),
    updated: Number(table.updated),
  }));

/** Summarizes a result in a few words. */
function noteOf(result: JsonObject): string {
  const tables = tablesOf(result);
  if (tables.length > 0) return tables.map(({ table, rows }) => `${table} ${count(rows)}`).join(", ");
  if (typeof result.decisionValue === "string") return `${result.decisionValue} by the owner`;
  if (Array.isArray(result.panels)) return counted(result.panels.length, "panel");
  if (typeof result.branch === "string") return `branch ${result.branch}`;
  if (typeof result.status === "number") return `the receiver returned ${result.status}`;
  const { output, rows } = result;
  if (typeof rows !== "number") return "";
  return isObject(output)
    ? `${counted(rows, "row")} in ${output.layer}.${output.dataset}`
    : counted(rows, "row");
}
