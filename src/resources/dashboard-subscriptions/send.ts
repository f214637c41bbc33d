import { and, eq, inArray } from "drizzle-orm";
import { type Fault, InvalidInput } from "../../base/errors.ts";
import type { Context, WriteContext } from "../../context.ts";
import { filterValues } from "../dashboards/filters.ts";
import type { DashboardRow } from "../dashboards/table.ts";
import { putNotice } from "../notices/put.ts";
import { memberships } from "../organizations/table.ts";
import { users } from "../users/table.ts";

interface Sending {
  recipients: readonly string[];
  filters: Readonly<Record<string, string>>;
  /** Null if a user sends it now. */
  subscriptionId: string | null;
}

/** Returns those of the users who are members, with their email addresses. */
const membersAmong = (ctx: Context, ids: readonly string[]) =>
  ctx.db
    .select({ userId: users.id, target: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, ctx.organizationId), inArray(users.id, [...ids])));

/** Throws `InvalidInput` for filters that the dashboard doesn't have, and for recipients who aren't members. */
export async function checkSending(
  ctx: Context,
  { filters }: Pick<DashboardRow, "filters">,
  sending: { recipients: readonly string[]; filters: Readonly<Record<string, string>> },
): Promise<void> {
  const members = await membersAmong(ctx, sending.recipients);
  const faults: Fault[] = sending.recipients.flatMap((id, at) =>
    members.some(({ userId }) => userId === id)
      ? []
      : [
          {
            loc: ["body", "recipients", String(at)],
            msg: "There is no such member in this organization",
            type: "not_found",
          },
        ],
  );
  try {
    filterValues(filters, new URLSearchParams(sending.filters));
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    for (const fault of error.faults)
      faults.push({ ...fault, loc: ["body", "filters", ...fault.loc.slice(1)] });
  }
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Queues an email for each recipient who is a member. Returns how many. */
export async function queueMails(
  tx: WriteContext,
  dashboardId: string,
  { recipients, filters, subscriptionId }: Sending,
): Promise<number> {
  const members = await membersAmong(tx, recipients);
  const facts = { dashboardId, subscriptionId, filters };
  for (const { userId, target } of members)
    await putNotice(
      tx,
      { channel: "mail", target, userId },
      { kind: "dashboard", automationId: null, facts },
    );
  return members.length;
}
