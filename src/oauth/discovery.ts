import type { CustomFetch } from "openid-client";
import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Challenge } from "./challenge.ts";

/** The metadata of an authorization server that Weir uses (RFC 8414, OpenID Connect Discovery). */
export interface AuthorizationServer {
  /** Unchanged, because it is compared exactly. */
  issuer: string;
  /** Null if there is no interactive sign-in: only `client_credentials` is available. */
  authorizationEndpoint: string | null;
  tokenEndpoint: string;
  registrationEndpoint: string | null;
  revocationEndpoint: string | null;
  /** Client authentication methods of the token endpoint. */
  authMethods: string[];
  scopes: string[];
  hasPkce: boolean;
  /** RFC 9207: its responses contain the issuer. */
  namesItself: boolean;
  /** Accepts the URL of a metadata document as a client ID. */
  takesDocuments: boolean;
  /** The server has no metadata: these are the default URLs of the 2025-03-26 revision. */
  isAssumed: boolean;
}

/** Authorization for an MCP server. */
export interface Authorization {
  /** Resource that tokens are requested for, as named by the server (RFC 8707). */
  resource: string;
  server: AuthorizationServer;
  /** The scopes of the server; null if it lists none. */
  scope: string | null;
}

/** How to connect to the server. */
export interface Reach {
  egress: Egress;
  signal: AbortSignal;
  /** Converts the server's responses to standard form. */
  dialect?: (send: CustomFetch) => CustomFetch;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 256 * 1024;
/** Maximum number of authorization servers tried. */
const MAX_ISSUERS = 10;

/**
 * Discovers the authorization server of the MCP server `url`. `issuer` selects one if there are several.
 *
 * Throws `upstream` with a sentence if there is none or it can't be trusted, `egress_blocked`, `timeout`.
 */
export async function discoverAuthorization(
  reach: Reach,
  { url, challenge, issuer = null }: { url: string; challenge: Challenge | null; issuer?: string | null },
): Promise<Authorization> {
  const found = await readResource(reach, url, challenge?.resourceMetadata ?? null);
  const own = new URL(url);
  if (found === null) {
    // before 2025-06-18 an MCP server was its own authorization server
    const server = (await findServer(reach, own.origin)) ?? defaultServer(own);
    return { resource: canonical(own), server, scope: null };
  }
  const { resource, authorization_servers: servers, scopes_supported: scopes } = found;
  if (typeof resource !== "string" || !isFor(resource, own))
    throw distrust(own.host, `describes ${shown(resource)} instead of itself`);
  const issuers = textsIn(servers).slice(0, MAX_ISSUERS);
  const chosen = issuer ?? issuers[0];
  if (chosen === undefined) throw distrust(own.host, "names no authorization server");
  if (!issuers.includes(chosen))
    throw distrust(own.host, `doesn't name ${shown(chosen)}. It names ${issuers.map(shown).join(", ")}`);
  return { resource, server: await readServer(reach, chosen), scope: textsIn(scopes).join(" ") || null };
}

/** The server's protected resource metadata (RFC 9728); null if it has none. */
async function readResource(
  reach: Reach,
  url: string,
  metadataLink: string | null,
): Promise<JsonObject | null> {
  const { origin, pathname } = new URL(url);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  if (metadataLink !== null) {
    const metadataUrl = URL.parse(metadataLink, url);
    if (metadataUrl === null) throw distrust(new URL(url).host, "has an invalid metadata URL");
    const found = await readJson(reach, secure(metadataUrl.href, new URL(url).host));
    if (found === null) throw distrust(new URL(url).host, `has no metadata at ${shown(metadataUrl.href)}`);
    return found;
  }
  const urls = pathname === "/" ? [wellKnown] : [wellKnown + pathname.replace(/\/$/, ""), wellKnown];
  for (const address of urls) {
    const found = await readJson(reach, address);
    if (found !== null) return found;
  }
  return null;
}

/** An authorization server's metadata. Throws if it has none. */
async function readServer(reach: Reach, issuer: string): Promise<AuthorizationServer> {
  const found = await findServer(reach, issuer);
  if (found === null)
    throw distrust(new URL(issuer).host, "is the authorization server, but publishes no metadata");
  return found;
}

/** Default URLs of a server without metadata in the 2025-03-26 revision, which requires PKCE. */
const defaultServer = ({ origin, host }: URL): AuthorizationServer => ({
  issuer: origin,
  authorizationEndpoint: secure(`${origin}/authorize`, host),
  tokenEndpoint: secure(`${origin}/token`, host),
  registrationEndpoint: secure(`${origin}/register`, host),
  revocationEndpoint: null,
  authMethods: ["none"],
  scopes: [],
  hasPkce: true,
  namesItself: false,
  takesDocuments: false,
  isAssumed: true,
});

/** Metadata from its well-known URLs; null if none has it. Throws if it is invalid. */
async function findServer(reach: Reach, issuer: string): Promise<AuthorizationServer | null> {
  const issuerUrl = URL.parse(issuer);
  if (issuerUrl === null || issuerUrl.search !== "" || issuerUrl.hash !== "")
    throw distrust(shown(issuer), "is not a valid authorization server URL");
  secure(issuer, issuerUrl.host);
  const path = issuerUrl.pathname.replace(/\/$/, "");
  const urls = [
    `${issuerUrl.origin}/.well-known/oauth-authorization-server${path}`,
    `${issuerUrl.origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${issuerUrl.origin}${path}/.well-known/openid-configuration`]),
  ];
  for (const each of urls) {
    const found = await readJson(reach, each);
    if (found !== null) return serverOf(found, issuer);
  }
  return null;
}

