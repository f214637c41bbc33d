import { and, asc, eq } from "drizzle-orm";
import { AppError, InvalidInput, notFound } from "../../base/errors.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { instantAfter, scheduleFaults } from "../../flows/schedule.ts";
import { NO_MAIL_SERVER } from "../automations/wire-warnings.ts";
import { findDashboard } from "../dashboards/service.ts";
import { changesBetween, record } from "../events/service.ts";
import { checkSending, queueMails } from "./send.ts";
import { dashboardSubscriptions, type SubscriptionRow } from "./table.ts";
import type { DashboardSend, SubscriptionCreate, SubscriptionPatch } from "./wire.ts";

const MAX_OF_ONE = 50;

/** Every query here uses this condition: subscriptions of other organizations don't exist. */
const mine = (ctx: Context, dashboardId: string, id?: string) =>
  and(
    eq(dashboardSubscriptions.organizationId, ctx.organizationId),
    eq(dashboardSubscriptions.dashboardId, dashboardId),
    id === undefined ? undefined : eq(dashboardSubscriptions.id, id),
  );

const entity = (id: string) => ({ type: "dashboard_subscription" as const, id });

/** Oldest first. */
export async function listSubscriptions(ctx: Context, dashboardId: string): Promise<SubscriptionRow[]> {
  await findDashboard(ctx, dashboardId);
  return ctx.db
    .select()
    .from(dashboardSubscriptions)
    .where(mine(ctx, dashboardId))
    .orderBy(asc(dashboardSubscriptions.id));
}

export async function findSubscription(
  ctx: Context,
  dashboardId: string,
  id: string,
): Promise<SubscriptionRow> {
  const [row] = await ctx.db
    .select()
    .from(dashboardSubscriptions)
    .where(mine(ctx, dashboardId, id));
  if (!row) throw notFound("subscription");
  return row;
}

/** Returns when a schedule is next due. Throws `InvalidInput` if it never is. */
function next(tx: WriteContext, schedule: { cron: string; timezone: string }): string | null {
  const faults = scheduleFaults(schedule, tx.clock.now());
  if (faults.length > 0)
    throw new InvalidInput(
      faults.map(({ field, msg }) => ({ loc: ["body", "schedule", field], msg, type: "value_error" })),
    );
  return instantAfter(schedule, tx.clock.now());
}

/** Throws `InvalidInput`, and `conflict` if the dashboard has the maximum number of subscriptions. */
export function createSubscription(
  ctx: Context,
  dashboardId: string,
  { schedule: { cron, timezone = "UTC" }, recipients, filters = {} }: SubscriptionCreate,
): Promise<SubscriptionRow> {
  return write(ctx, async (tx) => {
    const dashboard = await findDashboard(tx, dashboardId);
    await checkSending(tx, dashboard, { recipients, filters });
    const count = await tx.db.$count(dashboardSubscriptions, mine(tx, dashboardId));
    if (count >= MAX_OF_ONE)
      throw new AppError("conflict", `A dashboard can have at most ${MAX_OF_ONE} subscriptions.`);
    const row: SubscriptionRow = {
      id: tx.ids.uuid(),
      ...created(tx),
      dashboardId,
      cron,
      timezone,
      recipients,
      filters,
      nextAt: next(tx, { cron, timezone }),
      lastAt: null,
      sentAt: null,
      error: null,
    };
    await tx.db.insert(dashboardSubscriptions).values(row);
    await record(tx, "dashboard_subscription.created", entity(row.id), {
      dashboardId,
      cron,
      timezone,
      recipients,
    });
    return row;
  });
}

/** Changes only the given fields. Each is replaced entirely. */
export function updateSubscription(
  ctx: Context,
  dashboardId: string,
  id: string,
  { schedule, recipients, filters }: SubscriptionPatch,
): Promise<SubscriptionRow> {
  return write(ctx, async (tx) => {
    const before = await findSubscription(tx, dashboardId, id);
    const plan = schedule && { cron: schedule.cron, timezone: schedule.timezone ?? "UTC" };
    const wanted = {
      ...plan,
      ...(recipients ? { recipients } : {}),
      ...(filters ? { filters } : {}),
    };
    const changes = changesBetween(before, wanted);
    if (changes.length === 0) return before;
    await checkSending(tx, await findDashboard(tx, dashboardId), { ...before, ...wanted });
    const change = { ...wanted, ...(plan ? { nextAt: next(tx, plan) } : {}), ...touched(tx, before) };
    await tx.db
      .update(dashboardSubscriptions)
      .set(change)
      .where(mine(tx, dashboardId, id));
    await record(tx, "dashboard_subscription.updated", entity(id), {
      dashboardId,
      changes: changes as never,
    });
    return { ...before, ...change };
  });
}

export async function deleteSubscription(ctx: Context, dashboardId: string, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    await findSubscription(tx, dashboardId, id);
    await tx.db.delete(dashboardSubscriptions).where(mine(tx, dashboardId, id));
    await record(tx, "dashboard_subscription.deleted", entity(id), { dashboardId });
  });
}

/** Queues an email for each recipient. Throws `invalid_state` without a mail server. */
export function sendDashboard(
  ctx: Context,
  dashboardId: string,
  { recipients, filters = {} }: DashboardSend,
): Promise<number> {
  return write(ctx, async (tx) => {
    const dashboard = await findDashboard(tx, dashboardId);
    if (tx.mailer === null) throw new AppError("invalid_state", NO_MAIL_SERVER);
    await checkSending(tx, dashboard, { recipients, filters });
    await record(tx, "dashboard.send_requested", { type: "dashboard", id: dashboardId }, { recipients });
    return queueMails(tx, dashboardId, { recipients, filters, subscriptionId: null });
  });
}
