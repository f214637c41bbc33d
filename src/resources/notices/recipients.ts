import { and, eq, inArray, isNotNull, or } from "drizzle-orm";
import type { ReadDb } from "../../store/store.ts";
import { apiKeys } from "../api-keys/table.ts";
import type { AutomationConfig } from "../automations/config.ts";
import type { AutomationRow } from "../automations/table.ts";
import { memberships } from "../organizations/table.ts";
import { users } from "../users/table.ts";
import { noticePreferences, type Recipient } from "./table.ts";

/**
 * Returns who is currently notified about an automation: the recipients of its alerts, and members who chose all
 * automations. If its alerts have no recipients, the user who created it, or who created the API key that did.
 * A user who isn't a member gets nothing; if nobody is left, the organization's owners are notified.
 */
export async function recipientsOf(
  db: ReadDb,
  { organizationId, createdBy, config }: AutomationRow,
): Promise<Recipient[]> {
  const { notify = [] } = (config as AutomationConfig).alerts ?? {};
  const addresses = notify.flatMap(({ email }) => email?.trim().toLowerCase() ?? []);
  const maker = notify.length === 0 ? (createdBy ?? "") : "";
  const made = db.select({ id: apiKeys.createdBy }).from(apiKeys).where(eq(apiKeys.id, maker));
  const named = await peopleIn(db, organizationId).where(
    or(inArray(users.email, addresses), eq(users.id, maker), inArray(users.id, made)),
  );
  const curious = await peopleIn(db, organizationId).where(
    and(isNotNull(memberships.id), eq(noticePreferences.failures, "all")),
  );
  const outside = [...new Set(addresses)]
    .filter((address) => [...named, ...curious].every(({ email }) => email !== address))
    .map((target): Recipient => ({ channel: "mail", target, userId: null }));
  const posted = notify.flatMap(({ slack, url }): Recipient[] => [
    ...(slack === undefined ? [] : [{ channel: "slack" as const, target: slack, userId: null }]),
    ...(url === undefined ? [] : [{ channel: "url" as const, target: url, userId: null }]),
  ]);
  const isLeft = named.some(({ isMember }) => isMember !== null) || outside.length + posted.length > 0;
  const owners = isLeft ? [] : await peopleIn(db, organizationId).where(eq(memberships.role, "owner"));
  const mailed = [...named, ...curious, ...owners]
    .filter(({ isMember, failures }) => isMember !== null && failures !== "none")
    .map(({ id, email }): Recipient => ({ channel: "mail", target: email, userId: id }));
  const all = [...mailed, ...outside, ...posted];
  return all.filter((one, at) => all.findIndex((other) => isSame(one, other)) === at);
}

/** Users with their preferences, and their membership in the organization or null. */
const peopleIn = (db: ReadDb, organizationId: string) =>
  db
    .select({
      id: users.id,
      email: users.email,
      isMember: memberships.id,
      failures: noticePreferences.failures,
    })
    .from(users)
    .leftJoin(
      memberships,
      and(eq(memberships.userId, users.id), eq(memberships.organizationId, organizationId)),
    )
    .leftJoin(noticePreferences, eq(noticePreferences.userId, users.id));

export const isSame = (one: Recipient, other: Recipient): boolean =>
  one.channel === other.channel && one.target === other.target && one.userId === other.userId;
