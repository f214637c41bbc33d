import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { APPROVALS, ask, DECISIONS, gate, openDecision } from "../support/decisions.ts";
import { join, neighbour } from "../support/people.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  chainOf,
  correlationOf,
  created,
  faultsOf,
  makeAction,
  makeAutomation,
  NOBODY,
  RUNS,
  runEnd,
  until,
} from "../support/work.ts";

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const decideOn = (id: string) => `${DECISIONS}/${id}/decide`;
const approved = { decisionValue: "approved" };
const rejected = { decisionValue: "rejected" };
const Form = {
  type: "object",
  properties: { amount: { type: "integer", minimum: 1 }, code: { type: "string", pattern: "^[A-Z]{3}$" } },
  required: ["amount", "code"],
  additionalProperties: false,
};
const form = (more: object = {}) => ({ decisionType: "form_input", formSchema: Form, ...more });

describe("a decision", () => {
  test("shows the question, field by field, and lets the run wait", async () => {
    await using app = await startApp();
    const asked = {
      description: "Last call",
      context: { order: 7, note: "Bearer k-123456" },
      expiresInSeconds: 60,
    };
    const { run, decision } = await ask(app, asked);
    expect(decision).toEqual({
      id: expect.any(String),
      tenantId: app.ids.organizationId,
      title: "Ship it?",
      description: "Last call",
      decisionType: "approve_reject",
      status: "pending",
      subjectType: "action_run",
      subjectId: run.id,
      context: { order: 7, note: "Bearer ***" },
      formSchema: null,
      formResponse: null,
      decisionValue: null,
      rejectionReason: null,
      requestedBy: app.ids.userId,
      assignedTo: null,
      decidedBy: null,
      decidedAt: null,
      expiresAt: INSTANT,
      createdAt: INSTANT,
      updatedAt: INSTANT,
    });
    expect(Date.parse(decision.expiresAt) - Date.parse(decision.createdAt)).toBe(60_000);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body).toEqual(decision);
    const waiting = (await app.owner("GET", `${RUNS}/${run.id}`)).body;
    expect([waiting.status, waiting.displayStatus, waiting.completedAt]).toEqual([
      "waiting",
      "Waiting for approval",
      null,
    ]);
  });

  test("that is approved completes the run, with who and when", async () => {
    await using app = await startApp();
    const { run, decision } = await ask(app);
    const reply = await app.owner("POST", decideOn(decision.id), approved);
    expect(reply.status).toBe(200);
    const { decidedAt } = reply.body;
    expect(reply.body).toEqual({
      ...decision,
      status: "decided",
      decisionValue: "approved",
      decidedBy: app.ids.userId,
      decidedAt: INSTANT,
      updatedAt: decidedAt,
    });
    const done = (await app.owner("GET", `${RUNS}/${run.id}`)).body;
    expect([done.status, done.displayStatus]).toEqual(["completed", "Completed"]);
    expect(done.result).toEqual({
      decisionId: decision.id,
      decisionValue: "approved",
      formResponse: null,
      decidedBy: app.ids.userId,
      decidedAt,
      rejectionReason: null,
    });
  });

  test("that is rejected fails the run, or lets it continue if configured", async () => {
    await using app = await startApp();
    const [failing, going] = [await ask(app), await ask(app, { onReject: "continue" })];
    const no = { ...rejected, rejectionReason: "Too dear" };
    const reply = await app.owner("POST", decideOn(failing.decision.id), no);
    expect(reply.body).toMatchObject({
      status: "decided",
      decisionValue: "rejected",
      rejectionReason: "Too dear",
    });
    expect((await app.owner("GET", `${RUNS}/${failing.run.id}`)).body).toMatchObject({
      status: "failed",
      result: null,
      error: {
        code: "rejected",
        message: '"Ship it?" was rejected: Too dear',
        retryable: false,
        attempt: 1,
        details: { decisionId: failing.decision.id, decidedBy: app.ids.userId, rejectionReason: "Too dear" },
      },
    });
    await app.owner("POST", decideOn(going.decision.id), no);
    expect((await app.owner("GET", `${RUNS}/${going.run.id}`)).body).toMatchObject({
      status: "completed",
      result: { decisionValue: "rejected", rejectionReason: "Too dear" },
    });
  });

  test("that is approved keeps its reason", async () => {
    await using app = await startApp();
    const { decision, run } = await ask(app);
    const yes = { ...approved, rejectionReason: "Only until Friday" };
    for (const _ of ["once", "repeated"])
      expect((await app.owner("POST", decideOn(decision.id), yes)).body).toMatchObject(yes);
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body).toMatchObject({
      status: "completed",
      result: yes,
    });
  });

  test("is recorded as events, without the form's answers", async () => {
    await using app = await startApp();
    const { run, decision } = await ask(app, form({ title: "Pay https://x.test/?token=abc123" }));
    const formResponse = { amount: 5, code: "EUR" };
    await app.owner(
      "POST",
      decideOn(decision.id),
      { ...approved, formResponse },
      { "x-correlation-id": "decider-1" },
    );
    const { items } = (await app.owner("GET", `/api/v1/events?type=decision.*&order=asc`)).body;
    expect(
      items.map(({ type, entity, actor }: never) => [type, entity, (actor as { id: string }).id]),
    ).toEqual([
      ["decision.requested", { type: "decision", id: decision.id }, app.ids.userId],
      ["decision.decided", { type: "decision", id: decision.id }, app.ids.userId],
    ]);
    expect(items[0].data).toEqual({
      title: "Pay https://x.test/?token=***",
      runId: run.id,
      automationId: null,
      automationRunId: null,
      stepKey: null,
      decisionType: "form_input",
      assignedTo: null,
      expiresAt: null,
    });
    expect(items[1].data).toMatchObject({ runId: run.id, decisionValue: "approved", rejectionReason: null });
    expect(JSON.stringify(items)).not.toContain("EUR");
    expect(items[1].metadata.correlationId).toBe("decider-1");
    const ofRun = await chainOf(app, await correlationOf(app, run.id));
    expect(ofRun.slice(-4)).toEqual([
      "action.started",
      "action.progress",
      "decision.requested",
      "action.completed",
    ]);
  });

  test("made again is rejected with who and when, except by the same user in the same way", async () => {
    await using app = await startApp();
    const other = await join(app, "admin");
    const { decision } = await ask(app);
    const first = await app.owner("POST", decideOn(decision.id), approved);
    const again = await app.owner("POST", decideOn(decision.id), approved);
    expect([again.status, again.text]).toEqual([200, first.text]);
    for (const [call, body] of [
      [app.owner, rejected],
      [app.owner, { ...approved, formResponse: { a: 1 } }],
      [other.call, approved],
    ] as const) {
      const refused = await call("POST", decideOn(decision.id), body);
      expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
      expect(refused.body.detail).toBe(
        `Already approved by Ada Lovelace (ada@example.com) at ${first.body.decidedAt}.`,
      );
    }
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).text).toBe(first.text);
    const { items } = (await app.owner("GET", `/api/v1/events?type=decision.decided`)).body;
    expect(items).toHaveLength(1);
  });

  test("made by fifty at once has exactly one winner, and the run continues once", async () => {
    await using app = await startApp();
    const people = await Promise.all(Array.from({ length: 10 }, () => join(app, "member")));
    const flow = await makeAutomation(app.owner, {
      steps: [
        { key: "gate", kind: "approval_gate", definition: gate({ onReject: "continue" }) },
        {
          key: "next",
          kind: "conditional_branch",
          definition: { branches: [{ key: "a", when: "true" }] },
          dependsOn: ["gate"],
        },
      ],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const [{ id: gateRun }] = (
      await until(
        app.owner,
        `${RUNS}?automation_run_id=${run.id}&statuses=waiting`,
        ({ total }) => total === 1,
      )
    ).runs;
    const decision = await openDecision(app, gateRun);
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => {
        const path =
          n % 3 === 0 ? `${APPROVALS}/${decision.id}/${n % 2 ? "approve" : "reject"}` : decideOn(decision.id);
        const body = n % 3 === 0 ? {} : n % 2 ? approved : rejected;
        return people[n % 10]!.call("POST", path, body);
      }),
    );
    const { decidedBy } = (await app.owner("GET", `${DECISIONS}/${decision.id}`)).body;
    const statuses = replies.map(({ status }, n) => [status, people[n % 10]!.user.id === decidedBy]);
    for (const [status, isWinner] of statuses)
      expect(isWinner ? [200, 409] : [409]).toContain(status as number);
    expect(statuses.some(([status]) => status === 200)).toBe(true);
    expect(await automationRunEnd(app.owner, run.id)).toMatchObject({ status: "completed" });
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.total).toBe(2);
    for (const type of ["decision.decided", "automation.completed"])
      expect((await app.owner("GET", `/api/v1/events?type=${type}`)).body.items).toHaveLength(1);
  });
});

