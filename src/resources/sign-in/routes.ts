import { AppError } from "../../base/errors.ts";
import { browserOf, clearedCookie, signedInCookies } from "../../http/cookie.ts";
import { openOperation, operation, Reply } from "../../http/operation.ts";
import { limitAddress } from "../../http/serve.ts";
import { visitorOf } from "../../http/visit.ts";
import { Proof } from "../second-factor/wire.ts";
import { revokeSession } from "../sessions/service.ts";
import { findUserByEmail } from "../users/service.ts";
import { exampleUser, toUser, User } from "../users/wire.ts";
import { accountsOf } from "./browsers.ts";
import { confirmSession } from "./confirm.ts";
import { changePassword, signIn } from "./password.ts";
import { hasUsers, setUp } from "./setup.ts";
import { Credentials, PasswordChange, SetUp, SignInMethods } from "./wire.ts";

const tag = "Sign-in";

export const signInOperations = [
  openOperation({
    method: "GET",
    path: "/api/v1/auth/methods",
    audience: "public",
    tag,
    summary: "List sign-in methods",
    description: "Also reports whether the server still needs its first owner.",
    response: SignInMethods,
    example: { setupRequired: false, password: true, oidc: null },
    handle: async ({ app }) => ({
      setupRequired: !(await hasUsers(app.store)),
      password: true,
      oidc: app.openid && { name: app.openid.name },
    }),
  }),
  openOperation({
    method: "POST",
    path: "/api/v1/auth/setup",
    audience: "public",
    limited: "address",
    tag,
    summary: "Create the first owner",
    description: "Requires the token of the setup link. Starts a session.",
    body: SetUp,
    response: User,
    status: 201,
    errors: [401, 409, 410],
    example: exampleUser,
    handle: async ({ app, body, visit }) => {
      const done = await setUp(app, body, visitorOf(visit), browserOf(visit));
      return new Reply(201, toUser(done.user), signedInCookies(done, visit.isSecure));
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/v1/auth/login",
    audience: "public",
    limited: "address",
    tag,
    summary: "Sign in with a password",
    description:
      "Always starts a new session. If the user has a second factor, 401 `second_factor_required` asks for `code`. Failed attempts elsewhere don't delay a browser in which the user has signed in before.",
    body: Credentials,
    response: User,
    errors: [401],
    example: exampleUser,
    unlimitedFor: async (app, visit) => (await accountsOf(app, browserOf(visit))).size > 0,
    handle: async ({ app, body, visit }) => {
      const browser = browserOf(visit);
      const accounts = await accountsOf(app, browser);
      const user = accounts.size > 0 ? await findUserByEmail(app.store.db, body.email) : null;
      // Known, but not to this account.
      if (accounts.size > 0 && !accounts.has(user?.id ?? "")) limitAddress(app, visit);
      const done = await signIn(app, body, visitorOf(visit), browser);
      return new Reply(200, toUser(done.user), signedInCookies(done, visit.isSecure));
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/users/me/password",
    audience: "any",
    personal: true,
    tag: "Users",
    summary: "Change your password",
    description: "Ends all of your other sessions.",
    body: PasswordChange,
    bodyExample: {
      currentPassword: "the password until now",
      newPassword: "correct horse battery staple",
      endTokens: true,
    },
    status: 204,
    errors: [401, 409],
    handle: ({ ctx, body, identity }) =>
      changePassword(ctx, body, identity.kind === "session" ? identity.credentialId : null),
  }),
  operation({
    method: "POST",
    path: "/api/v1/auth/confirm",
    audience: "any",
    personal: true,
    tag,
    summary: "Confirm your identity",
    description: "With the password or a code. The session then counts as freshly signed in.",
    body: Proof,
    bodyExample: { password: "correct horse battery staple" },
    status: 204,
    errors: [401, 409],
    handle: ({ ctx, body, identity }) => {
      if (identity.kind === "session") return confirmSession(ctx, body, identity.credentialId);
      throw new AppError("invalid_state", "Only a session can be confirmed; this is an access token.");
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/auth/logout",
    audience: "any",
    personal: true,
    tag,
    summary: "Sign out",
    description: "Ends the session of the request.",
    status: 204,
    errors: [409],
    handle: async ({ ctx, identity, visit }) => {
      if (identity.kind !== "session") {
        throw new AppError("invalid_state", "An access token is not signed in; revoke it to end its use.");
      }
      await revokeSession(ctx, identity.credentialId, "signed_out");
      return new Reply(204, null, clearedCookie(visit.isSecure));
    },
  }),
];
