import { asc, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endEveryWayIn } from "../users/ways-in.ts";
import { openidIdentities } from "./table.ts";

/**
 * Ends every way into an account that was there before a provider first vouched for its address, where the account
 * came to be by an invitation. Whoever sends an invitation sees its link, and can make an account of somebody else's
 * address with it: what they hold must not open what its true owner joins later. The first account is the
 * operator's own work, and keeps what it has.
 *
 * `self` is the person, where they are at home.
 */
export async function reclaim(self: WriteContext, user: UserRow): Promise<void> {
  if (user.passwordHash === null || (await isProven(self, user.id))) return;
  const change = { passwordHash: null, updatedAt: timestamp(self.clock) };
  await self.db.update(users).set(change).where(eq(users.id, user.id));
  if (self.organizationId) {
    const changes = [{ field: "password", from: "***", to: null }];
    await record(self, "user.updated", { type: "user", id: user.id }, { changes });
  }
  await endEveryWayIn(self, user.id);
}

async function isProven({ db }: WriteContext, userId: string): Promise<boolean> {
  const known = await db.$count(openidIdentities, eq(openidIdentities.userId, userId));
  const [first] = await db.select({ id: users.id }).from(users).orderBy(asc(users.id)).limit(1);
  return known > 0 || first?.id === userId;
}
