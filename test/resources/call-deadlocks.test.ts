import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const hold = { key: "hold", kind: "approval_gate", definition: { title: "Hold" } };
const need = (concurrencyKey: string) => ({
  key: "need",
  kind: "conditional_branch",
  definition: { ...branch(), concurrencyKey },
  dependsOn: ["hold"],
});
const call = (slug: string, more: object = {}) => ({
  kind: "call_automation",
  definition: { slug, ...more },
});

const run = async ({ owner }: Started, id: string) =>
  created(await owner("POST", `${AUTOMATIONS}/${id}/run`)).id as string;

/** The only run of an automation, once its gate is open. */
const atGate = async ({ owner }: Started, automationId: string) => {
  const isWaiting = ({ status }: { status: string }) => status === "waiting";
  const { runs } = await until(owner, `${AUTOMATIONS}/${automationId}/runs`, ({ runs }) =>
    runs.some(({ steps }: { steps: { status: string }[] }) => steps.some(isWaiting)),
  );
  return runs.find(({ steps }: { steps: { status: string }[] }) => steps.some(isWaiting));
};

/** Lets the run behind the gate continue, and returns its ID. */
async function release(app: Started, automationId: string): Promise<string> {
  const { id, steps } = await atGate(app, automationId);
  const { decisions } = (await app.owner("GET", "/api/v1/decisions?status=pending&limit=100")).body;
  const open = decisions.find((one: { subjectId: string }) => one.subjectId === steps[0].actionRunId);
  created({ ...(await app.owner("POST", `/api/v1/decisions/${open.id}/decide`, approved)), status: 201 });
  return id;
}
const approved = { decisionValue: "approved" };

/** Lets this run continue behind its gate. */
async function decideOn({ owner }: Started, runId: string): Promise<void> {
  const { steps } = await until(
    owner,
    `${AUTOMATION_RUNS}/${runId}`,
    ({ steps }) => steps[0].status === "waiting",
  );
  const { decisions } = (await owner("GET", "/api/v1/decisions?status=pending&limit=100")).body;
  const { id } = decisions.find((one: { subjectId: string }) => one.subjectId === steps[0].actionRunId);
  await owner("POST", `/api/v1/decisions/${id}/decide`, approved);
}

const needs = ({ owner }: Started, runId: string, status: string) =>
  until(owner, `${AUTOMATION_RUNS}/${runId}`, ({ steps }) => steps.at(-1).status === status);

describe("callers that each hold a key which the next one's call needs", () => {
  test.each([2, 3])(
    "don't wait forever if there are %d: the step that closes the circle fails",
    async (count) => {
      await using app = await startApp();
      const callers: string[] = [];
      const called: string[] = [];
      for (let at = 0; at < count; at++) {
        const steps = [hold, need(`key-${(at + 1) % count}`)];
        called.push((await makeAutomation(app.owner, { steps }, { name: `Called ${at}` })).id);
        const action = call(`called-${at}`, { concurrencyKey: `key-${at}` });
        const caller = await makeAutomation(app.owner, { action }, { name: `Caller ${at}` });
        callers.push(await run(app, caller.id));
      }
      for (const id of called) await atGate(app, id);
      const inLine: string[] = [];
      for (const id of called.slice(0, -1)) {
        inLine.push(await release(app, id));
        await needs(app, inLine.at(-1) ?? "", "pending");
      }
      const last = await automationRunEnd(app.owner, await release(app, called.at(-1) ?? ""));
      expect(last).toMatchObject({ status: "failed", error: { code: "call_deadlock", retryable: false } });
      expect(last.error.message).toContain("key-0");
      for (const id of inLine) expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
      const ends = [];
      for (const id of callers) ends.push((await automationRunEnd(app.owner, id)).status);
      expect(ends).toEqual([...inLine.map(() => "completed"), "failed"]);
    },
  );

  test("continue if no circle is closed, each in its turn", async () => {
    await using app = await startApp();
    const steps = [hold, need("shared")];
    const called = await makeAutomation(app.owner, { steps }, { name: "Called" });
    const free = await makeAutomation(app.owner, { steps: [hold] }, { name: "Free" });
    const holder = await makeAction(app.owner, call("free", { concurrencyKey: "shared" }));
    const caller = await makeAction(app.owner, call("called", { concurrencyKey: "own" }));
    const begin = async (id: string) => created(await app.owner("POST", `${ACTIONS}/${id}/run`)).id;
    const first = await begin(holder.id);
    const second = await begin(caller.id);
    await atGate(app, free.id);
    const waits = await release(app, called.id);
    await needs(app, waits, "pending");
    await release(app, free.id);
    expect((await runEnd(app.owner, first)).status).toBe("completed");
    expect((await runEnd(app.owner, second)).status).toBe("completed");
  });
});

test("a key that a caller holds while it is queued behind one that needs the key is reported, and the queue advances", async () => {
  await using app = await startApp();
  const config = { steps: [hold, need("shop")], concurrency: { max: 1 } };
  const narrow = await makeAutomation(app.owner, config, { name: "Narrow" });
  const first = await run(app, narrow.id);
  await atGate(app, narrow.id);
  const caller = await makeAction(app.owner, call("narrow", { concurrencyKey: "shop" }));
  const { id } = created(await app.owner("POST", `${ACTIONS}/${caller.id}/run`));
  await until(app.owner, `${RUNS}/${id}`, ({ status }) => status === "waiting");
  await release(app, narrow.id);
  expect(await automationRunEnd(app.owner, first)).toMatchObject({
    status: "failed",
    error: { code: "call_deadlock" },
  });
  const second = await release(app, narrow.id);
  expect(second).not.toBe(first);
  expect(await automationRunEnd(app.owner, second)).toMatchObject({ error: { code: "call_deadlock" } });
  expect(await runEnd(app.owner, id)).toMatchObject({ error: { code: "called_automation_failed" } });
});

