import { describe, expect, test } from "bun:test";
import { count, eq, sql } from "drizzle-orm";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  runToEnd,
  until,
} from "../support/work.ts";

const HOUR_MS = 3_600_000;
type Started = Awaited<ReturnType<typeof startApp>>;

const action = { kind: "conditional_branch", definition: branch() };
const onEvents = (app: Started, types: string[], more: object = {}, name = "Listener") =>
  makeAutomation(app.owner, { event: { types }, action, ...more }, { triggerType: "event", name });
const runsOf = async (app: Started, id: string, call = app.owner) =>
  (await call("GET", `${AUTOMATIONS}/${id}/runs?limit=100`)).body.runs;
const runsToCome = (app: Started, id: string, count: number) =>
  until(app.owner, `${AUTOMATIONS}/${id}/runs?limit=100`, ({ runs }) => runs.length >= count);

/** Waits until the follower has passed everything that is in the audit log now, with an event of its own. */
async function allFollowed(app: Started) {
  const probe = await onEvents(app, ["action.created"], {}, `Probe ${app.app.ids.uuid()}`);
  await makeAction(app.owner, { name: `Probe ${app.app.ids.uuid()}` });
  await runsToCome(app, probe.id, 1);
  await app.owner("DELETE", `${AUTOMATIONS}/${probe.id}`);
}

describe("creating a schedule", () => {
  test("responds with 201, the config as given and the time of its first run", async () => {
    await using app = await startApp({ engine: false });
    const config = { schedule: { cron: "0 6 * * *", timezone: "Europe/Berlin", catchUp: "last" }, action };
    const made = await makeAutomation(app.owner, config, { triggerType: "schedule", description: "Daily" });
    expect(made).toEqual({
      id: expect.any(String),
      name: "Flow",
      slug: "flow",
      description: "Daily",
      config,
      hasSecret: false,
      orchestratorType: "local",
      status: "active",
      tags: [],
      triggerType: "schedule",
      templateId: null,
      tenantId: app.ids.organizationId,
      webhookUrl: null,
      formUrl: null,
      nextRunAt: expect.stringMatching(/^20\d\d-\d\d-\d\dT0[45]:00:00\.000Z$/),
      latestRun: null,
      createdAt: expect.any(String),
      updatedAt: made.createdAt,
      createdBy: app.ids.userId,
      updatedBy: app.ids.userId,
    });
    expect(made.nextRunAt > made.createdAt).toBe(true);
    expect((await app.owner("GET", `${AUTOMATIONS}/${made.id}`)).body).toEqual(made);
    const list = (await app.owner("GET", `${AUTOMATIONS}?trigger_type=schedule`)).body;
    expect(list.automations).toEqual([made]);
  });

  test.each<[object, string[]]>([
    [{}, ["schedule missing"]],
    [{ schedule: {} }, ["schedule.cron missing"]],
    [{ schedule: { cron: "often" } }, ["schedule.cron value_error"]],
    [{ schedule: { cron: "61 * * * *" } }, ["schedule.cron value_error"]],
    [{ schedule: { cron: "* * * *" } }, ["schedule.cron value_error"]],
    [{ schedule: { cron: "2030-01-01T00:00:00" } }, ["schedule.cron value_error"]],
    [{ schedule: { cron: "0 0 30 2 *" } }, ["schedule.cron value_error"]],
    [{ schedule: { cron: "" } }, ["schedule.cron string_too_short"]],
    [{ schedule: { cron: "x".repeat(201) } }, ["schedule.cron string_too_long"]],
    [{ schedule: { cron: "* * * * *", timezone: "Mars/Phobos" } }, ["schedule.timezone value_error"]],
    [
      { schedule: { cron: "x", timezone: "Mars/Phobos" } },
      ["schedule.cron value_error", "schedule.timezone value_error"],
    ],
    [{ schedule: { cron: "* * * * *", catchUp: "all" } }, ["schedule.catchUp enum"]],
    [{ schedule: { cron: "* * * * *", every: 1 } }, ["schedule.every extra_forbidden"]],
    [{ schedule: { cron: "* * * * *" }, event: { types: ["*"] } }, ["event extra_forbidden"]],
  ])("rejects the config %j", async (config, faults) => {
    await using app = await startApp({ engine: false });
    const body = { name: "x", triggerType: "schedule", config: { action, ...config } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual(
      faults.map((fault) => `body.config.${fault}`),
    );
  });

  test("reports which field of a cron expression is out of range", async () => {
    await using app = await startApp({ engine: false });
    for (const [cron, why] of [
      ["0 9 * 13 *", "the month is out of range"],
      ["0 9 0 * *", "the day of the month is out of range"],
      ["0 9 * * 9", "the day of the week is out of range"],
      ["@reboot", "@reboot is not supported"],
    ] as const) {
      const config = { schedule: { cron }, action };
      const { body } = await app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "schedule", config });
      const form = "Use a cron expression with five fields, or six starting with seconds";
      expect(body.detail[0].msg).toBe(`${form}: ${why}`);
    }
  });

  test.each(["*/5 * * * *", "*/10 * * * * *", "@daily", "0 9 * * MON-FRI", "0 0 L * *"])(
    "accepts the cron expression %s",
    async (cron) => {
      await using app = await startApp({ engine: false });
      const made = await makeAutomation(
        app.owner,
        { schedule: { cron }, action },
        { triggerType: "schedule" },
      );
      expect(made.nextRunAt).toMatch(/:\d0\.000Z$/);
    },
  );

  test("recalculates the next run only when it is disabled, enabled or changed", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const schedule = { cron: "0 * * * *" };
    const made = await makeAutomation(app.owner, { schedule, action }, { triggerType: "schedule" });
    const patch = async (body: object) => (await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, body)).body;
    expect((await patch({ status: "disabled" })).nextRunAt).toBeNull();
    app.clock.turn(2 * HOUR_MS);
    const enabled = await patch({ status: "active" });
    expect(Date.parse(enabled.nextRunAt) - Date.parse(made.nextRunAt)).toBe(2 * HOUR_MS);
    app.clock.turn(2 * HOUR_MS);
    expect((await patch({ name: "Other" })).nextRunAt).toBe(enabled.nextRunAt);
    expect((await patch({ config: { schedule } })).nextRunAt).toBe(enabled.nextRunAt);
    const half = await patch({ config: { schedule: { cron: "30 * * * *" } } });
    expect(half.nextRunAt > enabled.nextRunAt).toBe(true);
    expect(half.nextRunAt).toEndWith(":30:00.000Z");
    const wrong = await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, {
      config: { schedule: { cron: "x" } },
    });
    expect(faultsOf(wrong)).toEqual(["body.config.schedule.cron value_error"]);
    expect((await patch({ config: { schedule: null } })).detail[0].loc).toEqual([
      "body",
      "config",
      "schedule",
    ]);
  });
});

