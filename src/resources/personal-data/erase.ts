import { and, eq, inArray, isNotNull, isNull, notInArray, or, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid, notFound } from "../../base/errors.ts";
import { type Context, contextFor, type WriteContext, write } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { accessTokens } from "../access-tokens/table.ts";
import { catalogSignInAttempts } from "../catalog-sign-ins/table.ts";
import { endTurn } from "../chat/cancel.ts";
import { chatMessages, chatThreads, chatTurns } from "../chat/table.ts";
import { authorizationCodes, refreshTokens } from "../client-authorizations/table.ts";
import { deviceCodes } from "../device/table.ts";
import { record } from "../events/service.ts";
import { invitations } from "../invitations/table.ts";
import { noticePreferences, notices } from "../notices/table.ts";
import { openidIdentities } from "../openid/table.ts";
import { memberships, organizations } from "../organizations/table.ts";
import { endMembership, findHome } from "../organizations/team.ts";
import { passwordResets } from "../password-reset/table.ts";
import { recoveryCodes, secondFactors } from "../second-factor/table.ts";
import { sessions } from "../sessions/table.ts";
import { knownBrowsers } from "../sign-in/table.ts";
import { slackLinks } from "../slack/table.ts";
import { normalEmail } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { endEveryWayIn } from "../users/ways-in.ts";
import { leaveAlerts } from "./notify-addresses.ts";
import { addressLabel, userErasures } from "./table.ts";
import { eraseTraces } from "./traces.ts";

/**
 * Erases a user: all access ends, personal data is deleted, and what they created in organizations is kept with their
 * ID. Their entries in audit logs keep only the ID. Throws `not_found`, `invalid` if `confirm` isn't the address,
 * `forbidden` for the user's own token limited to one organization, `last_owner`, and `invalid_state` for the only
 * operator.
 */
export async function eraseUser(ctx: Context, userId: string, confirm: string): Promise<void> {
  // The audit log must not regain what is erased from it.
  const actor = ctx.actor.id === userId ? { type: "user" as const, id: userId } : ctx.actor;
  const acting = { ...ctx, actor };
  await findErasable(acting, userId, confirm);
  await endTurns(acting, userId);
  const erasure = await write(acting, async (tx) => {
    // Deleted data must not remain in the database file.
    if (!tx.store.remote) await tx.db.run(sql`pragma secure_delete = on`);
    const begun = await eraseAccount(tx, await findErasable(tx, userId, confirm));
    if (!tx.store.remote) await tx.db.run(sql`pragma secure_delete = off`);
    return begun;
  });
  for await (const _ of eraseTraces(ctx, erasure));
}

async function findErasable(ctx: Context, userId: string, confirm: string): Promise<UserRow> {
  const { db } = ctx;
  const [user] = await db
    .select()
    .from(users)
    .where(and(eq(users.id, userId), isNull(users.erasedAt)));
  if (!user) throw notFound("user");
  const isSelf = ctx.actor.id === userId;
  if (normalEmail(confirm) !== user.email) {
    const whose = isSelf ? "your" : "the person's";
    throw invalid(["body", "confirm"], `Enter ${whose} email address exactly`, "confirm_mismatch");
  }
  if (isSelf && ctx.isConfined) {
    throw new AppError(
      "forbidden",
      "A token that acts in one organization can't erase the account. Sign in to do it.",
    );
  }
  const who = isSelf ? "You are" : "This person is";
  const alone = await ownedAlone(db, userId);
  if (alone.length > 0) {
    const which = alone.map((name) => `"${name}"`).join(", ");
    throw new AppError(
      "last_owner",
      `${who} the only owner of ${which}. Make someone else an owner there, or remove the organization, first.`,
    );
  }
  if (user.isOperator && (await db.$count(users, eq(users.isOperator, true))) < 2) {
    throw new AppError("invalid_state", `${who} the only operator. Make someone else an operator first.`);
  }
  return user;
}

/** Returns the names of organizations without another owner. */
async function ownedAlone(db: ReadDb, userId: string): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    sql`select o.name as "name" from memberships m join organizations o on o.id = m.organization_id
      where m.user_id = ${userId} and m.role = 'owner' and o.removed_at is null and not exists (
        select 1 from memberships n
        where n.organization_id = m.organization_id and n.role = 'owner' and n.user_id <> m.user_id)
      order by o.name`,
  );
  return rows.map(({ name }) => name);
}

async function endTurns(ctx: Context, userId: string): Promise<void> {
  const open = and(eq(chatThreads.ownerId, userId), isNotNull(chatThreads.activeTurnId));
  const { actor, correlationId } = ctx;
  for (const thread of await ctx.db.select().from(chatThreads).where(open)) {
    const { organizationId } = thread;
    await endTurn(contextFor(ctx, { organizationId, actor, role: "viewer", correlationId }), thread, null);
  }
}

