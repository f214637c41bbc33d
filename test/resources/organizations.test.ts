import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import { memberships } from "../../src/resources/organizations/table.ts";
import { client, startApp } from "../support/app.ts";
import { browser, join, neighbour } from "../support/people.ts";

const current = "/api/v1/organizations/current";
const team = "/api/v1/organizations/team";
const member = (id: string) => `${team}/members/${id}`;

type Started = Awaited<ReturnType<typeof startApp>>;

const ownMembership = async ({ app, ids }: Started) => {
  const [row] = await app.store.db.select().from(memberships).where(eq(memberships.userId, ids.userId));
  return row!.id;
};

const ownMembershipIn = async ({ app, ids }: Started, organizationId: string) => {
  const rows = await app.store.db.select().from(memberships).where(eq(memberships.userId, ids.userId));
  return rows.find((row) => row.organizationId === organizationId)!.id;
};

const typesOf = async ({ app }: Started) =>
  (await app.store.db.select().from(events)).map(({ type }) => type);

describe("organizations", () => {
  test("any signed-in user creates one if anyone may, and owns it; the new one's audit log records it", async () => {
    await using app = await startApp({
      engine: false,
      env: { WEIR_DEFAULT_PLAN: "pro", WEIR_ORGANIZATIONS: "anyone" },
    });
    const viewer = await join(app, "viewer");
    const made = await viewer.call("POST", "/api/v1/organizations", { name: "Café Müller & Co." });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      name: "Café Müller & Co.",
      slug: "cafe-muller-co",
      plan: "pro",
      webhookRate: null,
      requireFourEyes: false,
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
    });
    const there = { "x-organization-id": made.body.id };
    expect((await viewer.call("GET", team, undefined, there)).body).toMatchObject({
      currentRoleSlug: "owner",
      members: [{ roleSlug: "owner", isCurrentUser: true }],
    });
    const list = await viewer.call("GET", "/api/v1/organizations");
    expect(list.body.items.map(({ slug }: { slug: string }) => slug)).toEqual(["acme", "cafe-muller-co"]);
    const trail = await app.app.store.db.select().from(events).where(eq(events.organizationId, made.body.id));
    expect(trail.map(({ type }) => type)).toEqual(["organization.created", "auth.permission_granted"]);
  });

  test("slugs are made unique if derived, and rejected if given and taken", async () => {
    await using app = await startApp({ engine: false });
    const make = (body: object, headers = {}) => app.owner("POST", "/api/v1/organizations", body, headers);
    expect((await make({ name: "Acme" })).body.slug).toBe("acme-2");
    expect((await make({ name: "ACME!" })).body.slug).toBe("acme-3");
    const taken = await make({ name: "Other", slug: "acme" });
    expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
    expect((await make({ name: "Other", slug: "Not A Slug" })).status).toBe(422);
    const key = { "idempotency-key": "org-1" };
    const once = await make({ name: "Once" }, key);
    expect((await make({ name: "Once" }, key)).text).toBe(once.text);
  });

  test("a slug can't pass for another organization's ID", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_ORGANIZATIONS: "anyone" } });
    const intruder = await neighbour(app);
    const id = app.ids.organizationId;
    expect((await intruder.call("PATCH", current, { slug: id })).status).toBe(422);
    const made = await intruder.call("POST", "/api/v1/organizations", { name: id });
    expect([made.status, made.body.slug]).toEqual([201, `organization-${id}`]);
    const here = await app.owner("GET", current, undefined, { "x-organization-id": id.toUpperCase() });
    expect(here.body.id).toBe(id);
  });

  test.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "n".repeat(256) }, "name"],
    [{ name: 7 }, "name"],
    [{ name: "Ok", plan: "enterprise" }, "plan"],
  ])("creating one rejects %j", async (body, field) => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", "/api/v1/organizations", body);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", field]]);
  });

  test("X-Organization-Id selects one by ID or slug; one without membership is 403", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const at = (id: string) => app.owner("GET", current, undefined, { "x-organization-id": id });
    expect((await at(second.id)).body.slug).toBe("second");
    expect((await at("second")).body.id).toBe(second.id);
    for (const id of [other.organization.id, other.organization.slug, "nowhere", "", app.app.ids.uuid()]) {
      const refused = await at(id);
      expect([id, refused.status, refused.body.code]).toEqual([id, 403, "forbidden"]);
    }
    expect((await app.owner("GET", current)).body.id).toBe(app.ids.organizationId);
  });
});

