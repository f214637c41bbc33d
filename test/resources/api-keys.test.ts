import { describe, expect, test } from "bun:test";
import { apiKeys } from "../../src/resources/api-keys/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { client, startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { browser, join, neighbour } from "../support/people.ts";
import { isOnPostgres } from "../support/test-store.ts";
import { makeAction, runEnd } from "../support/work.ts";

const place = "/api/v1/api-keys";
const current = "/api/v1/organizations/current";

type Started = Awaited<ReturnType<typeof startApp>>;

async function makeKey(app: Started, roleSlug = "member", name = "Import") {
  const made = await app.owner("POST", place, { name, roleSlug });
  expect(made.status).toBe(201);
  return { ...made.body, call: client(app.origin, { "x-api-key": made.body.key }) };
}

describe("creating an API key", () => {
  test("shows it once; lists show its last four characters", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", place, { name: "Import" });
    expect(made.status).toBe(201);
    const { key, ...rest } = made.body;
    expect(key).toMatch(/^svc_key_[0-9A-Za-z]{49}$/);
    expect(rest).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: "Import",
      roleSlug: "member",
      lastFour: key.slice(-4),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastUsedAt: null,
    });
    const list = await app.owner("GET", place);
    expect([list.status, list.body]).toEqual([200, { items: [rest] }]);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.at(-1)).toMatchObject({
      type: "auth.token_created",
      entityType: "api_key",
      entityId: rest.id,
      actorType: "user",
      actorId: app.ids.userId,
      data: { kind: "api_key", name: "Import", roleSlug: "member", lastFour: rest.lastFour },
    });
    expect(JSON.stringify(trail)).not.toContain(key);
  });

  test("is for admins, and gives no role above their own", async () => {
    await using app = await startApp({ engine: false });
    for (const role of ["viewer", "member"] as const) {
      const { call } = await join(app, role);
      expect([role, (await call("GET", place)).status]).toEqual([role, 403]);
      expect((await call("POST", place, { name: "Import", roleSlug: "viewer" })).status).toBe(403);
      expect((await call("DELETE", `${place}/${app.app.ids.uuid()}`)).status).toBe(403);
    }
    const admin = await join(app, "admin");
    for (const roleSlug of ["viewer", "member", "admin"]) {
      const made = await admin.call("POST", place, { name: "Import", roleSlug });
      expect([made.status, made.body.roleSlug]).toEqual([201, roleSlug]);
    }
    const above = await admin.call("POST", place, { name: "Import", roleSlug: "owner" });
    expect([above.status, above.body.code]).toEqual([403, "forbidden"]);
    expect((await app.owner("POST", place, { name: "Import", roleSlug: "owner" })).status).toBe(201);
    expect((await app.anonymous("GET", place)).status).toBe(401);
    expect(await app.app.store.db.$count(apiKeys)).toBe(4);
  });

  test.each([
    [{}, "name", "missing"],
    [{ name: "" }, "name", "string_too_short"],
    [{ name: " " }, "name", "string_pattern_mismatch"],
    [{ name: "n".repeat(256) }, "name", "string_too_long"],
    [{ name: "Import", roleSlug: "king" }, "roleSlug", "enum"],
    [{ name: "Import", roleSlug: null }, "roleSlug", "enum"],
    [{ name: "Import", expiresInDays: 30 }, "expiresInDays", "extra_forbidden"],
  ])("rejects %j", async (body, field, type) => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", place, body);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", field], type }]]);
    expect(await app.app.store.db.$count(apiKeys)).toBe(0);
    expect((await app.owner("POST", place, { name: "n".repeat(255) })).status).toBe(201);
  });

  test("again with the same Idempotency-Key returns the same key, which isn't stored", async () => {
    await using app = await startApp({ engine: false });
    const once = { "idempotency-key": "make-import-key" };
    const made = await app.owner("POST", place, { name: "Import" }, once);
    const again = await app.owner("POST", place, { name: "Import" }, once);
    expect([again.status, again.text]).toEqual([201, made.text]);
    expect((await app.owner("GET", place)).body.items).toHaveLength(1);
    expect(await isStored(app, made.body.key)).toBe(false);
  });
});