describe("a form", () => {
  test("must match, and every fault is reported with its place", async () => {
    await using app = await startApp();
    const { run, decision } = await ask(app, form());
    expect(decision.formSchema).toEqual(Form);
    const send = (formResponse: unknown) =>
      app.owner("POST", decideOn(decision.id), { ...approved, formResponse });
    expect(faultsOf(await send(undefined))).toEqual(["body.formResponse missing"]);
    expect(faultsOf(await send(null))).toEqual(["body.formResponse missing"]);
    expect(faultsOf(await send("x"))).toEqual(["body.formResponse dict_type"]);
    expect(faultsOf(await send({ amount: 0, code: "euro", more: 1 }))).toEqual([
      "body.formResponse.amount greater_than_equal",
      "body.formResponse.code string_pattern_mismatch",
      "body.formResponse.more extra_forbidden",
    ]);
    expect(
      faultsOf(await app.owner("POST", `${APPROVALS}/${decision.id}/approve`, { formResponse: {} })),
    ).toEqual(["body.formResponse.amount missing", "body.formResponse.code missing"]);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.status).toBe("pending");
    const formResponse = { amount: 1, code: "EUR" };
    expect((await send(formResponse)).body).toMatchObject({ status: "decided", formResponse });
    expect((await runEnd(app.owner, run.id)).result.formResponse).toEqual(formResponse);
  });

  test("isn't required for a rejection, and has limits", async () => {
    await using app = await startApp();
    const { decision } = await ask(app, form({ onReject: "continue" }));
    expect((await app.owner("POST", decideOn(decision.id), rejected)).body.formResponse).toBeNull();
    const free = await ask(app);
    const text = (length: number) => ({ ...approved, formResponse: { t: "x".repeat(length) } });
    expect(faultsOf(await app.owner("POST", decideOn(free.decision.id), text(65_536)))).toEqual([
      "body.formResponse too_long",
    ]);
    expect((await app.owner("POST", decideOn(free.decision.id), text(65_000))).status).toBe(200);
  });

  test("and its gate are checked when they are saved", async () => {
    await using app = await startApp({ engine: false });
    const cases: [object, string[]][] = [
      [{ decisionType: "form_input" }, ["formSchema"]],
      [{ formSchema: { type: "objekt" } }, ["formSchema.type"]],
      [
        { formSchema: { properties: { a: { pattern: "(?=a)b" }, b: { pattern: "(" } } } },
        ["formSchema.properties.a.pattern", "formSchema.properties.b.pattern"],
      ],
      [{ formSchema: { $ref: "https://example.com/form.json" } }, ["formSchema.$ref"]],
      [{ formSchema: [] }, ["formSchema"]],
      [{ title: "" }, ["title"]],
      [{ title: undefined, context: {} }, ["title"]],
      [{ title: "x".repeat(256) }, ["title"]],
      [{ decisionType: "vote" }, ["decisionType"]],
      [{ assignedTo: "nobody" }, ["assignedTo"]],
      [{ expiresInSeconds: 0 }, ["expiresInSeconds"]],
      [{ expiresInSeconds: 31_536_001 }, ["expiresInSeconds"]],
      [{ onExpire: "approve" }, ["onExpire"]],
      [{ onReject: "cancel" }, ["onReject"]],
      [{ context: { text: "x".repeat(70_000) } }, ["context"]],
      [{ more: 1 }, ["more"]],
    ];
    for (const [more, places] of cases) {
      const body = { kind: "approval_gate", name: "Gate", definition: gate(more) };
      const told = faultsOf(await app.owner("POST", ACTIONS, body)).map(
        (fault: string) => fault.split(" ")[0],
      );
      expect(told).toEqual(places.map((place) => `body.definition.${place}`));
    }
  });

  test("can contain templates, which are checked when the gate is reached", async () => {
    await using app = await startApp();
    const steps = [
      {
        key: "gate",
        kind: "approval_gate",
        definition: gate(
          form({
            title: "Order {{input.id}}",
            formSchema: { properties: { size: { enum: "{{input.sizes}}" } } },
          }),
        ),
      },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const start = async (input: object) =>
      created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input }));
    const bad = await start({ id: 1, sizes: "S" });
    expect((await automationRunEnd(app.owner, bad.id)).error).toMatchObject({ code: "definition_invalid" });
    const run = await start({ id: 7, sizes: ["S", "M"] });
    const { runs } = await until(
      app.owner,
      `${RUNS}?automation_run_id=${run.id}&statuses=waiting`,
      ({ total }) => total === 1,
    );
    const decision = await openDecision(app, runs[0].id);
    expect(decision.title).toBe("Order 7");
    const answer = { ...approved, formResponse: { size: "L" } };
    expect(faultsOf(await app.owner("POST", decideOn(decision.id), answer))).toEqual([
      "body.formResponse.size enum",
    ]);
  });
});