describe("several organizations", () => {
  test("are all listed, the default one first", async () => {
    await using app = await startApp({ engine: false });
    const webhookRate = { perMinute: 1000, burst: 100 };
    await app.owner("PATCH", current, { plan: "enterprise", webhookRate });
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    await neighbour(app);
    const list = await app.owner("GET", "/api/v1/organizations");
    expect([list.status, list.body]).toEqual([
      200,
      {
        items: [
          {
            id: app.ids.organizationId,
            name: "Acme",
            slug: "acme",
            plan: "enterprise",
            webhookRate,
            requireFourEyes: false,
            createdAt: expect.any(String),
            updatedAt: expect.any(String),
          },
          second,
        ],
      },
    ]);
  });

  test("an access token for all organizations acts where it was created, unless the request names another", async () => {
    await using app = await startApp({ engine: false });
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const there = { "x-organization-id": second.id };
    const made = await app.owner(
      "POST",
      "/api/v1/access-tokens",
      { name: "there", organizations: "all" },
      there,
    );
    const call = client(app.origin, { authorization: `Bearer ${made.body.token}` });
    expect((await call("GET", current)).body.id).toBe(second.id);
    const marks = (await call("GET", "/api/v1/users/me/memberships")).body.items;
    expect(marks.map(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).toEqual([false, true]);
    const named = { "x-organization-id": "acme" };
    expect((await call("GET", current, undefined, named)).body.id).toBe(app.ids.organizationId);
    const here = (await app.owner("GET", "/api/v1/access-tokens")).body.items;
    expect(here.map(({ name }: { name: string }) => name)).toEqual(["test"]);
    const elsewhere = (await app.owner("GET", "/api/v1/access-tokens", undefined, there)).body.items;
    expect(elsewhere.map(({ name }: { name: string }) => name)).toEqual(["there"]);
    expect((await app.owner("DELETE", `/api/v1/access-tokens/${made.body.id}`)).status).toBe(404);

    const other = await join(app, "owner", second.id);
    const [ada] = (await other.call("GET", team)).body.members;
    await other.call("DELETE", member(ada.membershipId));
    expect((await call("GET", current)).status).toBe(401);
    expect((await call("GET", current, undefined, named)).status).toBe(401);
  });

  test("a browser uses the default one, with the user's role there", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const second = (await ada.call("POST", "/api/v1/organizations", { name: "Second" })).body;
    expect((await ada.call("GET", current)).body.id).toBe(app.ids.organizationId);
    const there = { "x-organization-id": "SECOND" };
    expect((await ada.call("GET", current, undefined, there)).body).toEqual(second);
    const owner = await join(app, "owner");
    const own = `${member(await ownMembershipIn(app, app.ids.organizationId))}/role`;
    await owner.call("PATCH", own, { roleSlug: "viewer" });
    expect((await ada.call("PATCH", current, { name: "No" })).status).toBe(403);
    expect((await ada.call("PATCH", current, { name: "Yes" }, there)).status).toBe(200);
  });
});

