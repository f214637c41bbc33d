import { afterAll, beforeAll, expect, test } from "bun:test";
import { client, startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { makeHook } from "../support/hook.ts";
import { join, neighbour } from "../support/people.ts";
import { branch, makeAction, makeAutomation, NOBODY, runToEnd } from "../support/work.ts";

/** IDs of the first organization's resources. */
let ids: Record<string, string>;
let app: Awaited<ReturnType<typeof startApp>>;
let stranger: Awaited<ReturnType<typeof neighbour>>;

beforeAll(async () => {
  app = await startApp();
  stranger = await neighbour(app);
  const { owner } = app;
  const action = await makeAction(owner);
  const automation = await makeAutomation(owner, {
    action: { kind: "conditional_branch", definition: branch() },
  });
  const hook = await makeHook(app, { action: { kind: "conditional_branch", definition: branch() } });
  const run = await runToEnd(owner, action.id);
  ids = {
    action_id: action.id,
    run_id: run.id,
    automation_id: automation.id,
    hook_id: hook.id,
    connection_id: (await connect(owner, localFiles("Files"))).id,
  };
});
afterAll(() => app[Symbol.asyncDispose]());

test("a resource of another organization can't be named in a body or query either", async () => {
  const { call } = stranger;
  const work = { kind: "conditional_branch", definition: branch() };
  const step = (more: object) => ({ name: "a", triggerType: "manual", config: { action: more } });
  const automation = await call("POST", "/api/v1/automations", step(work));
  const patch = `/api/v1/automations/${automation.body.id}`;
  const calls: [string, string, unknown][] = [
    ["POST", "/api/v1/artifacts", { actionRunId: ids.run_id, kind: "text", content: "x" }],
    ["POST", "/api/v1/automations", step({ actionId: ids.action_id })],
    ["POST", "/api/v1/automations", step({ ...work, connectionId: ids.connection_id })],
    ["PATCH", patch, { config: { action: { actionId: ids.action_id, kind: null, definition: null } } }],
    ["POST", "/api/v1/actions", { name: "a", kind: "dlt_extract", connectionId: ids.connection_id }],
  ];
  for (const [method, path, body] of calls) {
    const other = JSON.parse(JSON.stringify(body), (_, value) =>
      Object.values(ids).includes(value) ? NOBODY : value,
    );
    const [foreign, absent] = [await call(method, path, body), await call(method, path, other)];
    expect(foreign.status).toBe(422);
    expect(foreign.body).toEqual(absent.body);
  }
  for (const query of [
    `action-runs?action_id=${ids.action_id}`,
    `artifacts?action_run_id=${ids.run_id}`,
    `webhook-deliveries?automation_id=${ids.hook_id}`,
    `dead-letters?automation_id=${ids.hook_id}`,
    `events?entityId=${ids.action_id}`,
  ]) {
    const { status, body } = await call("GET", `/api/v1/${query}`);
    expect(status).toBe(200);
    expect(body.runs ?? body.artifacts ?? body.items).toEqual([]);
  }
});

test("X-Organization-Id gives no access without membership, whatever it contains", async () => {
  const call = client(app.origin, { authorization: `Bearer ${stranger.token}` });
  const texts = [
    app.ids.organizationId,
    "acme",
    "ACME",
    app.ids.organizationId.toUpperCase(),
    "",
    " ",
    "*",
    "%",
    "' or 1=1 --",
    NOBODY,
  ];
  for (const text of [...texts, `${stranger.organization.id},${app.ids.organizationId}`]) {
    const { status, body } = await call("GET", "/api/v1/actions", undefined, { "x-organization-id": text });
    expect([text, status, body.code]).toEqual([text, 403, "forbidden"]);
  }
});

test("a request that expects another user is rejected, and changes nothing", async () => {
  const other = await join(app, "owner");
  const path = `/api/v1/actions/${ids.action_id}`;
  const { body: before } = await app.owner("GET", path);
  for (const [method, sent] of [["GET"], ["PATCH", { name: "Mine" }]] as const) {
    const expected = { "x-expected-user-id": app.ids.userId };
    const { status, body } = await other.call(method, path, sent, expected);
    expect([status, body.code]).toEqual([409, "other_user"]);
    expect((await app.owner(method, path, undefined, expected)).body.code).not.toBe("other_user");
  }
  expect((await app.owner("GET", path)).body).toEqual(before);
});

test("a response stored under an idempotency key is returned to nobody else", async () => {
  const key = { "idempotency-key": "the-same-for-all" };
  const body = { name: "One", kind: "conditional_branch", definition: branch() };
  const mine = await app.owner("POST", "/api/v1/actions", body, key);
  const colleague = await (await join(app, "member")).call("POST", "/api/v1/actions", body, key);
  const other = await stranger.call("POST", "/api/v1/actions", body, key);
  const secret = { name: "token" };
  const first = await app.owner("POST", "/api/v1/access-tokens", secret, { "idempotency-key": "token-key" });
  const second = await stranger.call("POST", "/api/v1/access-tokens", secret, {
    "idempotency-key": "token-key",
  });
  expect(new Set([mine.body.id, colleague.body.id, other.body.id, first.body.id, second.body.id]).size).toBe(
    5,
  );
  for (const answer of [mine, colleague, other, first, second])
    expect(answer.headers.get("idempotency-replayed")).toBeNull();
  expect(second.body.token).not.toBe(first.body.token);
});
