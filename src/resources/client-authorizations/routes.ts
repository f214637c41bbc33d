import { type Static, Type } from "@sinclair/typebox";
import { OAuthError } from "../../base/errors.ts";
import { object } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { requireFreshSignIn } from "../../http/fresh.ts";
import { openOperation, operation } from "../../http/operation.ts";
import { visitorOf } from "../../http/visit.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { decideRequest, readRequest } from "./authorize.ts";
import { registerClient } from "./clients.ts";
import type { Grant } from "./grants.ts";
import { authorizationServer, protectedResource, resourceOf } from "./metadata.ts";
import { redeemCode } from "./redeem.ts";
import { refreshAccess } from "./refresh.ts";
import {
  AuthorizationQuery,
  ClientAnswer,
  ClientDecision,
  ClientRequest,
  ClientToken,
  ClientTokenRequest,
  exampleQuery,
  Metadata,
  Registered,
  Registration,
  toClientRequest,
  toRegistered,
} from "./wire.ts";

const tag = "MCP";

const OAuthProblem = object({ error: Type.String(), error_description: Type.String() });

/** Errors as in RFC 6749 and 7591 instead of Weir's own. */
const refusal = (error: string, error_description: string) => ({
  400: { description: "The request was refused.", body: OAuthProblem, example: { error, error_description } },
});

export const clientAuthorizationOperations = [
  openOperation({
    method: "GET",
    path: "/.well-known/oauth-protected-resource",
    audience: "public",
    tag,
    summary: "Get the MCP resource metadata",
    response: Metadata,
    handle: async ({ app }) => protectedResource(app),
  }),
  openOperation({
    method: "GET",
    path: "/.well-known/oauth-protected-resource/mcp",
    audience: "public",
    tag,
    summary: "Get the metadata of /mcp",
    response: Metadata,
    handle: async ({ app }) => protectedResource(app),
  }),
  openOperation({
    method: "GET",
    path: "/.well-known/oauth-authorization-server",
    audience: "public",
    tag,
    summary: "Get the OAuth server metadata",
    response: Metadata,
    handle: async ({ app }) => authorizationServer(app),
  }),
  openOperation({
    method: "POST",
    path: "/oauth/register",
    audience: "public",
    limited: "address",
    oauth: true,
    ownPagesOnly: false,
    tag,
    summary: "Register an OAuth client",
    description:
      "For MCP clients (RFC 7591). Clients are public and use PKCE. Nothing is stored: the client ID carries the registration, signed.",
    body: Registration,
    status: 201,
    response: Registered,
    errors: [429],
    replies: refusal("invalid_redirect_uri", "redirect_uris: Provide 1 to 10 addresses."),
    bodyExample: { client_name: "My agent", redirect_uris: ["http://127.0.0.1:33418/callback"] },
    handle: async ({ app, body }) => toRegistered(registerClient(app, { ...body })),
  }),
  operation({
    method: "GET",
    path: "/api/v1/auth/clients/request",
    audience: "any",
    personal: true,
    tag,
    summary: "Get an MCP client's request",
    description:
      "Returns what a client asks for, before you decide. Takes the parameters of `/oauth/authorize`.",
    query: AuthorizationQuery,
    response: ClientRequest,
    replies: refusal("invalid_client", "Unknown client. Register it again."),
    handle: async ({ app, query }) => toClientRequest(await readRequest(app, query)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/auth/clients/decide",
    audience: "any",
    personal: true,
    tag,
    summary: "Approve or deny an MCP client",
    description:
      "An approved client gets your access token for the organization of the request, limited to the scopes it asked for. Returns where to send the browser.",
    body: ClientDecision,
    response: ClientAnswer,
    errors: [401],
    replies: refusal("invalid_client", "Unknown client. Register it again."),
    bodyExample: { request: exampleQuery, approve: true },
    example: {
      redirectTo: "http://127.0.0.1:33418/callback?code=9XcVl7…&iss=https%3A%2F%2Fweir.example.com",
    },
    async handle({ app, ctx, body, identity }) {
      if (body.approve) requireFreshSignIn(app, identity);
      const request = await readRequest(app, body.request);
      const { approve } = body;
      return { redirectTo: await decideRequest(ctx, request, { approve, latest: identity.expiresAt }) };
    },
  }),
  openOperation({
    method: "POST",
    path: "/oauth/token",
    audience: "public",
    limited: "address",
    oauth: true,
    ownPagesOnly: false,
    tag,
    summary: "Get a token for an MCP client",
    description:
      "Exchanges an authorization code, within a minute, or a refresh token, within 30 days, for an access token for `/mcp` and the next refresh token. Each works once: presenting one again revokes all tokens of the same approval.",
    body: ClientTokenRequest,
    response: ClientToken,
    errors: [429],
    replies: refusal("invalid_grant", "The code is unknown, expired, used, or was issued to another client."),
    example: {
      access_token: "svc_pat_…",
      token_type: "Bearer",
      expires_in: 86_400,
      scope: "read run",
      refresh_token: "7bKqUe…",
    },
    bodyExample: {
      grant_type: "authorization_code",
      code: "9XcVl7…",
      client_id: exampleQuery.client_id,
      redirect_uri: exampleQuery.redirect_uri,
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    },
    async handle({ app, body, visit }) {
      const { token, refreshToken, scope, expiresInSeconds } = await grantFor(app, body, visitorOf(visit));
      const fields = { token_type: "Bearer" as const, expires_in: expiresInSeconds, scope };
      return { access_token: token, refresh_token: refreshToken, ...fields };
    },
  }),
];

/** Handles a grant type, once its required fields are known to be present. */
function grantFor(app: App, body: Static<typeof ClientTokenRequest>, visitor: Visitor): Promise<Grant> {
  const { grant_type, resource, scope } = body;
  const required = (name: keyof typeof body): string => {
    const value = body[name];
    if (value === undefined) throw new OAuthError("invalid_request", `${name}: Field required`);
    return value;
  };
  if (grant_type !== "authorization_code" && grant_type !== "refresh_token")
    throw new OAuthError("unsupported_grant_type", "grant_type: Use authorization_code or refresh_token.");
  const clientId = required("client_id");
  if (resource !== undefined && resource.replace(/\/$/, "") !== resourceOf(app))
    throw new OAuthError("invalid_target", `resource: Tokens are issued for ${resourceOf(app)} only.`);
  if (grant_type === "refresh_token")
    return refreshAccess(app, { refreshToken: required("refresh_token"), clientId, scope }, visitor);
  const [code, redirectUri, verifier] = [
    required("code"),
    required("redirect_uri"),
    required("code_verifier"),
  ];
  return redeemCode(app, { code, clientId, redirectUri, verifier }, visitor);
}
