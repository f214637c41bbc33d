import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Client, client, startApp } from "../support/app.ts";
import { join } from "../support/people.ts";

const place = "/api/v1/access-tokens";
let app: Awaited<ReturnType<typeof startApp>>;

beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const bearer = (token: string): Client => client(app.origin, { authorization: `Bearer ${token}` });

async function tokenFor(scopes: readonly string[], by: Client = app.owner): Promise<Client> {
  return bearer((await by("POST", place, { name: scopes.join(), scopes })).body.token);
}

const anAction = { name: "Noop", kind: "duckdb_transform", definition: { sql: "select 1 as one" } };

describe("an access token with scopes", () => {
  test("shows them when it is created and listed, and has all that the role allows by default", async () => {
    const made = await app.owner("POST", place, { name: "CI", scopes: ["read", "run"] });
    expect([made.status, made.body.scopes]).toEqual([201, ["read", "run"]]);
    const viewer = await join(app, "viewer");
    const member = await join(app, "member");
    expect((await viewer.call("POST", place, { name: "v" })).body.scopes).toEqual(["read"]);
    const own = (await member.call("POST", place, { name: "m" })).body;
    expect(own.scopes).toEqual(["read", "run", "write", "approve"]);
    const shown = async (path: string) =>
      Object.fromEntries(
        (await app.owner("GET", path)).body.items.map((item: { id: string; scopes: string[] }) => [
          item.id,
          item.scopes,
        ]),
      );
    expect((await shown(place))[made.body.id]).toEqual(["read", "run"]);
    const all = await shown("/api/v1/organizations/tokens");
    expect([all[made.body.id], all[own.id]]).toEqual([["read", "run"], own.scopes]);
  });

  test("does what its scope allows, and for everything else the error names the missing scope", async () => {
    const action = (await app.owner("POST", "/api/v1/actions", anAction)).body;
    const steps = [{ key: "one", kind: anAction.kind, definition: anAction.definition }];
    const config = { steps };
    const automation = (
      await app.owner("POST", "/api/v1/automations", { name: "Flow", triggerType: "manual", config })
    ).body;
    const tests = `/api/v1/automations/${automation.id}/test`;
    const calls: [scope: string, method: string, path: string, body?: unknown][] = [
      ["read", "GET", "/api/v1/actions"],
      ["read", "GET", "/api/v1/organizations/tokens"],
      ["read", "POST", "/api/v1/query", { sql: "select 1 as one" }],
      ["run", "POST", `/api/v1/actions/${action.id}/run`],
      ["run", "POST", tests, {}],
      ["write", "PATCH", `/api/v1/actions/${action.id}`, { name: "Other" }],
      ["write", "POST", "/api/v1/actions", anAction],
      ["approve", "POST", `/api/v1/approvals/${action.id}/approve`],
      ["admin", "PATCH", "/api/v1/organizations/current", { name: "Weir" }],
      ["admin", "DELETE", "/api/v1/sessions"],
      ["admin", "POST", "/api/v1/auth/device/approve", { userCode: "AAAA-AAAA", approve: true }],
    ];
    const scopes = ["read", "run", "write", "approve", "admin"];
    for (const scope of scopes) {
      const call = await tokenFor([scope]);
      for (const [needed, method, path, body] of calls) {
        const reply = await call(method, path, body);
        if (needed === scope) expect([path, reply.body?.code]).not.toEqual([path, "scope_missing"]);
        else {
          expect([path, reply.status, reply.body.code]).toEqual([path, 403, "scope_missing"]);
          expect(reply.body.detail).toContain(`lacks the scope ${needed}`);
        }
      }
    }
  });

  test("runs an action unchanged with run, and with overrides only with write too", async () => {
    const action = (await app.owner("POST", "/api/v1/actions", anAction)).body;
    const path = `/api/v1/actions/${action.id}/run`;
    const other = { definitionOverrides: { sql: "select 2 as two" } };
    const runner = await tokenFor(["read", "run"]);
    expect((await runner("POST", path)).status).toBe(201);
    expect((await runner("POST", path, { definitionOverrides: null })).status).toBe(201);
    const refused = await runner("POST", path, other);
    expect([refused.status, refused.body.code]).toEqual([403, "scope_missing"]);
    expect(refused.body.detail).toContain("write");
    expect((await (await tokenFor(["run", "write"]))("POST", path, other)).status).toBe(201);
  });

  test("tests an automation unchanged with run, and changed only with write too", async () => {
    const step = { key: "one", kind: anAction.kind, definition: anAction.definition };
    const config = { steps: [step] };
    const flow = { name: "Flow", triggerType: "manual", config };
    const path = `/api/v1/automations/${(await app.owner("POST", "/api/v1/automations", flow)).body.id}/test`;
    const runner = await tokenFor(["read", "run"]);
    expect((await runner("POST", path, {})).status).toBe(201);
    for (const other of [{ config }, { pinned: { one: { rows: 1 } } }]) {
      const refused = await runner("POST", path, other);
      expect([refused.status, refused.body.code]).toEqual([403, "scope_missing"]);
      expect(refused.body.detail).toContain("write");
      expect((await (await tokenFor(["run", "write"]))("POST", path, other)).status).toBe(201);
    }
  });

  test("creates none with more than its own", async () => {
    const narrow = await tokenFor(["read", "admin"]);
    const wider = await narrow("POST", place, { name: "wider", scopes: ["read", "write"] });
    expect([wider.status, wider.body.code]).toEqual([403, "scope_missing"]);
    expect(wider.body.detail).toContain("write");
    const same = await narrow("POST", place, { name: "same" });
    expect([same.status, same.body.scopes]).toEqual([201, ["read", "admin"]]);
    const write = await bearer(same.body.token)("POST", "/api/v1/actions", anAction);
    expect(write.body.code).toBe("scope_missing");
    const code = (await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir" })).body;
    const approved = await narrow("POST", "/api/v1/auth/device/approve", {
      userCode: code.user_code,
      approve: true,
    });
    expect([approved.status, approved.body.code]).toEqual([403, "scope_missing"]);
    for (const roleSlug of ["viewer", "owner"]) {
      const key = await narrow("POST", "/api/v1/api-keys", { name: "k", roleSlug });
      expect([roleSlug, key.status, key.body.code]).toEqual([roleSlug, 403, "scope_missing"]);
    }
    const whole = await tokenFor(["read", "run", "write", "approve", "admin"]);
    expect((await whole("POST", "/api/v1/api-keys", { name: "k" })).status).toBe(201);
  });

  test("never adds to the role", async () => {
    const viewer = await join(app, "viewer");
    const call = await tokenFor(["read", "write"], viewer.call);
    expect((await call("POST", "/api/v1/actions", anAction)).body.code).toBe("forbidden");
  });

  test("is rejected with unknown scopes, or none", async () => {
    for (const scopes of [[], ["reads"]]) {
      const { status, body } = await app.owner("POST", place, { name: "x", scopes });
      expect([status, body.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", "scopes"]]);
    }
  });

  test("lets external agents run nothing without the scope run", async () => {
    await app.owner("POST", "/api/v1/actions", { ...anAction, slug: "for-agents" });
    const ask = (call: Client, method: string, params: object) =>
      call(
        "POST",
        "/mcp",
        { jsonrpc: "2.0", id: 1, method, params },
        {
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
        },
      );
    const reader = await tokenFor(["read"]);
    const runner = await tokenFor(["read", "run"]);
    const lists = [await ask(reader, "tools/list", {}), await ask(runner, "tools/list", {})];
    expect(lists.map(({ text }) => text.includes("action_for-agents"))).toEqual([false, true]);
    const called = await ask(reader, "tools/call", { name: "action_for-agents", arguments: {} });
    expect(called.text).toContain("lacks the scope run");
    const runOnly = await ask(await tokenFor(["run"]), "tools/list", {});
    expect([runOnly.status, runOnly.body.code]).toEqual([403, "scope_missing"]);
  });

  test("is documented in the API's description", async () => {
    const { paths } = (await app.anonymous("GET", "/openapi.json")).body;
    expect(paths["/api/v1/actions/{action_id}/run"].post["x-scope"]).toBe("run");
    expect(paths["/api/v1/actions"].get["x-scope"]).toBe("read");
    expect(paths["/api/v1/auth/login"].post).not.toHaveProperty("x-scope");
  });
});