describe("an assignee", () => {
  test("or an admin decides, no one else", async () => {
    await using app = await startApp();
    const [assignee, member, admin] = [
      await join(app, "member"),
      await join(app, "member"),
      await join(app, "admin"),
    ];
    const byEmail = await ask(app, { assignedTo: assignee.user.email.toUpperCase() });
    expect(byEmail.decision.assignedTo).toBe(assignee.user.id);
    const refused = await member.call("POST", decideOn(byEmail.decision.id), approved);
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect(refused.body.detail).toContain(assignee.user.email);
    const mine = (await assignee.call("GET", `${DECISIONS}/pending?assigned_to_me=true`)).body;
    expect(mine).toEqual({ decisions: [byEmail.decision], total: 1 });
    expect((await member.call("GET", `${DECISIONS}/pending?assigned_to_me=true`)).body).toEqual({
      decisions: [],
      total: 0,
    });
    expect((await member.call("GET", `${DECISIONS}/pending`)).body.total).toBe(1);
    expect((await assignee.call("POST", decideOn(byEmail.decision.id), approved)).body.decidedBy).toBe(
      assignee.user.id,
    );

    const byId = await ask(app, { assignedTo: assignee.user.id });
    expect((await admin.call("POST", decideOn(byId.decision.id), approved)).body.decidedBy).toBe(
      admin.user.id,
    );
  });

  test("who isn't a member, or is a viewer, fails the run", async () => {
    await using app = await startApp();
    const stranger = await neighbour(app);
    const viewer = await join(app, "viewer");
    for (const assignedTo of ["nobody@example.com", NOBODY, stranger.user.email, viewer.user.email]) {
      const action = await makeAction(app.owner, { kind: "approval_gate", definition: gate({ assignedTo }) });
      const run = await runEnd(app.owner, created(await app.owner("POST", `${ACTIONS}/${action.id}/run`)).id);
      expect(run).toMatchObject({
        status: "failed",
        error: { code: "definition_invalid", retryable: false },
      });
      expect(run.error.message).toContain(assignedTo);
    }
    expect((await app.owner("GET", DECISIONS)).body.total).toBe(0);
  });
});

