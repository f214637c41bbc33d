import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, oneOf, optional } from "../../base/shape.ts";
import { TRANSPORTS } from "../../catalog/contract.ts";
import { GRANTS, SIGN_IN_STATES, type SignInRow } from "./table.ts";

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, description });

const wish = {
  grant: optional(
    oneOf(GRANTS, {
      description:
        "A person's sign-in (the default), or the client's own by its id and secret, with no browser",
    }),
  ),
  clientId: optional(text(2_048, "What Weir is registered as there; found out by itself where it is absent")),
  clientSecret: optional(text(4_096, "Stored encrypted and never returned.")),
  scope: optional(text(2_000, "Rights by spaces; what the server asks for where it is absent")),
  issuer: optional(text(2_048, "Which authorization server, where the MCP server names several")),
  registration: optional(
    oneOf(["document", "dynamic"] as const, {
      description:
        "How Weir makes itself known: by the address of its own document where the server takes that, or by registering",
    }),
  ),
};

export const SignInRequest = object(wish);
export type SignInRequest = Static<typeof SignInRequest>;

/** For a server that is not in the catalog yet. */
export const ServerSignInRequest = object({
  mcpUrl: text(2_048, "http:// or https://"),
  mcpTransport: oneOf(TRANSPORTS, { default: "http" }),
  ...wish,
});

export const SignInStarted = object({
  state: oneOf(["needed", "signed_in"] as const),
  authorizationUrl: nullable(
    Type.String({
      description: "Where the person goes, in a browser that is signed in to Weir as the same person",
    }),
  ),
  expiresAt: nullable(instant()),
  issuer: Type.String(),
  host: Type.String({ description: "Of the authorization server" }),
  isElsewhere: Type.Boolean({ description: "True if that is a different host than the MCP server's" }),
  resource: Type.String({ description: "What the tokens are for" }),
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
  scope: nullable(Type.String({ description: "What the tokens may do" })),
  wantedScope: nullable(
    Type.String({ description: "What the server asks for beyond; sign in again for it" }),
  ),
  isRenewable: Type.Boolean({ description: "False: a person is needed once the access token ends" }),
  expiresAt: nullable(instant()),
  signedInAt: nullable(instant()),
  signedInBy: nullable(Type.String()),
  problem: nullable(Type.String({ description: "Why a sign-in is needed again" })),
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

const word = (description: string) => optional(Type.String({ maxLength: 4096, description }));

/** Servers add words of their own, which are passed over. */
export const SignInAnswer = object(
  {
    code: word("What the server gives for a sign-in that worked"),
    state: word("State of the sign-in. Valid for 10 minutes and one use."),
    error: word("Why there is no code"),
    iss: word("Who answers (RFC 9207)"),
  },
  { additionalProperties: true },
);

/** What authorization servers read of Weir where they take the address of a document for a client id. */
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
