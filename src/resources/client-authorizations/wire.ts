import { type Static, Type } from "@sinclair/typebox";
import { anything, described, nullable, object, oneOf, optional } from "../../base/shape.ts";
import { CLIENT_SCOPES, type ClientScope } from "./table.ts";

const text = (description: string, maxLength = 2000) => Type.String({ maxLength, description });

/** Query parameters of the authorization page. */
export const AuthorizationQuery = object({
  response_type: text("Always `code`."),
  client_id: text("From registration, or the HTTPS address of the client's metadata document.", 8000),
  redirect_uri: text("One that the client registered."),
  code_challenge: optional(text("PKCE challenge.")),
  code_challenge_method: optional(text("Always `S256`.")),
  scope: optional(text("`read`, `run` and `write`, separated by spaces. Default: `read run`.")),
  state: optional(text("Returned unchanged.", 4000)),
  resource: optional(text("The address of this server's `/mcp`.")),
});

export const ClientRequest = object({
  clientName: Type.String({ description: "What the client calls itself. Nobody has verified it." }),
  clientHost: nullable(
    Type.String({ description: "Host of the metadata document that describes the client." }),
  ),
  redirectHost: Type.String({ description: "Where the browser goes after the decision." }),
  scopes: Type.Array(oneOf(CLIENT_SCOPES)),
});

export const ClientDecision = object({
  request: described("Parameters of the client's request.", AuthorizationQuery),
  approve: Type.Boolean({ description: "True approves the client, false denies it." }),
});

export const ClientAnswer = object({ redirectTo: Type.String() });

export const exampleQuery: Static<typeof AuthorizationQuery> = {
  response_type: "code",
  client_id: "https://client.example.com/oauth/metadata.json",
  redirect_uri: "http://127.0.0.1:33418/callback",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
  scope: "read run",
  state: "af0ifjsldkj",
};

export function toClientRequest({
  client,
  redirectUri,
  scopes,
}: {
  client: { name: string; host: string | null };
  redirectUri: string;
  scopes: ClientScope[];
}): Static<typeof ClientRequest> {
  const { host, protocol } = new URL(redirectUri);
  return { clientName: client.name, clientHost: client.host, redirectHost: host || protocol, scopes };
}

/** RFC 7591. Unknown fields are ignored, as it requires. */
export const Registration = object({
  redirect_uris: Type.Array(Type.String({ maxLength: 500 }), {
    maxItems: 100,
    description: "URLs that the browser may be sent to after the decision.",
  }),
  client_name: optional(text("Shown to the person who decides.", 1000)),
  token_endpoint_auth_method: optional(text("Always `none`.", 100)),
});

export const Registered = object({
  client_id: Type.String(),
  client_name: Type.String(),
  redirect_uris: Type.Array(Type.String()),
  grant_types: Type.Array(Type.String()),
  response_types: Type.Array(Type.String()),
  token_endpoint_auth_method: Type.String(),
});

export const toRegistered = ({
  id,
  name,
  redirectUris,
}: {
  id: string;
  name: string;
  redirectUris: string[];
}): Static<typeof Registered> => ({
  client_id: id,
  client_name: name,
  redirect_uris: redirectUris,
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
});

export const ClientTokenRequest = object({
  grant_type: text("`authorization_code` or `refresh_token`.", 200),
  client_id: optional(text("Required.", 8000)),
  code: optional(text("Required for `authorization_code`.", 200)),
  redirect_uri: optional(text("Required for `authorization_code`: the one of the authorization request.")),
  code_verifier: optional(text("Required for `authorization_code`: PKCE verifier.", 200)),
  refresh_token: optional(text("Required for `refresh_token`.", 200)),
  scope: optional(text("For `refresh_token`: fewer scopes than were approved.")),
  resource: optional(text("The address of this server's `/mcp`.")),
});

export const ClientToken = object({
  access_token: Type.String(),
  token_type: Type.Literal("Bearer"),
  expires_in: Type.Integer({ description: "Seconds until the token expires" }),
  scope: Type.String(),
  refresh_token: Type.String({ description: "Gets the next access token. Works once." }),
});

/** A document of RFC 9728 or RFC 8414. */
export const Metadata = anything();