async function eraseAccount(tx: WriteContext, user: UserRow) {
  const { db } = tx;
  const userId = user.id;
  const at = timestamp(tx.clock);
  const home = await findHome(db, userId);
  const mine = await db.select().from(memberships).where(eq(memberships.userId, userId));
  await db.update(accessTokens).set({ name: "erased" }).where(eq(accessTokens.userId, userId));
  for (const membership of mine) {
    const inside = { ...tx, organizationId: membership.organizationId };
    await record(inside, "user.erased", { type: "user", id: userId });
    await endMembership(inside, membership);
  }
  if (mine.length === 0 && tx.organizationId !== "" && tx.actor.id !== userId)
    await record(tx, "user.erased", { type: "user", id: userId });
  await endEveryWayIn({ ...tx, organizationId: home?.organizationId ?? "" }, userId);
  await deleteOwn(tx, user);
  await leaveRemoved(tx, userId);
  await db
    .update(users)
    .set({
      email: `erased:${userId}`, // Not an address, so that nobody can be invited by it or sign in.
      firstName: "Erased person",
      lastName: null,
      profilePictureUrl: null,
      locale: null,
      timezone: null,
      passwordHash: null,
      addressProvenAt: null,
      isOperator: false,
      erasedAt: at,
      updatedAt: at,
    })
    .where(eq(users.id, userId));
  const erasure = {
    userId,
    sealedAddress: tx.secrets.seal(user.email, addressLabel({ userId })),
    begunAt: at,
  };
  await db.insert(userErasures).values(erasure);
  const facts = { userId, by: tx.actor.id, correlationId: tx.correlationId };
  tx.afterCommit(() => tx.log.write("info", "user erased", facts));
  return erasure;
}

/** Deletes data that belongs to nobody else. */
async function deleteOwn({ db }: WriteContext, { id, email }: UserRow): Promise<void> {
  const threads = db.select({ id: chatThreads.id }).from(chatThreads).where(eq(chatThreads.ownerId, id));
  await db.delete(chatMessages).where(inArray(chatMessages.threadId, threads));
  await db.delete(chatTurns).where(inArray(chatTurns.threadId, threads));
  await db.delete(chatThreads).where(eq(chatThreads.ownerId, id));
  await db.delete(accessTokens).where(eq(accessTokens.userId, id));
  await db.delete(recoveryCodes).where(eq(recoveryCodes.userId, id));
  await db.delete(secondFactors).where(eq(secondFactors.userId, id));
  await db.delete(knownBrowsers).where(eq(knownBrowsers.userId, id));
  await db.delete(passwordResets).where(eq(passwordResets.userId, id));
  await db.delete(deviceCodes).where(eq(deviceCodes.userId, id));
  await db.delete(authorizationCodes).where(eq(authorizationCodes.userId, id));
  await db.delete(refreshTokens).where(eq(refreshTokens.userId, id));
  await db.delete(noticePreferences).where(eq(noticePreferences.userId, id));
  await leaveAlerts(db, email);
  await db.delete(notices).where(or(eq(notices.userId, id), eq(notices.target, email)));
  await db.delete(slackLinks).where(eq(slackLinks.userId, id));
  await db.delete(catalogSignInAttempts).where(eq(catalogSignInAttempts.userId, id));
  await db.delete(invitations).where(eq(invitations.email, email));
  await db.run(sql`delete from idempotency_keys where actor_id = ${id}`);
  await deleteSessions(db, id);
}

/** Deletes sessions and identities, except those whose refresh token wasn't revoked at the provider yet. */
export async function deleteSessions(db: WriteContext["db"], userId: string): Promise<void> {
  const isWaiting = isNotNull(sessions.sealedRefreshToken);
  await db.delete(sessions).where(and(eq(sessions.userId, userId), isNull(sessions.sealedRefreshToken)));
  await db
    .update(sessions)
    .set({ ipAddress: null, userAgent: null, deviceId: null, cliVersion: null, terminal: null })
    .where(eq(sessions.userId, userId));
  const needed = db
    .select({ id: sql<string>`${sessions.identityId}` })
    .from(sessions)
    .where(and(eq(sessions.userId, userId), isWaiting, isNotNull(sessions.identityId)));
  const own = eq(openidIdentities.userId, userId);
  await db.delete(openidIdentities).where(and(own, notInArray(openidIdentities.id, needed)));
  await db
    .update(openidIdentities)
    .set({ subject: sql`'erased:' || ${openidIdentities.id}` })
    .where(own);
}

/** A restored organization gets its members back, but not this one. */
async function leaveRemoved({ db }: WriteContext, userId: string): Promise<void> {
  for (const { id, kept } of await db
    .select({ id: organizations.id, kept: organizations.keptMemberships })
    .from(organizations)
    .where(isNotNull(organizations.removedAt))) {
    const others = kept?.filter((membership) => membership.userId !== userId);
    if (!kept || others?.length === kept.length) continue;
    await db.update(organizations).set({ keptMemberships: others }).where(eq(organizations.id, id));
  }
}
