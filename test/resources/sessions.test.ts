import { describe, expect, test } from "bun:test";
import { readUserAgent } from "../../src/base/user-agent.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { browser, join } from "../support/people.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

type Started = Awaited<ReturnType<typeof startApp>>;

async function signedIn(app: Started, userAgent = FIREFOX) {
  const made = browser(app.origin, { "user-agent": userAgent });
  expect((await made.signIn()).status).toBe(200);
  return made;
}

describe("GET /sessions", () => {
  test("shows each session with its browser's details", async () => {
    await using app = await startApp({ engine: false });
    const ada = await signedIn(app);
    const list = await ada.call("GET", "/api/v1/sessions");
    expect(list.status).toBe(200);
    expect(list.body).toEqual({
      items: [
        {
          id: expect.any(String),
          clientType: "web",
          deviceId: null,
          browserFamily: "Firefox",
          browserVersion: "140.0",
          osFamily: "Linux",
          osVersion: null,
          cliVersion: null,
          terminal: null,
          userAgent: FIREFOX,
          ipAddress: "127.0.0.1",
          isActive: true,
          createdAt: expect.any(String),
          lastActiveAt: expect.any(String),
          revokedAt: null,
        },
      ],
    });
  });

  test("is paged, newest first, by a cursor that is only valid for this list", async () => {
    await using app = await startApp({ engine: false });
    for (let n = 0; n < 5; n++) await signedIn(app);
    const page = (query: string) => app.owner("GET", `/api/v1/sessions?${query}`);
    const all = (await page("")).body.items.map(({ id }: { id: string }) => id);
    expect(all).toEqual([...all].sort().reverse());
    const first = await page("limit=2");
    const second = await page(`limit=2&cursor=${encodeURIComponent(first.body.nextCursor)}`);
    const third = await page(`limit=2&cursor=${encodeURIComponent(second.body.nextCursor)}`);
    const paged = [first, second, third].flatMap(({ body }) =>
      body.items.map(({ id }: { id: string }) => id),
    );
    expect(paged).toEqual(all);
    expect(third.body).not.toHaveProperty("nextCursor");

    const cursor = first.body.nextCursor as string;
    expect((await page(`cursor=${cursor.slice(0, -1)}`)).status).toBe(422);
    expect((await page(`includeRevoked=true&cursor=${cursor}`)).status).toBe(422);
    const other = await join(app, "viewer");
    expect((await other.call("GET", `/api/v1/sessions?cursor=${cursor}`)).status).toBe(422);
    app.clock.turn(DAY_MS - 60_000);
    expect((await page(`cursor=${cursor}`)).status).toBe(200);
  });

  test("rejects a cursor that is older than a day", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_API_RATE: "off" } });
    await signedIn(app);
    await signedIn(app);
    const ada = await signedIn(app);
    const { nextCursor } = (await ada.call("GET", "/api/v1/sessions?limit=1")).body;
    app.clock.turn(DAY_MS + 1000);
    const late = await ada.call("GET", `/api/v1/sessions?cursor=${nextCursor}`);
    expect([late.status, late.body.code]).toEqual([410, "cursor_expired"]);
  });

  test("rejects a limit beyond 1 to 200, invalid booleans, and unknown names", async () => {
    await using app = await startApp({ engine: false });
    for (const query of ["limit=0", "limit=201", "limit=x", "includeRevoked=maybe", "include_revoked=true"]) {
      const refused = await app.owner("GET", `/api/v1/sessions?${query}`);
      expect([query, refused.status, refused.body.detail[0].loc[0]]).toEqual([query, 422, "query"]);
    }
    expect((await app.owner("GET", "/api/v1/sessions?limit=200")).status).toBe(200);
  });
});

