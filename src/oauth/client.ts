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

/** What we are to an authorization server. */
export interface OAuthClient {
  id: string;
  secret: string | null;
  /** How it shows who it is: client_secret_basic, client_secret_post or none. */
  method: string;
}

export interface Tokens {
  accessToken: string;
  /** Null where none is given: then nobody but a person can renew. */
  refreshToken: string | null;
  /** Null where the server does not tell. */
  expiresInSeconds: number | null;
  /** What was granted, where that is told. */
  scope: string | null;
}

/** One sign-in under way. */
export interface Checks {
  redirectUri: string;
  state: string;
  /** Of PKCE; null for a server that takes none. */
  verifier: string | null;
}

const METHODS = ["client_secret_basic", "client_secret_post", "none"];

/** How a client with or without a secret shows who it is there. */
export const methodFor = ({ authMethods }: AuthorizationServer, secret: string | null): string =>
  secret === null
    ? "none"
    : (METHODS.find((each) => each !== "none" && authMethods.includes(each)) ?? "client_secret_basic");

const MAX_BYTES = 64 * 1024;

/** Registers Weir as a new client (RFC 7591). Throws `upstream` where the server takes none. */
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
  const { client_id: id, client_secret: given, token_endpoint_auth_method: chosen } = reply;
  if (response.status >= 300 || typeof id !== "string" || id === "") {
    if (server.isAssumed)
      throw distrust(host, "publishes no metadata of an authorization server, and registers no clients");
    const code =
      typeof reply.error === "string" && /^[a-z_]{1,60}$/.test(reply.error) ? ` ${reply.error}` : "";
    const message = `${host} rejected Weir's client registration (${response.status}${code}). Register Weir there with ${redirectUri}, and enter its client ID.`;
    throw new AppError("upstream", message, { retryable: response.status >= 500 });
  }
  const secret = typeof given === "string" && given !== "" ? given : null;
  const usual = typeof chosen === "string" && METHODS.includes(chosen) ? chosen : method;
  return { id, secret: usual === "none" ? null : secret, method: secret === null ? "none" : usual };
}

function jsonOf(bytes: Uint8Array): { [key: string]: Json } {
  try {
    const value: Json = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : {};
  } catch {
    return {}; // a page
  }
}

/** The rights to ask for: those that are needed now besides those that were there before. */
export function scopeFor(
  { server, scope }: Authorization,
  wanted: { chosen: string | null; challenged: string | null; before: string | null },
  isPerson: boolean,
): string | null {
  const needed = wanted.chosen ?? wanted.challenged ?? scope;
  const lasting = isPerson && server.scopes.includes("offline_access") ? "offline_access" : null;
  return scopesOf(wanted.before, needed, lasting);
}

/** Throws `upstream` for a server that lets in no people, or can't guard the code that they bring back (PKCE). */
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

/** Where the person goes. Throws what `refuseUnguarded` does. */
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
        // without being asked again, nobody is given a refresh token (OpenID Connect Core, section 11)
        ...(scope?.split(" ").includes("offline_access") ? { prompt: "consent" } : {}),
        state: checks.state,
        resource,
        ...(await challengeFor(library, checks)),
      }).href,
  );
}

/** The parameters that guard the code (PKCE). */
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
  /** Null for a server that knows no resources. */
  resource: string | null;
}

const about = (resource: string | null): Record<string, string> => (resource === null ? {} : { resource });

/** Redeems what the browser brought back. Throws `unauthenticated` for an answer that is not of this sign-in. */
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

/** New tokens; else what the server does not know any more, which is final. */
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

/** Tokens of the client's own, for sites where nobody signs in. */
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

/** Tells the server to forget a token; nothing where it has no way to. */
export async function revokeToken(
  reach: Reach,
  { server, client }: Pick<Party, "server" | "client">,
  token: string,
): Promise<void> {
  if (server.revocationEndpoint === null) return;
  await use(reach, server, client, (library, config) => library.tokenRevocation(config, token));
}

/** Longer is as good as for ever, and soon no date any more. */
const MAX_SECONDS = 10 * 366 * 24 * 60 * 60;
/** What a header carries (RFC 6750, with some grace). */
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
  if (server.tokenEndpoint.startsWith("http:")) library.allowInsecureRequests(config); // this machine's own, see `secure`
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
  // as forms are written: the library's own way wraps each dash, which many servers do not undo
  const form = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return (_server, _client, _body, headers) =>
    headers.set("authorization", `Basic ${Buffer.from(`${form(id)}:${form(secret)}`).toString("base64")}`);
}