function serverOf(found: JsonObject, issuer: string): AuthorizationServer {
  const { host } = new URL(issuer);
  // simple string comparison (RFC 8414): a different issuer could impersonate this one
  if (found.issuer !== issuer)
    throw distrust(host, `has the issuer ${shown(found.issuer)}, not ${shown(issuer)}`);
  const endpoint = (name: string): string | null => {
    const value = found[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== "string" || !URL.canParse(value)) throw distrust(host, `has no address as ${name}`);
    return secure(value, host);
  };
  const tokenEndpoint = endpoint("token_endpoint");
  if (tokenEndpoint === null) throw distrust(host, "has no token_endpoint");
  const methods = textsIn(found.token_endpoint_auth_methods_supported);
  return {
    issuer,
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint,
    registrationEndpoint: endpoint("registration_endpoint"),
    revocationEndpoint: endpoint("revocation_endpoint"),
    authMethods: methods.length > 0 ? methods : ["client_secret_basic"],
    scopes: textsIn(found.scopes_supported),
    hasPkce: textsIn(found.code_challenge_methods_supported).includes("S256"),
    namesItself: found.authorization_response_iss_parameter_supported === true,
    takesDocuments: found.client_id_metadata_document_supported === true,
    isAssumed: false,
  };
}

/** A URL that may receive codes and tokens: https, or this machine. */
function secure(address: string, host: string): string {
  const { protocol, hostname, username, password } = new URL(address);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  if (isSafe && username === "" && password === "") return address;
  throw distrust(host, `wants ${shown(address)} to be used, which is not https`);
}

export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(hostname);

/** Null if the document doesn't exist. */
async function readJson({ egress, signal }: Reach, url: string): Promise<JsonObject | null> {
  const headers = { accept: "application/json" };
  const response = await egress.fetch(url, { headers, signal, timeoutMs: TIMEOUT_MS, maxRedirects: 2 });
  const { bytes, truncated } = await response.bytes(MAX_BYTES);
  if (response.status >= 500 || response.status === 429)
    throw new AppError(
      "upstream",
      `${new URL(url).host} returned ${response.status} for its authorization server metadata.`,
      {
        retryable: true,
      },
    );
  if (response.status !== 200 || truncated) return null;
  let value: Json;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null; // not JSON, but an HTML page
  }
  return isObject(value) ? value : null;
}

/** Whether a resource is the server itself, or a path above it on the same origin. */
function isFor(resource: string, server: URL): boolean {
  const named = URL.parse(resource);
  if (named === null || named.origin !== server.origin || named.hash !== "" || named.search !== "")
    return false;
  const below = named.pathname.replace(/\/$/, "");
  return server.pathname === below || server.pathname.startsWith(`${below}/`);
}

/** The server's URL as a resource indicator (RFC 8707), without an insignificant trailing slash. */
const canonical = ({ origin, pathname }: URL): string => origin + (pathname === "/" ? "" : pathname);

const textsIn = (value: Json | undefined): string[] =>
  Array.isArray(value)
    ? (value.filter((each) => typeof each === "string" && each !== "").slice(0, 200) as string[])
    : [];

const shown = (value: unknown): string =>
  typeof value === "string" ? value.replace(/[^\x20-\x7e]/g, "").slice(0, 200) || "nothing" : "nothing";

export const distrust = (host: string, fault: string) =>
  new AppError("upstream", `Sign-in isn't possible: ${host} ${fault}.`, {
    details: { signIn: "impossible" },
  });