describe("the list of API keys", () => {
  test("is paged, newest first, by a cursor that is only valid in this organization", async () => {
    await using app = await startApp({ engine: false });
    for (let n = 0; n < 5; n++) await makeKey(app, "viewer", `k${n}`);
    const names = (answer: { body: { items: { name: string }[] } }) =>
      answer.body.items.map(({ name }) => name);
    const first = await app.owner("GET", `${place}?limit=3`);
    const second = await app.owner("GET", `${place}?limit=3&cursor=${first.body.nextCursor}`);
    expect([names(first), names(second)]).toEqual([
      ["k4", "k3", "k2"],
      ["k1", "k0"],
    ]);
    expect(second.body).not.toHaveProperty("nextCursor");
    const other = await neighbour(app);
    expect((await other.call("GET", `${place}?cursor=${first.body.nextCursor}`)).status).toBe(422);
    expect((await other.call("GET", place)).body).toEqual({ items: [] });
    for (const [limit, status] of [
      [0, 422],
      [1, 200],
      [200, 200],
      [201, 422],
    ]) {
      expect([limit, (await app.owner("GET", `${place}?limit=${limit}`)).status]).toEqual([limit, status!]);
    }
  });

  test.skipIf(isOnPostgres)("uses an index", async () => {
    await using app = await startApp({ engine: false });
    const plan = await app.app.store.db.all(
      "EXPLAIN QUERY PLAN SELECT * FROM api_keys WHERE organization_id = 'a' AND revoked_at IS NULL AND id < 'b' ORDER BY id DESC LIMIT 51",
    );
    expect(JSON.stringify(plan)).toContain("api_keys_by_organization");
    expect(JSON.stringify(plan)).not.toMatch(/SCAN|TEMP B-TREE/);
  });
});

