import { describe, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { createAccessToken } from "../../src/resources/access-tokens/service.ts";
import { resetPassword } from "../../src/resources/sign-in/password.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { browser, join, neighbour } from "../support/people.ts";

const ME = "/api/v1/users/me";
const HERE = "/api/v1/organizations/current";
const TOKENS = "/api/v1/access-tokens";
const KEYS = "/api/v1/api-keys";
const INVITATIONS = "/api/v1/organizations/invitations";

describe("an access token", () => {
  test("acts only in its own organization, unless it was created for all", async () => {
    await using app = await startApp({ engine: false });
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const make = async (body: object) => {
      const made = await app.owner("POST", TOKENS, { name: "CI", ...body });
      return { ...made.body, call: client(app.origin, { authorization: `Bearer ${made.body.token}` }) };
    };
    const [confined, free] = [await make({}), await make({ organizations: "all" })];
    const at = (id: string) => ({ "x-organization-id": id });
    const refused = await confined.call("GET", HERE, undefined, at(second.id));
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect((await confined.call("GET", HERE, undefined, at(app.ids.organizationId))).status).toBe(200);
    expect((await free.call("GET", HERE, undefined, at(second.id))).body.id).toBe(second.id);

    const wider = await confined.call("POST", TOKENS, { name: "wider", organizations: "all" });
    const narrow = await confined.call("POST", TOKENS, { name: "narrow" });
    expect([wider.status, narrow.status]).toEqual([403, 201]);
    const sync = await confined.call("POST", "/api/v1/sync/run", { layer: "raw", destTenantId: second.id });
    expect([sync.status, sync.body.code]).toEqual([403, "forbidden"]);
  });

  test("limited to one organization approves no client for another", async () => {
    await using app = await startApp({ engine: false });
    const second = (await app.owner("POST", "/api/v1/organizations", { name: "Second" })).body;
    const made = await app.owner("POST", TOKENS, { name: "CI" });
    const confined = client(app.origin, { authorization: `Bearer ${made.body.token}` });
    const asked = await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
    const { device_code, user_code: userCode } = asked.body;
    await confined("POST", "/api/v1/auth/device/approve", { userCode, approve: true });
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const { body } = await app.anonymous("POST", "/api/v1/auth/device/token", {
      grant_type,
      device_code,
      client_id: "weir-cli",
    });
    const cli = client(app.origin, { authorization: `Bearer ${body.access_token}` });
    expect((await cli("GET", HERE)).status).toBe(200);
    expect((await cli("GET", HERE, undefined, { "x-organization-id": second.id })).status).toBe(403);
  });

  test("ends permanently when its owner is removed from the organization", async () => {
    await using app = await startApp({ engine: false });
    const { call, membership, user } = await join(app, "member");
    const removed = `/api/v1/organizations/team/members/${membership.id}`;
    expect((await app.owner("DELETE", removed)).status).toBe(204);
    expect((await call("GET", ME)).status).toBe(401);
    const { inviteUrl } = (await app.owner("POST", INVITATIONS, { email: user.email })).body;
    await resetPassword(app.app, { email: user.email, password: PASSWORD });
    const token = new URL(inviteUrl).searchParams.get("token");
    const back = { token, password: PASSWORD };
    expect((await app.anonymous("POST", "/api/v1/auth/invitations/accept", back)).status).toBe(200);
    expect((await call("GET", ME)).status).toBe(401);
  });
});

test("nothing that gives access is created by requests that outlive their own", async () => {
  await using app = await startApp({ engine: false });
  const { call, membership } = await join(app, "admin");
  const make = (place: string) => call("POST", place, { name: "late" });
  const before = [TOKENS, KEYS].map(make);
  const removed = app.owner("DELETE", `/api/v1/organizations/team/members/${membership.id}`);
  const after = [TOKENS, KEYS, TOKENS, KEYS].map(make);
  expect((await removed).status).toBe(204);
  const made = await Promise.all([...before, ...after]);
  for (const { status } of made) expect([201, 401, 403]).toContain(status);
  const { items } = (await app.owner("GET", "/api/v1/organizations/tokens")).body;
  const left = items.filter(
    ({ name, kind }: { name: string; kind: string }) => name === "late" && kind === "pat",
  );
  expect(left).toEqual([]);
  const refused = await make(TOKENS);
  expect(refused.status).toBe(401);
});

test("an API key can't name another organization", async () => {
  await using app = await startApp({ engine: false });
  const other = await neighbour(app);
  const { key } = (await app.owner("POST", "/api/v1/api-keys", { name: "k" })).body;
  const by = (id: string) =>
    app.anonymous("GET", HERE, undefined, { "x-api-key": key, "x-organization-id": id });
  expect((await by(other.organization.id)).status).toBe(403);
  expect((await by(app.ids.organizationId)).status).toBe(200);
});

test("a credential is only valid in its own header or cookie", async () => {
  await using app = await startApp({ engine: false });
  const ada = browser(app.origin);
  await ada.signIn();
  const cookie = ada.cookie().replace("svc_token=", "");
  const { token } = (await ada.call("POST", TOKENS, { name: "CI" })).body;
  const { key } = (await app.owner("POST", "/api/v1/api-keys", { name: "k" })).body;
  const statuses = (value: string) =>
    Promise.all(
      (
        [
          { authorization: `Bearer ${value}` },
          { "x-api-key": value },
          { cookie: `svc_token=${value}` },
        ] as Record<string, string>[]
      ).map(async (headers) => (await app.anonymous("GET", HERE, undefined, headers)).status),
    );
  expect(await statuses(token)).toEqual([200, 401, 401]);
  expect(await statuses(key)).toEqual([401, 200, 401]);
  expect(await statuses(cookie)).toEqual([401, 401, 200]);
});

test("a credential in the query isn't accepted, whatever its name", async () => {
  await using app = await startApp({ engine: false });
  const ada = browser(app.origin);
  await ada.signIn();
  const session = ada.cookie().replace("svc_token=", "");
  const { key } = (await app.owner("POST", "/api/v1/api-keys", { name: "k" })).body;
  for (const name of [
    "access_token",
    "token",
    "api_key",
    "apikey",
    "key",
    "x-api-key",
    "authorization",
    "svc_token",
  ]) {
    for (const value of [app.token, `Bearer ${app.token}`, key, session]) {
      const query = new URLSearchParams({ [name]: value });
      const { status, text } = await app.anonymous("GET", `${HERE}?${query}`);
      expect([name, status, text.includes(value)]).toEqual([name, 401, false]);
    }
  }
  expect(app.logged.filter((line) => [app.token, key, session].some((each) => line.includes(each)))).toEqual(
    [],
  );
});

test("a password reset ends all access to the account, in every organization", async () => {
  await using app = await startApp({ engine: false });
  const ceo = await join(app, "viewer");
  const elsewhere = await neighbour(app);
  const ctx = contextFor(app.app, {
    organizationId: elsewhere.organization.id,
    role: "viewer",
    actor: { type: "user", id: ceo.user.id, email: ceo.user.email },
    correlationId: "test",
  });
  const { token } = await createAccessToken(ctx, { name: "old", expiresInDays: 365, organizations: "all" });
  const old = client(app.origin, { authorization: `Bearer ${token}` });
  const at = { "x-organization-id": app.ids.organizationId };
  expect((await old("GET", HERE, undefined, at)).status).toBe(200);
  const ended = await resetPassword(app.app, { email: ceo.user.email, password: PASSWORD });
  expect(ended).toEqual({ sessions: 0, tokens: 2, codes: 0, slackLinks: 0, secondFactor: "none" });
  expect((await old("GET", HERE, undefined, at)).status).toBe(401);
  expect((await ceo.call("GET", ME)).status).toBe(401);
});

test("device codes aren't issued before there is an owner", async () => {
  await using app = await startApp({ engine: false, owner: false });
  const refused = await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining("isn't set up")]);
});
