import type * as Client from "openid-client";
import type { Clock } from "./clock.ts";
import { openEgress } from "./egress.ts";
import { type EgressOptions, toOwn } from "./egress-gate.ts";
import { AppError } from "./errors.ts";
import { appErrorIn, explainOpenId } from "./openid-failure.ts";
import { LIBRARY_TIMEOUT_MS, libraryFetch } from "./openid-fetch.ts";

/** The operator's identity provider, and Weir's registration there. */
export interface OpenIdOptions {
  /** Spelled exactly as by the provider. `http:` is accepted too, for providers on the operator's own network. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The claim that lists a user's groups. Null if none is read. */
  groupsClaim: string | null;
  /** Policy for all other hosts. The issuer's host needs no permission, since the operator configured it. */
  egress: EgressOptions;
  clock: Clock;
}

/** A sign-in in progress. `verifier` and `nonce` never pass through the browser that carries `state`. */
export interface OpenIdChecks {
  /** Absolute URL, as registered with the provider. */
  redirectUri: string;
  state: string;
  nonce: string;
  /** PKCE code verifier: 43 to 128 of `[A-Za-z0-9._~-]`. */
  verifier: string;
}

/** What the provider reports about the user. */
export interface OpenIdProfile {
  /** The only stable identifier, together with the issuer. */
  subject: string;
  email: string | null;
  /** Null if the provider doesn't say. */
  isEmailVerified: boolean | null;
  firstName: string | null;
  lastName: string | null;
  pictureUrl: string | null;
  /** Null if the provider has more than it sends. Empty if it sends none. */
  groups: readonly string[] | null;
}

/** Allows a sign-in to be refreshed. */
export interface OpenIdGrant {
  /** Null if the provider issues none. Then the sign-in can't be refreshed. */
  refreshToken: string | null;
  /** Lifetime in seconds of the access token, which isn't stored. */
  expiresInSeconds: number;
}

/**
 * An OpenID provider, found by discovery. The result is cached for an hour, failures aren't.
 *
 * All methods throw `upstream` or `timeout` if the provider can't be used, and `unauthenticated` if its response can't
 * be trusted: wrong signature, issuer, audience, nonce or time, or a used code.
 */
export interface OpenIdProvider {
  /** As `URL` writes it. Identifies the provider in stored rows. */
  readonly issuer: string;
  /** The issuer's host, for people. */
  readonly name: string;
  /** Returns the URL where the browser signs in. */
  authorizationUrl(checks: OpenIdChecks): Promise<string>;
  /**
   * Redeems the provider's response that the browser carries. Also throws `forbidden` if the provider denied access.
   */
  exchange(
    answer: URLSearchParams,
    checks: OpenIdChecks,
  ): Promise<{ profile: OpenIdProfile; grant: OpenIdGrant }>;
  /** Returns a new grant. Null if the provider refuses, which is final. */
  refresh(refreshToken: string, subject: string): Promise<OpenIdGrant | null>;
  /** Revokes the grant at the provider, if it supports that. */
  revoke(refreshToken: string): Promise<void>;
}

const DISCOVERY_MS = 60 * 60 * 1000;
/** Used if a provider doesn't say how long its access tokens are valid. */
const EXPIRES_IN_SECONDS = 3600;

/** Sends nothing to the provider before the first sign-in, so that Weir starts without it. */
export function openOpenId(options: OpenIdOptions): OpenIdProvider {
  const issuer = new URL(options.issuer);
  const name = issuer.host;
  const configure = discovered(options, issuer);

  const use = async <T>(
    work: (client: typeof Client, config: Client.Configuration) => Promise<T>,
  ): Promise<T> => {
    const client = await import("openid-client");
    try {
      return await work(client, await configure(client));
    } catch (error) {
      throw explainOpenId(client, error, name);
    }
  };

  return {
    issuer: issuer.href,
    name,
    authorizationUrl: ({ redirectUri, state, nonce, verifier }) =>
      use(async (client, config) => {
        const scope = scopeFor(config, options.groupsClaim);
        return client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope,
          // without a consent prompt, no refresh token is issued (OpenID Connect Core, section 11)
          ...(scope.includes("offline_access") ? { prompt: "consent" } : {}),
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        }).href;
      }),
    exchange: (answer, { redirectUri, state, nonce, verifier }) =>
      use(async (client, config) => {
        const url = new URL(redirectUri);
        url.search = answer.toString();
        const checks = {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        };
        const tokens = await client.authorizationCodeGrant(config, url, checks);
        const claims = claimsOf(tokens);
        if (claims.sub.trim() === "") throw noSubject();
        const profile = profileOf(claims.sub, claims, options.groupsClaim);
        const lacksGroups = options.groupsClaim !== null && claims[options.groupsClaim] === undefined;
        const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
        if ((profile.isEmailVerified && !lacksGroups) || !hasMore)
          return { profile: profile, grant: grantOf(tokens) };
        const more = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
        return {
          profile: together(profile, profileOf(claims.sub, more, options.groupsClaim), lacksGroups),
          grant: grantOf(tokens),
        };
      }),
    refresh: (refreshToken, subject) =>
      use(async (client, config) => {
        try {
          const tokens = await client.refreshTokenGrant(config, refreshToken);
          const now = tokens.claims()?.sub ?? subject;
          return now === subject ? grantOf(tokens, refreshToken) : null; // never another user's
        } catch (error) {
          if (error instanceof client.ResponseBodyError && error.error === "invalid_grant") return null;
          throw error;
        }
      }),
    revoke: (refreshToken) =>
      use(async (client, config) => {
        if (config.serverMetadata().revocation_endpoint === undefined) return;
        await client.tokenRevocation(config, refreshToken, { token_type_hint: "refresh_token" });
      }),
  };
}

