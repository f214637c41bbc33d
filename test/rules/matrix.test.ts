import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Operation } from "../../src/http/operation.ts";
import { scopeOf } from "../../src/resources/access-tokens/scopes.ts";
import { SCOPES } from "../../src/resources/access-tokens/table.ts";
import { requestExampleOf } from "../../src/resources/openapi/example.ts";
import { ROLES, type Role } from "../../src/resources/organizations/table.ts";
import { operations } from "../../src/server.ts";
import { says, startModel } from "../peers/model.ts";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import { scaled } from "../support/scale.ts";
import { NOBODY } from "../support/work.ts";
import { makePrincipals, type Principal } from "./principals.ts";
import { fill, makeThings, type Side } from "./things.ts";

/** What the rules say about a call: an error with its code, or nothing, and then the input decides. */
type Verdict = "unauthenticated" | "forbidden" | "scope_missing" | "csrf" | "not_found" | "open";

const STATUS = {
  unauthenticated: 401,
  forbidden: 403,
  scope_missing: 403,
  csrf: 403,
  not_found: 404,
} as const;

/** Open to every signed-in user, although it creates something that acts in an organization. */
const NEEDS_A_HOME = ["POST /api/v1/access-tokens"];

/** Open to every signed-in user only if WEIR_ORGANIZATIONS says so. */
const OPERATORS_ALONE = ["POST /api/v1/organizations"];

/** An inviter must not learn who created an account with the address. */
const PROVEN_ALONE = "/api/v1/users/me/invitations";

/** Needs two organizations at once: the one in its example doesn't exist. */
const NAMES_ANOTHER = ["POST /api/v1/sync/run"];

/** A link that someone may send around: with the cookie, it changes something only from Weir's own pages. */
const ASKS_FIRST = ["GET /api/inbound/link-callback"];

/** Their effect outlives the token, so that needs all scopes. */
const NEED_ALL_SCOPES = ["GET /api/inbound/link-callback"];

/** The rules themselves, from what an operation declares (docs/decisions/sign-in.md). */
function verdict(operation: Operation, who: Principal): Verdict {
  const byRole = roleVerdict(operation, who);
  const scope = scopeOf(operation);
  if (byRole === "open" && NEED_ALL_SCOPES.includes(`${operation.method} ${operation.path}`))
    return SCOPES.every((one) => who.scopes?.includes(one) !== false) ? byRole : "scope_missing";
  const isHeard = byRole === "open" || OPERATORS_ALONE.includes(`${operation.method} ${operation.path}`);
  return isHeard && scope !== null && who.scopes?.includes(scope) === false ? "scope_missing" : byRole;
}

function roleVerdict(operation: Operation, who: Principal): Verdict {
  const plain = plainRoleVerdict(operation, who);
  // The path names an organization, which must not be revealed to others.
  return plain === "forbidden" && operation.path.startsWith("/iceberg/v1/{prefix}") ? "not_found" : plain;
}

function plainRoleVerdict(operation: Operation, who: Principal): Verdict {
  const { audience, method, path, personal, byPeople, ownPagesOnly } = operation;
  const changes = method !== "GET" || ASKS_FIRST.includes(`${method} ${path}`);
  if (audience === "public")
    return changes && ownPagesOnly !== false && who.site === "cross-site" ? "csrf" : "open";
  if (audience === "signature") return "open";
  if (who.carrier === "none" || who.carrier === "broken") return "unauthenticated";
  if (who.carrier === "cookie" && changes && who.site === "cross-site") return "csrf";
  if (who.carrier === "key" && (personal || byPeople)) return "forbidden";
  if (who.isShutOut) return "forbidden";
  if (audience === "operator" || OPERATORS_ALONE.includes(`${method} ${path}`))
    return who.isOperator ? "open" : "forbidden";
  if (who.isUnproven && path.startsWith(PROVEN_ALONE)) return "forbidden";
  if (audience === "any")
    return who.role === null && NEEDS_A_HOME.includes(`${method} ${path}`) ? "forbidden" : "open";
  return who.role !== null && ROLES.indexOf(who.role) >= ROLES.indexOf(audience as Role)
    ? "open"
    : "forbidden";
}

