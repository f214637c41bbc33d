import { lt } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import { within } from "../../base/within.ts";
import type { Transport } from "../../catalog/contract.ts";
import { type Context, write } from "../../context.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { openMcp } from "../../mcp/client.ts";
import { type Challenge, readChallenge, scopesOf } from "../../oauth/challenge.ts";
import {
  authorizationUrl,
  methodFor,
  type OAuthClient,
  ownTokens,
  refuseUnguarded,
  registerClient,
  scopeFor,
} from "../../oauth/client.ts";
import {
  type AuthorizationServer,
  discoverAuthorization,
  isLoopback,
  type Reach,
} from "../../oauth/discovery.ts";
import { record } from "../events/service.ts";
import { clientColumns, clientOf, entity, findSignIn, keepSignIn, save, serverUrl } from "./store.ts";
import {
  attemptLabel,
  catalogSignInAttempts,
  type GrantType,
  type SignInRow,
  type StoredClient,
} from "./table.ts";
import type { SignInRequest, SignInStarted } from "./wire.ts";

/** Time a user has at the authorization server. */
const ATTEMPT_MS = 10 * 60 * 1000;
/** How long after that a sign-in is reported as expired. */
const EXPIRED_FOR_MS = 60 * 60 * 1000;
/** Timeout of all requests to both servers together. */
const BUDGET_MS = 20_000;

export const CALLBACK = "/api/v1/api-catalog/oauth/callback";
export const DOCUMENT = "/api/v1/api-catalog/oauth/client.json";

/** The data stored for a sign-in until the user returns. */
export interface Facts {
  server: AuthorizationServer;
  resource: string;
  client: OAuthClient;
  kind: StoredClient["kind"];
  scope: string | null;
  redirectUri: string;
  verifier: string;
}

/** An MCP server, and the page that its sign-in leads back to. */
interface SignInTarget {
  url: string;
  transport: Transport;
  returnTo: string;
}

/**
 * Starts a sign-in with an MCP server: returns the URL for the user, or signs in immediately with client credentials.
 *
 * Throws `upstream` with a sentence if the server or its authorization server can't be used or trusted, `invalid` also
 * for an API key, which isn't a user, and `egress_blocked`.
 */
export async function beginSignIn(
  ctx: Context,
  target: SignInTarget,
  wish: SignInRequest,
  signal: AbortSignal,
): Promise<SignInStarted> {
  const url = serverUrl(target.url);
  const own = new URL(url);
  refuseOpen(own);
  const reach = { egress: ctx.egress, signal: within(BUDGET_MS, own.host, signal) };
  const row = await findSignIn(ctx, url);
  const grant: GrantType = wish.grant ?? row?.grantType ?? "authorization_code";
  if (grant === "authorization_code" && ctx.actor.type !== "user")
    throw invalid(["body", "grant"], "A user must sign in. API keys can use client_credentials");
  const challenge = await challengeOf(reach, target);
  const found = await discoverAuthorization(reach, {
    url,
    challenge: challenge ?? (row && { resourceMetadata: row.resourceMetadata, scope: null, error: null }),
    issuer: wish.issuer ?? null,
  });
  const isPerson = grant === "authorization_code";
  if (isPerson) refuseUnguarded(found.server);
  const { client, kind } = await chooseClient(ctx, reach, found.server, row, wish, isPerson);
  const isSameServer = row?.server?.issuer === found.server.issuer;
  const scope = scopeFor(
    found,
    {
      chosen: wish.scope ?? null,
      challenged: scopesOf(challenge?.scope, row?.wantedScope),
      before: wish.scope === undefined && isSameServer ? (row?.scope ?? null) : null,
    },
    isPerson,
  );
  const facts: Omit<Facts, "verifier"> = {
    ...{ server: found.server, resource: found.resource, client, kind, scope },
    redirectUri: ctx.baseUrl() + CALLBACK,
  };
  const { host } = new URL(found.server.issuer);
  const parameters = {
    ...{ issuer: found.server.issuer, host, isElsewhere: host !== own.host },
    ...{ resource: found.resource, scope, clientId: client.id },
  };
  if (isPerson) {
    const begun = await send(ctx, reach, { ...target, url }, facts);
    return { state: "needed", ...begun, ...parameters };
  }
  const tokens = await ownTokens(reach, facts, scope);
  await keepSignIn(ctx, url, { ...facts, grantType: grant, facts, tokens });
  return { state: "signed_in", authorizationUrl: null, expiresAt: null, ...parameters };
}

