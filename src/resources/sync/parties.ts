import { and, eq } from "drizzle-orm";
import { AppError, invalid } from "../../base/errors.ts";
import { type Context, contextFor } from "../../context.ts";
import { resolveOrganization } from "../organizations/service.ts";
import { memberships, ROLES } from "../organizations/table.ts";
import type { SyncRequest } from "./wire.ts";

/** Both sides of a sync, each as a context of the caller in that organization. */
export interface Parties {
  source: Context;
  target: Context;
}

/**
 * Returns source and destination. The source defaults to the organization of the request, and so does the destination
 * if the source is another one. Throws `invalid`, and `forbidden` if the caller isn't an admin of both.
 */
export async function findParties(ctx: Context, request: SyncRequest): Promise<Parties> {
  const named = request.tenantId ?? null;
  const bySlug = request.orgSlug ? await resolveOrganization(ctx.db, request.orgSlug) : null;
  if (request.orgSlug) {
    if (bySlug === null) throw notAdmin(ctx, request.orgSlug);
    await adminOf(ctx, bySlug, request.orgSlug);
  }
  if (named !== null && bySlug !== null && named !== bySlug)
    throw invalid(["body", "orgSlug"], "tenantId and orgSlug are different organizations. Set only one");
  const sourceId = named ?? bySlug ?? ctx.organizationId;
  const targetId = request.destTenantId ?? ctx.organizationId;
  if (sourceId === targetId) {
    throw request.destTenantId
      ? invalid(["body", "destTenantId"], "Source and destination are the same organization")
      : invalid(
          ["body", "destTenantId"],
          "Field required if the source is the current organization",
          "missing",
        );
  }
  return { source: await adminOf(ctx, sourceId), target: await adminOf(ctx, targetId) };
}

/** An error names the organization as in the request, so that a slug doesn't reveal an ID. */
async function adminOf(ctx: Context, organizationId: string, name = organizationId): Promise<Context> {
  const role = organizationId === ctx.organizationId ? ctx.role : await roleIn(ctx, organizationId);
  if (role === null || ROLES.indexOf(role) < ROLES.indexOf("admin")) throw notAdmin(ctx, name);
  return contextFor(ctx, { organizationId, role, actor: ctx.actor, correlationId: ctx.correlationId });
}

/** An API key isn't a user, and has a role only in its own organization. */
async function roleIn(ctx: Context, organizationId: string) {
  if (ctx.isConfined || ctx.actor.type !== "user") return null;
  const [row] = await ctx.db
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, ctx.actor.id)));
  return row?.role ?? null;
}

/** Also thrown for an unknown organization, so that the error doesn't reveal which ones exist. */
const notAdmin = ({ isConfined }: Context, name: string) =>
  new AppError(
    "forbidden",
    isConfined
      ? "A sync needs two organizations, and this token works in one. Use an access token for all organizations, or sign in."
      : `A sync requires the admin role in both organizations. You aren't an admin of ${name}.`,
  );