let app: Awaited<ReturnType<typeof startApp>>;
let model: Awaited<ReturnType<typeof startModel>>;
let principals: Principal[];
let home: Side;
let abroad: Side;
let count = 0;

beforeAll(async () => {
  model = await startModel(() => says("Yes."));
  app = await startApp({ engine: false, env: { WEIR_TRUSTED_PROXIES: "127.0.0.0/8", ...model.env } });
  const other = await neighbour(app);
  principals = await makePrincipals(app, other);
  home = { app, organizationId: app.ids.organizationId, userId: app.ids.userId, call: app.owner };
  abroad = { app, organizationId: other.organization.id, userId: other.user.id, call: other.call };
}, 120_000);
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

interface Answer {
  status: number;
  /** Without what differs in every response, and with the path's IDs as `ID`. */
  text: string;
  headers: Record<string, string>;
  code: string | undefined;
}

/** Sends the operation's example. Only the head of a stream is read. */
async function ask(operation: Operation, who: Principal, values: readonly string[]): Promise<Answer> {
  count++;
  const { method, path, limited } = operation;
  const body = bodyOf(operation);
  const reply = await fetch(app.origin + fill(path, values) + queryOf(operation), {
    method,
    redirect: "manual",
    headers: {
      "x-correlation-id": "the-same-for-all",
      ...(body === undefined ? {} : { "content-type": operation.consumes ?? "application/json" }),
      ...(limited ? { "x-forwarded-for": `198.51.${(count >> 8) & 255}.${count & 255}` } : {}),
      ...(await who.headers()),
    },
    ...(body === undefined ? {} : { body }),
  });
  const isStream = reply.ok && reply.headers.get("content-type")?.startsWith("text/event-stream");
  const text = isStream ? "" : await reply.text();
  if (isStream) await reply.body?.cancel();
  const headers = Object.fromEntries(reply.headers);
  // A copy, since Bun puts its matchers into what it compares.
  expect({ ...headers }).toMatchObject(isStream ? { ...headersOf(path), ...NOT_KEPT } : headersOf(path));
  const { date, "ratelimit-remaining": remaining, "ratelimit-reset": reset, ...same } = headers;
  const isJson = headers["content-type"]?.startsWith("application/json") && text !== "";
  const masked = values.reduce((all, value) => all.replaceAll(value, "ID"), text);
  return {
    status: reply.status,
    text: masked,
    headers: same,
    code: isJson ? codeOf(JSON.parse(text)) : undefined,
  };
}

/** Iceberg's catalog has types instead of codes. */
const codeOf = ({ code, error }: { code?: string; error?: { type?: string; message?: string } }) =>
  code ?? (error?.message?.includes("lacks the scope") ? "scope_missing" : ICEBERG_CODES[error?.type ?? ""]);
const ICEBERG_CODES: Record<string, string> = {
  NotAuthorizedException: "unauthenticated",
  ForbiddenException: "forbidden",
  NotFoundException: "not_found",
};

/** A stream may also say it as the AI SDK does. */
const NOT_KEPT = { "cache-control": expect.stringMatching(/^no-(store|cache)$/) };

/** Headers of every response (docs/decisions/http-conventions.md). */
const headersOf = (path: string) => ({
  "x-correlation-id": "the-same-for-all",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": expect.stringContaining("frame-ancestors 'none'"),
  ...(path.startsWith("/api/") ? { "cache-control": "no-store" } : {}),
});

function bodyOf({ body, bodyExample, consumes }: Operation): string | undefined {
  if (consumes) return "{}";
  return body && JSON.stringify(bodyExample ?? requestExampleOf(body));
}

function queryOf({ query }: Operation): string {
  const asked = (query?.required ?? []).filter((name) => query?.properties[name]?.default === undefined);
  if (!query || asked.length === 0) return "";
  const example = requestExampleOf(query) as Record<string, string>;
  return `?${new URLSearchParams(asked.map((name) => [name, String(example[name])]))}`;
}

/** Unknown IDs of the right type. What names a location rather than a resource stays the same. */
const absent = ({ path, params }: Operation, values: readonly string[]) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""], index) => {
    if (name === "layer" || name === "version") return values[index] ?? "";
    return params?.properties[name]?.format === "uuid" ? NOBODY : "neverwas";
  });