describe("an expiry", () => {
  test.each([
    [
      {},
      "failed",
      { code: "rejected" },
      { decisionValue: "rejected", rejectionReason: "Nobody decided in time." },
    ],
    [
      { onReject: "continue" },
      "completed",
      null,
      { decisionValue: "rejected", rejectionReason: "Nobody decided in time." },
    ],
    [
      { onExpire: "fail", onReject: "continue" },
      "failed",
      { code: "expired" },
      { decisionValue: null, rejectionReason: null },
    ],
    [{ onExpire: "cancel" }, "cancelled", null, { decisionValue: null, rejectionReason: null }],
  ])("never approves: %j", async (more, status, error, shown) => {
    await using app = await startApp({ hurry: 20 });
    const { run, decision } = await ask(app, { expiresInSeconds: 60, ...more });
    app.clock.turn(61_000);
    const ended = await runEnd(app.owner, run.id);
    expect(ended.status).toBe(status);
    if (error) expect(ended.error).toMatchObject(error);
    else expect(ended.error).toBeNull();
    const expired = (await app.owner("GET", `${DECISIONS}/${decision.id}`)).body;
    expect(expired).toMatchObject({ ...shown, status: "expired", decidedBy: null });
    if (status === "completed")
      expect(ended.result).toMatchObject({ ...shown, decidedBy: null, decidedAt: expired.decidedAt });
    const late = await app.owner("POST", decideOn(decision.id), approved);
    expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
    expect(late.body.detail).toContain(decision.expiresAt);
    const { items } = (await app.owner("GET", `/api/v1/events?type=decision.*`)).body;
    expect([items[0].type, items[0].actor.type]).toEqual(["decision.expired", "system"]);
  });

  test("counts from its time on, even before it has been recorded", async () => {
    await using app = await startApp({ hurry: 0.001 }); // Nothing that is paused continues.
    const { decision } = await ask(app, { expiresInSeconds: 60 });
    app.clock.turn(60_000);
    const late = await app.owner("POST", decideOn(decision.id), approved);
    expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.status).toBe("pending");
  });

  test("that comes after the decision changes nothing", async () => {
    await using app = await startApp({ hurry: 20 });
    const { run, decision } = await ask(app, { expiresInSeconds: 60 });
    const { text } = await app.owner("POST", decideOn(decision.id), approved);
    app.clock.turn(120_000);
    const other = await ask(app, { expiresInSeconds: 60 });
    app.clock.turn(61_000);
    await runEnd(app.owner, other.run.id);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).text).toBe(text);
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("completed");
  });
});