describe("creating an event trigger", () => {
  test.each<[object, string[]]>([
    [{}, ["event missing"]],
    [{ event: { types: [] } }, ["event.types too_short"]],
    [{ event: { types: ["action.exploded"] } }, ["event.types.0 enum"]],
    [{ event: { types: ["action.*", "nothing.*", "x"] } }, ["event.types.1 enum", "event.types.2 enum"]],
    [{ event: { types: ["*"], from: 1 } }, ["event.from extra_forbidden"]],
    [{ event: { types: ["*"] }, schedule: { cron: "* * * * *" } }, ["schedule extra_forbidden"]],
  ])("rejects the config %j", async (config, faults) => {
    await using app = await startApp({ engine: false });
    const body = { name: "x", triggerType: "event", config: { action, ...config } };
    expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))).toEqual(
      faults.map((fault) => `body.config.${fault}`),
    );
  });
});

describe("an event trigger", () => {
  test("starts one run for each event of its types, with the event as its payload and input", async () => {
    await using app = await startApp();
    const when = { branches: [{ key: "seen", when: "payload.type == 'action.created'" }] };
    const listener = await onEvents(app, ["action.created", "connection.*"], {
      action: { kind: "conditional_branch", definition: when },
    });
    const made = await makeAction(app.owner, { name: "One" });
    await app.owner("PATCH", `${ACTIONS}/${made.id}`, { name: "Other" });
    await runsToCome(app, listener.id, 1);
    await allFollowed(app);
    const [run, ...others] = (await runsOf(app, listener.id)).filter(
      ({ input }: { input: { entity: { id: string } } }) => input.entity.id === made.id,
    );
    expect(others).toEqual([]);
    const [event] = (await app.owner("GET", `/api/v1/events?type=action.created&entityId=${made.id}`)).body
      .items;
    expect(run).toEqual({
      id: expect.any(String),
      automationId: listener.id,
      automationVersion: 1,
      parentAutomationRunId: null,
      status: "completed",
      displayStatus: "Completed",
      triggerMethod: "event",
      triggerSourceType: "system",
      triggerSourceId: event.id,
      input: event,
      steps: [
        {
          key: "action",
          status: "completed",
          actionRunId: expect.any(String),
          startedAt: expect.any(String),
          completedAt: expect.any(String),
          error: null,
        },
      ],
      result: { branch: "seen" },
      error: null,
      startedAt: expect.any(String),
      completedAt: expect.any(String),
      createdAt: expect.any(String),
    });
    const chain = (
      await app.owner("GET", `/api/v1/events?correlationId=${event.metadata.correlationId}&order=asc`)
    ).body.items;
    expect(chain.map(({ type }: { type: string }) => type)).toEqual([
      "action.created",
      "automation.triggered",
      "action.started",
      "action.completed",
      "automation.completed",
    ]);
  });

  test("uses the input of a manual run as payload too, and keeps it for a retry", async () => {
    await using app = await startApp();
    const when = { branches: [{ key: "seen", when: "payload.type == 'mine'" }] };
    const definition = { kind: "conditional_branch", definition: when };
    const listener = await onEvents(app, ["webhook.discarded"], { action: definition });
    const run = await flowToEnd(app.owner, listener.id, { input: { type: "mine" } });
    expect(run).toMatchObject({ status: "completed", triggerMethod: "api", result: { branch: "seen" } });
    const retried = await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/retry`, { fromFailed: false });
    expect(created(retried)).toMatchObject({ triggerMethod: "retry", result: { branch: "seen" } });
  });

  test("begins when it is created or enabled, and ignores events while it is disabled", async () => {
    await using app = await startApp();
    await makeAction(app.owner, { name: "Before" });
    const listener = await onEvents(app, ["action.created"]);
    const first = await makeAction(app.owner, { name: "First" });
    await runsToCome(app, listener.id, 1);
    await app.owner("PATCH", `${AUTOMATIONS}/${listener.id}`, { status: "disabled" });
    await makeAction(app.owner, { name: "Unheard" });
    await app.owner("PATCH", `${AUTOMATIONS}/${listener.id}`, { status: "active" });
    const second = await makeAction(app.owner, { name: "Second" });
    await runsToCome(app, listener.id, 2);
    await allFollowed(app);
    const heard = (await runsOf(app, listener.id)).map(
      ({ input }: { input: { data: { name: string } } }) => input.data.name,
    );
    expect(heard.filter((name: string) => !name.startsWith("Probe"))).toEqual([second.name, first.name]);
  });

  test("only gets its own organization's events", async () => {
    await using app = await startApp();
    const other = await neighbour(app);
    const body = {
      name: "Theirs",
      triggerType: "event",
      config: { event: { types: ["action.created"] }, action },
    };
    const theirs = created(await other.call("POST", AUTOMATIONS, body));
    const ours = await onEvents(app, ["action.created"]);
    const made = await makeAction(other.call, { name: "Theirs" });
    await until(other.call, `${AUTOMATIONS}/${theirs.id}/runs`, ({ total }) => total === 1);
    await allFollowed(app);
    const heard = (await runsOf(app, ours.id)).map(
      ({ input }: { input: { entity: { id: string } } }) => input.entity.id,
    );
    expect(heard).not.toContain(made.id);
    expect((await runsOf(app, theirs.id, other.call))[0].input.entity.id).toBe(made.id);
  });

  test("isn't started by its own events, nor by those of what it calls", async () => {
    await using app = await startApp();
    const helper = await makeAutomation(app.owner, { action }, { name: "Helper" });
    const listener = await onEvents(app, ["automation.*", "action.*"], {
      action: { kind: "call_automation", definition: { slug: "helper" } },
    });
    await app.owner("PATCH", `${AUTOMATIONS}/${listener.id}`, { description: "About itself" });
    expect(await runsOf(app, listener.id)).toEqual([]);
    const own = await flowToEnd(app.owner, listener.id);
    expect(own).toMatchObject({ status: "completed", triggerMethod: "api" });
    await allFollowed(app);
    await app.owner("PATCH", `${AUTOMATIONS}/${listener.id}`, { status: "disabled" });
    const runs = await runsOf(app, listener.id);
    for (const { id } of runs) expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    // Each of its runs called once, and none of those calls started another.
    expect((await runsOf(app, helper.id)).length).toBe(runs.length);
    for (const { input, id } of runs) if (id !== own.id) expect(input.entity.id).not.toBe(helper.id);
  });

  test("ends a circle of automations after ten links, with a run that says so", async () => {
    await using app = await startApp();
    const first = await onEvents(app, ["automation.completed"], {}, "First");
    const second = await onEvents(app, ["automation.completed"], {}, "Second");
    const quiet = await makeAutomation(app.owner, { action }, { name: "Cause" });
    await flowToEnd(app.owner, quiet.id);
    const failed = async () =>
      [...(await runsOf(app, first.id)), ...(await runsOf(app, second.id))].filter(
        ({ status }: { status: string }) => status === "failed",
      );
    await eventually(async () => (await failed()).length >= 2);
    const runs = [...(await runsOf(app, first.id)), ...(await runsOf(app, second.id))];
    expect(runs).toHaveLength(22);
    expect(await failed()).toMatchObject([
      {
        status: "failed",
        triggerMethod: "event",
        steps: [{ key: "action", status: "skipped", actionRunId: null }],
        error: { code: "loop_detected", retryable: false },
      },
      { status: "failed", error: { code: "loop_detected" } },
    ]);
    const told = await app.app.store.db.select().from(events).where(eq(events.type, "automation.failed"));
    expect(told).toHaveLength(2);
  }, 120_000);

  deepTest(
    "ends a circle whose automations wait for all events before it has multiplied",
    async () => {
      await using app = await startApp();
      await onEvents(app, ["*"], {}, "All");
      await onEvents(app, ["action.*"], {}, "Some");
      created(await app.owner("POST", "/api/v1/actions", { kind: "http_request", name: "Cause" }));
      const chains = () =>
        app.app.store.db
          .select({
            runs: count(),
            cutOff: sql<number>`sum(${automationRuns.error} ->> '$.code' = 'loop_detected')`,
          })
          .from(automationRuns)
          .groupBy(automationRuns.rootRunId);
      // One for each run that this test's two events have started: of Some, and of the action.
      await eventually(async () => (await chains()).filter(({ cutOff }) => cutOff > 0).length === 3);
      for (const { runs } of await chains()) expect(runs).toBeLessThan(150);
    },
    120_000,
  );

  test("continues after a definition that fails, and keeps the order of the audit log", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 400 }));
    const call = { kind: "http_request", definition: { url: `${receiver.url}/{{payload.data.name}}` } };
    const listener = await onEvents(app, ["action.created"], { action: call, concurrency: { max: 1 } });
    for (const name of ["a", "b", "c", "d"]) await makeAction(app.owner, { name });
    await runsToCome(app, listener.id, 4);
    for (const run of await runsOf(app, listener.id)) {
      expect((await automationRunEnd(app.owner, run.id)).status).toBe("failed");
    }
    expect(receiver.got.map(({ path }) => path)).toEqual(["/a", "/b", "/c", "/d"]);
  });

  test("is started by the ends of runs, so that one automation can follow another", async () => {
    await using app = await startApp();
    const work = await makeAction(app.owner);
    const listener = await onEvents(app, ["action.completed"]);
    const { id } = await runToEnd(app.owner, work.id);
    const { runs } = await runsToCome(app, listener.id, 1);
    expect(runs[0].input).toMatchObject({ type: "action.completed", data: { runId: id } });
    expect((await app.owner("GET", `${AUTOMATION_RUNS}/${runs[0].id}`)).body.status).toBe("completed");
  });
});