describe("ending sessions", () => {
  test("one: rejected immediately, and only listed on request", async () => {
    await using app = await startApp({ engine: false });
    const here = await signedIn(app);
    const there = await signedIn(app);
    const [newest] = (await here.call("GET", "/api/v1/sessions")).body.items;
    expect((await here.call("DELETE", `/api/v1/sessions/${newest.id}`)).status).toBe(204);
    expect((await there.call("GET", "/api/v1/users/me")).status).toBe(401);
    expect((await here.call("GET", "/api/v1/sessions")).body.items).toHaveLength(1);
    const all = (await here.call("GET", "/api/v1/sessions?includeRevoked=true")).body.items;
    expect(all[0]).toMatchObject({ id: newest.id, isActive: false, revokedAt: expect.any(String) });
    expect(all[1]).toMatchObject({ isActive: true, revokedAt: null });

    const count = await app.app.store.db.$count(events);
    expect((await here.call("DELETE", `/api/v1/sessions/${newest.id}`)).status).toBe(204);
    expect(await app.app.store.db.$count(events)).toBe(count);
  });

  test("the caller's own session clears its cookie", async () => {
    await using app = await startApp({ engine: false });
    const ada = await signedIn(app);
    const [mine] = (await ada.call("GET", "/api/v1/sessions")).body.items;
    await ada.call("DELETE", `/api/v1/sessions/${mine.id}`);
    expect(ada.cookie()).toBe("");
  });

  test("no one else's: 404, and 422 for an invalid ID", async () => {
    await using app = await startApp({ engine: false });
    const ada = await signedIn(app);
    const [mine] = (await ada.call("GET", "/api/v1/sessions")).body.items;
    const admin = await join(app, "admin");
    expect((await admin.call("DELETE", `/api/v1/sessions/${mine.id}`)).status).toBe(404);
    expect((await admin.call("DELETE", "/api/v1/sessions/first")).status).toBe(422);
    expect((await ada.call("GET", "/api/v1/users/me")).status).toBe(200);
    expect((await admin.call("GET", "/api/v1/sessions")).body.items).toEqual([]);
  });

  test("all: keeps the current one by default", async () => {
    await using app = await startApp({ engine: false });
    const here = await signedIn(app);
    const there = await signedIn(app);
    await signedIn(app);
    const kept = await here.call("DELETE", "/api/v1/sessions");
    expect([kept.status, kept.body]).toEqual([200, { revokedCount: 2 }]);
    expect((await here.call("GET", "/api/v1/users/me")).status).toBe(200);
    expect((await there.call("GET", "/api/v1/users/me")).status).toBe(401);
    const trail = await app.app.store.db.select().from(events);
    expect(trail.slice(-2)).toMatchObject(Array(2).fill({ type: "auth.logout", data: { cause: "revoked" } }));

    expect((await here.call("DELETE", "/api/v1/sessions?exclude_current=false")).body).toEqual({
      revokedCount: 1,
    });
    expect(here.cookie()).toBe("");
    expect((await app.owner("DELETE", "/api/v1/sessions")).body).toEqual({ revokedCount: 0 });
  });
});

describe("how long a session lasts", () => {
  test("14 days without use", async () => {
    await using app = await startApp({ engine: false });
    const used = await signedIn(app);
    const idle = await signedIn(app);
    app.clock.turn(13 * DAY_MS);
    expect((await used.call("GET", "/api/v1/users/me")).status).toBe(200);
    await app.app.store.write(async () => {}); // The use that was recorded behind it.
    app.clock.turn(1.5 * DAY_MS);
    expect((await idle.call("GET", "/api/v1/users/me")).status).toBe(401);
    const list = await used.call("GET", "/api/v1/sessions?includeRevoked=true");
    expect(list.body.items).toMatchObject([
      { isActive: false, revokedAt: null },
      { isActive: true, revokedAt: null },
    ]);
    expect((await used.call("GET", "/api/v1/sessions")).body.items).toHaveLength(1);
  });

  test("90 days in total, however much it is used", async () => {
    await using app = await startApp({ engine: false });
    const ada = await signedIn(app);
    for (let day = 10; day < 90; day += 10) {
      app.clock.turn(10 * DAY_MS);
      expect([day, (await ada.call("GET", "/api/v1/users/me")).status]).toEqual([day, 200]);
      await app.app.store.write(async () => {}); // The use that was recorded behind it.
    }
    app.clock.turn(10 * DAY_MS);
    expect((await ada.call("GET", "/api/v1/users/me")).status).toBe(401);
  });
});

describe("user agents", () => {
  const chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0";
  const cases: [userAgent: string | null, browser: (string | null)[], os: (string | null)[]][] = [
    [FIREFOX, ["Firefox", "140.0"], ["Linux", null]],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36`,
      ["Chrome", "126.0.0.0"],
      ["Windows", "10.0"],
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36 Edg/126.0.1`,
      ["Edge", "126.0.1"],
      ["Windows", "10.0"],
    ],
    [
      `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${chrome} Mobile Safari/537.36`,
      ["Chrome", "126.0.0.0"],
      ["Android", "14"],
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
      ["Safari", "17.5"],
      ["macOS", "10.15.7"],
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
      ["Safari", "17.5"],
      ["iOS", "17.5.1"],
    ],
    ["curl/8.5.0", ["curl", "8.5.0"], [null, null]],
    ["something of my own", [null, null], [null, null]],
    [null, [null, null], [null, null]],
  ];
  test.each(cases)("%s", (userAgent, [browserFamily, browserVersion], [osFamily, osVersion]) => {
    expect(readUserAgent(userAgent)).toEqual({ browserFamily, browserVersion, osFamily, osVersion } as never);
  });
});
