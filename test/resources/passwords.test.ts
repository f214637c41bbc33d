import { describe, expect, test } from "bun:test";
import { resetPassword } from "../../src/resources/sign-in/password.ts";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { PASSWORD, startApp } from "../support/app.ts";

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

describe("a password to be set", () => {
  test("is none of the commonest, nor one of them with a simple padding, in either case", async () => {
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

  test("is refused in the same way with an invitation, and by weir reset-password", async () => {
    await using app = await startApp({ engine: false });
    const { inviteUrl } = (await app.owner("POST", INVITATIONS, { email: "eve@example.com" })).body;
    const token = new URL(inviteUrl).searchParams.get("token");
    const accept = "/api/v1/auth/invitations/accept";
    const refused = await app.anonymous("POST", accept, { token, password: "password1234" });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "password"]]);
    const reset = resetPassword(app.app, { email: "ada@example.com", password: "password1234" });
    await expect(reset).rejects.toThrow("too easy to guess");
  });

  test("may be what it was before this rule, for those who sign in with it", async () => {
    await using app = await startApp({ engine: false });
    const credentials = { email: "ada@example.com", password: "password1234" };
    expect((await app.anonymous("POST", "/api/v1/auth/login", credentials)).status).toBe(401);
  });
});
