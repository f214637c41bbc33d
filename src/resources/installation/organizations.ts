import { and, desc, eq, isNotNull, isNull, lt } from "drizzle-orm";
import { timestampAfter } from "../../base/clock.ts";
import { openGate } from "../../base/egress-gate.ts";
import { AppError, invalid, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { contains } from "../../store/search.ts";
import { WEBHOOKS_TOPIC } from "../automations/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { EGRESS_TOPIC } from "../organizations/egress.ts";
import { refuseRateOfPlan } from "../organizations/service.ts";
import { type OrganizationRow, organizations } from "../organizations/table.ts";
import { quotasChanged } from "../usage/quotas.ts";
import {
  allQuotas,
  type InstallationOrganizationChange,
  type InstallationOrganizationQuery,
} from "./wire-organizations.ts";

/** Lists all organizations, newest first, including removed ones until they are erased. */
export async function listInstallationOrganizations(
  ctx: Context,
  { limit, cursor, q = "", removed }: InstallationOrganizationQuery,
): Promise<{ rows: OrganizationRow[]; nextCursor?: string }> {
  const scope = ["installation-organizations", ctx.organizationId, q, removed ?? null];
  const before =
    cursor === undefined ? undefined : lt(organizations.id, String(readCursor(ctx, scope, cursor)));
  const state = removed ? isNotNull(organizations.removedAt) : isNull(organizations.removedAt);
  const rows = await ctx.db
    .select()
    .from(organizations)
    .where(
      and(
        before,
        q === "" ? undefined : contains(q, organizations.name, organizations.slug),
        removed === undefined ? undefined : state,
      ),
    )
    .orderBy(desc(organizations.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}

/** Throws `not_found`. */
export async function findInstallationOrganization(
  { db }: Pick<Context, "db">,
  id: string,
): Promise<OrganizationRow> {
  const [row] = await db.select().from(organizations).where(eq(organizations.id, id));
  if (!row) throw notFound("organization");
  return row;
}

/**
 * Changes settings of an organization that only operators can change. Recorded in the organization's own audit log.
 * Throws `not_found`, and `invalid` for a webhook rate without the enterprise plan or an invalid address.
 */
export function changeInstallationOrganization(
  ctx: Context,
  id: string,
  input: InstallationOrganizationChange,
): Promise<OrganizationRow> {
  (input.egressAllow ?? []).forEach(refuseUnreadable);
  return write(ctx, async (tx) => {
    const before = await findInstallationOrganization(tx, id);
    const limits = refuseRateOfPlan(before, {
      ...(input.plan === undefined ? {} : { plan: input.plan }),
      ...(input.webhookRate === undefined ? {} : { webhookRate: input.webhookRate }),
      ...(input.egressAllow === undefined ? {} : { egressAllow: input.egressAllow ?? [] }),
      ...(input.quotas === undefined
        ? {}
        : { quotas: allQuotas(input.quotas && { ...before.quotas, ...input.quotas }) }),
    });
    const now = { ...before, quotas: allQuotas(before.quotas), egressAllow: before.egressAllow ?? [] };
    const changes = changesBetween(now, limits);
    if (changes.length === 0) return before;
    const change = { ...limits, updatedAt: timestampAfter(tx.clock, before.updatedAt) };
    await tx.db.update(organizations).set(change).where(eq(organizations.id, id));
    quotasChanged(tx, id);
    const data = { changes } as unknown as JsonObject;
    await record({ ...tx, organizationId: id }, "organization.updated", { type: "organization", id }, data);
    tx.afterCommit(() => {
      tx.signals.notify(WEBHOOKS_TOPIC);
      tx.signals.notify(EGRESS_TOPIC);
    });
    return { ...before, ...change };
  });
}

function refuseUnreadable(entry: string, index: number): void {
  try {
    openGate({ allow: [entry], self: () => null });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const msg =
      "Enter a CIDR range such as 10.0.0.0/8 or a hostname such as db.internal, with an optional :port.";
    throw invalid(["body", "egressAllow", String(index)], msg, "address_invalid");
  }
}
