import { timestamp } from "../../base/clock.ts";
import { AppError, OAuthError } from "../../base/errors.ts";
import { type App, type Context, write } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { record } from "../events/service.ts";
import { type Client, findClient, isRegistered } from "./clients.ts";
import { resourceOf } from "./metadata.ts";
import { authorizationCodes, CLIENT_SCOPES, type ClientScope, DEFAULT_SCOPES } from "./table.ts";

const CODE_SECONDS = 60;
/** Base64url of a SHA-256. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Query parameters of the authorization page, as a client sent them (RFC 6749, 4.1.1; RFC 7636; RFC 8707). */
export interface AuthorizationInput {
  response_type: string;
  client_id: string;
  redirect_uri: string;
  code_challenge?: string | undefined;
  code_challenge_method?: string | undefined;
  scope?: string | undefined;
  state?: string | undefined;
  resource?: string | undefined;
}

export interface AuthorizationRequest {
  client: Client;
  redirectUri: string;
  challenge: string;
  scopes: ClientScope[];
  state: string | null;
}

/**
 * Parses a client's request. Throws `OAuthError` if its client or redirect URI isn't known: the browser isn't
 * redirected then, and the page shows the error.
 */
export async function readRequest(app: App, input: AuthorizationInput): Promise<AuthorizationRequest> {
  const client = await findClient(app, input.client_id);
  if (!isRegistered(client, input.redirect_uri))
    throw new OAuthError("invalid_request", "redirect_uri: The client didn't register this address.");
  if (input.response_type !== "code")
    throw new OAuthError("unsupported_response_type", "response_type: Only code is supported.");
  if (input.code_challenge_method !== "S256" || !CHALLENGE.test(input.code_challenge ?? ""))
    throw new OAuthError("invalid_request", "code_challenge: PKCE with S256 is required.");
  if (input.resource !== undefined && input.resource.replace(/\/$/, "") !== resourceOf(app))
    throw new OAuthError("invalid_target", `resource: Tokens are issued for ${resourceOf(app)} only.`);
  return {
    client,
    redirectUri: input.redirect_uri,
    challenge: input.code_challenge ?? "",
    scopes: scopesOf(input.scope),
    state: input.state ?? null,
  };
}

/** Unknown scopes, such as `offline_access`, are ignored. The token response lists the granted ones. */
function scopesOf(scope = ""): ClientScope[] {
  const names = scope.split(" ");
  const known = CLIENT_SCOPES.filter((each) => names.includes(each));
  return known.length > 0 ? known : [...DEFAULT_SCOPES];
}

/**
 * Returns where to send the browser after the user's decision: back to the client, with a code or `access_denied`. The
 * token for that code expires by `latest`. Throws `scope_missing` if the user's own credential lacks a scope.
 */
export function decideRequest(
  ctx: Context,
  request: AuthorizationRequest,
  { approve, latest }: { approve: boolean; latest: string | null },
): Promise<string> {
  const { client, redirectUri, challenge, scopes, state } = request;
  return write(ctx, async (tx) => {
    if (!tx.organizationId)
      throw new AppError("forbidden", "A client gets access to an organization, and you belong to none.");
    const id = tx.ids.uuid();
    const data = { clientId: client.host ?? client.name, scopes };
    if (!approve) {
      await record(tx, "auth.client_denied", { type: "authorization_code", id }, data);
      return answer(tx, redirectUri, state, { error: "access_denied" });
    }
    for (const scope of scopes) requireScope(tx, scope);
    const code = makeToken("", tx.ids);
    await tx.db.insert(authorizationCodes).values({
      id,
      codeHash: hashToken(code),
      clientId: client.id,
      clientName: client.name,
      redirectUri,
      challenge,
      scopes,
      userId: tx.actor.id,
      organizationId: tx.organizationId,
      endsAt: latest,
      status: "issued",
      tokenId: null,
      expiresAt: timestamp(tx.clock, CODE_SECONDS * 1000),
    });
    await record(tx, "auth.client_approved", { type: "authorization_code", id }, data);
    return answer(tx, redirectUri, state, { code });
  });
}

/** Returns the client's redirect URI with the response. `iss` is the issuer (RFC 9207). */
function answer(app: App, redirectUri: string, state: string | null, fields: Record<string, string>): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...fields, iss: app.baseUrl() }))
    url.searchParams.set(name, value);
  if (state !== null) url.searchParams.set("state", state);
  return url.href;
}