describe("a cancellation", () => {
  test("of the run withdraws its decision permanently", async () => {
    await using app = await startApp();
    const { run, decision } = await ask(app);
    expect((await app.owner("POST", `${RUNS}/${run.id}/cancel`)).body.status).toBe("cancelled");
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body).toMatchObject({
      status: "cancelled",
      decisionValue: null,
      decidedBy: null,
    });
    const late = await app.owner("POST", decideOn(decision.id), approved);
    expect([late.status, late.body.code]).toEqual([409, "invalid_state"]);
    expect(late.body.detail).toContain("Cancelled by Ada Lovelace");
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body.status).toBe("cancelled");
    expect((await app.owner("GET", `${DECISIONS}/pending`)).body.total).toBe(0);
  });

  test("of the automation run withdraws it too", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { action: { kind: "approval_gate", definition: gate() } });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const { decisions } = await until(app.owner, `${DECISIONS}/pending`, ({ total }) => total === 1);
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${run.id}/cancel`)).body).toMatchObject({
      status: "cancelled",
      steps: [{ key: "action", status: "cancelled" }],
    });
    expect((await app.owner("GET", `${DECISIONS}/${decisions[0].id}`)).body.status).toBe("cancelled");
    expect((await app.owner("POST", decideOn(decisions[0].id), approved)).status).toBe(409);
  });
});

describe("lists", () => {
  test("of decisions have pages and a status", async () => {
    await using app = await startApp();
    const made = [await ask(app), await ask(app), await ask(app, { onReject: "continue" })];
    await app.owner("POST", decideOn(made[2]!.decision.id), rejected);
    await app.owner("POST", `${RUNS}/${made[1]!.run.id}/cancel`);
    const idsOf = async (query: string) => {
      const { body } = await app.owner("GET", `${DECISIONS}${query}`);
      return [
        body.decisions.map(({ id }: { id: string }) => made.findIndex(({ decision }) => decision.id === id)),
        body.hasNext,
        body.limit,
        body.offset,
        body.total,
      ];
    };
    expect(await idsOf("")).toEqual([[2, 1, 0], false, 50, 0, 3]);
    expect(await idsOf("?limit=2")).toEqual([[2, 1], true, 2, 0, 3]);
    expect(await idsOf("?limit=2&offset=2")).toEqual([[0], false, 2, 2, 3]);
    expect(await idsOf("?status=pending")).toEqual([[0], false, 50, 0, 1]);
    expect(await idsOf("?status=cancelled")).toEqual([[1], false, 50, 0, 1]);
    expect(await idsOf("?status=decided")).toEqual([[2], false, 50, 0, 1]);
    expect(await idsOf("?status=expired")).toEqual([[], false, 50, 0, 0]);
    expect((await app.owner("GET", `${DECISIONS}?limit=100`)).status).toBe(200);
    for (const query of ["limit=0", "limit=101", "offset=-1", "status=open", "more=1"])
      expect(faultsOf(await app.owner("GET", `${DECISIONS}?${query}`))[0]).toStartWith(
        `query.${query.split("=")[0]}`,
      );
    expect(faultsOf(await app.owner("GET", `${DECISIONS}/pending?assigned_to_me=maybe`))).toEqual([
      "query.assigned_to_me bool_type",
    ]);
  });

  test("of approvals name the automation, and show as decided what is no longer open", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(
      app.owner,
      {
        steps: [
          {
            key: "ok",
            kind: "approval_gate",
            definition: gate(form({ description: "D", context: { a: 1 } })),
          },
        ],
      },
      { name: "Orders" },
    );
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
    const { items, total } = await until(app.owner, APPROVALS, (body) => body.total === 1);
    const [decision] = (await app.owner("GET", `${DECISIONS}/pending`)).body.decisions;
    expect(decision.requestedBy).toBe(app.ids.userId);
    const item = {
      id: decision.id,
      title: "Ship it?",
      description: "D",
      decisionType: "form_input",
      formSchema: Form,
      context: { a: 1 },
      status: "pending",
      stepKey: "ok",
      automationId: flow.id,
      automationName: "Orders",
      automationRunId: run.id,
      requestedAt: decision.createdAt,
    };
    expect([items, total]).toEqual([[item], 1]);
    const formResponse = { amount: 1, code: "EUR" };
    const approve = await app.owner("POST", `${APPROVALS}/${decision.id}/approve`, {
      formResponse,
      rejectionReason: null,
    });
    expect([approve.status, approve.body]).toEqual([200, { ...item, status: "decided" }]);
    expect((await automationRunEnd(app.owner, run.id)).result).toMatchObject({
      decisionValue: "approved",
      formResponse,
    });

    const alone = await ask(app);
    const reject = await app.owner("POST", `${APPROVALS}/${alone.decision.id}/reject`);
    expect(reject.body).toMatchObject({
      status: "decided",
      stepKey: null,
      automationId: null,
      automationName: null,
      automationRunId: null,
      formSchema: null,
      context: null,
    });
    expect((await runEnd(app.owner, alone.run.id)).error.code).toBe("rejected");
    const gone = await ask(app);
    await app.owner("POST", `${RUNS}/${gone.run.id}/cancel`);
    const decided = (await app.owner("GET", `${APPROVALS}?status=decided`)).body;
    expect(decided.items.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual(
      [gone, alone, { decision }].map((each) => [each.decision.id, "decided"]),
    );
    expect(decided.total).toBe(3);
    expect((await app.owner("GET", APPROVALS)).body).toEqual({ items: [], total: 0 });
    expect(faultsOf(await app.owner("GET", `${APPROVALS}?status=expired`))).toEqual(["query.status enum"]);
  });
});

describe("permissions", () => {
  test("every member can read, and decide only from the role member on", async () => {
    await using app = await startApp();
    const { decision } = await ask(app);
    const [viewer, member] = [await join(app, "viewer"), await join(app, "member")];
    for (const path of [APPROVALS, DECISIONS, `${DECISIONS}/pending`, `${DECISIONS}/${decision.id}`]) {
      expect((await viewer.call("GET", path)).status).toBe(200);
      expect((await app.anonymous("GET", path)).status).toBe(401);
    }
    for (const path of [
      `${APPROVALS}/${decision.id}/approve`,
      `${APPROVALS}/${decision.id}/reject`,
      decideOn(decision.id),
    ]) {
      expect((await viewer.call("POST", path, {})).status).toBe(403);
      expect((await app.anonymous("POST", path, {})).status).toBe(401);
    }
    expect((await member.call("POST", `${APPROVALS}/${decision.id}/approve`)).status).toBe(200);
  });

  test("another organization has no access: its IDs are like unknown ones", async () => {
    await using app = await startApp();
    const { decision } = await ask(app);
    const other = await neighbour(app);
    const fixed = { "x-correlation-id": "same-for-all" };
    for (const [method, path, body] of [
      ["GET", (id: string) => `${DECISIONS}/${id}`, undefined],
      ["POST", decideOn, approved],
      ["POST", (id: string) => `${APPROVALS}/${id}/approve`, {}],
      ["POST", (id: string) => `${APPROVALS}/${id}/reject`, {}],
    ] as const) {
      const foreign = await other.call(method, path(decision.id), body, fixed);
      expect([foreign.status, foreign.body.code]).toEqual([404, "not_found"]);
      expect((await other.call(method, path(NOBODY), body, fixed)).text).toBe(foreign.text);
      expect(faultsOf(await app.owner(method, path("7"), body))).toEqual([
        `path.${path("7").startsWith(APPROVALS) ? "approval_id" : "decision_id"} uuid_parsing`,
      ]);
    }
    expect((await other.call("GET", DECISIONS)).body.total).toBe(0);
    expect((await other.call("GET", APPROVALS)).body.total).toBe(0);
    expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.status).toBe("pending");
  });

  test("a body's faults are reported", async () => {
    await using app = await startApp();
    const { decision } = await ask(app);
    const send = (body: object) => app.owner("POST", decideOn(decision.id), body);
    expect(faultsOf(await send({}))).toEqual(["body.decisionValue missing"]);
    expect(faultsOf(await send({ decisionValue: "maybe", rejectionReason: 7, more: 1 }))).toEqual([
      "body.decisionValue enum",
      "body.rejectionReason string_type",
      "body.more extra_forbidden",
    ]);
    expect(faultsOf(await send({ ...rejected, rejectionReason: "x".repeat(4_097) }))).toEqual([
      "body.rejectionReason string_too_long",
    ]);
    expect(faultsOf(await app.owner("POST", `${APPROVALS}/${decision.id}/approve`, approved))).toEqual([
      "body.decisionValue extra_forbidden",
    ]);
    expect((await send({ ...rejected, rejectionReason: "x".repeat(4_096) })).status).toBe(200);
  });
});

test("a failed gate that is retried asks again", async () => {
  await using app = await startApp();
  const { run, decision } = await ask(app);
  await app.owner("POST", decideOn(decision.id), rejected);
  const again = created(await app.owner("POST", `${RUNS}/${run.id}/retry`));
  const next = await openDecision(app, again.id);
  expect(next.id).not.toBe(decision.id);
  await app.owner("POST", decideOn(next.id), approved);
  expect((await runEnd(app.owner, again.id)).result).toMatchObject({
    decisionId: next.id,
    decisionValue: "approved",
  });
  expect((await app.owner("GET", `${DECISIONS}/${decision.id}`)).body.decisionValue).toBe("rejected");
});
