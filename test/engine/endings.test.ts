import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { contextForRun } from "../../src/context.ts";
import { claimRuns } from "../../src/queue/claim.ts";
import { finishRun, finishRuns } from "../../src/queue/finish.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import type { RunRow } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, created, makeAutomation, RUNS, roomFor } from "../support/work.ts";

const left = { definition: {}, isResolved: true, progress: null, isProgressNew: false, logs: [] };
const request = { kind: "http_request", definition: { url: "http://127.0.0.1:9/" } };

test("a called run that ends with its caller stays cancelled even if a step of it ends in the same commit", async () => {
  await using app = await startApp({ engine: false });
  const steps = [
    { key: "slow", ...request },
    { key: "next", ...request, dependsOn: ["slow"] },
  ];
  const called = await makeAutomation(app.owner, { steps });
  const call = { kind: "call_automation", definition: { automationId: called.id } };
  const caller = await makeAutomation(app.owner, {
    steps: [
      { key: "call", ...call },
      { key: "side", ...request },
      { key: "after", ...request, dependsOn: ["side"] },
    ],
  });
  const started = created(await app.owner("POST", `${AUTOMATIONS}/${caller.id}/run`));
  const claimed = async () =>
    new Map((await claimRuns(app.app, roomFor(10))).runs.map((run) => [run.stepKey, run] as const));
  const [calling, side] = await claimed().then((runs) => [runs.get("call"), runs.get("side")]);
  const waits = {
    wait: "automation" as const,
    request: { automationId: called.id, slug: null, input: null, wait: true },
  };
  await finishRun(
    contextForRun(app.app, calling as RunRow),
    calling as RunRow,
    { status: "waiting", wait: waits },
    left,
    false,
  );
  const slow = (await claimed()).get("slow");
  await app.app.store.write((db) =>
    db.update(automationRuns).set({ automationVersion: 99 }).where(eq(automationRuns.id, started.id)),
  );

  const ends = [side, slow].map((run) => ({
    run: run as RunRow,
    outcome: { status: "completed" as const, result: {} },
    left,
    isItem: false,
  }));
  await finishRuns(app.app, () => ends);

  const stateOf = async (id: string) => {
    const { status, steps } = (await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
    return [
      status,
      Object.fromEntries(steps.map((step: RunRow & { key: string }) => [step.key, step.status])),
    ];
  };
  expect(await stateOf(started.id)).toEqual([
    "failed",
    { call: "cancelled", side: "completed", after: "skipped" },
  ]);
  const [run] = (await app.owner("GET", `${AUTOMATIONS}/${called.id}/runs`)).body.runs;
  expect(await stateOf(run.id)).toEqual(["cancelled", { slow: "completed", next: "skipped" }]);
  expect((await app.owner("GET", `${RUNS}?statuses=pending`)).body.runs).toEqual([]);
});
