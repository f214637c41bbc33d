import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { hashPassword } from "../../src/crypto/passwords.ts";
import { events } from "../../src/resources/events/table.ts";
import { invitations } from "../../src/resources/invitations/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { client, startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { browser, join, neighbour, turnOnSecondFactor } from "../support/people.ts";
import { deepTest, someOf } from "../support/scale.ts";

const place = "/api/v1/organizations/invitations";
const accept = "/api/v1/auth/invitations/accept";
const team = "/api/v1/organizations/team";
const DAY_MS = 24 * 60 * 60 * 1000;
const NEW_PASSWORD = "a new one of some length";
const grace = { email: "grace@example.com", roleSlug: "member" };

type Started = Awaited<ReturnType<typeof startApp>>;

async function invite(app: Started, body: object = grace, call = app.owner) {
  const made = await call("POST", place, body);
  expect(made.status).toBe(201);
  return { ...made.body, token: tokenOf(made.body.inviteUrl) };
}

const tokenOf = (url: string) => new URL(url).searchParams.get("token") ?? "";

/** A user with their own password, owner of another organization. */
async function stranger(app: Started) {
  const other = await neighbour(app);
  const passwordHash = await hashPassword(NEW_PASSWORD);
  await app.app.store.write(
    async (db) => void (await db.update(users).set({ passwordHash }).where(eq(users.id, other.user.id))),
  );
  return other;
}

const trailOf = ({ app }: Started) => app.store.db.select().from(events);