/** Creates a dataset that doesn't exist, or that is another organization's. */
const MAKES_WHAT_IT_NAMES: readonly string[] = ["PUT /api/v1/datasets/{layer}/{dataset}/upload"];

const hasThing = ({ path }: Operation) => path.includes("{");
const isGuarded = ({ audience }: Operation) => audience !== "public" && audience !== "signature";

/** The side whose personal resource is requested: the principal's own. */
const ownSide = (operation: Operation, who: Principal): Side =>
  operation.personal ? (who.side ?? home) : { ...(who.side ?? home), call: ownerOf(who).call };
const ownerOf = ({ side }: Principal): Side =>
  side?.organizationId === abroad.organizationId ? abroad : home;
const foreignSide = (who: Principal): Side => (ownerOf(who) === abroad ? home : abroad);

/** Resources of a side, created once for all calls that don't change them. */
const kept = new Map<string, Promise<string[]>>();

function keptThings(side: Side, path: string): Promise<string[]> {
  const key = `${side.organizationId} ${side.userId} ${path}`;
  const things = kept.get(key) ?? makeThings(side, path);
  kept.set(key, things);
  return things;
}

/** In the gate, only every sixth principal sends requests, and others for each operation. */
const EVERY = scaled(6, 1);
const askersOf = (at: number): Principal[] => principals.filter((_, index) => (at + index) % EVERY === 0);

for (const [at, operation] of operations.entries()) {
  const name = `${operation.method} ${operation.path}`;

  test(`${name} denies access to those it must, and nobody else`, async () => {
    for (const who of askersOf(at)) {
      const expected = verdict(operation, who);
      const things = expected === "open" && operation.method !== "GET" ? makeThings : keptThings;
      const own = hasThing(operation) ? await things(ownSide(operation, who), operation.path) : [];
      if (expected === "open") {
        const { status, text } = await ask(operation, who, own);
        const isOpen = !isGuarded(operation) || NAMES_ANOTHER.includes(name);
        const documented = isOpen ? (operation.errors ?? []) : [];
        if ([401, 403].includes(status) && !documented.includes(status))
          throw new Error(`${name} as ${who.name}: ${status} ${text}`);
        // Its example doesn't name an existing user.
        const isOthers = status === 502 && operation.errors?.includes(status);
        if (status >= 500 && !isOthers) throw new Error(`${name} as ${who.name}: ${status} ${text}`);
        if (hasThing(operation) && isGuarded(operation) && who.side)
          expect([who.name, status]).not.toEqual([who.name, 404]);
        continue;
      }
      const foreign = hasThing(operation) ? await keptThings(foreignSide(who), operation.path) : [];
      const asked = hasThing(operation) ? [own, foreign, absent(operation, own)] : [own];
      const answers: Answer[] = [];
      for (const values of asked) answers.push(await ask(operation, who, values));
      for (const answer of answers) {
        expect([who.name, answer.status, answer.code]).toEqual([who.name, STATUS[expected], expected]);
        expect(answer).toEqual(answers[0] as Answer);
      }
    }
  }, 120_000);

  // Operators are above organizations: no user is foreign to them.
  if (operation.audience === "operator") continue;
  if (!hasThing(operation) || !isGuarded(operation) || MAKES_WHAT_IT_NAMES.includes(name)) continue;
  test(`${name} has the same response for a foreign resource as for one that never existed`, async () => {
    for (const who of askersOf(at)) {
      if (verdict(operation, who) !== "open") continue;
      const foreign = await keptThings(foreignSide(who), operation.path);
      const random = await ask(operation, who, absent(operation, foreign));
      expect([who.name, random.status, random.code]).toEqual([who.name, 404, "not_found"]);
      expect(await ask(operation, who, foreign)).toEqual(random);
      if (!operation.personal || !who.side) continue;
      const colleagues = await keptThings(home, operation.path);
      expect(await ask(operation, who, colleagues)).toEqual(random);
    }
  }, 120_000);
}

test("thousands of calls were made", () => {
  console.log(`Matrix: ${operations.length} operations, ${principals.length} principals, ${count} calls.`);
  expect(count).toBeGreaterThan(2000);
});