describe("changing the organization", () => {
  test("accepts every field up to its limit, and nothing beyond", async () => {
    await using app = await startApp({ engine: false });
    const most = { perMinute: 1_000_000, burst: 1_000_000 };
    const kept = { name: "n".repeat(255), slug: "s".repeat(100), plan: "enterprise", webhookRate: most };
    expect((await app.owner("PATCH", current, kept)).body).toMatchObject(kept);
    const refused: [object, string[]][] = [
      [{ name: "n".repeat(256) }, ["body", "name"]],
      [{ slug: "s".repeat(101) }, ["body", "slug"]],
      [{ slug: "Acme" }, ["body", "slug"]],
      [{ slug: null }, ["body", "slug"]],
      [{ plan: null }, ["body", "plan"]],
      [{ webhookRate: { ...most, perMinute: 1_000_001 } }, ["body", "webhookRate", "perMinute"]],
      [{ webhookRate: { ...most, burst: 0 } }, ["body", "webhookRate", "burst"]],
      [{ webhookRate: { perMinute: 1 } }, ["body", "webhookRate", "burst"]],
      [{ webhookRate: { ...most, perHour: 1 } }, ["body", "webhookRate", "perHour"]],
    ];
    for (const [body, loc] of refused) {
      const answer = await app.owner("PATCH", current, body);
      expect([body, answer.status, answer.body.detail?.[0].loc]).toEqual([body, 422, loc]);
    }
    expect((await app.owner("PATCH", current, { webhookRate: null })).body.webhookRate).toBeNull();
  });

  test("changes the given fields, and records each", async () => {
    await using app = await startApp({ engine: false });
    const before = (await app.owner("GET", current)).body;
    app.clock.turn(1000);
    const after = await app.owner("PATCH", current, { name: "Acme Ltd", slug: "acme-ltd" });
    expect(after.body).toEqual({
      ...before,
      name: "Acme Ltd",
      slug: "acme-ltd",
      updatedAt: after.body.updatedAt,
    });
    expect(after.body.updatedAt > before.updatedAt).toBe(true);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.at(-1)).toMatchObject({
      type: "organization.updated",
      data: {
        changes: [
          { field: "name", from: "Acme", to: "Acme Ltd" },
          { field: "slug", from: "acme", to: "acme-ltd" },
        ],
      },
    });
  });

  test("to its current values leaves no trace", async () => {
    await using app = await startApp({ engine: false });
    const before = (await app.owner("GET", current)).body;
    const count = await app.app.store.db.$count(events);
    app.clock.turn(1000);
    for (const body of [{}, { name: "Acme", slug: "acme", plan: "free", webhookRate: null }]) {
      expect(await app.owner("PATCH", current, body)).toMatchObject({ status: 200, body: before });
    }
    expect(await app.app.store.db.$count(events)).toBe(count);
  });

  test("a webhook rate requires the enterprise plan, and is removed with it", async () => {
    await using app = await startApp({ engine: false });
    const webhookRate = { perMinute: 5000, burst: 500 };
    const refused = await app.owner("PATCH", current, { webhookRate });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "webhookRate"]]);
    expect((await app.owner("PATCH", current, { plan: "enterprise", webhookRate })).body).toMatchObject({
      plan: "enterprise",
      webhookRate,
    });
    const { call: admin } = await join(app, "admin");
    const byAdmin = await admin("PATCH", current, { webhookRate: { perMinute: 5, burst: 5 } });
    expect([byAdmin.status, byAdmin.body.code]).toEqual([403, "forbidden"]);
    expect((await app.owner("PATCH", current, { webhookRate: { perMinute: 0, burst: 1 } })).status).toBe(422);
    expect((await app.owner("PATCH", current, { plan: "pro" })).body).toMatchObject({
      plan: "pro",
      webhookRate: null,
      requireFourEyes: false,
    });
  });

  test("rejects a slug that is taken, and fields that only Weir sets", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const taken = await app.owner("PATCH", current, { name: "Kept out", slug: other.organization.slug });
    expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
    expect((await app.owner("GET", current)).body.name).toBe("Acme");
    const fixed = await app.owner("PATCH", current, {
      id: app.app.ids.uuid(),
      createdAt: "x",
      plan: "gold",
      name: null,
    });
    expect(fixed.status).toBe(422);
    expect(fixed.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc[1], type])).toEqual(
      [
        ["name", "string_type"],
        ["plan", "enum"],
        ["id", "extra_forbidden"],
        ["createdAt", "extra_forbidden"],
      ],
    );
  });

  test("is for admins; credentials and role are checked before input", async () => {
    await using app = await startApp({ engine: false });
    for (const [role, status] of [
      ["viewer", 403],
      ["member", 403],
      ["admin", 200],
    ] as const) {
      const { call } = await join(app, role);
      expect((await call("GET", current)).status).toBe(200);
      const change = await call("PATCH", current, { name: `Named by ${role}` });
      expect([role, change.status]).toEqual([role, status]);
    }
    const viewer = await join(app, "viewer");
    expect((await app.anonymous("PATCH", current, { wrong: true })).status).toBe(401);
    expect((await viewer.call("PATCH", current, { wrong: true })).status).toBe(403);
    expect((await viewer.call("PATCH", current, {})).body.code).toBe("forbidden");
  });
});

