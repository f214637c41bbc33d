import { AppError } from "../base/errors.ts";
import { safeCode } from "../base/openid-failure.ts";
import { type Checks, challengeFor, redeem, refreshTokens, type Tokens } from "./client.ts";
import type { SignInTerms } from "./contract.ts";
import { inStandardTerms } from "./dialect.ts";
import type { AuthorizationServer, Reach } from "./discovery.ts";

/** The URL to send the user to. */
export async function signInAddress(terms: SignInTerms, checks: Checks): Promise<string> {
  const url = new URL(terms.authorizeUrl);
  const set = (parameters: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  };
  if (terms.scopes.length > 0) set({ scope: terms.scopes.join(" ") });
  set(terms.extraParams);
  const { name, value } = terms.shownClient ?? { name: "client_id", value: terms.clientId };
  set({
    response_type: "code",
    [name]: value,
    redirect_uri: checks.redirectUri,
    state: checks.state,
    ...(await challengeFor(await import("openid-client"), checks)),
  });
  return url.href;
}

/**
 * Redeems an authorization code. Throws `forbidden` if the user or the system denied access, `unauthenticated` if the
 * response belongs to another system (issuer mix-up) or sign-in, `upstream` if no token was issued.
 */
export async function redeemSignIn(
  reach: Reach,
  terms: SignInTerms,
  answer: URLSearchParams,
  checks: Checks,
): Promise<Tokens> {
  const { host } = new URL(terms.tokenUrl);
  const own = [terms.authorizeUrl, terms.tokenUrl].map((address) => new URL(address).origin);
  const issuer = answer.get("iss");
  if (issuer !== null && !own.includes(URL.parse(issuer)?.origin ?? ""))
    throw new AppError("unauthenticated", `The response came from another system than ${host}. Start again.`);
  const error = answer.get("error");
  if (error !== null)
    throw new AppError(
      "forbidden",
      `${new URL(terms.authorizeUrl).host} denied the sign-in (${safeCode(error)}).`,
    );
  const code = answer.get(terms.codeName ?? "code");
  if (code === null || code === "")
    throw new AppError("bad_request", `${new URL(terms.authorizeUrl).host} returned no code. Start again.`);
  const party = partyOf(terms, issuer);
  const plain = new URLSearchParams({
    code,
    state: checks.state,
    ...(issuer === null ? {} : { iss: issuer }),
  });
  return redeem({ ...reach, dialect: inStandardTerms }, party, plain, checks);
}

/** Codes of temporary errors; some systems send them with status 200. */
const PASSING =
  /^(temporarily_unavailable|service_unavailable|(internal_)?(server_)?error|fatal_error|backend_error|request_timeout|timeout|slow_down|rate_?limited|rate_limit_exceeded|accesslimited|too_many_requests|team_added_to_org|unknown_error)$/;

/** New tokens, or the code of a permanent refusal. Throws `upstream` or `timeout` if another attempt may succeed. */
export async function renewSignIn(
  reach: Reach,
  terms: SignInTerms,
  refreshToken: string,
): Promise<Tokens | { refused: string }> {
  try {
    const renewed = await refreshTokens(
      { ...reach, dialect: inStandardTerms },
      partyOf(terms, null),
      refreshToken,
    );
    if (renewed === "no_token") return { refused: "invalid_grant" };
    if (renewed === "no_client") return { refused: "invalid_client" };
    return renewed;
  } catch (error) {
    const code = error instanceof AppError ? error.details?.oauthError : undefined;
    if (!(error instanceof AppError) || typeof code !== "string" || error.retryable) throw error;
    if (!PASSING.test(code)) return { refused: code };
    throw new AppError("upstream", error.message, { retryable: true, cause: error });
  }
}

function partyOf(terms: SignInTerms, issuer: string | null) {
  const server: AuthorizationServer = {
    issuer: issuer ?? new URL(terms.authorizeUrl).origin,
    authorizationEndpoint: terms.authorizeUrl,
    tokenEndpoint: terms.tokenUrl,
    registrationEndpoint: null,
    revocationEndpoint: null,
    authMethods: [],
    scopes: [],
    hasPkce: terms.pkce,
    namesItself: false,
    takesDocuments: false,
    isAssumed: false,
  };
  const { clientId: id, clientSecret: secret, tokenAuth } = terms;
  const method =
    secret === null ? "none" : tokenAuth === "body" ? "client_secret_post" : "client_secret_basic";
  return { server, client: { id, secret, method }, resource: null };
}
