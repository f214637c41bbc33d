import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { browser, join, neighbour } from "../support/people.ts";
import { until } from "../support/work.ts";

const at = (id: string) => `/api/v1/installation/users/${id}`;

test("an operator confirms any member's address, which is audited in their organization", async () => {
  await using app = await startApp({ engine: false });
  const other = await neighbour(app);
  const { id } = other.user;
  await app.app.store.write(
    async (db) => void (await db.update(users).set({ addressProvenAt: null }).where(eq(users.id, id))),
  );
  expect((await other.call("GET", "/api/v1/users/me/invitations")).status).toBe(403);
  const changed = await app.owner("PATCH", at(id), { addressProven: true });
  expect([changed.status, changed.body]).toEqual([
    200,
    {
      id,
      email: other.user.email,
      firstName: other.user.firstName,
      lastName: null,
      addressProven: true,
      isOperator: false,
      createdAt: other.user.createdAt,
      updatedAt: expect.any(String),
    },
  ]);
  expect((await other.call("GET", "/api/v1/users/me/invitations")).status).toBe(200);
  expect((await app.owner("PATCH", at(id), { addressProven: true })).text).toBe(changed.text);
  const trail = await app.app.store.db
    .select()
    .from(events)
    .where(eq(events.organizationId, other.organization.id));
  expect(trail.filter(({ type }) => type === "user.updated")).toMatchObject([
    { actorId: app.ids.userId, data: { changes: [{ field: "addressProven", from: false, to: true }] } },
  ]);
});

test("operators make others operators, and one of them stays", async () => {
  await using app = await startApp({ engine: false });
  const { call, user } = await join(app, "viewer");
  const own = at(app.ids.userId);
  const last = await app.owner("PATCH", own, { isOperator: false });
  expect([last.status, last.body.code]).toEqual([409, "invalid_state"]);
  expect((await call("PATCH", at(user.id), { isOperator: true })).status).toBe(403);
  expect((await app.owner("PATCH", at(user.id), { isOperator: true })).body.isOperator).toBe(true);
  expect((await call("PATCH", own, { isOperator: false })).body.isOperator).toBe(false);
  const refused = await app.owner("PATCH", own, { isOperator: true });
  expect([refused.status, refused.body.detail]).toEqual([
    403,
    expect.stringContaining("Requires an operator"),
  ]);
});

test("an operator's role in an organization gives no one else the right, nor does an API key", async () => {
  await using app = await startApp({ engine: false });
  const owner = await join(app, "owner");
  const { key } = (await app.owner("POST", "/api/v1/api-keys", { name: "k", roleSlug: "owner" })).body;
  for (const call of [owner.call, client(app.origin, { "x-api-key": key })]) {
    const refused = await call("PATCH", at(owner.user.id), { isOperator: true });
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  }
  expect((await app.owner("PATCH", at(app.app.ids.uuid()), { isOperator: true })).status).toBe(404);
  const document = (await app.anonymous("GET", "/openapi.json")).body;
  expect(document.paths["/api/v1/installation/users/{user_id}"].patch["x-role"]).toBe("operator");
});

test.each([
  [{ addressProven: false }, "addressProven"],
  [{ isOperator: null }, "isOperator"],
  [{ email: "eve@example.com" }, "email"],
])("%j is rejected", async (body, field) => {
  await using app = await startApp({ engine: false });
  const refused = await app.owner("PATCH", at(app.ids.userId), body);
  expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", field] }]]);
});

test("an operator finds users by address or name, page by page, and sees who is an operator", async () => {
  await using app = await startApp({ engine: false, stands: true });
  const { call, user } = await join(app, "viewer");
  const other = await neighbour(app);
  const list = "/api/v1/installation/users";
  const first = (await app.owner("GET", `${list}?limit=2`)).body;
  const second = (await app.owner("GET", `${list}?limit=2&cursor=${first.nextCursor}`)).body;
  expect([...first.items, ...second.items].map(({ id }: { id: string }) => id)).toEqual([
    other.user.id,
    user.id,
    app.ids.userId,
  ]);
  expect(first.items[0]).toEqual({
    id: other.user.id,
    email: other.user.email,
    firstName: other.user.firstName,
    lastName: null,
    addressProven: true,
    isOperator: false,
    createdAt: other.user.createdAt,
    updatedAt: other.user.updatedAt,
    lastActiveAt: null,
  });
  await call("GET", "/api/v1/users/me");
  const search = `${list}?q=${user.email.slice(2, 25).toUpperCase()}`;
  const found = await until(app.owner, search, ({ items }) => items[0]?.lastActiveAt != null);
  expect(found.items).toMatchObject([{ id: user.id, lastActiveAt: app.clock.now().toISOString() }]);
  const operators = (await app.owner("GET", `${list}?is_operator=true`)).body.items;
  expect(operators).toMatchObject([{ id: app.ids.userId, isOperator: true }]);
  expect((await app.owner("GET", `${list}?q=100%25`)).body).toEqual({ items: [] });
  expect((await other.call("GET", list)).status).toBe(403);
});

test("users see whether they are an operator, and whether they may create organizations", async () => {
  await using app = await startApp({ engine: false });
  const { call } = await join(app, "owner");
  expect((await app.owner("GET", "/api/v1/installation")).body).toEqual({
    isOperator: true,
    createsOrganizations: true,
  });
  const none = { isOperator: false, createsOrganizations: false };
  expect((await call("GET", "/api/v1/installation")).body).toEqual(none);
  await using open = await startApp({ engine: false, env: { WEIR_ORGANIZATIONS: "anyone" } });
  const viewer = await join(open, "viewer");
  expect((await viewer.call("GET", "/api/v1/installation")).body).toEqual({
    ...none,
    createsOrganizations: true,
  });
});

test("an operator in a browser confirms their identity before they make another one", async () => {
  await using app = await startApp({ engine: false, stands: true });
  const { user } = await join(app, "viewer");
  const tab = browser(app.origin);
  await tab.signIn();
  app.clock.turn(61 * 60 * 1000);
  const late = await tab.call("PATCH", at(user.id), { isOperator: true });
  expect([late.status, late.body.code]).toEqual([401, "sign_in_again"]);
  expect((await tab.call("POST", "/api/v1/auth/confirm", { password: PASSWORD })).status).toBe(204);
  expect((await tab.call("PATCH", at(user.id), { isOperator: true })).body.isOperator).toBe(true);
});
