import { describe, expect, test } from "bun:test";
import { accessTokens } from "../../src/resources/access-tokens/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { client, startApp } from "../support/app.ts";
import { isStored } from "../support/beside.ts";
import { browser, join, neighbour } from "../support/people.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const place = "/api/v1/access-tokens";

describe("creating an access token", () => {
  test("shows it once; the list shows its last four characters", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", place, { name: "CI", expiresInDays: 30 });
    expect(made.status).toBe(201);
    const { token, ...rest } = made.body;
    expect(token).toMatch(/^svc_pat_[0-9A-Za-z]{49}$/);
    expect(rest).toEqual({
      id: expect.any(String),
      name: "CI",
      lastFour: token.slice(-4),
      scopes: ["read", "run", "write", "approve", "admin"],
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: new Date(Date.parse(rest.createdAt) + 30 * DAY_MS).toISOString(),
    });
    const list = await app.owner("GET", place);
    expect(list.body.items[0]).toEqual(rest);
    expect(list.body).not.toHaveProperty("nextCursor");
    expect(list.text).not.toContain(token);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.at(-1)).toMatchObject({
      type: "auth.token_created",
      entityType: "access_token",
      entityId: rest.id,
      data: { name: "CI" },
    });
  });

  test("returns one that acts for its creator, and can create others", async () => {
    await using app = await startApp({ engine: false });
    const ada = browser(app.origin);
    await ada.signIn();
    const { token, expiresAt } = (await ada.call("POST", place, { name: "first" })).body;
    const first = client(app.origin, { authorization: `Bearer ${token}` });
    expect((await first("GET", "/api/v1/users/me")).body.id).toBe(app.ids.userId);
    const second = await first("POST", place, { name: "second" });
    expect(second.status).toBe(201);
    expect(second.body.expiresAt).toBe(expiresAt);
    expect(second.body.warnings).toBeUndefined(); // as long as the first, less a moment
    const longer = await first("POST", place, { name: "longer", expiresInDays: 365 });
    expect([longer.body.expiresAt, longer.body.warnings]).toEqual([
      expiresAt,
      [expect.stringContaining(`expires at ${expiresAt}`)],
    ]);
    const soon = new Date(Date.parse(app.clock.now().toISOString()) + 30 * 60_000).toISOString();
    await app.app.store.write((db) => db.update(accessTokens).set({ expiresAt: soon }));
    const brief = await first("POST", place, { name: "brief", expiresInDays: 1 });
    expect([brief.body.expiresAt, brief.body.warnings]).toEqual([soon, [expect.stringContaining(soon)]]);
    await app.app.store.write((db) => db.update(accessTokens).set({ expiresAt }));
    const shorter = await first("POST", place, { name: "third", expiresInDays: 1 });
    expect(shorter.body.warnings).toBeUndefined();
    const used = (await first("GET", place)).body.items.find(
      ({ name }: { name: string }) => name === "first",
    );
    expect(used.lastFour).toBe(token.slice(-4));
  });

  test("has a time of last use as soon as its first request has a response", async () => {
    await using app = await startApp({ engine: false });
    const made = (await app.owner("POST", place, { name: "CI" })).body;
    await client(app.origin, { authorization: `Bearer ${made.token}` })("GET", "/api/v1/users/me");
    const { items } = (await app.owner("GET", place)).body;
    expect(items[0]).toMatchObject({ id: made.id, lastUsedAt: expect.any(String) });
  });

  test("can be used first while writes have to wait", async () => {
    await using app = await startApp({ engine: false });
    const { token } = (await app.owner("POST", place, { name: "CI" })).body;
    const held = Promise.withResolvers<void>();
    const writing = app.app.store.write(() => held.promise);
    const call = client(app.origin, { authorization: `Bearer ${token}` });
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    held.resolve();
    await writing;
  });

  test.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "   " }, "name"],
    [{ name: "n".repeat(256) }, "name"],
    [{ name: "CI", expiresInDays: 0 }, "expiresInDays"],
    [{ name: "CI", expiresInDays: 366 }, "expiresInDays"],
    [{ name: "CI", expiresInDays: 1.5 }, "expiresInDays"],
    [{ name: "CI", expiresInDays: "30" }, "expiresInDays"],
    [{ name: "CI", expiresInDays: null }, "expiresInDays"],
    [{ name: "CI", scopes: [] }, "scopes"],
  ])("rejects %j", async (body, field) => {
    await using app = await startApp({ engine: false });
    const before = await app.app.store.db.$count(accessTokens);
    const refused = await app.owner("POST", place, body);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", field]]);
    expect(await app.app.store.db.$count(accessTokens)).toBe(before);
  });

  test("accepts 255 characters and 365 days", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", place, { name: "é".repeat(255), expiresInDays: 365 });
    expect(made.status).toBe(201);
  });

  test("again with the same Idempotency-Key returns the same token, which isn't in the store", async () => {
    await using app = await startApp({ engine: false });
    const key = { "idempotency-key": "make-ci-token" };
    const made = await app.owner("POST", place, { name: "CI" }, key);
    const again = await app.owner("POST", place, { name: "CI" }, key);
    expect([again.status, again.text]).toEqual([201, made.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await app.owner("POST", place, { name: "other" }, key)).body.code).toBe("idempotency_mismatch");
    expect((await app.owner("GET", place)).body.items).toHaveLength(2);
    expect(await isStored(app, made.body.token)).toBe(false);
  });
});

