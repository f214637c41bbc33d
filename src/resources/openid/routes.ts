import { AppError } from "../../base/errors.ts";
import { cookieOf, sessionCookie } from "../../http/cookie.ts";
import { openOperation, Reply, type Visit } from "../../http/operation.ts";
import { orPage } from "../../http/refusal-page.ts";
import { visitorOf } from "../../http/visit.ts";
import { ATTEMPT_MS, beginSignIn } from "./attempts.ts";
import { finishSignIn, reportFailure } from "./service.ts";
import { CallbackQuery, StartQuery } from "./wire.ts";

const tag = "Sign-in";
const failure = "Errors are a page with the same status for clients that prefer `text/html`.";

const PAGE = { title: "Sign-in failed", back: ["/login", "Back to sign-in"] } as const;

export const openIdOperations = [
  openOperation({
    method: "GET",
    path: "/api/v1/auth/oidc/start",
    audience: "public",
    limited: "address",
    tag,
    summary: "Start single sign-on",
    description: `Redirects the browser to the identity provider. A cookie binds the sign-in to this browser for 10 minutes. ${failure}`,
    query: StartQuery,
    status: 302,
    errors: [404, 429, 502, 504],
    replies: { 302: { description: "Redirects to the identity provider." } },
    handle: ({ app, query, visit }) =>
      orPage(visit, PAGE, async () => {
        const begun = beginSignIn(app, {
          returnTo: query.return_to,
          browser: cookieOf(visit.request.headers.get("cookie"), cookieName(visit)),
        });
        const { location, browser } = await begun.catch((error: unknown) => {
          const isTheirs = error instanceof AppError && ["upstream", "timeout"].includes(error.code);
          if (isTheirs)
            reportFailure(app, error, { correlationId: visit.correlationId, address: visit.address });
          throw error;
        });
        return new Reply(302, null, { location, "set-cookie": browserCookie(browser, visit) });
      }),
  }),
  openOperation({
    method: "GET",
    path: "/api/v1/auth/oidc/callback",
    audience: "public",
    tag,
    summary: "OpenID Connect callback",
    description: `Signs in the user and redirects the browser to where they came from. Users are identified by issuer and subject, and the first time by a verified email address: that of a user, or an invited one. If the account's address was never verified, that first sign-in removes its password, access tokens and other sessions, because they may belong to the person who sent the invitation. Pending invitations are shown first, for the user to accept. ${failure}`,
    query: CallbackQuery,
    status: 302,
    errors: [401, 403, 404, 410, 502, 504],
    replies: { 302: { description: "Signed in. Redirects to `return_to`; the cookie holds the session." } },
    handle: ({ app, visit }) =>
      orPage(visit, PAGE, async () => {
        const answer = visit.url.searchParams;
        const browser = cookieOf(visit.request.headers.get("cookie"), cookieName(visit));
        const { token, returnTo } = await finishSignIn(app, { answer, browser }, visitorOf(visit));
        return new Reply(302, null, { location: returnTo, ...sessionCookie(token, visit.isSecure) });
      }),
  }),
];

/** With https, no other host of the same domain can set it. */
const cookieName = ({ isSecure }: Visit) => (isSecure ? "__Host-svc_openid" : "svc_openid");

const browserCookie = (value: string, visit: Visit) =>
  `${cookieName(visit)}=${value}; Path=/; Max-Age=${ATTEMPT_MS / 1000}; HttpOnly; SameSite=Lax${visit.isSecure ? "; Secure" : ""}`;
