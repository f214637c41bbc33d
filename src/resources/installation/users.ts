import { and, desc, eq, inArray, isNull, lt, max } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import { contains } from "../../store/search.ts";
import { accessTokens } from "../access-tokens/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { findHome } from "../organizations/team.ts";
import { sessions } from "../sessions/table.ts";
import { isOperator } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import type { InstallationAccess, InstallationUserChange, InstallationUserQuery } from "./wire.ts";

/** Returns what the current user may do with the installation. */
export async function findInstallationAccess({ db, actor, config }: Context): Promise<InstallationAccess> {
  const mayAll = await isOperator(db, actor.id);
  return { isOperator: mayAll, createsOrganizations: mayAll || config.organizations === "anyone" };
}

/** Lists all users of the installation, newest first, with the time when each was last active. */
export async function listInstallationUsers(
  ctx: Context,
  { limit, cursor, q = "", is_operator: wanted }: InstallationUserQuery,
): Promise<{ rows: { user: UserRow; lastActiveAt: string | null }[]; nextCursor?: string }> {
  const scope = ["installation-users", ctx.organizationId, q, wanted ?? null];
  const before = cursor === undefined ? undefined : lt(users.id, String(readCursor(ctx, scope, cursor)));
  const found = await ctx.db
    .select()
    .from(users)
    .where(
      and(
        before,
        isNull(users.erasedAt),
        q === "" ? undefined : contains(q, users.email, users.firstName, users.lastName),
        wanted === undefined ? undefined : eq(users.isOperator, wanted),
      ),
    )
    .orderBy(desc(users.id))
    .limit(limit + 1);
  const { rows, ...next } = pageOf(ctx, scope, found, limit);
  const activeAt = await lastActive(
    ctx,
    rows.map(({ id }) => id),
  );
  return { rows: rows.map((user) => ({ user, lastActiveAt: activeAt.get(user.id) ?? null })), ...next };
}

/** Returns the later of a user's last session and access token use, by user. Users without either are left out. */
async function lastActive({ db }: Context, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const bySession = await db
    .select({ userId: sessions.userId, at: max(sessions.lastActiveAt) })
    .from(sessions)
    .where(inArray(sessions.userId, [...ids]))
    .groupBy(sessions.userId);
  const byToken = await db
    .select({ userId: accessTokens.userId, at: max(accessTokens.lastUsedAt) })
    .from(accessTokens)
    .where(inArray(accessTokens.userId, [...ids]))
    .groupBy(accessTokens.userId);
  const latest = new Map<string, string>();
  for (const { userId, at } of [...bySession, ...byToken]) {
    if (at !== null && at > (latest.get(userId) ?? "")) latest.set(userId, at);
  }
  return latest;
}

/**
 * Changes settings of a user that only operators can change. Recorded in the user's default organization.
 * Throws `not_found`, and `invalid_state` if no operator would be left.
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
    const { isOperator: staysOperator = before.isOperator } = input;
    if (before.isOperator && !staysOperator && (await tx.db.$count(users, eq(users.isOperator, true))) < 2) {
      throw new AppError("invalid_state", "This is the only operator. Make someone else an operator first.");
    }
    const at = timestamp(tx.clock);
    const addressProvenAt = before.addressProvenAt ?? (input.addressProven ? at : null);
    const change = {
      isOperator: staysOperator,
      addressProvenAt,
      updatedAt: timestampAfter(tx.clock, before.updatedAt),
    };
    await tx.db.update(users).set(change).where(eq(users.id, id));
    const home = await findHome(tx.db, id);
    const inside = { ...tx, organizationId: home?.organizationId ?? tx.organizationId };
    if (inside.organizationId) {
      await record(inside, "user.updated", { type: "user", id }, { changes } as unknown as JsonObject);
    }
    const data = { userId: id, by: tx.actor.id, changes, correlationId: tx.correlationId };
    tx.afterCommit(() => tx.log.write("info", "An operator changed a user.", data));
    return { ...before, ...change };
  });
}
