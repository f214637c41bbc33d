import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { client, startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  makeAutomation,
  until,
} from "../support/work.ts";

const work = { kind: "conditional_branch", definition: branch() };
const HOUR = 3_600_000;

describe("a step with a delay", () => {
  test("waits until a time in the input, across a restart, and then runs once", async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-delay-"));
    try {
      let id = "";
      let token = "";
      {
        await using app = await startApp({ dataFolder });
        token = app.token;
        const steps = [
          { key: "first", ...work },
          { key: "later", ...work, dependsOn: ["first"], delay: { until: "{{input.at}}" } },
        ];
        const flow = await makeAutomation(app.owner, { steps });
        const at = new Date(Date.now() + HOUR).toISOString();
        id = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { at } })).id;
        const path = `${AUTOMATION_RUNS}/${id}`;
        const waiting = await until(app.owner, path, ({ status }) => status === "waiting");
        expect(waiting.displayStatus).toBe("Waiting");
        expect(waiting.steps[0].status).toBe("completed");
        expect(waiting.steps[1]).toMatchObject({ status: "waiting", delayUntil: at, actionRunId: null });
      }
      await using app = await startApp({ dataFolder, owner: false });
      const owner = client(app.origin, { authorization: `Bearer ${token}` });
      expect((await owner("GET", `${AUTOMATION_RUNS}/${id}`)).body.status).toBe("waiting");
      app.clock.turn(HOUR + 1_000);
      const run = await automationRunEnd(owner, id);
      expect([run.status, run.steps[1].status]).toEqual(["completed", "completed"]);
      expect((await owner("GET", `/api/v1/action-runs?automation_run_id=${id}`)).body.total).toBe(2);
    } finally {
      rmSync(dataFolder, { recursive: true });
    }
  });

  test("is skipped if its run is cancelled, or another step failed", async () => {
    await using app = await startApp();
    const later = { key: "later", ...work, delay: { seconds: 3600 } };
    const flow = await makeAutomation(app.owner, { steps: [later] });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    expect(run.status).toBe("waiting");
    const cancelled = (await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`)).body;
    expect([cancelled.status, cancelled.steps[0].status]).toEqual(["cancelled", "skipped"]);
    const failing = {
      key: "fails",
      kind: "conditional_branch",
      definition: branch("a", "input.nothing == 1"),
    };
    const both = await makeAutomation(app.owner, { steps: [later, failing] });
    const started = created(await app.owner("POST", `${AUTOMATIONS}/${both.id}/run`));
    const failed = await automationRunEnd(app.owner, started.id);
    expect(failed.steps.map(({ status }: { status: string }) => status)).toEqual(["skipped", "failed"]);
  });

  test("doesn't wait for a past time, and reports an invalid one", async () => {
    await using app = await startApp();
    const run = async (delay: object, input: unknown = {}) => {
      const flow = await makeAutomation(app.owner, { steps: [{ key: "a", ...work, delay }] });
      const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input }));
      return automationRunEnd(app.owner, id);
    };
    expect((await run({ until: "2020-01-01T00:00:00Z" })).status).toBe("completed");
    expect((await run({ seconds: "{{ input.s * 0 }}" }, { s: 3 })).status).toBe("completed");
    expect((await run({ until: "{{ date.add(now, -1, 'day') }}" })).status).toBe("completed");
    for (const [delay, why] of [
      [{ until: "{{input.at}}" }, "Use a time with a zone"],
      [{ seconds: "{{input.at}}" }, "Use a number from 0"],
      [{ until: "2999-01-01T00:00:00Z" }, "longer than a year"],
    ] as const)
      expect((await run(delay, { at: "soon" })).error).toMatchObject({
        code: "template_error",
        message: expect.stringContaining(why),
      });
    expect((await run({ until: "{{input.at}}" }, { at: null })).error.message).toStartWith(
      "Invalid delay.until of step a: null.",
    );
    expect((await run({ until: "{{input.later}}" }, { at: "soon" })).error).toMatchObject({
      message: 'delay.until: Template {{input.later}} has no value: input has no "later".',
      details: { path: ["delay", "until"], missing: "input.later" },
    });
  });

  test.each([
    ["runs", {}],
    ["runs for each item", { forEach: "{{[1]}}" }],
  ])("that %s is started once, also while it waits for its next attempt", async (_, more) => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 503 }));
    const definition = { url: receiver.url, retry: { maxAttempts: 2, backoffSeconds: [3_600] } };
    const flow = await makeAutomation(app.owner, {
      steps: [
        { key: "send", kind: "http_request", definition, delay: { seconds: 60 }, ...more },
        { key: "ask", kind: "approval_gate", definition: { title: "Go on?" } },
      ],
    });
    const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const path = `${AUTOMATION_RUNS}/${id}`;
    await until(app.owner, path, ({ displayStatus }) => displayStatus === "Waiting for approval");
    app.clock.turn(60_001);
    const waits = await until(
      app.owner,
      path,
      ({ steps: [send] }) => send.status === "waiting" && (send.actionRunId ?? send.items?.running),
    );
    const { body } = await app.owner("GET", "/api/v1/approvals");
    expect((await app.owner("POST", `/api/v1/approvals/${body.items[0].id}/approve`)).status).toBe(200);
    const asked = await until(app.owner, path, ({ steps: [, ask] }) => ask.status === "completed");
    expect(asked).toMatchObject({ status: "waiting", displayStatus: "Retrying" });
    expect(asked.steps[0]).toEqual(waits.steps[0]);
    app.clock.turn(3_600_001);
    const end = await automationRunEnd(app.owner, id);
    expect([end.status, receiver.got.length]).toEqual(["failed", 2]);
    expect((await app.owner("GET", `/api/v1/action-runs?automation_run_id=${id}`)).body.total).toBe(2);
  });

  test("is checked when it is saved", async () => {
    await using app = await startApp({ engine: false });
    for (const [delay, fault] of [
      [{}, "delay value_error"],
      [{ seconds: 1, until: "2026-01-01T00:00:00Z" }, "delay value_error"],
      [{ seconds: -1 }, "delay.seconds"],
      [{ seconds: "soon" }, "delay.seconds value_error"],
      [{ until: "tomorrow" }, "delay.until value_error"],
      [{ until: "2026-02-30T00:00:00Z" }, "delay.until value_error"],
      [{ until: "{{ nofunction() }}" }, "delay.until template_error"],
    ] as const) {
      const config = { steps: [{ key: "a", ...work, delay }] };
      const refused = await app.owner("POST", AUTOMATIONS, { name: "x", config });
      expect(faultsOf(refused)[0]).toContain(`body.config.steps.0.${fault}`);
    }
  });
});
