import type * as Library from "openid-client";
import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { LIBRARY_TIMEOUT_MS, libraryFetch } from "../base/openid-fetch.ts";
import { scopesOf } from "./challenge.ts";
import {
  type Authorization,
  type AuthorizationServer,
  distrust,
  isLoopback,
  type Reach,
} from "./discovery.ts";
import { explainOAuth } from "./failure.ts";

/** Weir's registration with an authorization server. */
export interface OAuthClient {
  id: string;
  secret: string | null;
  /** Authentication method: client_secret_basic, client_secret_post or none. */
  method: string;
}

export interface Tokens {
  accessToken: string;
  /** Null if none was issued: then only the user can renew the sign-in. */
  refreshToken: string | null;
  /** Null if the server doesn't say. */
  expiresInSeconds: number | null;
  /** Granted scopes, if the server returns them. */
  scope: string | null;
}

/** State of one pending sign-in. */
export interface Checks {
  redirectUri: string;
  state: string;
  /** For PKCE; null if the server doesn't support it. */
  verifier: string | null;
}

const METHODS = ["client_secret_basic", "client_secret_post", "none"];

/** The authentication method of a client with or without a secret. */
export const methodFor = ({ authMethods }: AuthorizationServer, secret: string | null): string =>
  secret === null
    ? "none"
    : (METHODS.find((each) => each !== "none" && authMethods.includes(each)) ?? "client_secret_basic");

const MAX_BYTES = 64 * 1024;

/** Registers Weir as a new client (RFC 7591). Throws `upstream` if the server doesn't allow that. */
export async function registerClient(
  { egress, signal }: Reach,
  server: AuthorizationServer,
  redirectUri: string,
  baseUrl: string,
): Promise<OAuthClient> {
  const { host } = new URL(server.issuer);
  if (server.registrationEndpoint === null)
    throw new AppError(
      "upstream",
      `${host} doesn't support client registration. Register Weir there, and enter its client ID.`,
    );
  const method = METHODS.find((each) => server.authMethods.includes(each)) ?? "client_secret_basic";
  const response = await egress.fetch(server.registrationEndpoint, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({
      client_name: "Weir",
      client_uri: baseUrl,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
      application_type: isLoopback(new URL(redirectUri).hostname) ? "native" : "web",
    }),
    signal,
    timeoutMs: LIBRARY_TIMEOUT_MS,
    maxRedirects: 0,
  });
  const { bytes } = await response.bytes(MAX_BYTES);
  const reply = jsonOf(bytes);
  const { client_id: id, client_secret: issuedSecret, token_endpoint_auth_method: chosen } = reply;
  if (response.status >= 300 || typeof id !== "string" || id === "") {
    if (server.isAssumed)
      throw distrust(host, "publishes no metadata of an authorization server, and registers no clients");
    const code =
      typeof reply.error === "string" && /^[a-z_]{1,60}$/.test(reply.error) ? ` ${reply.error}` : "";
    const message = `${host} rejected Weir's client registration (${response.status}${code}). Register Weir there with ${redirectUri}, and enter its client ID.`;
    throw new AppError("upstream", message, { retryable: response.status >= 500 });
  }
  const secret = typeof issuedSecret === "string" && issuedSecret !== "" ? issuedSecret : null;
  const usual = typeof chosen === "string" && METHODS.includes(chosen) ? chosen : method;
  return { id, secret: usual === "none" ? null : secret, method: secret === null ? "none" : usual };
}

function jsonOf(bytes: Uint8Array): { [key: string]: Json } {
  try {
    const value: Json = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : {};
  } catch {
    return {}; // not JSON, but an HTML page
  }
}

/** The scopes to request: those needed now, added to the previous ones. */
export function scopeFor(
  { server, scope }: Authorization,
  wanted: { chosen: string | null; challenged: string | null; before: string | null },
  isPerson: boolean,
): string | null {
  const needed = wanted.chosen ?? wanted.challenged ?? scope;
  const lasting = isPerson && server.scopes.includes("offline_access") ? "offline_access" : null;
  return scopesOf(wanted.before, needed, lasting);
}

/** Throws `upstream` for a server without interactive sign-in or without PKCE, which protects the code. */
export function refuseUnguarded(server: AuthorizationServer): void {
  const { host } = new URL(server.issuer);
  if (server.authorizationEndpoint === null)
    throw new AppError(
      "upstream",
      `${host} doesn't support user sign-in, only clients with a secret (client_credentials).`,
    );
  if (!server.hasPkce)
    throw new AppError(
      "upstream",
      `${host} doesn't support PKCE with S256, which is required to protect the sign-in.`,
    );
}

/** The URL to send the user to. Throws the errors of `refuseUnguarded`. */
export async function authorizationUrl(
  reach: Reach,
  {
    server,
    client,
    resource,
    scope,
    checks,
  }: {
    server: AuthorizationServer;
    client: OAuthClient;
    resource: string;
    scope: string | null;
    checks: Checks;
  },
): Promise<string> {
  refuseUnguarded(server);
  return use(
    reach,
    server,
    client,
    async (library, config) =>
      library.buildAuthorizationUrl(config, {
        redirect_uri: checks.redirectUri,
        ...(scope === null ? {} : { scope }),
        // without a new consent no refresh token is issued (OpenID Connect Core, section 11)
        ...(scope?.split(" ").includes("offline_access") ? { prompt: "consent" } : {}),
        state: checks.state,
        resource,
        ...(await challengeFor(library, checks)),
      }).href,
  );
}

