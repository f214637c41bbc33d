import { AppError } from "../../base/errors.ts";
import { object, uuid } from "../../base/shape.ts";
import { type App, type Context, contextFor } from "../../context.ts";
import { actorOf, enter, identify } from "../../http/identity.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { orPage } from "../../http/refusal-page.ts";
import { SignInAnswer } from "../../oauth/answer.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { addressFaults } from "../api-catalog/faults.ts";
import { findApi } from "../api-catalog/find.ts";
import { ROLES } from "../organizations/table.ts";
import { beginSignIn, CALLBACK, DOCUMENT } from "./begin.ts";
import { signOut } from "./end.ts";
import { type Attempt, finishSignIn, takeAttempt } from "./finish.ts";
import { findSignIn, serverUrl } from "./store.ts";
import {
  ClientDocument,
  exampleStarted,
  exampleView,
  ServerSignInRequest,
  SignInRequest,
  SignInStarted,
  SignInView,
  toView,
} from "./wire.ts";

const tag = "API catalog";
const params = object({ api_id: uuid() });
const description =
  "Discovers the authorization server (RFC 9728, RFC 8414), registers Weir there, and returns the URL where the user " +
  "signs in: within 10 minutes, in a browser that is signed in to Weir as the same user. The tokens belong to the " +
  "organization: all entries with this URL and without a connection use them. client_credentials needs no browser.";

export const catalogSignInOperations = [
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/authorize",
    audience: "admin",
    tag,
    summary: "Start a sign-in to a new MCP server",
    description,
    body: ServerSignInRequest,
    faults: (_, raw) => addressFaults((raw as { mcpUrl?: string }).mcpUrl, "mcpUrl", "mcp"),
    response: SignInStarted,
    errors: [502, 504],
    bodyExample: { mcpUrl: "https://mcp.example.com/mcp" },
    example: exampleStarted,
    handle({ ctx, body, visit }) {
      const { mcpUrl: url, mcpTransport: transport, ...wish } = body;
      const returnTo = `/catalog/new?${new URLSearchParams({ from: "server", url })}`;
      return beginSignIn(ctx, { url, transport, returnTo }, wish, visit.request.signal);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/api-catalog/{api_id}/authorize",
    audience: "admin",
    tag,
    summary: "Start a sign-in to an MCP server",
    description,
    params,
    body: SignInRequest,
    bodyOptional: true,
    response: SignInStarted,
    errors: [404, 409, 502, 504],
    bodyExample: { grant: "authorization_code" },
    example: exampleStarted,
    async handle({ ctx, params, body, visit }) {
      const { url, transport } = await findServer(ctx, params.api_id);
      const target = { url, transport, returnTo: `/catalog/${params.api_id}` };
      return beginSignIn(ctx, target, body, visit.request.signal);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/api-catalog/{api_id}/sign-in",
    audience: "viewer",
    tag,
    summary: "Get an MCP server's sign-in status",
    params,
    response: SignInView,
    errors: [404, 409],
    example: exampleView,
    async handle({ ctx, params }) {
      const { url } = await findServer(ctx, params.api_id);
      return toView(serverUrl(url), await findSignIn(ctx, url));
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/api-catalog/{api_id}/sign-in",
    audience: "admin",
    tag,
    summary: "Sign out of an MCP server",
    description: "Revokes the tokens and deletes them.",
    params,
    status: 204,
    errors: [404, 409],
    async handle({ ctx, params }) {
      const { url } = await findServer(ctx, params.api_id);
      await signOut(ctx, url);
    },
  }),
  openOperation({
    method: "GET",
    path: CALLBACK,
    audience: "public",
    tag,
    summary: "OAuth callback for MCP servers",
    description:
      "Browsers are redirected here, and then to the page of the MCP server. Only the user who started the sign-in can complete it, once, in a browser where they are signed in. Errors are a page for clients that prefer `text/html`.",
    query: SignInAnswer,
    status: 302,
    errors: [401, 403, 410, 502, 504],
    replies: { 302: { description: "Signed in. Redirects to the page of the API." } },
    handle: ({ app, visit }) =>
      orPage(visit, { title: "Sign-in failed", back: ["/catalog", "Back to the API catalog"] }, async () => {
        const answer = visit.url.searchParams;
        const { ctx, attempt } = await admitted(app, visit, answer);
        await finishSignIn(ctx, attempt, answer).catch((error: unknown) => {
          if (error instanceof AppError)
            app.log.write("warn", "A sign-in with an MCP server failed.", {
              ...{
                correlationId: visit.correlationId,
                url: attempt.url,
                code: error.code,
                reason: error.message,
              },
            });
          throw error;
        });
        return new Reply(302, null, { location: attempt.returnTo });
      }),
  }),
  openOperation({
    method: "GET",
    path: DOCUMENT,
    audience: "public",
    tag,
    summary: "Get the OAuth client metadata",
    description: "Identifies Weir to the authorization servers of MCP servers (Client ID Metadata Document).",
    response: ClientDocument,
    async handle({ app }) {
      const base = app.baseUrl();
      return {
        client_id: base + DOCUMENT,
        client_name: "Weir",
        client_uri: base,
        redirect_uris: [base + CALLBACK],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "web",
      };
    },
  }),
];

/** Throws `not_found`, and `invalid_state` for an entry without a sign-in of its own. */
async function findServer(ctx: Context, id: string) {
  const { name, type, url, transport, connectionId } = await findApi(ctx, id);
  if (type !== "mcp" || url === null || transport === null)
    throw new AppError("invalid_state", `${name} is an HTTP API; its connection carries the authorization.`);
  if (connectionId !== null)
    throw new AppError("invalid_state", `${name} uses a connection; remove it to sign in instead.`);
  return { url, transport };
}

/** Finds the attempt of the user who is signed in to this browser, in the organization that it was started in. */
async function admitted(
  app: App,
  visit: Visit,
  answer: URLSearchParams,
): Promise<{ ctx: Context; attempt: Attempt }> {
  const identity = await identify(app, visit.request.headers);
  if (identity === null)
    throw new AppError(
      "unauthenticated",
      "Sign in to Weir in this browser as the user who started this. Then reload this page.",
    );
  const attempt = await takeAttempt(app, answer.getAll("state"), identity.userId);
  const entered = await enter(app, identity, attempt.organizationId);
  if (!entered || ROLES.indexOf(entered.role) < ROLES.indexOf("admin"))
    throw new AppError("forbidden", "Only an admin can sign in to an MCP server for the organization.");
  requireScope(identity, "admin");
  const actor = actorOf(identity, visit.address, visit.userAgent);
  return { ctx: contextFor(app, { ...entered, actor, correlationId: visit.correlationId }), attempt };
}
