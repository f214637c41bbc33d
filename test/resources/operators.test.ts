import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { client, startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";

const at = (id: string) => `/api/v1/installation/users/${id}`;

test("an operator confirms an address, whoever's member that is; it is audited there", async () => {
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

test("operators make operators, and one of them stays", async () => {
  await using app = await startApp({ engine: false });
  const { call, user } = await join(app, "viewer");
  const own = at(app.ids.userId);
  const last = await app.owner("PATCH", own, { isOperator: false });
  expect([last.status, last.body.code]).toEqual([409, "invalid_state"]);
  expect((await call("PATCH", at(user.id), { isOperator: true })).status).toBe(403);
  expect((await app.owner("PATCH", at(user.id), { isOperator: true })).body.isOperator).toBe(true);
  expect((await call("PATCH", own, { isOperator: false })).body.isOperator).toBe(false);
  const refused = await app.owner("PATCH", own, { isOperator: true });
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining("needs an operator")]);
});

test("an operator's role in an organization gives nobody else the right, nor does an API key", async () => {
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
])("%j is refused", async (body, field) => {
  await using app = await startApp({ engine: false });
  const refused = await app.owner("PATCH", at(app.ids.userId), body);
  expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", field] }]]);
});