/** The PKCE parameters, which protect the code. */
export async function challengeFor(
  library: typeof Library,
  { verifier }: Checks,
): Promise<Record<string, string>> {
  if (verifier === null) return {};
  return {
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
}

interface Party {
  server: AuthorizationServer;
  client: OAuthClient;
  /** Null for a server without resource indicators. */
  resource: string | null;
}

const about = (resource: string | null): Record<string, string> => (resource === null ? {} : { resource });

/** Redeems an authorization code. Throws `unauthenticated` if the response belongs to another sign-in. */
export const redeem = (
  reach: Reach,
  { server, client, resource }: Party,
  answer: URLSearchParams,
  { redirectUri, state, verifier }: Checks,
): Promise<Tokens> =>
  use(reach, server, client, async (library, config) => {
    const url = new URL(redirectUri);
    url.search = answer.toString();
    const guard = verifier === null ? {} : { pkceCodeVerifier: verifier };
    const expected = { ...guard, expectedState: state };
    return tokensOf(await library.authorizationCodeGrant(config, url, expected, about(resource)));
  });

/** Requests new tokens, or returns what the server permanently no longer accepts. */
export const refreshTokens = (
  reach: Reach,
  { server, client, resource }: Party,
  refreshToken: string,
): Promise<Tokens | "no_token" | "no_client"> =>
  use(reach, server, client, async (library, config) => {
    try {
      const tokens = tokensOf(await library.refreshTokenGrant(config, refreshToken, about(resource)));
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    } catch (error) {
      const code = error instanceof library.ResponseBodyError ? error.error : null;
      if (code === "invalid_client" || error instanceof library.WWWAuthenticateChallengeError)
        return "no_client";
      if (code === "invalid_grant" || code === "unauthorized_client") return "no_token";
      throw error;
    }
  });

/** Requests tokens by client credentials, without a user. */
export const ownTokens = (
  reach: Reach,
  { server, client, resource }: Party,
  scope: string | null,
): Promise<Tokens> =>
  use(reach, server, client, async (library, config) =>
    tokensOf(
      await library.clientCredentialsGrant(config, {
        ...about(resource),
        ...(scope === null ? {} : { scope }),
      }),
    ),
  );

/** Revokes a token, if the server supports it. */
export async function revokeToken(
  reach: Reach,
  { server, client }: Pick<Party, "server" | "client">,
  token: string,
): Promise<void> {
  if (server.revocationEndpoint === null) return;
  await use(reach, server, client, (library, config) => library.tokenRevocation(config, token));
}

/** Longer lifetimes are practically unlimited, and would soon exceed the range of dates. */
const MAX_SECONDS = 10 * 366 * 24 * 60 * 60;
/** Characters that a header may contain (RFC 6750, slightly extended). */
const SENDABLE = /^[\x21-\x7e]{1,16384}$/;

function tokensOf(reply: Library.TokenEndpointResponse): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken = null, expires_in: seconds = null } = reply;
  if (!SENDABLE.test(accessToken))
    throw new AppError("upstream", "The server issued a token with characters that a header can't contain.");
  return {
    accessToken,
    refreshToken,
    expiresInSeconds: seconds === null ? null : Math.min(seconds, MAX_SECONDS),
    scope: scopesOf(reply.scope),
  };
}

async function use<T>(
  { egress, signal, dialect = (send) => send }: Reach,
  server: AuthorizationServer,
  client: OAuthClient,
  work: (library: typeof Library, config: Library.Configuration) => Promise<T>,
): Promise<T> {
  const library = await import("openid-client");
  const config = new library.Configuration(
    metadataOf(server),
    client.id,
    undefined,
    authentication(library, client),
  );
  const send = dialect(libraryFetch(egress));
  config[library.customFetch] = (url, options) =>
    send(url, { ...options, signal: either(signal, options.signal) });
  config.timeout = LIBRARY_TIMEOUT_MS / 1000;
  if (server.tokenEndpoint.startsWith("http:")) library.allowInsecureRequests(config); // only on this machine, see `secure`
  try {
    return await work(library, config);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw explainOAuth(library, error, new URL(server.issuer).host);
  }
}

const either = (one: AbortSignal, other: AbortSignal | null | undefined) =>
  other ? AbortSignal.any([one, other]) : one;

const metadataOf = (server: AuthorizationServer): Library.ServerMetadata => ({
  issuer: server.issuer,
  token_endpoint: server.tokenEndpoint,
  ...(server.authorizationEndpoint === null ? {} : { authorization_endpoint: server.authorizationEndpoint }),
  ...(server.revocationEndpoint === null ? {} : { revocation_endpoint: server.revocationEndpoint }),
  authorization_response_iss_parameter_supported: server.namesItself,
});

function authentication(library: typeof Library, { id, secret, method }: OAuthClient): Library.ClientAuth {
  if (secret === null || method === "none") return library.None();
  if (method === "client_secret_post") return library.ClientSecretPost(secret);
  // form encoding: the library also encodes each dash, which many servers don't decode
  const form = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return (_server, _client, _body, headers) =>
    headers.set("authorization", `Basic ${Buffer.from(`${form(id)}:${form(secret)}`).toString("base64")}`);
}