deepTest(
  "a queue that can no longer advance after its limit was lowered is reported, and advances",
  async () => {
    await using app = await startApp();
    const steps = [hold, { ...need("shop"), when: "input == 'need'" }];
    const config = { steps, concurrency: { max: 2 } };
    const narrow = await makeAutomation(app.owner, config, { name: "Narrow" });
    const start = async (input: string) =>
      created(await app.owner("POST", `${AUTOMATIONS}/${narrow.id}/run`, { input })).id as string;
    const [needing, free] = [await start("need"), await start("free")];
    const caller = await makeAction(app.owner, call("narrow", { concurrencyKey: "shop", input: "free" }));
    const { id } = created(await app.owner("POST", `${ACTIONS}/${caller.id}/run`));
    await until(app.owner, `${RUNS}/${id}`, ({ status }) => status === "waiting");
    await decideOn(app, needing);
    await needs(app, needing, "pending"); // The queue advances once the free one has ended.
    await app.owner("PATCH", `${AUTOMATIONS}/${narrow.id}`, { config: { concurrency: { max: 1 } } });
    await decideOn(app, free);
    expect((await automationRunEnd(app.owner, free)).status).toBe("completed");
    expect(await runEnd(app.owner, id)).toMatchObject({
      status: "failed",
      error: { code: "called_automation_failed", details: { error: { code: "call_deadlock" } } },
    });
    expect((await automationRunEnd(app.owner, needing)).status).toBe("completed");
  },
);

deepTest(
  "a reported queue advances at the cost of the run that blocks it, not of those called before",
  async () => {
    await using app = await startApp();
    const steps = [hold, { ...need("shop"), when: "input == 'need'" }];
    const config = { steps, concurrency: { max: 2 } };
    const narrow = await makeAutomation(app.owner, config, { name: "Narrow" });
    const start = async (input: string) =>
      created(await app.owner("POST", `${AUTOMATIONS}/${narrow.id}/run`, { input })).id as string;
    const [needing, free] = [await start("need"), await start("free")];
    const begin = async (more: object) => {
      const caller = await makeAction(app.owner, call("narrow", { input: "free", ...more }));
      const { id } = created(await app.owner("POST", `${ACTIONS}/${caller.id}/run`));
      await until(app.owner, `${RUNS}/${id}`, ({ status }) => status === "waiting");
      return id as string;
    };
    const before = await begin({});
    const tying = await begin({ concurrencyKey: "shop" });
    await decideOn(app, needing);
    await needs(app, needing, "pending");
    await app.owner("PATCH", `${AUTOMATIONS}/${narrow.id}`, { config: { concurrency: { max: 1 } } });
    await decideOn(app, free);
    expect(await runEnd(app.owner, tying)).toMatchObject({
      error: { details: { error: { code: "call_deadlock" } } },
    });
    expect((await automationRunEnd(app.owner, needing)).status).toBe("completed");
    await release(app, narrow.id);
    expect((await runEnd(app.owner, before)).status).toBe("completed");
  },
);

test("a call is accepted if the queue's limit was raised, even if nothing has advanced in it yet", async () => {
  await using app = await startApp();
  const steps = [hold, { key: "across", ...call("{{input}}"), dependsOn: ["hold"] }];
  const start = async (name: string, input: string) => {
    const { id } = await makeAutomation(app.owner, { steps, concurrency: { max: 1 } }, { name });
    const { id: runId } = created(await app.owner("POST", `${AUTOMATIONS}/${id}/run`, { input }));
    return { id, runId };
  };
  const [west, east] = [await start("West", "east"), await start("East", "west")];
  await decideOn(app, west.runId);
  await until(app.owner, `${AUTOMATIONS}/${east.id}/runs?status=pending`, ({ total }) => total === 1);
  await atGate(app, east.id);
  await app.owner("PATCH", `${AUTOMATIONS}/${east.id}`, { config: { concurrency: { max: 2 } } });
  await decideOn(app, east.runId);
  const { steps: after } = await until(
    app.owner,
    `${AUTOMATION_RUNS}/${east.runId}`,
    ({ steps }) => !["pending", "running"].includes(steps[1].status),
  );
  expect(after[1]).toMatchObject({ status: "waiting", error: null });
});

test("a dataset isn't blocked by a run whose key its own caller holds", async () => {
  await using app = await startApp();
  const write = { sql: "select 1 as n", output: { layer: "marts", dataset: "shared" } };
  const steps = [hold, { key: "write", kind: "duckdb_transform", definition: write, dependsOn: ["hold"] }];
  const called = await makeAutomation(app.owner, { steps }, { name: "Called" });
  const caller = await makeAction(app.owner, call("called", { concurrencyKey: "shop" }));
  const { id } = created(await app.owner("POST", `${ACTIONS}/${caller.id}/run`));
  await atGate(app, called.id);
  const definition = { ...write, concurrencyKey: "shop" };
  const other = await makeAction(app.owner, { kind: "duckdb_transform", definition });
  const behind = created(await app.owner("POST", `${ACTIONS}/${other.id}/run`));
  await release(app, called.id);
  expect((await runEnd(app.owner, id)).status).toBe("completed");
  expect((await runEnd(app.owner, behind.id)).status).toBe("completed");
}, 120_000);
