import { isIP } from "node:net";
import { withBase } from "../base/base-path.ts";
import { sourceOf } from "../base/cidr.ts";
import { AppError, invalid, notFound } from "../base/errors.ts";
import { writeJson } from "../base/json-write.ts";
import { ADDRESS_RATE, type Rate } from "../base/limit.ts";
import { read } from "../base/shape.ts";
import { mayChange } from "../base/single-path.ts";
import { type App, type Context, contextFor, write } from "../context.ts";
import { requireScope, scopeOf } from "../resources/access-tokens/scopes.ts";
import { ROLES, type Role } from "../resources/organizations/table.ts";
import { isOperator } from "../resources/users/service.ts";
import { admission } from "./admission.ts";
import { requireFreshSignIn } from "./fresh.ts";
import { once, onceAtEnd } from "./idempotency.ts";
import { actorOf, enter, type Identity, identify, refuseEnded, requireExpectedUser } from "./identity.ts";
import { readInput } from "./input.ts";
import { type Operation, Reply, type Visit } from "./operation.ts";
import { isForeign, isSameOrigin } from "./origin.ts";
import { icebergProblemOf, problemOf } from "./problem.ts";
import { guarded, isListed, NO_SIBLINGS, type Siblings, tagOf } from "./versions.ts";

/** CSP for data, which is never a page: a browser that shows it anyway loads, sends and frames nothing. */
export const DATA_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Headers of every API response. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": DATA_POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** Handles a request of an operation, from credentials to response. */
export async function serve(
  app: App,
  operation: Operation,
  visit: Visit,
  rawParams: Record<string, string>,
  siblings: Siblings = NO_SIBLINGS,
): Promise<Response> {
  try {
    refuseBadHost(visit);
    const [reader, isTagged] = [siblings.readerOf(operation), siblings.isTagged(operation)];
    const reply = await answer(app, operation, visit, rawParams, reader);
    return await toResponse(app, operation, reply, visit, isTagged);
  } catch (error) {
    const response = problemResponse(app, error, visit, operation.iceberg !== undefined);
    if (response.status === 401 && operation.challenge)
      response.headers.set("www-authenticate", `Bearer ${operation.challenge(app)}`);
    return response;
  }
}

async function answer(
  app: App,
  operation: Operation,
  visit: Visit,
  rawParams: Record<string, string>,
  reader: Operation | undefined,
): Promise<unknown> {
  if (operation.limited === "address" && !(await operation.unlimitedFor?.(app, visit)))
    limitAddress(app, visit);
  const open = operation.audience === "public" || operation.audience === "signature";
  const isGuarded = operation.ownPagesOnly ?? (operation.audience === "public" && operation.method !== "GET");
  if (isGuarded && isForeign(app, visit)) {
    throw new AppError("csrf", "Requests from other sites aren't allowed. Use Weir's own page.");
  }
  const identity = open ? null : await admit(app, operation, visit);

  // before the input: a caller without the role gets 403, whatever it sent
  const own = identity && holding(await contextOf(app, operation, identity, visit), operation, identity);
  const input = await readInput(app, operation, visit, rawParams, own);
  const wanted = operation.method === "GET" ? null : visit.request.headers.get("if-match");
  if (wanted !== null && !reader && mayChange(operation))
    throw invalid(["header", "If-Match"], "This resource has no ETag. Omit the header");
  const ctx =
    own && identity && reader && wanted !== null
      ? await guarded(app, own, wanted, { reader, visit, identity, params: input.params })
      : own;
  const handle = operation.handle as unknown as (args: object) => Promise<unknown>;
  if (!ctx) return handle({ app, visit, ...input });

  if (identity) visit.isStillAdmitted = admissionOf(app, operation, visit, identity);
  const handlerInput = { app, visit, identity, ...input };
  if (!operation.idempotent) return handle({ ...handlerInput, ctx });
  const key = visit.request.headers.get("idempotency-key");
  const isBatched = operation.idempotent === "batched" || operation.idempotent === "batched-sealed";
  if (key === null)
    return isBatched
      ? handle({ ...handlerInput, ctx })
      : write(ctx, (tx) => handle({ ...handlerInput, ctx: tx }));
  const request = {
    method: operation.method,
    path: visit.url.pathname + visit.url.search,
    body: input.body ?? null,
    // a token with other scopes must not get this token's reply
    ...(identity?.scopes ? { scopes: identity.scopes } : {}),
  };
  const kind = { status: operation.status ?? 200, isSealed: /sealed$/.test(String(operation.idempotent)) };
  if (isBatched) {
    visit.keepOpen(); // A repeated request waits as long as the first one takes.
    return onceAtEnd(ctx, key, request, kind, () => handle({ ...handlerInput, ctx }));
  }
  return once(ctx, key, request, kind, (tx) => handle({ ...handlerInput, ctx: tx }));
}

