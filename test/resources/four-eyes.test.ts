import { expect, test } from "bun:test";
import { type Client, client, startApp } from "../support/app.ts";
import { APPROVALS, DECISIONS, gate, openDecision } from "../support/decisions.ts";
import { join } from "../support/people.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  created,
  makeAction,
  makeAutomation,
  RUNS,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const ORGANIZATION = "/api/v1/organizations/current";
const approve = { decisionValue: "approved" };
const step = { kind: "approval_gate", definition: gate() };

/** An organization with the rule, and two more members. */
async function started() {
  const app = await startApp();
  const on = await app.owner("PATCH", ORGANIZATION, { requireFourEyes: true });
  expect([on.status, on.body.requireFourEyes]).toEqual([200, true]);
  return { app, bob: (await join(app, "member")).call, eve: (await join(app, "member")).call };
}

/** The open decision of an automation run with one step. */
async function decisionOf(app: Pick<Started, "owner">, automationRunId: string) {
  const isWaiting = ({ status }: { status: string }) => status === "waiting";
  const { steps } = await until(app.owner, `${AUTOMATION_RUNS}/${automationRunId}`, isWaiting);
  return openDecision(app, steps[0].actionRunId);
}

/** Checks that `own` can't decide in any way, and that `other` can. */
async function expectOther(id: string, own: Client, other: Client) {
  const ways: [string, object][] = [
    [`${DECISIONS}/${id}/decide`, approve],
    [`${DECISIONS}/${id}/decide`, { decisionValue: "rejected" }],
    [`${APPROVALS}/${id}/approve`, {}],
    [`${APPROVALS}/${id}/reject`, { rejectionReason: "no" }],
  ];
  for (const [path, body] of ways) {
    const refused = await own("POST", path, body);
    expect([refused.status, refused.body.code]).toEqual([403, "own_request"]);
  }
  expect((await other("GET", `${DECISIONS}/${id}`)).body.status).toBe("pending");
  expect((await other("POST", `${DECISIONS}/${id}/decide`, approve)).status).toBe(200);
}

test("with four eyes, nobody can decide on a run that they started, or retried", async () => {
  const { app, bob, eve } = await started();
  await using _ = app;
  const action = await makeAction(app.owner, step);
  const run = created(await bob("POST", `${ACTIONS}/${action.id}/run`));
  await expectOther((await openDecision(app, run.id)).id, bob, eve);

  const again = created(await bob("POST", `${ACTIONS}/${action.id}/run`));
  const { id } = await openDecision(app, again.id);
  expect((await eve("POST", `${DECISIONS}/${id}/decide`, { decisionValue: "rejected" })).status).toBe(200);
  await until(app.owner, `${RUNS}/${again.id}`, ({ status }) => status === "failed");
  const retried = created(await eve("POST", `${RUNS}/${again.id}/retry`));
  const next = await openDecision(app, retried.id);
  for (const own of [bob, eve])
    expect((await own("POST", `${DECISIONS}/${next.id}/decide`, approve)).body.code).toBe("own_request");
  expect((await app.owner("POST", `${DECISIONS}/${next.id}/decide`, approve)).status).toBe(200);
});

test("with four eyes, a key counts as its creator's, and a call or event as its run's", async () => {
  const { app, bob, eve } = await started();
  await using _ = app;
  const asking = await makeAutomation(app.owner, { action: step }, { name: "Asking" });
  const definition = { automationId: asking.id, wait: false };
  const calling = await makeAutomation(
    app.owner,
    { action: { kind: "call_automation", definition } },
    { name: "Calling" },
  );
  created(await bob("POST", `${AUTOMATIONS}/${calling.id}/run`, {}));
  const isAsked = (run: { status: string }) => run.status === "waiting";
  const { runs } = await until(app.owner, `${AUTOMATIONS}/${asking.id}/runs`, (page) =>
    page.runs.some(isAsked),
  );
  await expectOther((await decisionOf(app, runs.find(isAsked).id)).id, bob, eve);

  const { key } = created(await app.owner("POST", "/api/v1/api-keys", { name: "k" }));
  const byKey = client(app.origin, { "x-api-key": key });
  const run = created(await byKey("POST", `${AUTOMATIONS}/${asking.id}/run`, {}));
  await expectOther((await decisionOf(app, run.id)).id, app.owner, bob);

  const { call: admin } = await join(app, "admin");
  const keyBy = async (by: Client) => {
    const made = created(await by("POST", "/api/v1/api-keys", { name: "k", roleSlug: "admin" }));
    return client(app.origin, { "x-api-key": made.key });
  };
  const byKeysKey = await keyBy(await keyBy(await keyBy(admin)));
  const furtherRun = created(await byKeysKey("POST", `${AUTOMATIONS}/${asking.id}/run`, {}));
  await expectOther((await decisionOf(app, furtherRun.id)).id, admin, bob);

  const config = { event: { types: ["action.created"] }, action: step };
  const heard = await makeAutomation(app.owner, config, { name: "Heard", triggerType: "event" });
  created(await eve("POST", ACTIONS, { kind: "conditional_branch", name: "New" }));
  const page = await until(app.owner, `${AUTOMATIONS}/${heard.id}/runs`, (body) => body.runs.some(isAsked));
  await expectOther((await decisionOf(app, page.runs.find(isAsked).id)).id, eve, bob);
  expect((await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`)).status).toBe(200);
});

test("with four eyes, what a user's run caused is theirs, even without an automation", async () => {
  const { app, bob, eve } = await started();
  await using _ = app;
  const config = { event: { types: ["action.completed"] }, action: step };
  const heard = await makeAutomation(app.owner, config, { name: "Heard", triggerType: "event" });
  const action = await makeAction(app.owner);
  created(await bob("POST", `${ACTIONS}/${action.id}/run`));
  const { runs } = await until(app.owner, `${AUTOMATIONS}/${heard.id}/runs`, (body) => body.runs.length > 0);
  await expectOther((await decisionOf(app, runs[0].id)).id, bob, eve);
});

test("four eyes are off unless an admin turns them on", async () => {
  await using app = await startApp();
  expect((await app.owner("GET", ORGANIZATION)).body.requireFourEyes).toBe(false);
  const action = await makeAction(app.owner, step);
  const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  const { id } = await openDecision(app, run.id);
  const member = await join(app, "member");
  expect((await member.call("PATCH", ORGANIZATION, { requireFourEyes: true })).status).toBe(403);
  expect((await app.owner("POST", `${DECISIONS}/${id}/decide`, approve)).status).toBe(200);
});
