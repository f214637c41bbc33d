import { describe, expect, test } from "bun:test";
import { resetPassword } from "../../src/resources/sign-in/password.ts";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { users } from "../../src/resources/users/table.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { browser, join } from "../support/people.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest } from "../support/scale.ts";

const INVITATIONS = "/api/v1/organizations/invitations";

const COMMON = [
  "1q2w3e4r5t6y",
  "Qwerty123456",
  "PASSWORD1234",
  "password!!!!!!",
  "!!Dragon12345678",
  "passwordpassword",
  "aaaaaaaaaaaa",
  "789012345678",
  "sunshine2026",
];
const RARE = [PASSWORD, "Dragon-of-the-lake", "dragon 7419 3526", "aaaaaaaaaaab", "p-a-s-s-w-o-r-d-s"];

test("a password never expires by itself", async () => {
  await using app = await startApp({ engine: false, stands: true });
  app.clock.turn(10 * 365 * 24 * 60 * 60 * 1000);
  expect((await browser(app.origin).signIn()).status).toBe(200);
});

describe("a new password", () => {
  test("isn't one of the most common, nor one of them with simple padding, in either case", async () => {
    await using app = await startApp({
      owner: false,
      engine: false,
      env: { WEIR_TRUSTED_PROXIES: "127.0.0.1" },
    });
    const token = await ensureSetupToken(app.app);
    let count = 0;
    const set = (password: string, about: object = { email: "ada@example.com", organizationName: "Acme" }) =>
      app.anonymous(
        "POST",
        "/api/v1/auth/setup",
        { token, password, ...about },
        { "x-forwarded-for": `192.0.2.${++count}` },
      );
    for (const password of COMMON) {
      const { status, body } = await set(password);
      expect([password, status, body.detail[0].loc, body.detail[0].type]).toEqual([
        password,
        422,
        ["body", "password"],
        "password_common",
      ]);
    }
    for (const password of RARE) {
      const { body } = await set(password, {});
      expect(body.detail.map(({ loc }: { loc: string[] }) => loc.join("."))).toEqual([
        "body.email",
        "body.organizationName",
      ]);
    }
  });

  test("is rejected in the same way with an invitation, and by weir reset-password", async () => {
    await using app = await startApp({ engine: false });
    const { inviteUrl } = (await app.owner("POST", INVITATIONS, { email: "eve@example.com" })).body;
    const token = new URL(inviteUrl).searchParams.get("token");
    const accept = "/api/v1/auth/invitations/accept";
    const refused = await app.anonymous("POST", accept, { token, password: "password1234" });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "password"]]);
    const reset = resetPassword(app.app, { email: "ada@example.com", password: "password1234" });
    expect(await refusalOf(reset)).toContain("too easy to guess");
  });

  test("is used literally, however long, and stored as argon2id", async () => {
    await using app = await startApp({ owner: false, engine: false });
    const token = await ensureSetupToken(app.app);
    const about = { email: "ada@example.com", organizationName: "Acme" };
    const password = ` Übermut der Wellen ${"und des Windes ".repeat(6)}`;
    expect((await app.anonymous("POST", "/api/v1/auth/setup", { token, password, ...about })).status).toBe(
      201,
    );
    const signIn = async (given: string) =>
      (await app.anonymous("POST", "/api/v1/auth/login", { email: about.email, password: given })).status;
    for (const other of [password.trim(), password.toLowerCase(), password.slice(0, 72), `${password}.`])
      expect([other, await signIn(other)]).toEqual([other, 401]);
    expect(await signIn(password)).toBe(200);
    const [user] = await app.app.store.db.select().from(users);
    expect(user?.passwordHash).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
  });

  test("from before this rule still works", async () => {
    await using app = await startApp({ engine: false });
    const credentials = { email: "ada@example.com", password: "password1234" };
    expect((await app.anonymous("POST", "/api/v1/auth/login", credentials)).status).toBe(401);
  });
});

describe("changing the current user's password", () => {
  const CHANGE = "/api/v1/users/me/password";
  const ME = "/api/v1/users/me";
  const change = { currentPassword: PASSWORD, newPassword: "another good one" };

  deepTest("keeps this session, and ends the others, the access tokens and the device codes", async () => {
    await using app = await startApp({ engine: false });
    const [here, there] = [browser(app.origin), browser(app.origin)];
    await here.signIn();
    await there.signIn();
    const device = (await app.anonymous("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" })).body;
    const approval = { userCode: device.user_code, approve: true };
    expect((await here.call("POST", "/api/v1/auth/device/approve", approval)).status).toBe(204);

    const changed = await here.call("POST", CHANGE, change);
    expect([changed.status, changed.text]).toEqual([204, ""]);
    expect((await here.call("GET", ME)).status).toBe(200);
    expect((await there.call("GET", ME)).status).toBe(401);
    expect((await app.owner("GET", ME)).status).toBe(401);
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const poll = { grant_type, device_code: device.device_code, client_id: "weir-cli" };
    expect((await app.anonymous("POST", "/api/v1/auth/device/token", poll)).status).toBe(400);
    expect((await there.signIn()).status).toBe(401);
    expect((await there.signIn("ada@example.com", change.newPassword)).status).toBe(200);
    const told = await here.call("GET", "/api/v1/events?type=user.updated");
    expect(told.body.items[0].data.changes).toEqual([{ field: "password", from: "***", to: "***" }]);
    expect(told.text).not.toContain("argon2");
  });

  test("keeps the access tokens on request", async () => {
    await using app = await startApp({ engine: false });
    expect((await app.owner("POST", CHANGE, { ...change, endTokens: false })).status).toBe(204);
    expect((await app.owner("GET", ME)).status).toBe(200);
  });

  deepTest("needs the current one, and a valid new one", async () => {
    await using app = await startApp({ engine: false });
    const wrong = await app.owner("POST", CHANGE, { ...change, currentPassword: "a guess" });
    expect([wrong.status, wrong.body.code]).toEqual([401, "unauthenticated"]);
    const weak = await app.owner("POST", CHANGE, { ...change, newPassword: "Password1234" });
    expect([weak.status, weak.body.detail[0].loc]).toEqual([422, ["body", "newPassword"]]);
    expect((await browser(app.origin).signIn()).status).toBe(200);
  });

  deepTest("can't be guessed with a token", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const guess = () => app.owner("POST", CHANGE, { ...change, currentPassword: "a guess" });
    for (let n = 0; n < 20; n++) expect((await guess()).status).toBe(401);
    const refused = await guess();
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
  });

  test("isn't possible without one", async () => {
    await using app = await startApp({ engine: false });
    const { call } = await join(app, "member");
    const refused = await call("POST", CHANGE, change);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
  });
});
