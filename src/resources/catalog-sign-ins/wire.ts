import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { instant, nullable, object, oneOf, optional } from "../../base/shape.ts";
import { TRANSPORTS } from "../../catalog/contract.ts";
import { GRANTS, SIGN_IN_STATES, type SignInRow } from "./table.ts";

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, description });

const wish = {
  grant: optional(
    oneOf(GRANTS, {
      description:
        "authorization_code: a user signs in (the default). client_credentials: Weir signs in with its client ID and secret, without a browser",
    }),
  ),
  clientId: optional(
    text(2_048, "Client ID of Weir at the authorization server. Default: obtained automatically"),
  ),
  clientSecret: optional(text(4_096, "Client secret. Stored encrypted and never returned.")),
  scope: optional(text(2_000, "Scopes, separated by spaces. Default: those that the server asks for")),
  issuer: optional(
    text(2_048, "Issuer URL of the authorization server to use, if the MCP server names several"),
  ),
  registration: optional(
    oneOf(["document", "dynamic"] as const, {
      description:
        "How Weir identifies itself: by the URL of its metadata document if the server supports it, or by dynamic registration",
    }),
  ),
};

export const SignInRequest = requestObject(wish);
export type SignInRequest = Static<typeof SignInRequest>;

/** For a server that is not in the catalog yet. */
export const ServerSignInRequest = requestObject({
  mcpUrl: text(2_048, "http:// or https://"),
  mcpTransport: oneOf(TRANSPORTS, { default: "http" }),
  ...wish,
});

export const SignInStarted = object({
  state: oneOf(["needed", "signed_in"] as const),
  authorizationUrl: nullable(
    Type.String({
      description: "URL for the user to open, in a browser that is signed in to Weir as the same user",
    }),
  ),
  expiresAt: nullable(instant()),
  issuer: Type.String(),
  host: Type.String({ description: "Host of the authorization server" }),
  isElsewhere: Type.Boolean({ description: "Whether its host differs from the MCP server's" }),
  resource: Type.String({ description: "Resource that the tokens are valid for" }),
  scope: nullable(Type.String()),
  clientId: Type.String(),
});
export type SignInStarted = Static<typeof SignInStarted>;

export const SignInView = object({
  state: oneOf(SIGN_IN_STATES),
  url: Type.String(),
  grant: nullable(oneOf(GRANTS)),
  issuer: nullable(Type.String()),
  resource: nullable(Type.String()),
  clientId: nullable(Type.String()),
  scope: nullable(Type.String({ description: "Scopes of the tokens" })),
  wantedScope: nullable(
    Type.String({ description: "Additional scopes that the server requires. Sign in again to grant them" }),
  ),
  isRenewable: Type.Boolean({
    description:
      "Whether the tokens are renewed automatically. If false, a user must sign in again when they expire",
  }),
  expiresAt: nullable(instant()),
  signedInAt: nullable(instant()),
  signedInBy: nullable(Type.String()),
  problem: nullable(Type.String({ description: "Why a new sign-in is needed" })),
});

export const toView = (url: string, row: SignInRow | null): Static<typeof SignInView> => ({
  state: row?.state ?? "none",
  url,
  grant: row?.grantType ?? null,
  issuer: row?.server?.issuer ?? null,
  resource: row?.resource ?? null,
  clientId: row?.client?.id ?? null,
  scope: row?.scope ?? null,
  wantedScope: row?.wantedScope ?? null,
  isRenewable: row?.isRenewable ?? false,
  expiresAt: row?.expiresAt ?? null,
  signedInAt: row?.signedInAt ?? null,
  signedInBy: row?.signedInBy ?? null,
  problem: row?.problem ?? null,
});

export const exampleStarted: SignInStarted = {
  state: "needed",
  authorizationUrl: "https://login.example.com/authorize?client_id=weir&state=x",
  expiresAt: "2026-01-01T00:10:00.000Z",
  issuer: "https://login.example.com",
  host: "login.example.com",
  isElsewhere: true,
  resource: "https://mcp.example.com/mcp",
  scope: "orders:read",
  clientId: "weir",
};

export const exampleView: Static<typeof SignInView> = {
  state: "signed_in",
  url: "https://mcp.example.com/mcp",
  grant: "authorization_code",
  issuer: "https://login.example.com",
  resource: "https://mcp.example.com/mcp",
  clientId: "weir",
  scope: "orders:read",
  wantedScope: null,
  isRenewable: true,
  expiresAt: "2026-01-01T01:00:00.000Z",
  signedInAt: "2026-01-01T00:00:00.000Z",
  signedInBy: "01890a5d-ac96-774b-bcce-b302099a8071",
  problem: null,
};

/** What authorization servers read about Weir if they accept a URL as the client ID. */
export const ClientDocument = object({
  client_id: Type.String(),
  client_name: Type.String(),
  client_uri: Type.String(),
  redirect_uris: Type.Array(Type.String()),
  grant_types: Type.Array(Type.String()),
  response_types: Type.Array(Type.String()),
  token_endpoint_auth_method: Type.String(),
  application_type: Type.String(),
});
