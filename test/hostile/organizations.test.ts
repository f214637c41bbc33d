import { afterAll, beforeAll, expect, test } from "bun:test";
import { ROLES } from "../../src/resources/organizations/table.ts";
import { operations } from "../../src/server.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { makeHook } from "../support/hook.ts";
import { join, neighbour } from "../support/people.ts";
import { branch, flowToEnd, makeAction, makeAutomation, NOBODY, runToEnd } from "../support/work.ts";

/** Things of the first organization, by the name of the path parameter that stands for them. */
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
  const artifact = await owner("POST", "/api/v1/artifacts", {
    actionRunId: run.id,
    kind: "text",
    content: "x",
  });
  const token = await owner("POST", "/api/v1/access-tokens", { name: "other" });
  const member = await join(app, "member");
  ids = {
    action_id: action.id,
    run_id: run.id,
    automation_id: automation.id,
    hook_id: hook.id,
    automation_run_id: (await flowToEnd(owner, automation.id)).id,
    connection_id: (await connect(owner, localFiles("Files"))).id,
    artifact_id: artifact.body.id,
    token_id: token.body.id,
    membership_id: member.membership.id,
    slug: action.slug,
  };
});
afterAll(() => app[Symbol.asyncDispose]());

const PARAMETER = /\{(\w+)\}/g;
/** What asks for credentials, as calls that pass every check but that of whose things they name. */
const guarded = operations.filter(({ audience }) => audience !== "public" && audience !== "signature");

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const thingOf = (path: string, name: string) =>
  path.includes("automation-runs") ? ids.automation_run_id : ids[name];

const filled = (path: string, value: (name: string) => string) =>
  path.replace(PARAMETER, (_, name: string) => value(name));

const BODIES: Readonly<Record<string, unknown>> = {
  "PATCH /api/v1/actions/{action_id}": { name: "Taken" },
  "PATCH /api/v1/automations/{automation_id}": { name: "Taken" },
  "PATCH /api/v1/connections/{connection_id}": { name: "Taken" },
  "PATCH /api/v1/organizations/team/members/{membership_id}/role": { roleSlug: "viewer" },
  "POST /api/v1/connections/{connection_id}/files/validate": { selectedItems: [] },
};
const QUERIES: Readonly<Record<string, string>> = {
  "PUT /api/v1/connections/{connection_id}/files": "?path=a.txt",
  "GET /api/v1/connections/{connection_id}/schema/columns": "?schema=a&table=b",
};

async function ask(call: Client, operation: (typeof operations)[number], value: (name: string) => string) {
  const name = nameOf(operation);
  const path = filled(operation.path, value) + (QUERIES[name] ?? "");
  const body = BODIES[name] ?? (operation.consumes ? "bytes" : undefined);
  const { status, body: reply } = await call(operation.method, path, body);
  if (reply) delete reply.correlationId;
  return { name, status, reply };
}

test("a thing of another organization is as little there as one that never was, for every operation", async () => {
  const withThing = guarded.filter(({ path }) => /\{\w+_id\}|\{slug\}/.test(path));
  expect(withThing.length).toBeGreaterThan(30);
  for (const operation of withThing) {
    const foreign = await ask(stranger.call, operation, (name) => thingOf(operation.path, name) ?? NOBODY);
    const absent = await ask(stranger.call, operation, (name) => (name === "slug" ? "never-was" : NOBODY));
    expect(foreign).toEqual(absent);
    expect([nameOf(operation), foreign.status]).toEqual([nameOf(operation), 404]);
  }
});

test("a thing of another organization can't be named in a body or query either", async () => {
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

test("each operation asks for its role, of everyone", async () => {
  const people = new Map<string, Client>();
  for (const role of ROLES) people.set(role, (await join(app, role)).call);
  for (const operation of guarded) {
    const { audience, path } = operation;
    expect((await ask(app.anonymous, operation, () => NOBODY)).status).toBe(401);
    if (audience === "any") continue;
    for (const role of ROLES.slice(0, ROLES.indexOf(audience as (typeof ROLES)[number]))) {
      const call = people.get(role) ?? app.anonymous;
      const { status } = await ask(call, operation, (name) => thingOf(path, name) ?? NOBODY);
      expect([nameOf(operation), role, status]).toEqual([nameOf(operation), role, 403]);
    }
  }
});

test("X-Organization-Id opens no organization that one is not a member of, whatever is written into it", async () => {
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

test("a reply kept under an idempotency key is given to nobody else", async () => {
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