/** Runs discovery once for concurrent callers. */
function discovered({ clientId, clientSecret, egress, clock }: OpenIdOptions, issuer: URL) {
  const request = libraryFetch(openEgress(toOwn(egress, issuer.href)));
  let found: { at: number; config: Promise<Client.Configuration> } | null = null;
  return (client: typeof Client): Promise<Client.Configuration> => {
    if (found && clock.monotonic() - found.at < DISCOVERY_MS) return found.config;
    const basic = client.ClientSecretBasic(clientSecret);
    const post = client.ClientSecretPost(clientSecret);
    const authenticate: Client.ClientAuth = (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      const inBody = methods.includes("client_secret_post") && !methods.includes("client_secret_basic");
      return (inBody ? post : basic)(server, ...rest);
    };
    const execute = [client.enableNonRepudiationChecks]; // ID tokens are verified by signature, not only by TLS
    if (issuer.protocol === "http:") execute.push(client.allowInsecureRequests);
    const config = client
      .discovery(issuer, clientId, undefined, authenticate, {
        execute,
        timeout: LIBRARY_TIMEOUT_MS / 1000,
        [client.customFetch]: request,
      })
      .then((one) => refuseForeign(one, issuer))
      .catch((error: unknown) => {
        throw error instanceof AppError ? error : notFoundAt(error, issuer);
      });
    const kept = { at: clock.monotonic(), config };
    found = kept;
    config.catch(() => {
      if (found === kept) found = null; // the next call retries; this error reaches the current callers
    });
    return config;
  };
}

/** The library lets some providers use another issuer. An issuer for all tenants identifies none of them. */
function refuseForeign(config: Client.Configuration, issuer: URL): Client.Configuration {
  const own = config.serverMetadata().issuer;
  if (new URL(own).href === issuer.href) return config;
  throw new AppError("upstream", `its issuer is ${own}, which doesn't match WEIR_OIDC_ISSUER`);
}

/** The provider's metadata is invalid or missing. That isn't the user's fault. */
function notFoundAt(error: unknown, issuer: URL): AppError {
  const inner = appErrorIn(error);
  if (inner) return inner;
  const differs =
    error instanceof Error && "code" in error && error.code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";
  const reason = differs
    ? "its issuer doesn't match WEIR_OIDC_ISSUER"
    : `no OpenID provider was found at ${issuer.href}: ${error instanceof Error ? error.message : "unknown"}`;
  return new AppError("upstream", reason, { retryable: !differs, cause: error });
}

/** Scopes to request: the standard ones, and those for refresh tokens and groups if the provider offers them. */
function scopeFor(config: Client.Configuration, groupsClaim: string | null): string {
  const offered = config.serverMetadata().scopes_supported ?? [];
  const more = ["offline_access", groupsClaim].filter((scope) => scope !== null && offered.includes(scope));
  return ["openid", "email", "profile", ...more].join(" ");
}

type Tokens = Client.TokenEndpointResponse & Client.TokenEndpointResponseHelpers;

function claimsOf(tokens: Tokens): Client.IDToken {
  const claims = tokens.claims();
  if (!claims) throw new AppError("unauthenticated", "The identity provider sent no ID token.");
  return claims;
}

/** All users without a subject would be the same user. */
const noSubject = () =>
  new AppError("unauthenticated", "The identity provider didn't identify the user: the subject is empty.");

const grantOf = (tokens: Tokens, refreshToken: string | null = null): OpenIdGrant => ({
  refreshToken: tokens.refresh_token ?? refreshToken,
  expiresInSeconds: tokens.expires_in ?? EXPIRES_IN_SECONDS,
});

function profileOf(
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  groupsClaim: string | null,
): OpenIdProfile {
  const picture = text(claims.picture, 2000);
  const email = text(claims.email, 254);
  const verified = claims.email_verified;
  return {
    subject,
    email,
    isEmailVerified:
      verified === undefined ? null : email !== null && (verified === true || verified === "true"), // some send text
    firstName: text(claims.given_name) ?? text(claims.name),
    lastName: text(claims.family_name),
    pictureUrl: picture !== null && URL.parse(picture)?.protocol === "https:" ? picture : null,
    groups: groupsClaim === null ? [] : groupsOf(claims, groupsClaim),
  };
}

/** Entra ID sends more than 200 groups as a reference to another service, in `_claim_names`. */
function groupsOf(claims: Readonly<Record<string, unknown>>, name: string): readonly string[] | null {
  const elsewhere = claims._claim_names;
  if (typeof elsewhere === "object" && elsewhere !== null && name in elsewhere) return null;
  const claim = claims[name];
  const listed = Array.isArray(claim) ? claim : [claim];
  return listed.filter((group) => typeof group === "string");
}

const text = (claim: unknown, maxLength = 255): string | null =>
  typeof claim === "string" && claim.trim() !== "" && claim.length <= maxLength ? claim.trim() : null;

/** An email address is verified if one of the sources with that address says so. */
function together(profile: OpenIdProfile, more: OpenIdProfile, lacksGroups: boolean): OpenIdProfile {
  const { email } = more.email === null ? profile : more;
  const claim = more.email === null ? null : more.isEmailVerified;
  const isEmailVerified = claim ?? (email === profile.email ? profile.isEmailVerified : null);
  return {
    subject: profile.subject,
    email,
    isEmailVerified,
    firstName: profile.firstName ?? more.firstName,
    lastName: profile.lastName ?? more.lastName,
    pictureUrl: profile.pictureUrl ?? more.pictureUrl,
    groups: lacksGroups && profile.groups !== null ? more.groups : profile.groups,
  };
}
