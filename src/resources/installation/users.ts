import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { changesBetween, record } from "../events/service.ts";
import { findHome } from "../organizations/team.ts";
import { type UserRow, users } from "../users/table.ts";
import type { InstallationUserChange } from "./wire.ts";

/**
 * Changes what only operators change of a user; recorded where that user is at home. Throws `not_found`, and
 * `invalid_state` where no operator would be left.
 */
export function changeInstallationUser(
  ctx: Context,
  id: string,
  input: InstallationUserChange,
): Promise<UserRow> {
  return write(ctx, async (tx) => {
    const [before] = await tx.db.select().from(users).where(eq(users.id, id));
    if (!before || before.erasedAt !== null) throw notFound("user");
    const changes = changesBetween({ ...before, addressProven: before.addressProvenAt !== null }, input);
    if (changes.length === 0) return before;
    const { isOperator = before.isOperator } = input;
    if (before.isOperator && !isOperator && (await tx.db.$count(users, eq(users.isOperator, true))) < 2) {
      throw new AppError("invalid_state", "This is the only operator; make someone else an operator first.");
    }
    const at = timestamp(tx.clock);
    const addressProvenAt = before.addressProvenAt ?? (input.addressProven ? at : null);
    const change = { isOperator, addressProvenAt, updatedAt: at };
    await tx.db.update(users).set(change).where(eq(users.id, id));
    const home = await findHome(tx.db, id);
    const inside = { ...tx, organizationId: home?.organizationId ?? tx.organizationId };
    if (inside.organizationId) {
      await record(inside, "user.updated", { type: "user", id }, { changes } as unknown as JsonObject);
    }
    const told = { userId: id, by: tx.actor.id, changes, correlationId: tx.correlationId };
    tx.afterCommit(() => tx.log.write("info", "An operator changed a user.", told));
    return { ...before, ...change };
  });
}
