import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { changeKeyNow } from "../../src/engine/rekeyer.ts";
import { events } from "../../src/resources/events/table.ts";
import { sessions } from "../../src/resources/sessions/table.ts";
import { startApp } from "../support/app.ts";
import { startWithProvider } from "../support/openid.ts";

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;

type Weir = Pick<Awaited<ReturnType<typeof startWithProvider>>, "app">;

/** One round of the loop. Returns whether there was anything to do. */
const tick = ({ app }: Weir) => openLoop(LOOPS.grantRefresher, app).tick(new AbortController().signal);

const session = async ({ app }: Weir) => {
  const [row] = await app.store.db.select().from(sessions);
  if (!row) throw new Error("There is no session.");
  return row;
};

const logouts = ({ app }: Weir) => app.store.db.select().from(events).where(eq(events.type, "auth.logout"));

const refreshes = (requests: readonly string[]) =>
  requests.filter((request) => request === "POST /token").length - 1;

describe("a session of the identity provider", () => {
  test("is refreshed a minute before its access token expires, not earlier, repeatedly", async () => {
    await using weir = await startWithProvider({ lifetimeSeconds: 600 });
    const { call } = await weir.signIn("ada");
    const before = await session(weir);
    weir.clock.turn(8 * MINUTE_MS);
    expect([await tick(weir), refreshes(weir.peer.requests)]).toEqual(["idle", 0]);
    weir.clock.turn(MINUTE_MS);
    expect([await tick(weir), refreshes(weir.peer.requests)]).toEqual(["more", 1]);
    expect([await tick(weir), refreshes(weir.peer.requests)]).toEqual(["idle", 1]);
    const after = await session(weir);
    expect(after.sealedRefreshToken).not.toBe(before.sealedRefreshToken);
    expect(after.expiresAt).toBe(before.expiresAt);
    for (let round = 2; round <= 3; round++) {
      weir.clock.turn(9 * MINUTE_MS);
      expect([await tick(weir), refreshes(weir.peer.requests)]).toEqual(["more", round]);
    }
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    expect(weir.peer.requests).not.toContain("POST /token/revocation");
  });

  test("ends when the provider rejects it, and the audit log says why", async () => {
    await using weir = await startWithProvider();
    const { call } = await weir.signIn("ada");
    weir.peer.forgetRefreshTokens();
    weir.clock.turn(9 * MINUTE_MS);
    await tick(weir);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
    const { id, sealedRefreshToken, refreshAt } = await session(weir);
    expect([sealedRefreshToken, refreshAt]).toEqual([null, null]);
    expect(await logouts(weir)).toMatchObject([
      {
        organizationId: weir.ids.organizationId,
        entityType: "session",
        entityId: id,
        actorType: "system",
        data: { cause: "refresh_refused" },
      },
    ]);
    expect(await tick(weir)).toBe("idle");
  });

  test("continues while the provider is unreachable, and is refreshed once it is back", async () => {
    await using weir = await startWithProvider();
    const { call } = await weir.signIn("ada");
    await weir.peer.stop();
    weir.clock.turn(9 * MINUTE_MS);
    expect([await tick(weir), await tick(weir)]).toEqual(["more", "idle"]);
    weir.clock.turn(3 * DAY_MS);
    expect(await tick(weir)).toBe("more");
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    await weir.peer.restart();
    weir.clock.turn(MINUTE_MS);
    await tick(weir);
    expect(refreshes(weir.peer.requests)).toBe(1);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
    expect(await logouts(weir)).toEqual([]);
    expect(weir.logged.join()).toContain("session refresh failed");
  });

  test("is refreshed by one of several processes", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    weir.clock.turn(9 * MINUTE_MS);
    await Promise.all([tick(weir), tick(weir), tick(weir)]);
    expect(refreshes(weir.peer.requests)).toBe(1);
    expect((await session(weir)).revokedAt).toBeNull();
  });

  test("is kept without a refresh if the provider returns no refresh token", async () => {
    await using weir = await startWithProvider({ offline: false });
    const { call } = await weir.signIn("ada");
    expect(await session(weir)).toMatchObject({ sealedRefreshToken: null, refreshAt: null });
    weir.clock.turn(DAY_MS);
    expect(await tick(weir)).toBe("idle");
    expect((await call("GET", "/api/v1/users/me")).status).toBe(200);
  });

  test("ends when the operator has switched to another provider, to which the token is never sent", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    await using elsewhere = await startWithProvider();
    weir.clock.turn(9 * MINUTE_MS);
    await tick({ app: { ...weir.app, openid: elsewhere.app.openid } });
    expect(await logouts(weir)).toMatchObject([{ data: { cause: "provider_removed" } }]);
    expect(elsewhere.peer.requests).toEqual([]);
    expect((await session(weir)).sealedRefreshToken).toBeNull();
  });

  test("keeps its refresh token encrypted, only for that session, across a rotation of the master key", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    const { id, sealedRefreshToken } = await session(weir);
    expect(() => weir.app.secrets.open(sealedRefreshToken ?? "", "session:another:refresh")).toThrow();
    const plain = weir.app.secrets.open(sealedRefreshToken ?? "", `session:${id}:refresh`);
    expect(plain).toMatch(/^[\w-]{43}$/);
    expect((await weir.owner("GET", "/api/v1/sessions?includeRevoked=true")).text).not.toContain("efresh");
    weir.app.secrets.adopt(weir.app.ids.bytes(32));
    await changeKeyNow(weir.app);
    expect((await session(weir)).sealedRefreshToken).not.toBe(sealedRefreshToken);
    weir.clock.turn(9 * MINUTE_MS);
    await tick(weir);
    expect(refreshes(weir.peer.requests)).toBe(1);
    expect((await session(weir)).revokedAt).toBeNull();
  });
});

