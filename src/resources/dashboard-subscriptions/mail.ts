import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { InvalidInput } from "../../base/errors.ts";
import { type App, contextFor, SYSTEM } from "../../context.ts";
import { dashboardData } from "../dashboards/data.ts";
import { dashboards } from "../dashboards/table.ts";
import { record } from "../events/service.ts";
import { sendMail } from "../notices/channels.ts";
import type { NoticeWriter } from "../notices/send.ts";
import type { NoticeRow } from "../notices/table.ts";
import { memberships } from "../organizations/table.ts";
import { users } from "../users/table.ts";
import { letterOfDashboard } from "./letter.ts";
import { dashboardSubscriptions } from "./table.ts";
import { unsubscribeToken } from "./unsubscribe.ts";

interface Facts {
  dashboardId: string;
  subscriptionId: string | null;
  filters: Record<string, string>;
}

const factsOf = ({ facts }: NoticeRow) => facts as unknown as Facts;

/** Emails of one dashboard sent within this time show the same data. */
const KEPT_SECONDS = 60;

async function isMember({ store: { db } }: App, { organizationId, userId }: NoticeRow): Promise<boolean> {
  const [found] = await db
    .select({ id: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId ?? "")));
  return found !== undefined;
}

/** Emails a dashboard to a user who is still a member when it is sent. */
export const dashboardMails: NoticeWriter = {
  async send(app, row, organization, signal) {
    const { dashboardId, subscriptionId, filters } = factsOf(row);
    const { organizationId, userId } = row;
    const [dashboard] = await app.store.db
      .select()
      .from(dashboards)
      .where(and(eq(dashboards.organizationId, organizationId), eq(dashboards.id, dashboardId)));
    if (!dashboard) return { how: "none", reason: "The dashboard has been deleted." };
    if (!(await isMember(app, row)))
      return { how: "none", reason: "The recipient is no longer a member of the organization." };
    const who = { organizationId, role: "viewer", actor: { ...SYSTEM }, correlationId: row.id } as const;
    try {
      const search = new URLSearchParams(filters);
      const data = await dashboardData(contextFor(app, who), dashboard, search, {
        keptSeconds: KEPT_SECONDS,
      });
      const baseUrl = app.baseUrl();
      const unsubscribeUrl =
        subscriptionId === null || userId === null
          ? null
          : `${baseUrl}/unsubscribe?token=${unsubscribeToken(app.secrets, { subscriptionId, userId })}`;
      const [user] = await app.store.db
        .select({ locale: users.locale })
        .from(users)
        .where(eq(users.id, userId ?? ""));
      const about = {
        organization,
        baseUrl,
        filters,
        at: timestamp(app.clock),
        unsubscribeUrl,
        locale: user?.locale ?? null,
      };
      return await sendMail(app, row, letterOfDashboard(dashboard, data, about), signal);
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      return { how: "final", reason: "The dashboard's filters have changed. Save the subscription again." };
    }
  },

  async ended(tx, row) {
    const { dashboardId, subscriptionId } = factsOf(row);
    const { userId, sentAt, error, attempts } = row;
    const isDropped = sentAt === null && attempts === 0; // No recipient was left.
    if (subscriptionId !== null && !isDropped)
      await tx.db
        .update(dashboardSubscriptions)
        .set(sentAt === null ? { error } : { sentAt, error: null })
        .where(eq(dashboardSubscriptions.id, subscriptionId));
    if (isDropped) return;
    await record(
      tx,
      sentAt === null ? "dashboard.send_failed" : "dashboard.sent",
      subscriptionId === null
        ? { type: "dashboard", id: dashboardId }
        : { type: "dashboard_subscription", id: subscriptionId },
      { dashboardId, userId, ...(sentAt === null ? { reason: error } : {}) },
    );
  },
};
