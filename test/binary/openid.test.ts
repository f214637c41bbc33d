import { describe, expect, test } from "bun:test";
import { startOpenId } from "../peers/openid.ts";
import { client } from "../support/app.ts";
import { openSurfer } from "../support/surfer.ts";
import { bareMachine } from "./executable.ts";

describe("weir serve with an identity provider", () => {
  test("signs in an existing and an invited user, and out again", async () => {
    await using peer = await startOpenId();
    await using machine = bareMachine();
    const { token, userId } = await machine.init();
    const server = await machine.serve({ token, env: peer.env });
    await peer.register(server.origin);
    const start = `${server.origin}/api/v1/auth/oidc/start?return_to=/api/v1/users/me`;

    const ada = openSurfer();
    expect((await ada.go(start, "ada")).body).toMatchObject({ id: userId, email: "ada@example.com" });

    expect((await openSurfer().go(start, "grace")).status).toBe(403);
    const invitation = { email: "grace@example.com", roleSlug: "viewer" };
    expect((await server.call("POST", "/api/v1/organizations/invitations", invitation)).status).toBe(201);
    const grace = openSurfer();
    const landing = await grace.go(start, "grace");
    expect(landing.url.pathname).toBe("/invitations");
    expect(landing.trail.at(-2)).toBe("302 GET /api/v1/auth/oidc/callback");
    const asked = client(server.origin, {
      cookie: `svc_token=${grace.jar.get("svc_token")}`,
      origin: server.origin,
    });
    const [waiting] = (await asked("GET", "/api/v1/users/me/invitations")).body.items;
    expect((await asked("POST", `/api/v1/users/me/invitations/${waiting.id}/accept`)).status).toBe(200);
    expect((await grace.go(start, "grace")).body).toMatchObject({
      email: "grace@example.com",
      firstName: "Grace",
    });

    const trail = await server.call("GET", "/api/v1/events?type=auth.login");
    expect(trail.body.items.map(({ data }: { data: object }) => data)).toEqual([
      { method: "oidc", clientType: "web" },
      { method: "oidc", clientType: "web" },
    ]);

    expect(peer.refreshTokens()).toBe(3);
    const cookie = `svc_token=${grace.jar.get("svc_token")}`;
    const call = client(server.origin, { cookie, origin: server.origin });
    expect((await call("POST", "/api/v1/auth/logout")).status).toBe(204);
    expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
    while (peer.refreshTokens() > 2) await Bun.sleep(10);

    expect(await server.end()).toBe(0);
  });

  test("doesn't start with only half of its settings", async () => {
    await using machine = bareMachine();
    const env = { WEIR_OIDC_ISSUER: "https://login.example.com" };
    const { code, err } = await machine.run(["serve", "--port", "0"], { env });
    expect(code).not.toBe(0);
    expect(err).toContain("Missing: WEIR_OIDC_CLIENT_ID and WEIR_OIDC_CLIENT_SECRET");
    expect(err.trim().split("\n")).toHaveLength(1);
  });
});