/** For changes to credentials and access: checks in the same transaction that the caller still has access. */
function holding(ctx: Context, operation: Operation, identity: Identity): Context {
  if (operation.method === "GET" || scopeOf(operation) !== "admin") return ctx;
  return { ...ctx, precondition: (tx) => refuseEnded(tx, identity) };
}

const PEOPLE_DECIDE =
  "API keys can't make decisions. Sign in, or use the access token of the user who decides.";

/** Identifies the caller. Throws `unauthenticated`, `forbidden`, `csrf`, `rate_limited`. */
async function admit(app: App, operation: Operation, visit: Visit): Promise<Identity> {
  const identity = await identify(app, visit.request.headers, operation.iceberg !== undefined);
  if (!identity)
    throw new AppError(
      "unauthenticated",
      "Authentication required. Send an access token or API key, or sign in.",
    );
  requireExpectedUser(visit, identity);
  if (app.config.apiRate) {
    const retryAfterSeconds = count(app, visit, `api:${identity.credentialId}`, app.config.apiRate);
    if (retryAfterSeconds > 0) {
      throw new AppError("rate_limited", `Too many requests. Try again in ${retryAfterSeconds} seconds.`, {
        retryAfterSeconds,
      });
    }
  }
  if (identity.carrier === "cookie" && operation.method !== "GET" && !isSameOrigin(app, visit)) {
    throw new AppError(
      "csrf",
      "Requests with the session cookie that change something must come from Weir's own pages.",
    );
  }
  if (operation.personal && identity.kind === "api_key") {
    throw new AppError("forbidden", "This operation requires a user. API keys can't use it.");
  }
  if (operation.byPeople && identity.kind === "api_key") throw new AppError("forbidden", PEOPLE_DECIDE);
  if (operation.freshSignIn) requireFreshSignIn(app, identity);
  return identity;
}

/**
 * Counts the request. Returns the seconds to wait, or 0. If two limits apply, the response reports the tighter one.
 */
function count(app: App, visit: Visit, key: string, rate: Rate): number {
  const { retryAfterSeconds, remaining, resetSeconds } = app.limiter.take(key, rate);
  if (!visit.quota || remaining <= visit.quota.remaining)
    visit.quota = { limit: rate.burst, remaining, resetSeconds };
  return retryAfterSeconds;
}

/** Returns a check whether the caller still may use the operation, for streams. */
function admissionOf(app: App, operation: Operation, visit: Visit, { credentialId }: Identity) {
  const { method, path, iceberg } = operation;
  const organization = visit.request.headers.get("x-organization-id");
  const key = JSON.stringify([credentialId, organization, method, iceberg ? visit.url.pathname : path]);
  return admission(app, key, async () => {
    const identity = await identify(app, visit.request.headers, iceberg !== undefined);
    if (identity) await contextOf(app, operation, identity, visit);
    return identity !== null;
  });
}

/** Counts against the limit for each address. Throws `rate_limited`. */
export function limitAddress(app: App, visit: Visit): void {
  const retryAfterSeconds = count(app, visit, `address:${sourceOf(visit.address)}`, ADDRESS_RATE);
  if (retryAfterSeconds > 0) {
    throw new AppError(
      "rate_limited",
      `Too many attempts from this IP address. Try again in ${retryAfterSeconds} seconds.`,
      { retryAfterSeconds },
    );
  }
}

/** Returns the caller's membership. If a URL names an organization that the caller isn't in, it doesn't exist. */
async function memberOf(app: App, { iceberg }: Operation, identity: Identity, visit: Visit) {
  const inHeader = visit.request.headers.get("x-organization-id");
  const inAddress = iceberg?.organizationOf(visit) ?? null;
  if (inAddress === null) return enter(app, identity, inHeader);
  try {
    const member = await enter(app, identity, inAddress);
    const named = inHeader === null ? member : await enter(app, identity, inHeader);
    if (named?.organizationId === member?.organizationId) return member;
  } catch (error) {
    if (!(error instanceof AppError && error.code === "forbidden")) throw error;
  }
  throw notFound("warehouse");
}

async function contextOf(app: App, operation: Operation, identity: Identity, visit: Visit): Promise<Context> {
  const scope = scopeOf(operation);
  // first, so that a token without the scope gets the same error for any URL
  if (operation.iceberg && scope !== null) requireScope(identity, scope);
  const member = await memberOf(app, operation, identity, visit);
  if (operation.audience === "operator") {
    if (!(await isOperator(app.store.db, identity.userId)))
      throw new AppError("forbidden", "Requires an operator of this installation.");
  } else if (operation.audience !== "any") {
    if (!member) throw new AppError("forbidden", "You aren't a member of any organization.");
    const needed = operation.audience as Role;
    if (ROLES.indexOf(member.role) < ROLES.indexOf(needed)) {
      throw new AppError("forbidden", `Requires the ${needed} role. Your role is ${member.role}.`);
    }
  }
  if (scope !== null) requireScope(identity, scope);
  return contextFor(app, {
    organizationId: member?.organizationId ?? "",
    role: member?.role ?? "viewer",
    actor: actorOf(identity, visit.address, visit.userAgent),
    correlationId: visit.correlationId,
    isConfined: identity.isConfined,
    scopes: identity.scopes,
  });
}