describe("inviting", () => {
  test("shows the link once, valid for seven days; the list shows the rest", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", place, { email: "Grace@Example.com", roleSlug: "admin" });
    expect(made.status).toBe(201);
    const { inviteUrl, warnings, ...rest } = made.body;
    expect(warnings).toEqual([expect.stringContaining("Send the link yourself")]);
    expect(rest).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      email: "grace@example.com",
      roleSlug: "admin",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      createdBy: app.ids.userId,
      expiresAt: expect.any(String),
    });
    const lasts = Date.parse(rest.expiresAt) - Date.parse(rest.createdAt);
    expect(Math.round(lasts / 1000) * 1000).toBe(7 * DAY_MS);
    expect(inviteUrl).toStartWith(`${app.origin}/invite?token=`);
    expect(tokenOf(inviteUrl)).toMatch(/^[0-9A-Za-z]{49}$/);
    const list = await app.owner("GET", place);
    expect([list.status, list.body]).toEqual([200, { items: [rest] }]);
    expect((await trailOf(app)).at(-1)).toMatchObject({
      type: "organization.invitation_created",
      entityType: "invitation",
      entityId: rest.id,
      actorId: app.ids.userId,
      data: { email: "grace@example.com", roleSlug: "admin", expiresAt: rest.expiresAt },
    });
    expect(await isStored(app, tokenOf(inviteUrl))).toBe(false);
  });

  test("rejects an address that looks different from what it is", async () => {
    await using app = await startApp({ engine: false });
    for (const hidden of ["\u200b", "\u202e", "\u00ad", "\u001b", "\u009b", "\u2028"]) {
      const refused = await app.owner("POST", place, { email: `ada${hidden}@example.com` });
      expect([hidden, refused.status, refused.body.detail?.[0].type]).toEqual([hidden, 422, "email_parsing"]);
    }
    expect((await app.owner("POST", place, { email: "zoë+weir@example.com" })).status).toBe(201);
  });

  test("is for admins, and gives no role above their own", async () => {
    await using app = await startApp({ engine: false });
    for (const role of ["viewer", "member"] as const) {
      const { call } = await join(app, role);
      expect((await call("GET", place)).status).toBe(403);
      expect((await call("POST", place, { ...grace, roleSlug: "viewer" })).status).toBe(403);
      expect((await call("DELETE", `${place}/${app.app.ids.uuid()}`)).status).toBe(403);
    }
    const admin = await join(app, "admin");
    const above = await admin.call("POST", place, { ...grace, roleSlug: "owner" });
    expect([above.status, above.body.code]).toEqual([403, "forbidden"]);
    expect((await admin.call("POST", place, { ...grace, roleSlug: "admin" })).status).toBe(201);
    const owned = await app.owner("POST", place, { email: "second@example.com", roleSlug: "owner" });
    expect([owned.status, owned.body.roleSlug]).toEqual([201, "owner"]);
    expect((await app.owner("POST", place, { email: "third@example.com" })).body.roleSlug).toBe("member");
    expect((await app.anonymous("POST", place, grace)).status).toBe(401);
  });

  test.each([
    [{}, "email", "missing"],
    [{ email: "grace" }, "email", "email_parsing"],
    [{ email: `g@${"x".repeat(249)}.com` }, "email", "string_too_long"],
    [{ email: null }, "email", "string_type"],
    [{ ...grace, roleSlug: "king" }, "roleSlug", "enum"],
    [{ ...grace, firstName: "Grace" }, "firstName", "extra_forbidden"],
  ])("rejects %j", async (body, field, type) => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", place, body);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", field], type }]]);
    expect(await app.app.store.db.$count(invitations)).toBe(0);
  });

  test("an existing member is a conflict", async () => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", place, { email: "ADA@example.com" });
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    expect(await app.app.store.db.$count(invitations)).toBe(0);
  });

  test("an address again revokes the previous link; the same Idempotency-Key returns the same link", async () => {
    await using app = await startApp({ engine: false });
    const first = await invite(app);
    const once = { "idempotency-key": "invite-grace" };
    const second = await app.owner("POST", place, { email: "GRACE@example.com" }, once);
    expect((await app.owner("POST", place, { email: "GRACE@example.com" }, once)).text).toBe(second.text);
    const list = (await app.owner("GET", place)).body.items;
    expect(list.map(({ id }: { id: string }) => id)).toEqual([second.body.id]);
    const old = await app.anonymous("POST", accept, { token: first.token, password: NEW_PASSWORD });
    expect([old.status, old.body.code]).toEqual([410, "gone"]);
    expect(
      (await trailOf(app)).filter(({ type }) => type === "organization.invitation_withdrawn"),
    ).toMatchObject([{ entityId: first.id, data: { email: grace.email, cause: "replaced" } }]);
  });

  test("lists page by page, and only the organization's own", async () => {
    await using app = await startApp({ engine: false });
    for (let n = 0; n < 3; n++) await invite(app, { email: `g${n}@example.com` });
    const first = (await app.owner("GET", `${place}?limit=2`)).body;
    const second = (await app.owner("GET", `${place}?limit=2&cursor=${first.nextCursor}`)).body;
    const emails = [...first.items, ...second.items].map(({ email }: { email: string }) => email);
    expect(emails).toEqual(["g2@example.com", "g1@example.com", "g0@example.com"]);
    expect(second).not.toHaveProperty("nextCursor");
    for (const limit of [0, 201])
      expect((await app.owner("GET", `${place}?limit=${limit}`)).status).toBe(422);
    expect((await app.owner("GET", `${place}?limit=200`)).status).toBe(200);
    const other = await neighbour(app);
    expect((await other.call("GET", place)).body).toEqual({ items: [] });
    expect((await other.call("GET", `${place}?cursor=${first.nextCursor}`)).status).toBe(422);
  });

  test("can only be revoked by its own organization; the link ends with it", async () => {
    await using app = await startApp({ engine: false });
    const { id, token } = await invite(app);
    const other = await neighbour(app);
    const same = { "x-correlation-id": "same-for-both" };
    const foreign = await other.call("DELETE", `${place}/${id}`, undefined, same);
    const random = await other.call("DELETE", `${place}/${app.app.ids.uuid()}`, undefined, same);
    expect([foreign.status, foreign.text]).toEqual([404, random.text]);
    expect((await app.owner("DELETE", `${place}/first`)).body.detail[0].loc).toEqual([
      "path",
      "invitation_id",
    ]);
    const gone = await app.owner("DELETE", `${place}/${id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await trailOf(app)).at(-1)).toMatchObject({
      type: "organization.invitation_withdrawn",
      entityId: id,
      data: { email: grace.email, roleSlug: "member", cause: "withdrawn" },
    });
    expect((await app.owner("DELETE", `${place}/${id}`)).status).toBe(404);
    expect((await app.owner("GET", place)).body).toEqual({ items: [] });
    expect((await app.anonymous("POST", accept, { token, password: NEW_PASSWORD })).status).toBe(410);
  });
});

describe("accepting", () => {
  test("makes a new user a member and signs them in", async () => {
    await using app = await startApp({ engine: false });
    const { id, token } = await invite(app, { ...grace, roleSlug: "admin" });
    const page = browser(app.origin);
    const names = { firstName: "Grace", lastName: "Hopper" };
    const joined = await page.call("POST", accept, { token, password: NEW_PASSWORD, ...names });
    expect(joined.status).toBe(201);
    expect(joined.body).toEqual({
      id: expect.any(String),
      email: "grace@example.com",
      firstName: "Grace",
      lastName: "Hopper",
      profilePictureUrl: null,
      locale: null,
      timezone: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(joined.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^svc_token=svc_at_\w{49}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/),
    ]);
    expect((await page.call("GET", team)).body).toMatchObject({
      currentRoleSlug: "admin",
      members: [{}, { email: "grace@example.com", roleSlug: "admin", isCurrentUser: true }],
    });
    expect((await page.call("GET", "/api/v1/users/me/memberships")).body.items).toMatchObject([
      { isDefault: true, isCurrent: true, role: "admin", organization: { id: app.ids.organizationId } },
    ]);
    expect((await app.owner("GET", place)).body).toEqual({ items: [] });
    const trail = (await trailOf(app)).slice(-2);
    expect(trail).toMatchObject([
      {
        type: "auth.permission_granted",
        entityType: "membership",
        actorType: "user",
        actorId: joined.body.id,
        data: { userId: joined.body.id, roleSlug: "admin", invitationId: id },
      },
      { type: "auth.login", actorId: joined.body.id },
    ]);
    expect((await browser(app.origin).signIn("grace@example.com", NEW_PASSWORD)).status).toBe(200);
  });

  test("has the same response for every invalid link", async () => {
    await using app = await startApp({ engine: false });
    const used = await invite(app);
    expect((await app.anonymous("POST", accept, { token: used.token, password: NEW_PASSWORD })).status).toBe(
      201,
    );
    const old = await invite(app, { email: "old@example.com" });
    const withdrawn = await invite(app, { email: "withdrawn@example.com" });
    await app.owner("DELETE", `${place}/${withdrawn.id}`);
    const lasting = await app.owner("POST", "/api/v1/access-tokens", { name: "lasting" });
    const owner = client(app.origin, { authorization: `Bearer ${lasting.body.token}` });
    app.clock.turn(7 * DAY_MS - 60_000);
    const late = await invite(app, { email: "late@example.com" }, owner);
    app.clock.turn(60_000);
    const texts = new Set<string>();
    for (const token of [used.token, old.token, withdrawn.token, "x", `${late.token}x`, app.token]) {
      const refused = await app.anonymous("POST", accept, { token, password: NEW_PASSWORD });
      expect([refused.status, refused.body.code]).toEqual([410, "gone"]);
      texts.add(refused.body.detail);
      expect(refused.headers.getSetCookie()).toEqual([]);
    }
    expect(texts.size).toBe(1);
    expect(await app.app.store.db.$count(users)).toBe(2);
    expect((await app.anonymous("POST", accept, { token: late.token, password: NEW_PASSWORD })).status).toBe(
      201,
    );
  });

  test("by many at once succeeds for one", async () => {
    await using app = await startApp({ engine: false });
    const { token } = await invite(app);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => app.anonymous("POST", accept, { token, password: NEW_PASSWORD })),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 410, 410, 410]);
    expect(await app.app.store.db.$count(users)).toBe(2);
  });

  test.each(
    someOf(4, [
      [{}, "token", "missing"],
      [{ token: "" }, "token", "string_too_short"],
      [{ token: "t".repeat(201) }, "token", "string_too_long"],
      [{ password: "elevenchars" }, "password", "string_too_short"],
      [{ password: "p".repeat(1025) }, "password", "string_too_long"],
      [{ password: null }, "password", "missing"],
      [{ password: NEW_PASSWORD, firstName: " " }, "firstName", "string_pattern_mismatch"],
      [{ password: NEW_PASSWORD, lastName: "n".repeat(256) }, "lastName", "string_too_long"],
      [{ password: NEW_PASSWORD, email: "eve@example.com" }, "email", "extra_forbidden"],
      [{ token: undefined, password: undefined }, "token", "missing"],
    ]),
  )("rejects %j", async (body, field, type) => {
    await using app = await startApp({ engine: false });
    const { token } = await invite(app);
    const given = field === "token" ? body : { token, ...body };
    const refused = await app.anonymous("POST", accept, given);
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc: ["body", field], type }]]);
    const without = await app.anonymous("POST", accept, { token });
    expect(without.body.detail).toMatchObject([{ loc: ["body", "password"], type: "missing" }]);
    const twelve = { token, password: "twelve chars", firstName: null, lastName: null };
    expect((await app.anonymous("POST", accept, twelve)).status).toBe(201);
  });

  test("never opens an existing account with just the link", async () => {
    await using app = await startApp({ engine: false });
    const other = await stranger(app);
    const { token } = await invite(app, { email: other.user.email });
    const nothing = await app.anonymous("POST", accept, { token });
    expect([nothing.status, nothing.body.code]).toEqual([401, "unauthenticated"]);
    const guess = { token, password: "some other password", firstName: "Mallory" };
    const guessed = await app.anonymous("POST", accept, guess);
    expect([guessed.status, guessed.body.code, guessed.headers.getSetCookie()]).toEqual([
      401,
      "unauthenticated",
      [],
    ]);
    expect(await app.app.store.db.$count(sessions)).toBe(0);
    const proved = await app.anonymous("POST", accept, { token, password: NEW_PASSWORD, firstName: "Eve" });
    expect([proved.status, proved.body.id, proved.body.firstName]).toEqual([
      200,
      other.user.id,
      other.user.firstName,
    ]);
    expect(proved.headers.getSetCookie()).toHaveLength(1);
    const memberships = (await other.call("GET", "/api/v1/users/me/memberships")).body.items;
    expect(memberships.map(({ isDefault }: { isDefault: boolean }) => isDefault)).toEqual([true, false]);
    expect(memberships[1].organization.id).toBe(app.ids.organizationId);
  });

  test("an account without a password requires being signed in to it", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const { token } = await invite(app, { email: other.user.email });
    const guessed = await app.anonymous("POST", accept, { token, password: NEW_PASSWORD });
    expect(guessed.status).toBe(401);
    const joined = await other.call("POST", accept, { token });
    expect([joined.status, joined.body.id, joined.headers.getSetCookie()]).toEqual([200, other.user.id, []]);
    expect((await app.owner("GET", team)).body.members).toHaveLength(2);
  });

  test("an account with a second factor requires being signed in to it, not just its password", async () => {
    await using app = await startApp();
    const other = await stranger(app);
    await turnOnSecondFactor(app, other.call);
    const { token } = await invite(app, { email: other.user.email });
    const refused = await app.anonymous("POST", accept, { token, password: NEW_PASSWORD });
    expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
    expect(refused.body.detail).toContain("Sign in to it, then open this link again");
    expect((await other.call("POST", accept, { token })).status).toBe(200);
  });

  test("while signed in with another address is rejected", async () => {
    await using app = await startApp({ engine: false });
    const other = await stranger(app);
    const mine = await invite(app, { email: other.user.email });
    const theirs = await invite(app, { email: "unknown@example.com" });
    const admin = await join(app, "admin");
    for (const { token } of [mine, theirs]) {
      const refused = await admin.call("POST", accept, { token });
      expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    }
    const key = (await app.owner("POST", "/api/v1/api-keys", { name: "key", roleSlug: "owner" })).body.key;
    const byKey = await client(app.origin, { "x-api-key": key })("POST", accept, { token: mine.token });
    expect([byKey.status, byKey.body.code]).toEqual([403, "forbidden"]);
    const ended = await app.anonymous("POST", accept, { token: mine.token }, { cookie: "svc_token=x" });
    expect(ended.status).toBe(401);
    const withOldCookie = { cookie: "svc_token=x" };
    const fresh = { token: theirs.token, password: NEW_PASSWORD };
    expect((await app.anonymous("POST", accept, fresh, withOldCookie)).status).toBe(201);
  });

  test("with a cookie requires Weir's own pages", async () => {
    await using app = await startApp({ engine: false });
    const other = await stranger(app);
    const { token } = await invite(app, { email: other.user.email });
    const page = browser(app.origin);
    await page.signIn(other.user.email, NEW_PASSWORD);
    const cookie = { cookie: page.cookie() };
    for (const headers of [cookie, { ...cookie, origin: "https://evil.example" }]) {
      const refused = await client(app.origin, headers)("POST", accept, { token });
      expect([refused.status, refused.body.code]).toEqual([403, "csrf"]);
    }
    expect((await page.call("POST", accept, { token })).status).toBe(200);
  });

  test("by a user who has become a member in the meantime is a conflict", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const first = await invite(app, { email: other.user.email });
    expect((await other.call("POST", accept, { token: first.token })).status).toBe(200);
    const again = await app.owner("POST", place, { email: other.user.email });
    expect([again.status, again.body.code]).toEqual([409, "conflict"]);
  });

  test("fails if the inviter has left or was demoted", async () => {
    await using app = await startApp({ engine: false });
    const admin = await join(app, "admin");
    const owner = await join(app, "owner");
    const byAdmin = await invite(app, { email: "a@example.com", roleSlug: "admin" }, admin.call);
    const byOwner = await invite(app, { email: "b@example.com", roleSlug: "owner" }, owner.call);
    const key = (await app.owner("POST", "/api/v1/api-keys", { name: "key", roleSlug: "admin" })).body;
    const byKey = await invite(app, { email: "c@example.com" }, client(app.origin, { "x-api-key": key.key }));
    expect(byKey.createdBy).toBe(key.id);
    await app.owner("DELETE", `${team}/members/${admin.membership.id}`);
    await app.owner("PATCH", `${team}/members/${owner.membership.id}/role`, { roleSlug: "admin" });
    await app.owner("DELETE", `/api/v1/api-keys/${key.id}`);
    for (const { token } of [byAdmin, byOwner, byKey]) {
      const refused = await app.anonymous("POST", accept, { token, password: NEW_PASSWORD });
      expect([refused.status, refused.body.code]).toEqual([410, "gone"]);
    }
  });

  deepTest("works for everyone who was invited, from one address too", async () => {
    await using app = await startApp({ engine: false });
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) {
      const { token } = await invite(app, { email: `guest-${n}@example.com` });
      statuses.push((await app.anonymous("POST", accept, { token, password: NEW_PASSWORD })).status);
    }
    expect(statuses).toEqual(Array(12).fill(201));
  });

  deepTest("guessing an account's password with links is limited", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const other = await stranger(app);
    const { token } = await invite(app, { email: other.user.email });
    const statuses: number[] = [];
    for (let n = 0; n < 22; n++) {
      const tried = await app.anonymous("POST", accept, { token, password: `wrong password ${n}` });
      statuses.push(tried.status);
    }
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
    expect(statuses.slice(20)).toContain(429);
  });
});

describe("the page of an invitation", () => {
  test("is self-contained: no inline script, nothing from elsewhere", async () => {
    await using app = await startApp({ engine: false });
    const { inviteUrl } = await invite(app);
    const page = await fetch(inviteUrl);
    const html = await page.text();
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
    expect(policy).not.toContain("unsafe");
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style| on[a-z]+=| style=|https?:/);
    const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]*\.(?:js|css))"/g)].map(([, where]) => where!);
    expect(loaded).toHaveLength(2);
    for (const where of loaded) {
      const { status, text } = await app.anonymous("GET", where);
      expect([where, status, text.length > 100]).toEqual([where, 200, true]);
    }
  });
});