/** Tokens are never sent unencrypted. */
function refuseOpen({ protocol, hostname, host }: URL): void {
  if (protocol === "https:" || isLoopback(hostname)) return;
  throw new AppError(
    "upstream",
    `Sign-in isn't possible: ${host} doesn't use https, so tokens could be intercepted.`,
  );
}

/** Returns how the server rejects a request without credentials. Null if it accepts one. */
async function challengeOf(
  { egress, signal }: Reach,
  { url, transport }: SignInTarget,
): Promise<Challenge | null> {
  try {
    const client = await openMcp({ url, transport, egress, signal, authority: null });
    try {
      await client.listTools();
    } finally {
      await client.close();
    }
    return null;
  } catch (error) {
    const { status, challenge } = ((error instanceof AppError && error.details) || {}) as {
      status?: number;
      challenge?: string;
    };
    if (status !== 401) throw error;
    const read = readChallenge(challenge ?? null);
    if (read !== null) return read;
    const { host } = new URL(url);
    throw new AppError(
      "upstream",
      `${host} requires other authorization than a sign-in. Set a connection that has it.`,
    );
  }
}

/**
 * Returns Weir's client registration at this server: one given by a user, the existing one, its metadata document, or a
 * new registration.
 */
async function chooseClient(
  ctx: Context,
  reach: Reach,
  server: AuthorizationServer,
  row: SignInRow | null,
  wish: SignInRequest,
  isPerson: boolean,
): Promise<{ client: OAuthClient; kind: StoredClient["kind"] }> {
  const redirectUri = ctx.baseUrl() + CALLBACK;
  const { host } = new URL(server.issuer);
  if (wish.clientId !== undefined) {
    const secret = wish.clientSecret ?? null;
    if (!isPerson && secret === null) throw needsSecret();
    return { client: { id: wish.clientId, secret, method: methodFor(server, secret) }, kind: "given" };
  }
  const kept = row && clientOf(ctx, row);
  const isHere = row?.server?.issuer === server.issuer;
  if (kept && row?.client?.kind === "given") {
    // A registration at one server isn't sent to another.
    if (!isHere)
      throw new AppError(
        "upstream",
        `The authorization server is now ${host}. Register Weir there, and enter its client ID.`,
      );
    return { client: kept, kind: "given" };
  }
  if (!isPerson) throw needsSecret();
  const documentUrl = ctx.baseUrl() + DOCUMENT;
  const mayShow = documentUrl.startsWith("https:") && !isLoopback(new URL(documentUrl).hostname);
  if (server.takesDocuments && mayShow && wish.registration !== "dynamic")
    return { client: { id: documentUrl, secret: null, method: "none" }, kind: "document" };
  if (kept && isHere && row?.client?.kind === "registered" && row.client.redirectUri === redirectUri)
    return { client: kept, kind: "registered" };
  return { client: await registerClient(reach, server, redirectUri, ctx.baseUrl()), kind: "registered" };
}

const needsSecret = () =>
  invalid(["body", "clientSecret"], "client_credentials requires a clientId and a clientSecret", "missing");

/** Stores the attempt, and returns its URL for the browser. */
async function send(
  ctx: Context,
  reach: Reach,
  { url, returnTo }: SignInTarget,
  facts: Omit<Facts, "verifier">,
): Promise<Pick<SignInStarted, "authorizationUrl" | "expiresAt">> {
  const state = makeToken("", ctx.ids);
  const verifier = makeToken("", ctx.ids);
  const { redirectUri, server, client, kind } = facts;
  const address = await authorizationUrl(reach, { ...facts, checks: { redirectUri, state, verifier } });
  const stateHash = hashToken(state);
  const expiresAt = timestamp(ctx.clock, ATTEMPT_MS);
  const whole: Facts = { ...facts, verifier };
  const attempt = {
    ...{ stateHash, organizationId: ctx.organizationId, userId: ctx.actor.id, url, returnTo, expiresAt },
    sealedFacts: ctx.secrets.seal(JSON.stringify(whole), attemptLabel({ stateHash })),
  };
  const forgotten = lt(catalogSignInAttempts.expiresAt, timestamp(ctx.clock, -EXPIRED_FOR_MS));
  await write(ctx, async (tx) => {
    await tx.db.delete(catalogSignInAttempts).where(forgotten);
    await tx.db.insert(catalogSignInAttempts).values(attempt);
    // A successful sign-in stores the client that its tokens belong to.
    const row = await save(tx, url, (before) =>
      before.state === "signed_in"
        ? {}
        : { server, ...clientColumns(tx, before, client, { kind, redirectUri }) },
    );
    await record(tx, "catalog.sign_in_started", entity(row.id), {
      url,
      issuer: server.issuer,
      scope: facts.scope,
    });
  });
  return { authorizationUrl: address, expiresAt };
}