describe("signing out", () => {
  test("ends the session immediately, and revokes it at the provider soon after", async () => {
    await using weir = await startWithProvider({}, { engine: true });
    const { call } = await weir.signIn("ada");
    expect(weir.peer.refreshTokens()).toBe(1);
    expect((await call("POST", "/api/v1/auth/logout")).status).toBe(204);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
    while (weir.peer.refreshTokens() > 0) await Bun.sleep(5);
    expect(weir.peer.requests).toContain("POST /token/revocation");
    while ((await session(weir)).sealedRefreshToken !== null) await Bun.sleep(5);
    expect(await logouts(weir)).toMatchObject([{ actorType: "user", data: { cause: "signed_out" } }]);
  });

  test("is reported to an unreachable provider once it is back, and after an hour no more", async () => {
    await using weir = await startWithProvider();
    const one = await weir.signIn("ada");
    await weir.peer.stop();
    expect((await one.call("POST", "/api/v1/auth/logout")).status).toBe(204);
    await tick(weir);
    expect((await session(weir)).sealedRefreshToken).not.toBeNull();
    await weir.peer.restart();
    weir.clock.turn(MINUTE_MS);
    await tick(weir);
    expect(weir.peer.refreshTokens()).toBe(0);
    expect(await session(weir)).toMatchObject({ sealedRefreshToken: null, refreshAt: null });

    const two = await weir.signIn("ada");
    await weir.peer.stop();
    expect((await two.call("DELETE", "/api/v1/sessions?exclude_current=false")).body).toEqual({
      revokedCount: 1,
    });
    for (let minutes = 0; minutes <= 61; minutes += 1) {
      await tick(weir);
      weir.clock.turn(MINUTE_MS);
    }
    const rows = await weir.app.store.db.select().from(sessions);
    expect(rows.map(({ sealedRefreshToken }) => sealedRefreshToken)).toEqual([null, null]);
  });

  test("automatically after two weeks without use revokes the token as well", async () => {
    await using weir = await startWithProvider();
    await weir.signIn("ada");
    weir.clock.turn(14 * DAY_MS);
    await tick(weir);
    expect([weir.peer.refreshTokens(), (await session(weir)).sealedRefreshToken]).toEqual([0, null]);
    expect(refreshes(weir.peer.requests)).toBe(0);
  });

  test("requests nothing from a provider for a session that it didn't open", async () => {
    await using weir = await startApp({ engine: false });
    const { id } = (await weir.owner("GET", "/api/v1/users/me")).body;
    expect([id, await tick(weir)]).toEqual([weir.ids.userId, "idle"]);
  });
});