/** Bun joins two Host headers with a comma, which no real host contains. */
function refuseBadHost({ request }: Visit): void {
  if (request.headers.get("host")?.includes(","))
    throw new AppError("bad_request", "A request must have exactly one Host header.");
  if (!URL.canParse(request.url)) throw new AppError("bad_request", "The Host header is empty or invalid.");
}

/**
 * Returns the HSTS header, valid for a year. Null if the server is reached by HTTP.
 * Includes subdomains if the host is Weir's own: not shared by port or path,
 * and not a registrable domain such as `example.com`, which can have other hosts.
 */
function transportPolicy(baseUrl: string): string | null {
  if (!baseUrl.startsWith("https:")) return null;
  const { hostname, port, pathname } = new URL(baseUrl);
  const isOwn = port === "" && pathname === "/" && hostname.split(".").length > 2 && isIP(hostname) === 0;
  return `max-age=31536000${isOwn ? "; includeSubDomains" : ""}`;
}

/** Headers of every response. */
export function headersFor(app: App, { correlationId, quota }: Visit): Record<string, string> {
  const headers: Record<string, string> = { ...HEADERS, "x-correlation-id": correlationId };
  const transport = transportPolicy(app.baseUrl());
  if (transport !== null) headers["strict-transport-security"] = transport;
  if (quota) {
    headers["ratelimit-limit"] = String(quota.limit);
    headers["ratelimit-remaining"] = String(quota.remaining);
    headers["ratelimit-reset"] = String(quota.resetSeconds);
  }
  return headers;
}

async function toResponse(
  app: App,
  operation: Operation,
  output: unknown,
  visit: Visit,
  isTagged: boolean,
): Promise<Response> {
  const reply = output instanceof Reply ? output : new Reply(operation.status ?? 200, output ?? null);
  if (reply.error) logRefusal(app, visit, reply.status, reply.error);
  const headers = new Headers(headersFor(app, visit));
  for (const [name, value] of Object.entries(reply.headers)) {
    if (typeof value === "string") headers.set(name, value);
    else for (const each of value) headers.append(name, each);
  }
  const location = headers.get("location") ?? "";
  if (visit.base !== "" && /^\/(?!\/)/.test(location))
    headers.set("location", withBase(visit.base, location));
  const isEmpty = operation.response === undefined || reply.status === 204 || reply.status >= 300;
  if (reply.status === 204 || (reply.body === null && isEmpty))
    return new Response(null, { status: reply.status, headers });
  if (reply.body instanceof ReadableStream || reply.body instanceof Blob) {
    return new Response(reply.body, { status: reply.status, headers });
  }
  if (app.config.checkReplies && !isEmpty) checkReply(operation, reply.body);
  const text = await writeJson(reply.body);
  const tag = isTagged && reply.status < 300 ? tagOf(reply.body, text) : null;
  if (tag !== null) headers.set("etag", tag);
  const unchanged = operation.method === "GET" ? visit.request.headers.get("if-none-match") : null;
  if (tag !== null && unchanged !== null && isListed(unchanged, tag))
    return new Response(null, { status: 304, headers });
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return new Response(text, { status: reply.status, headers });
}

/**
 * In tests, every response is validated against its shape. In production, that would add a fifth to the time of a list.
 */
function checkReply(operation: Operation, body: unknown): void {
  if (!operation.response) return;
  const { faults } = read(operation.response, JSON.parse(JSON.stringify(body)), ["reply"]);
  if (faults.length > 0) {
    throw new Error(
      `${operation.method} ${operation.path} returned a response that doesn't match its shape: ${JSON.stringify(faults.slice(0, 5))}`,
    );
  }
}

/** Logs one line for each request that was rejected because of its sender: wrong credentials, signatures or roles. */
function logRefusal(app: App, visit: Visit, status: number, { code, message }: AppError): void {
  if (status !== 401 && status !== 403) return;
  app.log.write("info", "request refused", {
    status,
    code,
    cause: message,
    address: visit.address,
    method: visit.request.method,
    path: visit.url.pathname,
    correlationId: visit.correlationId,
  });
}

/** Returns the response for any error. Bugs are logged in full. */
export function problemResponse(app: App, error: unknown, visit: Visit, isIceberg = false): Response {
  const problem = problemOf(error, visit.correlationId);
  const { status, body, headers, isBug } = isIceberg ? icebergProblemOf(error, problem) : problem;
  if (error instanceof AppError) logRefusal(app, visit, status, error);
  if (isBug) {
    app.log.report(error, {
      correlationId: visit.correlationId,
      method: visit.request.method,
      path: visit.url.pathname,
    });
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/json",
      ...headersFor(app, visit),
      ...headers,
    },
  });
}
