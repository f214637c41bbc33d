import { AppError } from "../../base/errors.ts";
import { object, uuid } from "../../base/shape.ts";
import { type App, type Context, contextFor } from "../../context.ts";
import { actorOf, enter, type Identity, identify } from "../../http/identity.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { orPage } from "../../http/refusal-page.ts";
import { SignInAnswer } from "../../oauth/answer.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { findConnection } from "../connections/service.ts";
import { findSignIn, SIGN_IN_CALLBACK, signInSettings } from "../connections/sign-in-store.ts";
import { ROLES } from "../organizations/table.ts";
import { beginSignIn } from "./begin.ts";
import { signOut } from "./end.ts";
import { finishSignIn, takeAttempt } from "./finish.ts";
import {
  ConnectionSignInStarted,
  ConnectionSignInState,
  exampleStarted,
  exampleView,
  toView,
} from "./wire.ts";

const tag = "Connections";
const params = object({ connection_id: uuid() });

export const connectionSignInOperations = [
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/authorize",
    audience: "member",
    tag,
    summary: "Start a connection's sign-in",
    description:
      "Returns the URL where the user signs in. For connections that require a user's sign-in: google_drive without a key " +
      "or a refresh token, and templates with `oauth2_authorization_code`. The user signs in within 10 minutes, in a " +
      "browser that is signed in to Weir as the same user (in the same session, if a session started it). Then the " +
      "connection is verified.",
    params,
    response: ConnectionSignInStarted,
    errors: [404, 409],
    example: exampleStarted,
    handle: ({ ctx, params, identity }) => beginSignIn(ctx, params.connection_id, sessionOf(identity)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/sign-in",
    audience: "viewer",
    tag,
    summary: "Get a connection's sign-in status",
    description: "With the redirect URI that the external system's app must allow.",
    params,
    response: ConnectionSignInState,
    errors: [404],
    example: exampleView,
    async handle({ ctx, params }) {
      const row = await findConnection(ctx, params.connection_id);
      const settings = signInSettings(ctx, row);
      const signIn = settings && (await findSignIn(ctx, row.id));
      const isOurs = signIn?.settingsHash === settings?.hash;
      return toView(ctx.baseUrl() + SIGN_IN_CALLBACK, settings?.terms ?? null, isOurs ? signIn : null);
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/connections/{connection_id}/sign-in",
    audience: "member",
    tag,
    summary: "Sign out of a connection",
    description: "Deletes the tokens. Runs need a new sign-in.",
    params,
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => signOut(ctx, params.connection_id),
  }),
  openOperation({
    method: "GET",
    path: SIGN_IN_CALLBACK,
    audience: "public",
    tag,
    summary: "OAuth callback for connections",
    description:
      "Browsers are redirected here, and then to the page of the connection. Only the user who started the sign-in can complete it, once, in the session that started it. Errors are a page for clients that prefer `text/html`.",
    query: SignInAnswer,
    status: 302,
    errors: [401, 403, 409, 410, 502, 504],
    replies: { 302: { description: "Signed in. Redirects to the page of the connection." } },
    handle: ({ app, visit }) =>
      orPage(visit, { title: "Sign-in failed", back: ["/connections", "Back to connections"] }, async () => {
        const answer = visit.url.searchParams;
        const { ctx, attempt } = await admitted(app, visit, answer);
        await finishSignIn(ctx, attempt, answer).catch((error: unknown) => {
          if (error instanceof AppError)
            app.log.write("warn", "A sign-in for a connection failed.", {
              ...{ correlationId: visit.correlationId, connectionId: attempt.connectionId },
              ...{ code: error.code, reason: error.message },
            });
          throw error;
        });
        return new Reply(302, null, { location: `/connections/${attempt.connectionId}?signed-in` });
      }),
  }),
];

const sessionOf = ({ kind, carrier, credentialId }: Identity): string | null =>
  kind === "session" && carrier === "cookie" ? credentialId : null;

/** Finds the attempt of the user who is signed in to this browser, in the organization that it was started in. */
async function admitted(app: App, visit: Visit, answer: URLSearchParams) {
  const identity = await identify(app, visit.request.headers);
  if (identity === null)
    throw new AppError(
      "unauthenticated",
      "Sign in to Weir in this browser as the user who started this. Then reload this page.",
    );
  const bearer = { userId: identity.userId, sessionId: sessionOf(identity) };
  const attempt = await takeAttempt(app, answer.getAll("state"), bearer);
  const entered = await enter(app, identity, attempt.organizationId);
  if (!entered || ROLES.indexOf(entered.role) < ROLES.indexOf("member"))
    throw new AppError("forbidden", "Only members can sign in for a connection of the organization.");
  requireScope(identity, "write");
  const actor = actorOf(identity, visit.address, visit.userAgent);
  const ctx: Context = contextFor(app, { ...entered, actor, correlationId: visit.correlationId });
  return { ctx, attempt };
}