describe("an access token", () => {
  test("is rejected immediately after it is revoked", async () => {
    await using app = await startApp({ engine: false });
    const made = (await app.owner("POST", place, { name: "CI" })).body;
    const call = client(app.origin, { authorization: `Bearer ${made.token}` });
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    const gone = await app.owner("DELETE", `${place}/${made.id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
    expect((await app.owner("GET", place)).body.items).toHaveLength(1);
    expect((await app.owner("DELETE", `${place}/${made.id}`)).status).toBe(404);
    const trail = await app.app.store.db.select().from(events);
    const revoked = trail.filter(({ type }) => type === "auth.token_revoked");
    expect(revoked).toMatchObject([{ entityId: made.id, data: { name: "CI", lastFour: made.lastFour } }]);
  });

  test("is rejected after it expires", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const made = (await app.owner("POST", place, { name: "CI", expiresInDays: 2 })).body;
    const call = client(app.origin, { authorization: `Bearer ${made.token}` });
    app.clock.turn(2 * DAY_MS - 5000);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    app.clock.turn(6000);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
  });

  test("is only seen and revoked by its owner", async () => {
    await using app = await startApp({ engine: false });
    const made = (await app.owner("POST", place, { name: "CI" })).body;
    const admin = await join(app, "admin");
    const other = await neighbour(app);
    for (const { call } of [admin, other]) {
      expect((await call("GET", place)).body.items).toHaveLength(1);
      expect((await call("DELETE", `${place}/${made.id}`)).status).toBe(404);
    }
    expect((await admin.call("DELETE", `${place}/nope`)).status).toBe(422);
    expect((await app.owner("GET", place)).body.items).toHaveLength(2);
  });

  test("acts in the organization that it was created in, with its owner's current role", async () => {
    await using app = await startApp({ engine: false });
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const made = await app.owner("POST", place, { name: "CI" }, { "x-organization-id": second.id });
    const call = client(app.origin, { authorization: `Bearer ${made.body.token}` });
    expect((await call("GET", "/api/v1/organizations/current")).body.id).toBe(second.id);
    expect((await app.owner("GET", place)).body.items).toHaveLength(1);

    const member = await join(app, "admin");
    const rename = () => member.call("PATCH", "/api/v1/organizations/current", {});
    expect((await rename()).status).toBe(200);
    const role = `/api/v1/organizations/team/members/${member.membership.id}/role`;
    await app.owner("PATCH", role, { roleSlug: "member" });
    expect((await rename()).status).toBe(403);
  });

  test("lists are paged", async () => {
    await using app = await startApp({ engine: false });
    for (let n = 0; n < 4; n++) await app.owner("POST", place, { name: `t${n}` });
    const first = (await app.owner("GET", `${place}?limit=3`)).body;
    const second = (await app.owner("GET", `${place}?limit=3&cursor=${first.nextCursor}`)).body;
    const names = [...first.items, ...second.items].map(({ name }: { name: string }) => name);
    expect(names).toEqual(["t3", "t2", "t1", "t0", "test"]);
    expect(second).not.toHaveProperty("nextCursor");
    expect((await app.owner("GET", `${place}?limit=201`)).status).toBe(422);
  });
});
