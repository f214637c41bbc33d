import { and, desc, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { type Fault, InvalidInput, invalid, notFound } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { slugFor } from "../../store/slugs.ts";
import { dashboardSubscriptions } from "../dashboard-subscriptions/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { savedQueries } from "../queries/table.ts";
import { clickFaults } from "./check.ts";
import { boardOf } from "./flashboard.ts";
import { toFilters, toPanels } from "./panels.ts";
import { newShare } from "./share.ts";
import { type DashboardRow, dashboards, type Filter, type Panel } from "./table.ts";
import type { DashboardCreate, DashboardPatch, DashboardQuery } from "./wire.ts";

/** Every query here uses this condition: dashboards of other organizations don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(dashboards.organizationId, ctx.organizationId), eq(dashboards.id, id));

const entity = (id: string) => ({ type: "dashboard" as const, id });

/** Newest first. */
export async function listDashboards(
  ctx: Context,
  { q, limit, offset }: DashboardQuery,
): Promise<{ rows: DashboardRow[]; total: number }> {
  const where = and(
    eq(dashboards.organizationId, ctx.organizationId),
    q ? contains(q, dashboards.name, dashboards.slug) : undefined,
  );
  const rows = await ctx.db
    .select()
    .from(dashboards)
    .where(where)
    .orderBy(desc(dashboards.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(dashboards, where)) };
}

export async function findDashboard(ctx: Context, id: string): Promise<DashboardRow> {
  const [row] = await ctx.db.select().from(dashboards).where(mine(ctx, id));
  if (!row) throw notFound("dashboard");
  return row;
}

const slugOf = (tx: WriteContext, slug: string | undefined, name: string, own?: string) =>
  slugFor(tx.db, dashboards, {
    organizationId: tx.organizationId,
    slug,
    name,
    noun: "dashboard",
    ...(own === undefined ? {} : { own }),
  });

/** Throws `slug_taken`, and `InvalidInput` for a saved query or flashboard that doesn't exist. */
export async function createDashboard(ctx: Context, input: DashboardCreate): Promise<DashboardRow> {
  const board = input.fromArtifactId === undefined ? null : await boardOf(ctx, input.fromArtifactId);
  const panels = toPanels(board?.panels ?? input.panels ?? []);
  const name = input.name ?? board?.title;
  if (name === undefined) throw invalid(["body", "name"], "Field required", "missing");
  return write(ctx, async (tx) => {
    await checkPanels(tx, toFilters(input.filters ?? []), panels);
    const id = tx.ids.uuid();
    const row: DashboardRow = {
      id,
      ...created(tx),
      name,
      slug: await slugOf(tx, input.slug, name),
      description: input.description ?? null,
      filters: toFilters(input.filters ?? []),
      panels,
      refreshSeconds: input.refreshSeconds ?? null,
      ...(input.sharing === "link" ? newShare(tx, id) : UNSHARED),
      shareExpiresAt: expiryOf(tx, input.sharing === "link", input.shareExpiresAt ?? null),
    };
    await tx.db.insert(dashboards).values(row);
    await record(tx, "dashboard.created", entity(id), {
      name: row.name,
      slug: row.slug,
      sharing: sharingOf(row),
    });
    return row;
  });
}

const UNSHARED = { shareHash: null, sealedShareToken: null, shareExpiresAt: null };

/** Throws `InvalidInput` for an expiry without a link, and for one in the past. */
function expiryOf(tx: WriteContext, isShared: boolean, expiry: string | null): string | null {
  if (expiry === null) return null;
  const at = ["body", "shareExpiresAt"];
  if (!isShared) throw invalid(at, "Only a dashboard that is shared by link can have this");
  const expiresAt = new Date(expiry).toISOString();
  if (expiresAt <= timestamp(tx.clock)) throw invalid(at, "This should be in the future");
  return expiresAt;
}

export const sharingOf = ({ shareHash }: DashboardRow) => (shareHash === null ? "organization" : "link");

/** Throws `InvalidInput` for unknown saved queries and filters. */
async function checkPanels(
  tx: WriteContext,
  filters: readonly Filter[],
  panels: readonly Panel[],
): Promise<void> {
  const ids = panels.flatMap(({ queryId }) => (queryId === null ? [] : [queryId]));
  const found = ids.length === 0 ? [] : await queriesBy(tx, ids);
  const missing: Fault[] = panels.flatMap(({ queryId }, at) =>
    queryId === null || found.some(({ id }) => id === queryId)
      ? []
      : [
          {
            loc: ["body", "panels", String(at), "queryId"],
            msg: "There is no such saved query in this organization",
            type: "not_found",
          },
        ],
  );
  const faults = [...missing, ...clickFaults(filters, panels)];
  if (faults.length > 0) throw new InvalidInput(faults);
}

export const queriesBy = (ctx: Context, ids: readonly string[]) =>
  ctx.db
    .select()
    .from(savedQueries)
    .where(and(eq(savedQueries.organizationId, ctx.organizationId), inArray(savedQueries.id, [...ids])));

/**
 * Changes only the given fields; `filters` and `panels` entirely. A revoked link stays revoked: sharing again creates a
 * new one. Throws `slug_taken`, and `InvalidInput` as creating does.
 */
export function updateDashboard(ctx: Context, id: string, patch: DashboardPatch): Promise<DashboardRow> {
  return write(ctx, async (tx) => {
    const before = await findDashboard(tx, id);
    const { filters, panels, sharing, shareExpiresAt, ...plain } = patch;
    if (plain.slug !== undefined) await slugOf(tx, plain.slug, before.name, id);
    const next = {
      ...plain,
      ...(filters === undefined ? {} : { filters: toFilters(filters) }),
      ...(panels === undefined ? {} : { panels: toPanels(panels) }),
    };
    if (next.panels || next.filters)
      await checkPanels(tx, next.filters ?? before.filters, next.panels ?? before.panels);
    const isShared = (sharing ?? sharingOf(before)) === "link";
    const expiry =
      shareExpiresAt === undefined ? {} : { shareExpiresAt: expiryOf(tx, isShared, shareExpiresAt) };
    const changes = changesBetween(before, { ...next, ...expiry });
    const isReshared = sharing !== undefined && sharing !== sharingOf(before);
    if (isReshared) changes.push({ field: "sharing", from: sharingOf(before), to: sharing });
    if (changes.length === 0) return before;
    const share = isReshared ? (sharing === "link" ? newShare(tx, id) : UNSHARED) : {};
    const change = { ...next, ...share, ...expiry, ...touched(tx, before) };
    await tx.db.update(dashboards).set(change).where(mine(tx, id));
    await record(tx, "dashboard.updated", entity(id), { changes: changes as unknown as Json });
    return { ...before, ...change };
  });
}

export async function deleteDashboard(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const { name, slug } = await findDashboard(tx, id);
    await tx.db.delete(dashboardSubscriptions).where(eq(dashboardSubscriptions.dashboardId, id));
    await tx.db.delete(dashboards).where(mine(tx, id));
    await record(tx, "dashboard.deleted", entity(id), { name, slug });
  });
}
