import { and, eq, isNull } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type App, contextFor, touched, write } from "../../context.ts";
import type { SecretBox } from "../../crypto/secretbox.ts";
import { changesBetween, record } from "../events/service.ts";
import { organizations } from "../organizations/table.ts";
import type { Visitor } from "../sign-in/setup.ts";
import { users } from "../users/table.ts";
import { dashboardSubscriptions } from "./table.ts";

const PURPOSE = "unsubscribe";

interface Recipient {
  subscriptionId: string;
  userId: string;
}

/** Names one recipient of one subscription. Signed, so that it can't be forged. Doesn't expire. */
export function unsubscribeToken(secrets: SecretBox, { subscriptionId, userId }: Recipient): string {
  const body = `${subscriptionId}.${userId}`;
  return `${body}.${secrets.sign(body, PURPOSE)}`;
}

function readToken(secrets: SecretBox, token: string): Recipient {
  const [subscriptionId = "", userId = "", signature = "", ...rest] = token.split(".");
  if (rest.length > 0 || !secrets.verify(`${subscriptionId}.${userId}`, PURPOSE, signature))
    throw new AppError(
      "not_found",
      "This link is invalid. Copy all of it from the email, or change the schedule on the dashboard's page, under Email.",
    );
  return { subscriptionId, userId };
}

/**
 * Removes a recipient from a subscription, and deletes the subscription with its last recipient. Does nothing if either
 * is already gone, so that a link reveals nothing about them. Throws `not_found` for an invalid link.
 */
export async function unsubscribe(
  app: App,
  token: string,
  { correlationId, ip, userAgent }: Visitor,
): Promise<void> {
  const { subscriptionId, userId } = readToken(app.secrets, token);
  const { id, organizationId } = dashboardSubscriptions;
  const [known] = await app.store.db
    .select({ organizationId })
    .from(dashboardSubscriptions)
    .innerJoin(organizations, eq(organizations.id, organizationId))
    .where(and(eq(id, subscriptionId), isNull(organizations.removedAt)));
  const [user] = await app.store.db.select({ email: users.email }).from(users).where(eq(users.id, userId));
  if (!known || !user) return;
  const actor = { type: "user", id: userId, email: user.email, ip, userAgent } as const;
  const ctx = contextFor(app, { ...known, role: "viewer", actor, correlationId });
  await write(ctx, async (tx) => {
    const [row] = await tx.db.select().from(dashboardSubscriptions).where(eq(id, subscriptionId));
    if (!row?.recipients.includes(userId)) return;
    const { dashboardId } = row;
    const entity = { type: "dashboard_subscription", id: subscriptionId } as const;
    const recipients = row.recipients.filter((each) => each !== userId);
    if (recipients.length === 0) {
      await tx.db.delete(dashboardSubscriptions).where(eq(id, subscriptionId));
      return void (await record(tx, "dashboard_subscription.deleted", entity, { dashboardId }));
    }
    const changes = changesBetween(row, { recipients });
    await tx.db
      .update(dashboardSubscriptions)
      .set({ recipients, ...touched(tx, row) })
      .where(eq(id, subscriptionId));
    await record(tx, "dashboard_subscription.updated", entity, { dashboardId, changes: changes as never });
  });
}
