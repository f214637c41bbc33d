import { AppError } from "../../base/errors.ts";
import { cookieOf, sessionCookie } from "../../http/cookie.ts";
import { openOperation, Reply, type Visit } from "../../http/operation.ts";
import { orPage } from "../../http/refusal-page.ts";
import { visitorOf } from "../../http/visit.ts";
import { ATTEMPT_MS, beginSignIn } from "./attempts.ts";
import { finishSignIn, reportFailure } from "./service.ts";
import { CallbackQuery, StartQuery } from "./wire.ts";

const tag = "Sign-in";
const failure =
  "What goes wrong is told as a page, with the same status, to whoever prefers `text/html`: browsers are sent here.";

const PAGE = { title: "Signing in did not work", back: ["/login", "Back to signing in"] } as const;

export const openIdOperations = [
  openOperation({
    method: "GET",
    path: "/api/v1/auth/oidc/start",
    audience: "public",
    limited: "address",
    tag,
    summary: "Sends the browser to the identity provider to sign in",
    description: `The sign-in is bound to this browser by a cookie, and good for ten minutes. ${failure}`,
    query: StartQuery,
    status: 302,
    errors: [404, 429, 502, 504],
    replies: { 302: { description: "To the provider, as `Location` says." } },
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
    summary: "Signs in whom the identity provider sends back, and leads to where they came from",
    description: `A person is known by issuer and subject, the first time by a verified e-mail address: that of a user, or one that is invited. An account whose address was never proven loses, at that first time, the password, the access tokens and all other sessions: they may belong to the person who sent the invitation. Open invitations are accepted by the person, on a page that the browser is led to first. ${failure}`,
    query: CallbackQuery,
    status: 302,
    errors: [401, 403, 404, 410, 502, 504],
    replies: { 302: { description: "Signed in, and on to `return_to`; the session is in the cookie." } },
    handle: ({ app, visit }) =>
      orPage(visit, PAGE, async () => {
        const answer = visit.url.searchParams;
        const browser = cookieOf(visit.request.headers.get("cookie"), cookieName(visit));
        const { token, returnTo } = await finishSignIn(app, { answer, browser }, visitorOf(visit));
        return new Reply(302, null, { location: returnTo, ...sessionCookie(token, visit.isSecure) });
      }),
  }),
];

/** Under https no other host of the same domain can set it. */
const cookieName = ({ isSecure }: Visit) => (isSecure ? "__Host-svc_openid" : "svc_openid");

const browserCookie = (value: string, visit: Visit) =>
  `${cookieName(visit)}=${value}; Path=/; Max-Age=${ATTEMPT_MS / 1000}; HttpOnly; SameSite=Lax${visit.isSecure ? "; Secure" : ""}`;