describe("the team", () => {
  test("is listed with roles, to every member, and to no one else", async () => {
    await using app = await startApp({ engine: false });
    const viewer = await join(app, "viewer");
    await neighbour(app);
    const seen = (await viewer.call("GET", team)).body;
    expect(seen.currentRoleSlug).toBe("viewer");
    expect(seen.members).toEqual([
      {
        membershipId: await ownMembership(app),
        userId: app.ids.userId,
        email: "ada@example.com",
        firstName: "Ada",
        lastName: "Lovelace",
        roleId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        roleName: "Owner",
        roleSlug: "owner",
        joinedAt: expect.any(String),
        isCurrentUser: false,
      },
      expect.objectContaining({
        membershipId: viewer.membership.id,
        roleSlug: "viewer",
        isCurrentUser: true,
      }),
    ]);
    const { items } = (await viewer.call("GET", "/api/v1/organizations/members")).body;
    expect(items[0]).toEqual({
      id: app.ids.userId,
      email: "ada@example.com",
      firstName: "Ada",
      lastName: "Lovelace",
      profilePictureUrl: null,
    });
    expect(items).toHaveLength(2);
  });

  test("an admin assigns roles up to their own; the changes are recorded", async () => {
    await using app = await startApp({ engine: false });
    const admin = await join(app, "admin");
    const viewer = await join(app, "viewer");
    const place = `${member(viewer.membership.id)}/role`;
    const given = await admin.call("PATCH", place, { roleSlug: "admin" });
    expect([given.status, given.body]).toEqual([
      200,
      {
        membershipId: viewer.membership.id,
        roleId: expect.any(String),
        roleName: "Admin",
        roleSlug: "admin",
      },
    ]);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.slice(-2)).toMatchObject([
      { type: "auth.permission_revoked", data: { userId: viewer.user.id, roleSlug: "viewer" } },
      { type: "auth.permission_granted", data: { userId: viewer.user.id, roleSlug: "admin" } },
    ]);
    const above = await admin.call("PATCH", place, { roleSlug: "owner" });
    expect([above.status, above.body.code]).toEqual([403, "forbidden"]);
    const count = await app.app.store.db.$count(events);
    expect((await admin.call("PATCH", place, { roleSlug: "admin" })).status).toBe(200);
    expect(await app.app.store.db.$count(events)).toBe(count);
  });

  test("nobody below an owner changes an owner, and nobody below an admin changes anyone", async () => {
    await using app = await startApp({ engine: false });
    const first = await ownMembership(app);
    const admin = await join(app, "admin");
    await join(app, "owner");
    expect((await admin.call("PATCH", `${member(first)}/role`, { roleSlug: "viewer" })).status).toBe(403);
    expect((await admin.call("DELETE", member(first))).status).toBe(403);
    for (const role of ["viewer", "member"] as const) {
      const { call, membership } = await join(app, role);
      expect((await call("PATCH", `${member(membership.id)}/role`, { roleSlug: role })).status).toBe(403);
      expect((await call("DELETE", member(admin.membership.id))).status).toBe(403);
    }
  });

  test("always has an owner, even if two owners demote each other at once", async () => {
    await using app = await startApp({ engine: false });
    const first = await ownMembership(app);
    const alone = await app.owner("PATCH", `${member(first)}/role`, { roleSlug: "admin" });
    expect([alone.status, alone.body.code]).toEqual([409, "last_owner"]);
    expect((await app.owner("DELETE", member(first))).body.code).toBe("last_owner");
    expect((await app.owner("PATCH", `${member(first)}/role`, { roleSlug: "owner" })).status).toBe(200);

    const second = await join(app, "owner");
    const both = await Promise.all([
      app.owner("PATCH", `${member(second.membership.id)}/role`, { roleSlug: "viewer" }),
      second.call("PATCH", `${member(first)}/role`, { roleSlug: "viewer" }),
    ]);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await app.app.store.db.$count(memberships, eq(memberships.role, "owner"))).toBe(1);
  });

  test("a removed member loses access immediately, and gets another default", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_ORGANIZATIONS: "anyone" } });
    const gone = await join(app, "member");
    const own = (await gone.call("POST", "/api/v1/organizations", { name: "Own" })).body;
    const there = { "x-organization-id": own.id };
    const made = await gone.call("POST", "/api/v1/access-tokens", { name: "own" }, there);
    const left = await app.owner("DELETE", member(gone.membership.id));
    expect([left.status, left.text]).toEqual([204, ""]);
    expect((await gone.call("GET", current)).status).toBe(401);
    const remaining = await client(app.origin, { authorization: `Bearer ${made.body.token}` })(
      "GET",
      "/api/v1/users/me/memberships",
    );
    expect(remaining.body.items).toMatchObject([{ isDefault: true, organization: { id: own.id } }]);
    expect((await app.owner("GET", team)).body.members).toHaveLength(1);
    expect((await typesOf(app)).slice(-2)).toEqual(["auth.permission_revoked", "auth.token_revoked"]);
    expect((await app.owner("DELETE", member(gone.membership.id))).status).toBe(404);
  });

  test("memberships of another organization don't exist", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    expect(
      (await app.owner("PATCH", `${member(other.membership.id)}/role`, { roleSlug: "viewer" })).status,
    ).toBe(404);
    expect((await app.owner("DELETE", member(other.membership.id))).status).toBe(404);
    expect((await app.owner("DELETE", member("me"))).body.detail).toMatchObject([
      { loc: ["path", "membership_id"] },
    ]);
    const place = `${member(await ownMembership(app))}/role`;
    const unknown = await app.owner("PATCH", place, { roleSlug: "king" });
    expect(unknown.body.detail).toMatchObject([{ loc: ["body", "roleSlug"], type: "enum" }]);
  });
});
