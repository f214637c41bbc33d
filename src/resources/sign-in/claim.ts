import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { memberships } from "../organizations/table.ts";
import { findHome } from "../organizations/team.ts";
import { endTotp } from "../second-factor/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endEveryWayIn, type WaysIn } from "../users/ways-in.ts";

/**
 * Gives an account to the user who has just proven that its address is theirs. Sets the password (null for none)
 * and the names of `user`, and ends all previous access. If the address was never proven, someone else may have created
 * the account: its second factor is removed then, and its default organization is the next one that the user joins.
 */
export async function claim(
  tx: WriteContext,
  user: UserRow,
  passwordHash: string | null,
): Promise<{ user: UserRow; ended: WaysIn }> {
  const at = timestamp(tx.clock);
  const isFirst = user.addressProvenAt === null;
  const { firstName, lastName } = user;
  const change = {
    firstName,
    lastName,
    passwordHash,
    addressProvenAt: user.addressProvenAt ?? at,
    updatedAt: at,
  };
  await tx.db.update(users).set(change).where(eq(users.id, user.id));
  const home = await findHome(tx.db, user.id);
  const self: WriteContext = {
    ...tx,
    organizationId: home?.organizationId ?? "",
    actor: tx.actor.type === "user" ? { ...tx.actor, id: user.id, email: user.email } : tx.actor,
  };
  if (isFirst)
    await tx.db.update(memberships).set({ isDefault: false }).where(eq(memberships.userId, user.id));
  if (home) {
    const changes = [
      { field: "password", from: user.passwordHash && "***", to: passwordHash && "***" },
      { field: "addressProven", from: !isFirst, to: true },
    ].filter(({ from, to }) => from !== to || from === "***");
    await record(self, "user.updated", { type: "user", id: user.id }, { changes });
  }
  if (isFirst) await endTotp(self, user.id);
  return { user: { ...user, ...change }, ended: await endEveryWayIn(self, user.id) };
}
