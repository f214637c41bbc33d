import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { SCOPES, type Scope } from "./table.ts";

/** Throws `scope_missing` if the request's access token lacks `scope`. All other credentials have every scope. */
export function requireScope({ scopes }: Pick<Context, "scopes">, scope: Scope): void {
  if (!scopes || scopes.includes(scope)) return;
  throw new AppError(
    "scope_missing",
    `This access token lacks the scope ${scope}. It has ${scopes.join(", ")}.`,
  );
}

/**
 * Throws `scope_missing` for a token without all scopes, since what it creates would have more scopes than the token.
 */
export function requireAllScopes(ctx: Pick<Context, "scopes">): void {
  for (const scope of SCOPES) requireScope(ctx, scope);
}

type Described = { method: string; path: string; audience: string; byPeople?: boolean };

/** Reads, though sent with POST. */
const READS = [
  "/api/v1/query",
  "/api/v1/queries/{query_id}/run",
  "/api/v1/expressions/evaluate",
  "/api/v1/connections/{connection_id}/files/validate",
  "/mcp",
];

/** Changes something, though sent with GET. */
const CHANGES = ["/api/inbound/link-callback"];

/** Reads that return everything at once. */
const EXPORTS = ["/api/v1/organizations/current/export"];

/** Credentials, sessions and memberships, which give access to everything. */
const ADMINISTERS =
  /^\/api\/v1\/(auth|sessions|access-tokens|api-keys|organizations|users\/me\/(password|totp|invitations)|users\/me$)(\/|$)/;

/** Tests send their arguments to any system, as runs would once the configuration is saved. */
const WRITES = ["/api/v1/connections/test", "/api/v1/connections/{connection_id}/test"];

const RUNS = /\/(run|cancel|retry|test|replay|stream)$/;

/** Returns the scope that an access token needs for the operation. Null if no credentials are required. */
export function scopeOf({ method, path, audience, byPeople }: Described): Scope | null {
  if (audience === "public" || audience === "signature") return null;
  if (EXPORTS.includes(path)) return "admin";
  if (method === "GET") return CHANGES.includes(path) ? "write" : "read";
  if (READS.includes(path)) return "read";
  if (byPeople) return "approve";
  if (["admin", "owner", "operator"].includes(audience) || ADMINISTERS.test(path)) return "admin";
  return !WRITES.includes(path) && RUNS.test(path) ? "run" : "write";
}
