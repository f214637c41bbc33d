import { describe, expect, test } from "bun:test";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { join } from "../support/people.ts";

describe("users/me", () => {
  test("shows the user of the credentials, and nothing of the password", async () => {
    await using app = await startApp({ engine: false });
    const me = await app.owner("GET", "/api/v1/users/me");
    expect(me.status).toBe(200);
    expect(Object.keys(me.body)).toEqual([
      "id",
      "email",
      "firstName",
      "lastName",
      "profilePictureUrl",
      "locale",
      "timezone",
      "createdAt",
      "updatedAt",
    ]);
    expect(me.body).toMatchObject({ id: app.ids.userId, email: "ada@example.com", lastName: "Lovelace" });
    expect(me.body.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("lists memberships, the default one first, and marks that of the request", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", "/api/v1/organizations", { name: "Second" });
    const list = (headers = {}) => app.owner("GET", "/api/v1/users/me/memberships", undefined, headers);
    const acme = { id: app.ids.organizationId, name: "Acme", slug: "acme" };
    expect((await list()).body.items).toEqual([
      {
        membershipId: expect.any(String),
        role: "owner",
        isCurrent: true,
        isDefault: true,
        organization: acme,
      },
      {
        membershipId: expect.any(String),
        role: "owner",
        isCurrent: false,
        isDefault: false,
        organization: { id: made.body.id, name: "Second", slug: "second" },
      },
    ]);
    const there = await list({ "x-organization-id": "second" });
    expect(there.body.items.map((item: { isCurrent: boolean }) => item.isCurrent)).toEqual([false, true]);
  });
});

describe("preferences", () => {
  const place = "/api/v1/users/me/preferences";

  test("change only the given fields; null clears", async () => {
    await using app = await startApp({ engine: false });
    const set = await app.owner("PATCH", place, { locale: "de-ch", timezone: "Europe/Zurich" });
    expect([set.status, set.body.locale, set.body.timezone]).toEqual([200, "de-CH", "Europe/Zurich"]);
    const cleared = await app.owner("PATCH", place, { locale: null });
    expect([cleared.body.locale, cleared.body.timezone]).toEqual([null, "Europe/Zurich"]);
    expect((await app.owner("GET", "/api/v1/users/me")).body).toEqual(cleared.body);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.slice(-2)).toMatchObject([
      {
        type: "user.updated",
        entityId: app.ids.userId,
        data: {
          changes: [
            { field: "locale", from: null, to: "de-CH" },
            { field: "timezone", from: null, to: "Europe/Zurich" },
          ],
        },
      },
      { type: "user.updated", data: { changes: [{ field: "locale", from: "de-CH", to: null }] } },
    ]);
  });

  test("include a name", async () => {
    await using app = await startApp({ engine: false });
    const named = await app.owner("PATCH", place, { firstName: "Augusta Ada", lastName: null });
    expect([named.status, named.body.firstName, named.body.lastName]).toEqual([200, "Augusta Ada", null]);
    const blank = await app.owner("PATCH", place, { firstName: " " });
    expect([blank.status, blank.body.detail?.[0]?.loc ?? blank.body.errors?.[0]?.loc]).toEqual([
      422,
      ["body", "firstName"],
    ]);
  });

  test("without changes leave updatedAt alone and no event behind", async () => {
    await using app = await startApp({ engine: false });
    const before = (await app.owner("PATCH", place, { timezone: "Asia/Kolkata" })).body;
    const count = await app.app.store.db.$count(events);
    app.clock.turn(5000);
    for (const body of [{}, { timezone: "Asia/Kolkata" }, { locale: null }]) {
      expect(await app.owner("PATCH", place, body)).toMatchObject({ status: 200, body: before });
    }
    expect(await app.app.store.db.$count(events)).toBe(count);
  });

  test("reject unknown time zones and languages, each field by name", async () => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("PATCH", place, { locale: "xx_YY", timezone: "Mars/Phobos" });
    expect([refused.status, refused.body.detail]).toMatchObject([
      422,
      [{ loc: ["body", "locale"] }, { loc: ["body", "timezone"] }],
    ]);
    for (const body of [
      { timezone: "+01:00" },
      { timezone: "" },
      { locale: 7 },
      { email: "new@example.com" },
    ]) {
      expect((await app.owner("PATCH", place, body)).status).toBe(422);
    }
    const unknown = await app.owner("PATCH", place, { timeZone: "UTC" });
    expect(unknown.body.detail).toMatchObject([{ loc: ["body", "timeZone"], type: "extra_forbidden" }]);
  });

  test("belong to the user, whatever the role", async () => {
    await using app = await startApp({ engine: false });
    const viewer = await join(app, "viewer");
    expect((await viewer.call("PATCH", place, { locale: "fr" })).body).toMatchObject({
      id: viewer.user.id,
      locale: "fr",
    });
    expect((await app.owner("GET", "/api/v1/users/me")).body.locale).toBeNull();
  });
});