describe("an API key", () => {
  test("acts with its own role, whatever happens to its creator", async () => {
    await using app = await startApp({ engine: false });
    const admin = await join(app, "admin");
    const made = (await admin.call("POST", place, { name: "Import", roleSlug: "admin" })).body;
    const call = client(app.origin, { "x-api-key": made.key });
    await app.owner("DELETE", `/api/v1/organizations/team/members/${admin.membership.id}`);
    expect((await call("PATCH", current, { name: "Renamed" })).body.name).toBe("Renamed");
    const viewer = await makeKey(app, "viewer");
    expect((await viewer.call("GET", current)).status).toBe(200);
    expect((await viewer.call("PATCH", current, { name: "Again" })).body.code).toBe("forbidden");
    const team = (await viewer.call("GET", "/api/v1/organizations/team")).body;
    expect([team.currentRoleSlug, team.members[0].isCurrentUser]).toEqual(["viewer", false]);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.findLast(({ type }) => type === "organization.updated")).toMatchObject({
      actorType: "api",
      actorId: made.id,
      actor: { ip: "127.0.0.1" },
    });
    const told = await app.owner("GET", `/api/v1/events?actorType=api&actorId=${made.id}`);
    expect(told.body.items.map(({ actor }: { actor: object }) => actor)).toEqual([
      { type: "api", id: made.id, ip: "127.0.0.1" },
    ]);
  });

  test("belongs to one organization; X-Organization-Id can only name that one", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const { call } = await makeKey(app, "owner");
    const at = (named: string) => call("GET", current, undefined, { "x-organization-id": named });
    expect((await at(app.ids.organizationId)).body.id).toBe(app.ids.organizationId);
    expect((await at("acme")).body.id).toBe(app.ids.organizationId);
    for (const named of [second.id, "second", other.organization.id, "nowhere", ""]) {
      expect([named, (await at(named)).body.code]).toEqual([named, "forbidden"]);
    }
  });

  test("can't use operations about a user", async () => {
    await using app = await startApp({ engine: false });
    const { call } = await makeKey(app, "owner");
    const personal = [
      ["GET", "/api/v1/users/me"],
      ["GET", "/api/v1/users/me/memberships"],
      ["PATCH", "/api/v1/users/me/preferences"],
      ["GET", "/api/v1/sessions"],
      ["DELETE", "/api/v1/sessions"],
      ["GET", "/api/v1/access-tokens"],
      ["POST", "/api/v1/access-tokens"],
      ["GET", "/api/v1/organizations"],
      ["POST", "/api/v1/organizations"],
      ["POST", "/api/v1/auth/logout"],
    ] as const;
    for (const [method, where] of personal) {
      const refused = await call(method, where, method === "GET" ? undefined : {});
      expect([where, refused.status, refused.body.code]).toEqual([where, 403, "forbidden"]);
    }
  });

  test("creates other keys, with at most its own role", async () => {
    await using app = await startApp({ engine: false });
    const { call, id } = await makeKey(app, "admin");
    const made = await call("POST", place, { name: "Child", roleSlug: "admin" });
    expect(made.status).toBe(201);
    expect((await call("POST", place, { name: "Child", roleSlug: "owner" })).status).toBe(403);
    expect(await app.app.store.db.select().from(apiKeys)).toContainEqual(
      expect.objectContaining({ id: made.body.id, createdBy: id }),
    );
  });

  test("is rejected immediately after it is revoked, only by its organization", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const { call, id, lastFour } = await makeKey(app);
    const random = app.app.ids.uuid();
    const foreign = await other.call("DELETE", `${place}/${id}`, undefined, {
      "x-correlation-id": "same-one",
    });
    const absent = await other.call("DELETE", `${place}/${random}`, undefined, {
      "x-correlation-id": "same-one",
    });
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
    expect((await call("GET", current)).status).toBe(200);
    const gone = await app.owner("DELETE", `${place}/${id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await call("GET", current)).body.code).toBe("unauthenticated");
    expect((await app.owner("GET", place)).body.items).toEqual([]);
    expect((await app.owner("DELETE", `${place}/${id}`)).status).toBe(404);
    expect((await app.owner("DELETE", `${place}/first`)).body.detail[0].loc).toEqual(["path", "key_id"]);
    const trail = await app.app.store.db.select().from(events);
    const revoked = trail.filter(({ type }) => type === "auth.token_revoked");
    expect(revoked).toMatchObject([
      {
        entityType: "api_key",
        entityId: id,
        data: { kind: "api_key", name: "Import", roleSlug: "member", lastFour },
      },
    ]);
  });

  test("that is invalid is rejected, and a cookie sent with it isn't tried", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const { key, call } = await makeKey(app);
    const wrong = ["", "x", `${key}x`, key.slice(0, -1), key.replace("svc_key_", "svc_pat_"), app.token];
    const flipped = key.slice(0, 12) + (key[12] === "a" ? "b" : "a") + key.slice(13);
    for (const each of [...wrong, flipped]) {
      const refused = await ada.call("GET", current, undefined, { "x-api-key": each });
      expect([each, refused.status, refused.body.code]).toEqual([each, 401, "unauthenticated"]);
    }
    const asBearer = await app.anonymous("GET", current, undefined, { authorization: `Bearer ${key}` });
    expect(asBearer.status).toBe(401);
    const both = await call("GET", current, undefined, { authorization: "Bearer svc_pat_wrong" });
    expect(both.status).toBe(401);
  });

  test("records when it was last used", async () => {
    await using app = await startApp({ engine: false });
    const { call } = await makeKey(app);
    await call("GET", current);
    const used = async () => (await app.owner("GET", place)).body.items[0].lastUsedAt;
    const first = await used();
    expect(first).toMatch(/Z$/);
    app.clock.turn(61_000);
    await call("GET", current);
    await app.app.store.write(async () => undefined); // Queued behind the update.
    expect((await used()) > first).toBe(true);
  });

  test("creates resources and starts runs; lists that show users work without one", async () => {
    await using app = await startApp();
    const { call, id } = await makeKey(app);
    const action = await makeAction(call);
    expect([action.createdBy, action.updatedBy]).toEqual([id, id]);
    const list = await app.owner("GET", "/api/v1/actions");
    expect([list.body.total, list.body.users]).toEqual([1, {}]);
    const started = await call("POST", `/api/v1/actions/${action.id}/run`, undefined, {
      "idempotency-key": "run-1",
    });
    expect(started.status).toBe(201);
    expect(started.body).toMatchObject({
      triggerMethod: "api",
      triggerSourceType: "api_key",
      triggerSourceId: id,
    });
    const again = await call("POST", `/api/v1/actions/${action.id}/run`, undefined, {
      "idempotency-key": "run-1",
    });
    expect([again.body.id, again.headers.get("idempotency-replayed")]).toEqual([started.body.id, "true"]);
    const ofOwner = await app.owner("POST", `/api/v1/actions/${action.id}/run`, undefined, {
      "idempotency-key": "run-1",
    });
    expect(ofOwner.body.id).not.toBe(started.body.id);
    const runs = (await app.owner("GET", "/api/v1/action-runs")).body;
    expect([runs.total, Object.keys(runs.users)]).toEqual([2, [app.ids.userId]]);
    expect((await runEnd(call, started.body.id)).status).toBe("completed");
    await runEnd(call, ofOwner.body.id);
    const told = (await app.owner("GET", `/api/v1/events?type=action.started&actorType=api`)).body.items;
    expect(told).toMatchObject([{ actor: { type: "api", id } }]);
  });
});
